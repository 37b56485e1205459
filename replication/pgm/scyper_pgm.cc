// scyper-pgm: the small process that runs OpenPGM (docs/replication.md, "Multicast"). One forged packet can hang the
// library and its asserts abort, so it lives apart from the node, with no other privilege; the node watches it and
// starts it anew.
//   scyper-pgm NODE_PID send|receive MEMORY_FD NODE_EVENT_FD WIRE_EVENT_FD INTERFACE GROUP PORT GSI_SEED
//   BYTES_PER_SECOND MTU
//     udp|ip
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

#include "base/event_fd.h"
#include "multicast_program.h"
#include "pacer.h"
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

struct Arguments {
  bool sends = false;
  int node = 0;  // its process
  int memory = -1, node_event = -1, wire_event = -1;
  std::string interface, group, gsi_seed;
  int port = 0, rate = 0, mtu = 0;
  bool is_raw = false;
};

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

// findings: one-packet messages, windows of 65,536, room for repairs beside new data, short timers
bool configure(pgm_sock_t* socket, const Arguments& arguments) {
  const int heartbeats[] = {pgm_msecs(5),   pgm_msecs(10),  pgm_msecs(20), pgm_msecs(50),
                            pgm_msecs(100), pgm_msecs(200), pgm_msecs(500)};
  bool ok = arguments.is_raw || (set(socket, PGM_UDP_ENCAP_UCAST_PORT, arguments.port) &&
                                 set(socket, PGM_UDP_ENCAP_MCAST_PORT, arguments.port));
  ok = ok && set_system(socket, SO_RCVBUF, kSocketBytes) && set_system(socket, SO_SNDBUF, kSocketBytes);
  ok = ok && set(socket, PGM_MTU, arguments.mtu) && set(socket, PGM_MULTICAST_LOOP, 1) &&
       set(socket, PGM_MULTICAST_HOPS, 1) && set(socket, PGM_NOBLOCK, 1) && set(socket, PGM_IP_ROUTER_ALERT, 0);
  if (arguments.sends) {
    ok = ok && set(socket, PGM_SEND_ONLY, 1) && set(socket, PGM_TXW_SQNS, 65536) &&
         set(socket, PGM_RDATA_MAX_RTE, arguments.rate / 4) &&  // new data: Pacer
         set(socket, PGM_AMBIENT_SPM, pgm_secs(1)) &&
         pgm_setsockopt(socket, IPPROTO_PGM, PGM_HEARTBEAT_SPM, heartbeats, sizeof(heartbeats));
  } else {
    ok = ok && set(socket, PGM_RECV_ONLY, 1) && set(socket, PGM_RXW_SQNS, 65536) &&
         set(socket, PGM_PEER_EXPIRY, pgm_secs(30)) && set(socket, PGM_SPMR_EXPIRY, pgm_msecs(250)) &&
         set(socket, PGM_NAK_BO_IVL, pgm_msecs(2)) && set(socket, PGM_NAK_RPT_IVL, pgm_msecs(20)) &&
         set(socket, PGM_NAK_RDATA_IVL, pgm_msecs(20)) && set(socket, PGM_NAK_DATA_RETRIES, 250) &&
         set(socket, PGM_NAK_NCF_RETRIES, 250);
  }
  return ok;
}

// nullptr: *code says how the process ends.
pgm_sock_t* open_socket(const Arguments& arguments, int* code) {
  pgm_error_t* error = nullptr;
  *code = kExitSocket;
  if (!pgm_init(&error)) return *code = fail("init", error), nullptr;
  pgm_addrinfo_t* address = nullptr;
  const std::string network = arguments.interface + ";" + arguments.group;  // numeric: names would be looked up
  if (!pgm_getaddrinfo(network.c_str(), nullptr, &address, &error)) return *code = fail("address", error), nullptr;
  pgm_sock_t* socket = nullptr;
  const int protocol = arguments.is_raw ? IPPROTO_PGM : IPPROTO_UDP;
  if (!pgm_socket(&socket, AF_INET, SOCK_SEQPACKET, protocol, &error)) return *code = fail("socket", error), nullptr;
  if (!configure(socket, arguments)) return *code = fail("options", nullptr), nullptr;
  pgm_sockaddr_t from{};
  from.sa_port = kDataPort;
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
  return socket;
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
void wait(pgm_sock_t* socket, int event, int64_t timeout_ns) {
  pollfd fds[8];
  fds[0] = {event, POLLIN, 0};
  int count = 7;
  pgm_poll_info(socket, fds + 1, &count, POLLIN);
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  if (::ppoll(fds, static_cast<nfds_t>(count + 1), &timeout, nullptr) > 0 && (fds[0].revents & POLLIN) != 0)
    drain_event(event);
}

void wait_for_node(pgm_sock_t* socket, const Arguments& arguments, MulticastMemory* memory, int64_t timeout_ns) {
  memory->wire_bell.arm();
  if (memory->to_wire.is_empty()) wait(socket, arguments.wire_event, timeout_ns);
  memory->wire_bell.disarm();
}

// NAKs are answered, and heartbeats sent, within receive calls: one repair each.
int serve_repairs(pgm_sock_t* socket) {
  char bytes[2048];
  int status = PGM_IO_STATUS_NORMAL;
  for (int i = 0; i < kRepairsPerRound; ++i) {
    pgm_error_t* error = nullptr;
    status = pgm_recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT, nullptr, &error);
    if (error != nullptr) pgm_error_free(error);
    if (status != PGM_IO_STATUS_NORMAL) break;
  }
  return status;
}

