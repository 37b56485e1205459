#include <lz4.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "archive_format.h"
#include "base/failpoint.h"
#include "positions.h"
#include "row_change_format.h"
#include "storage/archive.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::storage {

namespace {

Failpoint before_directory("archive.before_directory");
Failpoint after_directory("archive.after_directory");
Failpoint before_block("archive.before_block");
Failpoint after_block("archive.after_block");
Failpoint before_table_sync("archive.before_table_sync");
Failpoint after_table_sync("archive.after_table_sync");
Failpoint before_manifest("archive.before_manifest");
Failpoint after_manifest_write("archive.after_manifest_write");
Failpoint after_manifest_rename("archive.after_manifest_rename");
Failpoint after_manifest("archive.after_manifest");

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

void put_strings(const ColumnPlan& column, const char* chunk, const std::vector<uint32_t>& offsets, std::string* out) {
  const size_t lengths_at = out->size();
  out->resize(lengths_at + offsets.size() * sizeof(uint32_t));
  for (size_t i = 0; i < offsets.size(); ++i) {
    const StringRef text = read_string(column.access.kind, cell_of(column.access, chunk, offsets[i]));
    const auto size = static_cast<uint32_t>(text.size);
    std::memcpy(out->data() + lengths_at + i * sizeof(size), &size, sizeof(size));
    if (size > 0) out->append(text.data, text.size);
  }
}

void put_arrays(const ColumnPlan& column, const char* chunk, const std::vector<uint32_t>& offsets, std::string* out) {
  const size_t lengths_at = out->size();
  out->resize(lengths_at + offsets.size() * sizeof(uint32_t));
  const RowValues::Column of{0, column.access, column.type, -1, 0, 0};
  for (size_t i = 0; i < offsets.size(); ++i) {
    const char* cell = cell_of(column.access, chunk, offsets[i]);
    uint32_t size = 0;
    if (read_array(cell) != nullptr) {
      const size_t at = out->size();
      out->resize(at + payload_bytes_max(of, cell) + kVarintSlackBytes);
      char* end = put_canonical_array(out->data() + at, column.type, read_array(cell)->value);
      size = static_cast<uint32_t>(end - (out->data() + at));
      out->resize(at + size);
    }
    std::memcpy(out->data() + lengths_at + i * sizeof(size), &size, sizeof(size));
  }
}

void put_column(const ColumnPlan& column, const char* chunk, const std::vector<uint32_t>& offsets, std::string* out) {
  const ColumnAccess& access = column.access;
  const auto is_null_at = [&](uint32_t offset) { return is_null(access, chunk, offset); };
  const bool has_nulls = access.null_offset != 0 && std::any_of(offsets.begin(), offsets.end(), is_null_at);
  out->push_back(has_nulls ? 1 : 0);
  if (has_nulls) {
    for (uint32_t offset : offsets) out->push_back(is_null_at(offset) ? 1 : 0);
  }
  const uint32_t width = fixed_value_bytes(access.kind);
  if (access.kind == CellKind::kArray) return put_arrays(column, chunk, offsets, out);
  if (width == 0) return put_strings(column, chunk, offsets, out);
  const size_t at = out->size();
  out->resize(at + offsets.size() * width);
  char* to = out->data() + at;
  const bool is_dense = access.value_stride == width && offsets.back() - offsets.front() + 1 == offsets.size();
  if (is_dense) {
    std::memcpy(to, cell_of(access, chunk, offsets.front()), offsets.size() * width);
  } else {
    for (uint32_t offset : offsets) to = put_fixed(to, cell_of(access, chunk, offset), width);
  }
  if (!has_nulls) return;
  to = out->data() + at;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (is_null_at(offsets[i])) std::memset(to + i * width, 0, width);
  }
}

}  // namespace

ArchiveWriter::ArchiveWriter(Disk* disk, std::string archives, std::string path, uint64_t lsn, Options options)
    : disk_(disk),
      archives_(std::move(archives)),
      path_(std::move(path)),
      lsn_(lsn),
      options_(std::move(options)),
      start_ns_(now_ns()) {}

StatusOr<std::unique_ptr<ArchiveWriter>> ArchiveWriter::create(Disk* disk, std::string archives, uint64_t lsn,
                                                               Options options) {
  const std::string path = archive_path(archives, lsn);
  if (disk->exists(path + "/MANIFEST")) {
    return sql_error("58P02", "there is an archive of LSN " + std::to_string(lsn) + " already");
  }
  before_directory.fires();
  SCYPER_RETURN_IF_ERROR(disk->make_directory(path));
  SCYPER_RETURN_IF_ERROR(disk->sync_directory(archives));
  after_directory.fires();
  return std::unique_ptr<ArchiveWriter>(new ArchiveWriter(disk, std::move(archives), path, lsn, std::move(options)));
}

