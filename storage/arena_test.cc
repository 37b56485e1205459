#include "storage/arena.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "node_pool.h"
#include "storage/memory_reserve.h"

namespace scyper::storage {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

bool is_zero(const char* bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [](char c) { return c == 0; });
}

class ArenaTest : public testing::TestWithParam<PageMode> {};
INSTANTIATE_TEST_SUITE_P(Pages, ArenaTest, testing::Values(PageMode::kSmall, PageMode::kTransparentHuge));

// A child that allocated waited for ever for a lock that the thread which faults pages in had held at the fork.
TEST_P(ArenaTest, ForkedChildrenAllocateWhilePagesAreFaultedIn) {
  auto arena = *Arena::create(256 * kMegabyte, 256 * kMegabyte, GetParam());
  arena->fault_ahead();
  for (int i = 0; i < 200; ++i) {
    ASSERT_NE(arena->allocate(kMegabyte), nullptr);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);  // ends a child that waits
      _exit(arena->allocate(kMegabyte) == nullptr ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "fork " << i;
  }
}

TEST_P(ArenaTest, GivesZeroedAlignedBlocks) {
  auto arena = *Arena::create(64 * kMegabyte, 64 * kMegabyte, GetParam());
  auto* small = static_cast<char*>(arena->allocate(5000));
  auto* large = static_cast<char*>(arena->allocate(3 * kMegabyte));
  ASSERT_NE(small, nullptr);
  ASSERT_NE(large, nullptr);
  const size_t align = GetParam() == PageMode::kTransparentHuge ? kHugePageBytes : kArenaGranuleBytes;
  EXPECT_EQ(reinterpret_cast<size_t>(small) % kArenaGranuleBytes, 0u);
  EXPECT_EQ(reinterpret_cast<size_t>(large) % align, 0u);
  EXPECT_EQ(arena->used_bytes(), kArenaGranuleBytes + 3 * kMegabyte);
  EXPECT_TRUE(is_zero(large, 3 * kMegabyte));
  std::memset(large, 7, 3 * kMegabyte);
  arena->free(large, 3 * kMegabyte);
  auto* again = static_cast<char*>(arena->allocate(kMegabyte));
  EXPECT_TRUE(is_zero(again, kMegabyte));
  arena->free(again, kMegabyte);
  arena->free(small, 5000);
  EXPECT_EQ(arena->used_bytes(), 0u);
}

TEST_P(ArenaTest, RefusesBeyondBudgetAndReserve) {
  auto arena = *Arena::create(64 * kMegabyte, 4 * kMegabyte, GetParam());
  // the last part is for what frees memory
  EXPECT_EQ(arena->allocate(4 * kMegabyte), nullptr);
  void* rows = arena->allocate(4 * kMegabyte - reserved_bytes(4 * kMegabyte));
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(arena->allocate(1), nullptr);
  {
    const ReserveScope outer;
    const ReserveScope inner;
    void* change = arena->allocate(1);
    EXPECT_NE(change, nullptr);
    arena->free(change, 1);
  }
  EXPECT_EQ(arena->allocate(1), nullptr);
  arena->free(rows, 4 * kMegabyte - reserved_bytes(4 * kMegabyte));
  const ReserveScope reserve;
  void* block = arena->allocate(4 * kMegabyte);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(arena->allocate(1), nullptr);
  arena->free(block, 4 * kMegabyte);
  EXPECT_EQ(arena->allocate(5 * kMegabyte), nullptr);
  EXPECT_EQ(arena->allocate(~size_t{0}), nullptr);
  EXPECT_NE(arena->allocate(4 * kMegabyte), nullptr);
  auto full = *Arena::create(2 * kMegabyte, size_t{1} << 40, GetParam());
  EXPECT_EQ(full->allocate(3 * kMegabyte), nullptr);
  EXPECT_NE(full->allocate(2 * kMegabyte), nullptr);
  EXPECT_EQ(full->allocate(1), nullptr);
}

