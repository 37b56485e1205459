#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "archivist.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "currency.h"
#include "log_keeper.h"
#include "query/fork.h"
#include "query/local_indexes.h"
#include "replay/replayer.h"
#include "replication/datagram.h"
#include "replication/digests.h"
#include "replication/inbox.h"
#include "replication/multicast.h"
#include "secondary/hand_over.h"
#include "secondary/node.h"
#include "seed.h"

namespace scyper::secondary {

// The node's parts and threads: see Node. Locks: mutex_ for the inbox and all that is said about progress; no call
// waits while it holds it.
class Follower final : public Node {
 public:
  Follower(const NodeOptions& options, std::unique_ptr<Disk> own_disk, Disk* disk,
           std::unique_ptr<replication::Link> link, Seed seed);
  ~Follower() override;
  static StatusOr<std::unique_ptr<Node>> start(const NodeOptions& options, std::unique_ptr<Disk> own_disk, Disk* disk,
                                               std::unique_ptr<replication::Link> link);
  Status begin();

  query::Database* database() override { return database_.get(); }
  query::Queries* queries() override { return queries_.get(); }
  replication::Link* link() override { return link_.get(); }
  const replay::Compaction* compaction() const override { return compaction_.get(); }
  const replication::PeerPublisherOptions& peer_publisher() const override { return peer_publisher_; }
  void redirect(const std::string& target) override;
  NodeInfo info() const override;
  Status readiness() const override;
  Status readiness_for(int64_t staleness_us) const override;
  int64_t silence_us() const override;
  Status failure(bool* restarts_empty) const override;
  uint32_t partitions() const override { return identity_.partitions; }
  bool takes_partial() const override { return primary_.takes_partial; }
  Status run_at_border(std::function<void()> work) override;
  StatusOr<std::pair<replay::ArchiveResult, std::string>> write_archive(const std::string& archives) override;
  void stop_archives() override { archivist_->stop(); }
  StatusOr<query::Forked> fork(query::ForkRequest request) override;
  Status bar(uint64_t term, int64_t timeout_us) override;
  // hand_over.h
  StatusOr<std::shared_ptr<replay::WarmState>> hand_over();
  // A datagram that no key sealed. False: the node takes nothing any more.
  bool hear_unproven(replication::DatagramReader::Received received);

 private:
  struct BorderWork {
    std::function<void()> work;
    Status status;
    bool is_done = false;
  };

  // follower.cc
  void start_queries();
  void end_threads();
  void fail(const Status& status, bool restarts_empty);
  bool is_behind(int64_t staleness_us, std::string* why) const;
  replication::Position position() const;
  // With the lock. 0: the end of what is here has not been compared with that term's log.
  uint64_t matched_term() const { return inbox_.is_matched() ? inbox_.term() : 0; }
  // The term of whose log this node has a copy that counts; 0: of none.
  uint64_t copied_term() const {
    const auto& admits = options_.link.admits;
    return admits && !admits(0, "") ? 0 : matched_term();
  }
  void say(const std::string& line) const {
    if (options_.on_progress) options_.on_progress(line);
  }

  // follower_receive.cc: what comes in
  Status start_multicast();
  void listen();
  void confirm();
  void receive();
  void follow_primary();
  void repair_until_silent();
  bool repair(const replication::Inbox::Range& missing);
  bool hears_multicast() const;
  void report();
  bool is_waited_for() const;
  void pause_reports(bool had_room) const;
  enum class Taken : uint8_t { kAll, kFull, kStop };
  Taken take(std::vector<replication::Parcel> parcels, const replication::Watermark& watermark, bool is_repair);
  Taken give_up(uint64_t lost_lsn, const replication::Watermark& watermark);
  void fail_behind_divergence(const std::string& what);
  void fail_behind_loss(uint64_t lost_lsn, const replication::Watermark& watermark);
  void note_gap();
  void note_known();
  void drop_applied();
  int64_t silence_ns() const;
  int64_t lag_ns() const;

  // follower_currency.cc: how old the state is
  int64_t state_ns() const;
  Status wait_current(int64_t not_before_ns, int64_t deadline_ns);
  Status ask_current();
  void keep_current();

  uint64_t redirections() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return redirections_;
  }
  void wait_to_retry(uint64_t redirections);

  // follower_peers.cc: from and for other secondaries
  void start_offering();
  void catch_up_from_peers();
  bool fetch_from_peers(const replication::Inbox::Range& range);
  bool fetch_from_peer(const replication::Peer& peer, const replication::Inbox::Range& range, uint64_t term);
  Taken take_of_peer(std::vector<replication::Parcel> parcels, uint64_t term, bool* is_refused);
  void refresh_peers();
  bool shares(uint64_t term) const;
  StatusOr<std::string> shared_archive(uint64_t term) const;
  Status share_log(uint64_t term, uint64_t after_lsn, uint64_t upto_lsn,
                   const std::function<bool(replication::Parcel)>& each) const;

