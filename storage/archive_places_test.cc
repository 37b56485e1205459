#include "archive_places.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/random.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "compactor_fixture.h"
#include "storage/archive.h"
#include "storage/change_log.h"
#include "storage/frozen_tier.h"
#include "storage/tiered_chunk.h"

// Restarts in place: archives that say where the data of frozen chunks lies in the node's tier (docs/tiering.md).
namespace scyper::storage {
namespace {

constexpr uint32_t kParts = 2;

class ArchivePlacesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "places_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    options_.directory = name;
    options_.cache_bytes = 16 * FrozenTier::kPageBytes;
    options_.memory_bytes = 0;
    ASSERT_TRUE(disk_.make_directory("/a").ok());
    if (!start()) GTEST_SKIP() << "no io_uring";
  }
  void TearDown() override {
    disarm_failpoints();
    end();
    std::filesystem::remove_all(options_.directory);
  }

  void end() {
    compactor_.reset();
    table_.reset();
    tier_.reset();
    memory_.reset();
    store_.reset();
  }
  // A process, without rows.
  bool start() {
    end();
    auto made = FrozenTier::create(options_);
    if (sqlstate_of(made.status()) == "0A000") return false;
    EXPECT_TRUE(made.ok()) << made.status();
    tier_ = *std::move(made);
    store_ = std::make_unique<TestStore>();
    memory_ = *FrozenMemory::create(kMemoryBytes, FrozenPages::kSmall);
    Compactor::Options options = forced();
    options.tier = tier_.get();
    options.moved_tuples_max = 500;
    compactor_ = std::make_unique<Compactor>(options);
    make_table();
    return true;
  }
  void make_table() {
    table_ = store_->table(small_schema(), kParts);
    table_->allow_freezing(memory_.get());
    table_->frozen_store()->tier = tier_.get();
  }
  void append(uint32_t partition, int rows) {
    std::vector<Datum> values;
    std::vector<std::string> texts;
    texts.reserve(static_cast<size_t>(rows) * 2);
    for (int i = 0; i < rows; ++i) {
      texts.push_back("name" + std::to_string(random_.below(50)));
      texts.push_back(std::string(random_.below(60), static_cast<char>('a' + random_.below(26))));
      values.push_back(int_datum(next_id_++));
      values.push_back(random_.one_in(10) ? null_datum() : int_datum(static_cast<int64_t>(random_.below(1000))));
      values.push_back(string_datum(texts[texts.size() - 2].data(), texts[texts.size() - 2].size()));
      values.push_back(random_.one_in(5) ? null_datum() : string_datum(texts.back().data(), texts.back().size()));
    }
    ASSERT_TRUE(append_rows(table_->partition(partition), values, plain_text).ok());
  }
  // All is frozen and in the tier.
  void evict() {
    TablePartition* partitions[] = {table_->partition(0), table_->partition(1)};
    while (compactor_->take_step(partitions, store_->log.get()) || compactor_->freeze_one()) {
    }
  }
  void remove_some(int rows) {
    for (int i = 0; i < rows; ++i) {
      TablePartition* partition = table_->partition(static_cast<uint32_t>(random_.below(kParts)));
      const Tid tid = random_.below(partition->tuple_limit);
      if (!is_live(partition, tid)) continue;
      ASSERT_TRUE(bring_tuple(partition, tid).ok());
      ASSERT_EQ(delete_tuple(partition, tid, store_->log.get()), ChangeResult::kOk);
      store_->log->commit();
    }
  }
  // An archive of the node's own. Its bytes of rows.
  uint64_t archive() {
    take_changed_chunks(*table_, &changed_);
    ArchiveWriter::Options options;
    options.has_places = true;
    options.on_warning = [this](const std::string& line) { warnings_.push_back(line); };
    if (base_ != nullptr) {
      base_->changed = changed_;
      options.base = base_;
    }
    lsn_ += 10;
    tier_->keep_all(lsn_);
    auto writer = *ArchiveWriter::create(&disk_, "/a", lsn_, options);
    EXPECT_TRUE(writer->write_table(*table_).ok());
    ArchiveManifest manifest;
    manifest.partitions = kParts;
    EXPECT_TRUE(writer->finish(manifest).ok());
    changed_.clear();
    set_base(*read_manifest(&disk_, path()));
    return writer->stored_bytes();
  }
  std::string path() const { return archive_path("/a", lsn_); }
  void set_base(ArchiveManifest manifest) {
    base_ = std::make_shared<ArchiveBase>();
    base_->path = path();
    base_->manifest = std::move(manifest);
  }
  // A new process begins with the newest archive.
  StatusOr<ArchiveLoad> restart(bool uses_places = true) {
    EXPECT_TRUE(start());
    return load(uses_places);
  }
  StatusOr<ArchiveLoad> load(bool uses_places = true) {
    if (auto stamps = read_archive_tier_files(&disk_, path()); stamps.ok()) tier_->keep(lsn_, *stamps);
    SCYPER_ASSIGN_OR_RETURN(ArchiveManifest manifest, read_manifest(&disk_, path()));
    SCYPER_ASSIGN_OR_RETURN(ArchiveLoad load,
                            load_archive_table(&disk_, path(), manifest.tables[0], table_.get(), {}, uses_places));
    for (uint32_t i = 0; i < kParts; ++i) SCYPER_RETURN_IF_ERROR(fill_indexes(table_->partition(i)));
    check_table(*table_);
    manifest.tables[0].chunks = load.chunks;
    set_base(std::move(manifest));
    return load;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(options_.directory)) names.insert(file.path());
    return names;
  }
  uint64_t rows() const { return table_->live_tuples(); }

  Random random_{test_seed()};
  FrozenTierOptions options_;
  SimulatedDisk disk_;
  std::unique_ptr<TestStore> store_;
  std::unique_ptr<FrozenMemory> memory_;
  std::unique_ptr<FrozenTier> tier_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<Compactor> compactor_;
  std::shared_ptr<ArchiveBase> base_;
  ChangedChunks changed_;
  std::vector<std::string> warnings_;
  uint64_t lsn_ = 0;
  int next_id_ = 1;
};

