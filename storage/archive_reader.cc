#include <lz4.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "archive_format.h"
#include "archive_places.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "positions.h"
#include "row_change_format.h"
#include "row_index.h"
#include "slots.h"
#include "storage/archive.h"
#include "storage/row_apply.h"
#include "tuple_place.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::storage {

namespace {

Failpoint before_table_load("recovery.before_table_load");
Failpoint before_index_fill("recovery.before_index_fill");

Status damaged(const std::string& what) { return sql_error("XX001", what); }
Status no_memory_to_load() { return sql_error("53200", "out of memory while an archive is loaded"); }

// Rows [first, first + count) of a block, which go to consecutive positions of one chunk.
struct Run {
  char* chunk;
  uint32_t offset;
  uint32_t first;
  uint32_t count;
};

void put_nulls(const ColumnAccess& access, const Run& run, const char* nulls) {
  if (access.null_offset == 0) return;
  char* to = run.chunk + access.null_offset + uint64_t{run.offset} * access.null_stride;
  for (uint32_t i = 0; i < run.count; ++i) {
    to[uint64_t{i} * access.null_stride] = nulls != nullptr ? static_cast<char>(nulls[run.first + i] & 1) : 0;
  }
}

// false: a value is out of its type's range.
bool put_fixed_run(const ColumnAccess& access, const Run& run, uint32_t width, const char* values) {
  const char* from = values + uint64_t{run.first} * width;
  char* to = cell_of(access, run.chunk, run.offset);
  if (access.value_stride == width) {
    std::memcpy(to, from, uint64_t{run.count} * width);
  } else {
    for (uint32_t i = 0; i < run.count; ++i, from += width, to += access.value_stride) {
      put_fixed(to, from, width);
      if (access.kind != CellKind::kDecimal) continue;
      save_cell(to + width, int32_t{0});
      if (!is_decimal(to)) return false;
    }
  }
  if (access.kind != CellKind::kBool) return true;
  to = cell_of(access, run.chunk, run.offset);
  for (uint32_t i = 0; i < run.count; ++i, to += access.value_stride) *to = static_cast<char>(*to & 1);
  return true;
}

// The rows of one block on their way into a partition.
class BlockLoader {
 public:
  BlockLoader(TablePartition* partition, uint32_t rows) : partition_(partition), rows_(rows) {}

  // Takes the positions: those behind the last one. gone: by numbers in the chunk, where the block begins with `first`.
  Status reserve(const InvalidRanges& gone, uint32_t first) {
    CHECK(partition_->free_chunk == 0);
    Status status;
    gone.for_each_valid(first, first + rows_, [&](uint32_t begin, uint32_t end) {
      if (status.ok()) status = reserve_rows(begin - first, end - first);
    });
    return status;
  }

  Status column(const ColumnPlan& column, NumberReader* in) {
    const auto has_nulls = in->number<uint8_t>();
    const char* nulls = has_nulls != 0 ? in->text(rows_).data() : nullptr;
    if (!in->ok || has_nulls > 1) return damaged("NULLs of a column");
    const ColumnAccess& access = column.access;
    if (access.null_offset == 0 && has_nulls != 0) return damaged("NULLs in a column that has none");
    for (const Run& run : runs_) put_nulls(access, run, nulls);
    const uint32_t width = fixed_value_bytes(access.kind);
    if (width == 0) return texts(column, nulls, in);
    const std::string_view values = in->text(uint64_t{rows_} * width);
    if (!in->ok) return damaged("values of a column");
    for (const Run& run : runs_) {
      if (!put_fixed_run(access, run, width, values.data())) return damaged("values of a column");
    }
    return Status();
  }

 private:
  Status reserve_rows(uint32_t row, uint32_t end) {
    while (row < end) {
      const Tid tid = take_position(partition_);
      if (tid == kNoTid) return no_memory_to_load();
      const uint32_t offset = offset_of(tid);
      const uint32_t count = std::min(end - row, kChunkTuples - offset);
      char* chunk = chunk_of(partition_, tid);
      auto* header = reinterpret_cast<ChunkHeader*>(chunk);
      header->used += count - 1;
      header->live += count;
      partition_->tuple_limit = tid + count;
      partition_->live_tuples += count;
      for (const ColumnPlan& column : partition_->plan->payloads) {
        for (uint32_t i = 0; i < count; ++i) {
          write_empty_cell(column.access.kind, cell_of(column.access, chunk, offset + i), column.access.cell_bytes);
        }
      }
      std::memset(live_byte(partition_, tid), 1, count);
      runs_.push_back({chunk, offset, row, count});
      row += count;
    }
    return Status();
  }

