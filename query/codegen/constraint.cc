#include <algorithm>
#include <set>

#include "base/invariant.h"
#include "codegen/generator.h"
#include "runtime/row_lock_calls.h"
#include "runtime/violations.h"
#include "storage/row_claims.h"

// What a table's rules add to changes: CHECK before a row changes, foreign keys when the statement has changed all its
// rows, ON CONFLICT.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

void read_columns(const std::vector<const BoundExpr*>& readers, uint32_t relation, std::set<uint32_t>* columns) {
  for (const BoundExpr* reader : readers) collect_columns(*reader, relation, columns);
}
}  // namespace

// The row as it will be, as far as `readers` look at it.
void Generator::set_new_row(const BoundDml& dml, const std::vector<const BoundExpr*>& readers,
                            const ColumnValue& value_of) {
  std::set<uint32_t> read;
  read_columns(readers, dml.new_row->id, &read);
  Values values(dml.new_row->columns.size());
  for (uint32_t column : read) values[column] = value_of(column);
  RowSource& row = sources_[dml.new_row->id];
  row = RowSource();
  row.relation = dml.new_row.get();
  row.values = std::move(values);
}

// These columns of the row that is about to be stored: NULL where none may be is 23502. All of them fail at one place,
// where the row is at hand for DETAIL.
void Generator::check_not_null(const BoundDml& dml, const std::set<uint32_t>& columns, const ColumnValue& value_of) {
  const storage::TableSchema& schema = dml.table->schema();
  Block bad = ir::kNoBlock;
  Reg failed = ir::kNoReg;
  for (uint32_t column : columns) {
    const Value value = value_of(column);
    check_storable(value);
    if (!schema.columns[column].not_null || value.null == ir::kNoReg) continue;
    if (bad == ir::kNoBlock) {
      bad = b_.new_block();
      failed = b_.new_variable(Type::kI64);
    }
    Block mine = b_.new_block(), fine = b_.new_block();
    b_.branch(value.null, mine, fine, 2);
    b_.set_block(mine);
    b_.assign(failed, constant(Type::kI64, column));
    b_.jump(bad);
    b_.set_block(fine);
  }
  if (bad == ir::kNoBlock) return;
  Block good = b_.new_block();
  b_.jump(good);
  b_.set_block(bad);
  Values shown;
  std::vector<SqlType> types;
  for (uint32_t column : dml.failing_row.columns) {
    shown.push_back(value_of(column));
    types.push_back(shown.back().type);
  }
  this->check(b_.call(k_rt_not_null, {context(), constant(Type::kI64, table_number(dml.table)), failed,
                                      b_.data(dml.failing_row.before + '\0'), store_row(shown), data_of(types),
                                      constant(Type::kI64, static_cast<int64_t>(types.size()))}));
  b_.jump(good);
  b_.set_block(good);
}

void Generator::gen_check(const RowCheck& check, const ColumnValue& value_of) {
  Block bad = b_.new_block();
  Block good = b_.new_block();
  gen_logic(*check.condition, good, bad, good);
  b_.set_block(bad);
  Values shown;
  std::vector<SqlType> types;
  for (uint32_t column : check.detail_columns) {
    shown.push_back(value_of(column));
    types.push_back(shown.back().type);
  }
  std::string texts;
  for (const std::string* text : {&check.sqlstate, &check.message, &check.detail_before, &check.detail_after}) {
    texts += *text;
    texts += '\0';
  }
  Reg row = store_row(shown);
  this->check(
      b_.call(k_rt_violation, {context(), b_.data(texts), constant(Type::kI64, static_cast<int64_t>(texts.size())), row,
                               data_of(types), constant(Type::kI64, static_cast<int64_t>(types.size()))}));
  b_.jump(good);
  b_.set_block(good);
}

void Generator::gen_checks(const BoundDml& dml, const std::vector<RowCheck>& checks, const ColumnValue& value_of) {
  if (checks.empty()) return;
  std::vector<const BoundExpr*> readers;
  for (const RowCheck& check : checks) readers.push_back(check.condition.get());
  set_new_row(dml, readers, value_of);
  for (const RowCheck& check : checks) gen_check(check, value_of);
  sources_.erase(dml.new_row->id);
}

