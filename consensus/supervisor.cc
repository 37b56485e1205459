#include "consensus/supervisor.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "consensus/promise_file.h"
#include "tasks.h"

namespace scyper::consensus {

namespace {

constexpr std::chrono::milliseconds kLook{10};
constexpr std::chrono::milliseconds kSoon{1};  // while nothing is answered until the node has said something
constexpr std::chrono::milliseconds kWatchPause{200};
constexpr std::chrono::milliseconds kBarPause{10};
constexpr int64_t kFenceAnswerUs = 2'000'000;  // for the disk; the candidate asks again
constexpr int64_t kFloorPeriodUs = 1'000'000;
constexpr int64_t kUsPerS = 1'000'000;
constexpr size_t kAnswersMax = 100;
constexpr uint64_t kDrainMsMax = 60'000;

class EtcdSupervisor final : public Supervisor {
 public:
  EtcdSupervisor(const SupervisorOptions& options, Replica* replica, std::unique_ptr<Etcd> etcd, const Promise& stored)
      : options_(options),
        replica_(replica),
        etcd_(std::move(etcd)),
        keys_(etcd_.get(), options.cluster, options.elector.node),
        promise_file_(options.disk, options.directory),
        peers_(PeerClient::make(options.peers, options.elector.node)),
        log_(replica->log()),
        elector_(options.elector, stored, log_.position, log_.is_complete, boot_time_us()) {}
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
  ClusterState cluster_state() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return {options_.cluster, absl::StrJoin(options_.etcd.endpoints, ","), seen_.paused};
  }

 private:
  using Kind = Action::Kind;

  void say(const std::string& line) const {
    if (options_.on_progress) options_.on_progress(line);
  }
  void run();
  void look();
  void perform(std::vector<Action> actions);
  void perform(const Action& action);
  void end(const std::string& why);
  void set_limits() {  // with the lock
    open_until_us_ = elector_.open_until_us();
    leads_until_us_ = elector_.leads_until_us();
  }
  StatusOr<FenceAnswer> on_fence(const std::string& from, uint64_t term);

  void read_view();
  void seen(const ClusterKeys::Seen& seen, int64_t asked_us);
  void publish();
  void keep_member();
  void campaign(const Action& action);
  void keep_alive(uint64_t term);
  void give_up(uint64_t term);
  void raise_floor(uint64_t term, uint64_t lsn);
  void begin_switchover();
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
  PromiseFile promise_file_;  // the disk thread's
  const std::unique_ptr<PeerClient> peers_;
  std::unique_ptr<PeerServer> server_;
  std::string peer_address_;
  std::atomic<int64_t> open_until_us_{0};
  std::atomic<int64_t> leads_until_us_{0};

  mutable std::mutex mutex_;  // all that follows, to the threads
  std::condition_variable changed_;
  Replica::LogState log_;
  Elector elector_;
  Role role_;
  ClusterKeys::Seen seen_;
  ClusterConfig campaign_config_;
  SwitchoverRequest switchover_;  // the one begun last
  bool is_switching_ = false;     // it has not ended
  uint64_t drains_ = 0;           // begun
  uint64_t starting_term_ = 0;
  std::map<uint64_t, int64_t> leases_;  // by term, that have not been given back
  int64_t member_lease_ = 0;
  int64_t next_member_us_ = 0;
  int64_t next_floor_us_ = 0;
  uint64_t floor_lsn_ = 0;
  std::set<std::string> waiting_;  // tasks by name
  std::map<std::pair<std::string, uint64_t>, FenceAnswer> answers_;
  std::string said_;  // about etcd
  bool is_stopping_ = false;

  Tasks lease_tasks_;
  Tasks key_tasks_;
  Tasks disk_tasks_;
  std::map<std::string, std::unique_ptr<Tasks>> peer_tasks_;  // the deciding thread's
  std::thread watcher_;
  std::thread decider_;
};

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
  SCYPER_ASSIGN_OR_RETURN(server_, PeerServer::start(options_.peers, [this](const std::string& from, uint64_t term) {
                            return on_fence(from, term);
                          }));
  peer_address_ = options_.advertise_peers;
  if (peer_address_.empty()) {
    const std::string& listen = options_.peers.listen;
    peer_address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", server_->port());
  }
  watcher_ = std::thread([this] { watch(); });
  decider_ = std::thread([this] { run(); });
  return Status();
}

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
  log_ = log;
  elector_.on_log(log.position, log.is_complete);
  if (has_start) elector_.on_term_confirmed(leads, now_us);
  elector_.on_unconfirmed(unconfirmed_us);
  if (is_drained && drains_to == elector_.drains_to()) elector_.on_drained(now_us);
  elector_.on_time(now_us);
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
    case Kind::kSendFence: {
      auto& tasks = peer_tasks_[action.node];
      if (tasks == nullptr) tasks = std::make_unique<Tasks>();
      if (begin_task("fence " + action.node)) tasks->add([this, action] { send_fence(action); });
      return;
    }
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
      starting_term_ = action.term;
      role_ = {Role::Kind::kLead, {action.term, options_.elector.node}, options_.address, campaign_config_, ""};
      return;
    case Kind::kOpen:
      return say(absl::StrCat("election: primary in term ", action.term));
    case Kind::kClose:
      return say(is_switching_ ? "election: closes, to hand over"
                               : "election: the lease is about to end, nothing is answered");
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
  }
}

