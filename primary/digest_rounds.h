#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "query/fork.h"

namespace scyper::primary {

class Publication;

// Now and then a global snapshot whose state all nodes digest: this one's child here, the secondaries' at the marker
// (docs/replication.md, "Digests"). Threads: owns one.
class DigestRounds {
 public:
  // Both outlive it.
  DigestRounds(int64_t period_us, Publication* publication, query::Forker fork);
  ~DigestRounds();

 private:
  void run();
  Status do_one();

  const int64_t period_us_;
  Publication* const publication_;
  const query::Forker fork_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;                // under mutex_, as is the next
  storage::ChildProcess* child_ = nullptr;  // that computes
  std::thread thread_;
};

}  // namespace scyper::primary
