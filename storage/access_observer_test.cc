#include "storage/access_observer.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/arena.h"

namespace scyper::storage {
namespace {

constexpr size_t kPage = 4096;
constexpr uint8_t kWrite = kAccessRead | kAccessWritten;
constexpr TableId kOrders(1);
constexpr TableId kStock(2);

class Pages {
 public:
  explicit Pages(size_t pages) : bytes_(pages * kPage) {
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory_, MAP_FAILED);
    madvise(memory_, bytes_, MADV_NOHUGEPAGE);
    std::memset(memory_, 1, bytes_);
  }
  ~Pages() { munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  char* page(size_t i) const { return memory_ + i * kPage; }
  size_t bytes() const { return bytes_; }
  void write(size_t i) const { std::atomic_ref(*(page(i) + i % kPage)).store(2, std::memory_order_relaxed); }
  void read(size_t i) const { (void)std::atomic_ref(*(page(i) + i % kPage)).load(std::memory_order_relaxed); }

 private:
  const size_t bytes_;
  char* memory_;
};

std::string name(const testing::TestParamInfo<ObserverKind>& info) { return std::string(name_of(info.param)); }

// What all that watch pages have in common; skipped where the machine does not have them.
class PageObservers : public testing::TestWithParam<ObserverKind> {
 protected:
  void SetUp() override {
    auto made = make_observer(GetParam());
    if (!made.ok()) {
      // the machine has it, and it is wrong: no reason to skip
      ASSERT_THAT(std::string(made.status().message()), testing::Not(testing::HasSubstr("it report")));
      ASSERT_THAT(std::string(made.status().message()), testing::Not(testing::HasSubstr("it does not report")));
      GTEST_SKIP() << made.status().message();
    }
    observer_ = *std::move(made);
    EXPECT_EQ(observer_->kind(), GetParam());
  }
  WatchId watch(TableId table, void* start, size_t bytes) {
    auto id = observer_->watch(table, start, bytes);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : WatchId();
  }
  std::vector<RangeAccess> collect(const std::set<TableId>& ignore = {}) {
    auto accesses = observer_->collect(ignore);
    EXPECT_TRUE(accesses.ok()) << accesses.status();
    return accesses.ok() ? *accesses : std::vector<RangeAccess>();
  }
  uint8_t seen(uint8_t access) const {
    return observer_->sees_reads() ? access : static_cast<uint8_t>(access & kAccessWritten);
  }

  std::unique_ptr<AccessObserver> observer_;
};

TEST_P(PageObservers, ReportsExactlyWhatWasDone) {
  constexpr size_t kPages = 600;
  const Pages pages(kPages);
  std::mt19937_64 random(test_seed());
  const WatchId id = watch(kOrders, pages.page(0), pages.bytes());
  for (int window = 0; window < 20; ++window) {
    std::vector<uint8_t> expected(kPages);
    for (size_t i = 0; i < kPages; ++i) {
      const uint64_t choice = window % 5 == 4 ? 0 : random() % 4;  // now and then nothing happens
      if (choice == 1) pages.read(i);
      if (choice == 2) pages.write(i);
      if (choice == 3) pages.read(i), pages.write(i);
      expected[i] = seen(choice == 0 ? 0 : choice == 1 ? kAccessRead : kWrite);
    }
    const auto accesses = collect();
    ASSERT_EQ(accesses.size(), 1u);
    ASSERT_EQ(accesses[0].units, expected);
    EXPECT_EQ(accesses[0].id, id);
    EXPECT_EQ(accesses[0].table, kOrders);
    EXPECT_EQ(accesses[0].unit_bytes, kPage);
    EXPECT_EQ(accesses[0].knows_reads, observer_->sees_reads());
    const auto written = [](uint8_t unit) { return (unit & kAccessWritten) != 0; };
    EXPECT_EQ(accesses[0].written_units, static_cast<size_t>(std::count_if(expected.begin(), expected.end(), written)));
  }
  EXPECT_TRUE(observer_->forget(id).ok());
  EXPECT_TRUE(collect().empty());
  pages.write(0);
}

TEST_P(PageObservers, RangesAreApart) {
  const Pages pages(12);
  const WatchId last = watch(kOrders, pages.page(8), 4 * kPage);
  const WatchId first = watch(kStock, pages.page(1), 3 * kPage);
  for (size_t i = 0; i < 12; ++i) pages.write(i);
  auto accesses = collect();
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].id, first);
  EXPECT_EQ(accesses[0].written_units, 3u);
  EXPECT_EQ(accesses[1].id, last);
  EXPECT_EQ(accesses[1].written_units, 4u);
  ASSERT_TRUE(observer_->forget(first).ok());
  pages.write(2);
  pages.write(9);
  accesses = collect();
  ASSERT_EQ(accesses.size(), 1u);
  EXPECT_THAT(accesses[0].units, testing::ElementsAre(0, seen(kWrite), 0, 0));
  // what was forgotten may be watched again, and knows nothing of before
  watch(kStock, pages.page(0), 4 * kPage);
  EXPECT_EQ(collect()[0].written_units, 0u);
}

