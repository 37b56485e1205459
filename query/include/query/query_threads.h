#pragma once

#include <cstdint>

namespace scyper::query {

// While a query is compiled that is to run on so many threads: whether making better code beside it pays depends on
// whether a core is left for that. Threads: its own.
class QueryThreads {
 public:
  explicit QueryThreads(uint32_t threads) noexcept : before_(threads_) { threads_ = threads == 0 ? 1 : threads; }
  ~QueryThreads() { threads_ = before_; }
  QueryThreads(const QueryThreads&) = delete;
  QueryThreads& operator=(const QueryThreads&) = delete;
  static uint32_t now() { return threads_; }

 private:
  static inline constinit thread_local uint32_t threads_ = 1;
  const uint32_t before_;
};

}  // namespace scyper::query
