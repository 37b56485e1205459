#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "storage/log_segment.h"
#include "storage/table.h"

// Transaction-consistent copies of the database on durable storage (HyPer IV.B): docs/log_format.md, "Archive".
namespace scyper::storage {

struct ArchiveTable {
  uint32_t id = 0;
  uint32_t blocks = 0;
  uint64_t rows = 0;
  uint64_t file_bytes = 0;
  uint64_t hash = 0;
  std::vector<uint64_t> row_ids;  // next_row_id by partition
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
// By LSN. Directories without a manifest were not finished: nobody needs them.
StatusOr<std::vector<ArchiveEntry>> list_archives(Disk* disk, const std::string& archives);
Status remove_archive(Disk* disk, const ArchiveEntry& archive);
StatusOr<ArchiveManifest> read_manifest(Disk* disk, const std::string& path);

// Writes one archive: tables that nobody changes meanwhile, then the manifest. Threads: one. Fork: made for a child.
class ArchiveWriter {
 public:
  struct Options {
    uint64_t bytes_per_second_max = 0;  // of raw data; 0 = no bound
    // After each block: raw bytes so far.
    std::function<void(uint64_t)> on_progress;
  };
  static StatusOr<std::unique_ptr<ArchiveWriter>> create(Disk* disk, std::string archives, uint64_t lsn,
                                                         Options options);
  Status write_table(const Table& table);
  // manifest: all but the tables. From here on the archive counts.
  Status finish(ArchiveManifest manifest);

  uint64_t raw_bytes() const { return raw_bytes_; }
  uint64_t stored_bytes() const { return stored_bytes_; }

 private:
  ArchiveWriter(Disk* disk, std::string archives, std::string path, uint64_t lsn, Options options);
  Status write_chunk(const TablePartition& partition, uint64_t first, uint64_t end, File* file, ArchiveTable* made);
  void keep_rate();

  Disk* const disk_;
  const std::string archives_;
  const std::string path_;
  const uint64_t lsn_;
  const Options options_;
  const int64_t start_ns_;
  std::vector<ArchiveTable> tables_;
  std::string raw_, block_;
  uint64_t raw_bytes_ = 0;
  uint64_t stored_bytes_ = 0;
};

// Reads one table of an archive into an empty table of the same definition, without filling its indexes; or checks it,
// when table is null. Whatever the bytes are, nothing outside of them is read. Threads: one per table.
// XX001 with the place when something is damaged.
struct ArchiveLoad {
  uint64_t rows = 0;
  uint64_t raw_bytes = 0;
};
StatusOr<ArchiveLoad> load_archive_table(Disk* disk, const std::string& path, const ArchiveManifest& manifest,
                                         const ArchiveTable& entry, Table* table);
// Fills the ordered indexes of a partition from its tuples. XX001 for a key that exists twice.
Status fill_indexes(TablePartition* partition);

// One block's header and body, for readers and fuzzing: the rows go to *partition, or nowhere when it is null.
Status read_archive_block(std::string_view bytes, uint64_t lsn, uint32_t number, Table* table, size_t* used,
                          uint64_t* rows, uint64_t* raw_bytes, uint64_t* hash);

}  // namespace scyper::storage