TEST_P(PageObservers, ReadsOfIgnoredTablesDoNotCount) {
  const Pages pages(4);
  watch(kOrders, pages.page(0), 2 * kPage);
  watch(kStock, pages.page(2), 2 * kPage);
  pages.read(0);
  pages.write(1);
  pages.read(2);
  pages.write(3);
  const auto accesses = collect({kOrders});
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_THAT(accesses[0].units, testing::ElementsAre(0, kAccessWritten));
  EXPECT_FALSE(accesses[0].knows_reads);
  EXPECT_EQ(accesses[0].read_units, 0u);
  EXPECT_THAT(accesses[1].units, testing::ElementsAre(seen(kAccessRead), seen(kWrite)));
  // the next window is new
  const auto next = collect();
  EXPECT_THAT(next[0].units, testing::ElementsAre(0, 0));
}

TEST_P(PageObservers, WrongRangesAreRefused) {
  const Pages pages(4);
  EXPECT_EQ(observer_->watch(kOrders, pages.page(0) + 1, kPage).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(observer_->watch(kOrders, pages.page(0), kPage + 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(observer_->watch(kOrders, pages.page(0), 0).status().code(), absl::StatusCode::kInvalidArgument);
  watch(kOrders, pages.page(1), 2 * kPage);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(observer_->watch(kOrders, pages.page(i), 2 * kPage).status().code(), absl::StatusCode::kAlreadyExists);
  }
  EXPECT_EQ(observer_->watch(kOrders, pages.page(2), kPage).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(observer_->forget(WatchId(99)).code(), absl::StatusCode::kNotFound);
  // memory that is not there
  void* gone = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(gone, kPage);
  EXPECT_FALSE(observer_->watch(kOrders, gone, kPage).ok());
  EXPECT_EQ(collect().size(), 1u);
}

TEST_P(PageObservers, ChildrenAccessFreelyAndAreNotSeen) {
  const Pages pages(8);
  watch(kOrders, pages.page(0), pages.bytes());
  pages.write(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (size_t i = 0; i < 8; ++i) {
      if (*pages.page(i) != (i == 0 ? 2 : 1)) _exit(1);
      pages.write(i);
    }
    _exit(0);
  }
  pages.write(3);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(collect()[0].units, testing::ElementsAre(seen(kWrite), 0, 0, seen(kWrite), 0, 0, 0, 0));
  EXPECT_EQ(*pages.page(5), 1);
}

// Each page is written once, while windows end all the time: no write is lost.
TEST_P(PageObservers, WritesBesideCollectAreFound) {
  constexpr size_t kPages = 2000;
  const Pages pages(kPages);
  watch(kOrders, pages.page(0), pages.bytes());
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    for (size_t i = 0; i < kPages; ++i) pages.write(i);
    is_over = true;
  });
  std::vector<int> found(kPages);
  for (bool last = false; !last;) {
    last = is_over;
    const auto accesses = collect();
    for (size_t i = 0; i < kPages; ++i) found[i] += (accesses.at(0).units[i] & kAccessWritten) != 0;
  }
  writer.join();
  // A page counts in each window that ends between the fault and the write that comes again after it.
  for (size_t i = 0; i < kPages; ++i) ASSERT_GE(found[i], 1) << i;
  EXPECT_EQ(collect()[0].written_units, 0u);
}

// Threads access all of it, forever, while ranges come and go.
TEST_P(PageObservers, RangesComeAndGoUnderAccess) {
  const Pages pages(64);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = thread; !is_over; i = (i + 7) % 64) {
        i % 2 == thread ? pages.write(i) : pages.read(i);
        if (i % 16 == 0) std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 200; ++round) {
    const WatchId id = watch(kOrders, pages.page(0), 32 * kPage);
    const WatchId other = watch(kStock, pages.page(32), 32 * kPage);
    EXPECT_EQ(collect().size(), 2u);
    EXPECT_TRUE(observer_->forget(id).ok());
    EXPECT_TRUE(observer_->forget(other).ok());
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

// Where huge pages are not split, each range of one is told what happened to all of it, in the same window.
TEST_P(PageObservers, RangesWithinOneHugePage) {
  auto arena = Arena::create(8 * kHugePageBytes, 8 * kHugePageBytes, PageMode::kTransparentHuge);
  ASSERT_TRUE(arena.ok()) << arena.status();
  auto* memory = static_cast<volatile char*>((*arena)->allocate(kHugePageBytes));
  memory[0] = 1;
  watch(kOrders, const_cast<char*>(memory), kHugePageBytes / 4);
  watch(kStock, const_cast<char*>(memory) + kHugePageBytes / 2, kHugePageBytes / 4);
  memory[5] = 2;
  auto accesses = collect();
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].units[0], seen(kWrite));
  memory[kHugePageBytes / 2] = 2;
  accesses = collect();
  EXPECT_EQ(accesses[1].units[0], seen(kWrite));
  accesses = collect();
  EXPECT_EQ(accesses[0].written_units + accesses[1].written_units, 0u);
  observer_.reset();  // before the memory
}

