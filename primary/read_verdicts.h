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
  explicit ReadVerdicts(size_t capacity) : capacity_(capacity) {}

  std::optional<ShortRead> find(const std::string& shape, uint64_t catalog_version, int64_t now_ns);
  void set(const std::string& shape, uint64_t catalog_version, ShortRead verdict, int64_t now_ns);

 private:
  struct Entry {
    uint64_t catalog_version = 0;
    ShortRead verdict = ShortRead::kLong;
    int64_t since_ns = 0;
  };

  const size_t capacity_;
  Mutex mutex_;
  std::unordered_map<std::string, Entry> by_shape_ ABSL_GUARDED_BY(mutex_);  // emptied when it is full
};

}  // namespace scyper::primary
