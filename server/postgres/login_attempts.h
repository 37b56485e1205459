#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"

namespace scyper::server::postgres {

// Wrong passwords by name and address: after some of them the next attempt has to wait, twice as long each time.
// Whoever comes too early is refused at once: nothing waits here. Names that nobody has count as others. Connections in
// parallel get no more guesses than one after the other: judge() looks at one proof at a time. Bounds: kWaitMaxNs;
// kEntriesMax pairs, the oldest is forgotten. Threads: any.
class LoginAttempts {
 public:
  static constexpr int kFreeFailures = 3;
  static constexpr int64_t kWaitNs = 1'000'000'000, kWaitMaxNs = 60'000'000'000;
  static constexpr size_t kEntriesMax = 4096;

  // 28000: too early.
  Status check(const std::string& user, const std::string& address, int64_t now_ns);
  // check(), then the proof, then what it means for the next one: nobody else's proof is looked at meanwhile. `proves`
  // takes microseconds; 28P01 is a wrong password.
  Status judge(const std::string& user, const std::string& address, int64_t now_ns,
               const std::function<Status()>& proves);
  void note_failure(const std::string& user, const std::string& address, int64_t now_ns);
  void note_success(const std::string& user, const std::string& address);

 private:
  using Key = std::pair<std::string, std::string>;
  struct Entry {
    int failures = 0;
    int64_t next_ns = 0;  // no attempt before
    std::list<Key>::iterator age;
  };
  absl::Mutex judging_;
  absl::Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::list<Key> ages_ ABSL_GUARDED_BY(mutex_);  // of the last failures, oldest first
};

}  // namespace scyper::server::postgres
