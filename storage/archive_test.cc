#include "storage/archive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "storage/compactor.h"
#include "storage/partition_digest.h"
#include "table_test_schema.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

// Archives that refer to earlier ones for what has not changed.
namespace scyper::storage {
namespace {

constexpr uint32_t kPartitions = 2;

TableSchema narrow_schema() {
  TableSchema schema;
  schema.id = TableId(4);
  schema.name = "narrow";
  schema.columns = {{"id", make_type(TypeId::kInt4), true},
                    {"value", make_type(TypeId::kInt8), true},
                    {"note", make_type(TypeId::kText), false}};
  schema.indexes = {{IndexId(1), "narrow_pkey", {0}, {}, true, true}};
  schema.scheme = PartitionScheme::kHash;
  schema.partition_column = 0;
  return schema;
}

// A table, its archives, and what an engine does to make them.
class Archives {
 public:
  explicit Archives(bool compacts = false, bool cools = false)
      : compacts_(compacts), compactor_({.is_forced = true, .cools_first = cools, .moved_tuples_max = 500}) {
    CHECK(disk_.make_directory("/a").ok());
    table_ = make_table();
  }
  std::unique_ptr<Table> make_table() {
    auto table = store_.table(narrow_schema(), kPartitions);
    if (compacts_) table->allow_freezing(frozen_memory_.get());
    return table;
  }
  // So many steps of the compactor.
  void compact(uint64_t steps) {
    ASSERT_TRUE(compactor_.observe({}).ok());
    for (; steps > 0; --steps) {
      TablePartition* partitions[] = {table_->partition(0), table_->partition(1)};
      compactor_.take_step(partitions, store_.log.get());
      if (steps % 2 == 0) compactor_.freeze_one();
    }
  }
  // Everything is frozen.
  void freeze() {
    TablePartition* partitions[] = {table_->partition(0), table_->partition(1)};
    while (compactor_.take_step(partitions, store_.log.get()) || compactor_.freeze_one()) {
    }
  }
  Compactor::Counts counts() const { return compactor_.counts(); }

  void append(uint32_t partition, int rows) {
    std::vector<Datum> values;
    for (int i = 0; i < rows; ++i) {
      values.insert(values.end(), {int_datum(next_id_++), int_datum(i), string_datum("a note of some length", 21)});
    }
    ASSERT_TRUE(append_rows(table_->partition(partition), values, plain_text).ok());
  }
  void change(uint32_t partition, Tid tid, bool commits = true) {
    const UpdateDescriptor descriptor = make_update_descriptor(*table_, std::vector<uint32_t>{1});
    tid = make_hot(table_->partition(partition), tid, store_.log.get());
    ASSERT_EQ(update_row(table_->partition(partition), store_.log.get(), tid, descriptor, {int_datum(++changes_)}),
              ChangeResult::kOk);
    finish(commits);
  }
  void remove(uint32_t partition, Tid tid, bool commits = true) {
    ASSERT_EQ(delete_tuple(table_->partition(partition), tid, store_.log.get()), ChangeResult::kOk);
    finish(commits);
  }
  void insert(uint32_t partition, bool commits = true) {
    Tid tid;
    ASSERT_EQ(insert_row(table_->partition(partition), store_.log.get(),
                         {int_datum(next_id_++), int_datum(1), string_datum("new", 3)}, &tid),
              ChangeResult::kOk);
    finish(commits);
  }

