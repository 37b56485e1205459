#pragma once

#include <sys/types.h>

#include <string>

#include "query/database.h"
#include "testing/postgres_session.h"

namespace scyper::query {

// A Session in a process of its own: a statement that ends the process, or never ends, is an outcome like others. Its
// SQLSTATE is "CRASH" or "HANGS", its message what that process wrote to stderr. Threads: one; make it before others
// start threads.
class IsolatedSession {
 public:
  explicit IsolatedSession(const DatabaseOptions& options) : options_(options) {}
  ~IsolatedSession();
  IsolatedSession(const IsolatedSession&) = delete;
  IsolatedSession& operator=(const IsolatedSession&) = delete;

  // An empty database.
  void clear();
  // After a crash: 57P01 until clear().
  StatementOutcome run(const std::string& sql);
  // The same in two steps, to run something else meanwhile.
  void begin(const std::string& sql);
  StatementOutcome finish();
  bool is_running() const { return child_ > 0; }
  pid_t process() const { return child_; }

  static bool is_crash(const StatementOutcome& outcome) {
    return outcome.sqlstate == "CRASH" || outcome.sqlstate == "HANGS";
  }

 private:
  void start();
  void end();
  StatementOutcome ended(const char* how);

  const DatabaseOptions options_;
  pid_t child_ = 0;
  int to_ = -1, from_ = -1, stderr_ = -1;
  bool is_sent_ = false;
};

}  // namespace scyper::query