  Status texts(const ColumnPlan& column, const char* nulls, NumberReader* in) {
    const std::string_view lengths = in->text(uint64_t{rows_} * sizeof(uint32_t));
    if (!in->ok) return damaged("lengths of a column");
    const auto next = [&](uint32_t row) {
      uint32_t size;
      std::memcpy(&size, lengths.data() + uint64_t{row} * sizeof(size), sizeof(size));
      return in->text(size);
    };
    uint32_t row = 0;
    for (const Run& run : runs_) {
      while (row < run.first) next(row++);  // it has gone
      for (uint32_t i = 0; i < run.count; ++i, ++row) {
        const std::string_view text = next(row);
        if (!in->ok) return damaged("a value of a column");
        if (nulls != nullptr && nulls[row] != 0) continue;
        SCYPER_RETURN_IF_ERROR(value(column, cell_of(column.access, run.chunk, run.offset + i), text));
      }
    }
    while (row < rows_) next(row++);
    return in->ok ? Status() : damaged("a value of a column");
  }
  Status value(const ColumnPlan& column, char* cell, std::string_view text) {
    ChangeResult result;
    if (column.access.kind == CellKind::kArray) {
      SCYPER_ASSIGN_OR_RETURN(auto array, read_array_value(text, column.type));
      result = store_array(partition_, nullptr, cell, &array->value, column.type);
    } else {
      result = store_string(partition_, nullptr, cell, &column.access, text.data(), text.size());
    }
    return result == ChangeResult::kOk ? Status() : no_memory_to_load();
  }

  TablePartition* const partition_;
  const uint32_t rows_;
  std::vector<Run> runs_;
};

StatusOr<BlockHeader> read_block_header(std::string_view bytes, uint64_t lsn, uint64_t number) {
  if (bytes.size() < sizeof(BlockHeader)) return damaged("the header of a block is cut off");
  BlockHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kBlockMagic) return damaged("no block begins here");
  if (header.header_hash != XXH3_64bits(&header, offsetof(BlockHeader, header_hash))) {
    return damaged("the header of a block does not match its hash");
  }
  if (header.version != kBlockVersion) return sql_error("0A000", "a block has a version that is not known");
  if (header.lsn != lsn || header.number != number) return damaged("the block belongs elsewhere");
  if (header.raw_bytes > kBlockBytesMax || header.body_bytes > header.raw_bytes || header.rows == 0 ||
      header.rows > kChunkTuples || (header.flags & ~kBlockLz4) != 0 ||
      (header.flags == 0 && header.body_bytes != header.raw_bytes)) {
    return damaged("the header of a block contradicts itself");
  }
  if (bytes.size() - sizeof(header) < header.body_bytes) return damaged("a block is cut off");
  return header;
}

}  // namespace

Status read_archive_block(std::string_view bytes, uint64_t lsn, uint32_t number, const InvalidRanges& gone,
                          Table* table, size_t* used, uint64_t* rows, uint64_t* raw_bytes, uint64_t* hash) {
  SCYPER_ASSIGN_OR_RETURN(const BlockHeader header, read_block_header(bytes, lsn, number));
  const std::string_view body = bytes.substr(sizeof(header), header.body_bytes);
  if (XXH3_64bits(body.data(), body.size()) != header.body_hash) {
    return damaged("the body of a block does not match its hash");
  }
  *used = sizeof(header) + header.body_bytes;
  const uint64_t first = std::exchange(*rows, *rows + header.rows);
  if (*rows > kChunkTuples) return damaged("a chunk has too many rows");
  *raw_bytes += header.raw_bytes;
  *hash = XXH3_64bits_withSeed(&header.header_hash, sizeof(header.header_hash), *hash);
  thread_local std::string unpacked;
  std::string_view raw = body;
  if (header.flags == kBlockLz4) {
    unpacked.resize(header.raw_bytes);
    const int size = LZ4_decompress_safe(body.data(), unpacked.data(), static_cast<int>(body.size()),
                                         static_cast<int>(header.raw_bytes));
    if (size < 0 || static_cast<uint32_t>(size) != header.raw_bytes) {
      return damaged("the body of a block cannot be decompressed");
    }
    raw = unpacked;
  }
  if (table == nullptr) return Status();
  if (header.table != table->schema().id.value() || header.partition >= table->partition_count() ||
      header.columns != table->schema().columns.size()) {
    return damaged("a block does not fit its table");
  }
  TablePartition* partition = table->partition(header.partition);
  BlockLoader loader(partition, header.rows);
  SCYPER_RETURN_IF_ERROR(loader.reserve(gone, static_cast<uint32_t>(first)));
  NumberReader in{raw};
  for (const ColumnPlan& column : partition->plan->columns) SCYPER_RETURN_IF_ERROR(loader.column(column, &in));
  return in.bytes.empty() ? Status() : damaged("a block has bytes behind its last column");
}

