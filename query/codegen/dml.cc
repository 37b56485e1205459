#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/check.h"
#include "bind/relation_walk.h"
#include "codegen/found_row.h"
#include "codegen/generator.h"
#include "codegen/shared_triggers.h"
#include "runtime/storable.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

// Would rows that change meanwhile show? Routines may read anything; VOLATILE ones see each change (except_volatile).
template <class Tree>
bool reads_table(const Tree& tree, const storage::Table* table, bool except_volatile = false) {
  bool reads = false;
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    reads |= e.kind == BoundKind::kUserCall && !(except_volatile && e.routine != nullptr && e.routine->is_volatile);
  };
  walk.on_relation = [&](Relation& relation) { reads |= relation.table.get() == table; };
  walk.walk(const_cast<Tree*>(&tree));  // which changes nothing
  return reads;
}
}  // namespace

void Generator::gen_dml(const BoundDml& dml, const Consumer& returning) {
  b_.assign(row_count_, constant(Type::kI64, 0));
  const TriggeredCode::State around =
      triggered_.open(&dml, dml.with.get(), [this](const auto& table) { return table_number(table); });
  auto rows = [&] {
    const BoundDml& first = dml.with == nullptr ? dml : first_change(*dml.with, &dml, dml);
    begin_dml(dml, &first == &dml && !triggered_.fires_late(dml));
    if (&first != &dml) {
      after_rows_[&dml].old_rows = after_rows_[&first].old_rows;
      after_rows_[&dml].new_rows = after_rows_[&first].new_rows;
    }
    gen_rows_of_dml(dml, returning);
  };
  if (dml.with != nullptr) {
    gen_with(*dml.with, &dml, rows);
  } else {
    rows();
    end_dml(dml);
  }
  triggered_.close(around);
}

void Generator::gen_rows_of_dml(const BoundDml& dml, const Consumer& returning) {
  if (dml.view != nullptr)
    gen_view_change(dml, returning);
  else if (dml.kind == DmlKind::kInsert)
    gen_insert(dml, returning);
  else if (dml.kind == DmlKind::kMerge)
    gen_merge_rows(dml);
  else
    gen_change(dml, returning);
}

namespace {
// A statement and the actions of foreign keys that follow from it, those of one level behind those of the level before:
// the order in which PostgreSQL's queue of AFTER triggers runs them.
std::vector<const BoundDml*> with_actions(const BoundDml& dml) {
  std::vector<const BoundDml*> all = {&dml};
  for (size_t i = 0; i < all.size(); i++)
    for (const RowReaction& reaction : all[i]->reactions)
      if (reaction.action != nullptr) all.push_back(reaction.action.get());
  return all;
}
}  // namespace

// What comes before a statement's rows: triggers, and room for what follows them. An action's triggers per statement
// wait for the first row that it runs for (end_dml).
void Generator::begin_dml(const BoundDml& dml, bool statement_triggers) {
  if (dml.merge != nullptr) return begin_merge(*dml.merge);
  if (const BoundTriggers* triggers = dml.triggers.get()) {
    if (statement_triggers) gen_statement_triggers(triggers->before_statement, {});
    if (triggers->sees_rows_after()) open_after_rows(dml);
  }
  begin_events(dml);
  for (const RowReaction& reaction : dml.reactions)
    if (reaction.action != nullptr) begin_dml(*reaction.action, false);
  const std::vector<const BoundDml*> all = with_actions(dml);
  for (size_t i = 1; i < all.size(); i++) {
    const auto first = std::find_if(all.begin(), all.end(), [&](auto* d) { return shares_triggers(*d, *all[i]); });
    if (all[i]->triggers == nullptr || *first == all[i]) continue;
    AfterRows& rows = after_rows_[all[i]];
    rows.old_rows = after_rows_[*first].old_rows;
    rows.new_rows = after_rows_[*first].new_rows;
  }
  if (dml.conflict != nullptr && dml.conflict->update != nullptr) begin_dml(*dml.conflict->update);
}