// Several lives: what is in the tier stays there, changes go on, archives after the first write what is new.
TEST_F(ArchivePlacesTest, RestartsInPlace) {
  for (int life = 0; life < 4; ++life) {
    append(0, 2 * static_cast<int>(kChunkTuples) + 100);
    append(1, static_cast<int>(kChunkTuples) + 50);
    evict();
    remove_some(300);
    const uint64_t cold = rows();
    append(1, 30);
    archive();
    const Digest before = table_digest(*table_);
    auto load = restart();
    ASSERT_TRUE(load.ok()) << load.status();
    EXPECT_TRUE(load->places.ok()) << load->places;
    EXPECT_EQ(load->placed_rows, cold);
    EXPECT_EQ(rows(), cold + 30);
    EXPECT_EQ(table_digest(*table_), before);
    // the next one has to write no row, though some have gone
    remove_some(40);
    const Digest changed = table_digest(*table_);
    EXPECT_LT(archive(), 100'000u);
    load = restart();
    ASSERT_TRUE(load.ok()) << load.status();
    EXPECT_EQ(table_digest(*table_), changed);
    EXPECT_GT(load->placed_rows, cold - 50);
    ASSERT_TRUE(restart(false).ok());
    EXPECT_EQ(table_digest(*table_), changed) << "the rows beside";
    ASSERT_TRUE(restart().ok());
  }
  EXPECT_TRUE(warnings_.empty());
}

// Chunks that are all in memory are beside those in the tier; where nothing is in the tier, rows are read.
TEST_F(ArchivePlacesTest, ChunksInMemory) {
  options_.memory_bytes = uint64_t{1} << 30;
  ASSERT_TRUE(start());
  append(0, static_cast<int>(kChunkTuples));
  evict();
  archive();
  auto load = restart();
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_EQ(load->placed_rows, 0u);
  options_.memory_bytes = 0;
  ASSERT_TRUE(start());
  ASSERT_TRUE(this->load().ok());
  evict();
  EXPECT_GT(tier_->counts().tiered_vectors, 0u);
  archive();
  options_.memory_bytes = uint64_t{1} << 30;
  ASSERT_TRUE(restart().ok());
  append(0, static_cast<int>(kChunkTuples));
  append(1, 2 * static_cast<int>(kChunkTuples));
  evict();
  tier_->begin_window();
  evict();  // copies
  const uint64_t tiered = tier_->counts().tiered_bytes;
  remove_some(300);
  const uint64_t frozen = rows();
  append(1, 20);
  archive();
  const Digest before = table_digest(*table_);
  for (int life = 0; life < 2; ++life) {
    load = restart();
    ASSERT_TRUE(load.ok()) << load.status();
    EXPECT_TRUE(load->places.ok()) << load->places;
    EXPECT_EQ(load->placed_rows, frozen);
    EXPECT_GT(tier_->counts().tiered_bytes, tiered) << "what was in memory has copies, and stays there";
    EXPECT_EQ(table_digest(*table_), before);
    for (int window = 0; window < 20; ++window) tier_->begin_window();  // it is not for its use
    if (life == 1) evict();
    EXPECT_EQ(tier_->counts().tiered_bytes == tiered, life == 1) << "it comes back";
    EXPECT_EQ(table_digest(*table_), before);
    archive();  // also before that: it is to come back then
  }
  options_.memory_bytes = 0;  // and go there like any others
  ASSERT_TRUE(restart().ok());
  evict();
  EXPECT_GT(tier_->counts().tiered_bytes, tiered);
  EXPECT_EQ(table_digest(*table_), before);
}

// What is in memory is written once, and goes without a write; what could not be written is tried again.
TEST_F(ArchivePlacesTest, CopiesOfWhatIsInMemory) {
  constexpr int64_t kRoom = int64_t{1} << 30;
  options_.memory_bytes = kRoom;
  ASSERT_TRUE(start());
  append(0, 2 * static_cast<int>(kChunkTuples));
  const auto copies = [this](uint32_t chunk) {
    return slot_of(table_->partition(0), Tid{chunk} << kChunkShift)->copies;
  };
  evict();
  ASSERT_TRUE(arm_failpoints("tier.before_write=fail*1").ok());
  tier_->begin_window();
  evict();
  EXPECT_EQ(copies(0), nullptr);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(tier_->counts().failed_evictions, 0u) << "evictions go on";
  for (int window = 0; window < 8; ++window) {
    EXPECT_TRUE(files().empty());
    tier_->begin_window();
    evict();
  }
  const std::set<std::string> written = files();
  ASSERT_EQ(written.size(), 1u);
  tier_->begin_window();
  evict();
  EXPECT_EQ(files(), written);
  const Digest before = table_digest(*table_);
  for (const uint32_t chunk : {0u, 1u}) {
    ASSERT_NE(copies(chunk), nullptr);
    for (const TierPlace& place : copies(chunk)->places) EXPECT_NE(place.file, nullptr);
  }
  EXPECT_EQ(tier_->counts().tiered_bytes, 0u);
  tier_->add_resident(kRoom);
  evict();
  EXPECT_EQ(files(), written);
  EXPECT_EQ(tier_->counts().unwritten_bytes, tier_->counts().tiered_bytes);
  EXPECT_GT(tier_->counts().tiered_bytes, 0u);
  EXPECT_EQ(table_digest(*table_), before);
  tier_->add_resident(-kRoom);
  evict();
}

// What has come back, some of a chunk or all of it, is as what never went; what goes again has its old place, which the
// next archive names.
TEST_F(ArchivePlacesTest, WhatCameBack) {
  constexpr int64_t kRoom = int64_t{8} << 20;
  options_.memory_bytes = kRoom;
  ASSERT_TRUE(start());
  append(0, 3 * static_cast<int>(kChunkTuples));
  append(1, 2 * static_cast<int>(kChunkTuples));
  tier_->add_resident(kRoom);
  evict();
  archive();
  for (int life = 0; life < 3; ++life) {
    if (life > 0) tier_->add_resident(kRoom);
    evict();
    tier_->add_resident(-kRoom);
    const uint64_t tiered = tier_->counts().tiered_vectors;
    VectorReader vectors;
    for (int i = 0; i < 8 * 20; ++i) {
      const TablePartition* partition = table_->partition(i % kParts);
      vectors.open(partition, *slot_of(partition, random_.below(2) << kChunkShift));
      ASSERT_TRUE(vectors.bring(static_cast<uint32_t>(random_.below(4))));
    }
    tier_->begin_window();
    evict();
    ASSERT_GT(tier_->counts().promoted_vectors, 0u);
    ASSERT_LT(tier_->counts().tiered_vectors, tiered);
    remove_some(200);
    const Digest before = table_digest(*table_);
    archive();
    auto load = restart();
    ASSERT_TRUE(load.ok()) << load.status();
    EXPECT_TRUE(load->places.ok()) << load->places;
    EXPECT_EQ(load->placed_rows, rows());
    EXPECT_EQ(table_digest(*table_), before);
    // in files and in memory, but not in the places
    tier_->keep_only({lsn_});
    tier_->remove_unused();
    EXPECT_EQ(table_digest(*table_), before);
  }
  EXPECT_TRUE(warnings_.empty());
}

// A file stays as long as an archive names it, and no longer.
TEST_F(ArchivePlacesTest, FilesGoWhenNobodyNamesThem) {
  append(0, static_cast<int>(kChunkTuples));
  evict();
  archive();
  const std::set<std::string> first = files();
  ASSERT_EQ(first.size(), 1u);
  make_table();  // no slot has it any more
  tier_->remove_unused();
  EXPECT_EQ(files(), first);
  EXPECT_EQ(tier_->counts().archived_files, 1u);
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(tier_->counts().archived_files, 0u);
  const uint64_t old = lsn_;
  append(0, static_cast<int>(kChunkTuples));
  evict();
  archive();
  EXPECT_EQ(files().size(), 2u);
  make_table();
  tier_->keep_only({old});
  ASSERT_TRUE(arm_failpoints("tier.before_remove=fail*1").ok());
  tier_->remove_unused();
  EXPECT_EQ(files().size(), 2u) << "the next one does it";
  disarm_failpoints();
  tier_->remove_unused();
  EXPECT_EQ(files(), first);
  ASSERT_TRUE(restart().ok()) << "from rows: its files have gone in part";
  EXPECT_EQ(rows(), 2 * kChunkTuples);
  // what a crash has left goes when the node serves
  ASSERT_TRUE(start());
  EXPECT_EQ(files(), first);
  tier_->remove_unused();
  EXPECT_TRUE(files().empty());
}

// Whatever is wrong with it, the rows are there.
TEST_F(ArchivePlacesTest, DamageIsNoLoss) {
  append(0, static_cast<int>(kChunkTuples));
  append(1, 2 * static_cast<int>(kChunkTuples));
  evict();
  remove_some(100);
  archive();
  const Digest before = table_digest(*table_);
  const uint64_t all = rows();
  const std::string name = path() + "/" + places_file_name(table_->schema().id.value());
  const std::string whole = *disk_.read_file(name);
  const auto put = [&](std::string_view bytes) {
    auto file = *disk_.open(name, OpenMode::kCreate);
    ASSERT_TRUE(file->write(0, bytes).ok());
  };
  uint64_t partly = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bytes = whole;
    if (i % 3 == 0) {
      bytes.resize(random_.below(bytes.size()));
    } else {
      bytes[random_.below(bytes.size())] ^= static_cast<char>(1 << random_.below(8));
    }
    put(bytes);
    make_table();
    const auto load = this->load();
    ASSERT_TRUE(load.ok()) << load.status();
    EXPECT_EQ(sqlstate_of(load->places), "XX001");
    EXPECT_LT(load->placed_rows, all + 1);
    partly += load->placed_rows > 0 ? 1 : 0;
    EXPECT_EQ(table_digest(*table_), before);
    EXPECT_EQ(rows(), all);
  }
  EXPECT_GT(partly, 0u);
  put(whole);
  // files that are missing, cut off, or another one
  const std::set<std::string> all_files = files();
  for (const int64_t bytes : {int64_t{-1}, int64_t{4096}, int64_t{0}}) {
    end();
    for (const std::string& file : all_files) {
      std::filesystem::copy_file(file, file + ".kept", std::filesystem::copy_options::overwrite_existing);
      if (bytes < 0) std::filesystem::remove(file);
      if (bytes >= 0) std::filesystem::resize_file(file, static_cast<uintmax_t>(bytes));
    }
    const auto load = restart();
    ASSERT_TRUE(load.ok()) << load.status();
    EXPECT_EQ(sqlstate_of(load->places), "XX001") << load->places;
    EXPECT_EQ(load->placed_rows, 0u);
    EXPECT_EQ(table_digest(*table_), before);
    end();
    for (const std::string& file : all_files) std::filesystem::rename(file + ".kept", file);
  }
  const auto load = restart();
  ASSERT_TRUE(load.ok() && load->places.ok());
  EXPECT_EQ(load->placed_rows, all);
}