namespace {

// The block at `offset`, header and body.
Status read_block(File* file, uint64_t offset, uint64_t end, std::string* bytes) {
  bytes->resize(sizeof(BlockHeader));
  SCYPER_ASSIGN_OR_RETURN(size_t got, file->read(offset, bytes->data(), bytes->size()));
  BlockHeader header;
  if (got < sizeof(header)) return damaged("the file is cut off");
  std::memcpy(&header, bytes->data(), sizeof(header));
  if (header.body_bytes > end - offset) return damaged("the header of a block is damaged");
  bytes->resize(sizeof(header) + header.body_bytes);
  SCYPER_ASSIGN_OR_RETURN(got, file->read(offset + sizeof(header), bytes->data() + sizeof(header), header.body_bytes));
  bytes->resize(sizeof(header) + got);
  return Status();
}

// The files of one table of an archive, and how its chunks get into a table.
class TableLoader {
 public:
  TableLoader(Disk* disk, const std::string& path, const ArchiveTable& entry, Table* table, const OnChunk& on_chunk,
              bool uses_places, const PartitionSet& held)
      : disk_(disk),
        path_(path),
        entry_(entry),
        table_(table),
        on_chunk_(on_chunk),
        uses_places_(uses_places && held.is_all()),
        held_(held) {}

  StatusOr<ArchiveLoad> run() {
    std::vector<bool> is_needed(entry_.files.size(), held_.is_all());
    for (const ArchiveChunk& chunk : entry_.chunks)
      is_needed[chunk.file] = is_needed[chunk.file] || is_held(entry_, chunk, held_);
    for (size_t i = 0; i < entry_.files.size(); ++i) {
      files_.emplace_back();
      if (is_needed[i]) SCYPER_RETURN_IF_ERROR(open(entry_.files[i]));
    }
    if (table_ != nullptr && entry_.row_ids.size() != table_->partition_count()) {
      return damaged(path_ + "/MANIFEST: another number of partitions than the definition of the table");
    }
    const bool has_tier = table_ != nullptr && table_->frozen_store() != nullptr && table_->frozen_store()->tier;
    if (uses_places_ && has_tier) place_chunks();
    uint64_t wanted_rows = 0;
    for (const ArchiveChunk& chunk : entry_.chunks) {
      if (!is_held(entry_, chunk, held_)) continue;
      wanted_rows += chunk.present_rows();
      const bool is_placed = placed_.contains({chunk.partition, chunk.chunk});
      if (!is_placed) SCYPER_RETURN_IF_ERROR(load(chunk));
      if (on_chunk_) SCYPER_RETURN_IF_ERROR(on_chunk_(chunk.bytes));
    }
    if (load_.rows != (held_.is_all() ? entry_.rows : wanted_rows))
      return damaged(path_ + "/MANIFEST: another number of rows than the blocks have");
    if (table_ != nullptr) finish();
    if (load_.placed_rows > 0) read_keys_ahead(*table_);
    return std::move(load_);
  }

 private:
  std::string name_of(const ArchiveFile& file) const { return path_ + "/" + archive_file_name(entry_.id, file.lsn); }
  Status at_place(const ArchiveFile& file, uint64_t offset, const Status& status) const {
    return sql_error(sqlstate_of(status),
                     name_of(file) + " at offset " + std::to_string(offset) + ": " + std::string(status.message()));
  }

