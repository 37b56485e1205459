#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "storage/key.h"
#include "storage/row_change.h"
#include "storage/table.h"

namespace scyper::storage {

// Names a row for longer than one job: a Tid may change between two jobs, for the compactor moves rows.
struct RowIdentity {
  TableId table;
  uint32_t partition = 0;
  uint64_t row_id = 0;  // of tables without primary key: __row_id
  auto operator<=>(const RowIdentity&) const = default;
};

// The last known places of rows without primary key. Only hints: a hint is compared with the row before it is
// used. Without a hint, finding the row takes a scan of its partition.
using RowPlaces = std::map<RowIdentity, Tid>;

// Applies row changes (docs/redo_format.md) through a ChangeLog, so that they can be taken back. RowApplier is the
// faster one for changes that stay.
// Applying what a log has recorded records the same changes again. Only hidden row ids differ: an inserted row draws a
// new one, and later changes of the same bytes to that row follow it.
// Threads: one. The log's undo entries refer to this object until its next commit or rollback_all().
class LoggedApplier {
 public:
  using TableLookup = std::function<Table*(TableId)>;  // nullptr for an unknown table; asked once until forget()
  LoggedApplier(TableLookup lookup, Table::DatumFormatter format);
  ~LoggedApplier();

  // An error leaves what was applied before it in the log: the caller rolls back. 40001: a row is not there any more.
  // 23505, 53200, 53400, 54000: as the row's own statement would fail. XX001: the bytes do not fit the tables.
  Status apply(std::string_view changes, ChangeLog* log, RowPlaces* places);
  // Goes on behind the last apply(): changes that were recorded behind those.
  Status apply_more(std::string_view changes, ChangeLog* log, RowPlaces* places);
  // The definition of a table has changed. The log is empty.
  void forget();

 private:
  struct Target;
  StatusOr<Target*> target_of(TableId id);
  Status insert(Target* target, const RowChange& change, ChangeLog* log);
  Status update(Target* target, const RowChange& change, Tid tid, ChangeLog* log);
  StatusOr<Tid> find(Target* target, const RowChange& change, RowPlaces* places);
  Status failure(ChangeResult result, const ChangeLog& log) const;

  const TableLookup lookup_;
  const Table::DatumFormatter format_;
  std::unordered_map<uint32_t, std::unique_ptr<Target>> targets_;
  std::map<RowIdentity, Tid>
      moved_;  // since the last apply(): rows that it has inserted or moved, by the ids in its bytes
};

}  // namespace scyper::storage