// --- foreign keys ---

void Generator::begin_events(const BoundDml& dml) {
  if (dml.checks_at_once || (dml.references.empty() && dml.reactions.empty())) return;
  const auto& columns = dml.table->schema().columns;
  std::vector<SqlType> types;
  for (uint32_t column : dml.old_columns) types.push_back(columns[column].type);
  for (uint32_t column : dml.new_columns) types.push_back(columns[column].type);
  if (!dml.references.empty()) types.insert(types.end(), 2, make_type(TypeId::kInt8));
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  events_.push_back({&dml, b_.load(Type::kPtr, context(), kContextValue), types.size()});
}

// Of the row that is about to change; new_value is null for a delete, old_value for an insert.
void Generator::note_event(const BoundDml& dml, const ColumnValue& old_value, const ColumnValue& new_value) {
  const BoundDml* owner = dml.events_of != nullptr ? dml.events_of : &dml;
  for (auto events = events_.rbegin(); events != events_.rend(); ++events) {
    if (events->dml != owner) continue;
    Values row;
    for (uint32_t column : owner->old_columns) row.push_back(old_value(column));
    for (uint32_t column : owner->new_columns) row.push_back(new_value(column));
    if (!owner->references.empty()) {
      const RowSource& source = found_in(sources_, dml.relation);
      row.resize(row.size() + 2);
      row[row.size() - 2].type = row.back().type = make_type(TypeId::kInt8);
      row[row.size() - 2].a = b_.convert(Op::kBitcast, source.partition, Type::kI64);
      row.back().a = source.tid;
    }
    check(b_.call(k_rt_rows_append, {context(), events->rows, store_row(row)}));
    return;
  }
}

// All rows have changed. For each of them in turn: its foreign keys, their actions, then its AFTER ROW triggers, as in
// PostgreSQL's queue of triggers. begin_action: comes before an action runs for one of the rows. Actions may add rows
// to those at hand (cycles of foreign keys): the loop sees them too. The triggers of rows that actions change are up to
// end_dml().
void Generator::end_events(const BoundDml& dml, const std::function<void(const BoundDml&)>& begin_action) {
  size_t number = 0;
  while (number < events_.size() && events_[number].dml != &dml) number++;
  if (number == events_.size()) return gen_after_rows(dml);
  const RowEvents events = events_[number];
  Reg count = b_.new_variable(Type::kI64);
  b_.assign(count, row_count_);
  auto slots_of = [&](const std::vector<uint32_t>& columns, size_t first) {
    std::vector<int> slots(dml.table->schema().columns.size(), -1);
    for (size_t i = 0; i < columns.size(); i++) slots[columns[i]] = static_cast<int>(first + i);
    return slots;
  };
  Reg turn = b_.new_variable(Type::kI64);
  b_.assign(turn, constant(Type::kI64, 0));
  gen_buffer_rows(events.rows, events.width, [&](Reg row) {
    auto publish_row = [&](const Relation* relation, const std::vector<uint32_t>& columns, size_t first) {
      if (relation == nullptr) return;
      RowSource& source = sources_[relation->id];
      source = RowSource();
      source.relation = relation;
      source.row = row;
      source.slots = slots_of(columns, first);
    };
    gen_references(dml, row, events.width);
    publish_row(dml.old_row.get(), dml.old_columns, 0);
    publish_row(dml.new_row.get(), dml.new_columns, dml.old_columns.size());
    auto value_in = [&](const std::unique_ptr<Relation>& relation) {
      return [this, id = relation == nullptr ? 0 : relation->id](uint32_t column) {
        return load_column(found_in(sources_, id), column);
      };
    };
    for (const RowReaction& reaction : dml.reactions) gen_reaction(reaction, value_in(dml.old_row), begin_action);
    gen_next_after_row(dml, turn);
  });
  if (dml.old_row != nullptr) sources_.erase(dml.old_row->id);
  if (dml.new_row != nullptr) sources_.erase(dml.new_row->id);
  b_.assign(row_count_, count);
  events_.erase(events_.begin() + static_cast<ptrdiff_t>(number));
}