// What follows them: foreign keys, triggers; then the same for the rows that foreign keys' actions have changed. All
// changes of a table by one kind of action fire its triggers per statement once, with all their rows.
void Generator::end_dml(const BoundDml& dml, bool statement_triggers) {
  if (dml.merge != nullptr) return end_merge(*dml.merge);
  if (dml.conflict != nullptr && dml.conflict->update != nullptr) end_dml(*dml.conflict->update);
  const std::vector<const BoundDml*> all = with_actions(dml);
  std::map<const BoundDml*, Reg> fired;  // by the first change that shares the triggers: I8 variables
  auto first_of = [&](const BoundDml& change) {
    return *std::find_if(all.begin(), all.end(), [&](auto* d) { return d == &change || shares_triggers(*d, change); });
  };
  for (const BoundDml* change : all) {
    if (change->triggers == nullptr || first_of(*change) != change) continue;
    Reg flag = fired[change] = b_.new_variable(Type::kI8);
    b_.assign(flag, constant(Type::kI8, change == &dml ? 1 : 0));
  }
  auto once = [&](Reg condition, const std::function<void()>& body) {
    Block mine = b_.new_block(), next = b_.new_block();
    b_.branch(condition, mine, next);
    b_.set_block(mine);
    body();
    b_.jump(next);
    b_.set_block(next);
  };
  auto begin_action = [&](const BoundDml& action) {
    if (action.triggers == nullptr) return;
    Reg flag = fired.at(first_of(action));
    once(b_.compare(Op::kEq, flag, constant(Type::kI8, 0)), [&] {
      b_.assign(flag, constant(Type::kI8, 1));
      gen_statement_triggers(action.triggers->before_statement, {});
    });
  };
  for (size_t i = 0; i < all.size(); i++) {
    const BoundDml& change = *all[i];
    end_events(change, begin_action);
    if (change.triggers == nullptr) continue;
    const BoundDml* first = first_of(change);
    const bool is_last = std::none_of(all.begin() + static_cast<ptrdiff_t>(i) + 1, all.end(),
                                      [&](auto* later) { return first_of(*later) == first; });
    auto fire = [&] { gen_statement_triggers(change.triggers->after_statement, after_rows_[&change]); };
    if (!is_last || change.triggers->after_statement.empty() || (first == &dml && !statement_triggers)) continue;
    first == &dml ? fire() : once(fired.at(first), fire);
  }
}

// Refuses numerics that tables do not hold yet (storage/big_numeric.h).
void Generator::check_storable(const Value& value) {
  const SqlType& type = value.type;
  const bool is_array = type.id == TypeId::kArray && is_dynamic_numeric(element_of(type));
  if (!is_dynamic_numeric(type) && !is_array) return;
  Block look = b_.new_block(), fine = b_.new_block();
  if (is_array)
    b_.jump(look);
  else
    b_.branch(b_.compare(Op::kLt, value.b, constant(Type::kI32, 0)), look, fine, 2);
  b_.set_block(look);
  check(b_.call(k_rt_check_storable, {context(), store_row({value}), data_of(std::vector<SqlType>{type})}));
  b_.jump(fine);
  b_.set_block(fine);
}

void Generator::count_row() { b_.assign(row_count_, b_.binary(Op::kAdd, row_count_, constant(Type::kI64, 1))); }

// --- INSERT ---