// Sleeps until what was written is no more than the rate allows.
void ArchiveWriter::keep_rate() {
  if (options_.bytes_per_second_max == 0) return;
  const double wanted_ns = static_cast<double>(raw_bytes_) / static_cast<double>(options_.bytes_per_second_max) * 1e9;
  const auto left_ns = static_cast<int64_t>(wanted_ns) - (now_ns() - start_ns_);
  if (left_ns > 100'000) ::usleep(static_cast<useconds_t>(std::min<int64_t>(left_ns / 1000, 1'000'000)));
}

Status ArchiveWriter::write_chunk(const TablePartition& partition, uint64_t first, uint64_t end, File* file,
                                  ArchiveTable* made) {
  std::vector<uint32_t> offsets;
  for (Tid tid = first; tid < end; ++tid) {
    if (is_live(&partition, tid)) offsets.push_back(offset_of(tid));
  }
  if (offsets.empty()) return Status();
  const RowPlan& plan = *partition.plan;
  const char* chunk = chunk_of(&partition, first);
  raw_.clear();
  for (const ColumnPlan& column : plan.columns) put_column(column, chunk, offsets, &raw_);
  if (raw_.size() > kBlockBytesMax && offsets.size() > 1) {  // of very long strings
    const uint64_t middle = first + (end - first) / 2;
    SCYPER_RETURN_IF_ERROR(write_chunk(partition, first, middle, file, made));
    return write_chunk(partition, middle, end, file, made);
  }
  if (raw_.size() > kBlockBytesMax) return sql_error("54000", "a row is too large for an archive");
  block_.resize(sizeof(BlockHeader) + static_cast<size_t>(LZ4_compressBound(static_cast<int>(raw_.size()))));
  char* body = block_.data() + sizeof(BlockHeader);
  int bytes = LZ4_compress_default(raw_.data(), body, static_cast<int>(raw_.size()),
                                   static_cast<int>(block_.size() - sizeof(BlockHeader)));
  BlockHeader header{};
  header.flags = kBlockLz4;
  if (bytes <= 0 || static_cast<size_t>(bytes) >= raw_.size()) {
    header.flags = 0;
    bytes = static_cast<int>(raw_.size());
    std::memcpy(body, raw_.data(), raw_.size());
  }
  header.magic = kBlockMagic;
  header.version = kBlockVersion;
  header.columns = static_cast<uint16_t>(plan.columns.size());
  header.table = made->id;
  header.partition = partition.partition;
  header.rows = static_cast<uint32_t>(offsets.size());
  header.body_bytes = static_cast<uint32_t>(bytes);
  header.raw_bytes = static_cast<uint32_t>(raw_.size());
  header.number = made->blocks;
  header.lsn = lsn_;
  header.body_hash = XXH3_64bits(body, header.body_bytes);
  header.header_hash = XXH3_64bits(&header, offsetof(BlockHeader, header_hash));
  std::memcpy(block_.data(), &header, sizeof(header));
  block_.resize(sizeof(header) + header.body_bytes);
  if (before_block.fires()) return absl::ResourceExhaustedError("failpoint archive.before_block");
  SCYPER_RETURN_IF_ERROR(file->write(made->file_bytes, block_));
  after_block.fires();
  made->hash = XXH3_64bits_withSeed(&header.header_hash, sizeof(header.header_hash), made->hash);
  made->file_bytes += block_.size();
  made->rows += header.rows;
  ++made->blocks;
  raw_bytes_ += raw_.size();
  stored_bytes_ += block_.size();
  if (options_.on_progress) options_.on_progress(raw_bytes_);
  keep_rate();
  return Status();
}

Status ArchiveWriter::write_table(const Table& table) {
  ArchiveTable made;
  made.id = table.schema().id.value();
  SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(path_ + "/t" + std::to_string(made.id) + ".dat", OpenMode::kCreate));
  for (uint32_t i = 0; i < table.partition_count(); ++i) {
    const TablePartition& partition = *table.partition(i);
    made.row_ids.push_back(partition.next_row_id);
    for (uint64_t first = 0; first < partition.tuple_limit; first += kChunkTuples) {
      const uint64_t end = std::min<uint64_t>(first + kChunkTuples, partition.tuple_limit);
      SCYPER_RETURN_IF_ERROR(write_chunk(partition, first, end, file.get(), &made));
    }
  }
  before_table_sync.fires();
  SCYPER_RETURN_IF_ERROR(file->sync());
  after_table_sync.fires();
  tables_.push_back(std::move(made));
  return Status();
}

Status ArchiveWriter::finish(ArchiveManifest manifest) {
  manifest.lsn = lsn_;
  manifest.tables = std::move(tables_);
  before_manifest.fires();
  const std::string temporary = path_ + "/MANIFEST.tmp";
  {
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(temporary, OpenMode::kCreate));
    SCYPER_RETURN_IF_ERROR(file->write(0, encode_manifest(manifest)));
    SCYPER_RETURN_IF_ERROR(file->sync());
  }
  // the names of the tables' files too
  SCYPER_RETURN_IF_ERROR(disk_->sync_directory(path_));
  after_manifest_write.fires();
  SCYPER_RETURN_IF_ERROR(disk_->rename(temporary, path_ + "/MANIFEST"));
  after_manifest_rename.fires();
  SCYPER_RETURN_IF_ERROR(disk_->sync_directory(path_));
  after_manifest.fires();
  return Status();
}

}  // namespace scyper::storage
