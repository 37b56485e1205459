#pragma once

#include <algorithm>
#include <span>

#include "positions.h"
#include "storage/frozen_slot.h"
#include "storage/tiered_chunk.h"

// Tuples of chunks in any state.
namespace scyper::storage {

// open_tuple() with a window of the calling thread: valid until its next call there. Where is_tiered(): what
// bring_tuple() has brought.
TuplePlace open_in_own_window(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns) noexcept;
bool frozen_has_tuple(const TablePartition* partition, Tid tid) noexcept;
void set_frozen_live(TablePartition* partition, Tid tid, bool live) noexcept;

inline TuplePlace place_of(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns) noexcept {
  const char* chunk = chunk_of(partition, tid);
  if (chunk != nullptr) [[likely]]
    return {chunk, offset_of(tid)};
  return open_in_own_window(partition, tid, columns);
}

inline bool has_tuple(const TablePartition* partition, Tid tid) noexcept {
  const char* chunk = chunk_of(partition, tid);
  if (chunk != nullptr) [[likely]]
    return chunk[partition->plan->live_offset + offset_of(tid)] != 0;
  return frozen_has_tuple(partition, tid);
}

inline void set_live_anywhere(TablePartition* partition, Tid tid, bool live) noexcept {
  if (chunk_of(partition, tid) != nullptr) [[likely]]
    return set_live(partition, tid, live);
  set_frozen_live(partition, tid, live);
}

// make_hot() where changes cannot be taken back (replay). kNoTid: out of memory, and the partition is not whole any
// more.
Tid make_hot_for_good(TablePartition* partition, Tid tid) noexcept;

// All chunks of a partition one after the other, as if they were hot.
class ChunkReader {
 public:
  ChunkReader(const TablePartition* partition, std::span<const uint32_t> columns)
      : partition_(partition), columns_(columns) {}
  // Live bytes and these columns' cells of positions with a tuple; valid until the next call. nullptr: no tuple, or
  // !status().ok().
  const char* open(uint64_t chunk);
  // 53200: no memory; else as VectorReader::status().
  const Status& status() const { return status_; }

  // visit(tid, chunk, offset) for every tuple; false ends it. Whether it came to the end; false: see status().
  template <typename Visit>
  bool for_each(Visit visit) {
    for (Tid first = 0; first < partition_->tuple_limit; first += kChunkTuples) {
      const char* chunk = open(first >> kChunkShift);
      if (!status_.ok()) return false;
      if (chunk == nullptr) continue;
      const Tid end = std::min<Tid>(first + kChunkTuples, partition_->tuple_limit);
      const char* live = chunk + partition_->plan->live_offset;
      for (Tid tid = first; tid < end; ++tid) {
        if (live[tid - first] != 0 && !visit(tid, chunk, static_cast<uint32_t>(tid - first))) return false;
      }
    }
    return true;
  }

 private:
  const TablePartition* partition_;
  std::span<const uint32_t> columns_;
  ChunkWindow window_;
  VectorReader vectors_;
  Status status_;
};

}  // namespace scyper::storage
