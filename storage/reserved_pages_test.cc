#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "copy_ahead.h"
#include "gtest/gtest.h"
#include "storage/arena.h"
#include "storage/child_process.h"
#include "storage/memory_reserve.h"

namespace scyper::storage {
namespace {

constexpr char kPoolSize[] = "/proc/sys/vm/nr_hugepages";
constexpr size_t kPages = 8;
constexpr size_t kBytes = kPages * kHugePageBytes;

// So many pages of the pool that nobody has, for as long as it lives.
class Pool {
 public:
  explicit Pool(uint64_t pages) : before_(read_huge_page_pool()) {
    if (!before_.is_known) return;
    set(before_.total - before_.available() + pages);
    is_there_ = read_huge_page_pool().available() == pages;
  }
  ~Pool() {
    if (before_.is_known) set(before_.total);
  }
  bool is_there() const { return is_there_; }

 private:
  static void set(uint64_t pages) { std::ofstream(kPoolSize) << pages << std::flush; }

  const HugePagePool before_;
  bool is_there_ = false;
};

#define NEED_POOL(pool)                                                                                          \
  if (!(pool).is_there()) {                                                                                      \
    GTEST_SKIP() << "the pool of huge pages cannot be set here: no rights for " << kPoolSize << " or no memory"; \
  }

// What a child sees when it is told to look.
class Reader {
 public:
  explicit Reader(const char* bytes) {
    auto made = ChildProcess::fork({}, [bytes](int socket) {
      char go = 0;
      if (read(socket, &go, 1) != 1) return 1;
      for (size_t i = 0; i < kBytes; i += 4096) {
        if (bytes[i] != 'a') return 2;
      }
      return 0;
    });
    if (made.ok()) child_ = *std::move(made);
  }
  pid_t pid() const { return child_->pid(); }
  int look() {
    EXPECT_EQ(write(child_->socket(), "!", 1), 1);
    return child_->wait();
  }
  ChildProcess* child() { return child_.get(); }

