#include "tests/postgres_server.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace scyper::tests {
namespace {

// The first value of the first row; an error message in its place.
std::string ask(const std::string& connection, const char* sql) {
  std::unique_ptr<PGconn, decltype(&PQfinish)> session(PQconnectdb(connection.c_str()), &PQfinish);
  if (PQstatus(session.get()) != CONNECTION_OK) return PQerrorMessage(session.get());
  std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(session.get(), sql), &PQclear);
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return "done";
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return PQresultErrorMessage(result.get());
  return PQgetvalue(result.get(), 0, 0);
}

TEST(PostgresServer, IsVersion15WithOurSettings) {
  PostgresServer server;
  EXPECT_EQ(ask(server.connection(), "SHOW server_version").substr(0, 3), "15.");
  EXPECT_EQ(ask(server.connection(), "SHOW lc_collate"), "C");
  EXPECT_EQ(ask(server.connection(), "SHOW server_encoding"), "UTF8");
  EXPECT_EQ(ask(server.connection_to("template1"), "SELECT current_database()"), "template1");
}

TEST(PostgresServer, StopsWithItsObject) {
  unsetenv("SCYPER_TEST_POSTGRES");
  std::string connection;
  {
    PostgresServer server;
    connection = server.connection();
    EXPECT_EQ(ask(connection, "SELECT 40 + 2"), "42");
  }
  EXPECT_NE(ask(connection, "SELECT 1"), "1");
}

}  // namespace
}  // namespace scyper::tests
