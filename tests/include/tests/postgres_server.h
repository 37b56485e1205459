#pragma once

#include <string>

namespace scyper::tests {

// A PostgreSQL 15 to compare with: the server that SCYPER_TEST_POSTGRES names (a libpq connection string; ctest sets it
// for tests with POSTGRES), else a throwaway one of this object's own, which stops with it. Needs no libpq itself. A
// server that cannot be started ends the process (CHECK): tests have nothing to go on with. Threads: none.
class PostgresServer {
 public:
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // For PQconnectdb: the database `postgres`. Tests that make tables make a database of their own first.
  const std::string& connection() const { return connection_; }
  // The same server, another database, which must exist.
  std::string connection_to(const std::string& database) const;

 private:
  std::string directory_;  // empty: not our server
  std::string connection_;
};

}  // namespace scyper::tests
