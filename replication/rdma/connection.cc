#include "rdma/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/event_fd.h"
#include "rdma/port.h"

namespace scyper::replication {

namespace {

constexpr int kResolveMs = 1000;
constexpr int kConnectMs = 5000;
constexpr int kBacklog = 4;
constexpr uint8_t kReadsMax = 16;  // that a queue pair has under way; what devices offer
constexpr uint8_t kRetries = 7;
// Numbers of work requests: what they were.
constexpr uint64_t kReceive = uint64_t{1} << 62;
constexpr uint64_t kSend = uint64_t{1} << 61;

int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

VerbsConnection::~VerbsConnection() {
  if (has_pair_) rdma_destroy_qp(id_);
  if (queue_ != nullptr) ibv_destroy_cq(queue_);
  if (completions_ != nullptr) ibv_destroy_comp_channel(completions_);
  if (messages_region_ != nullptr) ibv_dereg_mr(messages_region_);
  if (region_ != nullptr) ibv_dereg_mr(region_);
  if (domain_ != nullptr) ibv_dealloc_pd(domain_);
  if (id_ != nullptr) rdma_destroy_id(id_);
  if (listener_ != nullptr) rdma_destroy_id(listener_);
  if (channel_ != nullptr) rdma_destroy_event_channel(channel_);
}

uint32_t VerbsConnection::address() const {
  const rdma_cm_id* id = listener_ != nullptr ? listener_ : id_;
  return reinterpret_cast<const sockaddr_in*>(&id->route.addr.src_addr)->sin_addr.s_addr;
}

uint16_t VerbsConnection::port() const { return listener_ == nullptr ? 0 : ntohs(rdma_get_src_port(listener_)); }

uint64_t VerbsConnection::registered_bytes() const {
  return uint64_t{options_.slots} * BulkMemory::kSlotBytes + messages_.size() * sizeof(BulkMessage);
}

std::string VerbsConnection::open() {
  in_addr own{};
  std::string error = find_interface(options_.interface, options_.device, &own);
  if (!error.empty()) return error;
  channel_ = rdma_create_event_channel();
  if (channel_ == nullptr) return with_error("no RDMA connection manager");
  make_nonblocking(channel_->fd);
  rdma_cm_id*& id = options_.is_source ? listener_ : id_;
  if (rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP) != 0) return with_error("no RDMA identifier");
  if (error = bind_to_port(id, own, options_.device); !error.empty()) return error;
  domain_ = ibv_alloc_pd(id->verbs);
  if (domain_ == nullptr) return with_error("no protection domain");
  if (error = make_memory(); !error.empty()) return error;
  if (!options_.is_source) return connect();
  return rdma_listen(listener_, kBacklog) == 0 ? "" : with_error("no connections are taken");
}

std::string VerbsConnection::make_memory() {
  const uint64_t bytes = uint64_t{options_.slots} * BulkMemory::kSlotBytes;
  const unsigned access = options_.is_source ? unsigned{IBV_ACCESS_REMOTE_READ} : unsigned{IBV_ACCESS_LOCAL_WRITE};
  region_ = ibv_reg_mr(domain_, options_.memory->slot(0, options_.slots), bytes, access);
  if (region_ == nullptr) return registration_error(bytes);
  messages_.resize(size_t{receives()} + sends_max());
  const uint64_t messages_bytes = messages_.size() * sizeof(BulkMessage);
  messages_region_ = ibv_reg_mr(domain_, messages_.data(), messages_bytes, unsigned{IBV_ACCESS_LOCAL_WRITE});
  return messages_region_ != nullptr ? "" : registration_error(messages_bytes);
}

std::string VerbsConnection::make_queues() {
  completions_ = ibv_create_comp_channel(id_->verbs);
  if (completions_ == nullptr) return with_error("no completion channel");
  make_nonblocking(completions_->fd);
  const uint32_t sends = sends_max() + options_.slots;  // and reads
  queue_ = ibv_create_cq(id_->verbs, static_cast<int>(sends + receives()), nullptr, completions_, 0);
  if (queue_ == nullptr) return with_error("no completion queue");
  ibv_qp_init_attr pair{};
  pair.send_cq = pair.recv_cq = queue_;
  pair.qp_type = IBV_QPT_RC;
  pair.sq_sig_all = 1;
  pair.cap.max_send_wr = sends;
  pair.cap.max_recv_wr = receives();
  pair.cap.max_send_sge = pair.cap.max_recv_sge = 1;
  has_pair_ = rdma_create_qp(id_, domain_, &pair) == 0;
  if (!has_pair_) return with_error("no queue pair");
  std::string error;
  for (uint32_t i = 0; i < receives() && error.empty(); ++i) error = post_receive(i);
  return error;
}

std::string VerbsConnection::post_receive(uint64_t index) {
  ibv_sge part{reinterpret_cast<uint64_t>(&messages_[index]), sizeof(BulkMessage), messages_region_->lkey};
  ibv_recv_wr request{};
  request.wr_id = kReceive | index;
  request.sg_list = &part;
  request.num_sge = 1;
  ibv_recv_wr* failed = nullptr;
  errno = ibv_post_recv(id_->qp, &request, &failed);
  return errno == 0 ? "" : with_error("no room for messages");
}

// --- coming together ---

std::string VerbsConnection::connect() {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_addr.s_addr = options_.peer_address;
  peer.sin_port = htons(options_.peer_port);
  if (rdma_resolve_addr(id_, nullptr, reinterpret_cast<sockaddr*>(&peer), kResolveMs) != 0) {
    return with_error("no way to the peer's address");
  }
  std::string error = await(RDMA_CM_EVENT_ADDR_RESOLVED, 2 * kResolveMs);
  if (!error.empty()) return error;
  if (rdma_resolve_route(id_, kResolveMs) != 0) return with_error("no route to the peer");
  error = await(RDMA_CM_EVENT_ROUTE_RESOLVED, 2 * kResolveMs);
  if (error.empty()) error = make_queues();
  if (!error.empty()) return error;
  ibv_device_attr device{};
  if (ibv_query_device(id_->verbs, &device) != 0) return with_error("the device cannot be asked");
  BulkHello hello;
  hello.slots = static_cast<uint16_t>(options_.slots);
  std::memcpy(hello.token, options_.memory->token, sizeof(hello.token));
  rdma_conn_param asked{};
  asked.private_data = &hello;
  asked.private_data_len = sizeof(hello);
  asked.initiator_depth = static_cast<uint8_t>(std::clamp(device.max_qp_init_rd_atom, 1, int{kReadsMax}));
  asked.retry_count = asked.rnr_retry_count = kRetries;
  if (rdma_connect(id_, &asked) != 0) return with_error("the peer cannot be asked");
  return await(RDMA_CM_EVENT_ESTABLISHED, kConnectMs);
}

std::string VerbsConnection::await(rdma_cm_event_type type, int timeout_ms) {
  awaited_ = type;
  has_come_ = false;
  const int64_t until = now_ms() + timeout_ms;
  while (!has_come_) {
    const int64_t left = until - now_ms();
    if (left <= 0) return std::string("no answer of the peer: ") + rdma_event_str(type);
    pollfd event{channel_->fd, POLLIN, 0};
    if (::poll(&event, 1, static_cast<int>(left)) <= 0) continue;
    if (std::string error = check(); !error.empty()) return error;
  }
  return "";
}

std::string VerbsConnection::check() {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel_, &event) == 0) {
    rdma_cm_id* refused = nullptr;
    std::string error = take(*event, &refused);
    rdma_ack_cm_event(event);
    if (refused != nullptr) rdma_destroy_id(refused);
    if (!error.empty()) return error;
  }
  return look_at_device(id_ != nullptr ? id_->verbs : listener_->verbs);
}

