#pragma once

#include <cstdint>
#include <string>

namespace scyper::replication {

// RDMA verbs (docs/infiniband.md), as a node is configured.
struct RdmaOptions {
  // "mlx5_0", "mlx5_0:1" with its port, "mlx5_0:1:3" with a GID index too, "any"; empty: that of the interface's
  // address
  std::string device;
  uint32_t datagram_bytes = 0;                // the largest sent; 0: as the port's MTU allows
  uint64_t memory_bytes = uint64_t{4} << 20;  // registered, by each process that sends or receives
  bool is_polling = false;                    // completions are polled, by a whole core; else events are waited for
  bool seeds = true;                          // archives and ranges of the log, too, go by verbs
};

}  // namespace scyper::replication
