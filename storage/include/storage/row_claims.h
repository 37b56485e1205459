#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "storage/change_log.h"
#include "storage/table.h"

namespace scyper::storage {

// PostgreSQL's row locks, weakest first.
enum class RowLock : uint8_t { kKeyShare, kShare, kNoKeyUpdate, kUpdate };

// Whether two transactions may not hold both at once (PostgreSQL 15, 13.3.2).
constexpr bool excludes(RowLock a, RowLock b) { return static_cast<int>(a) + static_cast<int>(b) >= 3; }

// A transaction needs this for itself until its end: a row, or a key that no other may insert. Rows are named as redo
// names them, by primary key or hidden row id, because a Tid may change between two jobs.
struct RowClaim {
  const TablePartition* partition;
  std::string_view name;  // the same bytes: the same row or key. Valid during the call
  RowLock lock;
  bool changes = false;  // the row or key, rather than only locks it
};
// False ends the walk.
using ClaimVisitor = std::function<bool(const RowClaim&)>;

// A row or key as RowClaim::name, at `out`: kClaimBytesMax of room. Its size.
constexpr size_t kClaimBytesMax = 8 + kMaxIndexKeyBytes;

// The row itself. 58030: a frozen row cannot be read.
StatusOr<std::string_view> name_row(const TablePartition* partition, Tid tid, char* out);
// The row that has these values in identity_columns(). kKeyTooLarge is no row: an empty name.
StatusOr<std::string_view> name_row(const Table& table, std::span<const Datum> identity, char* out);

// The table of a name.
TableId table_of(std::string_view name);

// What the changes in the log claim that are newer than `before` (ChangeLog::top(); null: all of them):
//   - rows that were updated (kNoKeyUpdate; kUpdate where a key of a unique index changes) or deleted (kUpdate);
//   - keys of unique indexes that inserted and updated rows have now (kUpdate).
// The changes are in place. Rows of temporary tables claim nothing: only their session sees them.
// True: all were visited.
StatusOr<bool> visit_claims(const ChangeLog& log, const UndoEntry* before, const ClaimVisitor& visit);

// The partitions whose rows the changes in the log are of that are newer than `before`; one may come several times.
// visit: from const TablePartition* to bool; false ends it.
template <class Visit>
void visit_changed_partitions(const ChangeLog& log, const UndoEntry* before, const Visit& visit) {
  const TablePartition* last = nullptr;
  for (const UndoEntry* entry = log.top(); entry != before; entry = entry->previous) {
    const bool is_of_table = entry->kind != UndoEntry::Kind::kPayload && entry->kind != UndoEntry::Kind::kDefinition;
    if (!is_of_table || entry->partition == last) continue;
    last = entry->partition;
    if (!visit(last)) return;
  }
}

// Rows that were inserted or updated, for those who look at their foreign keys. descriptor: null for an insert.
struct WrittenRow {
  const TablePartition* partition;
  Tid tid;
  const UpdateDescriptor* descriptor;
};
StatusOr<bool> visit_written(const ChangeLog& log, const UndoEntry* before,
                             const std::function<StatusOr<bool>(const WrittenRow&)>& visit);

}  // namespace scyper::storage
