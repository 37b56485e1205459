#include "storage/tier_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"

namespace scyper::storage {
namespace {

constexpr char kPath[] = "/tier/a.tier";

std::string random_bytes(Random* random, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random->next());
  return text;
}

// Writes images; their places. The first error.
StatusOr<std::vector<uint64_t>> write_file(Disk* disk, const std::vector<std::string>& images, size_t alignment = 8) {
  SCYPER_ASSIGN_OR_RETURN(const auto writer, TierFileWriter::create(disk, kPath, 4096, 77));
  std::vector<uint64_t> places;
  for (const std::string& image : images) {
    SCYPER_ASSIGN_OR_RETURN(places.emplace_back(), writer->append(image, alignment));
  }
  SCYPER_RETURN_IF_ERROR(writer->seal());
  return places;
}

void expect_images(Disk* disk, const std::vector<std::string>& images, const std::vector<uint64_t>& places) {
  auto info = read_tier_file_info(disk, kPath);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->page_bytes, 4096u);
  EXPECT_EQ(info->stamp, 77u);
  const std::string file = *disk->read_file(kPath);
  for (size_t i = 0; i < images.size(); ++i) {
    ASSERT_LE(places[i] + images[i].size(), info->data_bytes);
    EXPECT_EQ(file.substr(places[i], images[i].size()), images[i]) << i;
  }
  for (uint64_t page = 0; page < info->pages(); ++page) {
    EXPECT_EQ(page_checksum(file.data() + page * 4096, 4096, 77, page), info->checksums[page]) << page;
  }
}

TEST(TierFileTest, GivesBackWhatWasAppended) {
  Random random(test_seed());
  for (const size_t alignment : {size_t{1}, size_t{8}, size_t{4096}}) {
    SimulatedDisk disk;
    ASSERT_TRUE(disk.make_directory("/tier").ok());
    std::vector<std::string> images;
    for (int i = 0; i < 200; ++i) images.push_back(random_bytes(&random, random.below(30'000)));
    auto places = write_file(&disk, images, alignment);
    ASSERT_TRUE(places.ok()) << places.status();
    for (const uint64_t place : *places) EXPECT_EQ(place % alignment, 0u);
    expect_images(&disk, images, *places);
    EXPECT_EQ(disk.list("/tier")->size(), 1u);
  }
}

TEST(TierFileTest, MayBeEmpty) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/tier").ok());
  ASSERT_TRUE(write_file(&disk, {}).ok());
  EXPECT_EQ(read_tier_file_info(&disk, kPath)->pages(), 0u);
}

TEST(TierFileTest, PagesDependOnTheirPlaceAndFile) {
  const std::string page(4096, 'x');
  EXPECT_NE(page_checksum(page.data(), 4096, 1, 0), page_checksum(page.data(), 4096, 1, 1));
  EXPECT_NE(page_checksum(page.data(), 4096, 1, 0), page_checksum(page.data(), 4096, 2, 0));
}

TEST(TierFileTest, EveryDamagedByteOfFooterAndTableIsFound) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/tier").ok());
  Random random(test_seed());
  ASSERT_TRUE(write_file(&disk, {random_bytes(&random, 20'000)}).ok());
  const std::string file = *disk.read_file(kPath);
  const auto pages = static_cast<size_t>(read_tier_file_info(&disk, kPath)->pages());
  const size_t table = pages * 4096;
  const size_t footer = file.size() - 4096;
  std::vector<size_t> places;
  for (size_t i = 0; i < pages * 8; ++i) places.push_back(table + i);
  for (size_t i = 0; i < 56; ++i) places.push_back(footer + i);
  for (const size_t place : places) {
    const auto mask = static_cast<uint8_t>(1u << random.below(8));
    disk.flip(kPath, place, mask);
    const auto info = read_tier_file_info(&disk, kPath);
    EXPECT_EQ(sqlstate_of(info.status()), "XX001") << place;
    disk.flip(kPath, place, mask);
  }
  EXPECT_TRUE(read_tier_file_info(&disk, kPath).ok());
}

TEST(TierFileTest, EveryOtherLengthIsRefused) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/tier").ok());
  ASSERT_TRUE(write_file(&disk, {std::string(9000, 'a')}).ok());
  auto file = *disk.open(kPath, OpenMode::kWrite);
  const uint64_t size = *file->size();
  for (uint64_t bytes = 0; bytes < size + 5000; bytes += 500) {
    if (bytes == size) continue;
    ASSERT_TRUE(file->resize(bytes).ok());
    EXPECT_EQ(sqlstate_of(read_tier_file_info(&disk, kPath).status()), "XX001") << bytes;
  }
}

TEST(TierFileTest, FullDiskLeavesNothing) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/tier").ok());
  disk.set_capacity(300'000);
  Random random(test_seed());
  std::vector<std::string> images;
  for (int i = 0; i < 100; ++i) images.push_back(random_bytes(&random, 30'000));
  const auto places = write_file(&disk, images);
  EXPECT_TRUE(is_disk_full(places.status())) << places.status();
  EXPECT_TRUE(disk.list("/tier")->empty());
  images.resize(5);
  const auto fits = write_file(&disk, images);
  ASSERT_TRUE(fits.ok()) << fits.status();
  expect_images(&disk, images, *fits);
}

// Whatever is lost, and wherever: what has the name is whole.
TEST(TierFileTest, PowerLossLeavesAllOrNothing) {
  const uint64_t seed = test_seed();
  Random random(seed);
  std::vector<std::string> images;
  for (int i = 0; i < 60; ++i) images.push_back(random_bytes(&random, 60'000));
  SimulatedDisk whole;
  ASSERT_TRUE(whole.make_directory("/tier").ok());
  const auto places = write_file(&whole, images);
  ASSERT_TRUE(places.ok());
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/tier").ok());
  ASSERT_TRUE(disk.sync_directory("/").ok());
  std::vector<std::unique_ptr<SimulatedDisk>> after;
  const auto lose = [&] {
    for (int i = 0; i < 3; ++i) after.push_back(disk.after_power_loss(random.next()));
  };
  disk.set_observer(lose);
  ASSERT_TRUE(write_file(&disk, images).ok());
  lose();
  size_t whole_files = 0;
  for (const auto& found : after) {
    ASSERT_TRUE(found->make_directory("/tier").ok());
    ASSERT_TRUE(remove_unsealed_tier_files(found.get(), "/tier").ok());
    const auto names = *found->list("/tier");
    if (names.empty()) continue;
    EXPECT_EQ(names, std::vector<std::string>{"a.tier"});
    expect_images(found.get(), images, *places);
    ++whole_files;
  }
  EXPECT_GE(whole_files, 3u);  // those after its end
  EXPECT_LT(whole_files, after.size());
}

}  // namespace
}  // namespace scyper::storage
