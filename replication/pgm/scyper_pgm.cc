// scyper-pgm: the small process that runs OpenPGM (docs/replication.md, "Multicast"). One forged packet can hang the
// library and its asserts abort, so it lives apart from the node, with no other privilege; the node watches it and
// starts it anew.
//   scyper-pgm NODE_PID send|receive MEMORY_FD NODE_EVENT_FD WIRE_EVENT_FD INTERFACE GROUP PORT GSI_SEED
//   BYTES_PER_SECOND MTU udp|ip CHANNELS JOINED
// One OpenPGM socket for each channel, with a sequence of its own: a receiver of some channels misses nothing.
// Threads: one, but for sending: OpenPGM's own timers run in the same loop.

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
// before OpenPGM's, which looks for poll and epoll
#include <pgm/pgm.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/event_fd.h"
#include "multicast_program.h"
#include "pacer.h"
#include "pgm/channel_share.h"
#include "shared_ring.h"

namespace scyper::replication {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitSocket = 3;
constexpr int kExitReset = 4;  // the node starts it anew: cheaper than what OpenPGM does after an unrecoverable loss
constexpr int kIdleMs = 10;
constexpr uint16_t kDataPort = 7500;
constexpr unsigned kMessages = 32;
constexpr int kRepairsPerRound = 64;
constexpr int kSendsPerRound = 64;
constexpr int kPacketOverhead = 52;  // headers of IP, UDP and PGM
// Room for PGM's header before the data of an unfragmented message.
constexpr uint16_t kHeadRoom = 24;
// What comes while the process waits for a core: the system's own 200 KB hold some 90 packets, 3 ms of them. The
// kernel gives no more than net.core.rmem_max.
constexpr int kSocketBytes = 4 << 20;
constexpr int64_t kNsPerMs = kPacerNsPerMs;
constexpr int kFilesPerSocket = 3;  // that pgm_poll_info() gives
constexpr uint32_t kChannelsMax = 64;

struct Arguments {
  bool sends = false;
  int node = 0;  // its process
  int memory = -1, node_event = -1, wire_event = -1;
  std::string interface, group, gsi_seed;
  int port = 0, rate = 0, mtu = 0;
  bool is_raw = false;
  uint32_t channels = 1;
  uint64_t joined = 1;  // channels, a bit each
};

using Sockets = std::vector<pgm_sock_t*>;  // of the channels that are joined; a sender has all

int fail(const char* what, pgm_error_t* error) {
  std::fprintf(stderr, "scyper-pgm: %s: %s\n", what, error != nullptr ? error->message : "?");
  return kExitSocket;
}

bool set(pgm_sock_t* socket, int option, int value) {
  return pgm_setsockopt(socket, IPPROTO_PGM, option, &value, sizeof(value));
}
bool set_system(pgm_sock_t* socket, int option, int value) {
  return pgm_setsockopt(socket, SOL_SOCKET, option, &value, sizeof(value));
}

// findings: one-packet messages, large windows, room for repairs beside new data, short timers
bool configure(pgm_sock_t* socket, const Arguments& arguments, uint32_t channel) {
  const int heartbeats[] = {pgm_msecs(5),   pgm_msecs(10),  pgm_msecs(20), pgm_msecs(50),
                            pgm_msecs(100), pgm_msecs(200), pgm_msecs(500)};
  // a sender gets requests for repairs at its own address: by port they reach the channel's socket
  const int port = arguments.port + static_cast<int>(channel);
  const int window = static_cast<int>(repair_window_of(arguments.channels));
  bool ok =
      arguments.is_raw || (set(socket, PGM_UDP_ENCAP_UCAST_PORT, port) && set(socket, PGM_UDP_ENCAP_MCAST_PORT, port));
  ok = ok && set_system(socket, SO_RCVBUF, kSocketBytes) && set_system(socket, SO_SNDBUF, kSocketBytes);
  ok = ok && set(socket, PGM_MTU, arguments.mtu) && set(socket, PGM_MULTICAST_LOOP, 1) &&
       set(socket, PGM_MULTICAST_HOPS, 1) && set(socket, PGM_NOBLOCK, 1) && set(socket, PGM_IP_ROUTER_ALERT, 0);
  if (arguments.sends) {
    ok = ok && set(socket, PGM_SEND_ONLY, 1) && set(socket, PGM_TXW_SQNS, window) &&
         set(socket, PGM_RDATA_MAX_RTE, repair_rate_of(arguments.rate, arguments.channels, arguments.mtu)) &&
         set(socket, PGM_AMBIENT_SPM, pgm_secs(1)) &&
         pgm_setsockopt(socket, IPPROTO_PGM, PGM_HEARTBEAT_SPM, heartbeats, sizeof(heartbeats));
  } else {
    ok = ok && set(socket, PGM_RECV_ONLY, 1) && set(socket, PGM_RXW_SQNS, window) &&
         set(socket, PGM_PEER_EXPIRY, pgm_secs(30)) && set(socket, PGM_SPMR_EXPIRY, pgm_msecs(250)) &&
         set(socket, PGM_NAK_BO_IVL, pgm_msecs(2)) && set(socket, PGM_NAK_RPT_IVL, pgm_msecs(20)) &&
         set(socket, PGM_NAK_RDATA_IVL, pgm_msecs(20)) && set(socket, PGM_NAK_DATA_RETRIES, 250) &&
         set(socket, PGM_NAK_NCF_RETRIES, 250);
  }
  return ok;
}

// Linux gives a socket what comes for groups that others have joined, too.
bool hears_only_its_group(pgm_sock_t* socket) {
  int fd = -1, off = 0;
  socklen_t size = sizeof(fd);
  return pgm_getsockopt(socket, IPPROTO_PGM, PGM_RECV_SOCK, &fd, &size) &&
         ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off)) == 0;
}

