#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace scyper::query {

// Advisory locks that sessions hold. Nobody waits for one: what would hold up everything else fails instead.
// Threads: any.
class AdvisoryLocks {
 public:
  struct Key {
    bool is_pair = false;  // of two integers: others than those of one bigint
    int64_t value = 0;
    auto operator<=>(const Key&) const = default;
  };
  enum class Taken : uint8_t { kYes, kHeld, kTooMany };

  // kHeld: by another session. A session takes one as often as it likes.
  Taken take(const Key& key, const std::string& session, bool is_shared);
  // Whether a transaction may have it, which releases it when it ends. session: its own, "" = none.
  bool is_free(const Key& key, const std::string& session, bool is_shared) const;
  bool release(const Key& key, const std::string& session, bool is_shared);  // false: it does not hold it so
  void release_all(const std::string& session);

 private:
  static constexpr size_t kLocksMax = 100'000;
  struct Counts {
    uint32_t exclusive = 0, shared = 0;
  };
  bool is_free_locked(const Key& key, const std::string& session, bool is_shared) const;

  mutable std::mutex mutex_;
  std::map<Key, std::map<std::string, Counts>> holders_;  // by lock, by session
};

}  // namespace scyper::query
