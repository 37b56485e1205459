#include "rdma/bulk_loop.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/event_fd.h"
#include "multicast_program.h"
#include "pacer.h"
#include "rdma/connection.h"

namespace scyper::replication {

namespace {

constexpr int kBulkExitUsage = 2;
constexpr int kBulkExitDevice = 3;
constexpr int64_t kBulkIdleNs = 50 * kPacerNsPerMs;
constexpr int64_t kPeerWaitNs = 15 * kPacerNsPerSecond;  // of a source for its peer
constexpr uint32_t kBulkRoundsPerLook = 64;              // system calls each: not in every round

struct BulkArguments {
  int node = 0;  // its process
  int node_event = -1, wire_event = -1;
  VerbsConnection::Options connection;
};

// Functions give why the process has to end; empty = it has not.
class BulkLoop {
 public:
  BulkLoop(const BulkArguments& arguments, VerbsConnection* connection)
      : arguments_(arguments), connection_(*connection), memory_(*arguments.connection.memory) {}

  std::string run() {
    const int64_t start_ns = monotonic_now_ns();
    std::string error = look(start_ns);
    while (error.empty()) {
      memory_.beats.fetch_add(1, std::memory_order_relaxed);
      bool is_busy = false;
      error = turn(&is_busy);
      if (error.empty() && !is_busy) error = rest();
      if (error.empty() && (++round_ % kBulkRoundsPerLook == 0 || !is_busy)) error = look(start_ns);
    }
    return error;
  }

 private:
  std::string look(int64_t start_ns) {
    if (::getppid() != arguments_.node) return "the node has ended";
    if (std::string error = connection_.check(); !error.empty()) return error;
    if (connection_.is_connected()) {
      begin();
    } else if (monotonic_now_ns() - start_ns > kPeerWaitNs) {
      return "nobody has connected";
    }
    return "";
  }

  void begin() {
    if (source_.has_value() || sink_.has_value()) return;
    const uint32_t slots = arguments_.connection.slots;
    if (arguments_.connection.is_source) {
      source_.emplace(&memory_, slots, connection_.window(), connection_.slots_address(), connection_.slots_key(),
                      &connection_);
    } else {
      sink_.emplace(&memory_, slots, connection_.window(), &connection_);
    }
    memory_.is_connected.store(1);
    signal_event(arguments_.node_event);
  }

  std::string turn(bool* is_busy) {
    std::string error = connection_.poll(&news_);
    // before the first look a peer may have sent
    if (!news_.empty() && !source_.has_value() && !sink_.has_value()) begin();
    for (const VerbsConnection::News& each : news_) {
      if (!error.empty()) break;
      if (source_.has_value()) {
        error = each.is_read ? "the end of a read that was not begun" : source_->on_message(each.message);
      } else {
        error = each.is_read ? sink_->on_read() : sink_->on_message(each.message);
      }
    }
    if (!news_.empty() && memory_.node_bell.rings()) signal_event(arguments_.node_event);
    *is_busy = !news_.empty() || can_advance();
    if (!error.empty() || !*is_busy) return error;
    return source_.has_value() ? source_->advance() : sink_->advance();
  }

  bool can_advance() const {
    return (source_.has_value() && source_->can_advance()) || (sink_.has_value() && sink_->can_advance());
  }

  // There was nothing to do: once more, with all that wakes in place, and then asleep.
  std::string rest() {
    memory_.wire_bell.arm();
    std::string error = connection_.arm();
    bool is_busy = false;
    if (error.empty()) error = turn(&is_busy);
    if (error.empty() && !is_busy) connection_.wait(arguments_.wire_event, kBulkIdleNs);
    memory_.wire_bell.disarm();
    return error;
  }

  const BulkArguments& arguments_;
  VerbsConnection& connection_;
  BulkMemory& memory_;
  std::optional<BulkSource> source_;
  std::optional<BulkSink> sink_;
  std::vector<VerbsConnection::News> news_;
  uint32_t round_ = 0;
};

int run_channel(const BulkArguments& arguments) {
  BulkMemory* memory = arguments.connection.memory;
  VerbsConnection connection(arguments.connection);
  std::string why = connection.open();
  if (why.empty()) {
    memory->registered_bytes.store(connection.registered_bytes());
    memory->address.store(connection.address());
    memory->port.store(connection.port());
    memory->is_ready.store(1);
    signal_event(arguments.node_event);
    why = BulkLoop(arguments, &connection).run();
  }
  memory->registered_bytes.store(0);
  std::snprintf(memory->reason, BulkMemory::kReasonBytes, "%s", why.c_str());
  memory->is_ready.store(0);
  signal_event(arguments.node_event);
  return kBulkExitDevice;
}

}  // namespace

int run_bulk(int argc, char** argv) {
  BulkArguments arguments;
  if (argc != 11 || !RdmaDeviceName::parse(argv[7], &arguments.connection.device)) return kBulkExitUsage;
  arguments.node = std::atoi(argv[1]);
  arguments.connection.is_source = std::strcmp(argv[2], "source") == 0;
  arguments.node_event = std::atoi(argv[4]);
  arguments.wire_event = std::atoi(argv[5]);
  arguments.connection.interface = argv[6];
  const int slots = std::atoi(argv[8]);
  if (slots < static_cast<int>(BulkMemory::kSlotsMin) || slots > static_cast<int>(BulkMemory::kSlotsMax)) {
    return kBulkExitUsage;
  }
  arguments.connection.slots = static_cast<uint32_t>(slots);
  arguments.connection.peer_address = ::inet_addr(argv[9]);
  arguments.connection.peer_port = static_cast<uint16_t>(std::atoi(argv[10]));
  arguments.connection.memory =
      begin_multicast_program<BulkMemory>(std::atoi(argv[3]), BulkMemory::bytes(arguments.connection.slots));
  return arguments.connection.memory == nullptr ? kBulkExitUsage : run_channel(arguments);
}

}  // namespace scyper::replication
