#include "replication/members.h"

#include <algorithm>

namespace scyper::replication {

namespace {
bool is_named(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
}  // namespace

// Where voters are named, what one says of itself is of when it began to follow.
uint64_t Members::enter(const Member& member) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(members_, [&](const auto& entry) { return entry.second.name == member.name; });
    number = ++last_;
    members_[number] = member;
    members_[number].number = number;
    if (!voters_.empty()) members_[number].is_voter = is_named(voters_, member.name);
    // some of the partitions are no copy of what is to be confirmed
    if (!member.partitions.is_all()) members_[number].is_voter = false;
  }
  on_change_();
  return number;
}

void Members::leave(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  members_.erase(number);
}

void Members::report(uint64_t number, const Position& position, int64_t now_ns) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = members_.find(number);
    if (found == members_.end()) return;
    found->second.position = position;
    found->second.seen_ns = now_ns;
  }
  on_change_();
}

uint64_t Members::confirmed_lsn(uint32_t copies, bool is_durable) const {
  if (copies == 0) return ~uint64_t{0};
  std::vector<uint64_t> lsns;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [number, member] : members_) {
    // what it received in another term may not be what this one has sent
    if (!member.is_voter || member.position.term != term_) continue;
    lsns.push_back(is_durable ? member.position.durable_lsn : member.position.received_lsn);
  }
  if (lsns.size() < copies) return 0;
  std::nth_element(lsns.begin(), lsns.begin() + (copies - 1), lsns.end(), std::greater<>());
  return lsns[copies - 1];
}

uint64_t Members::applied_lsn_min() const {
  uint64_t least = ~uint64_t{0};
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [number, member] : members_) least = std::min(least, member.position.applied_lsn);
  return least;
}

std::vector<Member> Members::list() const {
  std::vector<Member> all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [number, member] : members_) all.push_back(member);
  return all;
}

std::optional<Member> Members::choose(const std::string& asking, const PartitionSet& reads, int64_t now_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  Member* best = nullptr;
  std::pair<uint64_t, uint64_t> least;  // to do, turn
  for (auto& [number, member] : members_) {
    const Position& position = member.position;
    if (!position.serves || !position.has_room || position.term != term_ || now_ns - member.seen_ns > kSilenceNs)
      continue;
    if (!member.partitions.covers(reads)) continue;
    const uint64_t load = member.name == asking ? 0 : uint64_t{1} + member.tickets + position.queries;
    if (best != nullptr && least <= std::pair(load, member.turn)) continue;
    best = &member;
    least = {load, member.turn};
  }
  if (best == nullptr) return std::nullopt;
  best->turn = ++choices_;
  return *best;
}

void Members::add_ticket(uint64_t number, int change) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = members_.find(number);
  if (found != members_.end()) found->second.tickets += static_cast<uint32_t>(change);
}

}  // namespace scyper::replication
