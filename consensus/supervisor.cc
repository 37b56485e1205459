#include "consensus/supervisor.h"

#include <time.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "etcd_measured.h"
#include "etcd_supervisor.h"

// What is decided and done.
namespace scyper::consensus {

namespace {

Failpoint before_fenced("election.before_fenced");
Failpoint before_fence_answer("election.before_fence_answer");
Failpoint before_fence("election.before_fence");
Failpoint after_fence("election.after_fence");
Failpoint before_grant("election.before_grant");
Failpoint after_grant("election.after_grant");
Failpoint before_reclaim("election.before_reclaim");
Failpoint after_reclaim("election.after_reclaim");
Failpoint before_bar("election.before_bar");
Failpoint before_promise("election.before_promise");
Failpoint after_promise("election.after_promise");
Failpoint before_start("election.before_start");
Failpoint before_open("election.before_open");
Failpoint before_end("election.before_end");

constexpr std::chrono::milliseconds kLook{10};
constexpr std::chrono::milliseconds kSoon{1};  // while nothing is answered until the node has said something
constexpr std::chrono::milliseconds kBarPause{10};
constexpr int64_t kFenceAnswerUs = 2'000'000;  // for the disk; the candidate asks again
constexpr int64_t kGrantAnswerUs = 500'000;    // likewise
constexpr int64_t kRefusedSayUs = 1'000'000;   // between two lines on who was refused
constexpr int64_t kFloorPeriodUs = 1'000'000;
constexpr size_t kAnswersMax = 100;

}  // namespace

EtcdSupervisor::~EtcdSupervisor() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  open_until_us_ = 0;
  leads_until_us_ = 0;
  if (decider_.joinable()) decider_.join();
  peers_->cancel();
  server_.reset();
  for (auto& [node, tasks] : peer_tasks_) tasks->stop();
  key_tasks_.stop();
  lease_tasks_.stop();
  disk_tasks_.stop();
  for (const auto& [term, lease] : leases_) static_cast<void>(etcd_->revoke(lease));
  if (member_lease_ != 0) static_cast<void>(etcd_->revoke(member_lease_));
  etcd_->cancel();
  if (watcher_.joinable()) watcher_.join();
}

Status EtcdSupervisor::begin() {
  if (options_.metrics != nullptr) {
    refused_peers_ = &options_.metrics->counter("scyper_election_refused_total",
                                                "Calls on peer_listen that a certificate's name was not allowed.");
  }
  PeerOptions peers = options_.peers;
  peers.is_member = [this](const std::string& node) { return is_member(node); };
  peers.on_refused = [this](const std::string& why) { note_refused(why); };
  SCYPER_ASSIGN_OR_RETURN(server_,
                          PeerServer::start(
                              peers, [this](const Promise& wanted) { return on_fence(wanted); },
                              [this](const std::string& from, uint64_t term) { return on_grant_asked(from, term); }));
  peer_address_ = options_.advertise_peers;
  if (peer_address_.empty()) {
    const std::string& listen = options_.peers.listen;
    peer_address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", server_->port());
  }
  watcher_ = std::thread([this] { watch(); });
  decider_ = std::thread([this] { run(); });
  return Status();
}

bool EtcdSupervisor::takes_redo(const Promise& primaryship) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_stopping_) return false;
  const bool takes = elector_.takes_redo(primaryship, boot_time_us());
  if (!takes) changed_.notify_all();
  return takes;
}

void EtcdSupervisor::refused(const Promise& promised) {
  tell([&] { elector_.on_refused(promised, boot_time_us()); });
}

// --- deciding ---

void EtcdSupervisor::run() {
  while (true) {
    look();
    std::unique_lock<std::mutex> lock(mutex_);
    if (is_stopping_) return;
    std::vector<Action> actions = elector_.take_actions();
    if (actions.empty()) {
      changed_.wait_for(lock, elector_.leads() && !elector_.is_open(boot_time_us()) ? kSoon : kLook);
      actions = elector_.take_actions();
    }
    set_limits();
    if (is_stopping_) return;
    lock.unlock();
    perform(std::move(actions));
  }
}

// With the lock. What was asked before a cut may come behind it.
void EtcdSupervisor::note_log(const Replica::LogState& log) {
  if (log.cuts < log_.cuts) return;
  if (log.cuts > log_.cuts) {
    elector_.on_cut(log.position, log.is_complete);
  } else {
    elector_.on_log(log.position, log.is_complete);
  }
  elector_.on_caught_up(log.caught_up_term);
  log_ = log;
}

