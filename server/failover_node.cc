#include "failover_node.h"

#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/failpoint.h"
#include "base/text_file.h"
#include "commit_modes.h"
#include "replay/log_scan.h"
#include "replay/recovery.h"
#include "replication/outbox.h"
#include "secondary/hand_over.h"
#include "storage/archive.h"

namespace scyper::server {

using consensus::Position;

namespace {

Failpoint before_promotion("promotion.before_promotion");
Failpoint in_promotion("promotion.in_promotion");
Failpoint after_promotion("promotion.after_promotion");
Failpoint before_follow("rejoin.before_follow");
Failpoint after_seed("rejoin.after_seed");
Failpoint after_follow("rejoin.after_follow");
Failpoint before_redirect("rejoin.before_redirect");
Failpoint before_last_answers("rejoin.before_last_answers");
Failpoint before_remove_log("rejoin.before_remove_log");
Failpoint after_remove_log("rejoin.after_remove_log");

constexpr long kLookNs = 10'000'000;
constexpr long kSoonNs = 1'000'000;  // while nobody leads
constexpr unsigned kPauseUs = 500'000;
constexpr int64_t kOpenUs = 60'000'000;
constexpr int64_t kBarUs = 200'000;
constexpr int64_t kSettleUs = 20'000;  // a few writes to the disk
constexpr int64_t kDrainUs = 5'000'000;
constexpr uint32_t kPromotionMs = 200;     // for queries that run on a follower
constexpr uint32_t kCloseMs = 20;          // and for answers on their way, when there are none
constexpr uint32_t kLastAnswersMs = 1000;  // after a hand-over, for clients that read slowly
constexpr int64_t kJoinUs = 1'000'000;     // then the role is looked at again

StatusOr<primary::CommitMode> commit_mode_of(const std::string& name) {
  for (const auto& [known, mode] : kCommitModes) {
    if (name == known) return mode;
  }
  return absl::DataLossError(absl::StrCat("etcd: commit mode \"", name, "\" is not known"));
}

}  // namespace

FailoverNode::FailoverNode(const NodeConfig& config, MetricsRegistry* metrics, MakeEngine make_engine,
                           std::function<void(const std::string&)> say, NodeWatchdog* watchdog)
    : config_(config),
      metrics_(metrics),
      make_engine_(std::move(make_engine)),
      say_(std::move(say)),
      watchdog_(watchdog),
      disk_(make_real_disk()),
      election_directory_(config.engine.log.directory + "/election"),
      incomplete_path_(election_directory_ + "/incomplete") {}

FailoverNode::~FailoverNode() { stop(); }

// Without it a failover waits for the lease.
Status FailoverNode::start_guard() {
  auto options = etcd_options();
  options.call_us = static_cast<int64_t>(config_.cluster.lease_us);
  options.connect_us = options.call_us / 8;
  options.attempt_us = options.call_us / 4;
  SCYPER_ASSIGN_OR_RETURN(
      guard_, consensus::LeaseGuard::start(options, static_cast<int64_t>(config_.cluster.watchdog_us), say_));
  return Status();
}

Status FailoverNode::start() {
  // Forks: before gRPC begins here.
  if (Status status = start_guard(); !status.ok()) say_("election: no lease guard: " + std::string(status.message()));
  SCYPER_RETURN_IF_ERROR(Server::check(config_.server));  // else it would be found when it has won an election
  SCYPER_RETURN_IF_ERROR(disk_->make_directory(config_.engine.log.directory));
  SCYPER_RETURN_IF_ERROR(disk_->make_directory(election_directory_));
  SCYPER_RETURN_IF_ERROR(disk_->sync_directory(config_.engine.log.directory));
  SCYPER_ASSIGN_OR_RETURN(lock_, replay::DataLock::take(election_directory_));
  SCYPER_RETURN_IF_ERROR(read_log_end());
  is_marked_ = disk_->exists(incomplete_path_);
  is_complete_ = !is_marked_;
  say_(absl::StrCat("election: the log ends at term ", rest_.position.term, ", LSN ", rest_.position.lsn,
                    is_complete_ ? "" : ", and may lack what was acknowledged"));
  SCYPER_ASSIGN_OR_RETURN(const auto options, supervisor_options());
  SCYPER_ASSIGN_OR_RETURN(supervisor_, consensus::Supervisor::start(options, this));
  return Status();
}

// Without the tables: they come with a role.
Status FailoverNode::read_log_end() {
  const std::string& directory = config_.engine.log.directory;
  Position end;
  const std::string archives = replay::archives_directory(directory);
  if (disk_->exists(archives)) {
    SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(disk_.get(), archives));
    for (const auto& entry : entries) {
      if (!entry.is_complete) continue;
      auto manifest = storage::read_manifest(disk_.get(), entry.path);
      if (manifest.ok() && entry.lsn > end.lsn) end = {std::max<uint64_t>(1, manifest->term), entry.lsn};
    }
  }
  if (disk_->exists(replay::log_directory(directory))) {
    SCYPER_ASSIGN_OR_RETURN(auto scan, replay::LogScan::open(disk_.get(), replay::log_directory(directory), {}));
    SCYPER_RETURN_IF_ERROR(scan->skip_to(end.lsn));
    replay::ScannedSegment segment;
    while (true) {
      SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
      if (!any) break;
      if (segment.groups.empty()) continue;
      const auto& last = segment.groups.back();
      if (last.complete_lsn >= end.lsn) end = {last.batches.back().header.term, last.complete_lsn};
    }
  }
  rest_.position = end;
  return Status();
}

