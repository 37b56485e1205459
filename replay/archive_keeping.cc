#include "replay/archive_keeping.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/pace.h"
#include "storage/frozen_tier.h"

namespace scyper::replay {

namespace {

Failpoint before_retire("archive.before_retire");
Failpoint after_retire("archive.after_retire");

// One directory, while nobody writes to it. Threads: one.
class Keeper {
 public:
  Keeper(Disk* disk, const ArchiveKeeping& keeping)
      : disk_(disk), keeping_(keeping), pace_(keeping.bytes_per_second_max) {}

  // false: damaged. An error says nothing about the archive.
  StatusOr<bool> is_whole(const std::string& path) {
    const Status status = verify_archive(disk_, path, [this](uint64_t stored_bytes) -> Status {
                            Status going_on;
                            const auto is_over = [&] {
                              if (keeping_.interruption) going_on = keeping_.interruption();
                              return !going_on.ok();
                            };
                            if (!is_over()) pace_.pass(stored_bytes, is_over);
                            is_interrupted_ = !going_on.ok();
                            return going_on;
                          }).status();
    if (status.ok()) return true;
    if (sqlstate_of(status) != "XX001") return status;
    if (keeping_.on_damage) {
      keeping_.on_damage(absl::StrCat("the archive ", path, " is damaged: ", std::string(status.message())));
    }
    return false;
  }

  // LSN of the oldest archive that stays; 0: there are fewer than wanted, as far as can be told. written_lsn: of one
  // that is known to be whole. What cannot be read now is neither counted nor touched.
  StatusOr<uint64_t> retire(const std::string& archives, uint64_t written_lsn) {
    SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(disk_, archives));
    // of attempts that failed, or set aside; nothing is being written now
    for (const storage::ArchiveEntry& entry : entries) {
      if (!entry.is_complete) SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk_, entry));
    }
    std::erase_if(entries, [](const storage::ArchiveEntry& entry) { return !entry.is_complete; });
    const size_t kept = std::max(1u, keeping_.kept);
    size_t whole = 0, oldest = entries.size();
    while (whole < kept && oldest > 0) {
      const storage::ArchiveEntry& entry = entries[--oldest];
      StatusOr<bool> is_one = true;
      if (entry.lsn != written_lsn) is_one = is_whole(entry.path);
      if (!is_one.ok()) {
        if (is_interrupted_) return is_one.status();
        warn(absl::StrCat("the archive ", entry.path, " cannot be checked: ", std::string(is_one.status().message())));
        continue;
      }
      if (!*is_one) SCYPER_RETURN_IF_ERROR(storage::set_archive_aside(disk_, entry));
      whole += *is_one ? 1 : 0;
    }
    if (whole < kept) return 0;
    for (size_t i = 0; i < oldest; ++i) {
      before_retire.fires();
      SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk_, entries[i]));
      after_retire.fires();
    }
    return entries[oldest].lsn;
  }

  // The archive that was written is whole, whatever becomes of those before it: 0, as from retire(), after an error.
  StatusOr<uint64_t> try_to_retire(const std::string& archives, uint64_t written_lsn) {
    auto oldest = retire(archives, written_lsn);
    if (oldest.ok() || is_interrupted_) return oldest;
    warn(absl::StrCat(archives, ": older archives stay: ", std::string(oldest.status().message())));
    return 0;
  }

 private:
  void warn(const std::string& line) const {
    if (keeping_.on_warning) keeping_.on_warning(line);
  }

  Disk* const disk_;
  const ArchiveKeeping& keeping_;
  Pace pace_;
  bool is_interrupted_ = false;  // by keeping_.interruption
};

// Files of the tier that only other archives have named may go. When it cannot be told which there are, they stay.
void keep_tier_files(Disk* disk, const std::string& archives, storage::FrozenTier* tier) {
  auto entries = storage::list_archives(disk, archives);
  if (tier == nullptr || !entries.ok()) return;
  std::set<uint64_t> lsns;
  for (const storage::ArchiveEntry& entry : *entries) {
    if (entry.is_complete) lsns.insert(entry.lsn);
  }
  tier->keep_only(lsns);
}

StatusOr<ArchiveKept> write_and_retire(Disk* disk, const std::string& archives, const ArchiveKeeping& keeping,
                                       const WriteArchive& write) {
  for (const bool is_again : {false, true}) {
    ArchiveKept kept;
    SCYPER_ASSIGN_OR_RETURN(kept.written, write(is_again));
    const std::string path = storage::archive_path(archives, kept.written.lsn);
    Keeper keeper(disk, keeping);
    SCYPER_ASSIGN_OR_RETURN(const bool is_whole, keeper.is_whole(path));
    if (!is_whole) {  // its rows are in memory
      SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk, {kept.written.lsn, path, true}));
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(kept.oldest_lsn, keeper.try_to_retire(archives, kept.written.lsn));
    return kept;
  }
  return sql_error("58030", absl::StrCat(archives, ": archives are damaged as soon as they are written"));
}

}  // namespace

StatusOr<ArchiveKept> write_kept_archive(Disk* disk, const std::string& archives, const ArchiveKeeping& keeping,
                                         const WriteArchive& write) {
  auto kept = write_and_retire(disk, archives, keeping, write);
  keep_tier_files(disk, archives, keeping.tier);
  return kept;
}

}  // namespace scyper::replay