// nullptr: *code says how the process ends.
pgm_sock_t* open_socket(const Arguments& arguments, uint32_t channel, int* code) {
  pgm_error_t* error = nullptr;
  *code = kExitSocket;
  pgm_addrinfo_t* address = nullptr;
  const std::string group = group_of(arguments.group, channel);
  if (group.empty()) return *code = fail("the group is no IPv4 multicast address", nullptr), nullptr;
  // numeric: names would be looked up
  const std::string network = arguments.interface + ";" + group;
  if (!pgm_getaddrinfo(network.c_str(), nullptr, &address, &error)) return *code = fail("address", error), nullptr;
  pgm_sock_t* socket = nullptr;
  const int protocol = arguments.is_raw ? IPPROTO_PGM : IPPROTO_UDP;
  if (!pgm_socket(&socket, AF_INET, SOCK_SEQPACKET, protocol, &error)) return *code = fail("socket", error), nullptr;
  if (!configure(socket, arguments, channel)) return *code = fail("options", nullptr), nullptr;
  pgm_sockaddr_t from{};
  from.sa_port = static_cast<uint16_t>(kDataPort + channel);  // others' packets are left alone
  from.sa_addr.sport = 0;  // drawn: receivers that knew an earlier incarnation would drop everything otherwise
  pgm_gsi_create_from_data(&from.sa_addr.gsi, reinterpret_cast<const uint8_t*>(arguments.gsi_seed.data()),
                           arguments.gsi_seed.size());
  pgm_interface_req_t interface{};
  interface.ir_interface = address->ai_recv_addrs[0].gsr_interface;
  interface.ir_address = address->ai_recv_addrs[0].gsr_addr;
  if (!pgm_bind3(socket, &from, sizeof(from), &interface, sizeof(interface), &interface, sizeof(interface), &error)) {
    return *code = fail("bind", error), nullptr;
  }
  for (unsigned i = 0; i < address->ai_recv_addrs_len; ++i) {
    if (!pgm_setsockopt(socket, IPPROTO_PGM, PGM_JOIN_GROUP, &address->ai_recv_addrs[i], sizeof(group_req))) {
      return *code = fail("join", nullptr), nullptr;
    }
  }
  if (!pgm_setsockopt(socket, IPPROTO_PGM, PGM_SEND_GROUP, &address->ai_send_addrs[0], sizeof(group_req))) {
    return *code = fail("group", nullptr), nullptr;
  }
  pgm_freeaddrinfo(address);
  if (!pgm_connect(socket, &error)) return *code = fail("connect", error), nullptr;
  if (arguments.channels > 1 && !hears_only_its_group(socket)) return *code = fail("socket", nullptr), nullptr;
  return socket;
}

// False: *code says how the process ends.
bool open_sockets(const Arguments& arguments, Sockets* sockets, int* code) {
  pgm_error_t* error = nullptr;
  if (!pgm_init(&error)) return *code = fail("init", error), false;
  for (uint32_t channel = 0; channel < arguments.channels; ++channel) {
    if (!arguments.sends && (arguments.joined >> channel & 1) == 0) continue;
    sockets->push_back(open_socket(arguments, channel, code));
    if (sockets->back() == nullptr) return false;
  }
  return true;
}

