#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/disk.h"
#include "base/metrics.h"
#include "consensus/lease_guard.h"
#include "consensus/supervisor.h"
#include "node_watchdog.h"
#include "primary/engine.h"
#include "replay/data_lock.h"
#include "replay/warm_state.h"
#include "secondary_engine.h"
#include "server/config.h"
#include "server/server.h"

namespace scyper::server {

// A node of a cluster with elections (docs/failover.md): its supervisor, and the role that it tells, one after the
// other in this process:
//   at rest -> following -> leading, or at rest -> leading
// What leads and has to stop, or follows and has diverged, begins anew as another process (execv): nothing of the wrong
// state can be left behind. A follower that is elected hands its tables over, with all that its log has applied to
// them; where that cannot be, the log is recovered.
// Threads: the owner's runs run(); the supervisor's ask.
class FailoverNode final : public consensus::Replica {
 public:
  // warm: for a primary, what a secondary had; null: it recovers.
  using MakeEngine = std::function<StatusOr<std::unique_ptr<primary::Engine>>(const NodeConfig&, MetricsRegistry*,
                                                                              std::shared_ptr<replay::WarmState> warm)>;
  FailoverNode(const NodeConfig& config, MetricsRegistry* metrics, MakeEngine make_engine,
               std::function<void(const std::string&)> say, NodeWatchdog* watchdog);
  ~FailoverNode() override;

  // Before this process has any threads.
  Status start();
  struct End {
    int signal_number = 0;         // one of `signals` has come; 0: begin anew,
    bool was_handed_over = false;  // begin anew after stop_serving()
    bool removes_log = false;      // after the log and the archives were removed: see remove_log()
  };
  // Takes roles until the process has to end. Error: it cannot go on.
  StatusOr<End> run(const sigset_t& signals);
  // Ends accepted work and the role.
  void stop();
  // Answers what was accepted, and no more.
  void stop_serving();
  // What it has acknowledged is elsewhere only from then on: it counts in no election before it has caught up.
  Status remove_log();

  // --- consensus::Replica ---
  LogState log() override;
  LogState settled_log() override;
  Status bar(const consensus::Promise& promise) override;
  bool has_start(uint64_t term) override;
  int64_t unconfirmed_since_us() override;
  uint64_t copied_lsn() override;
  bool is_drained(const std::string& to, uint64_t drain) override;

 private:
  // kSeeding: about to follow; the tables are made from this node's log, or from the leader's archive, and nothing is
  // appended or acknowledged yet.
  enum class Place : uint8_t { kAtRest, kChanging, kSeeding, kFollowing, kLeading };

  Status read_log_end();
  Status start_guard();
  consensus::EtcdOptions etcd_options() const;
  StatusOr<consensus::SupervisorOptions> supervisor_options();
  Status take_role(const consensus::Role& role);
  Status follow(const consensus::Role& role);
  Status not_followed(const Status& why);
  // SIGHUP; does what it asks for.
  bool is_for_certificates(int signal_number) const;
  void watch_signals(const std::atomic<bool>* is_over);
  Status lead(const consensus::Role& role);
  Status serve(const NodeConfig& config);
  // The state of a follower, when it can be had; else its log has it.
  std::shared_ptr<replay::WarmState> leave_role(bool is_promoted);
  void note_complete();
  uint64_t copied() const;
  void set_place(Place place) {
    std::lock_guard<std::mutex> lock(mutex_);
    place_ = place;
  }

  const NodeConfig config_;
  MetricsRegistry* const metrics_;
  const MakeEngine make_engine_;
  const std::function<void(const std::string&)> say_;
  NodeWatchdog* const watchdog_;  // outlives this
  const std::unique_ptr<Disk> disk_;
  const std::string election_directory_;  // promise, lock, what follows
  const std::string incomplete_path_;     // there while the log may lack what was acknowledged, should the process end
  replay::DataLock lock_;
  std::unique_ptr<consensus::LeaseGuard> guard_;
  std::unique_ptr<consensus::Supervisor> supervisor_;
  std::unique_ptr<primary::Engine> engine_;
  std::unique_ptr<Server> server_;
  consensus::Role role_;  // taken
  bool must_remove_log_ = false;
  const sigset_t* signals_ = nullptr;
  std::atomic<int> signal_number_{0};  // that has come while it began to follow

  std::mutex mutex_;  // all that follows; held while parts of a role are used
  Place place_ = Place::kAtRest;
  LogState rest_;  // the log when nothing appends
  bool is_complete_ = true;
  bool is_marked_ = false;           // incomplete_path_ is there
  secondary::Node* node_ = nullptr;  // following
  uint64_t term_ = 0;                // leading, from here on
  uint64_t started_term_ = 0;        // enough voters have had its start
  bool is_durable_ = false;
  bool is_quorum_ = false;
  uint32_t copies_ = 0;
  uint64_t confirmed_seen_ = 0;
  int64_t unconfirmed_us_ = -1;
  uint64_t drain_ = 0;
  std::shared_ptr<std::atomic<bool>> is_quiet_;  // of that drain; the engine's workers set it
};

}  // namespace scyper::server