  Status open(const ArchiveFile& file) {
    auto opened = disk_->open(name_of(file), OpenMode::kRead);
    if (absl::IsNotFound(opened.status())) return damaged(name_of(file) + ": the file is missing");
    SCYPER_RETURN_IF_ERROR(opened.status());
    SCYPER_ASSIGN_OR_RETURN(const uint64_t size, (*opened)->size());
    if (held_.is_all() ? size != file.bytes : size > file.bytes) {
      return at_place(file, size, damaged("the file does not have the size the manifest says"));
    }
    if (table_ == nullptr) (*opened)->drop_cached();  // it is the disk that is checked
    files_.back() = *std::move(opened);
    return Status();
  }

  // Before there are rows, so that each is a whole chunk of its partition.
  void place_chunks() {
    PlacesReader::ArchiveChunks chunks;
    for (const ArchiveChunk& chunk : entry_.chunks) chunks.emplace(std::pair(chunk.partition, chunk.chunk), &chunk);
    std::vector<const ArchiveChunk*> placed;
    load_.places = PlacesReader(disk_, path_, table_).read(&chunks, &placed);
    std::map<uint32_t, uint32_t> next;  // by partition
    for (const ArchiveChunk* chunk : placed) {
      placed_.emplace(chunk->partition, chunk->chunk);
      ArchiveChunk& loaded = load_.chunks.emplace_back(*chunk);  // its rows lie where they lay
      loaded.chunk = next[chunk->partition]++;
      load_.rows += chunk->present_rows();
      load_.placed_rows += chunk->present_rows();
    }
  }

  Status load(const ArchiveChunk& chunk) {
    const ArchiveFile& of = entry_.files[chunk.file];
    TablePartition* partition = table_ != nullptr ? table_->partition(chunk.partition) : nullptr;
    if (partition != nullptr) begin_chunk(partition, chunk);
    const Tid first = partition != nullptr ? partition->tuple_limit : 0;
    const uint64_t end = chunk.offset + chunk.bytes;
    uint64_t offset = chunk.offset, hash = 0, rows = 0;
    for (uint32_t i = 0; i < chunk.blocks; ++i) {
      size_t used = 0;
      Status status = read_block(files_[chunk.file].get(), offset, end, &bytes_);
      if (status.ok()) {
        status = read_archive_block(bytes_, of.lsn, chunk.number + i, chunk.gone, table_, &used, &rows,
                                    &load_.raw_bytes, &hash);
      }
      if (!status.ok()) return at_place(of, offset, status);
      offset += used;
    }
    if (offset != end || rows != chunk.rows || hash != chunk.hash) {
      return at_place(of, chunk.offset, damaged("the blocks are not those that the manifest says"));
    }
    load_.rows += chunk.present_rows();
    if (partition == nullptr) return Status();
    if (partition->tuple_limit - first != chunk.present_rows())
      return at_place(of, chunk.offset, damaged("blocks of other partitions"));
    if (offset_of(first) != 0) return Status();
    ArchiveChunk& loaded = load_.chunks.emplace_back(chunk);
    loaded.chunk = static_cast<uint32_t>(first >> kChunkShift);
    loaded.has_gaps = true;  // there are none
    loaded.gaps = InvalidRanges();
    return Status();
  }

  // What is to be frozen again stays a chunk of its own, unless much of it has gone, so that the next archive finds it
  // where it was. The positions before it are free ones, once all is loaded.
  void begin_chunk(TablePartition* partition, const ArchiveChunk& chunk) {
    constexpr uint32_t kLostShare = 4;
    const uint32_t used = offset_of(partition->tuple_limit);
    if (used == 0 || table_->frozen_store() == nullptr) return;
    if (chunk.present_rows() < kChunkTuples - kChunkTuples / kLostShare) return;
    const uint64_t last = partition->tuple_limit >> kChunkShift;
    shorter_[{partition, last}] = used;
    seal(partition, last);
  }

  bool is_shorter(const ArchiveChunk& chunk) const {
    const auto found = shorter_.find({table_->partition(chunk.partition), chunk.chunk});
    return found != shorter_.end() && found->second == chunk.present_rows();
  }