// What the node has to say, and time.
void EtcdSupervisor::look() {
  const Replica::LogState log = replica_->log();
  uint64_t leads = 0;
  bool is_starting = false;
  std::string drains_to;
  uint64_t drain = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    leads = elector_.leads() ? elector_.term() : 0;
    is_starting = leads != 0 && starting_term_ == leads;
    drains_to = elector_.drains_to();
    drain = drains_;
  }
  const bool has_start = is_starting && replica_->has_start(leads);
  const int64_t unconfirmed_us = is_starting && has_start ? replica_->unconfirmed_since_us() : -1;
  const uint64_t copied = has_start ? replica_->copied_lsn() : 0;
  const bool is_drained = has_start && !drains_to.empty() && replica_->is_drained(drains_to, drain);
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now_us = boot_time_us();
  note_log(log);
  if (has_start) elector_.on_term_confirmed(leads, now_us);
  elector_.on_unconfirmed(unconfirmed_us);
  if (is_drained && drains_to == elector_.drains_to()) elector_.on_drained(now_us);
  elector_.on_time(now_us);
  if (is_failsafe_ != elector_.is_failsafe(now_us)) {
    is_failsafe_ = !is_failsafe_;
    say(is_failsafe_ ? "election: without etcd: goes on, as all voters have granted it"
                     : "election: not by the voters' grant any more");
  }
  if (is_switching_ && elector_.leads() && elector_.drains_to().empty()) {
    refuse_switchover(absl::StrCat(switchover_.to, " did not have everything within ", switchover_.drain_ms, " ms"));
  }
  set_limits();
  if (copied > floor_lsn_ && now_us >= next_floor_us_ && begin_task("floor")) {
    next_floor_us_ = now_us + kFloorPeriodUs;
    floor_lsn_ = copied;
    key_tasks_.add([this, leads, copied] { raise_floor(leads, copied); });
  }
  if (now_us >= next_member_us_ && begin_task("member")) {
    next_member_us_ = now_us + options_.elector.lease_us / 4;
    lease_tasks_.add([this] { keep_member(); });
  }
}

void EtcdSupervisor::perform(std::vector<Action> actions) {
  for (const Action& action : actions) perform(action);
}

void EtcdSupervisor::perform(const Action& action) {
  std::unique_lock<std::mutex> lock(mutex_);
  switch (action.kind) {
    case Kind::kReadView:
      if (begin_task("read")) key_tasks_.add([this] { read_view(); });
      return;
    case Kind::kPublish:
      if (begin_task("publish")) key_tasks_.add([this] { publish(); });
      return;
    case Kind::kCampaign:
      campaign_config_ = seen_.config;
      say(absl::StrCat("election: campaigns for term ", action.term));
      lease_tasks_.add([this, action] { campaign(action); });
      return;
    case Kind::kKeepAlive:
      if (begin_task("keep")) lease_tasks_.add([this, term = action.term] { keep_alive(term); });
      return;
    case Kind::kGiveUpLease:
      lease_tasks_.add([this, term = action.term] { give_up(term); });
      return;
    case Kind::kStorePromise:
      disk_tasks_.add([this, promise = action.promise] { store_promise(promise); });
      return;
    case Kind::kSendFence:
      if (begin_task("fence " + action.node)) {
        tasks_of(action.node)->add([this, action] { send_fence(action); });
      }
      return;
    case Kind::kAnswerFence:
      if (answers_.size() >= kAnswersMax) answers_.clear();  // nobody waits for them: they ask again
      answers_[{action.node, action.answer.term}] = action.answer;
      lock.unlock();
      changed_.notify_all();
      return;
    case Kind::kAdopt:
      // whose log reaches further campaigns itself: this node steps aside long enough
      say(absl::StrCat("election: the log of ", action.node, " reaches further"));
      elector_.on_adopted(action.term, false, boot_time_us());
      return;
    case Kind::kStartTerm:
      say(absl::StrCat("election: term ", action.term, " is fenced, this node becomes primary"));
      before_start.fires();
      starting_term_ = action.term;
      role_ = {Role::Kind::kLead, {action.term, options_.elector.node}, options_.address, campaign_config_, ""};
      return;
    case Kind::kOpen:
      before_open.fires();
      return say(absl::StrCat("election: primary in term ", action.term));
    case Kind::kClose:
      return say(is_switching_ ? "election: closes, to hand over"
                               : "election: the lease is about to end, nothing is answered");
    case Kind::kNoteOpened:
      if (begin_task("opened")) key_tasks_.add([this, action] { note_opened(action); });
      return;
    case Kind::kHandOver:
      say(absl::StrCat("election: hands over to ", action.node));
      lease_tasks_.add([this, action] { hand_over(action); });
      return;
    case Kind::kStepDown:
      if (starting_term_ != 0) end(absl::StrCat("term ", action.term, " is over"));
      role_.was_handed_over = std::exchange(is_switching_, false);
      return;
    case Kind::kEnd:
      return end("the lease has ended");
    default:
      return perform_grant(action);
  }
}

