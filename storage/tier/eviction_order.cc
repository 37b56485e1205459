#include "tier/eviction_order.h"

#include <algorithm>

#include "base/check.h"

namespace scyper::storage {
namespace {

constexpr int kStampBits = 48;
constexpr uint64_t kStampMask = (uint64_t{1} << kStampBits) - 1;

constexpr auto kLater = [](const auto& a, const auto& b) { return a.key > b.key; };

// The finaliser of splitmix64: every bit of the number decides.
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

EvictionOrder::EvictionOrder(EvictionPolicy policy, uint32_t frames, uint32_t small_frames, uint32_t sample_pages,
                             bool adjusts_colors, FrameUse* uses)
    : policy_(policy),
      main_frames_(policy == EvictionPolicy::kLirs ? frames - small_frames : frames),
      sample_pages_(sample_pages),
      adjusts_colors_(adjusts_colors),
      uses_(uses),
      frames_(frames) {
  CHECK(small_frames < frames && sample_pages > 0);
}

uint64_t EvictionOrder::stamp_of(uint32_t frame) const {
  const FrameState& state = frames_[frame];
  return std::max(state.loaded, uses_[frame].stamp.load(std::memory_order_relaxed));
}

uint16_t EvictionOrder::color(uint32_t frame) const {
  const FrameState& state = frames_[frame];
  return static_cast<uint16_t>(std::min<uint32_t>(state.color + state.gain, UINT16_MAX));
}

uint64_t EvictionOrder::key_of(uint32_t frame) const {
  const FrameState& state = frames_[frame];
  const bool is_by_load = policy_ == EvictionPolicy::kFifo || state.place == kSmall;
  const uint64_t stamp = (is_by_load ? state.loaded : stamp_of(frame)) & kStampMask;
  return uint64_t{color(frame)} << kStampBits | stamp;
}

void EvictionOrder::push(uint32_t frame, Class place) {
  FrameState& state = frames_[frame];
  state.place = place;
  ++sizes_[place];
  heaps_[place].push_back({key_of(frame), frame});
  std::push_heap(heaps_[place].begin(), heaps_[place].end(), kLater);
}

// Brings the first entry up to date until it is the least.
uint32_t EvictionOrder::first_of(Class place) {
  std::vector<Entry>& heap = heaps_[place];
  while (!heap.empty()) {
    const Entry first = heap.front();
    const uint64_t key = key_of(first.frame);
    if (key <= first.key) return first.frame;
    std::pop_heap(heap.begin(), heap.end(), kLater);
    heap.back().key = key;
    std::push_heap(heap.begin(), heap.end(), kLater);
  }
  return kNone;
}

void EvictionOrder::take_first(Class place) {
  std::vector<Entry>& heap = heaps_[place];
  std::pop_heap(heap.begin(), heap.end(), kLater);
  frames_[heap.back().frame].place = kOut;
  heap.pop_back();
  --sizes_[place];
}

bool EvictionOrder::is_sampled(uint64_t page) const {
  if (page_total_ <= main_frames_) return true;
  const uint64_t share = (uint64_t{main_frames_} << 32) / page_total_;
  return (mix(page / sample_pages_) & 0xffffffff) < share;
}

// Whether a page in `frame`, in no class yet, ranks above the last of main. Called for what was used before, and
// returns: its last use was later than that of the page that would go.
bool EvictionOrder::belongs_to_main(uint64_t page, uint16_t color_of_page, uint32_t frame) {
  if (policy_ != EvictionPolicy::kLirs) return true;
  if (sizes_[kMain] < main_frames_ && is_sampled(page)) return true;
  const uint32_t last = first_of(kMain);
  if (last == kNone) return false;
  if (color_of_page != color(last)) return color_of_page > color(last);
  if (frame != kNone) return sizes_[kMain] < main_frames_ || stamp_of(frame) > stamp_of(last);
  const auto gone = gone_.find(page);
  return gone != gone_.end() && gone->second > stamp_of(last);
}

void EvictionOrder::demote_first() {
  const uint32_t frame = first_of(kMain);
  CHECK(frame != kNone);
  take_first(kMain);
  // it passes as if it had just been loaded; its last use is remembered by its stamp
  frames_[frame].loaded = now_;
  uses_[frame].is_reused.store(0, std::memory_order_relaxed);
  push(frame, kSmall);
}

void EvictionOrder::move_to_main(uint32_t frame) {
  if (sizes_[kMain] >= main_frames_) demote_first();
  push(frame, kMain);
}

void EvictionOrder::insert(uint32_t frame, uint64_t page, uint16_t color_of_page, uint8_t gain, uint64_t now) {
  FrameState& state = frames_[frame];
  CHECK(state.place == kOut && now >= now_);
  now_ = now;
  state.page = page;
  state.loaded = now;
  state.color = color_of_page;
  state.gain = adjusts_colors_ ? gain : uint8_t{0};
  if (belongs_to_main(page, color(frame), kNone)) {
    move_to_main(frame);
  } else {
    push(frame, kSmall);
  }
  gone_.erase(page);
  if (adjusts_colors_ && now_ - aged_ > frames_.size()) age();
}

bool EvictionOrder::is_better_than_main(uint32_t frame) {
  const uint32_t last = first_of(kMain);
  if (last != kNone && color(frame) > color(last)) return true;
  return uses_[frame].is_reused.exchange(0, std::memory_order_relaxed) != 0 &&
         belongs_to_main(frames_[frame].page, color(frame), frame);
}

uint32_t EvictionOrder::pop() {
  while (true) {
    // pages leave `main` by demotion only, as long as others pass
    const Class place = sizes_[kSmall] > 0 ? kSmall : kMain;
    const uint32_t frame = first_of(place);
    if (frame == kNone) return kNone;
    take_first(place);
    // what was used again while it passed through, at most once per stay; what is worth more than what would stay
    if (place == kSmall && is_better_than_main(frame)) {
      move_to_main(frame);
      continue;
    }
    frames_[frame].popped_from = place;
    return frame;
  }
}

void EvictionOrder::put_back(uint32_t frame) { push(frame, frames_[frame].popped_from); }

uint8_t EvictionOrder::forget(uint32_t frame) {
  FrameState& state = frames_[frame];
  CHECK(state.place == kOut);
  if (policy_ == EvictionPolicy::kLirs) remember(state.page, stamp_of(frame));
  return state.gain;
}

void EvictionOrder::remember(uint64_t page, uint64_t stamp) {
  gone_[page] = stamp;
  gone_order_.emplace_back(page, stamp);
  while (gone_order_.size() > frames_.size()) {
    // an entry that came later, or has returned meanwhile, is not this one
    const auto [old, old_stamp] = gone_order_.front();
    const auto entry = gone_.find(old);
    if (entry != gone_.end() && entry->second == old_stamp) gone_.erase(entry);
    gone_order_.pop_front();
  }
}

void EvictionOrder::set_color(uint32_t frame, uint16_t color_of_page) {
  frames_[frame].color = color_of_page;
  frames_[frame].gain = 0;
}

// Each use counts one, and half as much every time as many pages have been loaded as there are frames.
void EvictionOrder::age() {
  aged_ = now_;
  for (uint32_t frame = 0; frame < frames_.size(); ++frame) {
    FrameState& state = frames_[frame];
    if (state.place == kOut) continue;
    const uint32_t count = uses_[frame].count.exchange(0, std::memory_order_relaxed);
    state.gain = static_cast<uint8_t>(state.gain / 2 + std::min<uint32_t>(count, kGainMax / 2));
  }
  rebuild();
}

void EvictionOrder::rebuild() {
  for (const Class place : {kMain, kSmall}) {
    std::vector<Entry>& heap = heaps_[place];
    for (Entry& entry : heap) entry.key = key_of(entry.frame);
    std::make_heap(heap.begin(), heap.end(), kLater);
  }
}

}  // namespace scyper::storage
