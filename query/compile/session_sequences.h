#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/strong.h"

namespace scyper::query {

// What each session has drawn from sequences, for currval() and lastval(). As in PostgreSQL a rollback takes nothing of
// it back. Sessions are known by the schema of their temporary tables. Threads: any.
class SessionSequences {
 public:
  // is_last: lastval() is about it.
  void note(const std::string& session, SequenceId sequence, int64_t value, bool is_last) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Drawn& drawn = sessions_[session];
    drawn.values[sequence] = value;
    if (is_last) drawn.last = sequence;
  }

  std::optional<int64_t> value(const std::string& session, SequenceId sequence) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return std::nullopt;
    const auto value = found->second.values.find(sequence);
    return value == found->second.values.end() ? std::nullopt : std::optional(value->second);
  }

  std::optional<SequenceId> last(const std::string& session) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sessions_.find(session);
    return found == sessions_.end() ? std::nullopt : found->second.last;
  }

  void forget(const std::string& session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sessions_.erase(session);
  }

 private:
  struct Drawn {
    std::map<SequenceId, int64_t> values;
    std::optional<SequenceId> last;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Drawn> sessions_;
};

}  // namespace scyper::query