void Generator::gen_insert(const BoundDml& dml, const Consumer& returning) {
  const storage::TableSchema& schema = dml.table->schema();
  auto target = std::make_unique<Relation>();
  target->id = dml.relation;
  target->table = dml.table;
  for (const auto& column : schema.columns)
    target->columns.push_back({column.name, column.type, !column.not_null, false});
  const Relation& relation = *target;
  insert_targets_.push_back(std::move(target));
  const ConflictState conflict = begin_conflict(dml);
  const bool before = dml.triggers != nullptr && !dml.triggers->before_row.empty();
  auto insert_row = [&](Values values) {
    Block skip = b_.new_block();
    if (!dml.source->from.empty()) check_interrupt();  // a chunk of rows takes some milliseconds
    if (before) {
      Values row = gen_before_row(dml, nullptr, &values, skip);
      std::move(row.begin(), row.end(), values.begin());
    }
    auto value_of = [&](uint32_t column) { return values[column]; };
    for (const auto& generated : dml.generated) {
      set_new_row(dml, {generated.generated.get()}, value_of);
      values[generated.column] = gen(*generated.generated);
    }
    std::set<uint32_t> columns;
    for (uint32_t c = 0; c < values.size(); c++) columns.insert(c);
    check_not_null(dml, columns, value_of);
    gen_checks(dml, dml.checks, value_of);
    const bool is_shared = schema.scheme == storage::PartitionScheme::kShared;
    Reg number = is_shared ? constant(Type::kI32, 0) : gen_route(values[schema.partition_column]);
    Reg partition = partition_pointer(relation, number);
    triggered_.note_others();
    Reg tid = b_.call(k_rt_insert_begin, {context(), partition});
    check(b_.convert(Op::kZExt, b_.compare(Op::kEq, tid, constant(Type::kI64, -1)), Type::kI32));
    RowSource& source = sources_[relation.id];
    source.relation = &relation;
    locate(&source, partition, tid);
    for (uint32_t c = 0; c < values.size(); c++) store_cell(source, c, values[c]);
    Block next = ir::kNoBlock;
    if (dml.conflict != nullptr) next = gen_conflict(dml, conflict, partition, tid, values, returning);
    gen_insert_finish(source, values);
    triggered_.note_own_change();
    note_changed_row(dml, partition, tid);
    count_row();
    if (dml.checks_at_once)
      gen_checks(dml, dml.references, value_of);
    else
      note_event(dml, nullptr, value_of);
    if (dml.triggers != nullptr && dml.triggers->sees_rows_after()) {
      Values row = row_values(dml);
      note_after_row(dml, nullptr, &row);
    }
    if (!dml.returning.empty()) {
      Values outputs;
      for (const auto& output : dml.returning) outputs.push_back(gen(*output.expr));
      returning(outputs);
    }
    if (next != ir::kNoBlock) {
      if (!b_.terminated()) b_.jump(next);
      b_.set_block(next);
    }
    if (!b_.terminated()) b_.jump(skip);
    b_.set_block(skip);
  };
  const bool is_pipelined =
      !reads_table(*dml.source, dml.table.get(), true) && (dml.triggers == nullptr || !reads_any_table(*dml.source));
  is_pipelined ? gen_query(*dml.source, insert_row) : gen_buffered(*dml.source, insert_row);
  if (schema.scheme != storage::PartitionScheme::kShared)
    note_route(dml.source->outputs[schema.partition_column].expr.get());
  sources_.erase(relation.id);
}

void Generator::gen_insert_finish(const RowSource& source, const Values& values) {
  const storage::Table& table = *source.relation->table;
  std::vector<uint32_t> columns(table.schema().columns.size());
  std::iota(columns.begin(), columns.end(), 0);
  storage::RowValues row = storage::make_row_values(table.schema(), table.layout(), columns);
  if (!logs_insert_inline(row)) {
    check(b_.call(k_rt_insert_finish, {context(), source.partition, source.tid}));
    return;
  }
  std::string prefix = storage::row_change_prefix(storage::RowChangeKind::kInsert, table.schema().id, {});
  gen_insert_log(source, row, prefix,
                 [&](uint32_t column) { return column < values.size() ? values[column] : load_cell(source, column); });
  for (size_t i = 0; i < table.schema().indexes.size(); i++) gen_insert_key(source, i, values);
  gen_live(source);
}

// Keeps all rows of the query, which `run` runs, before the first one is consumed.
void Generator::gen_collected(const BoundQuery& query, const std::function<void(const Consumer&)>& run,
                              const Consumer& consume) {
  std::vector<SqlType> types;
  std::vector<bool> nullable;
  for (const auto& output : query.outputs) {
    if (output.hidden) continue;
    types.push_back(output.expr->type);
    nullable.push_back(output.expr->nullable);
  }
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  run([&](const Values& values) { check(b_.call(k_rt_rows_append, {context(), rows, store_row(values)})); });
  gen_buffer_rows(rows, types.size(), [&](Reg row) {
    Values values;
    for (size_t c = 0; c < types.size(); c++)
      values.push_back(load_datum(row, static_cast<int64_t>(c) * kDatumBytes, types[c], nullable[c], true));
    consume(values);
  });
}

// What the consumer changes is not seen by the query.
void Generator::gen_buffered(const BoundQuery& query, const Consumer& consume) {
  gen_collected(query, [&](const Consumer& keep) { gen_query(query, keep); }, consume);
}

// Runs body for each row of a RowBuffer.
void Generator::gen_buffer_rows(Reg rows, size_t width, const std::function<void(Reg)>& body) {
  gen_rounds([&] { return b_.load(Type::kI64, rows, offsetof(RowBuffer, count)); },
             [&](Reg i) {
               check_interrupt();
               Reg first = b_.load(Type::kPtr, rows, offsetof(RowBuffer, rows));
               body(b_.index(first, i, static_cast<int64_t>(width) * kDatumBytes));
             });
}

// --- UPDATE, DELETE ---

