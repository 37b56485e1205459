// scyper-rdma: the small process that sends or receives multicast by RDMA verbs (docs/infiniband.md). Apart from the
// node for its registered memory: the node forks all the time, this process never, so no page that a device writes to
// is ever shared or copied by a fork; and a device that fails ends this process alone. The node starts it anew.
//   scyper-rdma NODE_PID send|receive MEMORY_FD NODE_EVENT_FD WIRE_EVENT_FD INTERFACE GROUP BYTES_PER_SECOND DEVICE
//     DATAGRAM_BYTES MEMORY_BYTES event|poll CHANNELS JOINED
// or, for archives and ranges of the log, one end of a connection (rdma/bulk_loop.h).
// Threads: one.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "base/event_fd.h"
#include "multicast_program.h"
#include "pacer.h"
#include "rdma/bulk_loop.h"
#include "rdma/endpoint.h"
#include "replication/rdma_device_name.h"
#include "shared_ring.h"

namespace scyper::replication {
namespace {

constexpr uint32_t kChannelsMax = 64;
constexpr int kExitUsage = 2;
constexpr int kExitDevice = 3;
constexpr int64_t kIdleNs = 10 * kPacerNsPerMs;
// System calls each: not in every round.
constexpr uint32_t kRoundsPerLook = 256;
// Of headers on the wire: Ethernet, IP, UDP, base and datagram transport headers, checksum.
constexpr int64_t kPacketOverhead = 70;

struct Arguments {
  int node = 0;  // its process
  int memory = -1, node_event = -1, wire_event = -1;
  int64_t rate = 0;
  VerbsEndpoint::Options endpoint;
};

// One direction of a node's multicast. Functions give why the process has to end; empty = it has not.
class Loop {
 public:
  Loop(const Arguments& arguments, VerbsEndpoint* endpoint, MulticastMemory* memory)
      : arguments_(arguments), endpoint_(*endpoint), memory_(*memory) {}

  std::string send() {
    SendSlots slots(endpoint_.slots());
    Pacer pacer(arguments_.rate, endpoint_.datagram_bytes() + kPacketOverhead, monotonic_now_ns());
    std::string error;
    while (error.empty()) {
      error = look(false);
      if (error.empty()) error = endpoint_.poll_sends(&slots);
      if (!error.empty()) break;
      const uint64_t sent = fill(&slots, &pacer);
      error = endpoint_.post_sends();
      memory_.sent.fetch_add(sent, std::memory_order_relaxed);
      if (sent > 0 || !error.empty()) continue;
      error = rest(&slots, pacer);
    }
    return error;
  }

  std::string receive() {
    bool is_armed = false;
    std::string error;
    while (error.empty()) {
      VerbsEndpoint::Datagram datagrams[VerbsEndpoint::kBatch];
      uint32_t count = 0;
      error = look(false);
      if (error.empty()) error = endpoint_.receive(datagrams, &count);
      if (!error.empty()) break;
      for (uint32_t i = 0; i < count; ++i) {
        const bool has_room = memory_.from_wire.write({datagrams[i].bytes, datagrams[i].size});
        (has_room ? memory_.received : memory_.dropped).fetch_add(1, std::memory_order_relaxed);
      }
      error = endpoint_.repost();
      if (count > 0) {
        is_armed = false;
        if (memory_.node_bell.rings()) signal_event(arguments_.node_event);
      } else if (!arguments_.endpoint.has_events) {
        std::this_thread::yield();
      } else if (!is_armed) {
        is_armed = true;
        if (error.empty()) error = endpoint_.arm();
      } else {
        endpoint_.wait(-1, /*awaits_completions=*/true, kIdleNs);
        is_armed = false;
        if (error.empty()) error = look(true);
      }
    }
    return error;
  }

 private:
  // That the process lives, and whether it has to.
  std::string look(bool is_due) {
    memory_.beats.fetch_add(1, std::memory_order_relaxed);
    if (++round_ % kRoundsPerLook != 0 && !is_due) return "";
    return ::getppid() != arguments_.node ? "the node has ended" : endpoint_.check_device();
  }