int64_t wait_ns(pgm_sock_t* socket, int status) {
  if (status != PGM_IO_STATUS_TIMER_PENDING && status != PGM_IO_STATUS_RATE_LIMITED) return kIdleMs * kNsPerMs;
  timeval left{};
  socklen_t size = sizeof(left);
  const int option = status == PGM_IO_STATUS_RATE_LIMITED ? PGM_RATE_REMAIN : PGM_TIME_REMAIN;
  if (!pgm_getsockopt(socket, IPPROTO_PGM, option, &left, &size)) return kNsPerMs;
  const int64_t ns = left.tv_sec * int64_t{1'000'000'000} + left.tv_usec * int64_t{1000};
  const int64_t least_ns = status == PGM_IO_STATUS_RATE_LIMITED ? kNsPerMs / 4 : 0;  // repairs' bucket does not say
  return std::clamp(ns, least_ns, kIdleMs * kNsPerMs);
}

// event: of the node; -1 = it has nothing that could be sent now.
void wait(const Sockets& sockets, int event, int64_t timeout_ns) {
  pollfd fds[1 + kChannelsMax * kFilesPerSocket];
  fds[0] = {event, POLLIN, 0};
  int count = 1;
  for (pgm_sock_t* socket : sockets) {
    int some = kFilesPerSocket;
    pgm_poll_info(socket, fds + count, &some, POLLIN);
    count += some;
  }
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  if (::ppoll(fds, static_cast<nfds_t>(count), &timeout, nullptr) > 0 && (fds[0].revents & POLLIN) != 0)
    drain_event(event);
}

void wait_for_node(const Sockets& sockets, const Arguments& arguments, MulticastMemory* memory, int64_t timeout_ns) {
  memory->wire_bell.arm();
  if (memory->to_wire.is_empty()) wait(sockets, arguments.wire_event, timeout_ns);
  memory->wire_bell.disarm();
}

// NAKs are answered, and heartbeats sent, within receive calls: one repair each. Gives when to look again.
int64_t serve_repairs(const Sockets& sockets) {
  char bytes[2048];
  int64_t left_ns = kIdleMs * kNsPerMs;
  for (pgm_sock_t* socket : sockets) {
    int status = PGM_IO_STATUS_NORMAL;
    for (int i = 0; i < kRepairsPerRound && status == PGM_IO_STATUS_NORMAL; ++i) {
      pgm_error_t* error = nullptr;
      status = pgm_recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT, nullptr, &error);
      if (error != nullptr) pgm_error_free(error);
    }
    left_ns = std::min(left_ns, wait_ns(socket, status));
  }
  return left_ns;
}

// False: not now; `skb` has to be offered again. Copying calls of the library store unaligned (findings): skb only.
bool send_skb(pgm_sock_t* socket, pgm_sk_buff_t** skb) {
  size_t written = 0;
  const int status = pgm_send_skbv(socket, skb, 1, true, &written);
  if (status == PGM_IO_STATUS_RATE_LIMITED || status == PGM_IO_STATUS_WOULD_BLOCK ||
      status == PGM_IO_STATUS_CONGESTION) {
    return false;
  }
  *skb = nullptr;  // the library's now
  return true;
}

int run_sender(const Sockets& sockets, const Arguments& arguments, MulticastMemory* memory) {
  static char record[SharedRing::kRecordBytesMax];
  pgm_sk_buff_t* skb = nullptr;
  uint8_t channel = 0;
  Pacer pacer(int64_t{arguments.rate} / 4 * 3, arguments.mtu, monotonic_now_ns());
  while (true) {
    memory->beats.fetch_add(1);
    const int64_t left_ns = serve_repairs(sockets);
    bool is_paced = false;
    for (int i = 0; i < kSendsPerRound; ++i) {
      is_paced = !pacer.may_send();
      if (is_paced) break;
      if (skb == nullptr) {
        const size_t size = memory->to_wire.read(record, sizeof(record), &channel);
        if (size == 0) break;
        if (size + kHeadRoom > static_cast<size_t>(arguments.mtu) || channel >= sockets.size()) continue;
        skb = pgm_alloc_skb(static_cast<uint16_t>(arguments.mtu));
        pgm_skb_reserve(skb, kHeadRoom);
        std::memcpy(pgm_skb_put(skb, static_cast<uint16_t>(size)), record, size);
      }
      const int64_t bytes = skb->len + kPacketOverhead;
      if (!send_skb(sockets[channel], &skb)) break;
      pacer.sent(bytes);
      memory->sent.fetch_add(1, std::memory_order_relaxed);
    }
    if (skb != nullptr) {  // the socket is full
      wait(sockets, -1, kNsPerMs);
    } else if (is_paced && !memory->to_wire.is_empty()) {
      wait(sockets, -1, pacer.wait_ns());
    } else if (memory->to_wire.is_empty()) {
      wait_for_node(sockets, arguments, memory, left_ns);
    }
    if (::getppid() != arguments.node) return 0;
  }
}

