#include "compile/advisory_locks.h"

#include <algorithm>
#include <iterator>

namespace scyper::query {

bool AdvisoryLocks::is_free_locked(const Key& key, const std::string& session, bool is_shared) const {
  const auto holders = holders_.find(key);
  if (holders == holders_.end()) return true;
  return std::all_of(holders->second.begin(), holders->second.end(), [&](const auto& holder) {
    return holder.first == session || (is_shared && holder.second.exclusive == 0);
  });
}

AdvisoryLocks::Taken AdvisoryLocks::take(const Key& key, const std::string& session, bool is_shared) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_free_locked(key, session, is_shared)) return Taken::kHeld;
  if (holders_.size() >= kLocksMax && !holders_.contains(key)) return Taken::kTooMany;
  Counts& counts = holders_[key][session];
  ++(is_shared ? counts.shared : counts.exclusive);
  return Taken::kYes;
}

bool AdvisoryLocks::is_free(const Key& key, const std::string& session, bool is_shared) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_free_locked(key, session, is_shared);
}

bool AdvisoryLocks::release(const Key& key, const std::string& session, bool is_shared) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto holders = holders_.find(key);
  if (holders == holders_.end()) return false;
  const auto own = holders->second.find(session);
  if (own == holders->second.end()) return false;
  uint32_t& count = is_shared ? own->second.shared : own->second.exclusive;
  if (count == 0) return false;
  if (--count; own->second.shared + own->second.exclusive == 0) holders->second.erase(own);
  if (holders->second.empty()) holders_.erase(holders);
  return true;
}

void AdvisoryLocks::release_all(const std::string& session) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto holders = holders_.begin(); holders != holders_.end();) {
    holders->second.erase(session);
    holders = holders->second.empty() ? holders_.erase(holders) : std::next(holders);
  }
}

}  // namespace scyper::query
