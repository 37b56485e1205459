#include <lz4.h>
#include <algorithm>
#include <utility>

#include "archive_format.h"
#include "archive_places.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "change_status.h"
#include "row_change_format.h"
#include "storage/archive.h"
#include "tuple_place.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::storage {

namespace {

Failpoint before_directory("archive.before_directory");
Failpoint after_directory("archive.after_directory");
Failpoint before_block("archive.before_block");
Failpoint after_block("archive.after_block");
Failpoint garbles_block("archive.garbles_block");  // as a disk that stores something else
Failpoint before_table_sync("archive.before_table_sync");
Failpoint after_table_sync("archive.after_table_sync");
Failpoint before_manifest("archive.before_manifest");
Failpoint after_manifest_write("archive.after_manifest_write");
Failpoint after_manifest_rename("archive.after_manifest_rename");
Failpoint after_manifest("archive.after_manifest");

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

void put_rows(const TablePartition& partition, const char* chunk, const std::vector<uint32_t>& offsets,
              std::string* raw) {
  raw->clear();
  for (const ColumnPlan& column : partition.plan->columns) put_column(column, chunk, offsets, raw);
}

// *block: room for the header, then the body. Its flags.
uint8_t pack_body(const std::string& raw, std::string* block) {
  const auto raw_bytes = static_cast<int>(raw.size());
  block->resize(sizeof(BlockHeader) + static_cast<size_t>(LZ4_compressBound(raw_bytes)));
  char* body = block->data() + sizeof(BlockHeader);
  const int bytes = LZ4_compress_default(raw.data(), body, raw_bytes, LZ4_compressBound(raw_bytes));
  if (bytes > 0 && bytes < raw_bytes) {
    block->resize(sizeof(BlockHeader) + static_cast<size_t>(bytes));
    return kBlockLz4;
  }
  std::memcpy(body, raw.data(), raw.size());
  block->resize(sizeof(BlockHeader) + raw.size());
  return 0;
}

#ifndef NDEBUG
// What has no mark is what the file has, byte for byte.
void check_unchanged(const TablePartition& partition, const ArchiveChunk& chunk, File* file) {
  if (chunk.blocks != 1 || chunk.gone.positions() > 0) return;
  std::vector<uint32_t> offsets;
  const Tid first = Tid{chunk.chunk} << kChunkShift;
  for (Tid tid = first; tid < first + kChunkTuples; ++tid) {
    if (is_live(&partition, tid)) offsets.push_back(offset_of(tid));
  }
  DCHECK(offsets.size() == chunk.rows);
  std::string raw, block, stored(chunk.bytes, '\0');
  ChunkReader reader(&partition, partition.plan->all_columns);
  const char* cells = reader.open(chunk.chunk);
  if (cells == nullptr) return;  // it cannot be read
  put_rows(partition, cells, offsets, &raw);
  pack_body(raw, &block);
  auto got = file->read(chunk.offset, stored.data(), stored.size());
  DCHECK(got.ok() && *got == stored.size() && stored.substr(sizeof(BlockHeader)) == block.substr(sizeof(BlockHeader)));
}
#endif

InvalidRanges positions_without_tuple(const TablePartition& partition, uint32_t chunk) {
  const FrozenSlot* slot = slot_of(&partition, Tid{chunk} << kChunkShift);
  if (slot != nullptr && slot->chunk == nullptr) return slot->invalid;
  const char* cells = slot == nullptr ? partition.chunks[chunk] : slot->chunk;
  return find_dead(cells + partition.plan->live_offset, kChunkTuples);
}

// Where the rows of the chunk lie now.
void note_gaps(const TablePartition& partition, ArchiveChunk* chunk) {
  const InvalidRanges dead = positions_without_tuple(partition, chunk->chunk);
  CHECK(dead.positions() + chunk->present_rows() == kChunkTuples);
  chunk->gaps = InvalidRanges();
  chunk->has_gaps = dead.ranges().size() <= ArchiveChunk::kRangesMax;
  for (const InvalidRanges::Range& range : dead.ranges()) {
    if (chunk->has_gaps && range.end < kChunkTuples) chunk->gaps.add(range.begin, range.end);
  }
}

// Takes what is no tuple any more out of a chunk that has lost some since the archive that it is from. False: it is not
// known which rows these are, or they are a quarter of the blocks.
bool note_lost_rows(const TablePartition& partition, ArchiveChunk* chunk) {
  if (!chunk->has_gaps || chunk->chunk >= partition.chunk_count) return false;
  std::vector<uint32_t> present;  // numbers of rows, in the order of their positions
  chunk->gone.for_each_valid(0, chunk->rows, [&](uint32_t begin, uint32_t end) {
    for (; begin < end; ++begin) present.push_back(begin);
  });
  const InvalidRanges dead = positions_without_tuple(partition, chunk->chunk);
  auto row = present.begin();
  chunk->gaps.for_each_valid(0, kChunkTuples, [&](uint32_t begin, uint32_t end) {
    for (; begin < end && row != present.end(); ++begin, ++row) {
      if (dead.contains(begin)) chunk->gone.add(*row, *row + 1);
    }
  });
  CHECK(row == present.end());
  constexpr uint32_t kLostShare = 4;
  return chunk->gone.positions() * kLostShare < chunk->rows && chunk->gone.ranges().size() <= ArchiveChunk::kRangesMax;
}

bool is_frozen(const TablePartition& partition, uint32_t chunk) {
  const FrozenSlot* slot = slot_of(&partition, Tid{chunk} << kChunkShift);
  return slot != nullptr && slot->state == ChunkState::kFrozen;
}

// Takes the marks of a chunk away.
uint8_t take_mark(TablePartition* partition, uint32_t chunk) {
  const bool has_changed = take_changed(partition, chunk, kChangedForArchive);
  FrozenSlot* slot = slot_of(partition, Tid{chunk} << kChunkShift);
  if (slot == nullptr) return has_changed ? kRowsWritten : 0;
  // what is not hot loses tuples and nothing else
  const bool was_written = std::exchange(slot->was_written, false);
  return static_cast<uint8_t>((was_written ? kRowsWritten : 0) | (has_changed ? kRowsLost : 0));
}

}  // namespace

