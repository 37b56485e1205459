#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/script.h"
#include "testing/isolated_session.h"
#include "testing/outcome.h"

namespace scyper::generator {

// The first statement of a script whose outcome is not the one on PostgreSQL.
struct Difference {
  size_t statement = 0;
  std::string postgres, interpreted, compiled;
  std::string crash;  // what the process wrote that ended
};

// Who fails how; of a crash, the line that tells where. A smaller script with another one has another difference.
std::string kind_of(const Difference& difference);

// What ran.
struct Counts {
  int statements = 0;
  int errors = 0;                      // alike on both sides
  int either_error = 0;                // errors of different rows
  std::map<std::string, int> refused;  // 0A000 and 53200 of ours, not run on PostgreSQL
};

// Runs scripts on PostgreSQL 15 and on ScyPer in both modes, each in a process of its own: a statement that ends or
// blocks that process is a difference like others. Threads: one.
class Comparison {
 public:
  Comparison();

  // Without: interpreted only.
  void set_compiled(bool is_compiled) { is_compiled_ = is_compiled; }
  std::optional<Difference> run(const Script& script, Counts* counts = nullptr);
  // All differences of queries, up to the first one of a change.
  std::vector<Difference> run_all(const Script& script, Counts* counts);
  // The smallest script found, by leaving out statements and then their parts, that still differs; `found`: how it
  // does.
  Script shrink(Script script, const Difference& found);

 private:
  void clear();
  void restore(query::IsolatedSession* session, const Script& script, size_t count);
  std::optional<Difference> compare(const Script& script, size_t statement, bool* lacks_table, Counts* counts);
  bool differs(const Script& script);
  bool differs_at_end(const Script& script);
  bool drop_statements(Script* script);
  bool simplify_statement(Script* script, size_t statement);

  query::PostgresSession postgres_;
  query::IsolatedSession interpreted_, compiled_;
  bool is_compiled_ = true;
  int tries_ = 0;
  std::string wanted_;  // of the difference that is being shrunk: who fails how
};

}  // namespace scyper::generator
