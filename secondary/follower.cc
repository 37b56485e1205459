#include "follower.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "replication/bulk.h"
#include "replication/channels.h"
#include "replication/stages.h"

namespace scyper::secondary {

namespace {

constexpr int64_t kNsPerUs = 1000;
// Without a word from the primary its data may be of any age.
constexpr int64_t kSilenceNs = 3'000'000'000;
// Kept for the case that this node becomes primary: who follows it then is a little behind, if at all.
constexpr size_t kNewestBytes = size_t{1} << 20;
// Kept for other secondaries that have lost what this one has: gaps are noticed within some 30 ms.
constexpr size_t kSharedBytes = size_t{8} << 20;

replication::Inbox::Start start_of(const Seed& seed) {
  replication::Inbox::Start start;
  start.term = seed.recovered.segments.empty() && seed.recovered.archive_lsn == 0 ? 0 : seed.recovered.term;
  start.lsn = seed.recovered.lsn;
  start.last_term = seed.recovered.last_term;
  for (const auto& position : seed.recovered.positions) start.positions.push_back({position.number, position.hash});
  start.joins = seed.recovered.lacks_positions;
  start.may_be_in_group = seed.recovered.may_be_in_group;
  start.confirmed_lsn = seed.recovered.confirmed_lsn;
  return start;
}

replication::Inbox::Options inbox_options(const NodeOptions& options, const Seed& seed) {
  const bool is_elected = options.link.admits != nullptr;
  replication::Inbox::Options inbox;
  inbox.bytes_max = options.inbox_bytes;
  inbox.logs = !seed.directory.empty();
  inbox.holds_confirmed = !is_elected;
  inbox.partitions = options.link.partitions;
  // nobody asks for what has some of the partitions only
  if (inbox.partitions.is_all()) inbox.newest_bytes = is_elected ? std::max(kSharedBytes, kNewestBytes) : kSharedBytes;
  return inbox;
}

Timer& stage(MetricsRegistry* given, MetricsRegistry* own, const char* name) {
  return (given != nullptr ? given : own)->timer(replication::kStageMetric, replication::kStageHelp, {{"stage", name}});
}

using BulkConnector = decltype(replication::LinkOptions::connect_bulk);

// Empty: this node has no RDMA device for it.
StatusOr<BulkConnector> bulk_connector(const NodeOptions& options) {
  if (!may_have_bulk(options)) return BulkConnector();
  std::optional<replication::DatagramKey> key;
  if (!options.multicast_key_file.empty()) {
    SCYPER_ASSIGN_OR_RETURN(key, replication::DatagramKey::read(options.multicast_key_file));
  }
  replication::RdmaBulkChannel::Options bulk;
  bulk.interface = options.interface;
  bulk.rdma = options.rdma;
  return BulkConnector(
      [bulk, key](const replication::ClusterId& cluster,
                  const replication::BulkAddress& address) -> StatusOr<std::unique_ptr<replication::BulkChannel>> {
        replication::RdmaBulkChannel::Options own = bulk;
        own.cluster = cluster;
        own.key = key.has_value() ? &*key : nullptr;
        SCYPER_ASSIGN_OR_RETURN(auto channel, replication::RdmaBulkChannel::connect(own, address));
        return std::unique_ptr<replication::BulkChannel>(std::move(channel));
      });
}

// What has some of the partitions only is nobody's copy.
Status check_subscription(const NodeOptions& options) {
  if (options.link.partitions.is_all()) return Status();
  if (options.link.is_voter) return sql_error("22023", "a secondary with a subscription cannot be a voter");
  if (!options.data_directory.empty() || !options.archive_directory.empty())
    return sql_error("22023", "a secondary with a subscription keeps neither log nor archives");
  if (options.link.admits != nullptr)
    return sql_error("22023", "a secondary with a subscription takes no part in elections");
  return Status();
}

}  // namespace

StatusOr<std::unique_ptr<Node>> Node::start(const NodeOptions& options) {
  std::unique_ptr<Disk> own_disk;
  if (options.disk == nullptr) own_disk = make_real_disk();
  Disk* disk = own_disk != nullptr ? own_disk.get() : options.disk;
  replication::LinkOptions link = options.link;
  SCYPER_ASSIGN_OR_RETURN(link.connect_bulk, bulk_connector(options));
  NodeOptions own = options;
  if (!own.connect_peer) {
    own.connect_peer = [link](const replication::Peer& peer, uint64_t term, int64_t call_us) {
      replication::LinkOptions other = link;
      other.target = peer.address;
      other.peer_term = term;
      other.call_us = call_us;
      other.connect_bulk = {};
      other.admits = {};  // of which term it may be is asked for, and checked
      return replication::Link::make(other);
    };
  }
  return Follower::start(own, std::move(own_disk), disk, replication::Link::make(link));
}

StatusOr<std::unique_ptr<Node>> Follower::start(const NodeOptions& options, std::unique_ptr<Disk> own_disk, Disk* disk,
                                                std::unique_ptr<replication::Link> link) {
  SCYPER_RETURN_IF_ERROR(check_subscription(options));
  SCYPER_RETURN_IF_ERROR(query::LocalIndexes::parse(options.local_indexes).status());  // before anything is fetched
  SCYPER_ASSIGN_OR_RETURN(Seed seed, make_seed(options, disk, link.get()));
  if (options.on_seeded) options.on_seeded();
  auto node = std::make_unique<Follower>(options, std::move(own_disk), disk, std::move(link), std::move(seed));
  SCYPER_RETURN_IF_ERROR(node->begin());
  if (options.on_begun) options.on_begun(node.get());
  return std::unique_ptr<Node>(std::move(node));
}

Follower::Follower(const NodeOptions& options, std::unique_ptr<Disk> own_disk, Disk* disk,
                   std::unique_ptr<replication::Link> link, Seed seed)
    : options_(options),
      own_disk_(std::move(own_disk)),
      disk_(disk),
      link_(std::move(link)),
      primary_(seed.primary),
      identity_(seed.identity),
      recovered_(seed.recovered),
      lock_(std::move(seed.lock)),
      seeded_from_(seed.source),
      database_(std::move(seed.database)),
      requests_(std::move(seed.requests)),
      send_time_(stage(options.metrics, &own_metrics_, "send")),
      repair_time_(stage(options.metrics, &own_metrics_, "repair")),
      replay_time_(stage(options.metrics, &own_metrics_, "replay")),
      fork_time_(stage(options.metrics, &own_metrics_, "fork")),
      inbox_(seed.identity.cluster, start_of(seed), inbox_options(options, seed)),
      terms_(recovered_.terms),
      peer_failures_(seed.peer_failures),
      archive_lsn_(options.data_directory.empty() ? 0 : recovered_.archive_lsn) {}

Status Follower::begin() {
  applied_bytes_ = recovered_.log_bytes;
  SCYPER_ASSIGN_OR_RETURN(local_indexes_, query::LocalIndexes::parse(options_.local_indexes));
  replay::Replayer::Options replaying;
  replaying.threads = std::max(1u, options_.replay_threads);
  replaying.partitions = options_.link.partitions;
  SCYPER_ASSIGN_OR_RETURN(replayer_, replay::Replayer::create(database_.get(), replaying));
  replayer_->set_observer([this](const replay::RecordView& record) { requests_->finish(record); });
  make_local_indexes();
  SCYPER_ASSIGN_OR_RETURN(compaction_, replay::Compaction::start(database_.get(), options_.compaction));
  if (compaction_ != nullptr) {
    compaction_->set_when_due([this](storage::Compactor::Due) {
      std::lock_guard<std::mutex> lock(mutex_);
      is_step_due_ = true;
      changed_.notify_all();
    });
  }
  Archivist::Options archives;
  archives.node = options_.link.node;
  if (!options_.data_directory.empty()) archives.own = replay::archives_directory(options_.data_directory);
  archives.shared = options_.archive_directory;
  archives.bytes_per_second_max = options_.archive_rate;
  archives.kept = options_.archives_kept;
  archives.tier = database_->tier();
  archives.on_damage = [this](const std::string& line) {
    damaged_archives_.fetch_add(1, std::memory_order_relaxed);
    say(line);
  };
  archives.on_warning = [this](const std::string& line) { say(line); };
  archivist_ = std::make_unique<Archivist>(
      archives, disk_, identity_, requests_.get(),
      [this](query::ForkRequest request) { return fork(std::move(request)); },
      [this](uint64_t lsn, const auto& interruption) { return wait_logged(lsn, interruption); });
  archivist_->set_base(recovered_.base);
  if (!options_.data_directory.empty()) {
    SCYPER_ASSIGN_OR_RETURN(keeper_, LogKeeper::open(disk_, options_.data_directory, identity_, recovered_,
                                                     options_.segment_bytes, options_.log_retention_bytes));
    threads_.emplace_back([this] { log(); });
    pthread_setname_np(threads_.back().native_handle(), "log");
  }
  replay_thread_ = std::thread([this] { replay(); });
  pthread_setname_np(replay_thread_.native_handle(), "replay");
  start_queries();
  start_offering();
  SCYPER_RETURN_IF_ERROR(start_multicast());
  threads_.emplace_back([this] { receive(); });
  pthread_setname_np(threads_.back().native_handle(), "receive");
  if (own_disk_ != nullptr && archivist_->has_place() && options_.archive_log_bytes > 0) {
    threads_.emplace_back([this] { archive(); });
    pthread_setname_np(threads_.back().native_handle(), "archive");
  }
  threads_.emplace_back([this] { digest(); });
  pthread_setname_np(threads_.back().native_handle(), "digest");
  threads_.emplace_back([this] { report(); });
  pthread_setname_np(threads_.back().native_handle(), "report");
  threads_.emplace_back([this] { keep_current(); });
  pthread_setname_np(threads_.back().native_handle(), "current");
  return Status();
}

void Follower::start_queries() {
  query::Snapshots::Environment environment;
  environment.fork = [this](query::ForkRequest request) { return fork(std::move(request)); };
  environment.current_lsn = [this] {
    std::lock_guard<std::mutex> lock(mutex_);
    return inbox_.applied_lsn();
  };
  environment.state_ns = [this] {
    std::lock_guard<std::mutex> lock(mutex_);
    return state_ns();
  };
  environment.wait_current = [this](int64_t not_before_ns, int64_t deadline_ns) {
    return wait_current(not_before_ns, deadline_ns);
  };
  environment.catalog_version = [this] { return database_->catalog()->version; };
  environment.partitions = identity_.partitions;
  query::QueriesOptions queries = options_.queries;
  queries.partitions = options_.link.partitions;
  queries_ = std::make_unique<query::Queries>(database_, std::move(environment), queries);
}

Follower::~Follower() { end_threads(); }

void Follower::end_threads() {
  if (compaction_ != nullptr) compaction_->set_when_due({});
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
    if (digesting_ != nullptr) digesting_->child->kill();
  }
  changed_.notify_all();
  if (archivist_ != nullptr) archivist_->stop();
  link_->cancel();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (asked_ != nullptr) asked_->cancel();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !is_snapshotting_; });
  }
  queries_.reset();  // it may wait for a fork: before replay, which refuses it
  if (replay_thread_.joinable()) replay_thread_.join();
}

