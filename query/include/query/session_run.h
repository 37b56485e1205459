#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "query/program.h"
#include "query/result.h"
#include "query/settings.h"

namespace scyper::query {

// A run of a statement that is about sessions: it calls pg_cancel_backend(), advisory locks, settings, or reads
// pg_stat_activity and other tables of the system, and it touches no table. Such a statement needs no worker and no
// snapshot: the thread of its session runs it. So it ends what occupies the node instead of waiting for it, and it may
// wait for an advisory lock.
// Threads: one.
class SessionRun {
 public:
  struct Options {
    int64_t time_us = 0;                             // now()
    const SettingValues* settings = nullptr;         // of the session
    std::vector<ChangedSetting>* changed = nullptr;  // gets what set_config() changes; null: it is not kept
    std::function<Status()> interruption;            // why the run has to end; asked every few milliseconds
    std::function<bool()> is_in_circle;              // while it waits: sessions wait for each other in a circle
    bool keeps_transaction_locks = false;            // until the end of the block; else they go with the statement
    size_t memory_bytes = size_t{64} << 20;          // of intermediate results
  };

  explicit SessionRun(const Options& options) : options_(options) {}
  SessionRun(const SessionRun&) = delete;
  SessionRun& operator=(const SessionRun&) = delete;

  // Whether the program may run so.
  static bool fits(const Program& program);
  // Likewise, and it takes or releases advisory locks.
  static bool takes_locks(const Program& program);

  Status run(const Program& program, std::span<const Datum> arguments, ResultSet* result);

  const SettingValues* settings() const { return options_.settings; }
  // The one on this thread; null: the statement runs elsewhere, and must not wait.
  static SessionRun* current() { return current_; }
  // Why the run, or the wait in it, has to end.
  Status interruption();
  // Runs what waits for a lock.
  Status wait(const std::function<Status()>& wait);

 private:
  Status run_program(const Program& program, std::span<const Datum> arguments, ResultSet* result);

  static inline constinit thread_local SessionRun* current_ = nullptr;
  const Options options_;
  int64_t wait_began_ns_ = 0;  // 0: it does not wait
  int64_t looked_ns_ = 0;      // for a circle
};

}  // namespace scyper::query