// Random blocks never overlap, come zeroed, and once all are free the space is whole again.
TEST_P(ArenaTest, RandomBlocksMergeAgain) {
  const uint64_t seed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  auto arena = *Arena::create(64 * kMegabyte, 64 * kMegabyte, GetParam());
  struct Block {
    char* start;
    size_t bytes;
    char mark;
  };
  std::vector<Block> blocks;
  for (int step = 0; step < 2000; ++step) {
    if (blocks.size() < 30 && random.below(2) == 0) {
      const size_t bytes = 1 + random.below(random.one_in(5) ? 3 * kMegabyte : 200000);
      auto* start = static_cast<char*>(arena->allocate(bytes));
      if (start == nullptr) continue;
      ASSERT_TRUE(is_zero(start, bytes));
      const char mark = static_cast<char>(1 + random.below(100));
      std::memset(start, mark, bytes);
      blocks.push_back({start, bytes, mark});
    } else if (!blocks.empty()) {
      std::swap(blocks[random.below(blocks.size())], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      ASSERT_TRUE(std::all_of(block.start, block.start + block.bytes, [&](char c) { return c == block.mark; }));
      arena->free(block.start, block.bytes);
    }
  }
  for (const Block& block : blocks) arena->free(block.start, block.bytes);
  EXPECT_EQ(arena->used_bytes(), 0u);
  const ReserveScope all;
  EXPECT_NE(arena->allocate(64 * kMegabyte), nullptr);
}

TEST(Arena, ThreadsShareIt) {
  auto arena = *Arena::create(256 * kMegabyte, 256 * kMegabyte, PageMode::kSmall);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&arena, t] {
      for (int i = 0; i < 300; ++i) {
        auto* block = static_cast<char*>(arena->allocate(kArenaGranuleBytes * (1 + i % 3)));
        CHECK(block != nullptr && block[17] == 0);
        block[17] = static_cast<char>(t + 1);
        arena->free(block, kArenaGranuleBytes * (1 + i % 3));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(arena->used_bytes(), 0u);
}

TEST(NodePool, RecyclesAndReserves) {
  auto arena = *Arena::create(16 * kMegabyte, 3 * kArenaGranuleBytes, PageMode::kSmall);
  {
    NodePool pool(arena.get(), 1024);
    void* first = pool.take();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(arena->used_bytes(), kArenaGranuleBytes);
    pool.give(first);
    EXPECT_EQ(pool.take(), first);
    EXPECT_TRUE(pool.reserve(100));
    EXPECT_FALSE(pool.reserve(200));
    std::vector<void*> nodes;
    while (void* node = pool.take()) nodes.push_back(node);
    EXPECT_EQ(nodes.size(), 3 * 64u - 1);
    EXPECT_EQ(pool.in_use(), 3 * 64u);
  }
  EXPECT_EQ(arena->used_bytes(), 0u);
}

TEST(PiecePool, PiecesOfAllSizes) {
  const uint64_t seed = 5;
  Random random(seed);
  auto arena = *Arena::create(64 * kMegabyte, 8 * kMegabyte, PageMode::kSmall);
  PiecePool pool(arena.get());
  struct Piece {
    char* start;
    uint32_t bytes;
    char mark;
  };
  std::vector<Piece> pieces;
  for (int step = 0; step < 20000; ++step) {
    if (random.below(5) < 3) {
      const auto bytes = static_cast<uint32_t>(1 + random.below(random.one_in(3) ? PiecePool::kMaxPieceBytes : 100));
      auto* start = static_cast<char*>(pool.take(bytes));
      if (start == nullptr) continue;
      ASSERT_EQ(reinterpret_cast<size_t>(start) % 16, 0u);
      const char mark = static_cast<char>(random.below(100));
      std::memset(start, mark, bytes);
      pieces.push_back({start, bytes, mark});
    } else if (!pieces.empty()) {
      std::swap(pieces[random.below(pieces.size())], pieces.back());
      const Piece piece = pieces.back();
      pieces.pop_back();
      ASSERT_TRUE(std::all_of(piece.start, piece.start + piece.bytes, [&](char c) { return c == piece.mark; }));
      pool.give(piece.start, piece.bytes);
    }
  }
  EXPECT_EQ(pool.in_use(), pieces.size());
}

}  // namespace
}  // namespace scyper::storage
