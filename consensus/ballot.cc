#include "consensus/ballot.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace scyper::consensus {

bool Voters::has(const std::string& node) const { return std::find(names.begin(), names.end(), node) != names.end(); }

bool Ballot::admits(const Promise& primaryship) const {
  const bool has_old_voters = primaryship.config != 0 && primaryship.config < stored_.config;
  if (has_old_voters && flaws_.is_on(Guard::kNewestVoters)) return false;
  if (primaryship.term > stored_.term) return true;
  if (primaryship.term < stored_.term) return !flaws_.is_on(Guard::kRefuseOldTerms);
  return primaryship.node == stored_.node || !flaws_.is_on(Guard::kPromiseNamesNode);
}

void Ballot::stored(const Promise& primaryship) {
  CHECK(admits(primaryship));
  const uint64_t config = std::max(stored_.config, primaryship.config);
  if (primaryship.term >= stored_.term) stored_ = primaryship;
  stored_.config = config;
}

void Copies::note(const std::string& node, uint64_t term, uint64_t lsn) {
  if (term != term_ && flaws_.is_on(Guard::kTermInAcks)) return;
  if (!voters_.has(node) && flaws_.is_on(Guard::kVotersOnly)) return;
  uint64_t& known = lsns_[node];
  known = std::max(known, lsn);
  std::vector<uint64_t> sorted;
  for (const auto& [name, has] : lsns_) sorted.push_back(has);
  const uint32_t copies = flaws_.is_on(Guard::kWriteQuorum) ? voters_.write_copies() : 1;
  if (sorted.size() < copies) return;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const uint64_t lsn_of_enough = sorted[copies - 1];
  if (lsn_of_enough < start_lsn_ && flaws_.is_on(Guard::kOwnTermCommits)) return;
  confirmed_lsn_ = std::max(confirmed_lsn_, lsn_of_enough);
}

}  // namespace scyper::consensus
