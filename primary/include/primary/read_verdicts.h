#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "primary/engine.h"

namespace scyper::primary {

// Remembers where queries run. A query goes by the shape of its text (query/normalise.h), for one catalog version.
// kDone stands for a worker. kLong is forgotten after some seconds, because tables and their statistics change.
// Threads: any.
class ReadVerdicts {
 public:
  ReadVerdicts(size_t capacity, size_t bytes_max) : capacity_(capacity), bytes_max_(bytes_max) {}

  std::optional<ShortRead> find(const std::string& shape, uint64_t catalog_version, int64_t now_ns);
  void set(const std::string& shape, uint64_t catalog_version, ShortRead verdict, int64_t now_ns);

 private:
  struct Entry {
    uint64_t catalog_version = 0;
    ShortRead verdict = ShortRead::kLong;
    int64_t since_ns = 0;
  };

  const size_t capacity_;
  const size_t bytes_max_;
  Mutex mutex_;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;                                 // of the shapes
  std::unordered_map<std::string, Entry> by_shape_ ABSL_GUARDED_BY(mutex_);  // emptied when it is full
};

}  // namespace scyper::primary
