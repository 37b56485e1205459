#include "transport_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/multicast.h"

namespace scyper::bench {

namespace {

constexpr char kGroup[] = "239.192.7.9";
constexpr uint16_t kUdpPort = 7403;
constexpr int kSocketBytes = 4 << 20;
// Of datagrams that wait in the ring to the multicast process, which holds 8 MB.
constexpr uint64_t kWaitingMax = 4000;
constexpr uint64_t kFlushEvery = 16;

class ProcessWire final : public Wire {
 public:
  explicit ProcessWire(std::unique_ptr<replication::MulticastProcess> process) : process_(std::move(process)) {}
  void send(std::string_view datagram, uint32_t channel) override {
    process_->send(datagram, channel);
    if (++sent_ % kFlushEvery != 0) return;
    process_->flush();
    while (sent_ - process_->counters().sent > kWaitingMax) ::usleep(50);
  }
  void flush() override {
    process_->flush();
    while (process_->counters().sent < sent_) ::usleep(50);
  }
  bool receive(std::string* datagram, int timeout_ms) override { return process_->receive(datagram, timeout_ms); }
  size_t datagram_bytes_max() const override { return process_->datagram_bytes(); }

 private:
  const std::unique_ptr<replication::MulticastProcess> process_;
  uint64_t sent_ = 0;
};

class UdpWire final : public Wire {
 public:
  explicit UdpWire(int socket) : socket_(socket) {
    to_.sin_family = AF_INET;
    to_.sin_port = htons(kUdpPort);
    ::inet_pton(AF_INET, kGroup, &to_.sin_addr);
  }
  ~UdpWire() override { ::close(socket_); }
  void send(std::string_view datagram, uint32_t /*channel*/) override {
    while (::sendto(socket_, datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&to_),
                    sizeof(to_)) < 0) {
      ::usleep(20);
    }
  }
  bool receive(std::string* datagram, int timeout_ms) override {
    datagram->resize(65'536);
    ssize_t size = ::recv(socket_, datagram->data(), datagram->size(), MSG_DONTWAIT);
    if (size < 0) {
      pollfd event{socket_, POLLIN, 0};
      if (::poll(&event, 1, timeout_ms) > 0) size = ::recv(socket_, datagram->data(), datagram->size(), MSG_DONTWAIT);
    }
    datagram->resize(size > 0 ? static_cast<size_t>(size) : 0);
    return size > 0;
  }
  size_t datagram_bytes_max() const override { return 65'000; }

 private:
  const int socket_;
  sockaddr_in to_{};
};

StatusOr<std::unique_ptr<Wire>> open_udp(const Wire::Options& options) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int bytes = kSocketBytes, one = 1;
  ip_mreq group{};
  ::inet_pton(AF_INET, kGroup, &group.imr_multiaddr);
  ::inet_pton(AF_INET, options.interface.c_str(), &group.imr_interface);
  bool ok = fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) == 0 &&
            ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0 &&
            ::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &group.imr_interface, sizeof(group.imr_interface)) == 0;
  if (ok && !options.sends) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(kUdpPort);
    ok = ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
         ::bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0 &&
         ::setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)) == 0;
  }
  if (!ok) return absl::UnavailableError("multicast by UDP on " + options.interface + " cannot be opened");
  return std::unique_ptr<Wire>(std::make_unique<UdpWire>(fd));
}

}  // namespace

StatusOr<std::unique_ptr<Wire>> Wire::open(const Options& options) {
  if (options.transport == "udp") return open_udp(options);
  replication::MulticastOptions multicast;
  if (options.transport == "rdma") multicast.kind = replication::MulticastOptions::Kind::kRdma;
  multicast.sends = options.sends;
  multicast.interface = options.interface;
  multicast.group = kGroup;
  multicast.bytes_per_second = options.bytes_per_second;
  multicast.mtu = options.mtu;
  multicast.channels = options.channels;
  multicast.joined = replication::channels_of(PartitionSet::all(), options.channels);
  multicast.identity = absl::StrCat("bench:", ::getpid());
  SCYPER_ASSIGN_OR_RETURN(auto process, replication::MulticastProcess::start(multicast));
  return std::unique_ptr<Wire>(std::make_unique<ProcessWire>(std::move(process)));
}

}  // namespace scyper::bench
