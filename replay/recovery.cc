#include "replay/recovery.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/failpoint.h"
#include "base/postgres_epoch.h"
#include "replay/archive.h"
#include "replay/log_cut.h"
#include "replay/log_scan.h"
#include "storage/frozen_tier.h"
#include "storage/log_end.h"

namespace scyper::replay {

namespace {

Failpoint before_archive("recovery.before_archive");
Failpoint after_archive("recovery.after_archive");
Failpoint after_replay("recovery.after_replay");
Failpoint after_segment("recovery.after_segment");

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double thread_cpu_s() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The log behind an LSN, with its first segment.
struct LogStart {
  uint64_t lsn = 0;
  std::unique_ptr<LogScan> scan;
  ScannedSegment segment;
  bool has_segment = false;
};

// One recovery. Threads: one, and one more that reads the log's first segment while an archive is loaded.
class Recovery {
 public:
  Recovery(Disk* disk, const std::string& directory, const NodeIdentity& identity, query::Database* database,
           const RecoveryOptions& options)
      : disk_(disk), directory_(directory), identity_(identity), database_(database), options_(options) {}

  StatusOr<Recovered> run() {
    SCYPER_RETURN_IF_ERROR(make_replayer());
    before_archive.fires();
    if (options_.uses_archive) SCYPER_RETURN_IF_ERROR(load_newest_archive());
    after_archive.fires();
    Status replayed = replay_log();
    if (sqlstate_of(replayed) == "XX001" && result_.placed_rows > 0 && is_tier_damaged()) {
      replayed = replay_without_tier(replayed);
    }
    SCYPER_RETURN_IF_ERROR(replayed);
    after_replay.fires();
    SCYPER_RETURN_IF_ERROR(set_damaged_aside());
    return std::move(result_);
  }

 private:
  void say(const std::string& line) const {
    if (options_.on_progress) options_.on_progress(line);
  }
  std::string log_path() const { return options_.log.empty() ? log_directory(directory_) : options_.log; }
  LogScan::Care care() const { return options_.syncs ? LogScan::Care::kBelieves : LogScan::Care::kLooks; }
  void remember(const RecordView& record) const;
  Status make_replayer();
  Status begin_anew();
  bool is_tier_damaged() const { return database_->tier() != nullptr && !database_->tier()->damage().empty(); }
  Status load_newest_archive();
  Status load(const storage::ArchiveEntry& entry, bool uses_places);
  void keep_tier_files(const std::vector<storage::ArchiveEntry>& entries) const;
  bool is_wanted(const storage::ArchiveEntry& entry, const storage::ArchiveManifest& manifest) const;
  Status check_start(const LogScan& scan);
  Status torn_error(const LogScan& scan) const;
  void note_groups(const ScannedSegment& segment);
  Status drop_log();
  Status set_damaged_aside();
  Status end_log(LogScan* scan) const;
  StatusOr<LogStart> begin_log(uint64_t lsn) const;
  std::optional<LogStart> end_log_ahead();
  StatusOr<LogStart> take_log_start();
  Status replay_log();
  Status replay_without_tier(const Status& why);