  // fails: what an engine has when the process that writes is killed.
  ArchiveWriter* write(bool fails = false) {
    take_changed_chunks(*table_, &changed_);
    ArchiveWriter::Options options;
    if (base_ != nullptr) {
      auto base = std::make_shared<ArchiveBase>(*base_);
      base->changed = changed_;
      options.base = base;
    }
    options.on_warning = [this](const std::string& line) { warnings_.push_back(line); };
    warnings_.clear();
    lsn_ += 10;
    writer_ = *ArchiveWriter::create(&disk_, "/a", lsn_, options);
    EXPECT_TRUE(writer_->write_table(*table_).ok());
    if (fails) return writer_.get();
    ArchiveManifest manifest;
    manifest.partitions = kPartitions;
    EXPECT_TRUE(writer_->finish(manifest).ok());
    rebase(*read_manifest(&disk_, archive_path("/a", lsn_)));
    return writer_.get();
  }
  // Loads what the archive has of those partitions, into an empty table.
  StatusOr<std::unique_ptr<Table>> load_partitions(uint64_t lsn, const PartitionSet& held) {
    auto fresh = make_table();
    const std::string path = archive_path("/a", lsn);
    SCYPER_ASSIGN_OR_RETURN(ArchiveManifest manifest, read_manifest(&disk_, path));
    SCYPER_RETURN_IF_ERROR(
        load_archive_table(&disk_, path, manifest.tables[0], fresh.get(), {}, /*uses_places=*/true, held).status());
    for (uint32_t i = 0; i < kPartitions; ++i) SCYPER_RETURN_IF_ERROR(fill_indexes(fresh->partition(i)));
    check_table(*fresh);
    return fresh;
  }
  // Loads the archive; goes on with what was loaded, when it is to.
  Status load(uint64_t lsn, bool goes_on = false) {
    auto fresh = make_table();
    const std::string path = archive_path("/a", lsn);
    SCYPER_ASSIGN_OR_RETURN(ArchiveManifest manifest, read_manifest(&disk_, path));
    SCYPER_ASSIGN_OR_RETURN(ArchiveLoad load, load_archive_table(&disk_, path, manifest.tables[0], fresh.get()));
    for (uint32_t i = 0; i < kPartitions; ++i) SCYPER_RETURN_IF_ERROR(fill_indexes(fresh->partition(i)));
    check_table(*fresh);
    loaded_ = table_digest(*fresh);
    if (!goes_on) return Status();
    table_ = std::move(fresh);
    manifest.tables[0].chunks = load.chunks;
    rebase(std::move(manifest));
    return Status();
  }
  void rebase(ArchiveManifest manifest) {
    auto base = std::make_shared<ArchiveBase>();
    base->path = archive_path("/a", lsn_);
    base->manifest = std::move(manifest);
    base_ = base;
    changed_.clear();
  }

