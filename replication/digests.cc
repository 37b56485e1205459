#include "replication/digests.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace scyper::replication {

namespace {
// Nodes that are further behind are not compared at those snapshots.
constexpr size_t kOwnKept = 16;
constexpr size_t kWaitingMax = 4;
constexpr size_t kNodesMax = 1000;
constexpr uint64_t kRoundsMax = 3;  // of a node that has been told and is not heard of
}  // namespace

std::string describe_difference(const StateDigest& all, const StateDigest& other, const PartitionSet& subscribed) {
  StateDigest own;
  std::copy_if(all.parts.begin(), all.parts.end(), std::back_inserter(own.parts),
               [&](const StateDigest::Part& part) { return part.is_shared || subscribed.has(part.partition); });
  for (size_t i = 0; i < std::max(own.parts.size(), other.parts.size()); ++i) {
    const StateDigest::Part* a = i < own.parts.size() ? &own.parts[i] : nullptr;
    const StateDigest::Part* b = i < other.parts.size() ? &other.parts[i] : nullptr;
    if (a != nullptr && b != nullptr && *a == *b) continue;
    const bool is_missing =
        b == nullptr || (a != nullptr && std::pair(a->table, a->partition) < std::pair(b->table, b->partition));
    if (is_missing) return absl::StrCat("partition ", a->partition, " of ", a->table, " is missing");
    if (a == nullptr || a->table != b->table || a->partition != b->partition) {
      return absl::StrCat("partition ", b->partition, " of ", b->table, " should not be there");
    }
    return absl::StrCat("partition ", a->partition, " of ", a->table, " has ", b->rows, " rows instead of ", a->rows,
                        a->rows == b->rows ? ", with other values" : "");
  }
  return "";
}

void DigestBook::compare(const StateDigest& own, const StateDigest& other, const std::string& name) {
  Node* node = &nodes_[name];
  const std::string difference = describe_difference(own, other, node->subscribed);
  node->comparison.lsn = own.lsn;
  node->round = own_count_;
  if (difference.empty()) {
    ++node->comparison.equal;
    node->verdict = Status();
    if (told_ == name) told_.clear();
    return;
  }
  ++node->comparison.different;
  node->comparison.difference = absl::StrCat("at LSN ", own.lsn, ": ", difference);
  node->verdict = absl::DataLossError("the state differs from the primary's " + node->comparison.difference);
}

void DigestBook::add_own(StateDigest digest) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++own_count_;
  for (auto& [name, node] : nodes_) {
    for (const StateDigest& waiting : node.waiting) {
      if (waiting.lsn == digest.lsn && waiting.term == digest.term) compare(digest, waiting, name);
    }
    std::erase_if(node.waiting, [&](const StateDigest& waiting) { return waiting.lsn <= digest.lsn; });
  }
  own_.push_back(std::move(digest));
  if (own_.size() > kOwnKept) own_.pop_front();
}

void DigestBook::add(const std::string& name, StateDigest digest, const PartitionSet& subscribed) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (nodes_.size() >= kNodesMax && !nodes_.contains(name)) return;
  Node& node = nodes_[name];
  node.subscribed = subscribed;
  for (const StateDigest& own : own_) {
    if (own.lsn != digest.lsn || own.term != digest.term) continue;
    return compare(own, digest, name);
  }
  if (!own_.empty() && own_.back().lsn > digest.lsn) return;  // this node has none of that cut any more
  node.waiting.push_back(std::move(digest));
  if (node.waiting.size() > kWaitingMax) node.waiting.pop_front();
}

Status DigestBook::verdict(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || found->second.verdict.ok()) return Status();
  if (!told_.empty() && told_ != name && nodes_[told_].round + kRoundsMax > own_count_) return Status();
  told_ = name;
  return found->second.verdict;
}

void DigestBook::forget(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  found->second.verdict = Status();
  found->second.waiting.clear();
}

std::map<std::string, DigestBook::Comparison> DigestBook::comparisons() const {
  std::map<std::string, Comparison> all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, node] : nodes_) all[name] = node.comparison;
  return all;
}

uint64_t DigestBook::own_count() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return own_count_;
}

}  // namespace scyper::replication