  Disk* const disk_;
  const std::string& directory_;
  const NodeIdentity& identity_;
  query::Database* const database_;
  const RecoveryOptions& options_;
  std::unique_ptr<Replayer> replayer_;
  std::vector<storage::ArchiveEntry> damaged_;  // archives
  bool uses_places_ = true;
  Recovered result_;
  std::future<StatusOr<LogStart>> log_ahead_;  // the end of a recovery waits for it
  Status log_error_;                           // of what was read ahead
};

// Of a record with a client: its request, so that it is not repeated.
void Recovery::remember(const RecordView& record) const {
  if (options_.observer) options_.observer(record);
  options_.requests->finish(record);
}

// Not beyond the point to which the database is restored.
bool Recovery::is_wanted(const storage::ArchiveEntry& entry, const storage::ArchiveManifest& manifest) const {
  if (entry.lsn > options_.range.to_lsn) return false;
  return options_.range.to_time_us == INT64_MAX || manifest.time_us - kPostgresEpochUs <= options_.range.to_time_us;
}

Status Recovery::load(const storage::ArchiveEntry& entry, bool uses_places) {
  if (options_.threads > 1) {
    end_log_ahead();
    log_ahead_ = std::async(std::launch::async, [this, lsn = entry.lsn] { return begin_log(lsn); });
  }
  auto loaded = load_archive(
      disk_, entry.path, std::max(1u, options_.threads), database_,
      [this](const std::vector<std::string>& texts) { replayer_->prepare(texts); }, uses_places, options_.partitions);
  if (!loaded.ok()) {
    SCYPER_RETURN_IF_ERROR(make_replayer());  // what was compiled was for those tables
    return loaded.status();
  }
  const std::string* requests = loaded->manifest.attachment("requests");
  if (requests != nullptr && options_.requests != nullptr) {
    const Status decoded = options_.requests->decode(*requests);
    if (!decoded.ok()) {
      SCYPER_RETURN_IF_ERROR(begin_anew());
      return decoded;
    }
  }
  result_.archive_lsn = loaded->manifest.lsn;
  result_.archive_bytes = loaded->raw_bytes;
  result_.placed_rows = loaded->placed_rows;
  result_.archive_s = loaded->load_s;
  result_.index_s = loaded->index_s;
  result_.term = result_.last_term = std::max<uint64_t>(1, loaded->manifest.term);
  result_.lacks_positions = result_.may_be_in_group = true;
  if (options_.archives.empty()) {
    result_.base = std::make_shared<storage::ArchiveBase>();
    result_.base->path = entry.path;
    result_.base->manifest.lsn = loaded->manifest.lsn;
    result_.base->manifest.tables = std::move(loaded->manifest.tables);
  }
  for (const std::string& warning : loaded->warnings) {
    say(absl::StrCat("recovery: rows of the archive are read instead of the tier: ", warning));
  }
  say(absl::StrFormat("recovery: %d rows, %.1f MB in %.2f s, indexes in %.2f s", loaded->rows,
                      static_cast<double>(loaded->raw_bytes) / 1e6, loaded->load_s, loaded->index_s));
  if (loaded->placed_rows > 0) say(absl::StrCat("recovery: ", loaded->placed_rows, " of these rows stay in the tier"));
  return Status();
}

// Without what was loaded, and what was compiled for it.
Status Recovery::begin_anew() {
  database_->restore(std::make_shared<const query::Catalog>());
  return make_replayer();
}

// A page that the log needed may be damaged: once more, with the rows of the archive.
Status Recovery::replay_without_tier(const Status& why) {
  say(absl::StrCat("recovery: once more, without what is in the tier: ", std::string(why.message())));
  uses_places_ = false;
  result_ = Recovered();
  damaged_.clear();
  SCYPER_RETURN_IF_ERROR(begin_anew());
  SCYPER_RETURN_IF_ERROR(load_newest_archive());
  return replay_log();
}

// What the archives name stays when the node serves.
void Recovery::keep_tier_files(const std::vector<storage::ArchiveEntry>& entries) const {
  if (database_->tier() == nullptr || !options_.archives.empty()) return;
  for (const storage::ArchiveEntry& entry : entries) {
    if (!entry.is_complete) continue;
    auto stamps = storage::read_archive_tier_files(disk_, entry.path);
    if (stamps.ok()) database_->tier()->keep(entry.lsn, *std::move(stamps));
  }
}

// The newest one that is whole; an older one needs more of the log, which retention keeps.
Status Recovery::load_newest_archive() {
  const std::string archives = options_.archives.empty() ? archives_directory(directory_) : options_.archives;
  if (!disk_->exists(archives)) return Status();
  SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(disk_, archives));
  keep_tier_files(entries);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (!entry->is_complete) {
      if (options_.cuts) SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk_, *entry));
      continue;
    }
    auto manifest = storage::read_manifest(disk_, entry->path);
    if (manifest.ok() && !is_wanted(*entry, *manifest)) continue;
    Status status = manifest.status();
    if (manifest.ok() &&
        (manifest->cluster[0] != identity_.cluster.words[0] || manifest->cluster[1] != identity_.cluster.words[1])) {
      return sql_error("XX001", absl::StrCat(entry->path, ": the archive belongs to another cluster"));
    }
    if (status.ok()) {
      say(absl::StrCat("recovery: archive of LSN ", entry->lsn));
      status = load(*entry, uses_places_);
      if (sqlstate_of(status) == "XX001" && uses_places_ && is_tier_damaged()) {
        say(absl::StrCat("recovery: what is in the tier cannot be used: ", std::string(status.message())));
        status = load(*entry, false);
      }
      if (status.ok()) return Status();
    }
    if (sqlstate_of(status) != "XX001") return status;
    say(absl::StrCat("recovery: the archive cannot be used: ", std::string(status.message())));
    damaged_.push_back(*entry);
    ++result_.damaged_archives;
  }
  return Status();
}

