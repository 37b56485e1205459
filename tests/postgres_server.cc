#include "tests/postgres_server.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/check.h"

namespace scyper::tests {

namespace {
// The directory's name has no character that a shell or libpq would take for its own: mkdtemp below makes it.
int run_script(const char* command, const std::string& directory) {
  return std::system((std::string("'" SCYPER_POSTGRES_SCRIPT "' ") + command + " " + directory).c_str());
}
}  // namespace

PostgresServer::PostgresServer() {
  const char* given = std::getenv("SCYPER_TEST_POSTGRES");
  if (given != nullptr && *given != '\0') {
    connection_ = given;
    return;
  }
  char directory[] = "/tmp/scyper-postgres-XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  directory_ = directory;
  CHECK(run_script("start", directory_) == 0);
  connection_ = "host=" + directory_ + " user=postgres dbname=postgres";
}

PostgresServer::~PostgresServer() {
  if (directory_.empty()) return;
  if (run_script("stop", directory_) != 0) std::cerr << "PostgreSQL in " << directory_ << " did not stop\n";
}

// libpq takes the last of two values for one key.
std::string PostgresServer::connection_to(const std::string& database) const {
  return connection_ + " dbname=" + database;
}

}  // namespace scyper::tests
