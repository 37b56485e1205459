#include "storage/invalid_ranges.h"

#include <cstddef>

#include "base/check.h"

namespace scyper::storage {

namespace {
// The first range that ends at `position` or behind it; no branch that could be predicted wrongly.
ptrdiff_t first_reaching(const std::vector<InvalidRanges::Range>& ranges, uint32_t position) {
  size_t begin = 0;
  for (size_t left = ranges.size(); left > 0;) {
    const size_t half = (left + 1) / 2;
    begin += half & -static_cast<size_t>(ranges[begin + half - 1].end < position);
    left -= half;
  }
  return static_cast<ptrdiff_t>(begin);
}
}  // namespace

void InvalidRanges::add_bits(uint32_t begin, uint32_t end) {
  if (bits_.size() * 64 < end) bits_.resize((end + 63) / 64);
  for (; begin < end && begin % 64 != 0; ++begin) bits_[begin / 64] |= uint64_t{1} << (begin % 64);
  for (; end - begin >= 64; begin += 64) bits_[begin / 64] = ~uint64_t{0};
  for (; begin < end; ++begin) bits_[begin / 64] |= uint64_t{1} << (begin % 64);
}

bool InvalidRanges::add(uint32_t begin, uint32_t end) {
  CHECK(begin < end);
  // Where the last one went, of whatever chunk: an order's lines go one after the other. Only a guess.
  thread_local size_t guess = 0;
  const bool is_behind = guess < ranges_.size() && ranges_[guess].end == begin;
  if (is_behind && (guess + 1 == ranges_.size() || ranges_[guess + 1].begin > end)) {
    ranges_[guess].end = end;
    add_bits(begin, end);
    positions_ += end - begin;
    return true;
  }
  // all that overlap or touch become one
  const ptrdiff_t place = first_reaching(ranges_, begin);
  guess = static_cast<size_t>(place);
  auto first = ranges_.begin() + place;
  auto last = first;
  Range merged{begin, end};
  uint32_t known = 0;
  for (; last != ranges_.end() && last->begin <= end; ++last) {
    const uint32_t overlap_begin = std::max(begin, last->begin);
    const uint32_t overlap_end = std::min(end, last->end);
    known += overlap_end > overlap_begin ? overlap_end - overlap_begin : 0;
    merged.begin = std::min(merged.begin, last->begin);
    merged.end = std::max(merged.end, last->end);
  }
  if (known == end - begin) return false;
  add_bits(begin, end);
  positions_ += end - begin - known;
  if (first == last) {
    ranges_.insert(first, merged);
  } else {
    *first = merged;
    ranges_.erase(first + 1, last);
  }
  return true;
}

bool InvalidRanges::remove(uint32_t position) {
  if (!contains(position)) return false;
  auto it = ranges_.begin() + (first_ending_after(position) - ranges_.cbegin());
  bits_[position / 64] &= ~(uint64_t{1} << (position % 64));
  --positions_;
  const Range range = *it;
  if (range.end - range.begin == 1) {
    ranges_.erase(it);
  } else if (range.begin == position) {
    ++it->begin;
  } else if (range.end == position + 1) {
    --it->end;
  } else {
    it->end = position;
    ranges_.insert(it + 1, {position + 1, range.end});
  }
  return true;
}

}  // namespace scyper::storage
