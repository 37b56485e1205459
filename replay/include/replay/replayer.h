#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/partition_set.h"
#include "base/status.h"
#include "query/database.h"
#include "replay/log_scan.h"
#include "replay/record.h"

namespace scyper::replay {

// Applies groups to a database: partitions in parallel, what ran alone at a rendezvous of all of them, in the order of
// the LSNs (HyPer IV.D, IV.G). Physical records go through storage's RowApplier, logical ones run as they ran before.
// Any error means that the database must not be used: what it has is no state of the history.
// Threads: apply() one; owns `threads` - 1 more while it runs. Nothing else may use the database meanwhile.
class Replayer {
 public:
  struct Options {
    uint32_t threads = 1;
    size_t redo_bytes_max = size_t{768} << 20;  // as EngineOptions has it
    size_t scratch_bytes_max = SIZE_MAX / 4;    // what a transaction needed when it ran, its replay may take
    // Of partitioned tables only these partitions are kept; what is shared is whole. Streams and rows of others are
    // passed over. The log has to be one that was written for it (EngineOptions::physical_crossing): 55000 otherwise.
    PartitionSet partitions = PartitionSet::all();
    bool makes_room = false;  // freezes full chunks where memory gets tight: nobody else does (storage/freeze_now.h)
  };
  static StatusOr<std::unique_ptr<Replayer>> create(query::Database* database, const Options& options);
  virtual ~Replayer() = default;

  // Records with from_lsn < LSN <= to_lsn, and times up to to_time_us (of `now()`; records behind the first later one
  // do not count either).
  struct Range {
    uint64_t from_lsn = 0;
    uint64_t to_lsn = ~uint64_t{0};
    int64_t to_time_us = INT64_MAX;
    std::vector<uint64_t> skipped;  // transactions that are left out: those that cannot be applied
  };
  // Compiles statements that are going to come often, say while an archive is loaded: code is ready when it is needed.
  virtual void prepare(std::span<const std::string> texts) = 0;
  // The groups follow those of the call before.
  virtual Status apply(const std::vector<ScannedGroup>& groups, const Range& range) = 0;

  // Between two applies: tables have other indexes than before.
  virtual void forget_indexes() = 0;

  // Called for each record that is applied, before it is, by any of the threads.
  using Observer = std::function<void(const RecordView&)>;
  virtual void set_observer(Observer observer) = 0;

  virtual uint64_t transactions() const = 0;
  virtual uint64_t physical() const = 0;  // of them
  virtual uint64_t last_lsn() const = 0;  // of what was applied, or the from_lsn
  virtual int64_t last_time_us() const = 0;
};

}  // namespace scyper::replay
