// Children that read through their parent's page cache, and are killed at all moments.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "base/test_slice.h"
#include "storage/child_process.h"
#include "storage/page_cache.h"
#include "tier/page_cache_fixture.h"

namespace scyper::storage {
namespace {

using PageCacheChildTest = PageCacheTest;

bool is_right(PageReader* reader, const TierFile& file, uint64_t stamp, uint64_t page, uint32_t pin) {
  const auto found = reader->pin(file, page, pin);
  return found.ok() && std::string_view(*found, kTestPageBytes) == content_of(stamp, page);
}

std::unique_ptr<ChildProcess> fork_child(PageCache* cache, const ChildProcess::Body& body) {
  ChildOptions options;
  options.pages = {cache};
  auto child = ChildProcess::fork(options, body);
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

void wait_for(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

TEST_F(PageCacheChildTest, ReadsWhatItsParentCouldRead) {
  auto cache = make_cache(pages(64));
  const auto file = *cache->open(write_file(1, 500));
  auto child = fork_child(cache.get(), [&](int) {
    auto reader = PageReader::create(cache.get());
    if (!reader.ok()) return 2;
    for (uint64_t page = 0; page < 500; ++page) {
      if (!is_right(reader->get(), *file, 1, page, page % 4)) return 3;
    }
    for (uint64_t page = 499; page > 10; page -= 7) {
      if (!is_right(reader->get(), *file, 1, page, 0)) return 4;
    }
    // errors come over, too
    return sqlstate_of((*reader)->pin(*file, 500).status()) == "XX001" ? 0 : 5;
  });
  EXPECT_EQ(describe_wait_status(child->wait()), "exited with code 0");
  const PageCacheStatistics counts = cache->statistics();
  EXPECT_GT(counts.hits, 300u);
  EXPECT_GT(counts.read_ahead_used_pages, 300u);
  EXPECT_EQ(counts.processes, 1u);
}

TEST_F(PageCacheChildTest, AsksForSeveralPages) {
  auto cache = make_cache(pages(512));
  const auto file = *cache->open(write_file(1, 100));
  auto child = fork_child(cache.get(), [&](int) {
    auto reader = *PageReader::create(cache.get());
    for (uint64_t page = 0; page < 20; ++page) {
      const std::array<PageReader::Range, 3> ranges = {
          {{file.get(), page, 1}, {file.get(), 30 + page, 1}, {file.get(), 99 - page, 1}}};
      reader->ask(ranges);
      for (const PageReader::Range& range : ranges) {
        if (!is_right(reader.get(), *file, 1, range.first, 0)) return 3;
      }
    }
    return 0;
  });
  EXPECT_EQ(describe_wait_status(child->wait()), "exited with code 0");
  const PageCacheStatistics counts = cache->statistics();
  EXPECT_EQ(counts.pages_read, 60u);
  EXPECT_GT(counts.read_ahead_pages, 20u);
}

// Both use what the other has read.
TEST_F(PageCacheChildTest, SharesThePagesOfItsParent) {
  auto cache = make_cache(pages(64));
  const auto file = *cache->open(write_file(1, 40));
  auto reader = *PageReader::create(cache.get());
  for (uint64_t page = 0; page < 40; ++page) ASSERT_TRUE(reader->pin(*file, page).ok());
  const uint64_t faults = cache->statistics().faults;
  auto child = fork_child(cache.get(), [&](int) {
    auto own = *PageReader::create(cache.get());
    for (uint64_t page = 0; page < 40; ++page) {
      if (!is_right(own.get(), *file, 1, page, 0)) return 1;
    }
    return 0;
  });
  EXPECT_EQ(describe_wait_status(child->wait()), "exited with code 0");
  EXPECT_EQ(cache->statistics().faults, faults);
}

TEST_F(PageCacheChildTest, KilledWhileItHoldsPins) {
  auto cache = make_cache(pages(16));
  const auto file = *cache->open(write_file(1, 64));
  auto child = fork_child(cache.get(), [&](int socket) {
    std::vector<std::unique_ptr<PageReader>> readers;
    for (uint64_t page = 0; page < 16; ++page) {
      if (page % 4 == 0) readers.push_back(*PageReader::create(cache.get()));
      if (!is_right(readers.back().get(), *file, 1, 2 * page, page % 4)) return 1;
    }
    if (write(socket, "p", 1) != 1) return 2;
    sleep_for_ever();
  });
  char pinned;
  ASSERT_EQ(read(child->socket(), &pinned, 1), 1);
  EXPECT_EQ(cache->statistics().pinned_pages, 16u);
  auto reader = *PageReader::create(cache.get());
  EXPECT_EQ(sqlstate_of(reader->pin(*file, 63).status()), "53200");
  child->kill();
  child->wait();
  EXPECT_EQ(cache->statistics().pinned_pages, 0u);
  for (uint64_t page = 0; page < 64; ++page) EXPECT_TRUE(is_right(reader.get(), *file, 1, page, 0));
}

// Nobody serves: the child waits for ever, for certain.
TEST_F(PageCacheChildTest, KilledWhileItWaits) {
  PageCacheOptions options = pages(32);
  options.service_threads = 0;
  auto cache = make_cache(options);
  const auto file = *cache->open(write_file(1, 64));
  for (int round = 0; round < 3; ++round) {
    auto child = fork_child(cache.get(), [&](int) {
      std::vector<std::thread> threads;
      for (uint64_t i = 0; i < 5; ++i) {
        threads.emplace_back([&, i] {
          auto reader = *PageReader::create(cache.get());
          is_right(reader.get(), *file, 1, 60 - i, 0);
        });
      }
      for (std::thread& thread : threads) thread.join();
      return 0;
    });
    wait_for([&] { return cache->statistics().waiting == 5; });
    child->kill();
    child->wait();
    EXPECT_EQ(cache->statistics().waiting, 0u);
    EXPECT_EQ(cache->statistics().pinned_pages, 0u);
  }
  auto reader = *PageReader::create(cache.get());
  for (uint64_t page = 0; page < 64; ++page) EXPECT_TRUE(is_right(reader.get(), *file, 1, page, 0));
}

// Children with several threads are killed wherever they are, while the parent reads. What they leave does no harm.
TEST_F(PageCacheChildTest, KilledAnywhere) {
  const uint64_t seed = test_seed();
  Random random(seed);
  PageCacheOptions options = pages(64);
  options.processes_max = 4;
  auto cache = make_cache(options);
  constexpr uint64_t kPages = 300;
  const auto file = *cache->open(write_file(1, kPages));
  auto reader = *PageReader::create(cache.get());
  const int rounds = test_slice(60, 15);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<ChildProcess>> children;
    for (uint64_t i = 0; i < 3; ++i) {
      children.push_back(fork_child(cache.get(), [&, i](int socket) {
        const auto work = [&](uint64_t number) {
          Random own(seed + static_cast<uint64_t>(round) * 16 + i * 4 + number);
          auto mine = *PageReader::create(cache.get());
          for (uint64_t page = own.below(kPages), n = 0;; ++n) {
            page = own.one_in(8) ? own.below(kPages) : (page + 1) % kPages;
            if (!is_right(mine.get(), *file, 1, page, static_cast<uint32_t>(n % 4))) _exit(1);
            if (n == 20 && write(socket, "r", 1) != 1) _exit(2);
          }
        };
        std::thread other([&] { work(1); });
        work(0);
        return 0;
      }));
    }
    EXPECT_EQ(sqlstate_of(cache->add_process().status()), "53400");
    for (auto& child : children) {
      char runs;
      ASSERT_EQ(read(child->socket(), &runs, 1), 1) << describe_wait_status(child->wait());
    }
    for (uint64_t n = random.below(200); n > 0; --n) {
      ASSERT_TRUE(is_right(reader.get(), *file, 1, random.below(kPages), 0));
    }
    for (auto& child : children) {
      child->kill();
      ASSERT_EQ(describe_wait_status(child->wait()), "was killed by signal 9");
    }
    reader->unpin();
    ASSERT_EQ(cache->statistics().pinned_pages, 0u);
    ASSERT_EQ(cache->statistics().processes, 1u);
  }
  for (uint64_t page = 0; page < kPages; ++page) EXPECT_TRUE(is_right(reader.get(), *file, 1, page, 0));
}

// A child that has gone wrong writes what it likes where it may write.
TEST_F(PageCacheChildTest, CannotWritePages) {
  auto cache = make_cache(pages(32));
  const auto file = *cache->open(write_file(1, 8));
  auto child = fork_child(cache.get(), [&](int) {
    auto reader = *PageReader::create(cache.get());
    const auto page = reader->pin(*file, 0);
    if (!page.ok()) return 1;
    signal(SIGSEGV, [](int) { _exit(42); });
    *const_cast<volatile char*>(*page) = 'x';
    return 2;
  });
  EXPECT_EQ(describe_wait_status(child->wait()), "exited with code 42");
}

}  // namespace
}  // namespace scyper::storage
