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
  std::vector<std::string> rows;  // columns separated by '|', NULL as "NULL"; of COPY: its lines, and what it counts
  std::string context;            // of an error of COPY: "COPY t, line 2, column a: "x""
  std::vector<std::string> notices;

  bool ok() const { return sqlstate.empty(); }
};
std::string to_string(const StatementOutcome& outcome);
// Of an error's CONTEXT what both databases know: the line of a COPY, its text only where that cannot be read.
std::string copy_context(const std::string& context, const std::string& sqlstate);
// Lines of COPY's text as rows.
void append_copy_lines(const std::string& text, StatementOutcome* outcome);
bool is_copy(const std::string& sql);

// A database of its own on the oracle server, each statement its own transaction. Threads: one.
class PostgresSession {
 public:
  explicit PostgresSession(const std::string& database);
  ~PostgresSession();
  // A session anew, without settings and temporary tables of the one before.
  void reconnect();
  // data: what COPY ... FROM STDIN reads.
  StatementOutcome run(const std::string& sql, const std::string& data = "");
  // All at once, each its own transaction: one round trip.
  std::vector<StatementOutcome> run_all(const std::vector<std::string>& statements);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace scyper::query
