#include "replication/bulk_server.h"

#include <utility>

#include "replication/datagram.h"

namespace scyper::replication {

namespace {
// Each has a process and registered memory: more secondaries than a primary has.
constexpr size_t kBulkChannelsMax = 64;
}  // namespace

// With the lock.
void BulkServer::forget_broken() {
  std::erase_if(nodes_, [](const auto& node) { return node.second.channel->channel->is_broken(); });
}

StatusOr<uint64_t> BulkServer::open(const std::string& node, BulkAddress* address) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    nodes_.erase(node);
    forget_broken();
    if (nodes_.size() >= kBulkChannelsMax) return absl::ResourceExhaustedError("too many nodes have a channel");
  }
  auto offered = offer_(address);
  std::lock_guard<std::mutex> lock(mutex_);
  trouble_ = offered.ok() ? "" : std::string(offered.status().message());
  SCYPER_RETURN_IF_ERROR(offered.status());
  Named& named = nodes_[node];
  named.number = draw_source();  // a primary that has started anew knows none of before
  named.channel = std::make_shared<Channel>();
  named.channel->channel = *std::move(offered);
  return named.number;
}

std::shared_ptr<BulkServer::Channel> BulkServer::find(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [node, named] : nodes_) {
    if (named.number == number) return named.channel;
  }
  return nullptr;
}

uint64_t BulkServer::registered_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [node, named] : nodes_) sum += named.channel->channel->registered_bytes();
  return sum;
}

std::string BulkServer::trouble() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return trouble_;
}

}  // namespace scyper::replication
