#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "etcd_supervisor.h"

// What etcd is told and says.
namespace scyper::consensus {

namespace {

Failpoint before_campaign("election.before_campaign");
Failpoint before_term("election.before_term");
Failpoint after_term("election.after_term");
Failpoint before_keep_alive("election.before_keep_alive");
Failpoint after_keep_alive("election.after_keep_alive");
Failpoint before_give_up("election.before_give_up");
Failpoint after_give_up("election.after_give_up");
Failpoint before_floor("election.before_floor");
Failpoint before_hand_over("election.before_hand_over");
Failpoint after_hand_over("election.after_hand_over");

constexpr std::chrono::milliseconds kWatchPause{200};
constexpr uint64_t kDrainMsMax = 60'000;
constexpr int64_t kChangeDrainUs = 2'000'000;  // that a primary closes for when the voters have changed
constexpr int64_t kChangePauseUs = 5'000'000;  // between two tries; twice as much each time, up to
constexpr int64_t kChangePauseUsMax = 80'000'000;

}  // namespace

void EtcdSupervisor::read_view() {
  end_task("read");  // what changes from now on needs another one
  const int64_t asked_us = boot_time_us();
  auto view = keys_.read();
  if (absl::IsNotFound(view.status())) {
    static_cast<void>(keys_.found(options_.config));
    view = keys_.read();
  }
  std::string problem = view.ok() ? "" : std::string(view.status().message());
  bool is_news = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_news = problem.empty() != said_.empty();
    said_ = problem;
  }
  if (is_news) say(problem.empty() ? "election: etcd answers" : "election: " + problem);
  if (view.ok()) seen(*view, asked_us);
}

void EtcdSupervisor::seen(const ClusterKeys::Seen& seen, int64_t asked_us) {
  tell([&] {
    seen_ = seen;
    seen_.view.asked_us = asked_us;
    elector_.on_view(seen_.view, boot_time_us());
    tell_of_disks();
    if (seen_.config.version < elector_.promised().config && !std::exchange(has_said_old_, true)) {
      say(absl::StrCat("election: etcd has voters of version ", seen_.config.version, ", this node has promised under ",
                       elector_.promised().config, ": it takes part when `config` has been put right"));
    }
    begin_switchover();
    begin_change();
    const auto& leader = seen_.view.leader;
    if (leader.has_value() && !(last_leader_ == *leader)) {
      leader_changes_ += last_leader_.term == 0 ? 0 : 1;
      last_leader_ = *leader;
    }
    if (std::exchange(is_led_, leader.has_value()) && !leader.has_value()) say("election: nobody leads");
    if (role_.kind == Role::Kind::kLead || role_.kind == Role::Kind::kEnd) return;
    if (!leader.has_value()) role_.kind = Role::Kind::kWait;
    if (!leader.has_value() || leader->node == options_.elector.node) return;
    const auto member = seen_.members.find(leader->node);
    if (member == seen_.members.end()) return;
    role_ = {Role::Kind::kFollow, *leader, member->second.address, seen_.config, ""};
  });
}

// With the lock.
void EtcdSupervisor::tell_of_disks() {
  const std::string& me = options_.elector.node;
  if (elector_.has_known_disk()) {
    if (std::exchange(has_said_other_disk_, false)) say("election: etcd has registered this node's data directory");
    if (!std::exchange(is_disk_noted_, true)) disk_tasks_.add([this] { note_disk(); });
  } else if (seen_.view.term != 0 && !std::exchange(has_said_other_disk_, true)) {
    say(absl::StrCat("election: etcd has ", seen_.view.disks.contains(me) ? "another" : "no", " data directory of ", me,
                     " registered: the node counts in no election and no quorum before it has caught up with a "
                     "primary; if the old disk can be had, start the node with that"));
  }
  tell_of_incomplete();
}

// With the lock. That nobody can be elected, once it has been so for a lease: nodes that have just begun are not
// complete before they have heard from etcd.
void EtcdSupervisor::tell_of_incomplete() {
  std::vector<std::string> lacking;
  uint32_t complete = 0, there = 0;
  for (const std::string& voter : seen_.config.voters.names) {
    const auto member = seen_.members.find(voter);
    if (member == seen_.members.end()) continue;
    ++there;
    member->second.member.is_complete ? void(++complete) : lacking.push_back(voter);
  }
  const uint32_t needed = seen_.config.voters.fence_answers();
  const int64_t now_us = boot_time_us();
  // a candidate has the leader key, too, until its campaign fails
  const auto& leader = seen_.view.leader;
  const bool is_led = leader.has_value() && (leader->node != options_.elector.node || role_.kind == Role::Kind::kLead);
  if (is_led || seen_.view.term == 0 || there < needed || complete >= needed) {
    stuck_since_us_ = 0;
    said_incomplete_.clear();
    return;
  }
  if (stuck_since_us_ == 0) stuck_since_us_ = now_us;
  const std::string names = absl::StrJoin(lacking, ", ");
  if (now_us < stuck_since_us_ + options_.elector.lease_us || std::exchange(said_incomplete_, names) == names) return;
  say(absl::StrCat("election: NOBODY CAN BE ELECTED: ", complete, " of ", seen_.config.voters.names.size(),
                   " voters have for certain what they acknowledged, ", needed, " are needed; ", names,
                   " may lack it. Start the missing voters, or these with their old disks; what is left can be made "
                   "primary by hand, with loss: scyper failover"));
}

