#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "node_parts.h"
#include "postgres/session.h"

namespace scyper::server::postgres {

// Certificates and users into the context. Errors: a file that cannot be used, an address beyond loopback without
// either.
Status read_files(const ServerOptions& options, SessionContext* context);

// A node's port for PostgreSQL's clients: docs/postgres_protocol.md.
// Invariants: (1) at most postgres_connections_max sessions, and a bounded number of connections that have not said yet
//   who they are; (2) a session
//   that ends leaves no thread and no descriptor; (3) a client that goes away while its statement runs ends it.
// Threads: start(), begin_stop() and the destructor by the owner; one thread accepts and watches; one for each session.
class Endpoint {
 public:
  // Errors: an address, a certificate or a file of users that cannot be used.
  static StatusOr<std::unique_ptr<Endpoint>> start(NodeParts* node);
  ~Endpoint();  // ends all sessions, cancels what they run
  uint16_t port() const { return port_; }
  // No new sessions; idle ones end, others after what they run.
  void begin_stop();
  // Some session still runs a statement.
  bool is_busy();

 private:
  struct Entry {
    std::shared_ptr<Session> session;
    std::thread thread;
    std::atomic<bool> is_done{false};
    bool is_cut_off = false;  // to make room
  };

  explicit Endpoint(NodeParts* node);
  Status listen();
  Status listen_on_port();
  Status listen_on_file();
  void watch();
  void accept_all(int listener);
  bool make_room() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void add_session(int descriptor, Session::Start start);
  void end_overdue();
  void join_done();
  void cancel(int32_t process, int32_t key);
  void wake();

  NodeParts* const node_;
  SessionContext context_;
  Gauge& open_sessions_;
  int listener_ = -1;
  int local_listener_ = -1;  // of the Unix socket; -1: there is none
  std::string local_path_;   // its file
  int epoll_ = -1;
  int wake_ = -1;  // eventfd
  uint16_t port_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_closed_{false};
  absl::Mutex mutex_;
  std::map<int32_t, std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  std::thread watcher_;
};

}  // namespace scyper::server::postgres