 private:
  std::unique_ptr<ChildProcess> child_;
};

void wait_for_copies(const Arena& arena, uint64_t pages) {
  for (int i = 0; i < 3000 && arena.pages_copied_ahead() < pages; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::unique_ptr<Arena> make_arena() {
  auto arena = Arena::create(size_t{1} << 30, kBytes, PageMode::kReservedHuge);
  EXPECT_TRUE(arena.ok()) << arena.status();
  return arena.ok() ? *std::move(arena) : nullptr;
}

char* allocate_all(Arena* arena) {
  const ReserveScope reserve;
  return static_cast<char*>(arena->allocate(kBytes));
}

TEST(ReservedPagesTest, TooSmallPoolIsAnErrorThatSaysWhatIsNeeded) {
  Pool pool(kPages - 1);
  NEED_POOL(pool);
  auto arena = Arena::create(size_t{1} << 30, kBytes, PageMode::kReservedHuge);
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(sqlstate_of(arena.status()), "53200");
  EXPECT_NE(arena.status().message().find("8 huge pages of 2 MB are needed"), std::string::npos) << arena.status();
  EXPECT_NE(arena.status().message().find("7 are left"), std::string::npos) << arena.status();
}

TEST(ReservedPagesTest, PagesAreThePoolsAndTheBudgetIsTheLimit) {
  Pool pool(kPages);
  NEED_POOL(pool);
  {
    auto arena = make_arena();
    ASSERT_NE(arena, nullptr);
    EXPECT_EQ(read_huge_page_pool().available(), 0u);  // promised before they are touched
    arena->fault_ahead();
    char* bytes = allocate_all(arena.get());
    ASSERT_NE(bytes, nullptr);
    std::memset(bytes, 'a', kBytes);
    EXPECT_EQ(arena->allocate(1), nullptr);
    auto memory = memory_of_process(getpid());
    ASSERT_TRUE(memory.ok());
    EXPECT_GE(memory->huge_bytes, kBytes);
    EXPECT_GE(memory->copied_bytes, kBytes);
  }
  EXPECT_EQ(read_huge_page_pool().available(), kPages);
}

// The parent's pages are its own again before it writes; the child sees the old bytes.
TEST(ReservedPagesTest, AllPagesAreCopiedAheadWhileTheChildLives) {
  Pool pool(4 * kPages);
  NEED_POOL(pool);
  auto arena = make_arena();
  ASSERT_NE(arena, nullptr);
  arena->copy_ahead(uint64_t{1} << 40);
  char* bytes = allocate_all(arena.get());
  std::memset(bytes, 'a', kBytes);
  Reader reader(bytes);
  ASSERT_NE(reader.child(), nullptr);
  arena->forked(reader.pid());
  wait_for_copies(*arena, kPages);
  EXPECT_EQ(arena->pages_copied_ahead(), kPages);
  EXPECT_EQ(bytes[0], 'a');
  EXPECT_EQ(read_huge_page_pool().available(), 2 * kPages);
  std::memset(bytes, 'b', kBytes);
  EXPECT_EQ(read_huge_page_pool().available(), 2 * kPages);  // nothing was left to copy
  auto memory = reader.child()->memory();
  ASSERT_TRUE(memory.ok());
  EXPECT_GE(memory->copied_bytes, kBytes);
  EXPECT_EQ(memory->reserved_copied_bytes, kBytes);
  EXPECT_EQ(reader.look(), 0);
  EXPECT_EQ(bytes[kBytes - 1], 'b');
}

TEST(ReservedPagesTest, NothingIsCopiedForAChildThatHasEnded) {
  Pool pool(4 * kPages);
  NEED_POOL(pool);
  auto arena = make_arena();
  ASSERT_NE(arena, nullptr);
  arena->copy_ahead(uint64_t{1} << 40);
  char* bytes = allocate_all(arena.get());
  std::memset(bytes, 'a', kBytes);
  auto gone = ChildProcess::fork({}, [](int) { return 0; });
  ASSERT_TRUE(gone.ok());
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>((*gone)->pid()), &info, WEXITED | WNOWAIT), 0);
  arena->forked((*gone)->pid());
  Reader reader(bytes);  // the thread is alive and comes to the next one
  arena->forked(reader.pid());
  wait_for_copies(*arena, kPages);
  EXPECT_EQ(arena->pages_copied_ahead(), kPages);
  EXPECT_EQ(reader.look(), 0);
}

// Three quarters of what is left of the pool at most: transactions need the rest.
TEST(ReservedPagesTest, CopyingAheadLeavesAQuarterOfThePool) {
  Pool pool(kPages + 4);
  NEED_POOL(pool);
  auto arena = make_arena();
  ASSERT_NE(arena, nullptr);
  arena->copy_ahead(uint64_t{1} << 40);
  char* bytes = allocate_all(arena.get());
  std::memset(bytes, 'a', kBytes);
  Reader reader(bytes);
  arena->forked(reader.pid());
  wait_for_copies(*arena, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for what must not come
  EXPECT_EQ(arena->pages_copied_ahead(), 2u);
  EXPECT_EQ(reader.look(), 0);
}

// The quarter is of the whole rest: the next fork takes nothing of what the first has left.
TEST(ReservedPagesTest, ForksOneAfterTheOtherShareTheLimit) {
  Pool pool(2 * kPages + 4);
  NEED_POOL(pool);
  auto arena = make_arena();
  ASSERT_NE(arena, nullptr);
  arena->copy_ahead(uint64_t{1} << 40);
  char* bytes = allocate_all(arena.get());
  std::memset(bytes, 'a', kBytes);
  Reader first(bytes);
  arena->forked(first.pid());
  wait_for_copies(*arena, kPages);
  ASSERT_EQ(arena->pages_copied_ahead(), kPages);  // 4 of the rest of 12 are left, which is a quarter and one
  Reader second(bytes);
  arena->forked(second.pid());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for what must not come
  EXPECT_EQ(arena->pages_copied_ahead(), kPages);
  EXPECT_EQ(first.look(), 0);
  EXPECT_EQ(second.look(), 0);
}

TEST(ReservedPagesTest, SignalIsThePoolsFaultOnlyWhereItIsUsed) {
  EXPECT_EQ(describe_wait_status(SIGBUS), "was killed by signal " + std::to_string(SIGBUS));
}

// Nothing left to copy to: the writer goes on with the child's page, the child ends when it comes there.
TEST(ReservedPagesTest, AnExhaustedPoolEndsTheChildAndNotTheParent) {
  Pool pool(kPages);
  NEED_POOL(pool);
  auto arena = make_arena();
  ASSERT_NE(arena, nullptr);
  arena->copy_ahead(uint64_t{1} << 40);
  char* bytes = allocate_all(arena.get());
  std::memset(bytes, 'a', kBytes);
  Reader reader(bytes);
  arena->forked(reader.pid());
  std::memset(bytes, 'b', kBytes);
  EXPECT_EQ(bytes[kBytes - 1], 'b');
  const int status = reader.look();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGBUS);
  EXPECT_NE(describe_wait_status(status).find("vm.nr_hugepages is too small"), std::string::npos);
  EXPECT_EQ(arena->pages_copied_ahead(), 0u);
}

}  // namespace
}  // namespace scyper::storage
