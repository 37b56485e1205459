#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "base/check.h"
#include "testing/session.h"

namespace scyper::query {

namespace {

std::unique_ptr<Session> make_session() {
  DatabaseOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{64} << 20;
  options.execution = ExecutionMode::kInterpreted;
  auto made = std::make_unique<Session>(options);
  CHECK(made->script("CREATE TABLE t (a integer PRIMARY KEY, b text, c numeric(8,2), d date, e timestamp, f integer[]);"
                     "CREATE TABLE s (a integer, b varchar(5) NOT NULL, c double precision, i interval);"
                     "CREATE VIEW v AS SELECT a, b FROM t WHERE c > 0;"
                     "CREATE SEQUENCE q;"
                     "CREATE FUNCTION f(x integer) RETURNS integer LANGUAGE sql AS 'SELECT x + 1';"
                     "INSERT INTO t VALUES (1, 'x', 1.5, '2020-01-01', '2020-01-01 10:00', '{1,2}');"
                     "INSERT INTO s VALUES (1, 'y', 2.5, '1 day')")
            .ok());
  return made;
}

// Definitions that run no queries: those could go on for ever, and COPY writes files.
bool is_definition(const std::string& statement) {
  std::string text = absl::AsciiStrToLower(statement);
  for (std::string_view word : {"copy", "generate_series", "execute", "materialized"})
    if (text.find(word) != text.npos) return false;
  if (text.find("table") != text.npos && text.find("select") != text.npos) return false;
  for (std::string_view word : {"create ", "alter ", "drop ", "comment ", "truncate "})
    if (text.starts_with(word)) return true;
  return false;
}

// Reads the bytes as statements: each parsed, bound, planned and turned into code; definitions are made, queries not
// run.
void fuzz(const uint8_t* data, size_t size) {
  constexpr int kDefinitionsMax = 500;  // what a database collects
  static std::unique_ptr<Session> session;
  static int definitions = 0;
  if (session == nullptr || definitions > kDefinitionsMax) session = make_session(), definitions = 0;
  std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find('\0') != std::string::npos) return;
  auto statements = session->database().split(text);
  if (!statements.ok()) {
    CHECK(sqlstate_of(statements.status()).size() == 5);
    return;
  }
  for (const std::string& statement : *statements) {
    Status status;
    if (is_definition(statement)) {
      definitions++;
      status = session->run(statement);
    } else {
      status = session->database().prepare(statement).status();
    }
    if (!status.ok()) CHECK(sqlstate_of(status).size() == 5);
  }
}

}  // namespace

// libFuzzer's entry point: its name and type are given.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz(data, size);
  return 0;
}

}  // namespace scyper::query
