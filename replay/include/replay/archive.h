#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "query/database.h"
#include "storage/archive.h"
#include "storage/frozen_tier.h"

// Archives of whole databases: definitions and tables (HyPer IV.B). docs/log_format.md, "Archive".
namespace scyper::replay {

struct ArchiveOptions {
  uint64_t bytes_per_second_max = 0;  // of raw data; 0 = no bound
  std::function<void(uint64_t raw_bytes)> on_progress;
  // Before the manifest gets its name: until here it is no archive. May be empty.
  std::function<Status()> before_finish;
  std::shared_ptr<const storage::ArchiveBase> base;    // whose unchanged chunks are not written again. May be null
  std::function<void(const std::string&)> on_warning;  // damage in the base. May be empty
  bool has_places = false;  // of the node's own: names files of its tier, which FrozenTier::keep_all() keeps
};
struct ArchiveResult {
  uint64_t lsn = 0;
  uint64_t raw_bytes = 0;
  uint64_t stored_bytes = 0;  // written
  uint64_t kept_bytes = 0;    // not written: the base has them
  uint64_t rows = 0;
};
// Writes the tables of a catalog, which nobody changes meanwhile, to archives/<lsn>. manifest: cluster, term, LSN, time
// and partitions. Fork: made for a child.
StatusOr<ArchiveResult> write_archive(Disk* disk, const std::string& archives, const query::Catalog& catalog,
                                      storage::ArchiveManifest manifest, const ArchiveOptions& options);

struct ArchiveLoaded {
  storage::ArchiveManifest manifest;  // after a load its chunks are those that are chunks of the tables now
  uint64_t raw_bytes = 0;
  uint64_t rows = 0;
  uint64_t placed_rows = 0;           // of them: in the tier, not read
  std::vector<std::string> warnings;  // why not all are that could be
  double load_s = 0;                  // until all rows were there
  double index_s = 0;                 // what was left of building indexes by then
};
// Statements that the log behind an archive is likely to need, as attachment "statements".
std::string encode_statements(const std::vector<std::string>& texts);
std::vector<std::string> decode_statements(std::string_view bytes);

// An archive into an empty database, with `threads`. On error the database is as empty as before.
// uses_places: what is in the node's tier stays there; an error may come of it, then without.
// on_statements: may be empty; gets the archive's statements when there are definitions but no rows yet.
// held: the partitions that are loaded of partitioned tables, as of storage::load_archive_table().
using OnStatements = std::function<void(const std::vector<std::string>&)>;
StatusOr<ArchiveLoaded> load_archive(Disk* disk, const std::string& path, uint32_t threads, query::Database* database,
                                     const OnStatements& on_statements = {}, bool uses_places = true,
                                     const PartitionSet& held = PartitionSet::all());
// Says of an archive of the node's own which files of its tier it names, with where they lie. Empty without a tier.
using ArchiveTierFiles = std::function<StatusOr<std::map<std::string, std::string>>(const std::string& path)>;
ArchiveTierFiles archive_tier_files(Disk* disk, const storage::FrozenTier* tier);
// Reads everything from the disk, or what is of those partitions and what is shared, and checks every hash, without a
// database. XX001 names the damage.
StatusOr<ArchiveLoaded> verify_archive(Disk* disk, const std::string& path, const storage::OnChunk& on_chunk = {},
                                       const PartitionSet& held = PartitionSet::all());

}  // namespace scyper::replay