// Does an UPDATE assign a column of any index?
bool Generator::moves_keys(const BoundDml& dml) {
  const auto& indexes = dml.table->schema().indexes;
  return std::any_of(dml.assignments.begin(), dml.assignments.end(), [&](const ColumnAssignment& assignment) {
    return std::any_of(indexes.begin(), indexes.end(), [&](const storage::IndexDef& index) {
      return std::find(index.columns.begin(), index.columns.end(), assignment.column) != index.columns.end();
    });
  });
}

namespace {
// Whether the way goes by an index whose entries stay in place when their tuples move into a hot chunk.
bool meets_no_moved_tuple(const storage::TableSchema& schema, const AccessPath& path) {
  if (path.kind == AccessKind::kFullScan) return false;
  const storage::IndexDef& index = schema.indexes[path.index];
  return index.unique && std::none_of(index.columns.begin(), index.columns.end(),
                                      [&](uint32_t column) { return !schema.columns[column].not_null; });
}
}  // namespace

// Must all rows be found before the first is changed? Not where at most one row is found, and not where the way to the
// rows cannot meet a changed row again.
bool Generator::needs_collection(const BoundDml& dml, const JoinPlan& plan) const {
  const AccessPath& path = plan.steps[0].path;
  if (plan.steps.size() > 1 || dml.triggers != nullptr) return true;
  if (path.kind == AccessKind::kPoint) return false;
  for (const auto& conjunct : dml.source->where)
    if (reads_table(*conjunct, dml.table.get())) return true;
  for (const auto& assignment : dml.assignments)
    if (reads_table(*assignment.value, dml.table.get())) return true;
  for (const auto& output : dml.returning)
    if (reads_table(*output.expr, dml.table.get())) return true;
  // what moves into a hot chunk lies where a scan comes by
  if (dml.kind == DmlKind::kUpdate && compacts(*dml.table) && !meets_no_moved_tuple(dml.table->schema(), path))
    return true;
  if (path.kind == AccessKind::kFullScan) return false;
  if (dml.kind == DmlKind::kDelete) return true;
  const storage::IndexDef& index = dml.table->schema().indexes[path.index];
  return std::any_of(dml.assignments.begin(), dml.assignments.end(), [&](const ColumnAssignment& assignment) {
    return std::find(index.columns.begin(), index.columns.end(), assignment.column) != index.columns.end();
  });
}

void Generator::gen_change(const BoundDml& dml, const Consumer& returning) {
  uint32_t descriptor = 0;
  if (dml.kind == DmlKind::kUpdate) {
    std::vector<uint32_t> columns;
    for (const auto& assignment : dml.assignments) columns.push_back(assignment.column);
    resources_.updates.push_back(
        std::make_unique<storage::UpdateDescriptor>(storage::make_update_descriptor(*dml.table, columns)));
    descriptor = static_cast<uint32_t>(resources_.updates.size() - 1);
  }
  JoinPlan plan = plan_joins(*dml.source, known_relations(), dml.relation);
  // of several rows of FROM the first one decides; what RETURNING gives may become rows in that order
  const bool is_scan = plan.steps[0].path.kind == AccessKind::kFullScan;
  resources_.footprint.is_planned |= plan.steps.size() > 1 || (is_scan && !dml.returning.empty());
  auto new_values = [&] {
    Values values;
    for (const auto& assignment : dml.assignments) values.push_back(stabilise(gen(*assignment.value)));
    return values;
  };
  if (!needs_collection(dml, plan)) {
    const JoinStep& step = plan.steps[0];
    const bool changes_all =
        dml.kind == DmlKind::kUpdate && step.path.kind != AccessKind::kFullScan && step.filters.empty();
    if (changes_all) changed_relation_ = dml.relation;
    gen_joins(&plan, [&] {
      Block next = b_.new_block();
      if (loops_ > 0) check_interrupt();
      skip_changed_row(dml, next);
      const Values values = new_values();
      const RowSource& source = sources_[dml.relation];
      triggered_.check_untouched(dml, false, source.partition, source.tid, next);
      gen_change_row(dml, descriptor, values, returning);
      if (!b_.terminated()) b_.jump(next);
      b_.set_block(next);
    });
    changed_relation_.reset();
  } else {
    gen_collected(dml, &plan, descriptor, returning);
  }
  for (const auto& entry : dml.source->from) sources_.erase(entry.relation->id);
}

