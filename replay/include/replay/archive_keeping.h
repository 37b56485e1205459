#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "replay/archive.h"

namespace scyper::storage {
class FrozenTier;
}

namespace scyper::replay {

// Which archives of a data directory stay. Nothing goes for whose loss another archive has to make up before that one
// has been read back: docs/durability.md, "Archives".
struct ArchiveKeeping {
  uint32_t kept = 2;                                   // whole ones; at least 1
  uint64_t bytes_per_second_max = 0;                   // of reading; 0 = no bound
  std::function<Status()> interruption;                // asked now and then: why not to go on. May be empty
  std::function<void(const std::string&)> on_damage;   // a line for each damaged archive. May be empty
  std::function<void(const std::string&)> on_warning;  // a line for what older archives do not allow now. May be empty
  storage::FrozenTier* tier = nullptr;                 // keeps the files that these archives name. May be null
};
struct ArchiveKept {
  ArchiveResult written;
  uint64_t oldest_lsn =
      0;  // of those that stay: no log before it is needed. 0: there are fewer than wanted, or it is not known
};
// Writes an archive to the directory, reads it back, and writes another one when it is damaged (write: with
// is_again, then nothing of earlier archives may be relied upon). Then reads those before it, the newest first, until
// enough whole ones are found: damaged ones are set aside, older ones go. One that cannot be read now (no descriptor,
// no memory) does not count; an error there is a warning and keeps all. 58030 when what was written is damaged both
// times: nothing has gone but these; the interruption's own error. Threads: one per directory.
using WriteArchive = std::function<StatusOr<ArchiveResult>(bool is_again)>;
StatusOr<ArchiveKept> write_kept_archive(Disk* disk, const std::string& archives, const ArchiveKeeping& keeping,
                                         const WriteArchive& write);

}  // namespace scyper::replay
