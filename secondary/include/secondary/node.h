#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/disk.h"
#include "base/status.h"
#include "query/database.h"
#include "query/queries.h"
#include "replay/archive.h"
#include "replay/compaction.h"
#include "replication/link.h"
#include "replication/peer_publisher.h"
#include "replication/rdma_options.h"

namespace scyper {
class MetricsRegistry;
}

namespace scyper::secondary {

class Node;
struct NodeOptions {
  replication::LinkOptions link;  // its partitions: those that the node holds; see docs/replication.md, Subscriptions
  // Log and archives of this node; empty: it keeps none, and starts from the primary's archive each time.
  std::string data_directory;
  // Shared storage: archives are looked for there before the primary is asked for one, and written there. May be empty.
  std::string archive_directory;
  query::DatabaseOptions database;  // partitions: the primary's
  query::QueriesOptions queries;
  std::string local_indexes;             // of this node's own, for its queries (query/local_indexes.h)
  replay::CompactionOptions compaction;  // database.frozen_bytes: its frozen_bytes()
  uint32_t replay_threads = 2;
  uint64_t segment_bytes = uint64_t{64} << 20;
  // An archive after so much log, to the data directory and archive_directory; the log before those kept is dropped,
  // but for log_retention_bytes. 0: none.
  uint64_t archive_log_bytes = uint64_t{1} << 30;
  uint64_t archive_rate = uint64_t{50} << 20;  // raw bytes per second; 0 = no bound
  uint32_t archives_kept = 2;
  uint64_t log_retention_bytes = 0;
  size_t inbox_bytes = size_t{256} << 20;  // of log received and not yet applied or logged
  uint64_t lag_us_max = 5'000'000;         // behind the primary by more it takes no queries
  uint32_t request_window = 1'000'000;
  uint64_t join_us_max = 60'000'000;                    // for a primary to be there
  std::string interface;                                // its IPv4 address, for multicast
  replication::RdmaOptions rdma;                        // without interface and device: unicast only
  std::string multicast_key_file;                       // as the primary's; empty: multicast in the clear
  MetricsRegistry* metrics = nullptr;                   // for the times of its stages; may be null
  Disk* disk = nullptr;                                 // null: the machine's
  std::function<void(const std::string&)> on_progress;  // lines for people; may be empty
  // A way to another secondary, for the history of that term's primary. Empty: only the primary is asked.
  std::function<std::unique_ptr<replication::Link>(const replication::Peer&, uint64_t term, int64_t call_us)>
      connect_peer;
  // Where there are elections: what the log here has and the primary's has not is cut before the tables are made.
  struct Cutting {
    uint64_t primary_term = 0;                        // who leads, as this node knows: at nobody else's word
    replication::LogEnd end;                          // of the log here
    bool keeps_aside = false;                         // what is cut, in `cut` of the data directory
    std::function<void(replication::LogEnd)> on_cut;  // before it is
  };
  std::optional<Cutting> cutting;
  // Called when the tables are made, before anything is received. May be empty, as the next.
  std::function<void()> on_seeded;
  // Where there are elections: called when all of the node's threads run, once. What it has received by then was let in
  // by LinkOptions::admits: its promise is there.
  std::function<void(Node*)> on_begun;
};

struct NodeInfo {
  uint64_t term = 0;
  uint64_t known_lsn = 0;  // of the primary, as far as it is known here
  uint64_t commit_lsn = 0;
  uint64_t received_lsn = 0;
  uint64_t durable_lsn = 0;
  uint64_t applied_lsn = 0;
  uint64_t inbox_bytes = 0;
  int64_t lag_us = 0;  // since this node was up to date
  uint64_t transactions = 0;
  uint64_t logged_term = 0;    // of the last batch in its own log, which ends at durable_lsn
  uint64_t join_lsn = 0;       // how far the primary was when this node joined,
  bool has_caught_up = false;  // and whether its own log reaches that
  uint32_t snapshot = 0;       // newest global one
  uint64_t snapshots = 0;
  uint64_t repairs = 0;  // calls that fetched what was missing
  uint64_t repaired_groups = 0;
  std::string subscribed;      // partitions, as 0-3,7; empty = all
  std::string seeded_from;     // "own data", "shared archive", "primary", "log of the primary", or a secondary's name
  uint64_t peer_groups = 0;    // that another secondary gave
  uint64_t peer_failures = 0;  // of asking one: the primary was asked then
  std::string peer;            // that gave some last
  uint64_t damaged = 0;
  uint64_t malformed_datagrams = 0;
  uint64_t forged_datagrams = 0;
  uint64_t replayed_datagrams = 0;
  bool is_encrypted = false;  // multicast is
  uint64_t digests = 0;       // of its state, told to the primary
  uint64_t digest_lsn = 0;    // of the newest
  uint64_t resets = 0;
  uint64_t damaged_archives = 0;  // of its own
  std::string transport;
  uint32_t channels = 0;          // of multicast that are joined; 0 = by unicast
  std::string transport_note;     // why not multicast
  uint64_t registered_bytes = 0;  // with an RDMA device
  uint64_t bulk_bytes = 0;        // of archives and the log, by RDMA
  bool is_connected = false;
  bool serves = false;
};

// A secondary: follows a primary, replays its log up to the commit point, forks at the markers of global snapshots,
// answers queries on them (ScyPer, DanaC 2013, 2 and 2.2).
//   receive -> inbox (order, gaps: replication/inbox.h) -> log (with a data directory) and replay -> fork
// Invariants: (1) nothing is applied beyond the commit point; (2) a global snapshot has exactly the transactions up to
//   its marker; (3) an error of replay, or a history that differs from the primary's, ends the node's service for good:
//   failure() says why, and the owner starts anew.
// Threads: own: one that receives, one that repairs, one that replays and forks, one that reports, one that logs.
class Node {
 public:
  // Joins: waits for the primary, loads the newest archive. From then on it catches up by itself. OutOfRange: what is
  // here parts from the primary's history where it cannot be cut (NodeOptions::cutting); it is to be removed. Aborted:
  // another one leads, or its archive has gone meanwhile.
  static StatusOr<std::unique_ptr<Node>> start(const NodeOptions& options);
  virtual ~Node() = default;

