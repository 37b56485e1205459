#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <string>
#include <vector>

#include "rdma/rendezvous.h"
#include "replication/rdma_device_name.h"

namespace scyper::replication {

// A reliable connection by RDMA verbs for bulk data (rendezvous.h), with the slots as registered memory. A source
// listens and takes one peer, which has to show the token; a sink connects. Threads: one. Of a process that does not
// fork. Invariants: (1) a peer can write nothing but posted receives of one message each: a source's slots may be read
// remotely, a sink's have no remote rights; (2) there is a posted receive for every message that a peer may send.
// Errors: texts for people; empty = none.
class VerbsConnection final : public BulkWire {
 public:
  struct Options {
    bool is_source = false;
    std::string interface;  // IPv4 address; empty: of the device, or of the first that has one
    RdmaDeviceName device;
    BulkMemory* memory = nullptr;  // its token: to be shown, or asked for
    uint32_t slots = 0;
    uint32_t peer_address = 0;  // a sink's peer: IPv4, network byte order
    uint16_t peer_port = 0;
  };
  explicit VerbsConnection(const Options& options) : options_(options) {}
  VerbsConnection(const VerbsConnection&) = delete;
  VerbsConnection& operator=(const VerbsConnection&) = delete;
  ~VerbsConnection() override;

  // A source listens from then on; a sink is connected or has failed, within some seconds.
  std::string open();
  bool is_connected() const { return is_connected_; }
  uint32_t window() const { return window_; }  // of a connected one: open offers at most
  uint64_t slots_address() const { return reinterpret_cast<uint64_t>(options_.memory->slot(0, options_.slots)); }
  uint32_t slots_key() const { return region_->rkey; }
  // For tests, which do with them what this class does not. Of a connected one.
  ibv_qp* queue_pair() { return id_->qp; }
  uint32_t slots_local_key() const { return region_->lkey; }
  uint32_t address() const;  // its own: IPv4, network byte order
  uint16_t port() const;     // of a source
  uint64_t registered_bytes() const;

  bool has_room() const override { return sends_open_ < sends_max() && reads_open_ < options_.slots; }
  std::string send(const BulkMessage& message) override;
  std::string read(uint64_t number, const BulkMessage& offer) override;

  // What has happened, in order.
  struct News {
    bool is_read = false;  // one has ended; else a message
    BulkMessage message;
  };
  std::string poll(std::vector<News>* out);
  // As VerbsEndpoint's.
  std::string arm();
  void wait(int event, int64_t timeout_ns);
  // A peer that comes or goes, and news of the device.
  std::string check();

 private:
  std::string take(const rdma_cm_event& event, rdma_cm_id** refused);
  std::string take_request(const rdma_cm_event& event, rdma_cm_id** refused);
  std::string take_established(const rdma_cm_event& event);
  std::string await(rdma_cm_event_type type, int timeout_ms);
  std::string make_memory();
  std::string make_queues();
  std::string post_receive(uint64_t index);
  // An end of a send may be seen after the peer's answer to it: so twice as many as there are offers.
  uint32_t sends_max() const { return 2 * options_.slots; }
  uint32_t receives() const { return options_.slots + 1; }
  std::string connect();

  const Options options_;
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* listener_ = nullptr;  // a source's
  rdma_cm_id* id_ = nullptr;        // of the connection
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_mr* region_ = nullptr;  // the slots
  ibv_mr* messages_region_ = nullptr;
  std::vector<BulkMessage> messages_;  // receives(), then sends_max()
  bool has_pair_ = false, is_connected_ = false;
  rdma_cm_event_type awaited_ = RDMA_CM_EVENT_ADDR_RESOLVED;
  bool has_come_ = false;  // what is awaited
  uint32_t window_ = 0, sends_open_ = 0, reads_open_ = 0;
  uint64_t sends_ = 0;
};

}  // namespace scyper::replication
