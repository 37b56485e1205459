#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace scyper::storage {

// Which positions of a frozen chunk hold no tuple any more: ranges [begin, end), ordered, merged, never touching.
// Unlike the paper's, which span a partition, these belong to one chunk: whoever scans it has all it needs at hand.
// Point accesses ask a bit per position, which is there once a position is invalid (2 KB of a chunk): a change of a
// frozen tuple asks seven times, and a search among ranges that lie scattered took an eighth of its time.
// Owner: the frozen chunk's partition. Threads: as the partition. Fork: the child may read (private memory, which the
// parent's later changes do not reach).
// Source: Funke et al., VLDB 2012, section 3.3 (after Positional Delta Trees).
class InvalidRanges {
 public:
  struct Range {
    uint32_t begin;
    uint32_t end;
    friend bool operator==(const Range&, const Range&) = default;
  };

  // Whether any of [begin, end) was valid before.
  bool add(uint32_t begin, uint32_t end);
  bool add(uint32_t position) { return add(position, position + 1); }
  // For undo; whether it was invalid.
  bool remove(uint32_t position);
  bool contains(uint32_t position) const {
    const size_t word = position / 64;
    return word < bits_.size() && ((bits_[word] >> (position % 64)) & 1) != 0;
  }

  uint32_t positions() const { return positions_; }
  const std::vector<Range>& ranges() const { return ranges_; }
  uint64_t memory_bytes() const { return ranges_.capacity() * sizeof(Range) + bits_.capacity() * sizeof(uint64_t); }

  // visit(begin, end) for the valid pieces of [begin, end), in order.
  template <typename Visit>
  void for_each_valid(uint32_t begin, uint32_t end, Visit visit) const {
    for (auto it = first_ending_after(begin); begin < end; ++it) {
      if (it == ranges_.end() || it->begin >= end) {
        visit(begin, end);
        return;
      }
      if (it->begin > begin) visit(begin, it->begin);
      begin = std::max(begin, it->end);
    }
  }

 private:
  std::vector<Range>::const_iterator first_ending_after(uint32_t position) const {
    return std::upper_bound(ranges_.begin(), ranges_.end(), position,
                            [](uint32_t at, const Range& range) { return at < range.end; });
  }

  void add_bits(uint32_t begin, uint32_t end);

  std::vector<Range> ranges_;
  std::vector<uint64_t> bits_;  // up to the last position that was ever invalid
  uint32_t positions_ = 0;      // in all ranges
};

}  // namespace scyper::storage