  virtual query::Database* database() = 0;
  // Refuses with 57P03 (see readiness()) where the node is behind.
  virtual query::Queries* queries() = 0;
  virtual replication::Link* link() = 0;
  virtual const replay::Compaction* compaction() const = 0;  // null: there is none
  // Another node leads from now on, at that address: it is asked at once, and often until it answers.
  virtual void redirect(const std::string& target) = 0;
  virtual NodeInfo info() const = 0;
  // Why queries are refused now: lag, failure. OK: they are not.
  virtual Status readiness() const = 0;
  // Why a query is refused that may be so much older than what the primary has; of none (a session's snapshot is as old
  // as it is): INT64_MAX.
  virtual Status readiness_for(int64_t staleness_us) const = 0;
  // Since the primary was heard, where that is so long ago that nothing is known of what it has; else 0.
  virtual int64_t silence_us() const = 0;
  // OK while it works. Otherwise the process has to start anew; restarts_empty: after removing its log and archives.
  virtual Status failure(bool* restarts_empty) const = 0;
  virtual uint32_t partitions() const = 0;
  // Whether the primary that was joined lets secondaries subscribe to some of them.
  virtual bool takes_partial() const = 0;
  // Runs a function at the border of a group, while nothing is applied. 57P03 when the node stops.
  virtual Status run_at_border(std::function<void()> work) = 0;
  // A child with a copy of all tables at the border of a group.
  virtual StatusOr<query::Forked> fork(query::ForkRequest request) = 0;
  // Takes nothing of terms below `term` any more. What was received before is in the log when it returns; Unavailable:
  // not within the time, or the node has failed.
  virtual Status bar(uint64_t term, int64_t timeout_us) = 0;
  // An archive of the state at the next border, and its path. archives: where to; empty = the node's own place.
  virtual StatusOr<std::pair<replay::ArchiveResult, std::string>> write_archive(const std::string& archives) = 0;
  // What it offers to others of its primary. Valid as long as the node.
  virtual const replication::PeerPublisherOptions& peer_publisher() const = 0;
  // The node stops: no archive is written any more, who waits for one gets 57P03.
  virtual void stop_archives() = 0;
};

// Removes the log and the archives of a data directory whose history is not the primary's.
Status remove_history(Disk* disk, const std::string& data_directory);

}  // namespace scyper::secondary