// The log has to reach back to the archive.
Status Recovery::check_start(const LogScan& scan) {
  if (scan.start_lsn() <= result_.archive_lsn) return Status();
  return with_hint(sql_error("XX001", absl::StrCat("the log begins after LSN ", scan.start_lsn(),
                                                   ", but the newest usable archive ends at LSN ", result_.archive_lsn,
                                                   ": what lies between is missing")),
                   "Put back the missing log segments or a newer archive.");
}

Status Recovery::torn_error(const LogScan& scan) const {
  return with_hint(
      sql_error("XX001", absl::StrCat("the log's last group is torn or damaged: ", scan.torn_reason(),
                                      "; the last transaction before it has LSN ", scan.complete_lsn(),
                                      ". In the commit modes that wait for copies it may have been acknowledged")),
      absl::StrCat("Voters whose received_lsn is above ", scan.complete_lsn(),
                   " have it (scyper status): make one of them the primary. When none has, or to give it up: scyper "
                   "log cut ",
                   directory_, "."));
}

// Oldest first: what a crash leaves is still a log that ends before the archive.
Status Recovery::drop_log() {
  const std::string log = log_path();
  SCYPER_RETURN_IF_ERROR(storage::forget_log_end(disk_, log));
  SCYPER_ASSIGN_OR_RETURN(auto files, storage::list_segments(disk_, log));
  for (const storage::SegmentFile& file : files) {
    SCYPER_RETURN_IF_ERROR(disk_->remove(file.path));
    SCYPER_RETURN_IF_ERROR(disk_->sync_directory(log));
  }
  return Status();
}

// The state has been found without them: from now on they are not among the archives that are kept, whose log is
// dropped. Their files go when the next archive is written, or at the next start.
Status Recovery::set_damaged_aside() {
  if (!options_.cuts || !options_.archives.empty()) return Status();
  for (const storage::ArchiveEntry& entry : damaged_) {
    SCYPER_RETURN_IF_ERROR(storage::set_archive_aside(disk_, entry));
  }
  return Status();
}

Status Recovery::make_replayer() {
  Replayer::Options options;
  options.threads = std::max(1u, options_.threads);
  options.partitions = options_.partitions;
  options.makes_room = true;
  replayer_.reset();
  SCYPER_ASSIGN_OR_RETURN(replayer_, Replayer::create(database_, options));
  if (options_.requests != nullptr) {
    replayer_->set_observer([this](const RecordView& record) { remember(record); });
  } else {
    replayer_->set_observer(options_.observer);
  }
  return Status();
}

void Recovery::note_groups(const ScannedSegment& segment) {
  add_terms(segment, &result_.terms);
  for (const ScannedGroup& group : segment.groups) {
    result_.last_term = group.batches.back().header.term;
    result_.confirmed_lsn = std::max(result_.confirmed_lsn, group.batches.back().header.commit_lsn);
  }
}

// Nothing but groups is left, so that a node which restarts often has no segments full of zeros.
Status Recovery::end_log(LogScan* scan) const {
  if (scan->is_torn()) say("recovery: torn tail, never acknowledged, is cut: " + scan->torn_reason());
  if (!options_.cuts) return Status();
  SCYPER_RETURN_IF_ERROR(scan->cut());
  return scan->trim();
}

StatusOr<LogStart> Recovery::begin_log(uint64_t lsn) const {
  LogStart start;
  start.lsn = lsn;
  SCYPER_ASSIGN_OR_RETURN(start.scan, LogScan::open(disk_, log_path(), identity_.cluster, care()));
  SCYPER_RETURN_IF_ERROR(start.scan->skip_to(lsn));
  SCYPER_ASSIGN_OR_RETURN(start.has_segment, start.scan->next(&start.segment));
  return start;
}

// An error of it ends the recovery, also when it was read for another archive: that a segment could not be synced is
// told once only.
std::optional<LogStart> Recovery::end_log_ahead() {
  if (!log_ahead_.valid()) return std::nullopt;
  auto start = log_ahead_.get();
  log_error_.Update(start.status());
  if (!start.ok()) return std::nullopt;
  return *std::move(start);
}

