#include "endpoint.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/event_fd.h"
#include "pacer.h"
#include "rdma/port.h"

namespace scyper::replication {

namespace {

// Small ones, as watermarks, travel within the request: the device need not fetch them. Asked for, not required.
constexpr uint32_t kInlineBytes = 256;
constexpr uint32_t kDatagramBytesMin = 256;
// Groups of a subnet have one MTU, which ports that could more do not tell; subnet managers give 2 kB unless told.
constexpr uint32_t kInfiniBandBytes = 2048;
// On InfiniBand the subnet manager is asked, for one group after the other.
constexpr int64_t kJoinNs = 1'500 * kPacerNsPerMs, kJoinNsPerGroup = 100 * kPacerNsPerMs;
constexpr uint32_t kGroupPairs = 0xffffff;
constexpr uint64_t kMaxSendSlots = 1024;

}  // namespace

VerbsEndpoint::~VerbsEndpoint() {
  for (const Group& group : groups_) {
    if (group.address != nullptr) ibv_destroy_ah(group.address);
  }
  if (has_pair_) rdma_destroy_qp(id_);
  if (queue_ != nullptr) ibv_destroy_cq(queue_);
  if (completions_ != nullptr) ibv_destroy_comp_channel(completions_);
  if (region_ != nullptr) ibv_dereg_mr(region_);
  if (memory_ != nullptr) ::munmap(memory_, layout_.bytes());
  if (domain_ != nullptr) ibv_dealloc_pd(domain_);
  if (id_ != nullptr) rdma_destroy_id(id_);  // leaves the group
  if (channel_ != nullptr) rdma_destroy_event_channel(channel_);
}

std::string VerbsEndpoint::open(const Options& options) {
  sends_ = options.sends;
  std::string error = bind(options);
  if (error.empty()) error = look_at_port(options);
  if (error.empty()) error = make_queues(options);
  if (error.empty()) error = make_memory();
  if (error.empty() && !sends_) error = post_receives(0, layout_.count);
  if (error.empty()) error = join(options);
  return error;
}

std::string VerbsEndpoint::bind(const Options& options) {
  in_addr own{};
  std::string error = find_interface(options.interface, options.device, &own);
  if (!error.empty()) return error;
  channel_ = rdma_create_event_channel();
  if (channel_ == nullptr) return with_error("no RDMA connection manager");
  make_nonblocking(channel_->fd);
  if (rdma_create_id(channel_, &id_, nullptr, RDMA_PS_UDP) != 0) return with_error("no RDMA identifier");
  return bind_to_port(id_, own, options.device);
}

std::string VerbsEndpoint::look_at_port(const Options& options) {
  ibv_port_attr port{};
  if (ibv_query_port(id_->verbs, id_->port_num, &port) != 0) return with_error("the port cannot be asked");
  if (port.state != IBV_PORT_ACTIVE) return "the port is not active";
  gid_index_ = options.device.gid_index;
  if (gid_index_ >= port.gid_tbl_len) return "the port has no such GID index";
  const uint32_t path_bytes = 128u << port.active_mtu;  // IBV_MTU_256 is 1
  datagram_bytes_ = path_bytes;
  if (!sends_) return "";  // whatever a sender may send: what does not fit into its slot ends a queue pair
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) datagram_bytes_ = std::min(datagram_bytes_, kInfiniBandBytes);
  if (options.datagram_bytes_max != 0) datagram_bytes_ = std::min(path_bytes, options.datagram_bytes_max);
  return datagram_bytes_ >= kDatagramBytesMin ? "" : "datagrams would be smaller than 256 bytes";
}