// With the lock: what is done without etcd, and for the disk.
void EtcdSupervisor::perform_grant(const Action& action) {
  switch (action.kind) {
    case Kind::kAskGrant:
      if (begin_task("grant " + action.node)) {
        tasks_of(action.node)->add([this, action] { ask_grant(action); });
      }
      return;
    case Kind::kAnswerGrant:
      if (grants_.size() >= kAnswersMax) grants_.clear();
      grants_[{action.node, action.grant.term}] = action.grant.granted;
      return changed_.notify_all();
    case Kind::kKeepGrant:
      return disk_tasks_.add([this] { keep_grant(); });
    case Kind::kDropGrant:
      return disk_tasks_.add([this] { drop_grant(); });
    case Kind::kReclaim:
      return lease_tasks_.add([this, term = action.term] { reclaim(term); });
    case Kind::kRegisterDisk:
      if (begin_task("disk")) key_tasks_.add([this, action] { register_disk(action); });
      return;
    default:
      CHECK(false);  // perform() has all others
  }
}

// With the lock.
void EtcdSupervisor::end(const std::string& why) {
  before_end.fires();
  role_ = {};
  role_.kind = Role::Kind::kEnd;
  role_.why = why;
}

// --- fences ---

StatusOr<FenceAnswer> EtcdSupervisor::on_fence(const Promise& wanted) {
  const std::pair<std::string, uint64_t> key(wanted.node, wanted.term);
  before_fenced.fires();
  const auto is_plausible = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    return elector_.is_plausible(wanted.term);
  };
  if (!is_plausible()) {
    const std::string why = absl::StrCat("no election can have come to term ", wanted.term);
    note_refused(absl::StrCat(why, ", which \"", wanted.node, "\" asks for"));
    return absl::FailedPreconditionError(why);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_stopping_) return absl::UnavailableError("the node stops");
  answers_.erase(key);
  elector_.on_fence(wanted, boot_time_us());
  changed_.notify_all();
  const bool has_answer = changed_.wait_for(lock, std::chrono::microseconds(kFenceAnswerUs),
                                            [&] { return is_stopping_ || answers_.contains(key); });
  if (!has_answer || is_stopping_) return absl::UnavailableError("the promise is not on the disk yet");
  const FenceAnswer answer = answers_[key];
  answers_.erase(key);
  before_fence_answer.fires();
  return answer;
}

// Those that etcd has, and the voters of the settings: etcd may not have answered yet.
bool EtcdSupervisor::is_member(const std::string& node) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return seen_.members.contains(node) || seen_.config.voters.has(node) || options_.config.voters.has(node);
}

void EtcdSupervisor::note_refused(const std::string& why) {
  if (refused_peers_ != nullptr) refused_peers_->add(1);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t now_us = boot_time_us();
    if (said_refused_us_ != 0 && now_us - said_refused_us_ < kRefusedSayUs) return;
    said_refused_us_ = now_us;
  }
  say("election: refused: " + why);
}

std::string EtcdSupervisor::peer_address(const std::string& node) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = seen_.members.find(node);
  return found != seen_.members.end() ? found->second.peers : "";
}

Tasks* EtcdSupervisor::tasks_of(const std::string& node) {
  auto& tasks = peer_tasks_[node];
  if (tasks == nullptr) tasks = std::make_unique<Tasks>();
  return tasks.get();
}

void EtcdSupervisor::send_fence(const Action& action) {
  const std::string address = peer_address(action.node);
  StatusOr<FenceAnswer> answer = absl::UnavailableError("its address is not known");
  before_fence.fires();
  if (!address.empty()) answer = peers_->fence(address, action.term, action.config, options_.elector.lease_us / 2);
  end_task("fence " + action.node);
  after_fence.fires();
  if (answer.ok()) tell([&] { elector_.on_fence_answer(action.node, *answer, boot_time_us()); });
}

// --- without etcd ---

StatusOr<bool> EtcdSupervisor::on_grant_asked(const std::string& from, uint64_t term) {
  const std::pair<std::string, uint64_t> key(from, term);
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_stopping_) return absl::UnavailableError("the node stops");
  grants_.erase(key);
  elector_.on_grant_asked(from, term, 0, boot_time_us());
  changed_.notify_all();
  const bool has_answer = changed_.wait_for(lock, std::chrono::microseconds(kGrantAnswerUs),
                                            [&] { return is_stopping_ || grants_.contains(key); });
  if (!has_answer || is_stopping_) return absl::UnavailableError("it is not on the disk yet");
  return grants_.extract(key).mapped();
}

