#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "shared_ring.h"

namespace scyper::replication {

// How scyper-pgm and scyper-rdma begin: they end with their node, but not by signals that it gets, too. Null: the
// memory that both share cannot be mapped.
inline MulticastMemory* begin_multicast_program(int memory_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What ends the node is for the node: it may come to all processes of a unit or of a terminal.
  for (int each : {SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_IGN);
  void* mapped = ::mmap(nullptr, sizeof(MulticastMemory), PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<MulticastMemory*>(mapped);
}

}  // namespace scyper::replication
