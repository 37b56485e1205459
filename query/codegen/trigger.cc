#include <utility>

#include "bind/make.h"
#include "codegen/generator.h"

// Triggers inside the statements that fire them. A trigger is a routine of its own (bind/pl_trigger.cc); it takes the
// columns of OLD and NEW and gives a number and a row.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

std::vector<SqlType> row_types(const storage::TableSchema& schema) {
  std::vector<SqlType> types;
  for (size_t c = 0; c < storage::visible_columns(schema); c++) types.push_back(schema.columns[c].type);
  return types;
}

// The addresses of the transition tables that a trigger sees, old rows first. They come behind the columns of its rows.
std::vector<Value> transitions_of(ir::Builder* builder, const AfterRows& rows, const TriggerCall& call) {
  std::vector<Value> addresses;
  const Trigger& trigger = *call.routine->trigger;
  for (const auto& [name, kept] :
       {std::pair{&trigger.old_table, rows.old_rows}, std::pair{&trigger.new_table, rows.new_rows}}) {
    if (name->empty()) continue;
    Value address;
    address.type = make_type(TypeId::kInt8);
    address.a = builder->convert(Op::kBitcast, kept, Type::kI64);
    addresses.push_back(address);
  }
  return addresses;
}
}  // namespace

// The columns of the row that sources_[dml.relation] is on, as they are now.
Generator::Values Generator::row_values(const BoundDml& dml) {
  Values values;
  size_t width = row_types(dml.table->schema()).size();
  for (uint32_t c = 0; c < width; c++) values.push_back(stabilise(load_column(sources_[dml.relation], c)));
  return values;
}

// The transition tables that the program sees.
void Generator::open_transitions() {
  for (const TransitionTable& table : program_.transitions) {
    Reg rows = b_.new_variable(Type::kPtr);
    b_.assign(rows, b_.convert(Op::kBitcast, variables_[table.variable].a, Type::kPtr));
    part_rows_[table.rows.get()] = rows;
    if (!program_.is_dynamic || !program_.is_routine) continue;
    b_.call(k_rt_note_transition,
            {constant(Type::kI64, &table - program_.transitions.data()), variables_[table.variable].a});
  }
}

void Generator::gen_statement_triggers(const std::vector<TriggerCall>& calls, const AfterRows& rows) {
  for (const auto& call : calls) {
    Reg count = b_.new_variable(Type::kI64);  // what the statement changed is kept over the call
    b_.assign(count, row_count_);
    const Values args = transitions_of(&b_, rows, call);
    std::vector<BoundPtr> unknown;
    for (const auto& arg : args) unknown.push_back(make_null(arg.type, -1));
    note_call(call.callee, unknown);
    call_routine(call.callee, args, {make_type(TypeId::kInt4)}, nullptr);
    b_.assign(row_count_, count);
  }
}