INSTANTIATE_TEST_SUITE_P(AccessObserver, PageObservers,
                         testing::Values(ObserverKind::kModule, ObserverKind::kPagemap, ObserverKind::kProtection),
                         name);

TEST(ProtectionObserver, OneAtATime) {
  auto first = make_observer(ObserverKind::kProtection);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(make_observer(ObserverKind::kProtection).status().code(), absl::StatusCode::kUnavailable);
  first->reset();
  EXPECT_TRUE(make_observer(ObserverKind::kProtection).ok());
}

TEST(ProtectionObserver, SystemCallsDoNotFaultPagesIn) {
  auto observer = make_observer(ObserverKind::kProtection);
  ASSERT_TRUE(observer.ok()) << observer.status();
  const Pages pages(1);
  ASSERT_TRUE((*observer)->watch(kOrders, pages.page(0), kPage).ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], pages.page(0), 1), -1);  // the caveat in the header
  EXPECT_EQ(errno, EFAULT);
  pages.read(0);
  EXPECT_EQ(write(ends[1], pages.page(0), 1), 1);
  close(ends[0]);
  close(ends[1]);
  observer->reset();
}

// More changes of protection than a process may have mappings: all of the range counts, nobody dies.
TEST(ProtectionObserver, MoreMappingsThanThereMayBe) {
#ifdef SCYPER_SANITIZED
  GTEST_SKIP() << "a sanitizer needs mappings of its own meanwhile";
#endif
  size_t most = 0;
  if (FILE* file = std::fopen("/proc/sys/vm/max_map_count", "r")) {
    if (std::fscanf(file, "%zu", &most) != 1) most = 0;
    std::fclose(file);
  }
  if (most == 0 || most > 70'000) GTEST_SKIP() << "vm.max_map_count is " << most << ": too long to reach";
  const size_t bytes = 2 * most * kPage;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto observer = make_observer(ObserverKind::kProtection);
  ASSERT_TRUE(observer.ok()) << observer.status();
  ASSERT_TRUE((*observer)->watch(kOrders, memory, bytes).ok());
  for (size_t i = 0; i < bytes; i += 2 * kPage) (void)*(static_cast<volatile char*>(memory) + i);
  const auto accesses = (*observer)->collect({});
  ASSERT_TRUE(accesses.ok()) << accesses.status();
  EXPECT_EQ(accesses->front().read_units, 2 * most);
  const auto next = (*observer)->collect({});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->front().read_units, 0u);
  observer->reset();
  munmap(memory, bytes);
}