// With the lock.
void EtcdSupervisor::end(const std::string& why) {
  role_ = {};
  role_.kind = Role::Kind::kEnd;
  role_.why = why;
}

// --- fences ---

StatusOr<FenceAnswer> EtcdSupervisor::on_fence(const std::string& from, uint64_t term) {
  const std::pair<std::string, uint64_t> key(from, term);
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_stopping_) return absl::UnavailableError("the node stops");
  answers_.erase(key);
  elector_.on_fence(from, term, boot_time_us());
  changed_.notify_all();
  const bool has_answer = changed_.wait_for(lock, std::chrono::microseconds(kFenceAnswerUs),
                                            [&] { return is_stopping_ || answers_.contains(key); });
  if (!has_answer || is_stopping_) return absl::UnavailableError("the promise is not on the disk yet");
  const FenceAnswer answer = answers_[key];
  answers_.erase(key);
  return answer;
}

void EtcdSupervisor::send_fence(const Action& action) {
  std::string address;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = seen_.members.find(action.node);
    if (found != seen_.members.end()) address = found->second.peers;
  }
  StatusOr<FenceAnswer> answer = absl::UnavailableError("its address is not known");
  if (!address.empty()) answer = peers_->fence(address, action.term, options_.elector.lease_us / 2);
  end_task("fence " + action.node);
  if (answer.ok()) tell([&] { elector_.on_fence_answer(action.node, *answer, boot_time_us()); });
}

// The log first: what is answered once the promise is there must be its end.
void EtcdSupervisor::store_promise(const Promise& promise) {
  Status barred;
  while (barred = replica_->bar(promise), absl::IsUnavailable(barred)) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, kBarPause, [this] { return is_stopping_; })) return;
  }
  if (!barred.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    return end(std::string(barred.message()));
  }
  const Status stored = promise_file_.store(promise);
  if (!stored.ok() && !absl::IsFailedPrecondition(stored)) {
    std::lock_guard<std::mutex> lock(mutex_);
    return end(absl::StrCat("the promise cannot be stored: ", std::string(stored.message())));
  }
  const Replica::LogState log = replica_->log();
  tell([&] {
    elector_.on_log(log.position, log.is_complete);
    if (stored.ok()) elector_.on_promise_stored(promise, boot_time_us());
  });
}

// --- etcd ---

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
    begin_switchover();
    const auto& leader = seen_.view.leader;
    if (role_.kind == Role::Kind::kLead || role_.kind == Role::Kind::kEnd) return;
    if (!leader.has_value()) role_.kind = Role::Kind::kWait;
    if (!leader.has_value() || leader->node == options_.elector.node) return;
    const auto member = seen_.members.find(leader->node);
    if (member == seen_.members.end()) return;
    role_ = {Role::Kind::kFollow, *leader, member->second.address, seen_.config, ""};
  });
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
    entry.member = {log.position, log.is_complete, options_.elector.has_row_layout};
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
  auto granted = etcd_->grant((options_.elector.lease_us + kUsPerS - 1) / kUsPerS);
  if (granted.ok()) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      leases_[action.term] = granted->id;
    }
    if (options_.on_lease) options_.on_lease(granted->id);
    auto won = keys_.campaign(action.term, {action.term_revision, action.config_revision, action.paused_revision},
                              granted->id);
    if (won.ok() && *won) result = Elector::Campaign::kWon;
    if (absl::IsUnknown(won.status())) result = Elector::Campaign::kUnknown;
  }
  if (result == Elector::Campaign::kLost) give_up(action.term);
  if (result == Elector::Campaign::kWon) say(absl::StrCat("election: won term ", action.term));
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
  const auto left = etcd_->keep_alive(lease);
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
  static_cast<void>(etcd_->revoke(lease));
  if (options_.on_lease) options_.on_lease(0);
}

void EtcdSupervisor::raise_floor(uint64_t term, uint64_t lsn) {
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
  switchover_.to = to;
  is_switching_ = true;
  ++drains_;
  const auto drain_us = static_cast<int64_t>(std::min(request->drain_ms, kDrainMsMax)) * 1000;
  CHECK(elector_.begin_drain(to, now_us + drain_us, now_us));
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
  const auto done = keys_.hand_over(action.term, action.node);
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

}  // namespace

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
  SCYPER_ASSIGN_OR_RETURN(const Promise stored, PromiseFile(options.disk, options.directory).load());
  auto supervisor = std::make_unique<EtcdSupervisor>(options, replica, std::move(etcd), stored);
  SCYPER_RETURN_IF_ERROR(supervisor->begin());
  return std::unique_ptr<Supervisor>(std::move(supervisor));
}

}  // namespace scyper::consensus