consensus::EtcdOptions FailoverNode::etcd_options() const {
  const ClusterSettings& cluster = config_.cluster;
  return consensus::etcd_options_of(cluster.etcd, cluster.etcd_ca, cluster.etcd_cert, cluster.etcd_key);
}

StatusOr<consensus::SupervisorOptions> FailoverNode::supervisor_options() {
  const ClusterSettings& cluster = config_.cluster;
  consensus::SupervisorOptions options;
  options.elector.node = config_.engine.queries.node;
  options.elector.has_row_layout = config_.engine.layout == storage::Layout::kRow;
  options.elector.lease_us = static_cast<int64_t>(cluster.lease_us);
  options.elector.open_us = kOpenUs;  // recovery may take longer than a lease, which is kept alive meanwhile
  options.elector.margin_us = options.elector.lease_us / 4;
  options.etcd = etcd_options();
  options.etcd.say = say_;
  options.on_lease = [this](int64_t lease) {
    if (guard_ != nullptr) guard_->set(lease);
  };
  options.on_leads_until = [this](int64_t until_us) {
    if (guard_ != nullptr) guard_->watch(until_us);
  };
  options.cluster = options.peers.cluster = cluster.name;
  options.peers.listen = cluster.peer_listen;
  if (!config_.server.tls_client_ca.empty()) options.peers.tls = config_.server.tls;
  options.advertise_peers = cluster.peer_advertise;
  options.config.version = 1;
  options.config.voters.names = std::vector<std::string>(absl::StrSplit(cluster.voters, ',', absl::SkipEmpty()));
  options.config.commit_mode = commit_mode_name(config_.engine.log.mode);
  options.address = config_.secondary.link.address.empty() ? config_.server.listen : config_.secondary.link.address;
  options.disk = disk_.get();
  options.directory = election_directory_;
  options.on_progress = say_;
  options.metrics = metrics_;
  return options;
}

// --- roles ---

StatusOr<FailoverNode::End> FailoverNode::run(const sigset_t& signals) {
  bool is_led = false;
  signals_ = &signals;
  while (true) {
    const timespec period{0, is_led ? kLookNs : kSoonNs};
    int signal_number = signal_number_;
    if (signal_number == 0) signal_number = ::sigtimedwait(&signals, nullptr, &period);
    if (is_for_certificates(signal_number)) continue;
    if (signal_number > 0) return End{signal_number};
    const consensus::Role role = supervisor_->role();
    is_led = role.kind != consensus::Role::Kind::kWait;
    if (role.kind == consensus::Role::Kind::kEnd) {
      say_("election: " + role.why);
      return End{0, role.was_handed_over};
    }
    if (role.kind == consensus::Role::Kind::kLead && role_.kind != consensus::Role::Kind::kLead) {
      if (Status status = lead(role); !status.ok()) {
        // somebody else may
        say_("election: this node cannot lead: " + std::string(status.message()));
        ::usleep(kPauseUs);
        return End{};
      }
    }
    SCYPER_RETURN_IF_ERROR(take_role(role));
    if (must_remove_log_) return End{0, false, true};
    auto* secondary = dynamic_cast<SecondaryEngine*>(engine_.get());
    if (secondary == nullptr) continue;
    bool is_empty = false;
    if (!secondary->node().failure(&is_empty).ok()) return End{0, false, is_empty};
    note_complete();
  }
}

