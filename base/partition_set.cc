#include "base/partition_set.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace scyper {

StatusOr<PartitionSet> PartitionSet::parse(std::string_view text) {
  const std::string list(text);
  if (list.find_first_not_of(" \t") == std::string::npos) return all();
  PartitionSet set;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(list, ','))) {
    const std::vector<std::string> bounds = absl::StrSplit(part, absl::MaxSplits('-', 1));
    uint32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(bounds.front(), &first) || !absl::SimpleAtoi(bounds.back(), &last))
      return sql_error("22023", absl::StrCat("no list of partitions as 0-3,7: ", list));
    if (first > last || last >= kLimit)
      return sql_error("22023", absl::StrCat("partitions rise and are below ", kLimit, ": ", list));
    for (uint32_t partition = first; partition <= last; ++partition) set.add(partition);
  }
  return set;
}

std::string PartitionSet::to_string() const {
  if (is_all_) return "";
  std::string text;
  for (uint32_t first = 0; first < words_.size() * 64; ++first) {
    if (!has(first)) continue;
    uint32_t last = first;
    while (has(last + 1)) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", first);
    if (last > first) absl::StrAppend(&text, "-", last);
    first = last;
  }
  return text.empty() ? "none" : text;
}

std::vector<uint64_t> PartitionSet::words() const {
  if (is_all_) return {};
  return words_.empty() ? std::vector<uint64_t>{0} : words_;
}

PartitionSet PartitionSet::of_words(std::span<const uint64_t> words) {
  if (words.empty()) return all();
  PartitionSet set;
  set.words_.assign(words.begin(), words.begin() + std::min<size_t>(words.size(), kLimit / 64));
  while (!set.words_.empty() && set.words_.back() == 0) set.words_.pop_back();
  return set;
}

void PartitionSet::add(uint32_t partition) {
  if (is_all_ || partition >= kLimit) return;
  if (words_.size() <= partition / 64) words_.resize(partition / 64 + 1);
  words_[partition / 64] |= uint64_t{1} << (partition % 64);
}

bool PartitionSet::covers(const PartitionSet& other) const {
  if (is_all_) return true;
  if (other.is_all_ || other.words_.size() > words_.size()) return false;
  for (size_t i = 0; i < other.words_.size(); ++i)
    if ((other.words_[i] & ~words_[i]) != 0) return false;
  return true;
}

uint32_t PartitionSet::highest() const {
  if (words_.empty()) return 0;
  return static_cast<uint32_t>(words_.size() * 64 - 1) - static_cast<uint32_t>(std::countl_zero(words_.back()));
}

}  // namespace scyper