std::string VerbsConnection::take(const rdma_cm_event& event, rdma_cm_id** refused) {
  switch (event.event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return take_request(event, refused);
    case RDMA_CM_EVENT_ESTABLISHED:
      return take_established(event);
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return "";
    case RDMA_CM_EVENT_REJECTED:
      return "the peer refuses";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "the peer has gone";
    default:
      break;
  }
  if (event.event != awaited_ || options_.is_source) return std::string("RDMA: ") + rdma_event_str(event.event);
  has_come_ = true;
  return "";
}

// Whoever does not show the token is refused, and the next one may come.
std::string VerbsConnection::take_request(const rdma_cm_event& event, rdma_cm_id** refused) {
  BulkHello hello;
  const std::string why = BulkHello::parse(event.param.conn.private_data, event.param.conn.private_data_len, &hello);
  if (id_ != nullptr || !why.empty() || !hello.has_token(options_.memory->token)) {
    rdma_reject(event.id, nullptr, 0);
    *refused = event.id;
    return "";
  }
  id_ = event.id;
  window_ = std::min<uint32_t>(hello.slots, options_.slots);
  std::string error = make_queues();
  if (!error.empty()) return error;
  ibv_device_attr device{};
  if (ibv_query_device(id_->verbs, &device) != 0) return with_error("the device cannot be asked");
  BulkHello own;
  own.slots = static_cast<uint16_t>(options_.slots);
  rdma_conn_param answer{};
  answer.private_data = &own;
  answer.private_data_len = sizeof(own);
  answer.responder_resources = static_cast<uint8_t>(
      std::clamp<int>(event.param.conn.responder_resources, 1, std::clamp(device.max_qp_rd_atom, 1, int{kReadsMax})));
  answer.rnr_retry_count = kRetries;
  return rdma_accept(id_, &answer) == 0 ? "" : with_error("the peer cannot be let in");
}

