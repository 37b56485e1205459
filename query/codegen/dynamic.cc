#include "bind/make.h"
#include "codegen/generator.h"

// Dynamic SQL and cursors: rows whose columns are known only when they run.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

// Goes behind the name of a portal: the variable's, for errors.
BoundPtr variable_name(const BoundProgram& program, uint32_t variable) {
  return make_text_constant(make_type(TypeId::kText), program.variables[variable].name, -1);
}
}  // namespace

ir::Reg Generator::names_of(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all.append(name.c_str(), name.size() + 1);
  all += '\0';
  return b_.data(all);
}

// Runs the statement whose text is step.expr. Returns its RowSet*; ExecContext::value[1] has the number of rows.
ir::Reg Generator::gen_statement_text(const Step& step, bool wants_rows) {
  Value text = gen_alone(*step.expr);
  if (text.null != ir::kNoReg) {
    Block present = b_.new_block();
    b_.branch(text.null, raise_block(RuntimeError::kNullStatement), present, 2);
    b_.set_block(present);
  }
  Values args;
  std::vector<SqlType> types;
  for (const auto& arg : step.args) {
    args.push_back(gen_alone(*arg));
    types.push_back(arg->type);
  }
  types.emplace_back();  // never empty
  note_route(nullptr);
  check(b_.call(k_rt_execute,
                {context(), text.a, text.b, store_row(args), data_of(types),
                 constant(Type::kI64, static_cast<int64_t>(args.size())), constant(Type::kI64, wants_rows ? 1 : 0)}));
  return b_.load(Type::kPtr, context(), kContextValue);
}

// Assigns row `row` (I64) of the RowSet; kNoRow, kEmptyLoop: NULLs.
void Generator::assign_from_rows(const IntoTargets& into, Reg rows, Reg row) {
  bool loose = into.loose != nullptr;
  const std::vector<uint32_t>& variables = loose ? into.loose->variables : into.variables;
  std::vector<SqlType> types;
  for (uint32_t variable : variables) types.push_back(program_.variables[variable].type);
  Reg out = b_.frame_address(b_.reserve_frame(static_cast<uint32_t>(kDatumBytes * (variables.size() + 1))));
  Reg count = constant(Type::kI64, static_cast<int64_t>(variables.size()));
  types.emplace_back();
  if (loose)
    check(b_.call(k_rt_rows_fields, {context(), rows, row, names_of(into.loose->names), count, out}));
  else
    check(b_.call(k_rt_rows_fetch, {context(), rows, row, data_of(types), count, out}));
  for (size_t i = 0; i < variables.size(); i++)
    assign_variable(variables[i], load_datum(out, static_cast<int64_t>(i) * kDatumBytes, types[i], true, true));
}

void Generator::gen_execute(const Step& step) {
  Reg rows = gen_statement_text(step, step.into.present);
  Reg count = b_.load(Type::kI64, context(), kContextValue + 8);
  Reg found = b_.compare(Op::kNe, count, constant(Type::kI64, 0));
  if (step.tells != Tells::kNothing) set_row_count(count);
  if (step.tells == Tells::kRows) set_found(found);  // EXECUTE does not
  if (!step.into.present) return;
  if (step.into.strict) {
    Block some = b_.new_block(), one = b_.new_block();
    b_.branch(found, some, raise_block(RuntimeError::kNoRows), 1);
    b_.set_block(some);
    b_.branch(b_.compare(Op::kEq, count, constant(Type::kI64, 1)), one, raise_block(RuntimeError::kTooManyRows), 1);
    b_.set_block(one);
  }
  assign_from_rows(step.into, rows, b_.select(found, constant(Type::kI64, 0), constant(Type::kI64, kNoRow)));
}

