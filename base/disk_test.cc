#include "base/disk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/simulated_disk.h"

namespace scyper {
namespace {

std::unique_ptr<File> open_or_die(Disk* disk, const std::string& path, OpenMode mode) {
  auto file = disk->open(path, mode);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

// What both disks do the same way.
void use(Disk* disk, const std::string& directory) {
  ASSERT_TRUE(disk->make_directory(directory).ok());
  ASSERT_TRUE(disk->make_directory(directory).ok());
  const std::string path = directory + "/a";
  EXPECT_TRUE(absl::IsNotFound(disk->open(path, OpenMode::kRead).status()));
  {
    auto file = open_or_die(disk, path, OpenMode::kCreate);
    ASSERT_TRUE(file->write(0, "hello").ok());
    ASSERT_TRUE(file->write(5, " world").ok());
    ASSERT_TRUE(file->sync().ok());
    EXPECT_EQ(*file->size(), 11u);
    char out[16];
    EXPECT_EQ(*file->read(6, out, sizeof(out)), 5u);
    EXPECT_EQ(std::string_view(out, 5), "world");
    ASSERT_TRUE(file->resize(2 * kDiskBlockBytes).ok());
  }
  {
    auto file = open_or_die(disk, path, OpenMode::kLog);
    auto* block = static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, kDiskBlockBytes));
    std::fill(block, block + kDiskBlockBytes, 'x');
    EXPECT_TRUE(file->write_durably(kDiskBlockBytes, {block, kDiskBlockBytes}).ok());
    std::free(block);
  }
  auto content = disk->read_file(path);
  ASSERT_TRUE(content.ok());
  EXPECT_EQ(content->size(), 2 * kDiskBlockBytes);
  EXPECT_EQ(content->substr(0, 5), "hello");
  EXPECT_EQ(content->back(), 'x');
  EXPECT_FALSE(disk->read_file(path, 10).ok());
  ASSERT_TRUE(disk->replace_file(directory + "/b", "1").ok());
  ASSERT_TRUE(disk->replace_file(directory + "/b", "22").ok());
  EXPECT_EQ(*disk->read_file(directory + "/b"), "22");
  EXPECT_EQ(*disk->list(directory), (std::vector<std::string>{"a", "b"}));
  EXPECT_GT(*disk->free_bytes(directory), 0u);
  EXPECT_TRUE(disk->exists(path));
  EXPECT_FALSE(disk->remove(directory).ok());
  for (const char* name : {"/a", "/b"}) EXPECT_TRUE(disk->remove(directory + name).ok());
  EXPECT_TRUE(disk->remove(directory).ok());
  EXPECT_FALSE(disk->exists(directory));
}

TEST(Disk, RealAndSimulatedDoTheSame) {
  char directory[] = "/tmp/scyper_disk_test_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  use(make_real_disk().get(), std::string(directory) + "/d");
  rmdir(directory);
  SimulatedDisk simulated;
  use(&simulated, "/d");
}

TEST(SimulatedDisk, LosesWhatWasNotSynced) {
  int kept = 0, torn = 0, lost = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SimulatedDisk disk;
    ASSERT_TRUE(disk.make_directory("/d").ok());
    ASSERT_TRUE(disk.sync_directory("/").ok());
    auto file = open_or_die(&disk, "/d/f", OpenMode::kCreate);
    ASSERT_TRUE(file->write(0, std::string(2048, 'a')).ok());
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(disk.sync_directory("/d").ok());
    ASSERT_TRUE(file->write(512, std::string(512, 'b')).ok());
    auto image = disk.after_power_loss(seed);
    std::string content = *image->read_file("/d/f");
    ASSERT_EQ(content.size(), 2048u);
    EXPECT_EQ(content.substr(0, 512) + content.substr(1024), std::string(1536, 'a'));
    const size_t b = static_cast<size_t>(std::count(content.begin(), content.end(), 'b'));
    ++(b == 0 ? lost : b == 512 ? kept : torn);
    EXPECT_EQ((*disk.after_kill()->read_file("/d/f"))[600], 'b');
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(torn, 20);
  EXPECT_GT(lost, 20);
}

TEST(SimulatedDisk, NamesNeedTheirDirectorySynced) {
  int there = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedDisk disk;
    ASSERT_TRUE(disk.make_directory("/d").ok());
    ASSERT_TRUE(disk.sync_directory("/").ok());
    auto file = open_or_die(&disk, "/d/f", OpenMode::kCreate);
    ASSERT_TRUE(file->write(0, "x").ok());
    ASSERT_TRUE(file->sync().ok());
    there += disk.after_power_loss(seed)->exists("/d/f") ? 1 : 0;
    ASSERT_TRUE(disk.sync_directory("/d").ok());
    EXPECT_EQ(*disk.after_power_loss(seed)->read_file("/d/f"), "x");
  }
  EXPECT_GT(there, 10);
  EXPECT_LT(there, 90);
}

TEST(SimulatedDisk, DirectoriesNeedTheirParentSynced) {
  int there = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedDisk disk;
    ASSERT_TRUE(disk.make_directory("/d").ok());
    ASSERT_TRUE(disk.make_directory("/d/e").ok());
    auto file = open_or_die(&disk, "/d/e/f", OpenMode::kCreate);
    ASSERT_TRUE(disk.sync_directory("/d").ok());
    ASSERT_TRUE(disk.sync_directory("/d/e").ok());
    auto image = disk.after_power_loss(seed);
    there += image->exists("/d/e/f") ? 1 : 0;
    EXPECT_EQ(image->exists("/d"), image->exists("/d/e/f"));
    EXPECT_EQ(image->exists("/d/e"), image->exists("/d/e/f"));
    ASSERT_TRUE(disk.sync_directory("/").ok());
    EXPECT_TRUE(disk.after_power_loss(seed)->exists("/d/e/f"));
  }
  EXPECT_GT(there, 10);
  EXPECT_LT(there, 90);
}

TEST(SimulatedDisk, FailsAsAsked) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/d").ok());
  ASSERT_TRUE(disk.sync_directory("/").ok());
  auto file = open_or_die(&disk, "/d/f", OpenMode::kCreate);
  disk.fail(SimulatedDisk::Operation::kWrite, 1);
  EXPECT_TRUE(file->write(0, "a").ok());
  EXPECT_FALSE(file->write(1, "b").ok());
  EXPECT_TRUE(file->write(1, "c").ok());
  ASSERT_TRUE(file->sync().ok());
  ASSERT_TRUE(disk.sync_directory("/d").ok());
  ASSERT_TRUE(file->write(0, "z").ok());
  disk.fail(SimulatedDisk::Operation::kSync, 0);
  EXPECT_FALSE(file->sync().ok());
  EXPECT_TRUE(file->sync().ok());  // and yet:
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ((*disk.after_power_loss(seed)->read_file("/d/f"))[0], 'a');
  }
  disk.set_capacity(3);
  EXPECT_TRUE(is_disk_full(file->write(2, "too long")));
  disk.set_capacity(100);
  EXPECT_TRUE(file->write(2, "too long").ok());
}

TEST(SimulatedDisk, SameSeedSameImage) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/d").ok());
  auto file = open_or_die(&disk, "/d/f", OpenMode::kCreate);
  ASSERT_TRUE(disk.sync_directory("/d").ok());
  ASSERT_TRUE(disk.sync_directory("/").ok());
  ASSERT_TRUE(file->write(0, std::string(5000, 'q')).ok());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(*disk.after_power_loss(seed)->read_file("/d/f"), *disk.after_power_loss(seed)->read_file("/d/f"));
  }
}

}  // namespace
}  // namespace scyper