  void finish() {
    for (const auto& [chunk, used] : shorter_) {
      for (uint32_t i = kChunkTuples; i > used; --i) free_position(chunk.first, (chunk.second << kChunkShift) + i - 1);
    }
    std::erase_if(load_.chunks, [this](const ArchiveChunk& chunk) {
      const TablePartition* partition = table_->partition(chunk.partition);
      if (is_shorter(chunk) || partition->chunks[chunk.chunk] == nullptr) return false;
      const uint64_t end = (uint64_t{chunk.chunk} + 1) << kChunkShift;
      const uint32_t rows = chunk.present_rows();
      return rows != kChunkTuples && partition->tuple_limit > end - kChunkTuples + rows;
    });
    std::sort(load_.chunks.begin(), load_.chunks.end(), [](const ArchiveChunk& a, const ArchiveChunk& b) {
      return std::pair(a.partition, a.chunk) < std::pair(b.partition, b.chunk);
    });
    for (const ArchiveChunk& chunk : load_.chunks) table_->partition(chunk.partition)->changed[chunk.chunk] = 0;
    for (uint32_t i = 0; i < table_->partition_count(); ++i) table_->partition(i)->next_row_id = entry_.row_ids[i];
  }

  Disk* const disk_;
  const std::string& path_;
  const ArchiveTable& entry_;
  Table* const table_;
  const OnChunk& on_chunk_;
  const bool uses_places_;
  const PartitionSet held_;
  std::set<std::pair<uint32_t, uint32_t>> placed_;  // of the archive's chunks
  // How many positions are used of chunks that end before the next one begins.
  std::map<std::pair<TablePartition*, uint64_t>, uint32_t> shorter_;
  std::vector<std::unique_ptr<File>> files_;  // null: has nothing that is wanted
  std::string bytes_;
  ArchiveLoad load_;
};

}  // namespace

StatusOr<ArchiveLoad> load_archive_table(Disk* disk, const std::string& path, const ArchiveTable& entry, Table* table,
                                         const OnChunk& on_chunk, bool uses_places, const PartitionSet& held) {
  before_table_load.fires();
  return TableLoader(disk, path, entry, table, on_chunk, uses_places, held).run();
}

namespace {

// Brings the rows of a chunk, which are its first tuples, to the positions beside `gaps`.
void spread_rows(TablePartition* partition, uint32_t rows, const InvalidRanges& gaps) {
  std::vector<uint32_t> positions;
  gaps.for_each_valid(0, kChunkTuples, [&](uint32_t begin, uint32_t end) {
    for (; begin < end && positions.size() < rows; ++begin) positions.push_back(begin);
  });
  CHECK(positions.size() == rows);
  char* chunk = partition->chunks[0];
  char* live = chunk + partition->plan->live_offset;
  for (uint32_t row = rows; row-- > 0;) {  // no row goes to a lower position
    const uint32_t position = positions[row];
    if (position == row) continue;
    for (const ColumnPlan& column : partition->plan->columns) {
      const ColumnAccess& access = column.access;
      std::memcpy(cell_of(access, chunk, position), cell_of(access, chunk, row), access.cell_bytes);
      if (access.null_offset == 0) continue;
      chunk[access.null_offset + uint64_t{position} * access.null_stride] =
          chunk[access.null_offset + uint64_t{row} * access.null_stride];
    }
    live[row] = 0;
    live[position] = 1;
  }
  reinterpret_cast<ChunkHeader*>(chunk)->used = kChunkTuples;
  partition->tuple_limit = kChunkTuples;
}

}  // namespace

StatusOr<std::string> freeze_archive_chunk(Disk* disk, const std::string& path, const ArchiveTable& entry,
                                           const ArchiveChunk& chunk, const Table& table) {
  if (!chunk.has_gaps) return sql_error("55000", "the archive does not say where the rows of the chunk lay");
  constexpr size_t kReserve = size_t{8} << 30;
  SCYPER_ASSIGN_OR_RETURN(const auto arena, Arena::create(kReserve, kReserve, PageMode::kSmall));
  SCYPER_ASSIGN_OR_RETURN(const auto rows, Table::create(table.schema(), table.partition_count(), arena.get()));
  ArchiveTable one;
  one.id = entry.id;
  one.rows = chunk.present_rows();
  one.row_ids = entry.row_ids;
  one.files = {entry.files[chunk.file]};
  one.chunks = {chunk};
  one.chunks[0].file = 0;
  SCYPER_RETURN_IF_ERROR(load_archive_table(disk, path, one, rows.get()).status());
  TablePartition* partition = rows->partition(chunk.partition);
  spread_rows(partition, chunk.present_rows(), chunk.gaps);
  return freeze_chunk(*rows, partition->chunks[0], table.frozen_store()->dictionaries).bytes;
}