void Follower::fail(const Status& status, bool restarts_empty) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_.ok()) return;
  failure_ = status;
  restarts_empty_ = restarts_empty;
  say(absl::StrCat("the node stops serving: ", std::string(status.message())));
  changed_.notify_all();
}

Status Follower::failure(bool* restarts_empty) const {
  std::lock_guard<std::mutex> lock(mutex_);
  *restarts_empty = restarts_empty_;
  return failure_;
}

// With the lock. Since when something is known that has not been applied.
int64_t Follower::lag_ns() const { return knowns_.empty() ? 0 : clock_.monotonic_ns() - knowns_.front().ns; }

// With the lock. It beats far more often: less is no silence.
int64_t Follower::silence_ns() const {
  const int64_t silence_ns = clock_.monotonic_ns() - heard_ns_;
  return heard_ns_ != 0 && silence_ns > kSilenceNs ? silence_ns : 0;
}

// With the lock.
bool Follower::is_behind(int64_t staleness_us, std::string* why) const {
  if (heard_ns_ == 0 || silence_ns() / kNsPerUs > staleness_us) {
    *why = "it does not hear from the primary";
    return true;
  }
  *why = "it is catching up";
  if (!has_caught_up_ || !is_own_confirmed_) return true;
  if (lag_ns() / kNsPerUs <= std::max(static_cast<int64_t>(options_.lag_us_max), staleness_us)) return false;
  *why = "it is behind the primary";
  return true;
}

