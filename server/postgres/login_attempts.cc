#include "postgres/login_attempts.h"

#include <algorithm>

namespace scyper::server::postgres {

Status LoginAttempts::check(const std::string& user, const std::string& address, int64_t now_ns) {
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find({user, address});
  if (found == entries_.end() || now_ns >= found->second.next_ns) return {};
  const int64_t left_s = (found->second.next_ns - now_ns + kWaitNs - 1) / kWaitNs;
  return with_hint(sql_error("28000", "too many wrong passwords for user \"" + user + "\""),
                   "Try again in " + std::to_string(left_s) + " s.");
}

Status LoginAttempts::judge(const std::string& user, const std::string& address, int64_t now_ns,
                            const std::function<Status()>& proves) {
  absl::MutexLock lock(&judging_);
  SCYPER_RETURN_IF_ERROR(check(user, address, now_ns));
  Status status = proves();
  if (sqlstate_of(status) == "28P01") note_failure(user, address, now_ns);
  if (status.ok()) note_success(user, address);
  return status;
}

void LoginAttempts::note_failure(const std::string& user, const std::string& address, int64_t now_ns) {
  absl::MutexLock lock(&mutex_);
  const Key key{user, address};
  auto [found, is_new] = entries_.try_emplace(key);
  Entry& entry = found->second;
  if (!is_new) ages_.erase(entry.age);
  entry.age = ages_.insert(ages_.end(), key);
  ++entry.failures;
  if (entry.failures >= kFreeFailures) {
    const int doublings = std::min(entry.failures - kFreeFailures, 6);
    entry.next_ns = now_ns + std::min(kWaitNs << doublings, kWaitMaxNs);
  }
  if (entries_.size() <= kEntriesMax) return;
  entries_.erase(ages_.front());
  ages_.pop_front();
}

void LoginAttempts::note_success(const std::string& user, const std::string& address) {
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find({user, address});
  if (found == entries_.end()) return;
  ages_.erase(found->second.age);
  entries_.erase(found);
}

}  // namespace scyper::server::postgres