// Calls one trigger where its WHEN holds; `then` runs inside of that, with its results.
void Generator::gen_trigger_call(const BoundDml& dml, const TriggerCall& call, const Values* old_row,
                                 const Values* new_row, Values* results, const std::function<void()>& then) {
  Block done = b_.new_block();
  if (call.when != nullptr) {
    auto show = [&](uint32_t relation, const Values* row) {
      if (row == nullptr) return;
      sources_[relation] = RowSource{};
      sources_[relation].values = *row;
    };
    show(dml.triggers->old_relation, old_row);
    show(dml.triggers->new_relation, new_row);
    Block fires = b_.new_block();
    gen_condition(*call.when, fires, done);
    b_.set_block(fires);
  }
  Values args;
  for (const Values* row : {old_row, new_row})
    if (row != nullptr) args.insert(args.end(), row->begin(), row->end());
  for (const Value& address : transitions_of(&b_, after_rows_[&dml], call)) args.push_back(address);
  std::vector<SqlType> types = row_types(dml.schema());
  types.insert(types.begin(), make_type(TypeId::kInt4));
  std::vector<BoundPtr> unknown;  // which partition a trigger touches shows when it runs
  for (const auto& arg : args) unknown.push_back(make_null(arg.type, -1));
  note_call(call.callee, unknown);
  call_routine(call.callee, args, types, results);
  then();
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

// BEFORE ... FOR EACH ROW: the row as the triggers leave it; goes to `skip` where one of them gives NULL.
Generator::Values Generator::gen_before_row(const BoundDml& dml, const Values* old_row, const Values* new_row,
                                            Block skip) {
  std::vector<SqlType> types = row_types(dml.schema());
  Values row;
  if (new_row != nullptr) {
    for (size_t c = 0; c < types.size(); c++) {
      row.push_back(new_variable(types[c], true));
      assign(row.back(), stabilise(cast((*new_row)[c], types[c], false)));
    }
  }
  for (const auto& call : dml.triggers->before_row) {
    Values results;
    gen_trigger_call(dml, call, old_row, new_row == nullptr ? nullptr : &row, &results, [&] {
      Block keeps = b_.new_block();
      b_.branch(b_.compare(Op::kNe, results[0].a, constant(Type::kI32, 0)), skip, keeps, 2);
      b_.set_block(keeps);
      for (size_t c = 0; c < row.size(); c++) assign(row[c], stabilise(results[c + 1]));
    });
  }
  return row;
}

// --- AFTER ... FOR EACH ROW: once the statement has changed all its rows ---

void Generator::open_after_rows(const BoundDml& dml) {
  const std::vector<SqlType> types = row_types(dml.schema());
  auto open = [&](size_t parts) {
    std::vector<SqlType> kept;
    for (size_t i = 0; i < parts; i++) kept.insert(kept.end(), types.begin(), types.end());
    Reg width = constant(Type::kI64, static_cast<int64_t>(kept.size()));
    check(b_.call(k_rt_rows_create, {context(), data_of(kept), width}));
    Reg rows = b_.new_variable(Type::kPtr);
    b_.assign(rows, b_.load(Type::kPtr, context(), offsetof(ExecContext, value)));
    return rows;
  };
  AfterRows& rows = after_rows_[&dml];
  if (!dml.triggers->after_row.empty()) rows.rows = open(dml.kind == DmlKind::kUpdate ? 2 : 1);
  if (dml.triggers->keeps_old) rows.old_rows = open(1);
  if (dml.triggers->keeps_new) rows.new_rows = open(1);
}

void Generator::note_after_row(const BoundDml& dml, const Values* old_row, const Values* new_row) {
  const AfterRows& rows = after_rows_[&dml];
  auto keep = [&](Reg buffer, const Values& row) {
    if (buffer != ir::kNoReg) check(b_.call(k_rt_rows_append, {context(), buffer, store_row(row)}));
  };
  Values row;
  for (const Values* part : {old_row, new_row})
    if (part != nullptr) row.insert(row.end(), part->begin(), part->end());
  keep(rows.rows, row);
  if (old_row != nullptr) keep(rows.old_rows, *old_row);
  if (new_row != nullptr) keep(rows.new_rows, *new_row);
}

// Datums of a row of AfterRows::rows.
size_t Generator::width_of_after_row(const BoundDml& dml) {
  return row_types(dml.table->schema()).size() * (dml.kind == DmlKind::kUpdate ? 2 : 1);
}

void Generator::gen_after_rows(const BoundDml& dml) {
  if (dml.triggers == nullptr || dml.triggers->after_row.empty()) return;
  Reg count = b_.new_variable(Type::kI64);
  b_.assign(count, row_count_);
  gen_buffer_rows(after_rows_[&dml].rows, width_of_after_row(dml), [&](Reg row) { gen_after_row(dml, row); });
  b_.assign(row_count_, count);
}

// The triggers of one row of AfterRows::rows.
void Generator::gen_after_row(const BoundDml& dml, Reg row) {
  const std::vector<SqlType> types = row_types(dml.table->schema());
  auto load = [&](size_t from) {
    Values values;
    for (size_t c = 0; c < types.size(); c++)
      values.push_back(load_datum(row, static_cast<int64_t>(from + c) * kDatumBytes, types[c], true, true));
    return values;
  };
  const bool has_both = dml.kind == DmlKind::kUpdate;
  Values first = load(0), second;
  if (has_both) second = load(types.size());
  const Values* old_row = dml.kind == DmlKind::kInsert ? nullptr : &first;
  const Values* new_row = dml.kind == DmlKind::kDelete ? nullptr : has_both ? &second : &first;
  for (const auto& call : dml.triggers->after_row) {
    Values results;
    gen_trigger_call(dml, call, old_row, new_row, &results, [] {});
  }
}

}  // namespace scyper::query