Status check_archive_chunk(File* file, const ArchiveFile& of, const ArchiveChunk& chunk, uint64_t* raw_bytes) {
  thread_local std::string bytes;
  const uint64_t end = chunk.offset + chunk.bytes;
  uint64_t offset = chunk.offset, hash = 0;
  for (uint32_t i = 0; i < chunk.blocks; ++i) {
    SCYPER_RETURN_IF_ERROR(read_block(file, offset, end, &bytes));
    SCYPER_ASSIGN_OR_RETURN(const BlockHeader header, read_block_header(bytes, of.lsn, chunk.number + i));
    const std::string_view body = std::string_view(bytes).substr(sizeof(header), header.body_bytes);
    if (XXH3_64bits(body.data(), body.size()) != header.body_hash) {
      return damaged("the body of a block does not match its hash");
    }
    hash = XXH3_64bits_withSeed(&header.header_hash, sizeof(header.header_hash), hash);
    offset += sizeof(header) + header.body_bytes;
    *raw_bytes += header.raw_bytes;
  }
  return offset == end && hash == chunk.hash ? Status() : damaged("the blocks are not those that the manifest says");
}

namespace {

// Fills one index of a partition that has rows and no keys.
class IndexFiller {
 public:
  IndexFiller(TablePartition* partition, uint32_t index)
      : partition_(partition), index_(index), plan_(partition->plan->indexes[index]) {
    is_batched_ = plan_.key_bytes > 0 && partition->indexes[index].hash == nullptr;
    if (is_batched_) keys_.resize(uint64_t{kBatch} * plan_.key_bytes + kMaxIndexKeyBytes);
  }

  Status run() {
    ChunkReader reader(partition_, plan_.columns);
    const bool is_whole = is_batched_ ? reader.for_each([this](Tid tid, const char* chunk, uint32_t offset) {
      return collect(tid, chunk, offset);
    })
                                      : reader.for_each([this](Tid tid, const char* chunk, uint32_t offset) {
                                          return insert(tid, chunk, offset);
                                        });
    SCYPER_RETURN_IF_ERROR(reader.status());
    if (is_whole && flush()) return Status();
    return result_ == IndexResult::kOutOfMemory ? no_memory_to_load() : damaged("an archive has a key twice");
  }

 private:
  static constexpr uint32_t kBatch = 8192;  // entries that are sorted: some 200 KB

  bool collect(Tid tid, const char* chunk, uint32_t offset) {
    const RowKey info = encode_row_key(plan_, chunk, offset, tid, keys_.data() + uint64_t{count_} * plan_.key_bytes);
    if (info.size == 0) return true;
    CHECK(info.size == plan_.key_bytes);
    tids_[count_++] = tid;
    return count_ < kBatch || flush();
  }
  bool flush() {
    if (count_ == 0) return true;
    result_ = partition_->indexes[index_].ordered->insert_all(keys_.data(), tids_, std::exchange(count_, 0));
    return result_ == IndexResult::kOk;
  }
  bool insert(Tid tid, const char* chunk, uint32_t offset) {
    char key[kMaxIndexKeyBytes];
    const RowKey info = encode_row_key(plan_, chunk, offset, tid, key);
    ChangeLog::Conflict conflict;
    const ChangeResult result = insert_key(partition_, index_, key, info, tid, &conflict);
    if (result == ChangeResult::kOk) return true;
    result_ = result == ChangeResult::kOutOfMemory ? IndexResult::kOutOfMemory : IndexResult::kDuplicate;
    return false;
  }

  TablePartition* const partition_;
  const uint32_t index_;
  const IndexPlan& plan_;
  bool is_batched_;
  std::vector<char> keys_;
  Tid tids_[kBatch];
  uint32_t count_ = 0;
  IndexResult result_ = IndexResult::kOk;
};

}  // namespace

Status fill_indexes(TablePartition* partition) {
  before_index_fill.fires();
  for (uint32_t index = 0; index < partition->plan->indexes.size(); ++index) {
    SCYPER_RETURN_IF_ERROR(std::make_unique<IndexFiller>(partition, index)->run());
  }
  return Status();
}

}  // namespace scyper::storage
