#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace scyper::query {

// A session of this node and what it does now: a row of pg_stat_activity. Times in microseconds since 2000; 0: none.
struct SessionActivity {
  static constexpr size_t kTextBytesMax = 16 << 10;  // as SlowQuery's: a statement that is cut cannot be shown in part
  static constexpr size_t kColumnBytesMax = 1024;    // of pg_stat_activity, as PostgreSQL's track_activity_query_size

  int32_t pid = 0;  // pg_backend_pid(); by gRPC each statement has a number of its own, below 0
  std::string user;
  uint32_t role_id = 0;  // Role::id of the user; 0: whoever has the name
  std::string application;
  std::string address;   // of the client
  std::string database;  // that it has asked for; empty: none
  int64_t begun_us = 0;
  int64_t transaction_us = 0;  // since when its transaction, or block, is open
  int64_t statement_us = 0;    // when the statement began: the one that runs, or ran last
  int64_t changed_us = 0;      // of `state`
  std::string state;           // "active", "idle", "idle in transaction", "idle in transaction (aborted)"
  std::string text;            // of that statement
  // What it waits for, as PostgreSQL names it; empty: nothing that is known.
  std::string wait_type, wait_event;
};

// A lock that a session holds or waits for: a row of pg_locks.
struct SessionLock {
  enum class Kind : uint8_t {
    kRelation,     // number: of the table
    kTransaction,  // number: of the block whose end is waited for
    kAdvisory,     // number: the key; is_pair: of two integers
  };
  Kind kind = Kind::kTransaction;
  int32_t pid = 0;  // as SessionActivity::pid; 0: none of this node's sessions
  bool is_granted = true;
  std::string mode;  // as PostgreSQL writes it
  uint64_t number = 0;
  bool is_pair = false;
  int64_t since_us = 0;             // of one that waits: since when, in microseconds since 2000; 0: not known
  std::vector<int32_t> blocked_by;  // of one that waits: the sessions in its way
};

// Whether the session waits for others that, maybe by way of more of them, wait for it.
bool waits_in_circle(const std::vector<SessionLock>& locks, int32_t pid);

// What pg_stat_activity and pg_locks show.
struct NodeActivity {
  std::vector<SessionActivity> sessions;
  std::vector<SessionLock> locks;
};

// While it lives, statements that this thread compiles find the node's sessions in pg_stat_activity; without it reading
// that is 0A000. Its rows are constants of the program, which is to run once.
class ActivityScope {
 public:
  // pid: pg_backend_pid() of whoever asks, a constant of the program, too.
  ActivityScope(const NodeActivity* activity, int32_t pid) noexcept : activity_(activity), pid_(pid) {
    current_ = this;
  }
  ~ActivityScope() { current_ = saved_; }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;
  static const ActivityScope* current() { return current_; }
  const std::vector<SessionActivity>& sessions() const { return activity_->sessions; }
  const std::vector<SessionLock>& locks() const { return activity_->locks; }
  int32_t pid() const { return pid_; }

 private:
  static inline constinit thread_local const ActivityScope* current_ = nullptr;
  const ActivityScope* const saved_ = current_;
  const NodeActivity* const activity_;
  const int32_t pid_;
};

struct Role;
class Roles;
// Whether the role sees what others' sessions do, and may end it: superusers, members of scyper_operator.
bool sees_others(const Roles& roles, const Role& role);

// Whether the text may read pg_stat_activity, pg_locks or pg_blocking_pids(); then the node that has got it answers it.
bool mentions_activity(std::string_view sql);
// Whether the text may call one of the functions that are about sessions.
bool mentions_session_function(std::string_view sql);
// A function of the system that reads or changes what belongs to sessions, and no table: signals, settings, advisory
// locks.
bool is_session_function(std::string_view name);
bool is_advisory_lock(std::string_view name);

enum class SessionSignal : uint8_t { kCancel, kTerminate };

// How pg_cancel_backend() and pg_terminate_backend() come to sessions: through the nodes of this process. Threads: any.
class SessionSignals {
 public:
  // By one session for another. False: the node does not have both. 42501.
  using Send = std::function<StatusOr<bool>(int32_t from, int32_t pid, SessionSignal signal)>;
  class Registration {
   public:
    explicit Registration(Send send);  // until it goes
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    const uint64_t number_;
  };
  static StatusOr<bool> send(int32_t from, int32_t pid, SessionSignal signal);
};

// The text without its constants, and not longer than people read.
std::string shown_text(std::string_view sql);

}  // namespace scyper::query
