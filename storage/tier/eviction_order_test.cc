#include "tier/eviction_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/random.h"
#include "base/test_seed.h"

namespace scyper::storage {
namespace {

// A cache of numbers around the order, which does what a page cache does with it.
class Cache {
 public:
  Cache(EvictionPolicy policy, uint32_t frames, uint32_t small = 1, bool adjusts_colors = false)
      : uses_(std::make_unique<FrameUse[]>(frames)),
        order_(policy, frames, small, 4, adjusts_colors, uses_.get()),
        pages_(frames),
        frames_(frames) {}

  // Whether the page was there.
  bool access(uint64_t page, uint16_t color = 0) {
    auto found = frame_of_.find(page);
    const bool is_hit = found != frame_of_.end();
    const uint32_t frame = is_hit ? found->second : load(page, color);
    FrameUse& use = uses_[frame];
    const uint64_t before = use.stamp.load();
    if (before != 0 && loads_ - before > 2) use.is_reused.store(1);
    use.stamp.store(loads_);
    use.count.store(use.count.load() + 1);
    return is_hit;
  }
  // As a reader that reads ahead does; whether the page was missing.
  bool read(uint64_t page) {
    if (has(page)) return false;
    load(page, 0);
    return true;
  }
  uint64_t loads() const { return loads_; }
  bool has(uint64_t page) const { return frame_of_.contains(page); }
  EvictionOrder& order() { return order_; }
  uint32_t frame_of(uint64_t page) const { return frame_of_.at(page); }
  uint64_t last_evicted() const { return last_evicted_; }

 private:
  uint32_t load(uint64_t page, uint16_t color) {
    uint32_t frame = used_;
    if (used_ < frames_) {
      ++used_;
    } else {
      frame = order_.pop();
      order_.forget(frame);
      last_evicted_ = pages_[frame];
      frame_of_.erase(last_evicted_);
    }
    uses_[frame].stamp.store(0);
    uses_[frame].count.store(0);
    uses_[frame].is_reused.store(0);
    order_.insert(frame, page, color, 0, ++loads_);
    pages_[frame] = page;
    frame_of_[page] = frame;
    return frame;
  }

