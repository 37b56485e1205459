#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "base/disk.h"
#include "base/failpoint.h"
#include "storage/page_cache.h"
#include "storage/tier_file.h"

namespace scyper::storage {

constexpr size_t kTestPageBytes = 4096;

// What a page of a test file has: numbers that no other page has.
inline std::string content_of(uint64_t stamp, uint64_t page) {
  std::string text(kTestPageBytes, '\0');
  for (size_t i = 0; i < kTestPageBytes / 8; ++i) {
    const uint64_t number = (stamp << 48 | page << 16 | i) * 0x9e3779b97f4a7c15;
    std::memcpy(text.data() + i * 8, &number, 8);
  }
  return text;
}

// Files in a directory of the test's own, on the real disk, which io_uring needs.
class PageCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    PageCacheOptions smallest = pages(16);
    smallest.page_bytes = kTestPageBytes;
    const Status made = PageCache::create(smallest).status();
    if (sqlstate_of(made) == "0A000") GTEST_SKIP() << made;  // containers often forbid io_uring
    std::string name = testing::TempDir() + "page_cache_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    disarm_failpoints();
    if (directory_.empty()) return;
    const auto names = disk_->list(directory_);
    for (const std::string& name : *names) ASSERT_TRUE(disk_->remove(path_of(name)).ok());
    ASSERT_TRUE(disk_->remove(directory_).ok());
  }

  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  std::string write_file(uint64_t stamp, uint64_t pages) {
    const std::string path = path_of(std::to_string(stamp));
    auto writer = *TierFileWriter::create(disk_.get(), path, kTestPageBytes, stamp);
    for (uint64_t page = 0; page < pages; ++page) EXPECT_TRUE(writer->append(content_of(stamp, page)).ok());
    EXPECT_TRUE(writer->seal().ok());
    return path;
  }
  static std::unique_ptr<PageCache> make_cache(PageCacheOptions options) {
    options.page_bytes = kTestPageBytes;
    auto cache = PageCache::create(options);
    EXPECT_TRUE(cache.ok()) << cache.status();
    return *std::move(cache);
  }
  static PageCacheOptions pages(uint32_t count, EvictionPolicy policy = EvictionPolicy::kLirs) {
    PageCacheOptions options;
    options.bytes = count * kTestPageBytes;
    options.policy = policy;
    return options;
  }

  std::string directory_;
  const std::unique_ptr<Disk> disk_ = make_real_disk();
};

}  // namespace scyper::storage
