#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace scyper {

// Some of a database's partitions, by number, or all of them however many there are: what a secondary subscribes to,
// what a query reads (docs/replication.md, Subscriptions).
class PartitionSet {
 public:
  static constexpr uint32_t kLimit = 4096;  // numbers are below

  static PartitionSet all() { return PartitionSet(true); }
  PartitionSet() : PartitionSet(false) {}

  // "0-3,7"; empty: all. 22023 otherwise.
  static StatusOr<PartitionSet> parse(std::string_view text);
  // What parse() takes: ranges in rising order. Of no partition at all: "none", which parse() does not take.
  std::string to_string() const;

  // As messages carry it, and back: 64 partitions a word, the lowest bit first; no words: all. Of no partition at all:
  // one word of zeros. What lies beyond kLimit is left out.
  std::vector<uint64_t> words() const;
  static PartitionSet of_words(std::span<const uint64_t> words);

  void add(uint32_t partition);
  bool is_all() const { return is_all_; }
  bool has(uint32_t partition) const {
    return is_all_ || (partition / 64 < words_.size() && (words_[partition / 64] >> (partition % 64) & 1) != 0);
  }
  // Whether each of `other` is one of these.
  bool covers(const PartitionSet& other) const;
  // The highest number in it; 0 of none and of all.
  uint32_t highest() const;

  friend bool operator==(const PartitionSet&, const PartitionSet&) = default;

 private:
  explicit PartitionSet(bool is_all) : is_all_(is_all) {}

  bool is_all_;
  std::vector<uint64_t> words_;  // the last one is not zero; none where is_all_
};

}  // namespace scyper
