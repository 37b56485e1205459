#include "jit/code_arena.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "ir/foreign_call.h"
#include "jit/jit.h"

namespace scyper::query::jit {
namespace {

using Part = CodeArena::Part;

TEST(CodeArena, WritesShowAtTheExecutableAddress) {
  auto arena = *CodeArena::create(1 << 20);
  const auto range = arena->allocate(Part::kConstants, 100, 16);
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->bytes, 128u);
  memcpy(range->writable, "seen", 5);
  EXPECT_STREQ(reinterpret_cast<const char*>(range->address), "seen");
}

TEST(CodeArena, ExecutableViewCannotBecomeWritable) {
  auto arena = *CodeArena::create(1 << 20);
  auto* address = (*arena->allocate(Part::kCode, 4096, 4096)).address;
  EXPECT_NE(mprotect(address, 4096, PROT_READ | PROT_WRITE), 0);
  auto* constants = (*arena->allocate(Part::kConstants, 4096, 4096)).address;
  EXPECT_NE(mprotect(constants, 4096, PROT_READ | PROT_WRITE), 0);
}

TEST(CodeArena, FullIsAnErrorAndFreeingMakesRoom) {
  auto arena = *CodeArena::create(1 << 16);
  std::vector<CodeArena::Range> ranges;
  for (;;) {
    auto range = arena->allocate(Part::kCode, 1000, 16);
    if (!range.ok()) {
      EXPECT_EQ(sqlstate_of(range.status()), "53200");
      break;
    }
    ranges.push_back(*range);
  }
  EXPECT_GT(ranges.size(), 50u);
  EXPECT_EQ(arena->used_bytes(), ranges.size() * 1024);
  for (const auto& range : ranges) arena->free(Part::kCode, range.address, range.bytes);
  EXPECT_EQ(arena->used_bytes(), 0u);
  EXPECT_TRUE(arena->allocate(Part::kCode, 50000, 16).ok()) << "neighbours are merged";
}

TEST(CodeArena, RetainedRangesWaitForReclaim) {
  auto arena = *CodeArena::create(1 << 20);
  arena->retain_freed(true);
  const auto first = *arena->allocate(Part::kCode, 64, 16);
  const auto second = *arena->allocate(Part::kCode, 64, 16);
  memset(first.writable, 0x90, 64);
  memset(second.writable, 0x90, 64);
  arena->free(Part::kCode, first.address, first.bytes);
  const uint64_t after_first = arena->freed_number();
  arena->free(Part::kCode, second.address, second.bytes);
  EXPECT_EQ(arena->retained_bytes(), 128u);
  EXPECT_EQ(first.address[0], std::byte{0x90}) << "a child may still run it";
  EXPECT_NE((*arena->allocate(Part::kCode, 64, 16)).address, first.address);
  arena->reclaim(after_first);
  EXPECT_EQ(arena->retained_bytes(), 64u);
  EXPECT_EQ(first.address[0], std::byte{0xCC});
  EXPECT_EQ(second.address[0], std::byte{0x90});
  EXPECT_EQ((*arena->allocate(Part::kCode, 64, 16)).address, first.address);
}

TEST(CodeArena, RandomAllocationsNeverOverlap) {
  Random random(3);
  auto arena = *CodeArena::create(1 << 18);
  std::vector<CodeArena::Range> live;
  for (int step = 0; step < 5000; ++step) {
    if (live.empty() || random.one_in(2)) {
      const size_t alignment = size_t{1} << random.below(9);
      const auto range = arena->allocate(Part::kCode, 1 + random.below(3000), alignment);
      if (!range.ok()) continue;
      ASSERT_EQ(reinterpret_cast<uintptr_t>(range->address) % alignment, 0u);
      for (const auto& other : live) {
        ASSERT_TRUE(range->address + range->bytes <= other.address || other.address + other.bytes <= range->address);
      }
      live.push_back(*range);
    } else {
      std::swap(live[random.below(live.size())], live.back());
      arena->free(Part::kCode, live.back().address, live.back().bytes);
      live.pop_back();
    }
  }
}

// --- code for children forked earlier ---

int64_t host_function(int64_t value) noexcept { return value * 2; }
const ir::External kHostFunction{.name = "host_function",
                                 .address = reinterpret_cast<void*>(&host_function),
                                 .result = ir::Type::kI64,
                                 .words = 1,
                                 .pure = true};

// results[0] = host_function(arguments[0]) + data[3] * factor, data[3] = 40
ir::Function forked_function(int64_t factor) {
  using namespace ir;
  Builder b("forked");
  const int64_t data[] = {10, 20, 30, 40};
  const Reg table = b.data({reinterpret_cast<const char*>(data), sizeof data});
  const Reg argument = b.load(Type::kI64, kArgumentsReg);
  const Reg product = b.binary(Op::kMul, b.load(Type::kI64, table, 24), b.constant(Type::kI64, factor));
  b.store(kResultsReg, 0, b.binary(Op::kAdd, b.call(kHostFunction, {argument}), product));
  b.ret_constant(0);
  return b.finish();
}

// A forked process that runs the code whose address it is sent.
class Child {
 public:
  explicit Child(Jit& jit) {
    int down[2], up[2];
    EXPECT_EQ(pipe(down), 0);
    EXPECT_EQ(pipe(up), 0);
    {
      ForkHold hold = jit.hold_for_fork();
      pid_ = fork();
      if (pid_ == 0) hold.release();
    }
    if (pid_ == 0) {
      for (int fd = 3; fd < 256; ++fd) {  // those of other children too
        if (fd != down[0] && fd != up[1]) close(fd);
      }
      serve(down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    to_ = down[1];
    from_ = up[0];
  }
  ~Child() {
    close(to_);
    close(from_);
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0);
  }

  int64_t run(NativeCode::Entry entry, int64_t argument) {
    const Request request{entry, argument};
    int64_t result = -1;
    EXPECT_EQ(write(to_, &request, sizeof request), static_cast<ssize_t>(sizeof request));
    EXPECT_EQ(read(from_, &result, sizeof result), static_cast<ssize_t>(sizeof result));
    return result;
  }

 private:
  struct Request {
    NativeCode::Entry entry;
    int64_t argument;
  };

  [[noreturn]] SCYPER_FOREIGN_CALL static void serve(int from, int to) {
    Request request;
    while (read(from, &request, sizeof request) == static_cast<ssize_t>(sizeof request)) {
      int64_t result = 0;
      request.entry(nullptr, &request.argument, &result);
      if (write(to, &result, sizeof result) != static_cast<ssize_t>(sizeof result)) _exit(1);
    }
    _exit(0);
  }

  pid_t pid_ = 0;
  int to_ = 0;
  int from_ = 0;
};

TEST(CodeArena, ChildrenForkedEarlierRunNewCode) {
  auto arena = *CodeArena::create(size_t{8} << 20);
  auto created = Jit::create({.arena = arena.get()});
  ASSERT_TRUE(created.ok()) << created.status();
  Jit& jit = **created;
  arena->retain_freed(true);
  std::vector<std::unique_ptr<Child>> children;
  std::atomic<bool> stop = false;
  std::thread compiler([&] {  // so that forks meet compilations
    for (int64_t i = 0; !stop; ++i) EXPECT_TRUE(jit.compile(forked_function(i), Tier::kQuick).ok());
  });
  Random random(5);
  for (int64_t round = 0; round < 60; ++round) {
    if (round % 10 == 0) children.push_back(std::make_unique<Child>(jit));
    if (children.size() > 3) children.erase(children.begin());
    const auto code = jit.compile(forked_function(round), random.one_in(4) ? Tier::kBetter : Tier::kQuick);
    ASSERT_TRUE(code.ok()) << code.status();
    for (auto& child : children) ASSERT_EQ(child->run((*code)->entry, round), 2 * round + 40 * round);
    arena->reclaim(arena->freed_number());  // all children have answered
  }
  stop = true;
  compiler.join();
}

// a child sees no writable view
TEST(CodeArena, ChildCannotWrite) {
  auto arena = *CodeArena::create(1 << 20);
  const auto range = *arena->allocate(Part::kCode, 64, 16);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // sanitizers would print
    *reinterpret_cast<volatile std::byte*>(range.writable) = std::byte{1};
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

}  // namespace
}  // namespace scyper::query::jit