// The AFTER ROW triggers of the row whose events have run. Rows that a cycle's actions have added to the events are in
// no buffer of this change: their triggers are those of the action.
void Generator::gen_next_after_row(const BoundDml& dml, Reg turn) {
  if (dml.triggers == nullptr || dml.triggers->after_row.empty()) return;
  const Reg rows = after_rows_[&dml].rows;
  Block mine = b_.new_block(), next = b_.new_block();
  b_.branch(b_.compare(Op::kLt, turn, b_.load(Type::kI64, rows, offsetof(RowBuffer, count))), mine, next);
  b_.set_block(mine);
  Reg first = b_.load(Type::kPtr, rows, offsetof(RowBuffer, rows));
  Reg row = b_.index(first, turn, static_cast<int64_t>(width_of_after_row(dml)) * kDatumBytes);
  b_.assign(turn, b_.binary(Op::kAdd, turn, constant(Type::kI64, 1)));
  gen_after_row(dml, row);
  b_.jump(next);
  b_.set_block(next);
}

// The foreign keys of a row that has changed, as it is by now: reactions to other rows may have changed it again, or
// removed it.
void Generator::gen_references(const BoundDml& dml, Reg event, size_t width) {
  if (dml.references.empty()) return;
  auto place = [&](size_t field) {
    const auto at = static_cast<int64_t>(field) * static_cast<int64_t>(sizeof(Datum));
    return load_datum(event, at, make_type(TypeId::kInt8), false, true).a;
  };
  RowSource& source = sources_[dml.new_row->id];
  source = RowSource();
  source.relation = dml.new_row.get();
  open_row(&source, b_.convert(Op::kBitcast, place(width - 2), Type::kPtr), place(width - 1));
  Block there = b_.new_block(), done = b_.new_block();
  Reg flag = b_.load(Type::kI8, b_.index(source.chunk, source.offset, 1), dml.table->layout().live_offset);
  b_.branch(b_.compare(Op::kEq, flag, constant(Type::kI8, 1)), there, done, 1);
  b_.set_block(there);
  auto value = [&](uint32_t column) { return load_column(found_in(sources_, dml.new_row->id), column); };
  for (const RowCheck& check : dml.references) gen_check(check, value);
  b_.jump(done);
  b_.set_block(done);
}

void Generator::gen_reaction(const RowReaction& reaction, const ColumnValue& old_value,
                             const std::function<void(const BoundDml&)>& begin_action) {
  Block next = b_.new_block();
  if (reaction.condition != nullptr) {
    Block changed = b_.new_block();
    gen_condition(*reaction.condition, changed, next);
    b_.set_block(changed);
  }
  if (reaction.action != nullptr) {
    triggered_.restart();
    begin_action(*reaction.action);
    gen_rows_of_dml(*reaction.action, [](const Values&) {});
  }
  if (reaction.check.condition != nullptr) gen_check(reaction.check, old_value);
  b_.jump(next);
  b_.set_block(next);
}

// --- ON CONFLICT ---

Generator::ConflictState Generator::begin_conflict(const BoundDml& dml) {
  ConflictState state;
  if (dml.conflict == nullptr || dml.conflict->update == nullptr) return state;
  std::vector<uint32_t> columns;
  for (const auto& assignment : dml.conflict->update->assignments) columns.push_back(assignment.column);
  resources_.updates.push_back(
      std::make_unique<storage::UpdateDescriptor>(storage::make_update_descriptor(*dml.table, columns)));
  state.descriptor = static_cast<uint32_t>(resources_.updates.size() - 1);
  if (auto changed = changed_rows_.find(dml.table.get()); changed != changed_rows_.end()) {
    state.seen = changed->second;
    return state;
  }
  if (dml.source->from.empty()) return state;  // one row
  state.seen = open_row_table();
  return state;
}

