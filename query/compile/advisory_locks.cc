#include "query/advisory_locks.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "base/clock.h"
#include "base/postgres_epoch.h"
#include "query/settings.h"

namespace scyper::query {

namespace {

constexpr auto kLook = std::chrono::milliseconds(5);  // between two looks at whether a wait has to end

Status too_many_locks() { return sql_error("53200", "too many advisory locks"); }

Status deadlock() {
  return with_hint(sql_error("40P01", "deadlock detected"),
                   "Sessions wait for each other's advisory locks. Take them in the same order everywhere.");
}

}  // namespace

// The sessions that hold the lock so that the request has to wait, and those that have asked for it before. Who holds
// a lock already does not stand behind those who wait for it.
std::vector<std::string> AdvisoryLocks::in_the_way(const Request& request,
                                                   std::list<Waiter>::const_iterator before) const {
  std::vector<std::string> sessions;
  bool holds_some = false;
  if (const auto holders = holders_.find(request.key); holders != holders_.end()) {
    for (const auto& [session, counts] : holders->second) {
      if (session == request.session) {
        holds_some = true;
      } else if (!request.is_shared || counts.all_exclusive() > 0) {
        sessions.push_back(session);
      }
    }
  }
  if (holds_some) return sessions;
  for (auto waiter = waiters_.begin(); waiter != before; ++waiter) {
    const Request& other = waiter->request;
    const bool conflicts = other.key == request.key && !(other.is_shared && request.is_shared);
    if (conflicts && other.session != request.session) sessions.push_back(other.session);
  }
  return sessions;
}

AdvisoryLocks::Taken AdvisoryLocks::take_before(const Request& request, std::list<Waiter>::const_iterator before) {
  if (!in_the_way(request, before).empty()) return Taken::kHeld;
  if (holders_.size() >= kLocksMax && !holders_.contains(request.key)) return Taken::kTooMany;
  ++holders_[request.key][request.session].of(request.is_shared, request.is_of_transaction);
  if (request.is_of_transaction) transactions_[request.session].emplace_back(request.key, request.is_shared);
  return Taken::kYes;
}

AdvisoryLocks::Taken AdvisoryLocks::take(const Request& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return take_before(request, waiters_.end());
}

// A circle comes into being only when a session begins to wait: one that gets its lock waits for nobody.
bool AdvisoryLocks::closes_circle(std::list<Waiter>::const_iterator waiter) const {
  const std::string& own = waiter->request.session;
  std::set<std::string> seen;
  std::vector<std::string> open = in_the_way(waiter->request, waiter);
  while (!open.empty()) {
    const std::string session = open.back();
    open.pop_back();
    if (session == own) return true;
    if (!seen.insert(session).second) continue;
    for (auto other = waiters_.begin(); other != waiters_.end(); ++other) {
      if (other->request.session != session) continue;
      for (std::string& next : in_the_way(other->request, other)) open.push_back(std::move(next));
    }
  }
  return false;
}

Status AdvisoryLocks::wait(const Request& request, const std::function<Status()>& interruption) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto own = waiters_.insert(waiters_.end(), Waiter{request, RealClock().now_us() - kPostgresEpochUs});
  Status status = closes_circle(own) ? deadlock() : Status();
  while (status.ok()) {
    const Taken taken = take_before(request, own);
    if (taken == Taken::kTooMany) status = too_many_locks();
    if (taken != Taken::kHeld) break;
    released_.wait_for(lock, kLook);
    lock.unlock();  // it may ask for locks()
    status = interruption();
    lock.lock();
  }
  waiters_.erase(own);
  released_.notify_all();  // who stood behind it
  return status;
}

void AdvisoryLocks::give_back(const Key& key, const std::string& session, bool is_shared, bool is_of_transaction) {
  const auto holders = holders_.find(key);
  if (holders == holders_.end()) return;
  const auto own = holders->second.find(session);
  if (own == holders->second.end()) return;
  --own->second.of(is_shared, is_of_transaction);
  if (own->second.all() == 0) holders->second.erase(own);
  if (holders->second.empty()) holders_.erase(holders);
}

bool AdvisoryLocks::release(const Key& key, const std::string& session, bool is_shared) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto holders = holders_.find(key);
  if (holders == holders_.end()) return false;
  const auto own = holders->second.find(session);
  if (own == holders->second.end() || own->second.of(is_shared, /*is_of_transaction=*/false) == 0) return false;
  give_back(key, session, is_shared, /*is_of_transaction=*/false);
  released_.notify_all();
  return true;
}

void AdvisoryLocks::release_all(const std::string& session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto holders = holders_.begin(); holders != holders_.end();) {
    if (const auto own = holders->second.find(session); own != holders->second.end()) {
      own->second.exclusive = own->second.shared = 0;
      if (own->second.all() == 0) holders->second.erase(own);
    }
    holders = holders->second.empty() ? holders_.erase(holders) : std::next(holders);
  }
  missed_.erase(session);
  released_.notify_all();
}

void AdvisoryLocks::release_of_transaction(const std::string& session, size_t kept) {
  const std::lock_guard<std::mutex> lock(mutex_);
  shrink(session, kept);
}

void AdvisoryLocks::release_newest(const std::string& session, size_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto taken = transactions_.find(session);
  if (taken != transactions_.end()) shrink(session, taken->second.size() - std::min(taken->second.size(), count));
}

void AdvisoryLocks::shrink(const std::string& session, size_t kept) {
  const auto taken = transactions_.find(session);
  if (taken == transactions_.end()) return;
  for (; taken->second.size() > kept; taken->second.pop_back())
    give_back(taken->second.back().first, session, taken->second.back().second, /*is_of_transaction=*/true);
  if (taken->second.empty()) transactions_.erase(taken);
  released_.notify_all();
}

size_t AdvisoryLocks::mark(const std::string& session) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto taken = transactions_.find(session);
  return taken == transactions_.end() ? 0 : taken->second.size();
}

void AdvisoryLocks::note_missed(const Request& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!request.session.empty()) missed_.insert_or_assign(request.session, request);
}

std::optional<AdvisoryLocks::Request> AdvisoryLocks::take_missed(const std::string& session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto missed = missed_.extract(session);
  return missed.empty() ? std::nullopt : std::optional<Request>(std::move(missed.mapped()));
}

std::vector<SessionLock> AdvisoryLocks::locks() const {
  std::vector<SessionLock> all;
  const auto add = [&all](const Key& key, const std::string& session, bool is_shared) -> SessionLock& {
    SessionLock& lock = all.emplace_back();
    lock.kind = SessionLock::Kind::kAdvisory;
    lock.pid = number_of_temporary_schema(session);
    lock.mode = is_shared ? "ShareLock" : "ExclusiveLock";
    lock.is_pair = key.is_pair;
    lock.number = static_cast<uint64_t>(key.value);
    return lock;
  };
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, holders] : holders_) {
    for (const auto& [session, counts] : holders) {
      if (counts.all_exclusive() > 0) add(key, session, /*is_shared=*/false);
      if (counts.all() > counts.all_exclusive()) add(key, session, /*is_shared=*/true);
    }
  }
  for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) {
    const Request& request = waiter->request;
    SessionLock& waits = add(request.key, request.session, request.is_shared);
    waits.is_granted = false;
    waits.since_us = waiter->since_us;
    for (const std::string& session : in_the_way(request, waiter))
      waits.blocked_by.push_back(number_of_temporary_schema(session));
  }
  return all;
}

}  // namespace scyper::query