std::string VerbsEndpoint::make_queues(const Options& options) {
  ibv_device_attr device{};
  if (ibv_query_device(id_->verbs, &device) != 0) return with_error("the device cannot be asked");
  uint64_t device_max = static_cast<uint64_t>(std::min(device.max_qp_wr, device.max_cqe));
  if (sends_) device_max = std::min(device_max, kMaxSendSlots);
  layout_ = RingLayout::make(datagram_bytes_, options.memory_bytes, device_max);
  if (layout_.count == 0) return "the device's queues are too short";
  domain_ = ibv_alloc_pd(id_->verbs);
  if (domain_ == nullptr) return with_error("no protection domain");
  if (options.has_events) {
    completions_ = ibv_create_comp_channel(id_->verbs);
    if (completions_ == nullptr) return with_error("no completion channel");
    make_nonblocking(completions_->fd);
  }
  queue_ = ibv_create_cq(id_->verbs, static_cast<int>(layout_.count), nullptr, completions_, 0);
  if (queue_ == nullptr) return with_error("no completion queue");
  ibv_qp_init_attr pair{};
  pair.send_cq = pair.recv_cq = queue_;
  pair.qp_type = IBV_QPT_UD;
  pair.cap.max_send_wr = sends_ ? layout_.count : 1;
  pair.cap.max_recv_wr = sends_ ? 1 : layout_.count;
  pair.cap.max_send_sge = pair.cap.max_recv_sge = 1;
  pair.cap.max_inline_data = sends_ ? kInlineBytes : 0;
  has_pair_ = rdma_create_qp(id_, domain_, &pair) == 0;
  if (!has_pair_) {
    pair.cap.max_inline_data = 0;
    has_pair_ = rdma_create_qp(id_, domain_, &pair) == 0;
  }
  inline_bytes_ = pair.cap.max_inline_data;
  return has_pair_ ? "" : with_error("no queue pair");
}

std::string VerbsEndpoint::make_memory() {
  void* mapped = ::mmap(nullptr, layout_.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return with_error("no memory");
  memory_ = static_cast<char*>(mapped);
  ::madvise(memory_, layout_.bytes(), MADV_DONTFORK);
  region_ = ibv_reg_mr(domain_, memory_, layout_.bytes(), sends_ ? 0 : IBV_ACCESS_LOCAL_WRITE);
  return region_ != nullptr ? "" : registration_error(layout_.bytes());
}

std::string VerbsEndpoint::join(const Options& options) {
  groups_.resize(options.groups.size());
  for (size_t channel = 0; channel < groups_.size(); ++channel) {
    if (!options.groups[channel].has_value()) continue;
    sockaddr_in group{};
    group.sin_family = AF_INET;
    if (::inet_pton(AF_INET, options.groups[channel]->c_str(), &group.sin_addr) != 1) {
      return "the group is no IPv4 multicast address";
    }
    ++awaited_;
    if (rdma_join_multicast(id_, reinterpret_cast<sockaddr*>(&group), &groups_[channel]) != 0) {
      return with_error("no multicast");
    }
  }
  const int64_t until_ns = monotonic_now_ns() + kJoinNs + kJoinNsPerGroup * awaited_;
  while (awaited_ > 0) {
    const int64_t left_ns = until_ns - monotonic_now_ns();
    if (left_ns <= 0) return "the group cannot be joined: no answer";
    pollfd event{channel_->fd, POLLIN, 0};
    if (::poll(&event, 1, static_cast<int>(left_ns / kPacerNsPerMs) + 1) <= 0) continue;
    std::string error = check_device();
    if (!error.empty()) return error;
  }
  return "";
}

std::string VerbsEndpoint::take_join(const rdma_cm_event& event) {
  ibv_ah_attr to = event.param.ud.ah_attr;
  if (gid_index_ >= 0) to.grh.sgid_index = static_cast<uint8_t>(gid_index_);
  // what the join was asked with
  auto* group = static_cast<Group*>(const_cast<void*>(event.param.ud.private_data));
  if (group->has_joined) return std::string("RDMA: ") + rdma_event_str(event.event);
  group->pair = event.param.ud.qp_num != 0 ? event.param.ud.qp_num : kGroupPairs;
  group->key = event.param.ud.qkey;
  if (sends_) group->address = ibv_create_ah(domain_, &to);
  if (sends_ && group->address == nullptr) return with_error("no address of the group");
  group->has_joined = true;
  --awaited_;
  return "";
}

std::string VerbsEndpoint::check_device() {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel_, &event) == 0) {  // attaches the queue pair, too
    std::string error;
    if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN && awaited_ > 0) {
      error = take_join(*event);
    } else if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN) {
      error = std::string("RDMA: ") + rdma_event_str(event->event);
    }
    rdma_ack_cm_event(event);
    if (!error.empty()) return error;
  }
  return look_at_device(id_->verbs);
}