bool FailoverNode::is_for_certificates(int signal_number) const {
  if (signal_number != SIGHUP) return false;
  if (config_.server.tls != nullptr) config_.server.tls->reload();
  return true;
}

Status FailoverNode::take_role(const consensus::Role& role) {
  if (role.kind != consensus::Role::Kind::kFollow) return Status();
  if (engine_ == nullptr) return follow(role);
  auto* secondary = dynamic_cast<SecondaryEngine*>(engine_.get());
  if (secondary == nullptr || role.leader == role_.leader) return Status();
  say_(absl::StrCat("election: ", role.leader.node, " leads in term ", role.leader.term));
  before_redirect.fires();
  secondary->set_primary(role.address);
  role_ = role;
  return Status();
}

// While this node begins to follow, which may take as long as its log or the leader's archive is. As long as it only
// makes its tables it has nothing to end: what it leaves is what kill -9 would.
void FailoverNode::watch_signals(const std::atomic<bool>* is_over) {
  const timespec period{0, kLookNs};
  while (!*is_over && signal_number_ == 0) {
    const int signal_number = ::sigtimedwait(signals_, nullptr, &period);
    if (signal_number <= 0 || is_for_certificates(signal_number)) continue;
    std::lock_guard<std::mutex> lock(mutex_);
    signal_number_ = signal_number;
    if (place_ != Place::kSeeding) continue;
    say_("stops while its tables are made");
    ::_exit(0);
  }
}

Status FailoverNode::follow(const consensus::Role& role) {
  NodeConfig config = config_;
  config.role = server::Role::kSecondary;
  config.secondary.link.target = role.address;
  const auto& voters = role.config.voters;
  config.secondary.link.is_voter = voters.has(config_.engine.queries.node);
  config.secondary.link.call_us = kJoinUs;
  config.secondary.join_us_max = kJoinUs;
  // where less than a majority may have confirmed, what was is not thrown away
  const bool keeps_aside = !role.config.commit_mode.starts_with("quorum");
  config.secondary.cutting = {
      role.leader.term, {rest_.position.term, rest_.position.lsn}, keeps_aside, [this](replication::LogEnd end) {
        std::lock_guard<std::mutex> lock(mutex_);
        rest_.position = {end.term, end.lsn};
        ++rest_.cuts;
      }};
  config.secondary.link.admits = [this](uint64_t term, const std::string& node) {
    return term == 0 ? supervisor_->has_known_disk() : supervisor_->takes_redo({term, node});
  };
  before_follow.fires();
  config.secondary.on_seeded = [this] {
    after_seed.fires();
    set_place(Place::kChanging);
  };
  config.secondary.on_begun = [this](secondary::Node* node) {
    std::lock_guard<std::mutex> lock(mutex_);
    node_ = node;
    place_ = Place::kFollowing;
  };
  // acknowledged from memory: should the process end, it is not known what
  if (role.config.commit_mode == "quorum" && !is_marked_) {
    SCYPER_RETURN_IF_ERROR(disk_->replace_file(incomplete_path_, "1\n"));
    std::lock_guard<std::mutex> lock(mutex_);
    is_marked_ = true;
  }
  set_place(Place::kSeeding);
  std::atomic<bool> is_over{false};
  std::thread watcher([&] { watch_signals(&is_over); });
  auto engine = make_engine_(config, metrics_, nullptr);
  after_follow.fires();
  is_over = true;
  watcher.join();
  if (!engine.ok()) {
    say_(absl::StrCat("election: does not follow ", role.leader.node, ": ", std::string(engine.status().message())));
    return not_followed(engine.status());
  }
  ::malloc_trim(0);  // what reading the log or an archive took is not needed again
  engine_ = *std::move(engine);
  role_ = role;
  return serve(config);
}

// OK: another time, or as another process.
Status FailoverNode::not_followed(const Status& why) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    node_ = nullptr;
    place_ = Place::kAtRest;
  }
  must_remove_log_ = absl::IsOutOfRange(why);
  if (is_disk_full(why)) ::usleep(kPauseUs);
  // 08: the leader has gone, aborted: another one leads, or its archive has gone. It is looked who leads then
  const bool is_over = sqlstate_of(why).starts_with("08") || absl::IsAborted(why);
  return is_over || must_remove_log_ || is_disk_full(why) ? Status() : why;
}

