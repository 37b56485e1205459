#include "tier/eviction_order.h"

#include <algorithm>
#include <utility>

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
      adjusts_colors_(adjusts_colors && policy != EvictionPolicy::kLirs),
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
  // what passes goes in its order, whatever it is worth: else what is worth more would fill the small part, and what is
  // read ahead would go before its use
  return (state.place == kSmall ? 0 : uint64_t{color(frame)} << kStampBits) | stamp;
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

// Whether a page that has just been loaded stays from the begin. What came back is judged when it leaves the small
// part: read ahead it comes long before its turn, and a page of main that is to be used before it would go.
bool EvictionOrder::belongs_to_main(uint64_t page, uint16_t color_of_page) {
  if (policy_ != EvictionPolicy::kLirs) return true;
  if (sizes_[kMain] < main_frames_ && is_sampled(page)) return true;
  const uint32_t last = first_of(kMain);
  return last != kNone && color_of_page > color(last);
}

void EvictionOrder::demote_first() {
  const uint32_t frame = first_of(kMain);
  CHECK(frame != kNone);
  take_first(kMain);
  // it passes as if it had just been loaded; its last use is remembered by its stamp
  frames_[frame].loaded = now_;
  frames_[frame].used_before = 0;
  uses_[frame].is_reused.store(0, std::memory_order_relaxed);
  push(frame, kSmall);
}

void EvictionOrder::move_to_main(uint32_t frame) {
  if (sizes_[kMain] >= main_frames_) demote_first();
  push(frame, kMain);
}

// A new page is worth as much as the one that would go, if colours allow; nothing is known of it yet,
// and were it worth less it would go first.
uint8_t EvictionOrder::gain_at_least(uint8_t gain, uint16_t color_of_page) {
  const uint32_t last = first_of(kMain);
  if (last == kNone || frames_[last].color != color_of_page) return gain;
  return std::max(gain, frames_[last].gain);
}

void EvictionOrder::insert(uint32_t frame, uint64_t page, uint16_t color_of_page, uint8_t gain, uint64_t now) {
  FrameState& state = frames_[frame];
  CHECK(state.place == kOut && now >= now_);
  now_ = now;
  state.page = page;
  state.loaded = now;
  state.color = color_of_page;
  state.gain = adjusts_colors_ ? gain_at_least(gain, color_of_page) : uint8_t{0};
  const auto gone = gone_.find(page);
  state.used_before = gone == gone_.end() ? 0 : gone->second;
  if (gone != gone_.end()) gone_.erase(gone);
  if (belongs_to_main(page, color(frame))) {
    move_to_main(frame);
  } else {
    push(frame, kSmall);
  }
  if (adjusts_colors_ && now_ - aged_ > frames_.size()) age();
}

// Of a frame that leaves the small part: whether it was used twice, the first time later than the page of main that
// would go was used last.
bool EvictionOrder::is_better_than_main(uint32_t frame) {
  FrameState& state = frames_[frame];
  const uint32_t last = first_of(kMain);
  if (last != kNone && color(frame) != color(last)) return color(frame) > color(last);
  const bool is_reused = uses_[frame].is_reused.exchange(0, std::memory_order_relaxed) != 0;
  const bool is_used = uses_[frame].stamp.load(std::memory_order_relaxed) != 0;
  const uint64_t before = is_reused ? stamp_of(frame) : is_used ? std::exchange(state.used_before, 0) : 0;
  return before != 0 && (last == kNone || sizes_[kMain] < main_frames_ || before > stamp_of(last));
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
    uint32_t count = uses_[frame].count.exchange(0, std::memory_order_relaxed);
    // read ahead: its use is to come
    if (uses_[frame].stamp.load(std::memory_order_relaxed) == 0) count = 1;
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
