#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstddef>
#include <initializer_list>

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

}  // namespace scyper::replication