void take_changed_chunks(const Table& table, ChangedChunks* changed) {
  for (uint32_t i = 0; i < table.partition_count(); ++i) {
    TablePartition* partition = table.partition(i);
    std::vector<uint8_t>& marks = (*changed)[{table.schema().id.value(), i}];
    marks.resize(std::max<size_t>(marks.size(), partition->chunk_count));
    for (uint32_t chunk = 0; chunk < partition->chunk_count; ++chunk) marks[chunk] |= take_mark(partition, chunk);
  }
}

ArchiveWriter::ArchiveWriter(Disk* disk, std::string archives, std::string path, uint64_t lsn, Options options)
    : disk_(disk),
      archives_(std::move(archives)),
      path_(std::move(path)),
      lsn_(lsn),
      options_(std::move(options)),
      pace_(options_.bytes_per_second_max) {}

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

void ArchiveWriter::pass(uint64_t raw_bytes) {
  if (options_.on_progress) options_.on_progress(pace_.bytes() + raw_bytes);
  pace_.pass(raw_bytes);
}

// Made when the first block comes.
struct ArchiveWriter::Output {
  uint32_t table = 0;
  uint32_t blocks = 0;
  uint64_t bytes = 0;
  std::unique_ptr<File> file;
};

Status ArchiveWriter::write_chunk(const TablePartition& partition, uint64_t first, uint64_t end, Output* output,
                                  ArchiveChunk* made) {
  std::vector<uint32_t> offsets;
  for (Tid tid = first; tid < end; ++tid) {
    if (is_live(&partition, tid)) offsets.push_back(offset_of(tid));
  }
  if (offsets.empty()) return Status();
  ChunkReader reader(&partition, partition.plan->all_columns);
  const char* chunk = reader.open(first >> kChunkShift);
  SCYPER_RETURN_IF_ERROR(reader.status());
  put_rows(partition, chunk, offsets, &raw_);
  if (raw_.size() > kBlockBytesMax && offsets.size() > 1) {  // of very long strings
    const uint64_t middle = first + (end - first) / 2;
    SCYPER_RETURN_IF_ERROR(write_chunk(partition, first, middle, output, made));
    return write_chunk(partition, middle, end, output, made);
  }
  if (raw_.size() > kBlockBytesMax) return sql_error("54000", "a row is too large for an archive");
  return write_block(partition, static_cast<uint32_t>(offsets.size()), output, made);
}

