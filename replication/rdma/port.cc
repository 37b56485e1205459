#include "rdma/port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "rdma/rings.h"

namespace scyper::replication {

namespace {

bool is_active(ibv_context* device, uint8_t port) {
  ibv_port_attr state{};
  return ibv_query_port(device, port, &state) == 0 && state.state == IBV_PORT_ACTIVE;
}

// The first IPv4 address among the port's identifiers, or the one with that index.
bool find_address(ibv_context* device, uint8_t port, int32_t gid_index, in_addr* out) {
  ibv_port_attr state{};
  if (ibv_query_port(device, port, &state) != 0) return false;
  for (int i = 0; i < state.gid_tbl_len; ++i) {
    ibv_gid gid;
    if (gid_index >= 0 && i != gid_index) continue;
    if (ibv_query_gid(device, port, i, &gid) == 0 && is_ipv4_gid(gid.raw, &out->s_addr)) return true;
  }
  return false;
}

std::string memlock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "none" : std::to_string(limit.rlim_cur) + " bytes";
}

}  // namespace

std::string with_error(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

std::string registration_error(uint64_t bytes) {
  return with_error("memory cannot be registered") + "; " + std::to_string(bytes) +
         " bytes, limit of locked memory: " + memlock_limit();
}

void make_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::string find_interface(const std::string& interface, const RdmaDeviceName& wanted, in_addr* out) {
  if (!interface.empty()) {
    return ::inet_pton(AF_INET, interface.c_str(), out) == 1 ? "" : "the interface is no IPv4 address";
  }
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  bool is_found = false;
  for (int i = 0; i < count && !is_found; ++i) {
    if (!wanted.device.empty() && wanted.device != ibv_get_device_name(devices[i])) continue;
    ibv_context* device = ibv_open_device(devices[i]);
    if (device == nullptr) continue;
    ibv_device_attr all{};
    if (ibv_query_device(device, &all) != 0) all.phys_port_cnt = 0;
    for (uint8_t port = 1; port <= all.phys_port_cnt && !is_found; ++port) {
      if (wanted.port != 0 && port != wanted.port) continue;
      is_found = is_active(device, port) && find_address(device, port, wanted.gid_index, out);
    }
    ibv_close_device(device);
  }
  if (devices != nullptr) ibv_free_device_list(devices);
  if (is_found) return "";
  return count == 0 ? "there is no RDMA device"
                    : "no port that is asked for is active and has an IPv4 address: give one";
}

std::string bind_to_port(rdma_cm_id* id, const in_addr& own, const RdmaDeviceName& device) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = own;
  if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) != 0 || id->verbs == nullptr) {
    return with_error("no RDMA device has the interface's address");
  }
  make_nonblocking(id->verbs->async_fd);
  const std::string found = ibv_get_device_name(id->verbs->device);
  if (!device.device.empty() && device.device != found) return "the interface's address is of device " + found;
  if (device.port != 0 && device.port != id->port_num) {
    return "the interface's address is of port " + std::to_string(id->port_num);
  }
  return "";
}

std::string arm_completions(ibv_comp_channel* channel, ibv_cq* queue) {
  ibv_cq* from = nullptr;
  void* context = nullptr;
  unsigned events = 0;
  while (ibv_get_cq_event(channel, &from, &context) == 0) ++events;
  if (events > 0) ibv_ack_cq_events(queue, events);
  errno = ibv_req_notify_cq(queue, 0);
  return errno == 0 ? "" : with_error("no events of completions");
}

std::string look_at_device(ibv_context* device) {
  ibv_async_event news;
  while (ibv_get_async_event(device, &news) == 0) {
    const ibv_event_type type = news.event_type;
    ibv_ack_async_event(&news);
    switch (type) {
      // What is lost meanwhile is repaired; a group is left as it is.
      case IBV_EVENT_PORT_ERR:
      case IBV_EVENT_PORT_ACTIVE:
      case IBV_EVENT_COMM_EST:
      case IBV_EVENT_SQ_DRAINED:
      case IBV_EVENT_PATH_MIG:
      case IBV_EVENT_GID_CHANGE:
      case IBV_EVENT_PKEY_CHANGE:
        break;
      default:  // another subnet manager knows no members: joined anew, as after errors
        return std::string("RDMA: ") + ibv_event_type_str(type);
    }
  }
  return "";
}

}  // namespace scyper::replication