int64_t Follower::silence_us() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return silence_ns() / kNsPerUs;
}

Status Follower::readiness() const { return readiness_for(0); }

Status Follower::readiness_for(int64_t staleness_us) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string why;
  if (!failure_.ok()) {
    why = std::string(failure_.message());
  } else if (!is_behind(staleness_us, &why)) {
    return Status();
  }
  return with_hint(sql_error("57P03", "the node takes no queries: " + why),
                   "Ask another node, retry after 1000 ms, or allow staleness.");
}

replication::Position Follower::position() const {
  std::lock_guard<std::mutex> lock(mutex_);
  replication::Position position;
  // what is not known to be the primary's history is no copy of it
  position.term = copied_term();
  position.received_lsn = inbox_.received_lsn();
  position.durable_lsn = keeper_ != nullptr ? inbox_.logged_lsn() : 0;
  position.applied_lsn = inbox_.applied_lsn();
  position.snapshot = snapshot_;
  std::string why;
  position.lag_us = lag_ns() / kNsPerUs;
  position.serves = failure_.ok() && !is_behind(0, &why);
  position.has_room = has_room_;
  position.repaired = repaired_groups_;
  position.archive_lsn = archive_lsn_;
  position.transport = hears_multicast() ? primary_.transport.kind : "unicast";
  position.resets = multicast_ != nullptr ? multicast_->counters().resets : 0;
  return position;
}