std::string VerbsConnection::take_established(const rdma_cm_event& event) {
  if (!options_.is_source) {
    BulkHello hello;
    std::string why = BulkHello::parse(event.param.conn.private_data, event.param.conn.private_data_len, &hello);
    if (!why.empty()) return why;
    window_ = std::min<uint32_t>(hello.slots, options_.slots);
    has_come_ = true;
  }
  is_connected_ = true;
  return "";
}

// --- what goes over it ---

std::string VerbsConnection::send(const BulkMessage& message) {
  const uint64_t index = receives() + sends_ % sends_max();
  messages_[index] = message;
  ibv_sge part{reinterpret_cast<uint64_t>(&messages_[index]), sizeof(message), messages_region_->lkey};
  ibv_send_wr request{};
  request.wr_id = kSend | sends_++;
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  ibv_send_wr* failed = nullptr;
  errno = ibv_post_send(id_->qp, &request, &failed);
  ++sends_open_;
  return errno == 0 ? "" : with_error("a message cannot be sent");
}

std::string VerbsConnection::read(uint64_t number, const BulkMessage& offer) {
  ibv_sge part{reinterpret_cast<uint64_t>(options_.memory->slot(number, options_.slots)), offer.bytes, region_->lkey};
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma.remote_addr = offer.address;
  request.wr.rdma.rkey = offer.key;
  ibv_send_wr* failed = nullptr;
  errno = ibv_post_send(id_->qp, &request, &failed);
  ++reads_open_;
  return errno == 0 ? "" : with_error("the peer's memory cannot be read");
}

std::string VerbsConnection::poll(std::vector<News>* out) {
  out->clear();
  if (queue_ == nullptr) return "";
  ibv_wc done[32];
  const int count = ibv_poll_cq(queue_, 32, done);
  if (count < 0) return "completions cannot be read";
  for (int i = 0; i < count; ++i) {
    if (done[i].status != IBV_WC_SUCCESS) {
      return std::string("a transfer failed: ") + ibv_wc_status_str(done[i].status);
    }
    News news;
    if ((done[i].wr_id & kSend) != 0) {
      --sends_open_;
      continue;
    }
    if ((done[i].wr_id & kReceive) == 0) {
      --reads_open_;
      news.is_read = true;
    } else {
      const uint64_t index = done[i].wr_id & ~kReceive;
      std::string error = BulkMessage::parse(&messages_[index], done[i].byte_len, &news.message);
      if (error.empty()) error = post_receive(index);
      if (!error.empty()) return error;
    }
    out->push_back(news);
  }
  return "";
}

std::string VerbsConnection::arm() { return queue_ == nullptr ? "" : arm_completions(completions_, queue_); }

void VerbsConnection::wait(int event, int64_t timeout_ns) {
  pollfd fds[] = {{event, POLLIN, 0},
                  {channel_->fd, POLLIN, 0},
                  {(id_ != nullptr ? id_ : listener_)->verbs->async_fd, POLLIN, 0},
                  {completions_ != nullptr ? completions_->fd : -1, POLLIN, 0}};
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  if (::ppoll(fds, 4, &timeout, nullptr) > 0 && (fds[0].revents & POLLIN) != 0) drain_event(event);
}

}  // namespace scyper::replication