TEST(ProtectionObserver, OtherFaultsEndTheProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would print
    auto observer = make_observer(ObserverKind::kProtection);
    if (!observer.ok()) _exit(1);
    void* page = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(page) = 1;
    _exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) > 2) << status;
}

TEST(CountingObserver, SaysWhatTheEngineCounted) {
  auto observer = make_observer(ObserverKind::kCounters);
  ASSERT_TRUE(observer.ok()) << observer.status();
  const Pages pages(8);
  const auto orders = (*observer)->watch(kOrders, pages.page(0), 4 * kPage);
  const auto stock = (*observer)->watch(kStock, pages.page(4), 4 * kPage);
  ASSERT_TRUE(orders.ok() && stock.ok());
  auto units = [&](const std::set<TableId>& ignore) {
    const auto accesses = (*observer)->collect(ignore);
    EXPECT_TRUE(accesses.ok());
    EXPECT_EQ(accesses->at(0).unit_bytes, 4 * kPage);
    return std::vector<uint8_t>{accesses->at(0).units.at(0), accesses->at(1).units.at(0)};
  };
  EXPECT_THAT(units({}), testing::ElementsAre(0, 0));
  pages.write(0);  // nobody counted it
  (*observer)->counter_of(*stock)->count_read();
  EXPECT_THAT(units({}), testing::ElementsAre(0, kAccessRead));
  (*observer)->counter_of(*orders)->count_read();
  (*observer)->counter_of(*stock)->count_write();
  EXPECT_THAT(units({kOrders, kStock}), testing::ElementsAre(0, kAccessWritten));
  EXPECT_THAT(units({}), testing::ElementsAre(0, 0));
  ASSERT_TRUE((*observer)->forget(*orders).ok());
  EXPECT_EQ((*observer)->counter_of(*orders), nullptr);
}

TEST(CountingObserver, CountsBesideCollect) {
  auto observer = make_observer(ObserverKind::kCounters);
  ASSERT_TRUE(observer.ok()) << observer.status();
  const Pages pages(1);
  const auto id = (*observer)->watch(kOrders, pages.page(0), kPage);
  ASSERT_TRUE(id.ok());
  AccessCounter* counter = (*observer)->counter_of(*id);
  std::thread worker([&] {
    for (int i = 0; i < 10'000; ++i) counter->count_write();
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE((*observer)->collect({}).ok());
  worker.join();
  EXPECT_EQ(counter->writes(), 10'000u);
}

TEST(ChooseObserver, BySetting) {
  for (ObserverKind kind :
       {ObserverKind::kModule, ObserverKind::kPagemap, ObserverKind::kProtection, ObserverKind::kCounters}) {
    auto chosen = choose_observer(name_of(kind));
    if (chosen.ok()) {
      EXPECT_EQ((*chosen)->kind(), kind);
    } else {
      EXPECT_EQ(chosen.status().code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(chosen.status().message()), testing::HasSubstr(std::string(name_of(kind))));
    }
  }
  EXPECT_EQ(choose_observer("best").status().code(), absl::StatusCode::kInvalidArgument);
  auto automatic = choose_observer("auto");
  ASSERT_TRUE(automatic.ok()) << automatic.status();
  const bool has_module = make_observer(ObserverKind::kModule).ok();
  const bool has_pagemap = make_observer(ObserverKind::kPagemap).ok();
  EXPECT_EQ((*automatic)->kind(), has_module    ? ObserverKind::kModule
                                  : has_pagemap ? ObserverKind::kPagemap
                                                : ObserverKind::kCounters);
}

}  // namespace
}  // namespace scyper::storage
