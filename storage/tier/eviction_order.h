#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "storage/page_cache.h"

namespace scyper::storage {

// What readers note of a frame's page, in shared memory: whoever reads may write it, also a child that goes wrong. So
// it decides what is evicted, nothing else.
struct FrameUse {
  std::atomic<uint64_t> stamp;      // of the last use, in loads of the whole cache; 0 = not used since it was loaded
  std::atomic<uint32_t> count;      // of uses since it was last looked at; roughly
  std::atomic<uint32_t> is_reused;  // used again, long enough after the use before
};

// Which page goes next. Hits take no lock and move nothing: they leave a stamp in FrameUse. So the order is a heap by
// the keys that frames had when they were put there, the colour before the stamp; stamps only grow, and the first frame
// whose key is still what it was is the least of all. What the stamp is makes the policy:
//  - kFifo: when it was loaded; kLru: when it was last used;
//  - kLirs: two classes. Most frames belong to `main`, ordered as LRU; a small part, in order of loading, is what all
//    other pages pass through. A page that has returned after its eviction and is used comes into `main` when it has
//    passed, in place of its oldest page, if the last use of that is the longer ago: pages are ranked by their last
//    reuse distance; statistics of accesses do not count. A scan, also one that is repeated and larger than the cache,
//    so leaves `main` alone. While the cache fills, an even sample of the files gets into `main`, so that the parts of
//    a scan that are read and the parts that are there take turns.
// Sources: Jiang and Zhang, LIRS, SIGMETRICS 2002 (ranking; their stack is kept up to date at every hit, which readers
// in several processes cannot do); correlated uses: O'Neil et al., LRU-K, SIGMOD 1993, 2.1.1. Colours: Meyer et al.,
// ADMS 2015, 2.2.
// Threads: one at a time. Frames count from 0; pages are known by any number that is theirs alone.
class EvictionOrder {
 public:
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint32_t kGainMax = 254;  // what statistics add to a colour at most

  // small_frames: of kLirs, the share of pages that pass. sample_pages: so many pages in a row belong to a sample or
  // not together. uses: by frame, for as long as this lives.
  EvictionOrder(EvictionPolicy policy, uint32_t frames, uint32_t small_frames, uint32_t sample_pages,
                bool adjusts_colors, FrameUse* uses);

  // Pages that could be asked for in all, which the sample is taken of.
  void set_page_total(uint64_t pages) { page_total_ = pages; }
  // A page was loaded, or put_back(): `now` counts loads. gain: of when it was here last.
  void insert(uint32_t frame, uint64_t page, uint16_t color, uint8_t gain, uint64_t now);
  // Removes the frame that goes first; kNone: none is left.
  uint32_t pop();
  // What was popped stays after all: where it was.
  void put_back(uint32_t frame);
  // The frame that was popped is given up; returns its gain.
  uint8_t forget(uint32_t frame);
  void set_color(uint32_t frame, uint16_t color);
  // After set_color(); and once in so many loads as there are frames, for the statistics.
  void rebuild();
  uint16_t color(uint32_t frame) const;

 private:
  enum Class : uint8_t { kMain, kSmall, kOut };
  struct Entry {
    uint64_t key;
    uint32_t frame;
  };
  struct FrameState {
    uint64_t page = 0;
    uint64_t loaded = 0;
    uint64_t used_before = 0;  // of kLirs: the last use before it went and came back; 0: not known
    uint16_t color = 0;
    uint8_t gain = 0;
    Class place = kOut;
    Class popped_from = kOut;
  };

  uint64_t stamp_of(uint32_t frame) const;
  uint64_t key_of(uint32_t frame) const;
  bool is_sampled(uint64_t page) const;
  bool belongs_to_main(uint64_t page, uint16_t color);
  uint8_t gain_at_least(uint8_t gain, uint16_t color_of_page);
  bool is_better_than_main(uint32_t frame);  // which is in no class
  void push(uint32_t frame, Class place);
  uint32_t first_of(Class place);  // stays in the heap
  void take_first(Class place);
  void move_to_main(uint32_t frame);
  void demote_first();
  void remember(uint64_t page, uint64_t stamp);
  void age();

  const EvictionPolicy policy_;
  const uint32_t main_frames_;
  const uint32_t sample_pages_;
  const bool adjusts_colors_;
  FrameUse* const uses_;
  uint64_t page_total_ = 0;
  uint64_t now_ = 0;
  uint64_t aged_ = 0;  // now_ when the colours were adjusted last
  std::vector<FrameState> frames_;
  std::array<std::vector<Entry>, 2> heaps_;
  std::array<uint32_t, 2> sizes_{};
  // kLirs: pages that have gone, with their last use; as many as there are frames, the oldest go.
  absl::flat_hash_map<uint64_t, uint64_t> gone_;
  std::deque<std::pair<uint64_t, uint64_t>> gone_order_;
};

}  // namespace scyper::storage
