#include "base/invariant.h"
#include "codegen/generator.h"

// Calls of functions that give rows, and how such functions give them.
namespace scyper::query {

using ir::Op;
using ir::Type;

// The rows of a function in FROM: those it collected, or the one that its results are.
void Generator::gen_routine_rows(const Relation& relation, const std::function<void()>& body) {
  if (relation.common != nullptr) return gen_part_rows(relation, body);
  const BoundExpr& call = *relation.arguments[0];
  Values args;
  for (const auto& arg : call.args) args.push_back(gen(*arg));
  note_call(call.index, call.args);
  std::vector<SqlType> types;
  for (const auto& column : relation.columns) types.push_back(column.type);
  Block done = b_.new_block();
  Reg null = ir::kNoReg;
  if (call.routine->strict)
    for (const auto& arg : args) null = or_null(null, arg.null);
  sources_[relation.id].relation = &relation;
  if (call.routine->returns_set) {
    if (null != ir::kNoReg) {
      Block present = b_.new_block();
      b_.branch(null, done, present, 2);
      b_.set_block(present);
    }
    Value set;
    set = call_routine(call.index, args, {make_type(TypeId::kInt8)}, nullptr);
    gen_buffer_rows(b_.convert(Op::kBitcast, set.a, Type::kPtr), types.size(), [&](Reg row) {
      Values values;
      for (size_t i = 0; i < types.size(); i++)
        values.push_back(load_datum(row, static_cast<int64_t>(i) * kDatumBytes, types[i], true, true));
      sources_[relation.id].values = std::move(values);
      body();
    });
    if (!b_.terminated()) b_.jump(done);
    return b_.set_block(done);
  }
  Values results;
  if (null == ir::kNoReg) {
    call_routine(call.index, args, types, &results);
  } else {
    for (const auto& type : types) {
      results.push_back(new_variable(type, true));
      assign(results.back(), null_value(type));
    }
    Block present = b_.new_block(), absent = b_.new_block();
    b_.branch(null, absent, present, 2);
    b_.set_block(present);
    Values given;
    call_routine(call.index, args, types, &given);
    for (size_t i = 0; i < given.size(); i++) assign(results[i], stabilise(given[i]));
    b_.jump(absent);
    b_.set_block(absent);
  }
  sources_[relation.id].values = results;
  body();
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

// --- inside a set-returning function ---

void Generator::open_row_set() {
  std::vector<SqlType> types;
  for (const auto& column : program_.columns) types.push_back(column.type);
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  row_set_ = b_.new_variable(Type::kPtr);
  b_.assign(row_set_, b_.load(Type::kPtr, context(), offsetof(ExecContext, value)));
}

void Generator::append_to_row_set(const Values& values) {
  INVARIANT(values.size() == program_.columns.size());
  Values row;
  for (size_t i = 0; i < values.size(); i++) row.push_back(cast(values[i], program_.columns[i].type, false));
  check(b_.call(k_rt_rows_append, {context(), row_set_, store_row(row)}));
}

// RETURN NEXT: `args` are the row, else it is what the OUT parameters hold.
void Generator::gen_return_next(const Step& step) {
  Values row;
  for (const auto& arg : step.args) row.push_back(gen_alone(*arg));
  if (step.args.empty())
    for (uint32_t variable : program_.result_variables) row.push_back(variables_[variable]);
  append_to_row_set(row);
}

void Generator::gen_return_query(const Step& step) {
  b_.assign(row_count_, constant(Type::kI64, 0));
  if (step.expr != nullptr) {  // RETURN QUERY EXECUTE
    Reg rows = gen_statement_text(step, true);
    Reg count = b_.load(Type::kI64, context(), offsetof(ExecContext, value) + 8);
    std::vector<SqlType> types;
    for (const auto& column : program_.columns) types.push_back(column.type);
    Reg out = b_.frame_address(b_.reserve_frame(static_cast<uint32_t>(kDatumBytes * (types.size() + 1))));
    Reg types_of_row = data_of(types);
    Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
    check(b_.call(k_rt_rows_match, {context(), rows, types_of_row, width}));
    Block head = b_.new_block(), body = b_.new_block(), done = b_.new_block();
    b_.jump(head);
    b_.set_block(head);
    check_interrupt();
    b_.branch(b_.compare(Op::kLt, row_count_, count), body, done);
    b_.set_block(body);
    Reg row = b_.binary(Op::kAdd, row_count_, constant(Type::kI64, 0));
    check(b_.call(k_rt_rows_fetch, {context(), rows, row, types_of_row, width, out}));
    check(b_.call(k_rt_rows_append, {context(), row_set_, out}));
    count_row();
    b_.jump(head);
    b_.set_block(done);
    return tell_rows(row_count_);
  }
  if (step.dml != nullptr)
    gen_dml(*step.dml, [&](const Values& values) { append_to_row_set(values); });
  else
    gen_query(*step.query, [&](const Values& values) {
      append_to_row_set(values);
      count_row();
    });
  tell_rows(row_count_);
}

// --- RAISE ---

void Generator::gen_raise(const Step& step) {
  static constexpr std::string_view kLevels[] = {"debug", "log", "info", "notice", "warning", "exception"};
  int64_t level = 5;
  for (int64_t i = 0; i < 6; i++)
    if (kLevels[i] == step.level) level = i;
  Values args;
  for (const auto& arg : step.args) args.push_back(gen_alone(*arg));
  SqlType text = make_type(TypeId::kText);
  Values options(kRaiseOptionCount, null_value(text));
  for (const auto& [name, expr] : step.options)
    for (size_t i = 0; i < kRaiseOptionCount; i++)
      if (kRaiseOptions[i] == name) options[i] = gen_alone(*expr);
  Reg arg_row = store_row(args);
  Reg option_row = store_row(options);
  check(b_.call(k_rt_raise, {context(), constant(Type::kI64, level), b_.data(step.format),
                             constant(Type::kI64, static_cast<int64_t>(step.format.size())), arg_row,
                             constant(Type::kI64, static_cast<int64_t>(args.size())), option_row}));
  if (level == 5) b_.jump(handler_);  // never reached: an exception's status is not 0
}

}  // namespace scyper::query
