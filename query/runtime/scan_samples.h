#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "storage/hot_view_learner.h"
#include "storage/table.h"

namespace scyper::query {

struct ChunkOpening;

// What the scans of one query in a snapshot's child ask of frozen chunks, for the parent to learn from. Elsewhere scans
// tell the table's own (storage/hot_view_learner.h), which a child must not do.
// Threads: all of the query's.
class ScanSamples {
 public:
  static constexpr size_t kMax = 16;

  // While it lives, scans of its thread belong to the query. Not nested. Null: to none.
  class Scope {
   public:
    explicit Scope(ScanSamples* samples) noexcept { current = samples; }
    ~Scope() { current = nullptr; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
  static inline constinit thread_local ScanSamples* current = nullptr;

  // False: that place of the program has been noted, by another thread, or there are enough.
  bool wants(const ChunkOpening* opening);
  void add(const storage::Table* table, storage::HotView asked);
  using All = std::vector<std::pair<const storage::Table*, storage::HotView>>;
  const All& all() const { return all_; }  // when it has run

 private:
  std::mutex mutex_;
  std::set<const ChunkOpening*> noted_;
  All all_;
};

}  // namespace scyper::query