  // Datagrams of the node into free slots.
  uint64_t fill(SendSlots* slots, Pacer* pacer) {
    uint64_t count = 0;
    while (count < VerbsEndpoint::kBatch && slots->has_room() && pacer->may_send() && !memory_.to_wire.is_empty()) {
      const SendSlots::Request request = slots->next();
      uint8_t channel = 0;
      const size_t size = memory_.to_wire.read(endpoint_.slot(request.slot), endpoint_.datagram_bytes(), &channel);
      if (size == 0) break;
      // the port's MTU is smaller now than when the node asked
      if (size > endpoint_.datagram_bytes() || !endpoint_.reaches(channel)) {
        memory_.dropped.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      slots->take();
      endpoint_.add_send(request, static_cast<uint32_t>(size), channel);
      pacer->sent(static_cast<int64_t>(size) + kPacketOverhead);
      ++count;
    }
    return count;
  }

  // Nothing can be sent now.
  std::string rest(SendSlots* slots, const Pacer& pacer) {
    if (!arguments_.endpoint.has_events) {
      std::this_thread::yield();
      return "";
    }
    if (!slots->has_room()) {
      std::string error = endpoint_.arm();
      if (error.empty()) error = endpoint_.poll_sends(slots);
      if (error.empty() && !slots->has_room()) endpoint_.wait(-1, /*awaits_completions=*/true, kIdleNs);
      return error;
    }
    if (!memory_.to_wire.is_empty()) {
      endpoint_.wait(-1, /*awaits_completions=*/false, pacer.wait_ns());
      return "";
    }
    memory_.wire_bell.arm();
    if (memory_.to_wire.is_empty()) {
      endpoint_.wait(arguments_.wire_event, /*awaits_completions=*/false, kIdleNs);
    }
    memory_.wire_bell.disarm();
    return look(true);
  }

  const Arguments& arguments_;
  VerbsEndpoint& endpoint_;
  MulticastMemory& memory_;
  uint32_t round_ = 0;
};

int run(const Arguments& arguments) {
  MulticastMemory* memory = begin_multicast_program<MulticastMemory>(arguments.memory);
  if (memory == nullptr) return kExitUsage;
  VerbsEndpoint endpoint;
  std::string why = endpoint.open(arguments.endpoint);
  if (why.empty()) {
    memory->datagram_bytes.store(endpoint.datagram_bytes());
    memory->registered_bytes.store(endpoint.registered_bytes());
    memory->is_ready.store(1);
    signal_event(arguments.node_event);
    Loop loop(arguments, &endpoint, memory);
    why = arguments.endpoint.sends ? loop.send() : loop.receive();
    memory->resets.fetch_add(1);
  }
  memory->registered_bytes.store(0);
  std::snprintf(memory->reason, MulticastMemory::kReasonBytes, "%s", why.c_str());
  memory->is_ready.store(0);
  return kExitDevice;
}

}  // namespace
}  // namespace scyper::replication

int main(int argc, char** argv) {
  const bool is_bulk = argc > 2 && (std::strcmp(argv[2], "source") == 0 || std::strcmp(argv[2], "sink") == 0);
  if (is_bulk) return scyper::replication::run_bulk(argc, argv);
  scyper::replication::Arguments arguments;
  if (argc != 15 || !scyper::replication::RdmaDeviceName::parse(argv[9], &arguments.endpoint.device)) {
    std::fprintf(stderr, "scyper-rdma: started by scyperd, not by hand\n");
    return scyper::replication::kExitUsage;
  }
  arguments.node = std::atoi(argv[1]);
  arguments.endpoint.sends = std::strcmp(argv[2], "send") == 0;
  arguments.memory = std::atoi(argv[3]);
  arguments.node_event = std::atoi(argv[4]);
  arguments.wire_event = std::atoi(argv[5]);
  arguments.endpoint.interface = argv[6];
  const int channels = std::clamp(std::atoi(argv[13]), 1, int{scyper::replication::kChannelsMax});
  const uint64_t joined = std::strtoull(argv[14], nullptr, 10);
  for (uint32_t i = 0; i < static_cast<uint32_t>(channels); ++i) {
    const bool joins = arguments.endpoint.sends || (joined >> i & 1) != 0;
    arguments.endpoint.groups.push_back(joins ? std::optional(scyper::replication::group_of(argv[7], i))
                                              : std::nullopt);
  }
  arguments.rate = std::atoll(argv[8]);
  arguments.endpoint.datagram_bytes_max = static_cast<uint32_t>(std::atoi(argv[10]));
  arguments.endpoint.memory_bytes = static_cast<uint64_t>(std::atoll(argv[11]));
  arguments.endpoint.has_events = std::strcmp(argv[12], "event") == 0;
  return scyper::replication::run(arguments);
}
