#include "codegen/triggered.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/relation_walk.h"
#include "query/exec_context.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

bool finds_rows(const BoundDml& dml) { return dml.kind == DmlKind::kUpdate || dml.kind == DmlKind::kDelete; }

// The tables whose rows a statement finds and changes, and whether others may change rows meanwhile.
struct Turns {
  std::vector<std::shared_ptr<storage::Table>> tables;
  bool calls = false;  // triggers or VOLATILE routines

  void add(const BoundDml& dml) {
    calls |= sees_changes(dml);
    add_parts(dml);
  }

  void add(const CommonQuery& part) {
    if (part.dml != nullptr) add(*part.dml);
    if (part.query != nullptr) calls |= sees_changes(*part.query);
    if (part.recursive != nullptr) calls |= sees_changes(*part.recursive);
  }

 private:
  void add_parts(const BoundDml& dml) {
    if (dml.view != nullptr) return;
    if (dml.triggers != nullptr) calls |= !dml.triggers->before_row.empty() || !dml.triggers->before_statement.empty();
    if (finds_rows(dml) && seen_.insert(dml.table.get()).second) tables.push_back(dml.table);
    if (dml.conflict != nullptr && dml.conflict->update != nullptr) add_parts(*dml.conflict->update);
    if (dml.merge != nullptr) {
      for (const auto& when : dml.merge->whens)
        if (when.action != nullptr) add_parts(*when.action);
    }
    for (const RowReaction& reaction : dml.reactions)
      if (reaction.action != nullptr) add_parts(*reaction.action);
  }

  std::set<const storage::Table*> seen_;
};

// Of one change alone: PostgreSQL's BEFORE triggers per statement run behind the statement's snapshot.
bool may_fire_late(const BoundDml& dml) {
  return finds_rows(dml) && dml.view == nullptr && dml.with == nullptr && dml.triggers != nullptr &&
         !dml.triggers->before_statement.empty();
}

}  // namespace

TriggeredCode::State TriggeredCode::open(const BoundDml* main, const BoundWith* with, const TableNumber& number_of) {
  const State around = std::exchange(state_, State());
  Turns turns;
  if (main != nullptr) {
    turns.add(*main);
    state_.is_merge = main->merge != nullptr;
    if (may_fire_late(*main)) state_.fires_late = main;
  }
  if (with != nullptr) {
    for (const auto* list : {&with->copies, &with->before, &with->after})
      for (const auto& part : *list) turns.add(*part);
  }
  if (!turns.calls || turns.tables.empty()) return around;
  std::vector<int64_t> numbers;
  for (const auto& table : turns.tables) numbers.push_back(number_of(table));
  const Reg data = b_.data({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t)});
  const Reg count = b_.constant(Type::kI64, static_cast<int64_t>(numbers.size()));
  check_(b_.call(k_rt_triggered_open, {ir::kContextReg, data, count}));
  state_.rows = b_.load(Type::kPtr, ir::kContextReg, offsetof(ExecContext, value));
  return around;
}

void TriggeredCode::restart() {
  state_.is_merge = false;
  if (state_.rows != ir::kNoReg) check_(b_.call(k_rt_triggered_restart, {ir::kContextReg, state_.rows}));
}

ir::Reg TriggeredCode::answer() { return b_.load(Type::kI64, ir::kContextReg, offsetof(ExecContext, value)); }

// A row with BEFORE triggers is locked for an update before they run, whatever follows.
RowTurn TriggeredCode::turn_of(const BoundDml& dml, bool behind_triggers) const {
  if (!behind_triggers && dml.triggers != nullptr && !dml.triggers->before_row.empty()) return RowTurn::kUpdate;
  if (state_.is_merge) return RowTurn::kMerge;
  return dml.kind == DmlKind::kUpdate ? RowTurn::kUpdate : RowTurn::kDelete;
}

void TriggeredCode::check_untouched(const BoundDml& dml, bool behind_triggers, Reg partition, Reg tid, Block skip) {
  if (state_.rows == ir::kNoReg) return;
  const Reg turn = b_.constant(Type::kI64, static_cast<int64_t>(turn_of(dml, behind_triggers)));
  check_(b_.call(k_rt_check_untouched, {ir::kContextReg, state_.rows, partition, tid, turn}));
  const Block found = b_.new_block();
  b_.branch(b_.compare(Op::kEq, answer(), b_.constant(Type::kI64, kRowNew)), skip, found, 2);
  b_.set_block(found);
}

void TriggeredCode::note_others() {
  if (state_.rows != ir::kNoReg) check_(b_.call(k_rt_triggered_note, {ir::kContextReg, state_.rows}));
}

void TriggeredCode::note_own_change() {
  if (state_.rows == ir::kNoReg) return;
  const Reg head = b_.load_invariant(Type::kPtr, ir::kContextReg, offsetof(ExecContext, changes));
  const Reg newest = b_.load(Type::kPtr, head, offsetof(storage::ChangeLogHead, top));
  b_.store(state_.rows, offsetof(TriggeredRows, known), newest);
}

ir::Reg TriggeredCode::is_touched(Reg partition, Reg tid) {
  if (state_.rows == ir::kNoReg) return ir::kNoReg;
  check_(b_.call(k_rt_triggered_find, {ir::kContextReg, state_.rows, partition, tid}));
  return b_.compare(Op::kNe, answer(), b_.constant(Type::kI64, kRowUntouched));
}

}  // namespace scyper::query