  // follower_replay.cc: what becomes of it
  void replay();
  void log();
  Status append(const std::vector<replication::Inbox::Group>& groups);
  void fail_to_log(const Status& status);
  Status apply(const std::vector<replication::Inbox::Group>& groups);
  Status wait_logged(uint64_t lsn, const replay::ArchiveChild::Interruption& interruption);
  Status take_snapshot(uint64_t term, uint32_t snapshot, uint64_t lsn);
  Status take_digest(uint64_t term, uint32_t snapshot, uint64_t lsn);
  void digest();
  void archive();
  StatusOr<query::Forked> fork_here(query::ForkRequest request, uint64_t term, uint32_t snapshot);
  void run_border_work();
  bool take_compaction_steps();
  void make_local_indexes();

  const NodeOptions options_;
  const std::unique_ptr<Disk> own_disk_;
  Disk* const disk_;
  const std::unique_ptr<replication::Link> link_;
  const replication::JoinInfo primary_;
  const replay::NodeIdentity identity_;
  const replay::Recovered recovered_;
  replay::DataLock lock_;
  const std::string seeded_from_;  // NodeInfo's
  const RealClock clock_;
  std::shared_ptr<query::Database> database_;
  query::LocalIndexes local_indexes_;               // replay's
  std::unique_ptr<replay::Compaction> compaction_;  // null: there is none
  replay::Compaction::Share share_;                 // all of it, the replaying thread's
  std::unique_ptr<replay::RequestWindow> requests_;
  std::unique_ptr<replay::Replayer> replayer_;  // the replaying thread's
  std::unique_ptr<LogKeeper> keeper_;           // the logging thread's; null: no log
  std::unique_ptr<Archivist> archivist_;
  std::atomic<uint64_t> droppable_lsn_{0};     // of the log: the logging thread does it
  std::atomic<uint64_t> damaged_archives_{0};  // found while it runs
  uint64_t forks_ = 0;                         // the replaying thread's
  std::unique_ptr<query::Queries> queries_;
  std::unique_ptr<replication::MulticastProcess> multicast_;  // null: unicast only
  std::string transport_note_;                                // why; constant after begin(), as is the next
  std::optional<replication::DatagramKey> key_;

  MetricsRegistry own_metrics_;  // when the owner has none
  Timer& send_time_;             // stages: replication/stages.h
  Timer& repair_time_;
  Timer& replay_time_;
  Timer& fork_time_;

  replication::PeerPublisherOptions peer_publisher_;  // constant after begin()
  struct PeerLink {
    std::shared_ptr<replication::Link> link;
    uint64_t term = 0;
    int64_t shunned_ns = 0;  // until then it is not asked
  };
  std::map<std::string, PeerLink> peer_links_;  // by address; the receiving thread's, as the next three
  std::vector<replication::Peer> peers_;
  int64_t peers_ns_ = 0;  // when they were asked for
  size_t peer_turn_ = 0;

  std::atomic<bool> is_stopping_{false};
  mutable std::mutex mutex_;  // all that follows
  std::condition_variable changed_;
  replication::Inbox inbox_;
  std::vector<replication::TermStart> terms_;  // of the log
  uint64_t barred_term_ = 0;                   // nothing of a lower one is taken
  std::deque<BorderWork*> border_work_;
  Status failure_;
  bool restarts_empty_ = false;
  bool is_connected_ = false;
  uint64_t redirections_ = 0;  // to other primaries, and
  int64_t redirected_ns_ = 0;  // when
  struct Known {
    uint64_t lsn;
    int64_t ns;  // since when it is known that the log goes up to there, at most a little longer
  };
  std::deque<Known> knowns_;  // that have not been applied; rising
  Currency currency_;
  bool lacks_currency_ = false;  // the primary does not say what its newest LSN is
  bool has_caught_up_ = false;   // with what there was when it joined
  // What it restarted with: its own log has groups that were not confirmed when they came, and may never be.
  bool is_own_confirmed_ = false;
  int64_t heard_ns_ = 0;          // when the primary was heard of, last
  int64_t multicast_ns_ = 0;      // by multicast
  bool lacks_watermark_ = false;  // the primary does not say how far it is when it is asked
  replication::DatagramReader::Counters datagrams_;
  bool is_snapshotting_ = false;  // replay uses queries_
  bool is_step_due_ = false;      // of compaction
  bool has_room_ = true;          // for global snapshots: the last one was taken
  uint32_t snapshot_ = 0;
  uint64_t snapshot_term_ = 0;
  uint64_t snapshots_ = 0;
  uint64_t repairs_ = 0;
  uint64_t repaired_groups_ = 0;
  std::shared_ptr<replication::Link> asked_;  // the peer, while it is asked
  std::string peer_;                          // that gave groups last
  uint64_t peer_groups_ = 0;
  uint64_t peer_failures_ = 0;
  uint64_t archive_lsn_ = 0;  // of the newest in the data directory
  uint64_t transactions_ = 0;
  uint64_t applied_bytes_ = 0;   // of log, since the archive that was recovered
  uint64_t archived_bytes_ = 0;  // of them, what the newest archive has
  struct Arrival {
    uint64_t lsn;
    int64_t received_ns;
  };
  std::deque<Arrival> arrivals_;              // of what has not been applied yet
  int64_t gap_ns_ = 0;                        // since something is missing; 0 = nothing is
  std::unique_ptr<query::Forked> digesting_;  // whose child computes
  std::shared_ptr<const replication::StateDigest> digest_;
  uint64_t digests_ = 0;

  std::vector<std::thread> threads_;
  std::thread replay_thread_;
};

}  // namespace scyper::secondary