StatusOr<LogStart> Recovery::take_log_start() {
  std::optional<LogStart> start = end_log_ahead();
  SCYPER_RETURN_IF_ERROR(log_error_);
  if (start.has_value() && start->lsn == result_.archive_lsn) return *std::move(start);
  return begin_log(result_.archive_lsn);
}

Status Recovery::replay_log() {
  const double start_s = now_s();
  SCYPER_ASSIGN_OR_RETURN(LogStart start, take_log_start());
  result_.read_s += now_s() - start_s;
  const std::unique_ptr<LogScan> scan = std::move(start.scan);
  Replayer::Range range = options_.range;
  range.from_lsn = result_.archive_lsn;
  result_.lsn = result_.archive_lsn;
  ScannedSegment segment = std::move(start.segment);
  double said_s = start_s;
  bool is_first = true;
  for (bool any = start.has_segment; any;) {
    if (is_first) SCYPER_RETURN_IF_ERROR(check_start(*scan));
    is_first = false;
    std::vector<ScannedGroup> groups;
    note_groups(segment);
    for (ScannedGroup& group : segment.groups) {
      result_.log_bytes += group.end - group.offset;
      if (group.complete_lsn > range.from_lsn) groups.push_back(std::move(group));
    }
    const double apply_s = now_s(), apply_cpu_s = thread_cpu_s();
    if (!groups.empty()) SCYPER_RETURN_IF_ERROR(replayer_->apply(groups, range));
    result_.replay_s += now_s() - apply_s;
    result_.replay_cpu_s += thread_cpu_s() - apply_cpu_s;
    after_segment.fires();
    if (now_s() - said_s >= 1) {
      said_s = now_s();
      say(absl::StrFormat("recovery: segment %d, LSN %d, %d transactions in %.1f s", segment.number,
                          scan->complete_lsn(), replayer_->transactions(), said_s - start_s));
    }
    if (replayer_->last_lsn() >= range.to_lsn) break;
    const double read_s = now_s();
    SCYPER_ASSIGN_OR_RETURN(any, scan->next(&segment));
    result_.read_s += now_s() - read_s;
  }
  result_.was_torn = scan->is_torn();
  if (scan->is_torn() && options_.refuses_torn) return torn_error(*scan);
  if (!is_first && replayer_->last_lsn() < range.to_lsn) SCYPER_RETURN_IF_ERROR(end_log(scan.get()));
  result_.lsn = std::max(result_.lsn, replayer_->last_lsn());
  result_.confirmed_lsn = std::min(std::max(result_.confirmed_lsn, result_.archive_lsn), result_.lsn);
  const bool ends_before = !is_first && scan->complete_lsn() < result_.archive_lsn;
  if (ends_before && options_.log_may_lag) {
    say(absl::StrCat("recovery: the log ends at LSN ", scan->complete_lsn(), ", before the archive: it is dropped"));
    result_.terms.clear();
    result_.last_term = result_.term;
    return drop_log();
  }
  if (ends_before) {
    return with_hint(sql_error("XX001", absl::StrCat("the log ends at LSN ", scan->complete_lsn(),
                                                     ", before the archive of LSN ", result_.archive_lsn)),
                     "Put back the log segments that are missing, or restore the archive into a new directory.");
  }
  if (!is_first) {
    result_.positions = scan->positions();
    result_.lacks_positions = scan->lacks_positions();
    result_.may_be_in_group = false;
    result_.term = std::max<uint64_t>(result_.term, scan->term());
  }
  result_.segments = scan->segments();
  result_.transactions = replayer_->transactions();
  result_.physical = replayer_->physical();
  result_.last_time_us = replayer_->last_time_us();
  say(absl::StrFormat("recovery: %d transactions up to LSN %d in %.2f s, reading the log %.2f s", result_.transactions,
                      result_.lsn, result_.replay_s, result_.read_s));
  return Status();
}

}  // namespace

StatusOr<Recovered> recover(Disk* disk, const std::string& directory, const NodeIdentity& identity,
                            query::Database* database, const RecoveryOptions& options) {
  return Recovery(disk, directory, identity, database, options).run();
}

}  // namespace scyper::replay