NodeInfo Follower::info() const {
  NodeInfo info;
  std::lock_guard<std::mutex> lock(mutex_);
  info.term = inbox_.term();
  info.known_lsn = std::max(inbox_.known_lsn(), inbox_.received_lsn());
  info.commit_lsn = inbox_.commit_lsn();
  info.received_lsn = inbox_.received_lsn();
  info.durable_lsn = keeper_ != nullptr ? inbox_.logged_lsn() : 0;
  info.logged_term = inbox_.logged_term();
  info.join_lsn = primary_.complete_lsn;
  info.has_caught_up = keeper_ != nullptr && heard_ns_ != 0 && inbox_.logged_lsn() >= primary_.complete_lsn;
  info.applied_lsn = inbox_.applied_lsn();
  info.inbox_bytes = inbox_.bytes();
  info.lag_us = lag_ns() / kNsPerUs;
  info.transactions = transactions_;
  info.snapshot = snapshot_;
  info.snapshots = snapshots_;
  info.repairs = repairs_;
  info.repaired_groups = repaired_groups_;
  info.subscribed = options_.link.partitions.to_string();
  info.seeded_from = seeded_from_;
  info.peer_groups = peer_groups_;
  info.peer_failures = peer_failures_;
  info.peer = peer_;
  info.damaged = inbox_.damaged();
  info.transport = hears_multicast() ? primary_.transport.kind : "unicast";
  if (hears_multicast()) {
    info.channels = static_cast<uint32_t>(
        std::popcount(replication::channels_of(options_.link.partitions, primary_.transport.channels)));
  }
  info.transport_note = transport_note_;
  if (multicast_ != nullptr) {
    const std::string trouble = multicast_->trouble();
    if (!hears_multicast()) info.transport_note = trouble.empty() ? "nothing is heard by multicast" : trouble;
    const replication::MulticastProcess::Counters counters = multicast_->counters();
    info.resets = counters.resets;
    info.registered_bytes = counters.registered_bytes;
  }
  const replication::BulkInfo bulk = link_->bulk();
  if (!bulk.note.empty()) {
    info.transport_note += absl::StrCat(info.transport_note.empty() ? "" : "; ", replication::kBulkByGrpc, bulk.note);
  }
  info.bulk_bytes = bulk.bytes;
  info.registered_bytes += bulk.registered_bytes;
  info.malformed_datagrams = datagrams_.malformed + datagrams_.foreign;
  info.forged_datagrams = datagrams_.forged;
  info.replayed_datagrams = datagrams_.replayed;
  info.is_encrypted = key_.has_value();
  info.is_connected = is_connected_;
  info.damaged_archives = recovered_.damaged_archives + damaged_archives_.load(std::memory_order_relaxed);
  info.digests = digests_;
  info.digest_lsn = digest_ == nullptr ? 0 : digest_->lsn;
  std::string why;
  info.serves = failure_.ok() && !is_behind(0, &why);
  return info;
}

