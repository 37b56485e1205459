#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replication/rdma_device_name.h"
#include "rings.h"

namespace scyper::replication {

// One end of multicast groups by RDMA verbs: an unreliable-datagram queue pair with registered memory, one slot per
// datagram. Either sends or receives. Threads: one. Of a process that does not fork: its memory is in no other.
// Invariants: (1) a peer can write nothing but the slots that are posted: the region has no remote rights; (2) all
// slots of a receiver are posted but those between receive() and repost(). Errors: texts for people; empty = none.
class VerbsEndpoint {
 public:
  struct Options {
    bool sends = false;
    std::string interface;  // IPv4 address; empty: of the device, or of the first that has one
    RdmaDeviceName device;
    // IPv4 multicast, by channel; what a receiver does not join is not there
    std::vector<std::optional<std::string>> groups;
    uint32_t datagram_bytes_max = 0;  // 0: as the port's MTU allows
    uint64_t memory_bytes = 0;
    bool has_events = true;  // else completions are only polled
  };
  VerbsEndpoint() = default;
  VerbsEndpoint(const VerbsEndpoint&) = delete;
  VerbsEndpoint& operator=(const VerbsEndpoint&) = delete;
  ~VerbsEndpoint();

  std::string open(const Options& options);
  uint32_t datagram_bytes() const { return datagram_bytes_; }
  uint64_t registered_bytes() const { return layout_.bytes(); }
  uint32_t slots() const { return layout_.count; }

  // --- a sender ---
  static constexpr uint32_t kBatch = RingLayout::kSignalEvery;
  char* slot(uint32_t index) { return memory_ + layout_.offset(index); }
  // A datagram that lies in its slot, to go with the next post_sends().
  void add_send(const SendSlots::Request& request, uint32_t bytes, uint32_t channel);
  // Precondition of add_send(): there is such a channel, and its group was joined.
  bool reaches(uint32_t channel) const { return channel < groups_.size() && groups_[channel].address != nullptr; }
  std::string post_sends();

  // --- a receiver ---
  // What has come, kBatch at most; each valid until repost().
  struct Datagram {
    const char* bytes;
    uint32_t size;
  };
  std::string receive(Datagram* out, uint32_t* count);
  std::string repost();

  // --- both ---
  // Completions of a sender: how far it is. Unknown numbers are errors.
  std::string poll_sends(SendSlots* slots);
  // Asks for an event with the next completion. One that is there already brings none: look again before waiting.
  std::string arm();
  // Sleeps until there is something at `event` (-1 = none), news of the device, a completion if those are awaited and
  // have events, or timeout_ns are over.
  void wait(int event, bool awaits_completions, int64_t timeout_ns);
  // News of the device, the port and the group; anything that ends the endpoint is an error.
  std::string check_device();

 private:
  std::string bind(const Options& options);
  std::string look_at_port(const Options& options);
  std::string make_queues(const Options& options);
  std::string make_memory();
  std::string join(const Options& options);
  std::string take_join(const rdma_cm_event& event);
  std::string post_receives(uint32_t first, uint32_t count);

  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;  // null: polled
  ibv_cq* queue_ = nullptr;
  ibv_mr* region_ = nullptr;
  struct Group {
    ibv_ah* address = nullptr;  // a sender's
    uint32_t pair = 0, key = 0;
    bool has_joined = false;
  };
  std::vector<Group> groups_;  // by channel
  uint32_t awaited_ = 0;       // of them, until they are joined
  bool sends_ = false, has_pair_ = false;
  int32_t gid_index_ = -1;
  uint32_t datagram_bytes_ = 0, inline_bytes_ = 0;
  RingLayout layout_;
  char* memory_ = nullptr;

  ibv_send_wr send_requests_[kBatch];
  ibv_sge send_parts_[kBatch];
  uint32_t send_count_ = 0;
  uint32_t taken_[kBatch];  // slots between receive() and repost()
  uint32_t taken_count_ = 0;
};

}  // namespace scyper::replication
