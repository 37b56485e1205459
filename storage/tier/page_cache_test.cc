#include "storage/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "base/test_slice.h"
#include "tier/page_cache_fixture.h"

namespace scyper::storage {
namespace {

bool has_content(const char* page, uint64_t stamp, uint64_t number) {
  return std::string_view(page, kTestPageBytes) == content_of(stamp, number);
}

TEST_F(PageCacheTest, RefusesOptionsThatMakeNoSense) {
  PageCacheOptions options = pages(64);
  for (const size_t page_bytes : {size_t{0}, size_t{512}, size_t{5000}, size_t{4} << 20}) {
    options.page_bytes = page_bytes;
    EXPECT_EQ(sqlstate_of(PageCache::create(options).status()), "22023") << page_bytes;
  }
  options.page_bytes = kTestPageBytes;
  options.bytes = 15 * kTestPageBytes;
  EXPECT_EQ(sqlstate_of(PageCache::create(options).status()), "22023");
  options.bytes = size_t{1} << 43;  // no machine grants that
  EXPECT_EQ(sqlstate_of(PageCache::create(options).status()), "53200");
}

// Pages are read while the larger part of the cache comes.
TEST_F(PageCacheTest, GrowsToItsSize) {
  constexpr uint32_t kPages = 10000;
  auto cache = make_cache(pages(kPages));
  const auto file = *cache->open(write_file(1, 4000));
  auto reader = *PageReader::create(cache.get());
  for (uint64_t page = 0; page < 4000; ++page) {
    const auto pinned = reader->pin(*file, page);
    ASSERT_TRUE(pinned.ok()) << pinned.status();
    ASSERT_TRUE(has_content(*pinned, 1, page));
  }
  while (cache->statistics().pages < kPages) usleep(1000);
  EXPECT_EQ(cache->statistics().pages, kPages);
  for (uint64_t page = 0; page < 4000; ++page) ASSERT_TRUE(has_content(*reader->pin(*file, page), 1, page));
  reader->unpin();
}

TEST_F(PageCacheTest, OpensNothingButFilesOfItsPageSize) {
  auto cache = make_cache(pages(64));
  EXPECT_TRUE(absl::IsNotFound(cache->open(path_of("none")).status()));
  ASSERT_TRUE(disk_->replace_file(path_of("text"), "no file of the tier").ok());
  EXPECT_EQ(sqlstate_of(cache->open(path_of("text")).status()), "XX001");
  auto writer = *TierFileWriter::create(disk_.get(), path_of("large"), 2 * kTestPageBytes, 1);
  ASSERT_TRUE(writer->seal().ok());
  EXPECT_EQ(sqlstate_of(cache->open(path_of("large")).status()), "22023");
}

// Random operations against a model: what each pin must show. Every page is checked as long as it is pinned.
TEST_F(PageCacheTest, RandomOperationsAsTheModelSays) {
  Random random(test_seed());
  for (const EvictionPolicy policy : {EvictionPolicy::kFifo, EvictionPolicy::kLru, EvictionPolicy::kLirs}) {
    PageCacheOptions options = pages(24 + static_cast<uint32_t>(random.below(40)), policy);
    options.low_water_pages = static_cast<uint32_t>(random.below(5));
    options.eviction_pages = static_cast<uint32_t>(random.below(8));
    auto cache = make_cache(options);
    constexpr uint64_t kPages = 150;
    std::vector<std::shared_ptr<const TierFile>> files;
    for (uint64_t stamp = 1; stamp <= 3; ++stamp) files.push_back(*cache->open(write_file(stamp, kPages)));
    struct Pinned {
      const char* page;
      uint64_t stamp;
      uint64_t number;
    };
    std::vector<std::unique_ptr<PageReader>> readers;
    for (int i = 0; i < 4; ++i) readers.push_back(*PageReader::create(cache.get()));
    std::map<std::pair<size_t, uint32_t>, Pinned> pinned;
    std::vector<uint64_t> next(readers.size());
    uint64_t pins = 0;
    for (int i = test_slice(6000, 1500); i > 0; --i) {
      const size_t reader = random.below(readers.size());
      const auto pin = static_cast<uint32_t>(random.below(PageReader::kPins));
      const uint64_t file = random.below(files.size());
      if (random.one_in(4)) {
        readers[reader]->unpin(pin);
        pinned.erase({reader, pin});
      } else if (random.one_in(50)) {
        cache->set_color(*files[file], random.below(kPages), 1, static_cast<uint16_t>(random.next()));
      } else {
        // half in sequence, so that pages are read ahead
        const uint64_t page = random.one_in(2) ? random.below(kPages) : next[reader] % kPages;
        next[reader] = page + 1;
        const auto found = readers[reader]->pin(*files[file], page, pin);
        ASSERT_TRUE(found.ok()) << found.status();
        pinned[{reader, pin}] = {*found, file + 1, page};
        ++pins;
      }
      for (const auto& [where, what] : pinned) {
        ASSERT_TRUE(has_content(what.page, what.stamp, what.number)) << policy_name(policy) << " " << what.number;
      }
    }
    const PageCacheStatistics counts = cache->statistics();
    EXPECT_EQ(counts.hits + counts.faults, pins);
    EXPECT_LE(counts.resident_pages, counts.pages);
    EXPECT_GE(counts.pages_read, counts.evictions);
    EXPECT_EQ(counts.pages_read - counts.evictions, counts.resident_pages);
    EXPECT_LE(counts.pinned_pages, pinned.size());
    EXPECT_GT(counts.read_ahead_pages, 0u);
    EXPECT_EQ(counts.read_errors + counts.short_reads + counts.checksum_errors, 0u);
  }
}

TEST_F(PageCacheTest, ReadCopiesAcrossPages) {
  auto cache = make_cache(pages(32));
  const auto file = *cache->open(write_file(1, 20));
  auto reader = *PageReader::create(cache.get());
  std::string whole;
  for (uint64_t page = 0; page < 20; ++page) whole += content_of(1, page);
  Random random(test_seed());
  for (int i = 0; i < 100; ++i) {
    const uint64_t begin = random.below(whole.size());
    std::string piece(random.below(whole.size() - begin) + 1, '\0');
    ASSERT_TRUE(reader->read(*file, begin, piece.size(), piece.data()).ok());
    ASSERT_EQ(piece, whole.substr(begin, piece.size()));
  }
  char one;
  EXPECT_EQ(sqlstate_of(reader->read(*file, whole.size(), 1, &one)), "XX001");
}

TEST_F(PageCacheTest, WhatIsAskedForIsReadTogether) {
  auto cache = make_cache(pages(512));
  const auto file = *cache->open(write_file(1, 100));
  const auto other = *cache->open(write_file(2, 10));
  auto reader = *PageReader::create(cache.get());
  ASSERT_TRUE(reader->pin(*file, 11).ok());
  const PageCacheStatistics before = cache->statistics();
  const uint64_t read_before = PageReader::uses_of_thread().read;
  // 11 is there; nobody has 100 and 10
  const std::vector<PageReader::Range> ranges = {
      {file.get(), 3, 1}, {file.get(), 10, 3}, {other.get(), 9, 5}, {file.get(), 100, 1}, {other.get(), 10, 2}};
  reader->ask(ranges);
  for (const uint64_t page : {12, 3, 10}) {
    const auto bytes = reader->pin(*file, page);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(std::string_view(*bytes, kTestPageBytes), content_of(1, page));
  }
  ASSERT_TRUE(reader->pin(*other, 9).ok());
  const PageCacheStatistics after = cache->statistics();
  EXPECT_EQ(after.read_ahead_pages - before.read_ahead_pages, 4u);
  EXPECT_EQ(after.pages_read - before.pages_read, 4u);
  EXPECT_EQ(PageReader::uses_of_thread().read - read_before, 4u);
  // no more than is read ahead, and than there are ranges
  reader->ask(std::vector<PageReader::Range>(40, {file.get(), 20, 80}));
  EXPECT_LE(cache->statistics().read_ahead_pages - after.read_ahead_pages, cache->options().read_ahead_pages_max);
}

TEST_F(PageCacheTest, AScanReadsAheadAndAJumpDoesNot) {
  PageCacheOptions options = pages(512);
  options.read_ahead_pages_max = 32;
  auto cache = make_cache(options);
  const auto file = *cache->open(write_file(1, 2000));
  auto reader = *PageReader::create(cache.get());
  for (uint64_t page = 0; page < 1000; ++page) ASSERT_TRUE(reader->pin(*file, page).ok());
  PageCacheStatistics counts = cache->statistics();
  EXPECT_LT(counts.reads, 250u);
  EXPECT_GT(counts.read_ahead_pages, 700u);
  EXPECT_LE(counts.read_ahead_wasted_pages + counts.read_ahead_used_pages, counts.read_ahead_pages);
  EXPECT_GT(counts.read_ahead_used_pages, 600u);
  const uint64_t ahead = counts.read_ahead_pages;
  for (uint64_t page = 1999; page > 1500; page -= 7) ASSERT_TRUE(reader->pin(*file, page).ok());
  // what a service thread had not begun at the end of the scan: two windows at most
  EXPECT_LE(cache->statistics().read_ahead_pages, ahead + 64);
}

// A scan reads only what does not fit; with LRU it reads everything. Prefetched pages stay until they are used. Both
// bounds leave slack, because reads end in any order.
TEST_F(PageCacheTest, RepeatedScansReadWhatDoesNotFit) {
  for (const EvictionPolicy policy : {EvictionPolicy::kLirs, EvictionPolicy::kLru, EvictionPolicy::kFifo}) {
    for (const uint64_t total : {1300u, 1600u, 2100u}) {
      PageCacheOptions options = pages(1024, policy);
      options.read_ahead_pages_max = 16;
      auto cache = make_cache(options);
      const auto file = *cache->open(write_file(1, total));
      auto reader = *PageReader::create(cache.get());
      uint64_t read_before = 0;
      for (int scan = 0; scan < 6; ++scan) {
        read_before = cache->statistics().pages_read;
        for (uint64_t page = 0; page < total; ++page) ASSERT_TRUE(reader->pin(*file, page).ok());
      }
      const PageCacheStatistics counts = cache->statistics();
      const uint64_t small = 64;  // kLirs keeps so many pages for passing scans and as free pages
      const uint64_t read_max = policy == EvictionPolicy::kLirs ? total - 1024 + 2 * small : total;
      EXPECT_LE(counts.pages_read - read_before, read_max) << policy_name(policy) << ' ' << total;
      EXPECT_LE(counts.read_ahead_wasted_pages, 2 * small) << policy_name(policy) << ' ' << total;
    }
  }
}

TEST_F(PageCacheTest, RepeatedScansKeepWhatIsOfAHigherColour) {
  for (const uint64_t total : {1300u, 1600u, 2100u}) {
    PageCacheOptions options = pages(1024);
    options.read_ahead_pages_max = 16;
    auto cache = make_cache(options);
    const auto file = *cache->open(write_file(1, total));
    cache->set_color(*file, 0, 400, 512);
    auto reader = *PageReader::create(cache.get());
    uint64_t read_before = 0;
    for (int scan = 0; scan < 6; ++scan) {
      read_before = cache->statistics().pages_read;
      for (uint64_t page = 0; page < total; ++page) ASSERT_TRUE(reader->pin(*file, page).ok());
    }
    EXPECT_LE(cache->statistics().pages_read - read_before, total - 1024 + 128) << total;
    EXPECT_LE(cache->statistics().read_ahead_wasted_pages, 128u) << total;
  }
}

TEST_F(PageCacheTest, FailsWhenAllPagesArePinned) {
  auto cache = make_cache(pages(16));
  const auto file = *cache->open(write_file(1, 40));
  std::vector<std::unique_ptr<PageReader>> readers;
  for (uint64_t page = 0; page < 16; ++page) {
    if (page % PageReader::kPins == 0) readers.push_back(*PageReader::create(cache.get()));
    ASSERT_TRUE(readers.back()->pin(*file, 2 * page, page % PageReader::kPins).ok());
  }
  auto more = *PageReader::create(cache.get());
  EXPECT_EQ(sqlstate_of(more->pin(*file, 39).status()), "53200");
  ASSERT_TRUE(more->pin(*file, 4).ok());  // what is there
  readers[0]->unpin(1);
  more->unpin(0);
  const auto page = more->pin(*file, 39);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(has_content(*page, 1, 39));
}

TEST_F(PageCacheTest, CountsReaders) {
  auto cache = make_cache(pages(16));
  std::vector<std::unique_ptr<PageReader>> readers;
  for (int i = 0; i < 64; ++i) readers.push_back(*PageReader::create(cache.get()));
  EXPECT_EQ(sqlstate_of(PageReader::create(cache.get()).status()), "53400");
  readers.pop_back();
  EXPECT_TRUE(PageReader::create(cache.get()).ok());
}

// An error of the disk is one page's and one moment's.
TEST_F(PageCacheTest, ErrorsOfTheDiskAreSaid) {
  auto cache = make_cache(pages(32));
  const auto file = *cache->open(write_file(1, 200));
  auto reader = *PageReader::create(cache.get());
  const std::pair<const char*, const char*> errors[] = {
      {"page_cache.read_error", "the disk cannot read it: Input/output error"},
      {"page_cache.short_read", "only 2048 bytes of it could be read"},
      {"page_cache.bit_flip", "its checksum does not match"}};
  uint64_t page = 100;
  for (const auto& [failpoint, message] : errors) {
    ASSERT_TRUE(arm_failpoints(std::string(failpoint) + "=fail").ok());
    const auto failed = reader->pin(*file, page);
    EXPECT_EQ(sqlstate_of(failed.status()), "XX001");
    EXPECT_EQ(failed.status().message(), file->path() + ": page " + std::to_string(page) + ": " + message);
    disarm_failpoints();
    const auto found = reader->pin(*file, page);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(has_content(*found, 1, page));
    page += 10;
  }
  const PageCacheStatistics counts = cache->statistics();
  EXPECT_EQ(counts.read_errors, 1u);
  EXPECT_EQ(counts.short_reads, 1u);
  EXPECT_EQ(counts.checksum_errors, 1u);
}

// With reads of several pages, and errors now and then: each page is right or refused, and nothing is lost.
TEST_F(PageCacheTest, ScansWithErrorsNowAndThen) {
  auto cache = make_cache(pages(128));
  constexpr uint64_t kPages = 600;
  const auto file = *cache->open(write_file(1, kPages));
  auto reader = *PageReader::create(cache.get());
  for (const char* failpoint : {"page_cache.read_error", "page_cache.short_read", "page_cache.bit_flip"}) {
    for (int round = 0; round < 3; ++round) {
      for (uint64_t page = 0; page < kPages; ++page) {
        if (page % 50 == 0) ASSERT_TRUE(arm_failpoints(std::string(failpoint) + "=fail*1").ok());
        const auto found = reader->pin(*file, page);
        if (found.ok()) {
          ASSERT_TRUE(has_content(*found, 1, page)) << page;
        } else {
          ASSERT_EQ(sqlstate_of(found.status()), "XX001");
        }
      }
    }
    disarm_failpoints();
  }
  reader->unpin();
  for (uint64_t page = 0; page < kPages; ++page) ASSERT_TRUE(reader->pin(*file, page).ok());
}

TEST_F(PageCacheTest, DamageOnTheDiskIsFound) {
  const std::string path = write_file(1, 300);
  auto cache = make_cache(pages(64));
  const auto file = *cache->open(path);
  Random random(test_seed());
  const int fd = open(path.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  const uint64_t bad = random.below(300);
  const auto at = static_cast<off_t>(bad * kTestPageBytes + random.below(kTestPageBytes));
  char byte;
  ASSERT_EQ(pread(fd, &byte, 1, at), 1);
  byte = static_cast<char>(byte ^ (1 << random.below(8)));
  ASSERT_EQ(pwrite(fd, &byte, 1, at), 1);
  ASSERT_EQ(fsync(fd), 0);
  auto reader = *PageReader::create(cache.get());
  for (uint64_t page = 0; page < 300; ++page) {
    const auto found = reader->pin(*file, page);
    ASSERT_EQ(found.ok(), page != bad) << page << ": " << found.status();
    if (found.ok()) ASSERT_TRUE(has_content(*found, 1, page));
  }
  // The file is cut off beneath open caches: one that may still have its last pages, one that has read none of it.
  auto fresh = make_cache(pages(64));
  const auto unread = *fresh->open(path);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(200 * kTestPageBytes)), 0);
  close(fd);
  for (uint64_t page = 299; page >= 280; --page) {
    if (const auto found = reader->pin(*file, page); !found.ok()) EXPECT_EQ(sqlstate_of(found.status()), "XX001");
  }
  auto late = *PageReader::create(fresh.get());
  EXPECT_EQ(late->pin(*unread, 250).status().message(), path + ": page 250: only 0 bytes of it could be read");
}

TEST_F(PageCacheTest, ColoursKeepPages) {
  for (const EvictionPolicy policy : {EvictionPolicy::kFifo, EvictionPolicy::kLru, EvictionPolicy::kLirs}) {
    auto cache = make_cache(pages(64, policy));
    const auto file = *cache->open(write_file(1, 1000));
    cache->set_color(*file, 0, 20, 512);
    auto reader = *PageReader::create(cache.get());
    for (uint64_t page = 0; page < 1000; ++page) ASSERT_TRUE(reader->pin(*file, page).ok());
    const uint64_t hits = cache->statistics().hits;
    for (uint64_t page = 0; page < 20; ++page) ASSERT_TRUE(reader->pin(*file, page).ok());
    EXPECT_EQ(cache->statistics().hits, hits + 20) << policy_name(policy);
    EXPECT_GE(cache->color(*file, 5), 512u);
    EXPECT_LE(cache->color(*file, 5), 512u + 254u);
    EXPECT_LE(cache->color(*file, 25), 254u);
    cache->set_color(*file, 5, 1, 7);
    EXPECT_EQ(cache->color(*file, 5), 7u);
  }
}

TEST_F(PageCacheTest, RetiredFilesAreClosed) {
  auto cache = make_cache(pages(64));
  const auto file = *cache->open(write_file(1, 100));
  const auto other = *cache->open(write_file(2, 100));
  auto reader = *PageReader::create(cache.get());
  ASSERT_TRUE(reader->pin(*file, 3).ok());
  const uint32_t child = *cache->add_process();
  cache->retire(*file);
  ASSERT_TRUE(reader->pin(*file, 50).ok());  // for the child that could
  cache->remove_process(child);
  EXPECT_EQ(sqlstate_of(reader->pin(*file, 70).status()), "XX001");
  for (int round = 0; round < 3; ++round) {
    for (uint64_t page = 0; page < 100; ++page) ASSERT_TRUE(reader->pin(*other, page).ok());
  }
}

// Several threads scan and jump in a cache that is much too small for them.
TEST_F(PageCacheTest, ThreadsSeeWholePages) {
  auto cache = make_cache(pages(96));
  constexpr uint64_t kPages = 400;
  const auto file = *cache->open(write_file(1, kPages));
  const uint64_t seed = test_seed();
  std::atomic<uint64_t> pins{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Random random(seed + i);
      auto reader = *PageReader::create(cache.get());
      uint64_t page = 0;
      for (int n = test_slice(3000, 600); n > 0; --n) {
        page = random.one_in(i % 2 == 0 ? 2 : 40) ? random.below(kPages) : (page + 1) % kPages;
        const auto found = reader->pin(*file, page, static_cast<uint32_t>(n) % PageReader::kPins);
        ASSERT_TRUE(found.ok()) << found.status();
        ASSERT_TRUE(has_content(*found, 1, page));
        ++pins;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const PageCacheStatistics counts = cache->statistics();
  EXPECT_EQ(counts.hits + counts.faults, pins);
  EXPECT_EQ(counts.pinned_pages, 0u);
}

}  // namespace
}  // namespace scyper::storage
