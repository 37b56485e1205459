#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "replication/rdma_options.h"

namespace scyper {
class Disk;
class MetricsRegistry;
}  // namespace scyper

namespace scyper::primary {

// What has to happen before a commit is acknowledged (design section 5, rule 3). The quorum modes wait for this node's
// disk, too: until there are elections, a primary that restarts knows no more than that.
enum class CommitMode : uint8_t {
  kAsync,          // nothing: a crash loses the commits of the last async_delay_us
  kLocal,          // it is on this node's disk
  kQuorum,         // and in the memory of enough voters
  kQuorumDurable,  // and on the disks of enough voters
};

// How the log is sent. What does not work where the node starts is left out.
enum class TransportChoice : uint8_t {
  kAuto,     // multicast by PGM, else unicast
  kRdma,     // multicast by RDMA verbs, else as kAuto
  kUnicast,  // no multicast
};

// A primary with secondaries (docs/replication.md). Needs a data directory.
struct ReplicationOptions {
  bool is_on = false;
  bool takes_partial = false;                // secondaries that subscribe to some partitions
  uint32_t voters = 3;                       // that the quorum modes count, this node included
  size_t retained_bytes = size_t{64} << 20;  // of the log in memory, for repairs
  int64_t marker_distance_us = 5'000;        // between two global snapshots, at least
  TransportChoice transport = TransportChoice::kAuto;
  std::string multicast_interface;  // its IPv4 address
  std::string multicast_group = "239.192.7.1";
  uint16_t multicast_port = 7402;
  uint32_t multicast_channels = 1;       // groups from multicast_group on that streams are spread over
  uint32_t multicast_rate = 60'000'000;  // bytes per second, repairs included
  uint32_t multicast_mtu = 1500;
  bool multicast_is_raw = false;  // by IP's protocol 113, not UDP
  replication::RdmaOptions rdma;
  int64_t digest_period_us = 600'000'000;  // between two digests of all nodes' states; 0 = none
  MetricsRegistry* metrics = nullptr;      // for the times of its stages; may be null
  std::string multicast_key_file;          // datagrams are sealed with its key; empty: they travel in the clear
  // Where there are elections (docs/failover.md): the term that was won, whose first batch `voters` / 2 of the others
  // must have before anything is confirmed; 0: none, the node raises its term itself.
  uint64_t term = 0;
  std::string node;                      // this node's name
  std::vector<std::string> voter_names;  // who else counts
  // Whether transactions, loads and fresh queries may be taken and answered now; else why not. Quick, any thread.
  std::function<Status()> admits;
  // Whether this node is primary still: asked before every answer that no other node's copy vouches for, for the
  // process may have stood still since the transaction was admitted. Empty: it always is. Quick, any thread.
  std::function<bool()> leads;
};

#ifdef NDEBUG
inline constexpr bool kShadowsRedo = false;
#else
inline constexpr bool kShadowsRedo = true;
#endif

struct LogOptions {
  std::string directory;  // empty: no log, no archives: the database ends with the process
  CommitMode mode = CommitMode::kLocal;
  uint64_t segment_bytes = uint64_t{64} << 20;
  uint32_t batch_bytes = 256 << 10;  // a batch is closed when it has so many bytes of records,
  uint32_t commit_delay_us = 0;      // local: or so long after its first one, once the flush before has ended
  uint32_t async_delay_us = 5'000;   // async: likewise; what a crash may lose, at most
  uint64_t retention_bytes = 0;      // log kept beyond what the newest archive needs, for point-in-time restores
  uint64_t archive_log_bytes = uint64_t{1} << 30;  // an archive is written after so much log; 0 = only when asked for
  uint64_t archive_rate =
      uint64_t{50} << 20;               // raw bytes per second of an archive being written, at most; 0 = no bound
  uint32_t archives_kept = 2;           // the log is kept from the oldest of them on
  uint32_t request_window = 1'000'000;  // committed request ids that are remembered
  int64_t client_id_ahead_us_max = 600'000'000;  // of the node's clock: the clocks of clients differ
  uint32_t recovery_threads = 0;                 // 0 = as many as workers
  bool compresses = true;
  bool shadows_redo = kShadowsRedo;    // replays each group in a second database before it is acknowledged
  MetricsRegistry* metrics = nullptr;  // for the time of its writes; may be null
  Disk* disk = nullptr;                // null: the machine's
  // A write or sync of the log has failed: nothing is acknowledged from now on. Empty: the process ends.
  std::function<void(const Status&)> on_failure;
  // Lines for people about recovery. May be empty.
  std::function<void(const std::string&)> on_progress;
};

}  // namespace scyper::primary
