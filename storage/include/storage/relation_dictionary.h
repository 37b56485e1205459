#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
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
// Threads: acquire(), release(), find(): any, by a mutex; only the compactor and equality lookups come there, never hot
// data. text(): any, without a lock, for keys that the caller's vector holds. Fork: the child may call text(); all else
// only if nobody held the lock at the fork. It grows: private memory.
// Source: Funke et al., VLDB 2012, section 4.2.
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
  // As it was in another process: the value gets this key, its count is one. False: not of a dictionary.
  bool restore(uint32_t key, std::string_view value);
  void hold(uint32_t key);  // as acquire() of its value, whose count is above zero
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
    uint32_t references = 0;  // under mutex_
  };
  static uint32_t segment_of(uint32_t key) {
    return static_cast<uint32_t>(std::bit_width(key / kFirstEntries + 1)) - 1;
  }
  static uint32_t first_of(uint32_t segment) { return kFirstEntries * ((1u << segment) - 1); }
  Entry& entry(uint32_t key) const {
    const uint32_t segment = segment_of(key);
    return segments_[segment].load(std::memory_order_acquire)[key - first_of(segment)];
  }

  void put(uint32_t key, std::string_view value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<Entry*> segments_[kSegments] = {};
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string_view, uint32_t> keys_ ABSL_GUARDED_BY(mutex_);  // views of the entries' bytes
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  uint32_t used_ ABSL_GUARDED_BY(mutex_) = 0;  // keys below it were used at least once
  uint64_t text_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace scyper::storage