Status FailoverNode::lead(const consensus::Role& role) {
  NodeConfig config = config_;
  primary::ReplicationOptions& replication = config.engine.replication;
  replication.is_on = true;
  replication.transport = primary::TransportChoice::kUnicast;
  replication.term = role.leader.term;
  replication.node = config_.engine.queries.node;
  replication.voters = static_cast<uint32_t>(role.config.voters.names.size());
  replication.voter_names = role.config.voters.names;
  SCYPER_ASSIGN_OR_RETURN(config.engine.log.mode, commit_mode_of(role.config.commit_mode));
  const std::atomic<int64_t>* open_until_us = &supervisor_->open_until_us();
  replication.admits = [open_until_us]() -> Status {
    if (consensus::boot_time_us() < open_until_us->load(std::memory_order_relaxed)) return Status();
    return with_hint(sql_error("57P03", "the node is not primary now: it is being elected, or its lease has ended"),
                     "Retry, at another node of the cluster, too.");
  };
  const std::atomic<int64_t>* leads_until_us = &supervisor_->leads_until_us();
  replication.leads = [leads_until_us] {
    return consensus::boot_time_us() < leads_until_us->load(std::memory_order_relaxed);
  };
  before_promotion.fires();
  std::shared_ptr<replay::WarmState> warm = leave_role(/*is_promoted=*/true);
  in_promotion.fires();
  auto engine = make_engine_(config, metrics_, std::move(warm));
  if (!engine.ok()) return engine.status();
  after_promotion.fires();
  engine_ = *std::move(engine);
  role_ = role;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    place_ = Place::kLeading;
    term_ = role.leader.term;
    copies_ = replication.voters / 2;
    is_durable_ = config.engine.log.mode == primary::CommitMode::kQuorumDurable;
    is_quorum_ = is_durable_ || config.engine.log.mode == primary::CommitMode::kQuorum;
  }
  return serve(config);
}

Status FailoverNode::serve(const NodeConfig& config) {
  ServerOptions options = config.server;
  options.cluster_state = [this] { return supervisor_->cluster_state(); };
  SCYPER_ASSIGN_OR_RETURN(server_, Server::start(options, engine_.get(), metrics_));
  if (role_.kind == consensus::Role::Kind::kLead) watchdog_->watch(engine_.get());
  say_(absl::StrCat(
      "election: ", role_.kind == consensus::Role::Kind::kLead ? "leads" : "follows " + role_.leader.node, " in term ",
      role_.leader.term, ", gRPC on port ", server_->port(),
      server_->http_port() == 0 ? "" : absl::StrCat(", http://localhost:", server_->http_port(), "/metrics")));
  return Status();
}

// What was received is in the log then, and nothing is appended.
std::shared_ptr<replay::WarmState> FailoverNode::leave_role(bool is_promoted) {
  watchdog_->unwatch();
  bool is_drained = true;
  if (node_ != nullptr) is_drained = node_->bar(~uint64_t{0}, kDrainUs).ok();
  const LogState last = log();
  secondary::Node* follower;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    rest_ = last;
    place_ = Place::kChanging;
    follower = std::exchange(node_, nullptr);
  }
  if (server_ != nullptr) is_promoted ? server_->stop(kPromotionMs, kCloseMs) : server_->stop();
  server_.reset();
  std::shared_ptr<replay::WarmState> warm;
  if (is_promoted && is_drained && follower != nullptr && engine_ != nullptr) {
    auto state = secondary::hand_over(follower);
    if (state.ok() && (*state)->identity.partitions == config_.engine.partitions) warm = *std::move(state);
    if (warm == nullptr) say_(absl::StrCat("election: recovers from the log: ", state.status().message()));
  }
  engine_.reset();
  if (is_marked_ && is_complete_ && is_drained && disk_->remove(incomplete_path_).ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    is_marked_ = false;
  }
  return warm;
}

void FailoverNode::stop() {
  if (supervisor_ == nullptr) return;
  if (guard_ != nullptr) guard_->watch(0);  // accepted work takes as long as it takes
  leave_role(/*is_promoted=*/false);
  supervisor_.reset();
}

void FailoverNode::stop_serving() {
  before_last_answers.fires();
  if (server_ != nullptr) server_->stop(kLastAnswersMs);
}

