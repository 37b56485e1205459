#pragma once

#include <arpa/inet.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace scyper::replication {

// How scyper-pgm and scyper-rdma begin: they end with their node, but not by signals that it gets, too. Null: the
// memory that both share cannot be mapped.
template <class Memory>
Memory* begin_multicast_program(int memory_fd, size_t bytes = sizeof(Memory)) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What ends the node is for the node: it may come to all processes of a unit or of a terminal.
  for (int each : {SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_IGN);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Memory*>(mapped);
}

// The address of a channel's group: so many behind that of channel 0. Empty: that, or it, is no IPv4 multicast address.
inline std::string group_of(const std::string& first, uint32_t channel) {
  in_addr address{};
  if (::inet_pton(AF_INET, first.c_str(), &address) != 1 || !IN_MULTICAST(ntohl(address.s_addr))) return "";
  address.s_addr = htonl(ntohl(address.s_addr) + channel);
  if (!IN_MULTICAST(ntohl(address.s_addr))) return "";
  char text[INET_ADDRSTRLEN];
  return ::inet_ntop(AF_INET, &address, text, sizeof(text));
}

}  // namespace scyper::replication
