#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace scyper::client {

// Network namespaces of this machine, joined by a bridge that has an address here: as many hosts, for measurements and
// trials of multicast. All go with the object. Needs root.
class NetworkSpaces {
 public:
  NetworkSpaces();
  // 42501 where namespaces cannot be made.
  Status make(uint32_t count, uint32_t mtu = 1500);
  ~NetworkSpaces();

  std::string name(uint32_t i) const;     // of the i-th, from 0
  std::string address(uint32_t i) const;  // IPv4
  std::string bridge_address() const;     // of this machine among them
  // Of the UDP datagrams that reach a port there so many percent are lost from now on; 0 = none.
  Status set_loss(uint32_t i, uint32_t percent, uint16_t port) const;
  // Up or down: down, it reaches nobody.
  Status set_link(uint32_t i, bool is_up) const;

 private:
  std::string bridge() const;
  std::string subnet() const;
  std::string link(uint32_t i) const;
  const int id_;  // of the process that made it: its children know the names, too
  uint32_t count_ = 0;
  bool has_bridge_ = false;
};

}  // namespace scyper::client