// If the file cannot be written, etcd knows the disk all the same.
void EtcdSupervisor::note_disk() {
  const Status noted = disk_file_.note_registered(options_.elector.disk);
  if (!noted.ok()) say(absl::StrCat("election: ", std::string(noted.message())));
}

// Before etcd has answered, nothing is known: the next view asks again.
void EtcdSupervisor::register_disk(const Action& action) {
  const auto done =
      keys_.register_disk(options_.elector.disk, action.disk_revision, action.promise, action.is_known_again);
  end_task("disk");
  if (!done.ok() || !*done) return;
  say("election: registers its data directory in etcd");
  tell([&] {
    elector_.on_registered();
    tell_of_disks();
  });
}

ClusterState EtcdSupervisor::cluster_state() const {
  std::lock_guard<std::mutex> lock(mutex_);
  ClusterState state;
  state.cluster = options_.cluster;
  state.etcd = absl::StrJoin(options_.etcd.endpoints, ",");
  state.paused = seen_.paused;
  state.etcd_answers = seen_.view.revision != 0 && said_.empty();
  if (seen_.view.leader.has_value()) state.leader = seen_.view.leader->node;
  state.term = seen_.view.term;
  state.changes = leader_changes_;
  state.lease_us = std::max<int64_t>(0, leads_until_us_ - boot_time_us());
  state.leads = state.lease_us > 0;
  for (const std::string& voter : seen_.config.voters.names) {
    const auto member = seen_.members.find(voter);
    const bool is_there = member != seen_.members.end();
    state.voters.push_back({voter, is_there, is_there && member->second.member.is_complete});
  }
  return state;
}

void EtcdSupervisor::publish() {
  end_task("publish");
  MemberEntry entry;
  entry.address = options_.address;
  entry.peers = peer_address_;
  int64_t lease;
  const Replica::LogState log = replica_->settled_log();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool is_complete = log.is_complete && elector_.has_known_disk();
    entry.member = {log.position, is_complete, options_.elector.has_row_layout};
    lease = member_lease_;
  }
  if (lease == 0) return;  // keep_member() publishes when there is one
  if (absl::IsNotFound(keys_.publish(entry, lease))) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (member_lease_ == lease) member_lease_ = 0;
  }
}

// This node's own lease: its entry goes when it is not heard of.
void EtcdSupervisor::keep_member() {
  end_task("member");
  int64_t lease;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    lease = member_lease_;
  }
  if (lease != 0 && !absl::IsNotFound(etcd_->keep_alive(lease).status())) return;
  auto granted = etcd_->grant((options_.elector.lease_us + kUsPerS - 1) / kUsPerS);
  if (!granted.ok()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  member_lease_ = granted->id;
  if (begin_task("publish")) key_tasks_.add([this] { publish(); });
}

void EtcdSupervisor::campaign(const Action& action) {
  const int64_t sent_us = boot_time_us();
  auto result = Elector::Campaign::kLost;
  before_campaign.fires();
  auto granted = etcd_->grant((options_.elector.lease_us + kUsPerS - 1) / kUsPerS);
  if (granted.ok()) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      leases_[action.term] = granted->id;
    }
    if (options_.on_lease) options_.on_lease(granted->id);
    before_term.fires();
    auto won = keys_.campaign(action.term, {action.term_revision, action.config_revision, action.paused_revision},
                              granted->id);
    if (won.ok() && *won) result = Elector::Campaign::kWon;
    if (absl::IsUnknown(won.status())) result = Elector::Campaign::kUnknown;
  }
  after_term.fires();
  if (result == Elector::Campaign::kLost) give_up(action.term);
  static constexpr const char* kOutcomes[] = {"won", "has not won", "may have won"};
  say(absl::StrCat("election: ", kOutcomes[static_cast<size_t>(result)], " term ", action.term));
  tell([&] { elector_.on_campaign(result, action.term, sent_us, boot_time_us()); });
}

void EtcdSupervisor::keep_alive(uint64_t term) {
  end_task("keep");
  int64_t lease = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (leases_.contains(term)) lease = leases_[term];
  }
  if (lease == 0) return;
  const int64_t sent_us = boot_time_us();
  before_keep_alive.fires();
  const auto left = etcd_->keep_alive(lease);
  after_keep_alive.fires();
  tell([&] {
    if (left.ok()) elector_.on_keep_alive(term, sent_us, boot_time_us());
    if (absl::IsNotFound(left.status())) elector_.on_lease_lost(term, boot_time_us());
  });
}

