#include "replay/log_cut.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "replay/recovery.h"
#include "storage/archive.h"
#include "storage/log_end.h"

namespace scyper::replay {

namespace {

Failpoint before_log_cut("rejoin.before_cut");
Failpoint in_log_cut("rejoin.in_cut");
Failpoint after_log_cut("rejoin.after_cut");

// Of a segment, what is known without its groups.
struct Extent {
  uint64_t number = 0;
  std::string path;
  uint64_t start_lsn = 0;
  uint64_t keep_bytes = 0;  // up to the end of the last group that stays; 0: none does, as in one without groups
  bool has_more = false;    // groups that go
};

StatusOr<std::vector<Extent>> find_extents(Disk* disk, const std::string& log, const replication::ClusterId& cluster,
                                           uint64_t lsn) {
  SCYPER_ASSIGN_OR_RETURN(auto scan, LogScan::open(disk, log, cluster));
  std::vector<Extent> extents;
  bool is_border = false;
  ScannedSegment segment;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
    if (!any) break;
    Extent extent{segment.number, segment.path, segment.header.start_lsn, 0, false};
    for (const ScannedGroup& group : segment.groups) {
      if (group.complete_lsn <= lsn) {
        extent.keep_bytes = group.end;
        is_border = is_border || group.complete_lsn == lsn;
      } else {
        extent.has_more = true;
      }
    }
    extents.push_back(std::move(extent));
  }
  if (!is_border) return absl::OutOfRangeError(absl::StrCat(log, ": no group ends at LSN ", lsn));
  return extents;
}

Status copy_aside(Disk* disk, const std::vector<Extent>& extents, const std::string& aside) {
  const std::string log = log_directory(aside);
  if (disk->exists(log)) {
    SCYPER_ASSIGN_OR_RETURN(const auto names, disk->list(log));
    for (const std::string& name : names) SCYPER_RETURN_IF_ERROR(disk->remove(log + "/" + name));
  }
  SCYPER_RETURN_IF_ERROR(disk->make_directory(aside));
  SCYPER_RETURN_IF_ERROR(disk->make_directory(log));
  for (const Extent& extent : extents) {
    if (!extent.has_more) continue;
    SCYPER_ASSIGN_OR_RETURN(const std::string bytes, disk->read_file(extent.path));
    SCYPER_RETURN_IF_ERROR(disk->replace_file(log + extent.path.substr(extent.path.rfind('/')), bytes));
  }
  SCYPER_RETURN_IF_ERROR(disk->sync_directory(aside));
  return disk->sync_directory(directory_of(aside));
}

}  // namespace

// A segment can begin in a term of which no batch was written: only batches count.
void add_terms(const ScannedSegment& segment, std::vector<TermStart>* terms) {
  uint64_t base_lsn = segment.header.start_lsn;
  for (const ScannedGroup& group : segment.groups) {
    const uint64_t term = group.batches.back().header.term;
    if (terms->empty() || terms->back().term != term) terms->push_back({term, base_lsn});
    base_lsn = group.complete_lsn;
  }
}

StatusOr<LogTerms> read_log_terms(Disk* disk, const std::string& directory, const replication::ClusterId& cluster) {
  LogTerms terms;
  if (!disk->exists(log_directory(directory))) return terms;
  SCYPER_ASSIGN_OR_RETURN(auto scan, LogScan::open(disk, log_directory(directory), cluster));
  ScannedSegment segment;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
    if (!any) break;
    add_terms(segment, &terms.starts);
  }
  terms.lsn = scan->complete_lsn();
  return terms;
}

Status cut_log(Disk* disk, const std::string& directory, const replication::ClusterId& cluster, uint64_t lsn,
               const std::string& aside) {
  const std::string log = log_directory(directory), archives = archives_directory(directory);
  SCYPER_ASSIGN_OR_RETURN(const std::vector<Extent> extents, find_extents(disk, log, cluster, lsn));
  std::vector<storage::ArchiveEntry> entries;
  if (disk->exists(archives)) {
    SCYPER_ASSIGN_OR_RETURN(entries, storage::list_archives(disk, archives));
  }
  const uint64_t start_lsn = extents.empty() ? 0 : extents.front().start_lsn;
  const auto is_base = [&](const storage::ArchiveEntry& entry) {
    return entry.is_complete && entry.lsn >= start_lsn && entry.lsn <= lsn;
  };
  if (start_lsn != 0 && std::none_of(entries.begin(), entries.end(), is_base)) {
    return absl::OutOfRangeError(absl::StrCat(log, " begins behind LSN ", start_lsn, ", and no archive up to LSN ", lsn,
                                              " is there that it goes on from"));
  }
  before_log_cut.fires();
  if (!aside.empty()) SCYPER_RETURN_IF_ERROR(copy_aside(disk, extents, aside));
  const auto last = std::find_if(extents.rbegin(), extents.rend(), [](const auto& e) { return e.keep_bytes != 0; });
  if (last == extents.rend()) {
    SCYPER_RETURN_IF_ERROR(storage::forget_log_end(disk, log));
  } else {
    SCYPER_RETURN_IF_ERROR(storage::write_log_end(disk, log, {last->number, last->keep_bytes}));
  }
  // newest first: what a crash leaves has an older end, as this
  for (auto entry = entries.rbegin(); entry != entries.rend() && entry->lsn > lsn; ++entry) {
    SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk, *entry));
  }
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    if (extent->keep_bytes != 0 && !extent->has_more) break;
    in_log_cut.fires();
    if (extent->keep_bytes == 0) {
      SCYPER_RETURN_IF_ERROR(disk->remove(extent->path));
      SCYPER_RETURN_IF_ERROR(disk->sync_directory(log));
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(auto file, disk->open(extent->path, OpenMode::kWrite));
    SCYPER_RETURN_IF_ERROR(file->resize(extent->keep_bytes));
    SCYPER_RETURN_IF_ERROR(file->sync());
  }
  after_log_cut.fires();
  return Status();
}

}  // namespace scyper::replay
