#pragma once

#include <map>
#include <string>
#include <vector>

#include "sqllogictest/records.h"
#include "testing/postgres_session.h"
#include "testing/session.h"

// Runs records on a session and compares what they give.
namespace scyper::tests {

struct Mismatch {
  int line = 0;
  std::string sql;
  std::string what;    // one line: groups failures
  std::string detail;  // expected and found
};

struct Outcomes {
  int statements = 0;
  int queries = 0;
  int as_postgres = 0;  // not as recorded, but PostgreSQL does the same
  std::vector<Mismatch> mismatches;
};

// A run of one file. Threads: one.
class Player {
 public:
  // every: of the queries only each n-th is run; statements always are. judge (may be null, else empty): is asked where
  // a result is not the recorded one, and gets all statements before that: what PostgreSQL does is right too.
  Player(query::Session* session, int every, query::PostgresSession* judge)
      : session_(session), every_(every), judge_(judge) {}
  Outcomes run(const std::vector<Record>& records);

 private:
  void run_statement(const Record& record, Outcomes* outcomes);
  void run_query(const Record& record, Outcomes* outcomes);

  Status run_here(const std::string& sql, query::ResultSet* result);
  void wrong(const Record& record, std::string what, std::string detail, Outcomes* outcomes);

  query::Session* session_;
  const int every_;
  query::PostgresSession* judge_;
  std::vector<std::string> statements_;  // that the judge has not seen
  query::StatementOutcome verdict_;      // its last one
  std::string ours_;                     // our SQLSTATE for it, empty: it succeeded
  std::vector<std::string> rows_;        // and our rows, sorted
  int seen_ = 0;
  std::map<std::string, std::string> labels_;  // hash of the result
};

// Values as sqllogictest writes them, in the order of `sort`.
std::vector<std::string> shown_values(const query::ResultSet& result, const std::string& types, SortMode sort);
// "N values hashing to H"
std::string hash_of(const std::vector<std::string>& values);

}  // namespace scyper::tests
