#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "storage/cell.h"

namespace scyper::storage {

// The distinct values of one string attribute of a relation, for all its frozen chunks: a key is the position of its
// value here. Keys have no order; a frozen vector lists the keys that it uses in the order of their values
// (frozen_vector.h), so that ranges are ranges of its own codes.
// Invariants: (1) a value has at most one key; (2) the value of a key does not change or move while its count is above
// zero; (3) a key whose count is zero is on the free list.
// The counts are of frozen vectors that list the key, not of tuples as in the paper: vectors are immutable, so
// that invalidating a tuple costs nothing here and a key cannot be used again while a vector still lists it.
// (4) between restore() and end_restore() values may have a count of zero.
// Values that are restored keep their bytes in blocks of many, and nothing looks them up before somebody asks for a
// value: a start with a large dictionary neither copies texts nor hashes them.
// Threads: acquire(), release(), hold(), find(): any, by a mutex; only the compactor and equality lookups come there,
// never hot data. text(): any, without a lock, for keys that the caller's vector holds. Fork: the child may call
// text(); all else only if nobody held the lock at the fork. It grows: private memory. Source: Funke et al., VLDB 2012,
// section 4.2.
class RelationDictionary {
 public:
  static constexpr uint32_t kNoKey = ~uint32_t{0};

  RelationDictionary() = default;
  ~RelationDictionary();
  RelationDictionary(const RelationDictionary&) = delete;
  RelationDictionary& operator=(const RelationDictionary&) = delete;

  // The value's key, its count raised by one; kNoKey when there are 2^26 of them.
  uint32_t acquire(std::string_view value);
  void release(uint32_t key);
  struct RestoredText {
    uint32_t key;
    uint32_t begin;  // in the block
    uint32_t size;
  };
  // As they were in another process, before anything is acquired: the values, which differ, get these keys; their
  // counts are zero. False, and nothing is restored: the keys are not of a dictionary, or have values already.
  bool restore(std::unique_ptr<char[]> block, size_t block_bytes, std::span<const RestoredText> texts);
  // Restored values that nobody holds go.
  void end_restore();
  // Raises the counts of keys that have values. False, and nothing is raised: one of them has none.
  bool hold(std::span<const uint32_t> keys);
  uint32_t find(std::string_view value) const;

  StringRef text(uint32_t key) const {
    const Entry& found = entry(key);
    return {found.data, found.size};
  }

  uint32_t values() const;
  uint64_t memory_bytes() const;

 private:
  // Entries never move: segments come when they are needed, each twice as long as the one before.
  static constexpr uint32_t kFirstEntries = 64;
  static constexpr uint32_t kSegments = 20;
  static constexpr uint32_t kMaxKeys = kFirstEntries * ((1u << kSegments) - 1);

  struct Entry {
    const char* data = nullptr;
    uint32_t size = 0;
    uint32_t references : 31 = 0;  // under mutex_
    uint32_t is_restored : 1 = 0;  // its bytes are a block's
  };
  static_assert(sizeof(Entry) == 16);
  static uint32_t segment_of(uint32_t key) {
    return static_cast<uint32_t>(std::bit_width(key / kFirstEntries + 1)) - 1;
  }
  static uint32_t first_of(uint32_t segment) { return kFirstEntries * ((1u << segment) - 1); }
  Entry& entry(uint32_t key) const {
    const uint32_t segment = segment_of(key);
    return segments_[segment].load(std::memory_order_acquire)[key - first_of(segment)];
  }

  void put(uint32_t key, std::string_view value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void grow(uint32_t used) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void drop(uint32_t key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Restored values are found by their bytes only from here on.
  void index_restored() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<Entry*> segments_[kSegments] = {};
  mutable Mutex mutex_;
  // Views of the entries' bytes, and keys that may be used again: once is_indexed_, else empty.
  mutable absl::flat_hash_map<std::string_view, uint32_t> keys_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  mutable bool is_indexed_ ABSL_GUARDED_BY(mutex_) = true;
  bool is_restoring_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t used_ ABSL_GUARDED_BY(mutex_) = 0;  // keys below it were used at least once
  uint32_t values_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t text_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // that are not a block's
  // Of restored values; they go with the last of these.
  std::vector<std::unique_ptr<char[]>> blocks_ ABSL_GUARDED_BY(mutex_);
  uint64_t block_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t restored_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace scyper::storage
