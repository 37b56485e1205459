#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/disk.h"
#include "base/pace.h"
#include "base/partition_set.h"
#include "base/status.h"
#include "storage/invalid_ranges.h"
#include "storage/log_segment.h"
#include "storage/table.h"

// Transaction-consistent copies of the database on durable storage (HyPer IV.B): docs/log_format.md, "Archive".
namespace scyper::storage {

// A file of an archive's directory; one that an earlier archive wrote is a second name of that one's (Disk::link), so
// that every directory stands for itself.
struct ArchiveFile {
  uint64_t lsn = 0;  // of the archive that wrote it
  uint64_t bytes = 0;
};
// The rows of one chunk: consecutive blocks of a file. Of a chunk that only loses tuples, as cold and frozen ones do,
// the blocks stay, and later archives say which of their rows have gone (VLDB 2012, 3.3: only the invalidation status).
struct ArchiveChunk {
  static constexpr uint32_t kRangesMax = 1024;  // of `gaps` and of `gone`; beyond, the chunk is written again

  uint32_t partition = 0;
  uint32_t chunk = 0;
  uint32_t file = 0;    // position in ArchiveTable::files
  uint32_t number = 0;  // of its first block
  uint32_t blocks = 0;
  uint32_t rows = 0;  // in its blocks
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;        // over its blocks' header hashes
  InvalidRanges gone;       // numbers of rows in the blocks that are no tuples any more; never all
  bool has_gaps = false;    // false: it is not known where the rows lay
  InvalidRanges gaps = {};  // positions without a tuple before the last one that had one, when the archive was made

  uint32_t present_rows() const { return rows - gone.positions(); }
};
struct ArchiveTable {
  uint32_t id = 0;
  uint64_t rows = 0;
  std::vector<uint64_t> row_ids;  // next_row_id by partition
  std::vector<ArchiveFile> files;
  std::vector<ArchiveChunk> chunks;  // by partition and chunk
};

struct ArchiveManifest {
  uint64_t cluster[2] = {0, 0};
  uint64_t term = 0;
  uint64_t lsn = 0;
  int64_t time_us = 0;
  uint32_t partitions = 0;
  std::vector<ArchiveTable> tables;
  std::vector<StreamPosition> streams;
  std::vector<std::pair<std::string, std::string>> attachments;

  // nullptr: there is none.
  const std::string* attachment(std::string_view name) const;
};
std::string encode_manifest(const ArchiveManifest& manifest);
StatusOr<ArchiveManifest> decode_manifest(std::string_view bytes);

struct ArchiveEntry {
  uint64_t lsn = 0;
  std::string path;
  bool is_complete = false;  // has a manifest
};
std::string archive_path(const std::string& archives, uint64_t lsn);
std::string archive_file_name(uint32_t table, uint64_t lsn);
std::string places_file_name(uint32_t table);
// Stamps of the tier's files that an archive of the node's own names.
StatusOr<std::set<uint64_t>> read_archive_tier_files(Disk* disk, const std::string& path);
// By LSN. Directories without a manifest were not finished: nobody needs them.
StatusOr<std::vector<ArchiveEntry>> list_archives(Disk* disk, const std::string& archives);
Status remove_archive(Disk* disk, const ArchiveEntry& archive);
// What an attempt has left at that LSN, when it is no archive. Nobody writes there any more.
Status remove_unfinished(Disk* disk, const std::string& archives, uint64_t lsn);
// It no longer counts as an archive (MANIFEST.damaged): it goes when the next one has been written, or at the next
// start.
Status set_archive_aside(Disk* disk, const ArchiveEntry& archive);
StatusOr<ArchiveManifest> read_manifest(Disk* disk, const std::string& path);
// What loading some partitions, with all shared tables, reads of an archive's files, the manifest aside: by name ranges
// of bytes, rising, each with its end behind it. Files of which nothing is read are not named.
StatusOr<std::map<std::string, std::vector<std::pair<uint64_t, uint64_t>>>> archive_ranges(
    Disk* disk, const std::string& path, const PartitionSet& partitions);

// By table and partition: how chunks have changed, those beyond the end too.
constexpr uint8_t kRowsWritten = 1;
constexpr uint8_t kRowsLost = 2;  // only that, without kRowsWritten: other tuples lie where they lay
using ChangedChunks = std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>>;
// Adds a table's marks (TablePartition::changed) to *changed and takes them away. Nobody commits meanwhile.
void take_changed_chunks(const Table& table, ChangedChunks* changed);

// An earlier archive, and what has changed since: other chunks are not written again.
struct ArchiveBase {
  std::string path;
  ArchiveManifest manifest;
  ChangedChunks changed;
};

// Writes one archive: tables that nobody changes meanwhile, then the manifest. Chunks that the base has are read and
// checked there before they are relied upon: damaged ones are written again, as memory still has them. Those of frozen
// chunks are not even read: whoever keeps archives reads them back afterwards.
// Threads: one. Fork: made for a child.
class ArchiveWriter {
 public:
  struct Options {
    uint64_t bytes_per_second_max = 0;  // of raw data; 0 = no bound
    // After each chunk: raw bytes so far.
    std::function<void(uint64_t)> on_progress;
    std::shared_ptr<const ArchiveBase> base;  // null: everything is written
    bool has_places = false;  // where data of frozen chunks lies in the tier, too (docs/tiering.md, "Restarts")
    std::function<void(const std::string&)> on_warning;  // damage in the base. May be empty
  };
  static StatusOr<std::unique_ptr<ArchiveWriter>> create(Disk* disk, std::string archives, uint64_t lsn,
                                                         Options options);
  Status write_table(const Table& table);
  // manifest: all but the tables. From here on the archive counts.
  Status finish(ArchiveManifest manifest);