// Where etcd cannot be asked the lease ends by itself.
void EtcdSupervisor::give_up(uint64_t term) {
  int64_t lease = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = leases_.find(term);
    if (found == leases_.end()) return;
    lease = found->second;
    leases_.erase(found);
  }
  before_give_up.fires();
  static_cast<void>(etcd_->revoke(lease));
  after_give_up.fires();
  if (options_.on_lease) options_.on_lease(0);
}

void EtcdSupervisor::raise_floor(uint64_t term, uint64_t lsn) {
  before_floor.fires();
  static_cast<void>(keys_.raise_floor({term, lsn}, term));
  end_task("floor");
}

// --- switchover ---

// With the lock. A request that has not been looked at.
void EtcdSupervisor::begin_switchover() {
  const auto& request = seen_.switchover;
  if (!request.has_value() || !request->failure.empty() || !elector_.leads() || request->term != elector_.term())
    return;
  if (request->id == switchover_.id) return;
  const int64_t now_us = boot_time_us();
  if (is_switching_ || !elector_.is_open(now_us)) return;  // it is looked at again
  const std::string to = successor_of(seen_, options_.elector.node, request->to);
  switchover_ = *request;
  if (to.empty()) {
    return refuse_switchover(request->to.empty()
                                 ? "no other voter is there and complete"
                                 : absl::StrCat(request->to, " is no voter, or is not there, or not complete"));
  }
  begin_drain(to, static_cast<int64_t>(std::min(request->drain_ms, kDrainMsMax)) * 1000, now_us);
}

// With the lock; it is open.
void EtcdSupervisor::begin_drain(const std::string& to, int64_t drain_us, int64_t now_us) {
  switchover_.to = to;
  switchover_.drain_ms = static_cast<uint64_t>(drain_us / 1000);
  is_switching_ = true;
  ++drains_;
  CHECK(elector_.begin_drain(to, now_us + drain_us, now_us));
}

// With the lock. Other voters count from another term on, so this primary makes way for one of them. Where there is
// none, or it did not get everything in time, it goes on with its own voters and tries again.
void EtcdSupervisor::begin_change() {
  const int64_t now_us = boot_time_us();
  if (is_switching_ || !elector_.has_old_voters() || !elector_.is_open(now_us)) return;
  if (std::exchange(change_, seen_.config.version) != seen_.config.version) next_change_us_ = change_pause_us_ = 0;
  if (now_us < next_change_us_) return;
  const std::string to = successor_of(seen_, options_.elector.node, "");
  if (to.empty()) return;  // it is looked at again
  change_pause_us_ = std::clamp(2 * change_pause_us_, kChangePauseUs, kChangePauseUsMax);
  next_change_us_ = now_us + change_pause_us_;
  say(absl::StrCat("election: the voters have changed, version ", seen_.config.version, ": ",
                   absl::StrJoin(seen_.config.voters.names, ", ")));
  switchover_ = {};
  switchover_.term = elector_.term();
  begin_drain(to, kChangeDrainUs, now_us);
}

// Should it not have reached etcd, the next view asks for it again.
void EtcdSupervisor::note_opened(const Action& action) {
  static_cast<void>(keys_.note_opened(action.term, action.config));
  end_task("opened");
}

// With the lock.
void EtcdSupervisor::refuse_switchover(const std::string& why) {
  is_switching_ = false;
  say(absl::StrCat("election: no switchover: ", why));
  if (!seen_.switchover.has_value() || seen_.switchover->id != switchover_.id) return;
  key_tasks_.add(
      [this, request = *seen_.switchover, why] { static_cast<void>(keys_.answer_switchover(request, why)); });
}

void EtcdSupervisor::hand_over(const Action& action) {
  before_hand_over.fires();
  const auto done = keys_.hand_over(action.term, action.node);
  after_hand_over.fires();
  tell([&] {
    const int64_t now_us = boot_time_us();
    if (done.ok() && !*done) return elector_.on_lease_lost(action.term, now_us);
    auto result = Elector::HandOver::kUnknown;
    if (done.ok()) result = Elector::HandOver::kDone;
    if (absl::IsUnavailable(done.status())) result = Elector::HandOver::kNotDone;
    elector_.on_handed_over(result, action.term, now_us);
  });
}

void EtcdSupervisor::watch() {
  while (true) {
    const Status status = keys_.watch([this] {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!is_stopping_ && begin_task("read")) key_tasks_.add([this] { read_view(); });
    });
    std::unique_lock<std::mutex> lock(mutex_);
    if (absl::IsCancelled(status) || changed_.wait_for(lock, kWatchPause, [this] { return is_stopping_; })) return;
  }
}

}  // namespace scyper::consensus
