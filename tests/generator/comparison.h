#pragma once

#include <map>
#include <optional>
#include <string>

#include "generator/script.h"
#include "testing/outcome.h"

namespace scyper::generator {

// The first statement of a script whose outcome is not the one on PostgreSQL.
struct Difference {
  size_t statement = 0;
  std::string postgres, interpreted, compiled;
};

// What ran.
struct Counts {
  int statements = 0;
  int errors = 0;                      // alike on both sides
  int either_error = 0;                // errors of different rows
  std::map<std::string, int> refused;  // 0A000 of ours, not run on PostgreSQL
};

// Runs scripts on PostgreSQL 15 and on ScyPer in both modes. Threads: one.
class Comparison {
 public:
  Comparison() : postgres_("scyper_generator") {}

  std::optional<Difference> run(const Script& script, Counts* counts = nullptr);
  // The smallest script found, by leaving out statements and then their parts, that still differs.
  Script shrink(Script script);

 private:
  void clear();
  bool differs(const Script& script);
  bool drop_statements(Script* script);
  bool simplify_statements(Script* script);

  query::PostgresSession postgres_;
  int tries_ = 0;
  std::string wanted_;  // of the difference that is being shrunk: who fails how
};

}  // namespace scyper::generator
