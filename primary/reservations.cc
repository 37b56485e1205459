#include "reservations.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace scyper::primary {

using storage::RowClaim;

namespace {
constexpr uint32_t kSetsPerPartition = 4;  // workers seldom meet in one

size_t hash_of(std::string_view name) { return absl::HashOf(absl::string_view(name.data(), name.size())); }
}  // namespace

void Reservations::begin(uint32_t partitions) {
  for (uint32_t i = 0; i < partitions * kSetsPerPartition; ++i) sets_.push_back(std::make_unique<Set>());
}

void Reservations::count(std::string_view name, size_t hash, int32_t change) {
  count_.fetch_add(static_cast<uint64_t>(int64_t{change}), kRelaxed);
  names_[hash % kNameSlots].fetch_add(static_cast<uint32_t>(change), kRelaxed);
  tables_[slot_of(storage::table_of(name).value())].fetch_add(static_cast<uint32_t>(change), kRelaxed);
}

template <class Excludes>
BlockId Reservations::find(std::string_view name, BlockId own, const Excludes& excludes) const {
  const size_t hash = hash_of(name);
  if (names_[hash % kNameSlots].load(kRelaxed) == 0) return 0;
  const Set& set = *sets_[hash % sets_.size()];
  MutexLock lock(&set.mutex);
  const auto found = set.names.find(absl::string_view(name.data(), name.size()));
  if (found == set.names.end()) return 0;
  for (const auto& [holder, held] : found->second) {
    if (holder != own && excludes(held)) return holder;
  }
  return 0;
}

BlockId Reservations::find_holder(const RowClaim& claim, BlockId own) const {
  return find(claim.name, own, [&](const Lock& held) { return storage::excludes(held.lock, claim.lock); });
}

BlockId Reservations::find_changer(std::string_view name, BlockId own) const {
  return find(name, own, [](const Lock& held) { return held.changes; });
}

BlockId Reservations::find_in_table(TableId table, bool is_for_changes, BlockId own) const {
  if (!may_hold(table)) return 0;
  for (const auto& set : sets_) {
    MutexLock lock(&set->mutex);
    for (const auto& [name, holders] : set->names) {
      if (storage::table_of(name) != table) continue;
      for (const auto& [holder, held] : holders)
        if (holder != own && (held.changes || !is_for_changes)) return holder;
    }
  }
  return 0;
}

void Reservations::add(const RowClaim& claim, BlockId own, std::vector<Held>* held) {
  const size_t hash = hash_of(claim.name);
  const auto number = static_cast<uint32_t>(hash % sets_.size());
  Set& set = *sets_[number];
  MutexLock lock(&set.mutex);
  Holders& holders = set.names[std::string(claim.name)];
  const auto mine = std::find_if(holders.begin(), holders.end(), [own](const auto& each) { return each.first == own; });
  std::optional<Lock> before;
  if (mine == holders.end()) {
    holders.emplace_back(own, Lock{claim.lock, claim.changes});
  } else {
    Lock& held_now = mine->second;
    if (held_now.lock >= claim.lock && (held_now.changes || !claim.changes)) return;
    const Lock stronger{std::max(held_now.lock, claim.lock), held_now.changes || claim.changes};
    before = std::exchange(held_now, stronger);
  }
  held->push_back({number, std::string(claim.name), before});
  count(claim.name, hash, 1);
}

void Reservations::release(BlockId own, size_t kept, std::vector<Held>* held) {
  while (held->size() > kept) {
    const Held& last = held->back();
    Set& set = *sets_[last.set];
    MutexLock lock(&set.mutex);
    const auto found = set.names.find(last.name);
    Holders& holders = found->second;
    const auto mine =
        std::find_if(holders.begin(), holders.end(), [own](const auto& each) { return each.first == own; });
    if (last.before.has_value()) {
      mine->second = *last.before;
    } else {
      holders.erase(mine);
    }
    if (holders.empty()) set.names.erase(found);
    count(last.name, hash_of(last.name), -1);
    held->pop_back();
  }
}

}  // namespace scyper::primary
