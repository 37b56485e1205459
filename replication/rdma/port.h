#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <string>

#include "replication/rdma_device_name.h"

// What all kinds of queue pairs of scyper-rdma need of devices. Errors: texts for people; empty = none.
namespace scyper::replication {

std::string with_error(const char* what);  // of errno
// That so many bytes could not be registered; names the limit of locked memory.
std::string registration_error(uint64_t bytes);
void make_nonblocking(int fd);
// The address that a port is known by: the interface's (IPv4), or if that is empty of the device, or of the first that
// has one.
std::string find_interface(const std::string& interface, const RdmaDeviceName& device, in_addr* out);
// Binds the identifier to it. Its device and port are those that were asked for, or it is an error.
std::string bind_to_port(rdma_cm_id* id, const in_addr& own, const RdmaDeviceName& device);
// The channel tells of the queue's next completion. What it has told until now is taken away.
std::string arm_completions(ibv_comp_channel* channel, ibv_cq* queue);
// News of the device and its ports; anything that ends what uses it is an error.
std::string look_at_device(ibv_context* device);

}  // namespace scyper::replication
