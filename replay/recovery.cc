#include "replay/recovery.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/failpoint.h"
#include "replay/log_scan.h"

namespace scyper::replay {

namespace {

Failpoint after_replay("recovery.after_replay");
Failpoint after_segment("recovery.after_segment");

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// One recovery. Threads: one.
class Recovery {
 public:
  Recovery(Disk* disk, const std::string& directory, const NodeIdentity& identity, query::Database* database,
           const RecoveryOptions& options)
      : disk_(disk), directory_(directory), identity_(identity), database_(database), options_(options) {}

  StatusOr<Recovered> run() {
    SCYPER_RETURN_IF_ERROR(replay_log());
    after_replay.fires();
    return std::move(result_);
  }

 private:
  void say(const std::string& line) const {
    if (options_.on_progress) options_.on_progress(line);
  }
  Status check_start(const LogScan& scan);
  Status replay_log();

  Disk* const disk_;
  const std::string& directory_;
  const NodeIdentity& identity_;
  query::Database* const database_;
  const RecoveryOptions& options_;
  Recovered result_;
};

// The log has to reach back to the archive.
Status Recovery::check_start(const LogScan& scan) {
  if (scan.start_lsn() <= result_.archive_lsn) return Status();
  return with_hint(sql_error("XX001", absl::StrCat("the log begins after LSN ", scan.start_lsn(),
                                                   ", but the newest usable archive ends at LSN ", result_.archive_lsn,
                                                   ": what lies between is missing")),
                   "Put back the missing log segments or a newer archive.");
}

Status Recovery::replay_log() {
  const double start_s = now_s();
  Replayer::Options options;
  options.threads = std::max(1u, options_.threads);
  SCYPER_ASSIGN_OR_RETURN(auto replayer, Replayer::create(database_, options));
  replayer->set_observer(options_.observer);
  SCYPER_ASSIGN_OR_RETURN(auto scan, LogScan::open(disk_, log_directory(directory_), identity_.cluster));
  Replayer::Range range = options_.range;
  range.from_lsn = result_.archive_lsn;
  result_.lsn = result_.archive_lsn;
  ScannedSegment segment;
  double said_s = start_s;
  bool is_first = true;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
    if (!any) break;
    if (is_first) SCYPER_RETURN_IF_ERROR(check_start(*scan));
    is_first = false;
    std::vector<ScannedGroup> groups;
    for (ScannedGroup& group : segment.groups) {
      result_.log_bytes += group.end - group.offset;
      if (group.complete_lsn > range.from_lsn) groups.push_back(std::move(group));
    }
    if (!groups.empty()) SCYPER_RETURN_IF_ERROR(replayer->apply(groups, range));
    after_segment.fires();
    if (now_s() - said_s >= 1) {
      said_s = now_s();
      say(absl::StrFormat("recovery: segment %d, LSN %d, %d transactions in %.1f s", segment.number,
                          scan->complete_lsn(), replayer->transactions(), said_s - start_s));
    }
    if (replayer->last_lsn() >= range.to_lsn) break;
  }
  result_.was_torn = scan->is_torn();
  if (scan->is_torn()) {
    say("recovery: torn tail, never acknowledged, is cut: " + scan->torn_reason());
    if (options_.cuts) SCYPER_RETURN_IF_ERROR(scan->cut());
  }
  result_.lsn = std::max(result_.lsn, replayer->last_lsn());
  if (!is_first && scan->complete_lsn() >= result_.archive_lsn) {
    result_.positions = scan->positions();
    result_.term = std::max<uint64_t>(result_.term, scan->term());
  }
  result_.segments = scan->segments();
  result_.transactions = replayer->transactions();
  result_.physical = replayer->physical();
  result_.last_time_us = replayer->last_time_us();
  result_.replay_s = now_s() - start_s;
  say(absl::StrFormat("recovery: %d transactions up to LSN %d in %.2f s", result_.transactions, result_.lsn,
                      result_.replay_s));
  return Status();
}

}  // namespace

StatusOr<Recovered> recover(Disk* disk, const std::string& directory, const NodeIdentity& identity,
                            query::Database* database, const RecoveryOptions& options) {
  return Recovery(disk, directory, identity, database, options).run();
}

}  // namespace scyper::replay
