#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace scyper::bench {

// One end of a multicast group: plain UDP, or OpenPGM or RDMA verbs as the node uses them. Threads: one.
class Wire {
 public:
  struct Options {
    std::string transport = "pgm";  // "udp", "rdma"
    bool sends = false;
    std::string interface;  // IPv4 address
    uint32_t mtu = 1500;
    uint32_t bytes_per_second = 200'000'000;
    uint32_t channels = 1;  // all of them are joined
  };
  static StatusOr<std::unique_ptr<Wire>> open(const Options& options);
  virtual ~Wire() = default;
  // Waits while the transport has no room.
  virtual void send(std::string_view datagram, uint32_t channel = 0) = 0;
  virtual void flush() {}
  virtual bool receive(std::string* datagram, int timeout_ms) = 0;
  // Largest datagram that travels in one packet.
  virtual size_t datagram_bytes_max() const = 0;
};

}  // namespace scyper::bench