void Generator::gen_for_rows(const Step& step) {
  Reg rows = ir::kNoReg, count = ir::kNoReg;
  std::vector<SqlType> types;
  if (step.dml != nullptr) {
    for (const auto& output : step.dml->returning) types.push_back(output.expr->type);
    Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
    check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
    rows = b_.load(Type::kPtr, context(), kContextValue);
    gen_dml(*step.dml,
            [&](const Values& values) { check(b_.call(k_rt_rows_append, {context(), rows, store_row(values)})); });
    count = b_.load(Type::kI64, rows, offsetof(RowBuffer, count));
  } else {
    rows = gen_statement_text(step, true);
    count = b_.load(Type::kI64, context(), kContextValue + 8);
  }
  Reg i = b_.new_variable(Type::kI64);
  Reg ran = b_.new_variable(Type::kI8);
  b_.assign(i, constant(Type::kI64, 0));
  b_.assign(ran, constant(Type::kI8, 0));
  Block head = b_.new_block(), body = b_.new_block(), next = b_.new_block(), finished = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  b_.branch(b_.compare(Op::kLt, i, count), body, finished);
  b_.set_block(body);
  b_.assign(ran, constant(Type::kI8, 1));
  if (step.dml != nullptr) {
    Reg row = b_.index(b_.load(Type::kPtr, rows, offsetof(RowBuffer, rows)), i,
                       static_cast<int64_t>(types.size()) * kDatumBytes);
    Values values;
    for (size_t c = 0; c < types.size(); c++)
      values.push_back(load_datum(row, static_cast<int64_t>(c) * kDatumBytes, types[c], true, true));
    assign_into(step.into, values);
  } else {
    assign_from_rows(step.into, rows, b_.binary(Op::kAdd, i, constant(Type::kI64, 0)));
  }
  gen_for_body(step, finished, next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(finished);
  gen_for_end(step, rows, ran);
}

// All rows of a query: what a cursor shows does not change after OPEN.
ir::Reg Generator::gen_row_set(const BoundQuery& query) {
  std::vector<SqlType> types;
  std::vector<std::string> names;
  for (const auto& output : query.outputs) {
    if (output.hidden) continue;
    types.push_back(output.expr->type);
    names.push_back(output.name);
  }
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  gen_query(query,
            [&](const Values& values) { check(b_.call(k_rt_rows_append, {context(), rows, store_row(values)})); });
  check(b_.call(k_rt_row_set, {context(), rows, names_of(names)}));
  return b_.load(Type::kPtr, context(), kContextValue);
}

void Generator::gen_open(const Step& step) {
  Reg rows = step.query != nullptr ? gen_row_set(*step.query) : gen_statement_text(step, true);
  Reg name = store_row({variables_[step.variable], gen(*variable_name(program_, step.variable))});
  const int64_t options =
      (step.scroll ? kPortalScrolls : 0) | (step.tracked ? kPortalTracks : 0) | (step.locks ? kPortalLocks : 0);
  check(b_.call(k_rt_portal_open, {context(), rows, name, constant(Type::kI64, options)}));
  assign_variable(step.variable, load_datum(name, 0, make_type(TypeId::kText), true, true));
}

// WHERE CURRENT OF: the identity of the row that a cursor stands on.
void Generator::gen_current_row(const Step& step) {
  const BoundPtr shown = make_text_constant(make_type(TypeId::kText), step.current_of[0], -1);
  const size_t width = step.into.variables.size();
  Reg out = b_.frame_address(b_.reserve_frame(static_cast<uint32_t>(kDatumBytes * width)));
  Reg names = names_of({step.current_of[1], step.current_of[2]});
  check(b_.call(k_rt_portal_current, {context(), store_row({gen(*step.expr), gen(*shown)}), names,
                                      constant(Type::kI64, static_cast<int64_t>(width)), out}));
  for (size_t i = 0; i < width; i++) {
    const SqlType& type = program_.variables[step.into.variables[i]].type;
    assign_variable(step.into.variables[i], load_datum(out, static_cast<int64_t>(i) * kDatumBytes, type, true, true));
  }
}

void Generator::gen_fetch(const Step& step) {
  if (!step.current_of.empty()) return gen_current_row(step);
  Value count;
  count.type = make_type(TypeId::kInt4);
  count.a = constant(Type::kI32, 1);
  if (step.expr != nullptr) count = gen_alone(*step.expr);
  if (step.all) count.a = constant(Type::kI32, INT32_MAX);
  Reg name = store_row({variables_[step.variable], gen(*variable_name(program_, step.variable))});
  check(b_.call(k_rt_portal_fetch, {context(), name, constant(Type::kI64, step.direction), store_row({count}),
                                    constant(Type::kI64, step.into.present ? 0 : 1)}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  Reg row = b_.load(Type::kI64, context(), kContextValue + 8);
  Reg moved = b_.load(Type::kI64, context(), kContextValue + 16);
  if (step.into.present) assign_from_rows(step.into, rows, row);
  tell_rows(moved);
}

void Generator::gen_close(const Step& step) {
  check(b_.call(k_rt_portal_close,
                {context(), store_row({variables_[step.variable], gen(*variable_name(program_, step.variable))})}));
}

}  // namespace scyper::query
