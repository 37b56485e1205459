#pragma once

#include <memory>
#include <string>
#include <vector>

namespace scyper::query {

// What a statement did, as text that two databases can be compared by.
struct StatementOutcome {
  std::string sqlstate;  // empty: it succeeded
  std::string message;
  int position = 0;
  std::vector<std::string> names;
  std::vector<std::string> rows;  // columns separated by '|', NULL as "NULL"
  std::vector<std::string> notices;

  bool ok() const { return sqlstate.empty(); }
};
std::string to_string(const StatementOutcome& outcome);

// A database of its own on the oracle server, each statement its own transaction. Threads: one.
class PostgresSession {
 public:
  explicit PostgresSession(const std::string& database);
  ~PostgresSession();
  StatementOutcome run(const std::string& sql);
  // All at once, each its own transaction: one round trip.
  std::vector<StatementOutcome> run_all(const std::vector<std::string>& statements);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace scyper::query