// What counts is when it was asked for: the voter's lease begins later.
void EtcdSupervisor::ask_grant(const Action& action) {
  const std::string address = peer_address(action.node);
  const int64_t asked_us = boot_time_us();
  StatusOr<bool> granted = absl::UnavailableError("its address is not known");
  if (!address.empty()) granted = peers_->grant(address, action.term, options_.elector.lease_us / 4);
  end_task("grant " + action.node);
  if (granted.ok()) tell([&] { elector_.on_grant(action.node, {action.term, asked_us, *granted}, boot_time_us()); });
}

// Where that cannot be written nothing is granted.
void EtcdSupervisor::keep_grant() {
  before_grant.fires();
  const Status kept = options_.disk->replace_file(options_.directory + kGrantFile, "1\n");
  after_grant.fires();
  if (!kept.ok()) say(absl::StrCat("election: nothing can be granted: ", std::string(kept.message())));
  if (kept.ok()) tell([&] { elector_.on_grant_kept(boot_time_us()); });
}

// One that stays costs a lease at the next start.
void EtcdSupervisor::drop_grant() { static_cast<void>(options_.disk->remove(options_.directory + kGrantFile)); }

// The primary's lease has ended while etcd was not there.
void EtcdSupervisor::reclaim(uint64_t term) {
  const int64_t sent_us = boot_time_us();
  auto result = Elector::Campaign::kUnknown;
  before_reclaim.fires();
  const auto granted = etcd_->grant((options_.elector.lease_us + kUsPerS - 1) / kUsPerS);
  if (granted.ok()) {
    const auto won = keys_.reclaim(term, granted->id);
    if (won.ok()) result = *won ? Elector::Campaign::kWon : Elector::Campaign::kLost;
    if (result != Elector::Campaign::kWon) static_cast<void>(etcd_->revoke(granted->id));
  }
  after_reclaim.fires();
  if (result == Elector::Campaign::kWon) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      leases_[term] = granted->id;
    }
    if (options_.on_lease) options_.on_lease(granted->id);
    say(absl::StrCat("election: term ", term, " has a lease again"));
  }
  tell([&] { elector_.on_reclaimed(result, term, sent_us, boot_time_us()); });
}

// The log first: what is answered once the promise is there must be its end.
void EtcdSupervisor::store_promise(const Promise& promise) {
  before_bar.fires();
  Status barred;
  while (barred = replica_->bar(promise), absl::IsUnavailable(barred)) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, kBarPause, [this] { return is_stopping_; })) return;
  }
  if (!barred.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    return end(std::string(barred.message()));
  }
  before_promise.fires();
  const Status stored = promise_file_.store(promise);
  after_promise.fires();
  if (!stored.ok() && !absl::IsFailedPrecondition(stored)) {
    std::lock_guard<std::mutex> lock(mutex_);
    return end(absl::StrCat("the promise cannot be stored: ", std::string(stored.message())));
  }
  const Replica::LogState log = replica_->log();
  tell([&] {
    note_log(log);
    if (stored.ok()) elector_.on_promise_stored(promise, boot_time_us());
  });
  if (stored.ok()) say(absl::StrCat("election: term ", promise.term, " is promised to ", promise.node));
}

int64_t boot_time_us() {
  timespec time;
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return int64_t{time.tv_sec} * kUsPerS + time.tv_nsec / 1000;
}

StatusOr<std::unique_ptr<Supervisor>> Supervisor::start(const SupervisorOptions& options, Replica* replica) {
  EtcdOptions etcd_options = options.etcd;
  // several tries must fit into a lease
  etcd_options.call_us = options.elector.lease_us / 2;
  etcd_options.attempt_us = options.elector.lease_us / 4;
  etcd_options.connect_us = options.elector.lease_us / 8;
  SCYPER_ASSIGN_OR_RETURN(auto etcd, Etcd::make(etcd_options));
  if (options.metrics != nullptr) etcd = measure_etcd(std::move(etcd), options.metrics);
  SCYPER_ASSIGN_OR_RETURN(const Promise stored, PromiseFile(options.disk, options.directory).load());
  SCYPER_ASSIGN_OR_RETURN(const auto identity, DiskFile(options.disk, options.directory).open(stored.term != 0));
  SupervisorOptions with_disk = options;
  with_disk.elector.disk = identity.id;
  with_disk.elector.was_registered = identity.was_registered;
  auto supervisor = std::make_unique<EtcdSupervisor>(with_disk, replica, std::move(etcd), stored);
  SCYPER_RETURN_IF_ERROR(supervisor->begin());
  return std::unique_ptr<Supervisor>(std::move(supervisor));
}

}  // namespace scyper::consensus