// The rows in raw_.
Status ArchiveWriter::write_block(const TablePartition& partition, uint32_t rows, Output* output, ArchiveChunk* made) {
  if (before_block.fires()) return absl::ResourceExhaustedError("failpoint archive.before_block");
  if (output->file == nullptr) {
    const std::string name = path_ + "/" + archive_file_name(output->table, lsn_);
    if (disk_->exists(name)) SCYPER_RETURN_IF_ERROR(disk_->remove(name));  // of an attempt before this one
    SCYPER_ASSIGN_OR_RETURN(output->file, disk_->open(name, OpenMode::kCreate));
  }
  BlockHeader header{};
  header.flags = pack_body(raw_, &block_);
  header.magic = kBlockMagic;
  header.version = kBlockVersion;
  header.columns = static_cast<uint16_t>(partition.plan->columns.size());
  header.table = output->table;
  header.partition = partition.partition;
  header.rows = rows;
  header.body_bytes = static_cast<uint32_t>(block_.size() - sizeof(header));
  header.raw_bytes = static_cast<uint32_t>(raw_.size());
  header.number = output->blocks;
  header.lsn = lsn_;
  header.body_hash = XXH3_64bits(block_.data() + sizeof(header), header.body_bytes);
  header.header_hash = XXH3_64bits(&header, offsetof(BlockHeader, header_hash));
  std::memcpy(block_.data(), &header, sizeof(header));
  if (garbles_block.fires()) block_.back() = static_cast<char>(block_.back() ^ 1);
  SCYPER_RETURN_IF_ERROR(output->file->write(output->bytes, block_));
  after_block.fires();
  if (made->blocks == 0) {
    made->number = output->blocks;
    made->offset = output->bytes;
  }
  made->hash = XXH3_64bits_withSeed(&header.header_hash, sizeof(header.header_hash), made->hash);
  made->bytes += block_.size();
  made->rows += header.rows;
  ++made->blocks;
  output->bytes += block_.size();
  ++output->blocks;
  stored_bytes_ += block_.size();
  pass(raw_.size());
  return Status();
}

// Those of the base's chunks in which nothing was written, without what they have lost, that lie in files which are
// worth another name: less than half of a file would be waste. Their files stand in made->files and are open in *files.
std::vector<ArchiveChunk> ArchiveWriter::link_unchanged(const Table& table, ArchiveTable* made,
                                                        std::vector<std::unique_ptr<File>>* files) {
  std::vector<ArchiveChunk> kept;
  if (options_.base == nullptr) return kept;
  const auto& tables = options_.base->manifest.tables;
  const auto entry =
      std::find_if(tables.begin(), tables.end(), [made](const ArchiveTable& other) { return other.id == made->id; });
  if (entry == tables.end()) return kept;
  std::vector<uint64_t> used(entry->files.size());
  for (const ArchiveChunk& chunk : entry->chunks) {
    const auto changed = options_.base->changed.find({made->id, chunk.partition});
    if (changed == options_.base->changed.end() || chunk.chunk >= changed->second.size()) continue;
    const uint8_t mark = changed->second[chunk.chunk];
    if ((mark & kRowsWritten) != 0) continue;
    kept.push_back(chunk);
    if ((mark & kRowsLost) != 0 && !note_lost_rows(*table.partition(chunk.partition), &kept.back())) {
      kept.pop_back();
      continue;
    }
    used[chunk.file] += chunk.bytes;
  }
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> numbers(entry->files.size(), kNone);
  for (size_t i = 0; i < entry->files.size(); ++i) {
    const ArchiveFile& file = entry->files[i];
    if (used[i] == 0 || used[i] < file.bytes / 2) continue;
    const std::string name = "/" + archive_file_name(made->id, file.lsn);
    if (disk_->exists(path_ + name) && !disk_->remove(path_ + name).ok()) continue;
    if (!disk_->link(options_.base->path + name, path_ + name).ok()) continue;  // no links here: it is written
    auto opened = disk_->open(path_ + name, OpenMode::kRead);
    if (!opened.ok()) continue;
    numbers[i] = static_cast<uint32_t>(made->files.size());
    made->files.push_back(file);
    files->push_back(*std::move(opened));
  }
  std::erase_if(kept, [&](const ArchiveChunk& chunk) { return numbers[chunk.file] == kNone; });
  for (ArchiveChunk& chunk : kept) chunk.file = numbers[chunk.file];
  return kept;
}

