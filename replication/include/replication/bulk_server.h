#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/status.h"
#include "replication/bulk.h"

namespace scyper::replication {

// The primary's channels for bulk data, one for each secondary that has asked. Threads: any.
class BulkServer {
 public:
  // A source that waits for its sink, and where.
  using Offer = std::function<StatusOr<std::unique_ptr<BulkChannel>>(BulkAddress* address)>;
  explicit BulkServer(Offer offer) : offer_(std::move(offer)) {}

  struct Channel {
    std::mutex mutex;  // of whoever writes
    std::unique_ptr<BulkChannel> channel;
  };
  // For that node, instead of the one that it had: its number and address. ResourceExhausted: too many nodes have one.
  StatusOr<uint64_t> open(const std::string& node, BulkAddress* address);
  // Null: there is none (any more) of that number.
  std::shared_ptr<Channel> find(uint64_t number);

  void note_sent(uint64_t bytes) { bytes_sent_ += bytes; }
  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t registered_bytes() const;
  // Why the last one that was asked for could not be opened; empty: it could.
  std::string trouble() const;

 private:
  struct Named {
    uint64_t number = 0;
    std::shared_ptr<Channel> channel;
  };
  void forget_broken();

  const Offer offer_;
  std::atomic<uint64_t> bytes_sent_{0};
  mutable std::mutex mutex_;  // all that follows
  std::map<std::string, Named> nodes_;
  std::string trouble_;
};

}  // namespace scyper::replication