// Does the table of open_row_table() hold that row? With `add`, from now on it does.
ir::Reg Generator::finds_row(Reg rows, Reg partition, Reg tid, bool add) {
  Values row(2);
  row[0].type = row[1].type = make_type(TypeId::kInt8);
  row[0].a = b_.convert(Op::kBitcast, partition, Type::kI64);
  row[1].a = tid;
  check(b_.call(k_rt_table_find, {context(), rows, store_row(row), constant(Type::kI64, add ? 1 : 0)}));
  if (!add) return b_.compare(Op::kNe, b_.load(Type::kPtr, context(), kContextValue), b_.null_pointer());
  return b_.compare(Op::kEq, b_.load(Type::kI64, context(), kContextValue + 8), constant(Type::kI64, 0));
}

namespace {
// PostgreSQL's lock of a row that an UPDATE changes.
storage::RowLock lock_of_update(const BoundDml& update) {
  const auto& indexes = update.table->schema().indexes;
  const bool moves = std::any_of(update.assignments.begin(), update.assignments.end(), [&](const auto& assignment) {
    return std::any_of(indexes.begin(), indexes.end(), [&](const storage::IndexDef& index) {
      return index.unique && !index.partial &&
             std::find(index.columns.begin(), index.columns.end(), assignment.column) != index.columns.end();
    });
  });
  return moves ? storage::RowLock::kUpdate : storage::RowLock::kNoKeyUpdate;
}
}  // namespace

// The new row lies in its cells, in no index. Goes on where nothing is in its way; gives the block behind it.
Generator::Block Generator::gen_conflict(const BoundDml& dml, const ConflictState& state, Reg partition, Reg tid,
                                         const Values& values, const Consumer& returning) {
  Block next = b_.new_block(), fresh = b_.new_block(), taken = b_.new_block();
  uint32_t indexes = 0;
  for (uint32_t index : dml.conflict->indexes) indexes |= 1u << index;
  Reg found = b_.call(k_rt_find_conflict, {partition, tid, constant(Type::kI64, indexes)});
  b_.branch(b_.compare(Op::kEq, found, constant(Type::kI64, -1)), fresh, taken);
  b_.set_block(taken);
  b_.call(k_rt_insert_abandon, {context(), partition, tid});
  if (dml.conflict->update == nullptr) check(b_.call(k_rt_meet_row, {context(), partition, found}));
  if (const BoundDml* update = dml.conflict->update.get()) {
    RowSource& target = sources_[dml.relation];
    const RowSource inserted = target;
    if (state.seen != ir::kNoReg) {
      Block first = b_.new_block();
      Reg is_second = finds_row(state.seen, partition, found, false);
      b_.branch(is_second, raise_block(RuntimeError::kConflictTwice), first, 2);
      b_.set_block(first);
    }
    if (const Reg touched = triggered_.is_touched(partition, found); touched != ir::kNoReg) {
      Block first = b_.new_block();
      b_.branch(touched, raise_block(RuntimeError::kConflictTwice), first, 2);
      b_.set_block(first);
    }
    Reg lock = constant(Type::kI64, static_cast<int64_t>(lock_of_update(*update)));
    check(b_.call(k_rt_lock_row, {context(), partition, found, lock}));
    open_row(&target, partition, found);
    RowSource& excluded = sources_[dml.conflict->excluded->id];
    excluded.relation = dml.conflict->excluded.get();
    excluded.values = values;
    excluded.values.resize(excluded.relation->columns.size());
    gen_conjuncts(update->source->where, next);
    Values assigned;
    for (const auto& assignment : update->assignments) assigned.push_back(stabilise(gen(*assignment.value)));
    // what WHERE or a trigger leaves alone may come again
    const auto noted = changed_rows_;
    if (state.seen != ir::kNoReg) changed_rows_[dml.table.get()] = state.seen;
    triggered_.check_untouched(*update, false, partition, found, next);
    gen_change_row(*update, state.descriptor, assigned, returning);
    changed_rows_ = noted;
    sources_.erase(dml.conflict->excluded->id);
    sources_[dml.relation] = inserted;
  }
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(fresh);
  if (state.seen != ir::kNoReg) finds_row(state.seen, partition, tid, true);
  return next;
}

}  // namespace scyper::query