void VerbsEndpoint::add_send(const SendSlots::Request& request, uint32_t bytes, uint32_t channel) {
  ibv_sge& part = send_parts_[send_count_];
  part = {};
  part.addr = reinterpret_cast<uint64_t>(slot(request.slot));
  part.length = bytes;
  part.lkey = region_->lkey;
  ibv_send_wr& made = send_requests_[send_count_];
  made = {};
  made.wr_id = request.number;
  made.sg_list = &part;
  made.num_sge = 1;
  made.opcode = IBV_WR_SEND;
  made.send_flags = (request.is_signalled ? unsigned{IBV_SEND_SIGNALED} : 0u) |
                    (bytes <= inline_bytes_ ? unsigned{IBV_SEND_INLINE} : 0u);
  made.wr.ud.ah = groups_[channel].address;
  made.wr.ud.remote_qpn = groups_[channel].pair;
  made.wr.ud.remote_qkey = groups_[channel].key;
  if (send_count_ > 0) send_requests_[send_count_ - 1].next = &made;
  ++send_count_;
}

std::string VerbsEndpoint::post_sends() {
  if (send_count_ == 0) return "";
  ibv_send_wr* failed = nullptr;
  send_count_ = 0;
  errno = ibv_post_send(id_->qp, send_requests_, &failed);
  return errno == 0 ? "" : with_error("datagrams cannot be sent");
}

std::string VerbsEndpoint::poll_sends(SendSlots* slots) {
  ibv_wc done[kBatch];
  const int count = ibv_poll_cq(queue_, kBatch, done);
  if (count < 0) return "completions cannot be read";
  for (int i = 0; i < count; ++i) {
    if (done[i].status != IBV_WC_SUCCESS) return std::string("a send failed: ") + ibv_wc_status_str(done[i].status);
    if (!slots->complete(done[i].wr_id)) return "a completion of nothing";
  }
  return "";
}

std::string VerbsEndpoint::post_receives(uint32_t first, uint32_t count) {
  ibv_recv_wr requests[kBatch];
  ibv_sge parts[kBatch];
  for (uint32_t begin = 0; begin < count; begin += kBatch) {
    const uint32_t some = std::min(kBatch, count - begin);
    for (uint32_t i = 0; i < some; ++i) {
      const uint32_t slot_index = taken_count_ > 0 ? taken_[begin + i] : first + begin + i;
      parts[i] = {reinterpret_cast<uint64_t>(slot(slot_index)), kRoutingHeaderBytes + datagram_bytes_, region_->lkey};
      requests[i] = {slot_index, i + 1 < some ? &requests[i + 1] : nullptr, &parts[i], 1};
    }
    ibv_recv_wr* failed = nullptr;
    errno = ibv_post_recv(id_->qp, requests, &failed);
    if (errno != 0) return with_error("no room for what comes");
  }
  return "";
}

std::string VerbsEndpoint::receive(Datagram* out, uint32_t* count) {
  *count = 0;
  ibv_wc done[kBatch];
  const int some = ibv_poll_cq(queue_, kBatch, done);
  if (some < 0) return "completions cannot be read";
  for (int i = 0; i < some; ++i) {
    if (done[i].status != IBV_WC_SUCCESS) return std::string("a receive failed: ") + ibv_wc_status_str(done[i].status);
    if (done[i].wr_id >= layout_.count) return "a completion of nothing";
    taken_[taken_count_++] = static_cast<uint32_t>(done[i].wr_id);
    const uint32_t size = std::min(done[i].byte_len, kRoutingHeaderBytes + datagram_bytes_);
    if (size <= kRoutingHeaderBytes) continue;
    out[(*count)++] = {slot(taken_[taken_count_ - 1]) + kRoutingHeaderBytes, size - kRoutingHeaderBytes};
  }
  return "";
}

std::string VerbsEndpoint::repost() {
  if (taken_count_ == 0) return "";
  std::string error = post_receives(0, taken_count_);
  taken_count_ = 0;
  return error;
}

std::string VerbsEndpoint::arm() { return completions_ == nullptr ? "" : arm_completions(completions_, queue_); }

void VerbsEndpoint::wait(int event, bool awaits_completions, int64_t timeout_ns) {
  pollfd fds[] = {{event, POLLIN, 0},
                  {channel_->fd, POLLIN, 0},
                  {id_->verbs->async_fd, POLLIN, 0},
                  {awaits_completions && completions_ != nullptr ? completions_->fd : -1, POLLIN, 0}};
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  if (::ppoll(fds, 4, &timeout, nullptr) > 0 && (fds[0].revents & POLLIN) != 0) drain_event(event);
}

}  // namespace scyper::replication