// Of a column that is assigned twice the later value is stored, logged and checked.
void Generator::gen_update_row(const BoundDml& dml, const RowSource& source, uint32_t number, const Values& values) {
  if (values.empty()) return;  // SET b = DEFAULT of a generated column that is as it was: no cell changes
  const storage::UpdateDescriptor& descriptor = *resources_.updates[number];
  const storage::TableSchema& schema = dml.table->schema();
  storage::RowValues key = storage::make_row_values(schema, dml.table->layout(), storage::identity_columns(schema));
  auto store = [&] {
    for (size_t i = 0; i < values.size(); i++) store_cell(source, dml.assignments[i].column, values[i]);
  };
  if (logs_update_inline(descriptor, key)) {
    gen_update_log(source, descriptor, number, key, [&](uint32_t column) {
      size_t i = values.size() - 1;
      while (dml.assignments[i].column != column) i--;
      return values[i];
    });
    return store();
  }
  Reg by_number = constant(Type::kI64, number);
  check(b_.call(k_rt_update_begin, {context(), source.partition, source.tid, by_number}));
  store();
  check(b_.call(k_rt_update_finish, {context(), source.partition, source.tid, by_number}));
}

// Removes the row that sources_[dml.relation] is on. A VOLATILE routine of RETURNING sees the table without it: then
// the row's values outlive the row.
void Generator::gen_delete_row(const BoundDml& dml, const std::function<void()>& gen_outputs) {
  RowSource& source = sources_[dml.relation];
  const bool is_seen = std::any_of(dml.returning.begin(), dml.returning.end(),
                                   [](const OutputColumn& output) { return sees_changes(*output.expr); });
  Values kept;
  if (is_seen) {
    std::set<uint32_t> columns;
    for (const auto& output : dml.returning) collect_columns(*output.expr, dml.relation, &columns);
    if (!columns.empty()) kept.resize(*columns.rbegin() + 1);
    for (uint32_t column : columns) kept[column] = stabilise(load_column(source, column));
  } else {
    gen_outputs();
  }
  note_event(dml, [&](uint32_t column) { return load_column(source, column); }, nullptr);
  const ir::External& remove = compacts(*dml.table) ? k_rt_delete_anywhere : k_rt_delete;
  check(b_.call(remove, {context(), source.partition, source.tid}));
  triggered_.note_own_change();
  if (!is_seen) return;
  source.values = std::move(kept);
  gen_outputs();
  source.values.clear();
}

// Changes the row that sources_[dml.relation] is on.
void Generator::gen_change_row(const BoundDml& dml, uint32_t descriptor, const Values& given,
                               const Consumer& returning) {
  RowSource& source = sources_[dml.relation];
  Values outputs, old_row, values = given;
  Block skip = b_.new_block();
  if (dml.kind == DmlKind::kUpdate) gen_make_hot(&source, skip);
  const bool before = dml.triggers != nullptr && !dml.triggers->before_row.empty();
  const bool after = dml.triggers != nullptr && dml.triggers->sees_rows_after();
  if (before || after) old_row = row_values(dml);
  if (before && dml.kind == DmlKind::kDelete) {
    gen_before_row(dml, &old_row, nullptr, skip);
  } else if (before) {
    Values new_row = old_row;
    for (size_t i = 0; i < values.size(); i++)
      if (dml.assignments[i].column < new_row.size()) new_row[dml.assignments[i].column] = values[i];
    new_row = gen_before_row(dml, &old_row, &new_row, skip);
    for (size_t i = 0; i < values.size(); i++)
      if (dml.assignments[i].column < new_row.size()) values[i] = new_row[dml.assignments[i].column];
  }
  if (before) triggered_.check_untouched(dml, true, source.partition, source.tid, skip);
  auto output_values = [&] {
    for (const auto& output : dml.returning) outputs.push_back(gen(*output.expr));
  };
  auto old_value = [&](uint32_t column) { return load_column(source, column); };
  if (dml.kind == DmlKind::kDelete) {
    gen_delete_row(dml, output_values);
  } else {
    Values next = values;
    auto new_value = [&](uint32_t column) {
      for (size_t i = next.size(); i-- > 0;)
        if (dml.assignments[i].column == column) return next[i];
      return load_column(source, column);
    };
    for (size_t i = 0; i < next.size(); i++) {
      const BoundExpr* generated = dml.assignments[i].generated.get();
      if (generated == nullptr) continue;
      set_new_row(dml, {generated}, new_value);
      next[i] = stabilise(gen(*generated));
    }
    std::set<uint32_t> columns;
    for (size_t i = 0; i < next.size(); i++) columns.insert(dml.assignments[i].column);
    check_not_null(dml, columns, new_value);
    gen_checks(dml, dml.checks, new_value);
    if (!dml.checks_at_once) note_event(dml, old_value, new_value);
    gen_update_row(dml, source, descriptor, next);
    triggered_.note_own_change();
    if (moves_keys(dml)) source.known.clear();
    if (dml.checks_at_once) gen_checks(dml, dml.references, new_value);  // unique keys come first
    output_values();
  }
  if (after) {
    Values new_row;
    if (dml.kind == DmlKind::kUpdate) new_row = row_values(dml);
    note_after_row(dml, &old_row, dml.kind == DmlKind::kUpdate ? &new_row : nullptr);
  }
  note_changed_row(dml, source.partition, source.tid);
  count_row();
  if (!dml.returning.empty()) returning(outputs);
  if (!b_.terminated()) b_.jump(skip);
  b_.set_block(skip);
}