// False: not now; `skb` has to be offered again. Copying calls of the library store unaligned (findings): skb only.
bool send_skb(pgm_sock_t* socket, pgm_sk_buff_t** skb, int* status) {
  size_t written = 0;
  *status = pgm_send_skbv(socket, skb, 1, true, &written);
  if (*status == PGM_IO_STATUS_RATE_LIMITED || *status == PGM_IO_STATUS_WOULD_BLOCK ||
      *status == PGM_IO_STATUS_CONGESTION) {
    return false;
  }
  *skb = nullptr;  // the library's now
  return true;
}

int run_sender(pgm_sock_t* socket, const Arguments& arguments, MulticastMemory* memory) {
  static char record[SharedRing::kRecordBytesMax];
  pgm_sk_buff_t* skb = nullptr;
  Pacer pacer(int64_t{arguments.rate} / 4 * 3, arguments.mtu, monotonic_now_ns());
  while (true) {
    memory->beats.fetch_add(1);
    int status = serve_repairs(socket);
    bool is_paced = false;
    for (int i = 0; i < kSendsPerRound; ++i) {
      is_paced = !pacer.may_send();
      if (is_paced) break;
      if (skb == nullptr) {
        const size_t size = memory->to_wire.read(record);
        if (size == 0) break;
        if (size + kHeadRoom > static_cast<size_t>(arguments.mtu)) continue;
        skb = pgm_alloc_skb(static_cast<uint16_t>(arguments.mtu));
        pgm_skb_reserve(skb, kHeadRoom);
        std::memcpy(pgm_skb_put(skb, static_cast<uint16_t>(size)), record, size);
      }
      const int64_t bytes = skb->len + kPacketOverhead;
      if (!send_skb(socket, &skb, &status)) break;
      pacer.sent(bytes);
      memory->sent.fetch_add(1, std::memory_order_relaxed);
    }
    if (skb != nullptr) {  // the socket is full
      wait(socket, -1, kNsPerMs);
    } else if (is_paced && !memory->to_wire.is_empty()) {
      wait(socket, -1, pacer.wait_ns());
    } else if (memory->to_wire.is_empty()) {
      wait_for_node(socket, arguments, memory, wait_ns(socket, status));
    }
    if (::getppid() != arguments.node) return 0;
  }
}

int run_receiver(pgm_sock_t* socket, const Arguments& arguments, MulticastMemory* memory) {
  while (true) {
    memory->beats.fetch_add(1);
    pgm_msgv_t messages[kMessages];
    size_t bytes = 0;
    pgm_error_t* error = nullptr;
    const int status = pgm_recvmsgv(socket, messages, kMessages, MSG_DONTWAIT, &bytes, &error);
    if (error != nullptr) pgm_error_free(error);
    if (status == PGM_IO_STATUS_RESET) {
      memory->resets.fetch_add(1);
      return kExitReset;
    }
    if (status == PGM_IO_STATUS_NORMAL) {
      size_t taken = 0;
      for (unsigned i = 0; i < kMessages && taken < bytes; ++i) {
        for (uint32_t k = 0; k < messages[i].msgv_len; ++k) {
          const pgm_sk_buff_t* skb = messages[i].msgv_skb[k];
          taken += skb->len;
          const bool has_room = memory->from_wire.write({static_cast<const char*>(skb->data), skb->len});
          (has_room ? memory->received : memory->dropped).fetch_add(1, std::memory_order_relaxed);
        }
      }
      if (memory->node_bell.rings()) signal_event(arguments.node_event);
      continue;
    }
    if (::getppid() != arguments.node) return 0;
    wait(socket, arguments.wire_event, wait_ns(socket, status));
  }
}

int run(const Arguments& arguments) {
  ::setenv("PGM_TIMER", "CLOCK_GETTIME", 1);  // monotonic: the default follows the wall clock
  MulticastMemory* memory = begin_multicast_program<MulticastMemory>(arguments.memory);
  if (memory == nullptr) return kExitUsage;
  int code = 0;
  pgm_sock_t* socket = open_socket(arguments, &code);
  if (socket == nullptr) return code;
  memory->is_ready.store(1);
  signal_event(arguments.node_event);
  return arguments.sends ? run_sender(socket, arguments, memory) : run_receiver(socket, arguments, memory);
}

}  // namespace
}  // namespace scyper::replication

int main(int argc, char** argv) {
  if (argc != 13) {
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
  return scyper::replication::run(arguments);
}