// false: it has to be written.
bool ArchiveWriter::keep_chunk(const TablePartition& partition, ArchiveChunk chunk, File* file, ArchiveTable* made) {
  uint64_t raw_bytes = 0;
  const ArchiveFile& of = made->files[chunk.file];
  const Status status = is_frozen(partition, chunk.chunk) ? Status() : check_archive_chunk(file, of, chunk, &raw_bytes);
  if (!status.ok()) {
    if (options_.on_warning) {
      options_.on_warning(path_ + "/" + archive_file_name(made->id, of.lsn) + " at offset " +
                          std::to_string(chunk.offset) + ": " + std::string(status.message()) +
                          ": written again, earlier archives cannot be used");
    }
    return false;
  }
#ifndef NDEBUG
  uint64_t checked_bytes = 0;  // damage is no error of ours
  if (check_archive_chunk(file, of, chunk, &checked_bytes).ok()) check_unchanged(partition, chunk, file);
#endif
  note_gaps(partition, &chunk);
  kept_bytes_ += chunk.bytes;
  made->chunks.push_back(std::move(chunk));
  pass(raw_bytes);
  return true;
}

Status ArchiveWriter::write_table(const Table& table) {
  ArchiveTable made;
  made.id = table.schema().id.value();
  std::vector<std::unique_ptr<File>> files;
  const std::vector<ArchiveChunk> kept = link_unchanged(table, &made, &files);
  auto next = kept.begin();
  Output output;
  output.table = made.id;
  const auto own_file = static_cast<uint32_t>(made.files.size());
  for (uint32_t i = 0; i < table.partition_count(); ++i) {
    const TablePartition& partition = *table.partition(i);
    made.row_ids.push_back(partition.next_row_id);
    for (uint64_t first = 0; first < partition.tuple_limit; first += kChunkTuples) {
      ArchiveChunk chunk;
      chunk.partition = i;
      chunk.chunk = static_cast<uint32_t>(first >> kChunkShift);
      chunk.file = own_file;
      while (next != kept.end() && std::pair(next->partition, next->chunk) < std::pair(i, chunk.chunk)) ++next;
      const bool is_there = next != kept.end() && next->partition == i && next->chunk == chunk.chunk;
      if (is_there && keep_chunk(partition, *next, files[next->file].get(), &made)) continue;
      const uint64_t end = std::min<uint64_t>(first + kChunkTuples, partition.tuple_limit);
      SCYPER_RETURN_IF_ERROR(write_chunk(partition, first, end, &output, &chunk));
      if (chunk.blocks == 0) continue;
      note_gaps(partition, &chunk);
      made.chunks.push_back(std::move(chunk));
    }
  }
  for (const ArchiveChunk& chunk : made.chunks) made.rows += chunk.present_rows();
  before_table_sync.fires();
  if (output.file != nullptr) {
    SCYPER_RETURN_IF_ERROR(output.file->sync());
    made.files.push_back({lsn_, output.bytes});
  }
  after_table_sync.fires();
  if (options_.has_places) try_places(table, made);
  tables_.push_back(std::move(made));
  return Status();
}

// The archive is whole without them.
void ArchiveWriter::try_places(const Table& table, const ArchiveTable& made) {
  const Status status = write_places(disk_, path_, table, made, [this](uint64_t bytes) { pass(bytes); });
  if (status.ok()) return;
  const std::string name = path_ + "/" + places_file_name(made.id);
  disk_->remove(name).IgnoreError();
  if (options_.on_warning) {
    options_.on_warning(name + ": " + std::string(status.message()) + ": a restart from this archive reads all rows");
  }
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