// What is there of one channel, to the node: OpenPGM's status.
int receive_some(pgm_sock_t* socket, MulticastMemory* memory) {
  pgm_msgv_t messages[kMessages];
  size_t bytes = 0;
  pgm_error_t* error = nullptr;
  const int status = pgm_recvmsgv(socket, messages, kMessages, MSG_DONTWAIT, &bytes, &error);
  if (error != nullptr) pgm_error_free(error);
  if (status != PGM_IO_STATUS_NORMAL) return status;
  size_t taken = 0;
  for (unsigned i = 0; i < kMessages && taken < bytes; ++i) {
    for (uint32_t k = 0; k < messages[i].msgv_len; ++k) {
      const pgm_sk_buff_t* skb = messages[i].msgv_skb[k];
      taken += skb->len;
      const bool has_room = memory->from_wire.write({static_cast<const char*>(skb->data), skb->len});
      (has_room ? memory->received : memory->dropped).fetch_add(1, std::memory_order_relaxed);
    }
  }
  return status;
}

int run_receiver(const Sockets& sockets, const Arguments& arguments, MulticastMemory* memory) {
  while (true) {
    memory->beats.fetch_add(1);
    bool has_some = false;
    int64_t left_ns = kIdleMs * kNsPerMs;
    for (pgm_sock_t* socket : sockets) {
      const int status = receive_some(socket, memory);
      if (status == PGM_IO_STATUS_RESET) {
        memory->resets.fetch_add(1);
        return kExitReset;
      }
      has_some = has_some || status == PGM_IO_STATUS_NORMAL;
      if (status != PGM_IO_STATUS_NORMAL) left_ns = std::min(left_ns, wait_ns(socket, status));
    }
    if (has_some) {
      if (memory->node_bell.rings()) signal_event(arguments.node_event);
      continue;
    }
    if (::getppid() != arguments.node) return 0;
    wait(sockets, arguments.wire_event, left_ns);
  }
}

int run(const Arguments& arguments) {
  ::setenv("PGM_TIMER", "CLOCK_GETTIME", 1);  // monotonic: the default follows the wall clock
  MulticastMemory* memory = begin_multicast_program<MulticastMemory>(arguments.memory);
  if (memory == nullptr) return kExitUsage;
  int code = kExitSocket;
  Sockets sockets;
  if (!open_sockets(arguments, &sockets, &code)) return code;
  memory->is_ready.store(1);
  signal_event(arguments.node_event);
  return arguments.sends ? run_sender(sockets, arguments, memory) : run_receiver(sockets, arguments, memory);
}

}  // namespace
}  // namespace scyper::replication

int main(int argc, char** argv) {
  if (argc != 15) {
    std::fprintf(stderr, "scyper-pgm: started by scyperd, not by hand\n");
    return scyper::replication::kExitUsage;
  }
  scyper::replication::Arguments arguments;
  arguments.node = std::atoi(argv[1]);
  arguments.sends = std::strcmp(argv[2], "send") == 0;
  arguments.memory = std::atoi(argv[3]);
  arguments.node_event = std::atoi(argv[4]);
  arguments.wire_event = std::atoi(argv[5]);
  arguments.interface = argv[6];
  arguments.group = argv[7];
  arguments.port = std::atoi(argv[8]);
  arguments.gsi_seed = argv[9];
  arguments.rate = std::atoi(argv[10]);
  arguments.mtu = std::atoi(argv[11]);
  arguments.is_raw = std::strcmp(argv[12], "ip") == 0;
  arguments.channels =
      static_cast<uint32_t>(std::clamp(std::atoi(argv[13]), 1, int{scyper::replication::kChannelsMax}));
  arguments.joined = std::strtoull(argv[14], nullptr, 10);
  return scyper::replication::run(arguments);
}
