#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "consensus/disk_file.h"
#include "consensus/promise_file.h"
#include "consensus/supervisor.h"
#include "tasks.h"

namespace scyper::consensus {

constexpr int64_t kUsPerS = 1'000'000;
constexpr char kGrantFile[] = "/granted";

// See Supervisor. supervisor.cc: what is decided and done; supervisor_etcd.cc: what etcd is told and says.
class EtcdSupervisor final : public Supervisor {
 public:
  EtcdSupervisor(const SupervisorOptions& options, Replica* replica, std::unique_ptr<Etcd> etcd, const Promise& stored)
      : options_(options),
        replica_(replica),
        etcd_(std::move(etcd)),
        keys_(etcd_.get(), options.cluster, options.elector.node),
        promise_file_(options.disk, options.directory),
        disk_file_(options.disk, options.directory),
        peers_(PeerClient::make(options.peers, options.elector.node)),
        log_(replica->log()),
        is_disk_noted_(options.elector.was_registered),
        elector_(options.elector, stored, log_.position, log_.is_complete, boot_time_us(),
                 options.disk->exists(options.directory + kGrantFile)) {}
  ~EtcdSupervisor() override;
  Status begin();

  Role role() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return role_;
  }
  const std::atomic<int64_t>& open_until_us() const override { return open_until_us_; }
  const std::atomic<int64_t>& leads_until_us() const override { return leads_until_us_; }
  bool takes_redo(const Promise& primaryship) override;
  void refused(const Promise& promised) override;
  uint16_t peer_port() const override { return server_->port(); }
  Promise promised() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return elector_.promised();
  }
  ClusterState cluster_state() const override;
  bool has_known_disk() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return elector_.has_known_disk();
  }

 private:
  using Kind = Action::Kind;

  void say(const std::string& line) const {
    if (options_.on_progress) options_.on_progress(line);
  }
  void run();
  void look();
  void note_log(const Replica::LogState& log);
  void perform(std::vector<Action> actions);
  void perform(const Action& action);
  void perform_grant(const Action& action);
  void end(const std::string& why);
  void set_limits() {  // with the lock
    open_until_us_ = elector_.open_until_us();
    leads_until_us_ = elector_.leads_until_us();
    if (leads_until_us_ != 0 && options_.on_leads_until) options_.on_leads_until(leads_until_us_);
  }
  StatusOr<FenceAnswer> on_fence(const Promise& wanted);
  StatusOr<bool> on_grant_asked(const std::string& from, uint64_t term);
  bool is_member(const std::string& node) const;
  void note_refused(const std::string& why);
  std::string peer_address(const std::string& node) const;
  Tasks* tasks_of(const std::string& node);
  void ask_grant(const Action& action);
  void keep_grant();
  void drop_grant();
  void reclaim(uint64_t term);

  void read_view();
  void seen(const ClusterKeys::Seen& seen, int64_t asked_us);
  void publish();
  void keep_member();
  void campaign(const Action& action);
  void keep_alive(uint64_t term);
  void give_up(uint64_t term);
  void raise_floor(uint64_t term, uint64_t lsn);
  void note_opened(const Action& action);
  void register_disk(const Action& action);
  void note_disk();
  void tell_of_disks();
  void tell_of_incomplete();
  void begin_switchover();
  void begin_change();
  void begin_drain(const std::string& to, int64_t drain_us, int64_t now_us);
  void refuse_switchover(const std::string& why);
  void hand_over(const Action& action);
  void store_promise(const Promise& promise);
  void send_fence(const Action& action);
  void watch();
  // Tells the elector, and does what it wants then.
  template <typename Tell>
  void tell(const Tell& what);
  // With the lock: a task of that name that is not waiting already.
  bool begin_task(const std::string& name) { return waiting_.insert(name).second; }
  void end_task(const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.erase(name);
  }

  const SupervisorOptions options_;
  Replica* const replica_;
  const std::unique_ptr<Etcd> etcd_;
  ClusterKeys keys_;
  PromiseFile promise_file_;  // the disk thread's, as the next
  DiskFile disk_file_;
  const std::unique_ptr<PeerClient> peers_;
  Counter* refused_peers_ = nullptr;  // null: nobody counts
  std::unique_ptr<PeerServer> server_;
  std::string peer_address_;
  std::atomic<int64_t> open_until_us_{0};
  std::atomic<int64_t> leads_until_us_{0};

  mutable std::mutex mutex_;  // all that follows, to the threads
  std::condition_variable changed_;
  Replica::LogState log_;
  bool is_disk_noted_;  // as registered, on the disk
  bool has_said_other_disk_ = false;
  std::string said_incomplete_;  // the voters without whom nobody can be elected
  int64_t stuck_since_us_ = 0;   // nobody could be elected since; 0: somebody can be
  Elector elector_;
  Role role_;
  ClusterKeys::Seen seen_;
  ClusterConfig campaign_config_;
  SwitchoverRequest switchover_;  // the one begun last
  bool is_switching_ = false;     // it has not ended
  uint64_t change_ = 0;           // version of the voters that this primary has tried to make way for, and
  int64_t next_change_us_ = 0;    // when it does so again, for
  int64_t change_pause_us_ = 0;   // more than before
  uint64_t drains_ = 0;           // begun
  uint64_t starting_term_ = 0;
  std::map<uint64_t, int64_t> leases_;  // by term, that have not been given back
  int64_t member_lease_ = 0;
  int64_t next_member_us_ = 0;
  int64_t next_floor_us_ = 0;
  uint64_t floor_lsn_ = 0;
  std::set<std::string> waiting_;  // tasks by name
  std::map<std::pair<std::string, uint64_t>, FenceAnswer> answers_;
  std::map<std::pair<std::string, uint64_t>, bool> grants_;  // answers, until they are fetched
  bool is_failsafe_ = false;                                 // as has been said
  std::string said_;                                         // about etcd
  int64_t said_refused_us_ = 0;                              // when; 0: never
  bool has_said_old_ = false;                                // that its voters are older than what was promised under
  bool is_led_ = false;                                      // as etcd said last
  Promise last_leader_;                                      // likewise, whether it still leads or not
  uint64_t leader_changes_ = 0;
  bool is_stopping_ = false;

  Tasks lease_tasks_;
  Tasks key_tasks_;
  Tasks disk_tasks_;
  std::map<std::string, std::unique_ptr<Tasks>> peer_tasks_;  // the deciding thread's
  std::thread watcher_;
  std::thread decider_;
};

template <typename Tell>
void EtcdSupervisor::tell(const Tell& what) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_) return;
    what();
    set_limits();
  }
  changed_.notify_all();  // the deciding thread takes the actions
}

}  // namespace scyper::consensus
