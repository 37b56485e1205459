#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/session_activity.h"

namespace scyper::query {

// The advisory locks of a node: who holds them, who waits for them. Sessions are named by their temporary schemas. ""
// is a transaction without a session.
// A request stands behind all earlier ones that it conflicts with, as in PostgreSQL. Only threads of sessions wait: a
// statement on a worker that finds a lock held fails.
// Threads: any.
class AdvisoryLocks {
 public:
  struct Key {
    bool is_pair = false;  // of two integers: others than those of one bigint
    int64_t value = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Request {
    Key key;
    std::string session;
    bool is_shared = false;
    bool is_of_transaction = false;  // held until the end of the transaction
  };
  enum class Taken : uint8_t { kYes, kHeld, kTooMany };

  // kHeld: another session holds it, or waits for it already. A session takes one as often as it likes.
  Taken take(const Request& request);
  // Waits until it has the lock. interruption: asked every few milliseconds; its error ends the wait. 40P01: sessions
  // wait for each other in a circle. 53200: too many locks.
  Status wait(const Request& request, const std::function<Status()>& interruption);
  // One that the session holds for itself. False: it does not hold it so.
  bool release(const Key& key, const std::string& session, bool is_shared);
  // Those that the session holds for itself.
  void release_all(const std::string& session);
  // Those of its transaction, but for the first `kept` of them: savepoints are marks().
  void release_of_transaction(const std::string& session, size_t kept = 0);
  void release_newest(const std::string& session, size_t count);  // of its transaction
  size_t mark(const std::string& session) const;
  // The request that a statement on a worker has failed with: its session's thread may wait for the lock.
  void note_missed(const Request& request);
  std::optional<Request> take_missed(const std::string& session);

  std::vector<SessionLock> locks() const;

 private:
  static constexpr size_t kLocksMax = 100'000;
  struct Counts {
    uint32_t exclusive = 0, shared = 0;                          // for the session itself
    uint32_t transaction_exclusive = 0, transaction_shared = 0;  // for its transaction
    uint32_t all_exclusive() const { return exclusive + transaction_exclusive; }
    uint32_t all() const { return exclusive + shared + transaction_exclusive + transaction_shared; }
    uint32_t& of(bool is_shared, bool is_of_transaction) {
      if (is_of_transaction) return is_shared ? transaction_shared : transaction_exclusive;
      return is_shared ? shared : exclusive;
    }
  };
  struct Waiter {
    Request request;
    int64_t since_us = 0;
  };
  using Holders = std::map<std::string, Counts>;

  // All under mutex_. before: the waiters that came earlier.
  std::vector<std::string> in_the_way(const Request& request, std::list<Waiter>::const_iterator before) const;
  Taken take_before(const Request& request, std::list<Waiter>::const_iterator before);
  bool closes_circle(std::list<Waiter>::const_iterator waiter) const;
  void shrink(const std::string& session, size_t kept);
  void give_back(const Key& key, const std::string& session, bool is_shared, bool is_of_transaction);

  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::map<Key, Holders> holders_;                                         // by lock, by session
  std::map<std::string, std::vector<std::pair<Key, bool>>> transactions_;  // what each has taken, in order; is_shared
  std::list<Waiter> waiters_;                                              // the oldest first
  std::map<std::string, Request> missed_;                                  // by session
};

}  // namespace scyper::query
