#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/status.h"
#include "replication/bulk.h"
#include "replication/link.h"

namespace scyper::replication {

// A secondary's channel for bulk data: opened when a call wants it, given up when it breaks, tried again a while later.
// Threads: any; one call has it at a time, others go by gRPC.
class BulkLane {
 public:
  // Asks the primary and connects: the channel and its number there.
  using Open = std::function<StatusOr<std::pair<uint64_t, std::unique_ptr<BulkChannel>>>()>;

  // One call's.
  class Use {
   public:
    explicit Use(BulkLane* lane, const Open& open);
    uint64_t number() const { return lock_.owns_lock() ? lane_->number_ : 0; }  // 0: it goes by gRPC
    // Behind an error nobody uses the channel again.
    Status read(uint64_t slot, size_t bytes, std::string* out, const BulkChannel::GoesOn& goes_on);

   private:
    BulkLane* const lane_;
    std::unique_lock<std::mutex> lock_;
  };

  BulkInfo info() const;
  // The primary is another one: the next call asks that for a channel. Waits for nobody.
  void forget() { is_outdated_ = true; }

 private:
  void close(const std::string& why);

  std::atomic<bool> is_outdated_{false};
  std::mutex use_;  // the call's that has it
  uint64_t number_ = 0;
  std::chrono::steady_clock::time_point next_try_;
  mutable std::mutex mutex_;  // all that follows; changed by the call only
  std::unique_ptr<BulkChannel> channel_;
  uint64_t bytes_before_ = 0;  // by channels that are gone
  std::string note_;
};

}  // namespace scyper::replication
