#include "disk_usage.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace scyper::server {
namespace {

TEST(DiskUsageTest, AFileWithTwoNamesCountsOnce) {
  std::string path = testing::TempDir() + "/disk_usage_XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  EXPECT_EQ(disk_usage_bytes(path + "/nothing"), 0u);
  EXPECT_EQ(disk_usage_bytes(path), 0u);
  std::filesystem::create_directory(path + "/a");
  std::ofstream(path + "/a/one") << std::string(100'000, 'x');
  const uint64_t one = disk_usage_bytes(path);
  EXPECT_GE(one, 100'000u);
  EXPECT_LT(one, 200'000u);
  std::filesystem::create_hard_link(path + "/a/one", path + "/other");
  EXPECT_EQ(disk_usage_bytes(path), one);
  std::ofstream(path + "/two") << std::string(100'000, 'y');
  EXPECT_EQ(disk_usage_bytes(path), 2 * one);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace scyper::server