  Table& table() { return *table_; }
  Digest digest() const { return table_digest(*table_); }
  Digest loaded() const { return loaded_; }
  uint64_t lsn() const { return lsn_; }
  SimulatedDisk& disk() { return disk_; }
  const ArchiveManifest& manifest() const { return base_->manifest; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void finish(bool commits) {
    if (commits) {
      store_.log->commit();
    } else {
      store_.log->rollback_all();
    }
  }

  const bool compacts_;
  std::unique_ptr<FrozenMemory> frozen_memory_ = *FrozenMemory::create(size_t{64} << 20, FrozenPages::kSmall);
  TestStore store_;
  Compactor compactor_;
  SimulatedDisk disk_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<ArchiveWriter> writer_;
  std::shared_ptr<const ArchiveBase> base_;
  ChangedChunks changed_;
  std::vector<std::string> warnings_;
  uint64_t lsn_ = 0;
  int64_t next_id_ = 1;
  int64_t changes_ = 0;
  Digest loaded_;
};

TEST(ArchiveTest, UnchangedChunksAreNotWrittenAgain) {
  Archives archives;
  archives.append(0, 40'000);
  archives.append(1, 20'000);
  const uint64_t all = archives.write()->stored_bytes();
  EXPECT_EQ(archives.manifest().tables[0].chunks.size(), 5u);
  archives.change(0, 20'000);
  archives.change(0, 5, false);
  archives.remove(1, 7, false);
  ArchiveWriter* second = archives.write();
  EXPECT_LT(second->stored_bytes(), all / 2);
  EXPECT_GT(second->stored_bytes(), 0u);
  EXPECT_GT(second->kept_bytes(), all / 2);
  EXPECT_EQ(archives.manifest().tables[0].files.size(), 2u);
  EXPECT_EQ(archives.write()->stored_bytes(), 0u);
  ASSERT_TRUE(archives.load(30).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
  // each stands for itself
  auto entries = *list_archives(&archives.disk(), "/a");
  ASSERT_TRUE(remove_archive(&archives.disk(), entries[0]).ok());
  ASSERT_TRUE(remove_archive(&archives.disk(), entries[1]).ok());
  ASSERT_TRUE(archives.disk().sync_directory("/a").ok());
  EXPECT_TRUE(archives.load(30).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
}

// Chunks of earlier archives' files, too; and no byte more.
TEST(ArchiveTest, SomePartitionsNeedTheirChunksOnly) {
  Archives archives;
  for (uint32_t partition : {0, 1, 0, 1}) archives.append(partition, 40'000);
  archives.write();
  archives.change(0, 5);
  archives.change(1, 5);
  archives.write();
  const std::string path = archive_path("/a", archives.lsn());
  const ArchiveTable& entry = archives.manifest().tables.front();
  EXPECT_EQ(entry.files.size(), 2u);
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    PartitionSet set;
    set.add(partition);
    const auto ranges = archive_ranges(&archives.disk(), path, set);
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    SimulatedDisk to;
    uint64_t sent = 0, needed = 0;
    for (const auto& [name, of_file] : *ranges) {
      const std::string bytes = *archives.disk().read_file(path + "/" + name);
      auto file = *to.open("/" + name, OpenMode::kCreate);
      for (const auto& [begin, end] : of_file) {
        EXPECT_LT(begin, end);
        EXPECT_TRUE(file->write(begin, std::string_view(bytes).substr(begin, end - begin)).ok());
        sent += end - begin;
      }
    }
    for (const ArchiveChunk& chunk : entry.chunks) {
      if (chunk.partition != partition) continue;
      needed += chunk.bytes;
      const ArchiveFile& of = entry.files[chunk.file];
      auto file = to.open("/" + archive_file_name(entry.id, of.lsn), OpenMode::kRead);
      ASSERT_TRUE(file.ok()) << file.status();
      uint64_t raw_bytes = 0;
      EXPECT_TRUE(check_archive_chunk(file->get(), of, chunk, &raw_bytes).ok());
    }
    EXPECT_EQ(sent, needed);
  }
}

// What follows at once goes at once; a shared table has one partition, which is everybody's.
TEST(ArchiveTest, RangesOfSomePartitions) {
  SimulatedDisk disk;
  ArchiveManifest manifest;
  manifest.partitions = 2;
  ArchiveTable split, shared;
  split.id = 1;
  split.row_ids = {1, 1};
  split.files = {{7, 100}, {9, 50}, {8, 10}};
  const auto chunk = [](uint32_t partition, uint32_t file, uint64_t offset, uint64_t bytes) {
    ArchiveChunk made;
    made.partition = partition;
    made.file = file;
    made.offset = offset;
    made.bytes = bytes;
    made.blocks = made.rows = 1;
    return made;
  };
  split.chunks = {chunk(0, 2, 0, 10), chunk(1, 0, 60, 10), chunk(1, 0, 0, 20), chunk(1, 0, 20, 5), chunk(1, 1, 30, 20)};
  shared.id = 2;
  shared.row_ids = {1};
  shared.files = {{9, 40}};
  shared.chunks = {chunk(0, 0, 0, 40)};
  manifest.tables = {split, shared};
  ASSERT_TRUE(disk.open("/MANIFEST", OpenMode::kCreate).value()->write(0, encode_manifest(manifest)).ok());
  const auto ranges = archive_ranges(&disk, "", *PartitionSet::parse("1,5"));
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  const std::map<std::string, std::vector<std::pair<uint64_t, uint64_t>>> expected = {
      {"t1.7.dat", {{0, 25}, {60, 70}}}, {"t1.9.dat", {{30, 50}}}, {"t2.9.dat", {{0, 40}}}};
  EXPECT_EQ(*ranges, expected);
}

TEST(ArchiveTest, FilesThatAreMostlyOldAreWrittenAgain) {
  Archives archives;
  archives.append(0, 4 * static_cast<int>(kChunkTuples));
  archives.write();
  for (Tid tid : {Tid{0}, Tid{kChunkTuples}, Tid{2 * kChunkTuples}}) archives.change(0, tid);
  archives.write();
  ASSERT_EQ(archives.manifest().tables[0].files.size(), 1u);
  EXPECT_EQ(archives.manifest().tables[0].files[0].lsn, 20u);
}

// What is of other partitions may be absent: files, their ends, and holes within.
TEST(ArchiveTest, SomePartitionsOnly) {
  for (uint32_t partition : {0u, 1u}) {
    SCOPED_TRACE(partition);
    Archives archives;
    archives.append(0, 60'000);
    archives.append(1, 50'000);
    archives.write();
    archives.change(1, 5);
    archives.write();
    archives.change(0, 20'000);
    archives.write();
    const std::string path = archive_path("/a", archives.lsn());
    const ArchiveTable entry = archives.manifest().tables[0];
    ASSERT_EQ(entry.files.size(), 3u);
    const auto name_of = [&](uint32_t file) { return path + "/" + archive_file_name(4, entry.files[file].lsn); };
    const ArchiveChunk* last = nullptr;
    PartitionSet held;
    held.add(partition);
    for (uint32_t file = 0; file < entry.files.size(); ++file) {
      const std::string bytes = *archives.disk().read_file(name_of(file));
      ASSERT_TRUE(archives.disk().remove(name_of(file)).ok());
      std::unique_ptr<File> made;
      for (const ArchiveChunk& chunk : entry.chunks) {
        if (chunk.file != file || chunk.partition != partition) continue;
        last = &chunk;
        if (made == nullptr) made = *archives.disk().open(name_of(file), OpenMode::kCreate);
        ASSERT_TRUE(made->write(chunk.offset, std::string_view(bytes).substr(chunk.offset, chunk.bytes)).ok());
      }
    }
    auto table = archives.load_partitions(archives.lsn(), held);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ((*table)->partition(1 - partition)->chunk_count, 0u);
    EXPECT_EQ(*partition_digest(**table, partition), *partition_digest(archives.table(), partition));
    EXPECT_EQ(sqlstate_of(archives.load(archives.lsn())), "XX001");
    archives.disk().flip(name_of(last->file), last->offset + last->bytes / 2, 4);
    EXPECT_EQ(sqlstate_of(archives.load_partitions(archives.lsn(), held).status()), "XX001");
  }
}

TEST(ArchiveTest, DamageIsFoundAndWrittenAgain) {
  Archives archives;
  archives.append(0, 60'000);
  archives.write();
  archives.change(0, 3);
  archives.write();
  const ArchiveChunk shared = archives.manifest().tables[0].chunks[1];
  EXPECT_EQ(archives.manifest().tables[0].files[shared.file].lsn, 10u);
  archives.disk().flip(archive_path("/a", 20) + "/" + archive_file_name(4, 10), shared.offset + shared.bytes / 2, 4);
  EXPECT_EQ(sqlstate_of(archives.load(10)), "XX001");  // the same file
  EXPECT_EQ(sqlstate_of(archives.load(20)), "XX001");
  ArchiveWriter* third = archives.write();
  EXPECT_GT(third->stored_bytes(), 0u);
  ASSERT_EQ(archives.warnings().size(), 1u);
  EXPECT_NE(archives.warnings()[0].find("t4.10.dat"), std::string::npos) << archives.warnings()[0];
  ASSERT_TRUE(archives.load(30).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
}

uint32_t gone_rows(const ArchiveManifest& manifest) {
  uint32_t rows = 0;
  for (const ArchiveChunk& chunk : manifest.tables[0].chunks) rows += chunk.gone.positions();
  return rows;
}

// Of a frozen chunk that has been written once, later archives only say what it has lost.
TEST(ArchiveTest, FrozenChunksAreNotWrittenAgain) {
  Archives archives(true);
  archives.append(0, 3 * static_cast<int>(kChunkTuples));
  archives.append(1, 100);
  const uint64_t all = archives.write()->stored_bytes();
  archives.freeze();
  EXPECT_EQ(archives.write()->stored_bytes(), 0u);
  for (Tid tid = 100; tid < 200; ++tid) archives.remove(0, tid);
  archives.change(0, kChunkTuples + 5);
  archives.change(0, kChunkTuples + 7, false);
  ArchiveWriter* writer = archives.write();
  EXPECT_LT(writer->stored_bytes(), 1000u);  // the row that has moved
  EXPECT_EQ(writer->kept_bytes(), all);
  EXPECT_EQ(gone_rows(archives.manifest()), 101u);
  EXPECT_EQ(archives.manifest().tables[0].chunks[0].gone.ranges().size(), 1u);
  ASSERT_TRUE(archives.load(30).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
  // what has gone already, and what goes around it
  for (Tid tid = 50; tid < 300; ++tid) {
    if (is_live(archives.table().partition(0), tid)) archives.remove(0, tid);
  }
  archives.write();
  EXPECT_EQ(gone_rows(archives.manifest()), 251u);
  EXPECT_EQ(archives.manifest().tables[0].chunks[0].gone.ranges().size(), 1u);
  ASSERT_TRUE(archives.load(40, true).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
  // after a restart: the first chunk is shorter, and begins where it began
  archives.freeze();
  archives.remove(0, 60);
  archives.write();
  EXPECT_EQ(archives.manifest().tables[0].chunks[0].gone.positions(), 251u);
  ASSERT_TRUE(archives.load(50).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
  const std::vector<ArchiveEntry> entries = *list_archives(&archives.disk(), "/a");
  for (const ArchiveEntry& entry : entries) {
    if (entry.lsn < 50) ASSERT_TRUE(remove_archive(&archives.disk(), entry).ok());
  }
  EXPECT_TRUE(archives.load(50).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
}

TEST(ArchiveTest, FrozenChunksThatHaveLostMuchAreWrittenAgain) {
  Archives archives(true);
  archives.append(0, 5 * static_cast<int>(kChunkTuples));
  archives.freeze();
  archives.write();
  for (Tid tid = 0; tid < kChunkTuples / 4; ++tid) archives.remove(0, tid);
  // more ranges than a manifest takes
  for (uint32_t i = 0; i <= ArchiveChunk::kRangesMax; ++i) archives.remove(0, kChunkTuples + 3 * i);
  archives.remove(0, 2 * kChunkTuples);
  ArchiveWriter* writer = archives.write();
  EXPECT_GT(writer->stored_bytes(), writer->kept_bytes() / 2);
  EXPECT_EQ(gone_rows(archives.manifest()), 1u);
  ASSERT_TRUE(archives.load(20).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
  // where rows lay in the second one is not in the manifest: written once more
  archives.remove(0, kChunkTuples + 1);
  EXPECT_GT(archives.write()->stored_bytes(), 0u);
  ASSERT_TRUE(archives.load(30).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
}

// Written in place and then frozen, before and after the marks are taken; cold chunks that become hot again.
TEST(ArchiveTest, ChangesBeforeChunksFreeze) {
  Archives archives(true);
  archives.append(0, 2 * static_cast<int>(kChunkTuples));
  archives.write();
  archives.change(0, 3);
  archives.freeze();
  archives.remove(0, 4);
  archives.remove(0, kChunkTuples);
  archives.write(true);  // takes the marks, and fails
  archives.remove(0, 5);
  archives.write();
  EXPECT_EQ(gone_rows(archives.manifest()), 1u);
  ASSERT_TRUE(archives.load(archives.lsn()).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
  archives.append(1, static_cast<int>(kChunkTuples));
  archives.write();
  archives.change(1, 9);
  archives.compact(1);  // cold
  for (Tid tid = 1000; tid < 2000; ++tid) archives.remove(1, tid);
  archives.freeze();  // hot again, and frozen
  archives.write();
  ASSERT_TRUE(archives.load(archives.lsn()).ok());
  EXPECT_EQ(archives.loaded(), archives.digest());
  EXPECT_GT(archives.counts().returned, 0u);
}

// Frozen chunks are referred to unread: it is the reading back that finds damage.
TEST(ArchiveTest, FrozenChunksAreNotReadAgain) {
  Archives archives(true);
  archives.append(0, 2 * static_cast<int>(kChunkTuples));
  archives.freeze();
  archives.write();
  const ArchiveChunk shared = archives.manifest().tables[0].chunks[1];
  archives.disk().flip(archive_path("/a", 10) + "/" + archive_file_name(4, 10), shared.offset + shared.bytes / 2, 4);
  EXPECT_EQ(archives.write()->stored_bytes(), 0u);
  EXPECT_TRUE(archives.warnings().empty());
  EXPECT_EQ(sqlstate_of(archives.load(20)), "XX001");
}

ArchiveManifest manifest_of(const ArchiveChunk& chunk) {
  ArchiveManifest manifest;
  ArchiveTable& table = manifest.tables.emplace_back();
  table.row_ids = {1};
  table.files = {{10, 1000}};
  table.chunks = {chunk};
  return manifest;
}

TEST(ArchiveTest, RangesOfAManifest) {
  ArchiveChunk chunk;
  chunk.rows = 10;
  chunk.has_gaps = true;
  chunk.gone.add(2, 4);
  chunk.gone.add(9, 10);
  chunk.gaps.add(0, 100);
  const auto read = decode_manifest(encode_manifest(manifest_of(chunk)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tables[0].chunks[0].gone.ranges(), chunk.gone.ranges());
  EXPECT_EQ(read->tables[0].chunks[0].gaps.ranges(), chunk.gaps.ranges());
  EXPECT_EQ(read->tables[0].chunks[0].present_rows(), 7u);
  ArchiveChunk all_gone = chunk, too_many = chunk, too_far = chunk;
  all_gone.gone.add(0, 10);
  too_many.gaps.add(0, kChunkTuples - 6);
  too_far.gone.add(11, 12);
  for (const ArchiveChunk& wrong : {all_gone, too_many, too_far}) {
    EXPECT_EQ(sqlstate_of(decode_manifest(encode_manifest(manifest_of(wrong))).status()), "XX001");
  }
}

// As it was before chunks had ranges.
TEST(ArchiveTest, ManifestOfVersion2) {
  ArchiveChunk chunk;
  chunk.rows = 10;
  std::string bytes = encode_manifest(manifest_of(chunk));
  // the ranges; behind them streams, attachments and the hash
  bytes.erase(bytes.size() - 24, 8);
  bytes[8] = 2;
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size() - sizeof(hash));
  std::memcpy(bytes.data() + bytes.size() - sizeof(hash), &hash, sizeof(hash));
  const auto read = decode_manifest(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->tables[0].chunks[0].has_gaps);
  EXPECT_EQ(read->tables[0].chunks[0].present_rows(), 10u);
}

// Whatever bit of an archive changes, loading it says so, but for what later archives no longer use.
void flip_bits(bool compacts) {
  Random random(test_seed());
  Archives archives(compacts);
  archives.append(0, 3 * static_cast<int>(kChunkTuples));
  archives.append(1, 100);
  archives.write();
  if (compacts) archives.freeze();
  archives.change(0, 3);
  archives.write();
  const std::string path = archive_path("/a", 20);
  const std::vector<std::string> names = *archives.disk().list(path);
  ASSERT_EQ(names.size(), 3u);
  // in files of its own every byte counts; of the shared file, what the manifest names
  const ArchiveTable entry = archives.manifest().tables[0];
  int unused = 0;
  for (int i = 0; i < (compacts ? 500 : 2000); ++i) {
    const std::string name = path + "/" + names[random.below(names.size())];
    const uint64_t offset = random.below(*(*archives.disk().open(name, OpenMode::kRead))->size());
    const auto mask = static_cast<uint8_t>(1u << random.below(8));
    bool is_used = !name.ends_with(archive_file_name(4, 10));
    for (const ArchiveChunk& chunk : entry.chunks) {
      if (entry.files[chunk.file].lsn == 10) is_used |= offset - chunk.offset < chunk.bytes;
    }
    archives.disk().flip(name, offset, mask);
    unused += is_used ? 0 : 1;
    auto manifest = read_manifest(&archives.disk(), path);
    Status status = manifest.status();
    if (status.ok()) status = load_archive_table(&archives.disk(), path, manifest->tables[0], nullptr).status();
    ASSERT_EQ(status.ok(), !is_used) << name << " " << offset;
    if (is_used) ASSERT_EQ(sqlstate_of(status), "XX001") << status;
    archives.disk().flip(name, offset, mask);
  }
  EXPECT_EQ(unused > 0, !compacts);  // all of the frozen chunks is in use
  EXPECT_TRUE(archives.load(20).ok());
}

TEST(ArchiveTest, FlippedBits) { flip_bits(false); }
TEST(ArchiveTest, FlippedBitsOfFrozenChunks) { flip_bits(true); }

// After a power loss at any moment each archive that has its manifest is whole.
void lose_power(bool compacts) {
  Random random(test_seed());
  Archives archives(compacts);
  archives.append(0, static_cast<int>(kChunkTuples) + 10);
  archives.append(1, 50);
  std::map<uint64_t, uint64_t> rows;  // of each archive, by LSN
  int images = 0, loaded = 0;
  bool is_busy = false;
  archives.disk().set_observer([&] {
    if (std::exchange(is_busy, true)) return;
    for (int i = 0; i < 6; ++i) {
      auto image = archives.disk().after_power_loss(random.next());
      ++images;
      if (!image->exists("/a")) continue;
      const std::vector<ArchiveEntry> entries = *list_archives(image.get(), "/a");
      for (const ArchiveEntry& entry : entries) {
        if (!entry.is_complete) continue;
        ++loaded;
        auto manifest = read_manifest(image.get(), entry.path);
        ASSERT_TRUE(manifest.ok()) << manifest.status();
        auto load = load_archive_table(image.get(), entry.path, manifest->tables[0], nullptr);
        ASSERT_TRUE(load.ok()) << load.status();
        ASSERT_EQ(load->rows, rows.at(entry.lsn));
      }
    }
    is_busy = false;
  });
  for (int round = 0; round < 5 && !testing::Test::HasFatalFailure(); ++round) {
    if (compacts) archives.freeze();
    rows[archives.lsn() + 10] = archives.table().live_tuples();
    archives.write();
    EXPECT_EQ(gone_rows(archives.manifest()), compacts ? 2 * static_cast<uint32_t>(round) : 0);
    archives.change(1, 7 + static_cast<Tid>(round));
    if (compacts) archives.remove(0, static_cast<Tid>(round));
    if (round < 2) continue;
    auto entries = *list_archives(&archives.disk(), "/a");
    ASSERT_TRUE(remove_archive(&archives.disk(), entries[0]).ok());
  }
  archives.disk().set_observer(nullptr);
  printf("%d images, %d archives in them\n", images, loaded);
  EXPECT_GT(images, 300);
  EXPECT_GT(loaded, 300);
}

TEST(ArchiveTest, PowerLossWhileWriting) { lose_power(false); }
TEST(ArchiveTest, PowerLossWhileFrozenChunksAreReferredTo) { lose_power(true); }

// Random changes, archives that fail, loads that go on: every archive is what the table was.
void change_at_random(bool compacts, bool cools) {
  Random random(test_seed());
  Archives archives(compacts, cools);
  archives.append(0, 50'000);
  archives.append(1, 35'000);
  uint64_t kept = 0, gone = 0;
  for (int round = 0; round < 25; ++round) {
    for (uint64_t left = random.below(6); left > 0; --left) {
      const auto partition = static_cast<uint32_t>(random.below(kPartitions));
      const Tid tid = random.below(archives.table().partition(partition)->tuple_limit);
      note_read(archives.table().partition(partition), tid);
      const bool commits = !random.one_in(4);
      if (random.one_in(3) || !is_live(archives.table().partition(partition), tid)) {
        archives.insert(partition, commits);
      } else if (random.one_in(3)) {
        archives.remove(partition, tid, commits);
      } else {
        archives.change(partition, tid, commits);
      }
    }
    if (compacts) archives.compact(random.below(8));
    const bool fails = random.one_in(4);
    kept += archives.write(fails)->kept_bytes();
    if (fails) continue;
    gone += gone_rows(archives.manifest());
    const Digest before = archives.digest();
    ASSERT_TRUE(archives.load(archives.lsn(), random.one_in(3)).ok());
    ASSERT_EQ(archives.loaded(), before) << "round " << round;
  }
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(gone > 0, compacts);
  if (compacts) EXPECT_GT(archives.counts().frozen, cools ? 0u : 10u);
  if (cools) EXPECT_GT(archives.counts().relocated, 0u);
}

TEST(ArchiveTest, RandomChanges) { change_at_random(false, false); }
TEST(ArchiveTest, RandomChangesOfACompactedTable) { change_at_random(true, false); }
TEST(ArchiveTest, RandomChangesOfATableThatCools) { change_at_random(true, true); }

}  // namespace
}  // namespace scyper::storage
