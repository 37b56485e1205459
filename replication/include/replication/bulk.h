#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "replication/datagram_cipher.h"
#include "replication/rdma_options.h"

// Archives and ranges of the log by RDMA instead of gRPC (docs/infiniband.md, Seeding and repair).
namespace scyper::replication {

struct BulkMemory;

// In a node's status, in front of why.
constexpr char kBulkByGrpc[] = "archives and the log for repairs go by gRPC: ";

// Where a source waits for its sink.
struct BulkAddress {
  std::string host;  // IPv4
  uint16_t port = 0;
  std::string token;       // 16 bytes: who shows them is let in
  bool is_sealed = false;  // with the cluster's key
};

// The node's side of a channel's memory (bulk_memory.h): a source writes bytes into slots, a sink takes them out of
// slots, in order. With a key each slot is sealed (datagram_cipher.h); the token makes the channel's keys its own.
// Threads: one at a time; is_broken() and counters: any.
class BulkChannel {
 public:
  virtual ~BulkChannel();
  BulkChannel(const BulkChannel&) = delete;
  BulkChannel& operator=(const BulkChannel&) = delete;

  // Asked while it waits: whether to go on. May be empty.
  using GoesOn = std::function<bool()>;
  // The number of the slot that the next write() begins with. Source.
  uint64_t next_slot() const { return next_; }
  // Waits for slots. Cancelled: told not to go on; Unavailable: the channel is broken, for good. Source.
  Status write(std::string_view bytes, const GoesOn& goes_on);
  // What was written from that slot on, appended to *out; slots before it are dropped, nobody wants them. Unavailable:
  // the channel is broken, or the slots do not hold that. Sink.
  Status read(uint64_t slot, size_t bytes, std::string* out, const GoesOn& goes_on);

  bool is_broken() const { return is_broken_ || !is_there(); }
  uint64_t bytes() const { return bytes_; }  // moved
  uint64_t registered_bytes() const;
  // Why the process has ended, if it said so.
  std::string trouble() const;

 protected:
  struct Shared {
    BulkMemory* memory = nullptr;
    uint32_t slots = 0;
    int node_event = -1, wire_event = -1;  // eventfds: who wakes whom
  };
  BulkChannel() = default;
  void open(const Shared& shared, const ClusterId& cluster, const DatagramKey* key);
  // Whether the other side of the memory works. Any thread.
  virtual bool is_there() const = 0;
  const Shared& shared() const { return shared_; }

 private:
  // is_due: it comes within some seconds, or never.
  Status wait(const std::function<bool()>& is_ready, const GoesOn& goes_on, bool is_due);
  Status fail(const std::string& why);
  uint32_t payload_bytes() const;
  void ring();

  Shared shared_;
  uint64_t next_ = 0;       // slot
  uint64_t seal_name_ = 0;  // of this channel, from its token
  std::unique_ptr<DatagramSealer> sealer_;
  std::unique_ptr<DatagramOpener> opener_;
  std::string sealed_;
  std::atomic<bool> is_broken_{false};
  std::atomic<uint64_t> bytes_{0};
};

// A channel over RDMA verbs, by a scyper-rdma process of its own: the node's memory is registered by nobody but it, and
// lies in pages that forks share, not copy.
class RdmaBulkChannel final : public BulkChannel {
 public:
  struct Options {
    ClusterId cluster;
    std::string interface;  // IPv4 address
    RdmaOptions rdma;
    const DatagramKey* key = nullptr;  // null: in the clear. Used until it is started
    std::string program;               // scyper-rdma; empty: beside this program
  };
  // A source that waits for its sink. NotFound: there is no such program; Unavailable: no device, no memory.
  static StatusOr<std::unique_ptr<RdmaBulkChannel>> offer(const Options& options);
  // A sink, connected.
  static StatusOr<std::unique_ptr<RdmaBulkChannel>> connect(const Options& options, const BulkAddress& address);
  ~RdmaBulkChannel() override;

  BulkAddress address() const;

 protected:
  bool is_there() const override { return !has_ended_; }

 private:
  RdmaBulkChannel() = default;
  static StatusOr<std::unique_ptr<RdmaBulkChannel>> start(const Options& options, const BulkAddress* peer);
  Status prepare(const RdmaOptions& options);
  Status wait_until_ready();
  void run(const std::string& program, const std::vector<std::string>& arguments);

  int memory_fd_ = -1;
  bool is_sealed_ = false;
  std::atomic<int> pid_{0};  // 0: not yet; -1: it cannot be started
  std::atomic<bool> has_ended_{false};
  std::thread thread_;  // the parent, in the kernel's eyes: the process ends with it
};

}  // namespace scyper::replication
