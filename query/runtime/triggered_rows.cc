#include "runtime/triggered_rows.h"

#include "query/exec_context.h"
#include "runtime/key_table.h"
#include "runtime/memory.h"
#include "runtime/windows.h"

namespace scyper::query {

using storage::TablePartition;
using storage::Tid;
using storage::UndoEntry;

namespace {

constexpr int64_t kKeyWidth = 2;
constexpr int64_t kWidth = 3;
const SqlType kRowTypes[kWidth] = {make_type(TypeId::kInt8), make_type(TypeId::kInt8), make_type(TypeId::kInt8)};

bool restart(ExecContext* c, TriggeredRows* t) {
  t->known = c->log->top();
  return open_key_table(c, &t->rows, kRowTypes, kWidth, kKeyWidth);
}

bool is_watched(const ExecContext* c, const TriggeredRows& t, const TablePartition* partition) {
  for (int64_t i = 0; i < t.table_count; i++)
    if (c->tables[t.tables[i]][0]->table == partition->table) return true;
  return false;
}

KeyTable::Entry* find_row(ExecContext* c, TriggeredRows* t, const TablePartition* partition, Tid tid, bool adds,
                          bool* is_new) {
  const Datum key[kKeyWidth] = {int_datum(reinterpret_cast<int64_t>(partition)), int_datum(static_cast<int64_t>(tid))};
  return find_key(c, &t->rows, key, adds, is_new);
}

// Notes what others have changed since the last look. The statement notes its own changes itself
// (TriggeredRows::known), so each entry of the log is looked at once. Changes that were taken back are not in the log
// any more. False: no room.
bool note_changes(ExecContext* c, TriggeredRows* t) {
  for (const UndoEntry* entry = c->log->top(); entry != t->known; entry = entry->previous) {
    const UndoEntry::Kind kind = entry->kind;
    if (kind != UndoEntry::Kind::kInsert && kind != UndoEntry::Kind::kUpdate && kind != UndoEntry::Kind::kDelete)
      continue;
    if (!is_watched(c, *t, entry->partition)) continue;
    bool is_new = false;
    KeyTable::Entry* row = find_row(c, t, entry->partition, entry->tid, true, &is_new);
    if (row == nullptr) return false;
    if (kind == UndoEntry::Kind::kInsert) row->row[kKeyWidth].lo = 1;
  }
  t->known = c->log->top();
  return true;
}

int64_t look_up(ExecContext* c, TriggeredRows* t, TablePartition* partition, int64_t tid) {
  bool is_new = false;
  const Tid present = present_tid(c, partition, static_cast<Tid>(tid));
  const KeyTable::Entry* row = find_row(c, t, partition, present, false, &is_new);
  if (row != nullptr && row->row[kKeyWidth].lo != 0) return kRowNew;
  return row != nullptr || !storage::is_live(partition, present) ? kRowTouched : kRowUntouched;
}

extern "C" {

int32_t rt_triggered_open(ExecContext* c, const int64_t* tables, int64_t count) noexcept {
  char* memory = c->scratch->allocate(sizeof(TriggeredRows));
  if (memory == nullptr) return fail_memory(c);
  auto* t = new (memory) TriggeredRows();
  t->tables = tables;
  t->table_count = count;
  c->value[0] = reinterpret_cast<int64_t>(t);
  return restart(c, t) ? 0 : fail_memory(c);
}

int32_t rt_triggered_restart(ExecContext* c, TriggeredRows* t) noexcept { return restart(c, t) ? 0 : fail_memory(c); }

int32_t rt_triggered_note(ExecContext* c, TriggeredRows* t) noexcept { return note_changes(c, t) ? 0 : fail_memory(c); }

int32_t rt_triggered_find(ExecContext* c, TriggeredRows* t, TablePartition* partition, int64_t tid) noexcept {
  if (!note_changes(c, t)) return fail_memory(c);
  c->value[0] = look_up(c, t, partition, tid);
  return 0;
}

int32_t rt_check_untouched(ExecContext* c, TriggeredRows* t, TablePartition* partition, int64_t tid,
                           int64_t turn) noexcept {
  if (!note_changes(c, t)) return fail_memory(c);
  c->value[0] = look_up(c, t, partition, tid);
  if (c->value[0] != kRowTouched) return 0;
  const char* what = turn == static_cast<int64_t>(RowTurn::kMerge)    ? "updated or deleted"
                     : turn == static_cast<int64_t>(RowTurn::kUpdate) ? "updated"
                                                                      : "deleted";
  return c->fail(
      with_hint(sql_error("27000", std::string("tuple to be ") + what +
                                       " was already modified by an operation triggered by the current command"),
                "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows."));
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_TRIGGERED_ROWS_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