  uint64_t raw_bytes() const { return pace_.bytes(); }
  uint64_t stored_bytes() const { return stored_bytes_; }  // written, without what the base had
  uint64_t kept_bytes() const { return kept_bytes_; }      // stored, that the base had

 private:
  struct Output;  // the file of a table
  ArchiveWriter(Disk* disk, std::string archives, std::string path, uint64_t lsn, Options options);
  std::vector<ArchiveChunk> link_unchanged(const Table& table, ArchiveTable* made,
                                           std::vector<std::unique_ptr<File>>* files);
  bool keep_chunk(const TablePartition& partition, ArchiveChunk chunk, File* file, ArchiveTable* made);
  Status write_chunk(const TablePartition& partition, uint64_t first, uint64_t end, Output* output, ArchiveChunk* made);
  Status write_block(const TablePartition& partition, uint32_t rows, Output* output, ArchiveChunk* made);
  void try_places(const Table& table, const ArchiveTable& made);
  void pass(uint64_t raw_bytes);

  Disk* const disk_;
  const std::string archives_;
  const std::string path_;
  const uint64_t lsn_;
  const Options options_;
  Pace pace_;  // counts raw bytes
  std::vector<ArchiveTable> tables_;
  std::string raw_, block_;
  uint64_t stored_bytes_ = 0;
  uint64_t kept_bytes_ = 0;
};

// Reads one table of an archive into an empty table of the same definition, without filling its indexes; or checks it,
// when table is null. Whatever the bytes are, nothing outside of them is read. Threads: one per table.
// uses_places: chunks whose data is in the table's tier are taken as they are; rows are read of all others.
// held: of a partitioned table's partitions only these are read. Files that have nothing of them may be absent, others
// may lack what is of other partitions, at their end too.
// XX001 with the place when something is damaged, or cannot be read. on_chunk: after each, with the bytes that it takes
// in its file; an error ends the reading; may be empty.
struct ArchiveLoad {
  uint64_t rows = 0;
  uint64_t placed_rows = 0;  // of them: not read
  Status places;             // why not all are that could be
  uint64_t raw_bytes = 0;
  // Those that are now the whole of a chunk of the table, by its number there: their marks are taken away.
  std::vector<ArchiveChunk> chunks;
};
using OnChunk = std::function<Status(uint64_t stored_bytes)>;
StatusOr<ArchiveLoad> load_archive_table(Disk* disk, const std::string& path, const ArchiveTable& entry, Table* table,
                                         const OnChunk& on_chunk = {}, bool uses_places = true,
                                         const PartitionSet& held = PartitionSet::all());
// The image of a chunk as the archive has its rows, each at the position where it lay; the table's dictionaries hold
// what it lists (release_image()). For chunks that have only lost tuples since. Threads: any.
StatusOr<std::string> freeze_archive_chunk(Disk* disk, const std::string& path, const ArchiveTable& entry,
                                           const ArchiveChunk& chunk, const Table& table);
// Reads the blocks of one chunk and checks them against their hashes, without looking into them.
Status check_archive_chunk(File* file, const ArchiveFile& of, const ArchiveChunk& chunk, uint64_t* raw_bytes);
// Fills the ordered indexes of a partition from its tuples. XX001 for a key that exists twice, or what the tier cannot
// give back.
Status fill_indexes(TablePartition* partition);

// One block's header and body, for readers and fuzzing: the rows go to *table, or nowhere when it is null. *rows: of
// the chunk's blocks so far; those in `gone` are left out.
Status read_archive_block(std::string_view bytes, uint64_t lsn, uint32_t number, const InvalidRanges& gone,
                          Table* table, size_t* used, uint64_t* rows, uint64_t* raw_bytes, uint64_t* hash);

}  // namespace scyper::storage
