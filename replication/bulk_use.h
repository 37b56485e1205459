#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "replication/bulk_server.h"
#include "wire.h"

namespace scyper::replication {

// A channel for one message's bytes, where it is there, free and worth it.
class BulkUse {
 public:
  BulkUse(BulkServer* server, uint64_t number, size_t bytes) : server_(server) {
    if (server == nullptr || number == 0 || bytes < kBulkBytesMin || bytes > kBulkBytesMax) return;
    named_ = server->find(number);
    if (named_ == nullptr) return;
    lock_ = std::unique_lock<std::mutex>(named_->mutex, std::try_to_lock);
    is_there_ = lock_.owns_lock() && !named_->channel->is_broken();
  }
  bool is_there() const { return is_there_; }
  uint64_t next_slot() const { return named_->channel->next_slot(); }
  Status write(std::string_view bytes, const BulkChannel::GoesOn& goes_on) {
    SCYPER_RETURN_IF_ERROR(named_->channel->write(bytes, goes_on));
    server_->note_sent(bytes.size());
    return Status();
  }

 private:
  BulkServer* const server_;
  std::shared_ptr<BulkServer::Channel> named_;
  std::unique_lock<std::mutex> lock_;  // gone before what it locks
  bool is_there_ = false;
};

}  // namespace scyper::replication
