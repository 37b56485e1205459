// Cooling chunks, and those on trial (docs/compaction.md, Temperatures and Cooling).
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "slots.h"
#include "storage/change_log.h"
#include "storage/compactor.h"
#include "storage/frozen_slot.h"
#include "storage/table.h"
#include "tuple_place.h"

namespace scyper::storage {

// Cooling chunks by what the last window has shown.
void Compactor::judge_cooling(TablePartition* partition) {
  for (uint64_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
    const FrozenSlot& slot = partition->frozen[chunk];
    if (slot.state != ChunkState::kCooling) continue;
    CoolingChunk& cooling = *slot.cooling;
    const uint32_t live = reinterpret_cast<const ChunkHeader*>(slot.chunk)->live;
    const uint32_t touched = cooling.touched.count();
    const uint32_t seen = cooling.live - live + touched;  // those that were touched before have moved, or are to
    const uint32_t used = seen - std::min(seen, std::exchange(cooling.touched_before, touched));
    const bool is_used_much = used > 0 && used * options_.reheat_share >= cooling.live;
    if (live == 0 || is_used_much) {
      if (cooling.is_on_trial) end_trial({partition, chunk}, is_used_much);
      return_chunk(partition, chunk);
      counts_.reheated.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    cooling.live = live;
    if (cooling.is_on_trial) {
      if (is_trial_short({partition, chunk})) continue;  // what it has shown says little
      end_trial({partition, chunk}, false);
      cooling.quiet_windows = kQuietWindows;
    } else {
      cooling.quiet_windows = used > 0 ? 0 : cooling.quiet_windows + 1;
    }
  }
}

// It began in the second half of the window that ends.
bool Compactor::is_trial_short(const ChunkId& chunk) const {
  MutexLock lock(&mutex_);
  const auto trials = trials_.find(chunk);
  return trials != trials_.end() &&
         std::chrono::steady_clock::now() - trials->second.begun < std::chrono::microseconds(window_us_ / 2);
}

void Compactor::end_trial(const ChunkId& chunk, bool has_failed) {
  MutexLock lock(&mutex_);
  if (!has_failed) {
    trials_.erase(chunk);
    return;
  }
  Trials& trials = trials_[chunk];  // a new one, where it had passed and waited for room to become cold
  trials.gate = chunk.first->table->frozen_store()->gate;
  ++trials.failed;
}

// Tuples of cooling chunks that transactions have read, since the last step.
bool Compactor::move_touched(TablePartition* partition, ChangeLog* log) {
  for (uint64_t chunk = 0; partition->frozen != nullptr && chunk < partition->chunk_count; ++chunk) {
    if (partition->frozen[chunk].state != ChunkState::kCooling) continue;
    if (partition->frozen[chunk].cooling->is_on_trial) continue;
    const std::vector<uint32_t> offsets = partition->frozen[chunk].cooling->touched.take(options_.moved_tuples_max);
    if (offsets.empty()) continue;
    uint64_t moved = 0;
    for (const uint32_t offset : offsets) {
      const Tid tid = (chunk << kChunkShift) + offset;
      if (!has_tuple(partition, tid)) continue;  // it has moved, or gone
      if (make_hot(partition, tid, log) == kNoTid) {
        log->rollback_all();
        return false;
      }
      ++moved;
    }
    log->commit();
    counts_.relocated.fetch_add(moved, std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool Compactor::begin_cooling(TablePartition* partition, uint64_t chunk) {
  if (!make_cooling(partition, chunk)) return false;
  counts_.cooling.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool Compactor::begin_trial(TablePartition* partition, uint64_t chunk) {
  if (!begin_cooling(partition, chunk)) return false;
  partition->frozen[chunk].cooling->is_on_trial = true;
  MutexLock lock(&mutex_);
  Trials& trials = trials_[{partition, chunk}];
  trials.gate = partition->table->frozen_store()->gate;
  trials.begun = std::chrono::steady_clock::now();
  return true;
}

}  // namespace scyper::storage