// As one that was given up in the middle may leave it: chunks of the same numbers have other rows.
TEST_F(ArchivePlacesTest, OfAnotherArchive) {
  for (const bool is_other : {true, false}) {
    append(0, 2 * static_cast<int>(kChunkTuples));
    evict();
    base_ = nullptr;
    archive();
    if (is_other) make_table();
  }
  const Digest before = table_digest(*table_);
  const std::string name = "/" + places_file_name(table_->schema().id.value());
  const std::string other = *disk_.read_file(archive_path("/a", lsn_ - 10) + name);
  auto file = *disk_.open(path() + name, OpenMode::kCreate);
  ASSERT_TRUE(file->write(0, other).ok());
  const auto load = restart();
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_EQ(sqlstate_of(load->places), "XX001") << load->places;
  EXPECT_EQ(load->placed_rows, 0u);
  EXPECT_EQ(table_digest(*table_), before);
}

// An archive of another node, with the files of its tier: here they are used as they are; rows are read of what is
// missing.
TEST_F(ArchivePlacesTest, AnotherNodesFiles) {
  append(0, 2 * static_cast<int>(kChunkTuples) + 10);
  append(1, static_cast<int>(kChunkTuples));
  evict();
  remove_some(100);
  append(1, static_cast<int>(kChunkTuples));
  evict();
  archive();
  const Digest before = table_digest(*table_);
  const uint64_t all = rows();
  const auto named = read_archive_tier_files(&disk_, path());
  ASSERT_TRUE(named.ok() && named->size() > 1) << named.status();
  const auto sent = tier_->paths_of(*named);
  const std::string others = options_.directory;
  const uint64_t sent_lsn = lsn_;
  end();
  for (const size_t missing : {size_t{1}, size_t{0}}) {
    options_.directory = absl::StrCat(others, "_", missing);
    ASSERT_TRUE(start());
    EXPECT_TRUE(tier_->file_names().empty());
    for (const char* name :
         {"", "x.tier", "../0000000000000001.tier", "0000000000000001.tier.tmp", "000000000000000A.tier"}) {
      EXPECT_EQ(tier_->receiving_path(name), "") << name;
      EXPECT_EQ(sqlstate_of(tier_->receive(name)), "55000") << name;
    }
    // what is no whole file, or another one, is not taken, and does not keep the right one out
    std::filesystem::copy_file(sent.begin()->second, options_.directory + "/" + sent.rbegin()->first);
    ASSERT_TRUE(start());
    EXPECT_TRUE(tier_->file_names().empty());
    std::filesystem::copy_file(sent.begin()->second, tier_->receiving_path(sent.rbegin()->first));
    EXPECT_EQ(sqlstate_of(tier_->receive(sent.rbegin()->first)), "XX001");
    std::filesystem::remove(tier_->receiving_path(sent.rbegin()->first));
    size_t received = 0;
    for (const auto& [name, at] : sent) {
      if (++received == missing) continue;
      EXPECT_FALSE(tier_->receive(name).ok()) << "nobody has written it";
      std::filesystem::copy_file(at, tier_->receiving_path(name));
      ASSERT_TRUE(tier_->receive(name).ok());
      EXPECT_EQ(tier_->receiving_path(name), "") << "it is here";
    }
    const auto load = this->load();
    ASSERT_TRUE(load.ok()) << load.status();
    EXPECT_EQ(load->places.ok(), missing == 0) << load->places;
    EXPECT_EQ(load->placed_rows == all, missing == 0);
    EXPECT_GT(load->placed_rows, 0u);
    EXPECT_EQ(table_digest(*table_), before);
    EXPECT_EQ(tier_->file_names().size(), sent.size() - missing);
    // its own archive names them, and a restart finds them
    tier_->remove_unused();
    EXPECT_EQ(files().size(), sent.size() - missing);
    evict();
    lsn_ += 100 * missing;
    archive();
    const auto again = restart();
    ASSERT_TRUE(again.ok() && again->places.ok()) << again.status();
    EXPECT_EQ(again->placed_rows, all);
    EXPECT_EQ(table_digest(*table_), before);
    lsn_ = sent_lsn;
    end();
    std::filesystem::remove_all(options_.directory);
  }
  options_.directory = others;
}

// No room for it: the archive is one without.
TEST_F(ArchivePlacesTest, FullDisk) {
  append(0, static_cast<int>(kChunkTuples));
  evict();
  ASSERT_TRUE(arm_failpoints("archive.before_places=fail").ok());
  archive();
  disarm_failpoints();
  EXPECT_EQ(warnings_.size(), 1u);
  const auto load = restart();
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->placed_rows, 0u);
  EXPECT_EQ(rows(), kChunkTuples);
}

// Frozen memory that is too small, and a chunk that cannot be taken: rows of these, places of others.
TEST_F(ArchivePlacesTest, SomeOfThem) {
  append(0, 4 * static_cast<int>(kChunkTuples));
  evict();
  archive();
  const Digest before = table_digest(*table_);
  ASSERT_TRUE(start());
  ASSERT_TRUE(arm_failpoints("recovery.before_place=fail@2*1").ok());
  const auto load = this->load();
  disarm_failpoints();
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->placed_rows, 3 * kChunkTuples);
  EXPECT_EQ(table_digest(*table_), before);
  evict();
  EXPECT_EQ(table_digest(*table_), before);
  check_table(*table_);
}

}  // namespace
}  // namespace scyper::storage
