#include "durability.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "replay/warm_state.h"

namespace scyper::primary {

Durability::Durability(const EngineOptions& options, ExecutorEnvironment* environment)
    : options_(options), environment_(environment) {}

Durability::~Durability() {
  environment_->log = nullptr;
  environment_->requests = nullptr;
  if (publication_ != nullptr) publication_->outbox().stop();
  if (publication_ != nullptr) publication_->set_log(nullptr);
  const bool is_whole = log_ != nullptr && !log_->is_failed() && !log_->is_full();
  log_.reset();
  if (shadow_ != nullptr && is_whole) compare_shadow();
}

StatusOr<std::unique_ptr<Durability>> Durability::start(const EngineOptions& options, ExecutorEnvironment* environment,
                                                        replay::WarmState* warm) {
  std::unique_ptr<Durability> durability(new Durability(options, environment));
  if (options.log.directory.empty()) {
    if (options.replication.is_on) return sql_error("22023", "a primary with secondaries needs a data directory");
    durability->remember_requests();  // as long as the process lives
    durability->make_streams();
    return durability;
  }
  if (options.redo == RedoMode::kNone) {
    return sql_error("22023", "a data directory needs redo: set redo to logical or physical");
  }
  SCYPER_RETURN_IF_ERROR(durability->open(warm));
  return durability;
}

void Durability::make_streams() {
  for (uint32_t stream = 0; stream <= options_.partitions; ++stream) {
    LogBuffer* buffer = buffers_.empty() ? nullptr : buffers_[stream].get();
    environment_->streams.push_back(
        std::make_unique<RedoStream>(stream, buffer, options_.redo_sink.get(), &environment_->lsns));
  }
}

void Durability::remember_requests() {
  requests_ = std::make_unique<replay::RequestWindow>(options_.log.request_window);
  environment_->requests = requests_.get();
}

// What a secondary had, instead of recovering it.
Status Durability::take_over(replay::WarmState* warm) {
  if (warm->identity.partitions != options_.partitions) {
    return sql_error("22023", absl::StrCat("the database has ", warm->identity.partitions, " partitions"));
  }
  lock_ = std::move(warm->lock);
  identity_ = warm->identity;
  requests_ = std::move(warm->requests);
  environment_->requests = requests_.get();
  recovered_ = std::move(warm->recovered);
  newest_ = std::move(warm->newest);
  made_segment_ = warm->made_segment;
  return Status();
}

Status Durability::recover() {
  const LogOptions& options = options_.log;
  SCYPER_RETURN_IF_ERROR(disk_->make_directory(options.directory));
  if (own_disk_ != nullptr) {  // the machine's
    SCYPER_ASSIGN_OR_RETURN(lock_, replay::DataLock::take(options.directory));
  }
  SCYPER_ASSIGN_OR_RETURN(identity_, replay::open_data_directory(disk_, options.directory, options_.partitions));
  remember_requests();
  replay::RecoveryOptions recovery;
  recovery.requests = requests_.get();
  recovery.threads = options.recovery_threads != 0 ? options.recovery_threads : options_.workers;
  recovery.on_progress = options.on_progress;
  // where there are elections, the others have it
  recovery.refuses_torn = is_quorum() && options_.replication.term == 0 && options_.replication.voters > 1;
  SCYPER_ASSIGN_OR_RETURN(recovered_,
                          replay::recover(disk_, options.directory, identity_, environment_->database, recovery));
  if (recovered_.base != nullptr) note_archive(recovered_.base->manifest);
  return Status();
}

Status Durability::open(replay::WarmState* warm) {
  const LogOptions& options = options_.log;
  if (options.disk == nullptr) own_disk_ = make_real_disk();
  disk_ = own_disk_ != nullptr ? own_disk_.get() : options.disk;
  SCYPER_RETURN_IF_ERROR(warm != nullptr ? take_over(warm) : recover());
  own_archive_ = std::make_unique<replay::OwnArchive>(disk_, environment_->database->tier());
  own_archive_->set(recovered_.base);
  if (options_.replication.term != 0) {
    SCYPER_RETURN_IF_ERROR(begin_elected_term());
  } else if (options_.replication.is_on) {
    SCYPER_ASSIGN_OR_RETURN(recovered_.term, replay::raise_term(disk_, options.directory, recovered_.term));
  }
  if (const std::string kept = replay::kept_path(options.directory); disk_->exists(kept)) {
    SCYPER_RETURN_IF_ERROR(disk_->remove(kept));  // what it kept counts again
    SCYPER_RETURN_IF_ERROR(disk_->sync_directory(options.directory));
  }
  storage::LogAppender::Options appender;
  appender.cluster[0] = identity_.cluster.words[0];
  appender.cluster[1] = identity_.cluster.words[1];
  appender.term = recovered_.term;
  appender.segment_bytes = (options.segment_bytes + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes;
  appender.retention_bytes = options.retention_bytes;
  appender.made_segment = made_segment_;
  if (options.shadows_redo && warm == nullptr) SCYPER_RETURN_IF_ERROR(start_shadow());
  GroupCommit::Start start;
  start.shadow = shadow_.get();
  SCYPER_ASSIGN_OR_RETURN(start.appender, storage::LogAppender::create(disk_, replay::log_directory(options.directory),
                                                                       appender, recovered_.segments));
  start.cluster = identity_.cluster;
  start.term = recovered_.term;
  start.positions = recovered_.positions;
  start.durable_lsn = recovered_.lsn;
  environment_->lsns.last = recovered_.lsn;
  environment_->last_alone_lsn = recovered_.lsn;
  for (uint32_t stream = 0; stream <= options_.partitions; ++stream) {
    buffers_.push_back(std::make_unique<LogBuffer>());
    start.streams.push_back(buffers_.back().get());
  }
  make_streams();
  SCYPER_RETURN_IF_ERROR(start_publication(&start));
  log_ = std::make_unique<GroupCommit>(options, std::move(start), &environment_->lsns, options_.workers,
                                       &environment_->clock);
  environment_->log = log_.get();
  if (publication_ != nullptr) publication_->set_log(log_.get());
  log_->start();
  // the first batch of the term
  if (options_.replication.term != 0) static_cast<void>(publication_->markers().draw(0));
  if (options_.replication.term != 0) publication_->wake_log();
  return Status();
}

// A state that was taken over has been replayed already. Its log may lack what its archive holds.
Status Durability::start_shadow() {
  RedoShadow::Start start;
  start.database = environment_->database->options();
  start.disk = disk_;
  start.directory = options_.log.directory;
  start.identity = identity_;
  start.lsn = recovered_.lsn;
  SCYPER_ASSIGN_OR_RETURN(shadow_, RedoShadow::start(std::move(start)));
  return Status();
}

// After the workers have ended and the log has been written.
void Durability::compare_shadow() const {
  const Status compared = shadow_->compare(*environment_->database, environment_->lsns.last.load());
  if (compared.ok()) return;
  std::fprintf(stderr, "scyper: %s\n", std::string(compared.message()).c_str());
  CHECK(compared.ok());
}

// Above all that the log has: else somebody else's batches would be taken for this node's.
Status Durability::begin_elected_term() {
  const uint64_t term = options_.replication.term;
  const uint64_t known = recovered_.segments.empty() ? recovered_.last_term : recovered_.term;
  if (known >= term) {
    return sql_error("XX000", absl::StrCat("term ", term, " was won, but the log has term ", known));
  }
  SCYPER_ASSIGN_OR_RETURN(recovered_.term, replay::raise_term(disk_, options_.log.directory, term - 1));
  if (recovered_.term == term) return Status();
  return sql_error("XX000",
                   absl::StrCat("term ", term, " was won, but this node has begun term ", recovered_.term - 1));
}

bool Durability::is_quorum() const {
  return options_.log.mode == CommitMode::kQuorum || options_.log.mode == CommitMode::kQuorumDurable;
}

Status Durability::start_publication(GroupCommit::Start* start) {
  if (!options_.replication.is_on) {
    return is_quorum() ? sql_error("22023", "commit modes quorum and quorum_durable need secondaries: set replication")
                       : Status();
  }
  Publication::Start publication;
  publication.cluster = identity_.cluster;
  publication.term = recovered_.term;
  publication.is_elected = options_.replication.term != 0;
  publication.is_quorum = is_quorum();
  publication.terms = recovered_.terms;
  publication.lsn = recovered_.lsn;
  // What was not confirmed before the end may be on this disk only: no reader, no request id is answered from it before
  // it has its copies, or the first batch of the term has.
  if (publication.is_elected) {
    start->confirmed_lsn = 0;
  } else if (is_quorum()) {
    start->confirmed_lsn = recovered_.confirmed_lsn;
  }
  publication.commit_lsn = start->confirmed_lsn.value_or(recovered_.lsn);
  publication.disk = disk_;
  publication.directory = options_.log.directory;
  publication.partitions = identity_.partitions;
  if (!options_.replication.multicast_key_file.empty()) {
    SCYPER_ASSIGN_OR_RETURN(publication.key, replication::DatagramKey::read(options_.replication.multicast_key_file));
  }
  publication_ = std::make_unique<Publication>(options_.replication, publication, std::move(newest_), environment_);
  start->outbox = &publication_->outbox();
  start->members = &publication_->members();
  start->markers = &publication_->markers();
  // this node is one of the voters
  if (is_quorum()) start->copies = options_.replication.voters / 2;
  if (publication.is_elected) start->start_copies = options_.replication.voters / 2;
  start->is_elected = publication.is_elected;
  start->leads = options_.replication.leads;
  return Status();
}

Engine::LogInfo Durability::log_info() const {
  Engine::LogInfo info;
  info.is_on = true;
  info.mode = log_->mode();
  info.is_full = log_->is_full();
  info.is_failed = log_->is_failed();
  info.confirmed_lsn = log_->confirmed_lsn();  // in this order: each is at most the next
  info.durable_lsn = log_->durable_lsn();
  info.last_lsn = environment_->lsns.last.load();
  info.groups = log_->groups();
  info.bytes_written = log_->bytes_written();
  info.archive_bytes = archive_bytes_.load(std::memory_order_relaxed);
  info.damaged_archives = recovered_.damaged_archives + damaged_archives_.load(std::memory_order_relaxed);
  info.archive_lsn = archive_lsn_.load(std::memory_order_relaxed);
  info.archive_time_us = archive_time_us_.load(std::memory_order_relaxed);
  info.recovered_transactions = recovered_.transactions;
  info.recovery_seconds = recovered_.archive_s + recovered_.index_s + recovered_.read_s + recovered_.replay_s;
  return info;
}

}  // namespace scyper::primary
