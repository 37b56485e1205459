#pragma once

namespace scyper::replication {

// scyper-rdma as one end of a channel of bulk data (rendezvous.h). The process's exit code.
//   scyper-rdma NODE_PID source|sink MEMORY_FD NODE_EVENT_FD WIRE_EVENT_FD INTERFACE DEVICE SLOTS PEER PORT
int run_bulk(int argc, char** argv);

}  // namespace scyper::replication
