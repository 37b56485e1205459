#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "query/session_activity.h"

namespace scyper::query {
struct Catalog;
}

namespace scyper::server {

// The sessions of a node and what they do now, as pg_stat_activity and Status show them: those of PostgreSQL's
// protocol, and of gRPC what Execute runs. Calls on streams are over too soon to be told. Threads: any.
class ActivityList {
 public:
  using Signal = query::SessionSignal;
  // What pg_cancel_backend() and pg_terminate_backend() do to a session. Must not wait.
  using Handler = std::function<void(Signal)>;

  // catalog: the node's, as it is when it is asked for; null while there is none.
  using CurrentCatalog = std::function<std::shared_ptr<const query::Catalog>()>;
  explicit ActivityList(CurrentCatalog catalog);
  ~ActivityList();
  ActivityList(const ActivityList&) = delete;
  ActivityList& operator=(const ActivityList&) = delete;

  // A session, while it lives.
  class Session {
   public:
    Session(ActivityList* list, query::SessionActivity first, Handler handler);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    // A statement begins.
    void begin(std::string_view sql);
    // It has ended, and the session is in this state; in_block: its transaction goes on.
    void end(std::string_view state, bool in_block);
    void set_application(const std::string& name);

   private:
    friend class ActivityList;
    ActivityList* const list_;
    const Handler handler_;
    mutable absl::Mutex mutex_;
    query::SessionActivity now_ ABSL_GUARDED_BY(mutex_);
  };

  // Of a session of PostgreSQL's protocol, or of Transactions.Interact: from 2 on, unique in this process as long as
  // there are not so many.
  static int32_t new_number();
  // Of a statement by gRPC: below 0.
  static int32_t new_statement_number();
  static int64_t now_us();  // as in SessionActivity
  // By number.
  std::vector<query::SessionActivity> sessions() const;
  // The same with what they wait for. locks: Engine::session_locks().
  query::NodeActivity now(std::vector<query::SessionLock> locks) const;

 private:
  StatusOr<bool> send(int32_t from, int32_t pid, Signal signal);
  Status check_signal(const query::SessionActivity& asked, Signal signal) const;

  const CurrentCatalog catalog_;
  mutable absl::Mutex mutex_;  // before those of sessions
  std::map<int32_t, Session*> sessions_ ABSL_GUARDED_BY(mutex_);
  query::SessionSignals::Registration registration_;
};

}  // namespace scyper::server
