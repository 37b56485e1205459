#include "storage/archive.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "storage/compactor.h"
#include "table_test_schema.h"

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
  explicit Archives(bool compacts = false) : compacts_(compacts) {
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
    for (; steps > 0; --steps) {
      TablePartition* partitions[] = {table_->partition(0), table_->partition(1)};
      compactor_.take_step(partitions, store_.log.get());
      if (steps % 2 == 0) compactor_.freeze_one();
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
  Compactor compactor_{{.is_forced = true, .moved_tuples_max = 500}};
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

TEST(ArchiveTest, FilesThatAreMostlyOldAreWrittenAgain) {
  Archives archives;
  archives.append(0, 4 * static_cast<int>(kChunkTuples));
  archives.write();
  for (Tid tid : {Tid{0}, Tid{kChunkTuples}, Tid{2 * kChunkTuples}}) archives.change(0, tid);
  archives.write();
  ASSERT_EQ(archives.manifest().tables[0].files.size(), 1u);
  EXPECT_EQ(archives.manifest().tables[0].files[0].lsn, 20u);
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

// Whatever bit of an archive changes, loading it says so, but for what later archives no longer use.
TEST(ArchiveTest, FlippedBits) {
  Random random(test_seed());
  Archives archives;
  archives.append(0, 3 * static_cast<int>(kChunkTuples));
  archives.append(1, 100);
  archives.write();
  archives.change(0, 3);
  archives.write();
  const std::string path = archive_path("/a", 20);
  const std::vector<std::string> names = *archives.disk().list(path);
  ASSERT_EQ(names.size(), 3u);
  // in files of its own every byte counts; of the shared file, what the manifest names
  const ArchiveTable entry = archives.manifest().tables[0];
  int unused = 0;
  for (int i = 0; i < 2000; ++i) {
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
  EXPECT_GT(unused, 0);
  EXPECT_TRUE(archives.load(20).ok());
}

// After a power loss at any moment each archive that has its manifest is whole.
TEST(ArchiveTest, PowerLossWhileWriting) {
  Random random(test_seed());
  Archives archives;
  archives.append(0, static_cast<int>(kChunkTuples) + 10);
  archives.append(1, 50);
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
      }
    }
    is_busy = false;
  });
  for (int round = 0; round < 5 && !HasFatalFailure(); ++round) {
    archives.write();
    archives.change(1, 7);
    if (round < 2) continue;
    auto entries = *list_archives(&archives.disk(), "/a");
    ASSERT_TRUE(remove_archive(&archives.disk(), entries[0]).ok());
  }
  archives.disk().set_observer(nullptr);
  printf("%d images, %d archives in them\n", images, loaded);
  EXPECT_GT(images, 300);
  EXPECT_GT(loaded, 300);
}

// Random changes, archives that fail, loads that go on: every archive is what the table was.
void change_at_random(bool compacts) {
  Random random(test_seed());
  Archives archives(compacts);
  archives.append(0, 50'000);
  archives.append(1, 35'000);
  uint64_t kept = 0;
  for (int round = 0; round < 25; ++round) {
    for (uint64_t left = random.below(6); left > 0; --left) {
      const auto partition = static_cast<uint32_t>(random.below(kPartitions));
      const Tid tid = random.below(archives.table().partition(partition)->tuple_limit);
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
    const Digest before = archives.digest();
    ASSERT_TRUE(archives.load(archives.lsn(), random.one_in(3)).ok());
    ASSERT_EQ(archives.loaded(), before) << "round " << round;
  }
  EXPECT_GT(kept, 0u);
  if (compacts) EXPECT_GT(archives.counts().frozen, 10u);
}

TEST(ArchiveTest, RandomChanges) { change_at_random(false); }
TEST(ArchiveTest, RandomChangesOfACompactedTable) { change_at_random(true); }

}  // namespace
}  // namespace scyper::storage
