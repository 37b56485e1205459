#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/disk.h"
#include "base/metrics.h"
#include "markers.h"
#include "primary/log_options.h"
#include "replay/recovery.h"
#include "replication/batch.h"
#include "replication/bulk_server.h"
#include "replication/digests.h"
#include "replication/members.h"
#include "replication/multicast.h"
#include "replication/outbox.h"
#include "replication/publisher.h"

namespace scyper::primary {

class GroupCommit;
struct ExecutorEnvironment;

// What a primary has for its secondaries: the outbox that the log writer fills, who follows and how far, the markers of
// global snapshots, and tickets: which snapshot a query gets and where (ScyPer, DanaC 2013, 2.2).
// Owner: Durability. Threads: any.
class Publication {
 public:
  struct Start {
    replication::ClusterId cluster;
    uint64_t term = 1;
    uint64_t lsn = 0;
    uint64_t commit_lsn = 0;  // what of it counts already
    Disk* disk = nullptr;
    std::string directory;
    uint32_t partitions = 0;
    std::optional<replication::DatagramKey> key;  // of the multicast
    bool is_elected = false;
    bool is_quorum = false;                     // commits wait for copies
    std::vector<replication::TermStart> terms;  // of the log up to `lsn`
  };
  // newest: the end of that log, as far as it is in memory.
  Publication(const ReplicationOptions& options, const Start& start, std::vector<replication::Parcel> newest,
              ExecutorEnvironment* environment);

  replication::Outbox& outbox() { return outbox_; }
  replication::Members& members() { return members_; }
  Markers& markers() { return markers_; }
  replication::DigestBook& digests() { return digests_; }
  uint64_t term() const { return start_.term; }
  const replication::PublisherOptions& publisher() const { return publisher_; }
  // Whom news are for; null: nobody.
  void set_log(GroupCommit* log) { log_.store(log); }
  // There is a marker to send.
  void wake_log();

  // For a query that arrives now: a global snapshot with everything committed before, and the node that has least to
  // do. node: who asks, and takes it itself when it can; empty = the primary.
  StatusOr<replication::Ticket> ticket(const std::string& node, const PartitionSet& reads);

 private:
  void start_multicast();
  std::string start_rdma();
  void start_bulk();
  StatusOr<std::unique_ptr<replication::BulkChannel>> offer_bulk(replication::BulkAddress* address) const;
  std::string start_pgm();
  std::string start_multicast(const replication::MulticastOptions& options, const std::string& kind);
  bool has_batch(uint64_t lsn, uint64_t term) const;
  std::vector<replication::TermStart> terms() const;
  StatusOr<std::string> newest_archive() const;
  Status read_log(uint64_t after_lsn, const std::function<bool(replication::Parcel)>& each) const;

  const ReplicationOptions options_;
  const Start start_;
  std::atomic<GroupCommit*> log_{nullptr};
  replication::Outbox outbox_;
  replication::Members members_;
  MetricsRegistry own_metrics_;  // when the owner has none
  Markers markers_;
  replication::DigestBook digests_;
  replication::PublisherOptions publisher_;
  replication::TransportInfo transport_;                      // constant after construction, as is the next
  std::shared_ptr<replication::MulticastProcess> multicast_;  // null: unicast
  std::unique_ptr<replication::BulkServer> bulk_;             // null: no RDMA for archives and the log
};

}  // namespace scyper::primary