Status Follower::bar(uint64_t term, int64_t timeout_us) {
  std::unique_lock<std::mutex> lock(mutex_);
  barred_term_ = std::max(barred_term_, term);
  const auto is_logged = [this] { return keeper_ == nullptr || inbox_.logged_lsn() >= inbox_.received_lsn(); };
  changed_.wait_for(lock, std::chrono::microseconds(timeout_us),
                    [&] { return is_stopping_ || !failure_.ok() || is_logged(); });
  if (failure_.ok() && is_logged()) return Status();
  return absl::UnavailableError("what was received is not in the log yet");
}

StatusOr<std::shared_ptr<replay::WarmState>> hand_over(Node* node) {
  return dynamic_cast<Follower&>(*node).hand_over();
}

// As recovery would: all that is in the log counts, confirmed or not.
StatusOr<std::shared_ptr<replay::WarmState>> Follower::hand_over() {
  end_threads();
  std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_.ok()) return failure_;
  if (keeper_ == nullptr || inbox_.logged_lsn() != inbox_.received_lsn()) {
    return absl::UnavailableError("what was received is not in the log");
  }
  if (const auto groups = inbox_.unapplied(); !groups.empty()) SCYPER_RETURN_IF_ERROR(apply(groups));
  SCYPER_RETURN_IF_ERROR(query::LocalIndexes::drop(database_.get()));  // a primary has none
  auto warm = std::make_shared<replay::WarmState>();
  replay::Recovered& state = warm->recovered;
  state.lsn = inbox_.logged_lsn();
  state.confirmed_lsn = std::min(std::max(recovered_.confirmed_lsn, inbox_.commit_lsn()), state.lsn);
  state.term = std::max(recovered_.term, inbox_.logged_term());
  state.last_term = inbox_.logged_term();
  state.terms = terms_;
  for (const auto& position : inbox_.positions()) state.positions.push_back({position.number, position.hash});
  state.segments = keeper_->segments();
  state.damaged_archives = recovered_.damaged_archives + damaged_archives_.load(std::memory_order_relaxed);
  state.transactions = replayer_->transactions();
  state.log_bytes = applied_bytes_ - archived_bytes_;
  warm->newest = inbox_.newest();
  warm->made_segment = keeper_->made_segment();
  warm->identity = identity_;
  warm->requests = std::move(requests_);
  replayer_.reset();
  archivist_.reset();  // it may be within what it is given
  warm->database = std::move(database_);
  warm->compaction = std::move(compaction_);
  warm->lock = std::move(lock_);
  return warm;
}

Status Follower::run_at_border(std::function<void()> work) {
  BorderWork waiting;
  waiting.work = std::move(work);
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_stopping_ || !failure_.ok()) return sql_error("57P03", "the node is shutting down");
  border_work_.push_back(&waiting);
  changed_.notify_all();
  changed_.wait(lock, [&] { return waiting.is_done; });
  return waiting.status;
}

StatusOr<query::Forked> Follower::fork(query::ForkRequest request) {
  StatusOr<query::Forked> forked = absl::UnknownError("not forked");
  SCYPER_RETURN_IF_ERROR(run_at_border([&] { forked = fork_here(std::move(request), 0, 0); }));
  return forked;
}

}  // namespace scyper::secondary