Status FailoverNode::remove_log() {
  SCYPER_RETURN_IF_ERROR(disk_->replace_file(incomplete_path_, "1\n"));
  before_remove_log.fires();
  const Status removed = secondary::remove_history(disk_.get(), config_.engine.log.directory);
  after_remove_log.fires();
  return removed;
}

// It has reached what a primary had after this process had begun.
void FailoverNode::note_complete() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_complete_ || node_ == nullptr || !node_->info().has_caught_up) return;
  is_complete_ = true;
  say_("election: the log is complete again");
  if (role_.config.commit_mode != "quorum" && disk_->remove(incomplete_path_).ok()) is_marked_ = false;
}

// --- consensus::Replica ---

FailoverNode::LogState FailoverNode::log() {
  std::lock_guard<std::mutex> lock(mutex_);
  LogState state = rest_;
  if (place_ == Place::kFollowing) {
    const secondary::NodeInfo info = node_->info();
    if (info.durable_lsn > 0) state.position = {info.logged_term, info.durable_lsn};
    if (info.has_caught_up) state.caught_up_term = info.logged_term;
  } else if (place_ == Place::kLeading) {
    const uint64_t durable_lsn = engine_->log_info().durable_lsn;
    if (durable_lsn > engine_->publisher()->outbox->watermark().term_lsn) state.position = {term_, durable_lsn};
  }
  state.is_complete = is_complete_;
  return state;
}

FailoverNode::LogState FailoverNode::settled_log() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (place_ == Place::kFollowing) static_cast<void>(node_->bar(0, kSettleUs));
  }
  return log();
}

Status FailoverNode::bar(const consensus::Promise& promise) {
  std::lock_guard<std::mutex> lock(mutex_);
  // who seeds takes no redo before it has asked whether the promise, which binds from now on, allows it
  if (place_ == Place::kAtRest || place_ == Place::kSeeding) return Status();
  if (place_ == Place::kFollowing) return node_->bar(promise.term, kBarUs);
  if (place_ == Place::kChanging) return absl::UnavailableError("the node changes its role");
  // what it still executes counts for nobody once it is another process
  return absl::FailedPreconditionError(absl::StrCat(promise.node, " is elected in term ", promise.term));
}

uint64_t FailoverNode::copied() const {
  const replication::PublisherOptions* publisher = engine_->publisher();
  return std::min(engine_->log_info().durable_lsn, publisher->members->confirmed_lsn(copies_, is_durable_));
}

bool FailoverNode::has_start(uint64_t term) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (place_ != Place::kLeading || term_ != term) return false;
  // once they have it they have it, also when they are gone
  if (started_term_ != term && copied() > engine_->publisher()->outbox->watermark().term_lsn) started_term_ = term;
  return started_term_ == term;
}

int64_t FailoverNode::unconfirmed_since_us() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (place_ != Place::kLeading || !is_quorum_) return -1;
  const auto info = engine_->log_info();
  const bool is_news = info.confirmed_lsn != std::exchange(confirmed_seen_, info.confirmed_lsn);
  if (info.confirmed_lsn >= info.last_lsn) {
    unconfirmed_us_ = -1;
  } else if (is_news || unconfirmed_us_ < 0) {
    unconfirmed_us_ = consensus::boot_time_us();
  }
  return unconfirmed_us_;
}

uint64_t FailoverNode::copied_lsn() {
  std::lock_guard<std::mutex> lock(mutex_);
  return place_ == Place::kLeading ? copied() : 0;
}

// What is admitted at the very moment of closing may come behind: nobody confirms it, and its client asks again.
bool FailoverNode::is_drained(const std::string& to, uint64_t drain) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (place_ != Place::kLeading || engine_->queue_depth() != 0) return false;
  if (std::exchange(drain_, drain) != drain || is_quiet_ == nullptr) {
    is_quiet_ = std::make_shared<std::atomic<bool>>(false);
    if (!engine_->when_quiet([flag = is_quiet_] { *flag = true; })) is_quiet_.reset();
    return false;
  }
  const auto info = engine_->log_info();
  if (!*is_quiet_ || info.confirmed_lsn < info.last_lsn) return false;
  for (const replication::Member& member : engine_->publisher()->members->list()) {
    if (member.name == to && member.position.term == term_ && member.position.durable_lsn >= info.last_lsn) return true;
  }
  return false;
}

}  // namespace scyper::server