  std::unique_ptr<FrameUse[]> uses_;
  EvictionOrder order_;
  std::vector<uint64_t> pages_;
  absl::flat_hash_map<uint64_t, uint32_t> frame_of_;
  const uint32_t frames_;
  uint32_t used_ = 0;
  uint64_t loads_ = 0;
  uint64_t last_evicted_ = 0;
};

// Hits between two loads have one stamp, so the reference counts time in loads, too: of pages whose last use is
// equally old either may go.
TEST(EvictionOrderTest, LruAndFifoAreAsTheSimpleModelsSay) {
  Random random(test_seed());
  for (const EvictionPolicy policy : {EvictionPolicy::kFifo, EvictionPolicy::kLru}) {
    constexpr uint32_t kFrames = 20;
    Cache cache(policy, kFrames);
    absl::flat_hash_map<uint64_t, uint64_t> age;  // of what is there, by the model
    uint64_t loads = 0;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t page = random.below(1 + random.below(60));
      const bool is_there = age.contains(page);
      ASSERT_EQ(cache.access(page), is_there) << i;
      if (!is_there) {
        ++loads;
        if (age.size() == kFrames) {
          const uint64_t gone = cache.last_evicted();
          ASSERT_TRUE(age.contains(gone));
          for (const auto& [other, stamp] : age) ASSERT_LE(age[gone], stamp) << i << ": " << other;
          age.erase(gone);
        }
        age[page] = loads;
      } else if (policy == EvictionPolicy::kLru) {
        age[page] = loads;
      }
    }
  }
}

size_t hits_of_loop(EvictionPolicy policy, uint32_t frames, uint64_t pages, int rounds) {
  Cache cache(policy, frames, frames / 16);
  cache.order().set_page_total(pages);
  size_t hits = 0;
  for (int round = 0; round < rounds; ++round) {
    hits = 0;
    for (uint64_t page = 0; page < pages; ++page) hits += cache.access(page) ? 1 : 0;
  }
  return hits;
}

TEST(EvictionOrderTest, RepeatedScansLargerThanTheCache) {
  for (const uint64_t pages : {1250u, 1500u, 2000u}) {
    EXPECT_EQ(hits_of_loop(EvictionPolicy::kLru, 1000, pages, 4), 0u);
    EXPECT_EQ(hits_of_loop(EvictionPolicy::kFifo, 1000, pages, 4), 0u);
    // all but the small part stays, in steady state
    EXPECT_GE(hits_of_loop(EvictionPolicy::kLirs, 1000, pages, 6), 880u) << pages;
  }
}

// Statistics, too, which differ by where a period of them ends, make no page go that was read ahead and not used.
TEST(EvictionOrderTest, WhatIsReadAheadStaysUntilItsUse) {
  for (const EvictionPolicy policy : {EvictionPolicy::kFifo, EvictionPolicy::kLru, EvictionPolicy::kLirs}) {
    for (const uint64_t pages : {1250u, 1500u, 2000u}) {
      Cache cache(policy, 1000, 60, true);
      cache.order().set_page_total(pages);
      std::deque<uint64_t> ahead;
      uint64_t next = 0;
      uint64_t loads = 0;
      for (uint64_t at = 0; at < 8 * pages; ++at) {
        if (at == 7 * pages) loads = cache.loads();
        while (!ahead.empty() && ahead.front() < at) ahead.pop_front();
        for (; ahead.size() < 32 && next < at + pages / 2; ++next) {
          if (cache.read(next % pages)) ahead.push_back(next);
        }
        ASSERT_TRUE(cache.access(at % pages)) << policy_name(policy) << ' ' << pages << ": " << at;
      }
      if (policy == EvictionPolicy::kLirs) EXPECT_LE(cache.loads() - loads, pages - 880) << pages;
    }
  }
}

TEST(EvictionOrderTest, OneScanDrivesOutNothingThatIsUsed) {
  Cache lirs(EvictionPolicy::kLirs, 1000, 60);
  Cache lru(EvictionPolicy::kLru, 1000);
  for (Cache* cache : {&lirs, &lru}) {
    for (int round = 0; round < 5; ++round) {
      for (uint64_t page = 0; page < 900; ++page) cache->access(page);
      for (uint64_t page = 0; page < 50; ++page) cache->access(5000 + static_cast<uint64_t>(round) * 50 + page);
    }
    for (uint64_t page = 10'000; page < 14'000; ++page) cache->access(page);
  }
  size_t left = 0;
  for (uint64_t page = 0; page < 900; ++page) left += lirs.has(page) ? 1 : 0;
  EXPECT_GE(left, 890u);
  for (uint64_t page = 0; page < 900; ++page) EXPECT_FALSE(lru.has(page));
}

TEST(EvictionOrderTest, WhatIsUsedChanges) {
  Cache cache(EvictionPolicy::kLirs, 1000, 60);
  for (int round = 0; round < 10; ++round) {
    for (uint64_t page = 0; page < 900; ++page) cache.access(page);
  }
  size_t hits = 0;
  for (int round = 0; round < 30; ++round) {
    hits = 0;
    for (uint64_t page = 10'000; page < 10'800; ++page) hits += cache.access(page) ? 1 : 0;
  }
  EXPECT_GE(hits, 790u);  // the old ones are gone
}

TEST(EvictionOrderTest, LowerColoursGoFirst) {
  for (const EvictionPolicy policy : {EvictionPolicy::kFifo, EvictionPolicy::kLru, EvictionPolicy::kLirs}) {
    Cache cache(policy, 100, 10);
    for (uint64_t page = 0; page < 60; ++page) cache.access(page, 512);
    for (uint64_t page = 1000; page < 3000; ++page) cache.access(page, 0);
    for (uint64_t page = 0; page < 60; ++page) EXPECT_TRUE(cache.has(page)) << policy_name(policy) << page;
    for (uint64_t page = 0; page < 60; ++page) cache.order().set_color(cache.frame_of(page), 0);
    cache.order().rebuild();
    for (uint64_t page = 5000; page < 5200; ++page) cache.access(page, 512);
    for (uint64_t page = 0; page < 60; ++page) EXPECT_FALSE(cache.has(page)) << policy_name(policy) << page;
  }
}

TEST(EvictionOrderTest, StatisticsMakeUsedPagesWorthMoreAndForget) {
  Cache cache(EvictionPolicy::kFifo, 100, 1, true);
  for (uint64_t page = 0; page < 10; ++page) cache.access(page);
  uint64_t cold = 1000;
  for (int i = 0; i < 1000; ++i) {
    for (uint64_t page = 0; page < 10; ++page) cache.access(page);
    cache.access(cold++);
  }
  for (uint64_t page = 0; page < 10; ++page) {
    EXPECT_TRUE(cache.has(page));
    EXPECT_GT(cache.order().color(cache.frame_of(page)), 100u);
    EXPECT_LE(cache.order().color(cache.frame_of(page)), EvictionOrder::kGainMax);
  }
  for (int i = 0; i < 3000; ++i) cache.access(cold++);
  for (uint64_t page = 0; page < 10; ++page) EXPECT_FALSE(cache.has(page));
}

TEST(EvictionOrderTest, WhatIsPutBackStaysInOrder) {
  Random random(test_seed());
  for (const EvictionPolicy policy : {EvictionPolicy::kFifo, EvictionPolicy::kLru, EvictionPolicy::kLirs}) {
    constexpr uint32_t kFrames = 64;
    auto uses = std::make_unique<FrameUse[]>(kFrames);
    EvictionOrder order(policy, kFrames, 4, 4, false, uses.get());
    uint64_t now = 0;
    for (uint32_t frame = 0; frame < kFrames; ++frame) order.insert(frame, frame, 0, 0, ++now);
    for (int round = 0; round < 200; ++round) {
      std::vector<uint32_t> popped;
      for (uint64_t n = random.below(kFrames) + 1; n > 0; --n) popped.push_back(order.pop());
      for (const uint32_t frame : popped) order.put_back(frame);
    }
    std::vector<bool> seen(kFrames);
    for (uint32_t i = 0; i < kFrames; ++i) {
      const uint32_t frame = order.pop();
      ASSERT_LT(frame, kFrames);
      EXPECT_FALSE(seen[frame]);
      seen[frame] = true;
    }
    EXPECT_EQ(order.pop(), EvictionOrder::kNone);
  }
}

}  // namespace
}  // namespace scyper::storage