// Finds all rows with their new values, each target row once, then changes them. A VOLATILE routine sees the rows that
// have changed by then: conditions and values that call one are computed when their row's turn has come.
void Generator::gen_collected(const BoundDml& dml, JoinPlan* plan, uint32_t descriptor, const Consumer& returning) {
  const std::vector<const BoundExpr*> late = take_late_filters(plan);
  const FoundRow found = found_row(dml, !late.empty());
  const std::vector<SqlType>& types = found.types;
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  Reg seen = ir::kNoReg;
  if (plan->steps.size() > 1) {
    Reg two = constant(Type::kI64, 2);
    check(b_.call(k_rt_table_create, {context(), data_of(types), two, two}));
    seen = b_.load(Type::kPtr, context(), kContextValue);
  }
  gen_joins(plan, [&] {
    RowSource& source = sources_[dml.relation];
    Values row(2);
    row[0].type = row[1].type = make_type(TypeId::kInt8);
    row[0].a = b_.convert(Op::kBitcast, source.partition, Type::kI64);
    row[1].a = source.tid;
    Block next = b_.new_block();
    skip_changed_row(dml, next);
    if (seen != ir::kNoReg) {
      check(b_.call(k_rt_table_find, {context(), seen, store_row(row), constant(Type::kI64, 1)}));
      Block fresh = b_.new_block();
      Reg is_new = b_.load(Type::kI64, context(), kContextValue + 8);
      b_.branch(b_.compare(Op::kNe, is_new, constant(Type::kI64, 0)), fresh, next);
      b_.set_block(fresh);
    }
    for (size_t i = 0; i < found.places.size(); i++)
      if (found.places[i] != 0) row.push_back(gen(*dml.assignments[i].value));
    for (const auto& [relation, column] : found.extra) row.push_back(load_column(sources_[relation], column));
    check(b_.call(k_rt_rows_append, {context(), rows, store_row(row)}));
    b_.jump(next);
    b_.set_block(next);
  });
  if (triggered_.fires_late(dml)) gen_statement_triggers(dml.triggers->before_statement, {});
  gen_buffer_rows(rows, types.size(), [&](Reg row) {
    RowSource& source = sources_[dml.relation];
    Block next = b_.new_block();
    Value partition = load_datum(row, 0, types[0], false, true);
    Value tid = load_datum(row, kDatumBytes, types[1], false, true);
    Reg place = b_.convert(Op::kBitcast, partition.a, Type::kPtr);
    triggered_.check_untouched(dml, false, place, tid.a, next);
    open_row(&source, place, tid.a);
    size_t at = found.first_extra;
    for (const auto& [relation, column] : found.extra) {
      RowSource& other = sources_[relation];
      other.row = ir::kNoReg;
      other.values.resize(other.relation->columns.size());
      other.values[column] = load_datum(row, static_cast<int64_t>(at) * kDatumBytes, types[at], true, true);
      at++;
    }
    gen_filters(late, next);
    const auto check_again = [&] {
      if (late.empty() && std::find(found.places.begin(), found.places.end(), 0) == found.places.end()) return;
      triggered_.check_untouched(dml, false, source.partition, source.tid, next);
    };
    Values values;
    for (size_t i = 0; i < found.places.size(); i++)
      values.push_back(found.places[i] == 0 ? stabilise(gen(*dml.assignments[i].value))
                                            : load_datum(row, static_cast<int64_t>(found.places[i]) * kDatumBytes,
                                                         types[found.places[i]], true, true));
    check_again();
    gen_change_row(dml, descriptor, values, returning);
    if (!b_.terminated()) b_.jump(next);
    b_.set_block(next);
  });
}

}  // namespace scyper::query
