// Frames of a page cache: the table of pages, pins, eviction.
#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "base/check.h"
#include "tier/cache_state.h"

namespace scyper::storage {

uint32_t PageCache::State::bucket_of(uint64_t id) const noexcept {
  return static_cast<uint32_t>((id * 0x9e3779b97f4a7c15) >> 32) & bucket_mask_;
}

uint32_t PageCache::State::find(uint64_t id, uint32_t chain_max) const noexcept {
  uint32_t frame = buckets_read_[bucket_of(id)].load(std::memory_order_acquire);
  for (uint32_t i = 0; frame != kNoFrame && i < chain_max; ++i) {
    if (frames_read_[frame].page.load(std::memory_order_acquire) == id) return frame;
    frame = frames_read_[frame].next.load(std::memory_order_acquire);
  }
  return kNoFrame;
}

void PageCache::State::note_use(uint32_t frame) noexcept {
  FrameUse& use = uses_[frame];
  const uint64_t now = loads_read_->load(std::memory_order_relaxed);
  const uint64_t before = use.stamp.load(std::memory_order_relaxed);
  // a scan comes back to a page for its next vector: that is one use
  if (before != 0 && now - before > 2 * uint64_t{options_.read_ahead_pages_max}) {
    use.is_reused.store(1, std::memory_order_relaxed);
  }
  if (before != now) use.stamp.store(now, std::memory_order_relaxed);
  use.count.store(use.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// A free frame for a page that will be read; kNoFrame: all are pinned or being read into.
uint32_t PageCache::State::take_frame() {
  // while it grows, in proportion
  const uint64_t low_water = uint64_t{options_.low_water_pages} * granted_ / frame_count_;
  if (free_.size() <= low_water) evict();
  if (free_.empty()) return kNoFrame;
  const uint32_t frame = free_.back();
  free_.pop_back();
  return frame;
}

void PageCache::State::evict() {
  std::vector<uint32_t> popped;
  std::vector<uint32_t> gone;
  std::vector<uint32_t> kept;
  const uint64_t wanted = std::max<uint64_t>(uint64_t{options_.eviction_pages} * granted_ / frame_count_, 1);
  while (gone.size() < wanted) {
    popped.clear();
    while (gone.size() + popped.size() < wanted) {
      const uint32_t frame = order_->pop();
      if (frame == EvictionOrder::kNone) break;
      popped.push_back(frame);
      // the name goes first: whoever sets a pin from here on finds that it came too late
      frames_[frame].page.store(kNoPage, std::memory_order_seq_cst);
    }
    if (popped.empty()) break;
    find_pinned();
    for (const uint32_t frame : popped) {
      if (is_pinned_[frame]) {
        frames_[frame].page.store(states_[frame].page, std::memory_order_seq_cst);
        kept.push_back(frame);
      } else {
        gone.push_back(frame);
      }
    }
  }
  for (const uint32_t frame : gone) drop(frame);
  for (const uint32_t frame : kept) order_->put_back(frame);
  // neighbours are taken one after the other, so that a read has few pieces
  std::sort(gone.begin(), gone.end(), std::greater<>());
  free_.insert(free_.end(), gone.begin(), gone.end());
}

// What a child writes there is taken for what it may be: any number.
void PageCache::State::find_pinned() {
  is_pinned_.assign(frame_count_, false);
  for (uint32_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].is_used) continue;
    for (uint64_t used = slots_[i].readers.load(std::memory_order_seq_cst); used != 0; used &= used - 1) {
      for (const std::atomic<uint32_t>& pin : slots_[i].all[std::countr_zero(used)].pins) {
        const uint32_t frame = pin.load(std::memory_order_seq_cst);
        if (frame != 0 && frame <= frame_count_) is_pinned_[frame - 1] = true;
      }
    }
  }
}

void PageCache::State::publish(OpenFile* file, uint64_t id, uint32_t frame, bool is_ahead) {
  const uint64_t now = loads_->load(std::memory_order_relaxed) + 1;
  loads_->store(now, std::memory_order_relaxed);
  states_[frame].is_ahead = is_ahead;
  uses_[frame].stamp.store(0, std::memory_order_relaxed);
  uses_[frame].count.store(0, std::memory_order_relaxed);
  uses_[frame].is_reused.store(0, std::memory_order_relaxed);
  order_->insert(frame, id, file->colors[number_of(id)], file->gains[number_of(id)], now);
  std::atomic<uint32_t>& bucket = buckets_[bucket_of(id)];
  frames_[frame].next.store(bucket.load(std::memory_order_relaxed), std::memory_order_release);
  frames_[frame].page.store(id, std::memory_order_seq_cst);
  bucket.store(frame, std::memory_order_release);
}

// Of a frame that order_ gave and nobody has pinned.
void PageCache::State::drop(uint32_t frame) {
  const uint64_t id = states_[frame].page;
  unlink(frame, id);
  ++counts_.evictions;
  if (states_[frame].is_ahead) {
    const bool is_used = uses_[frame].stamp.load(std::memory_order_relaxed) != 0;
    ++(is_used ? counts_.read_ahead_used_pages : counts_.read_ahead_wasted_pages);
  }
  const uint8_t gain = order_->forget(frame);
  OpenFile* file = file_at(file_of(id));
  if (file != nullptr) file->gains[number_of(id)] = gain;
  states_[frame] = {};
}

void PageCache::State::unlink(uint32_t frame, uint64_t id) {
  std::atomic<uint32_t>* link = &buckets_[bucket_of(id)];
  while (true) {
    const uint32_t at = link->load(std::memory_order_relaxed);
    CHECK(at != kNoFrame);
    if (at == frame) break;
    link = &frames_[at].next;
  }
  link->store(frames_[frame].next.load(std::memory_order_relaxed), std::memory_order_release);
}

}  // namespace scyper::storage
