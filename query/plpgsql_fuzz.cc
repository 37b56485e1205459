#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "testing/session.h"

namespace scyper::query {

namespace {

Session* session() {
  static const std::unique_ptr<Session> kSession = [] {
    DatabaseOptions options;
    options.partitions = 2;
    options.memory_bytes = size_t{64} << 20;
    options.execution = ExecutionMode::kInterpreted;
    auto made = std::make_unique<Session>(options);
    CHECK(
        made->script("CREATE TABLE t (a integer PRIMARY KEY, b text, c numeric(8,2));"
                     "CREATE TABLE n (i integer PRIMARY KEY, t text);"
                     "CREATE FUNCTION pair(x integer, OUT p integer, OUT q text) LANGUAGE plpgsql AS $$ BEGIN p := x; "
                     "q := 'q'; END $$;"
                     "CREATE FUNCTION many(x integer) RETURNS SETOF t LANGUAGE sql AS $$ SELECT * FROM t $$;"
                     "CREATE PROCEDURE proc(x integer, INOUT y text) LANGUAGE plpgsql AS $$ BEGIN y := x; END $$;")
            .ok());
    return made;
  }();
  return kSession.get();
}

// Reads the bytes as the body of a PL/pgSQL function: parsed, bound, turned into code, not run.
void fuzz(const uint8_t* data, size_t size) {
  std::string body(reinterpret_cast<const char*>(data), size);
  if (body.find('\0') != std::string::npos || body.find("$fuzzed$") != std::string::npos) return;
  Status made = session()->run(
      "CREATE OR REPLACE FUNCTION fuzzed(x integer, y text) RETURNS integer LANGUAGE plpgsql AS "
      "$fuzzed$" +
      body + "$fuzzed$");
  if (!made.ok()) {
    CHECK(sqlstate_of(made).size() == 5);
    return;
  }
  auto prepared = session()->database().prepare("SELECT fuzzed(1, 'x')");
  if (!prepared.ok()) CHECK(sqlstate_of(prepared.status()).size() == 5);
}

}  // namespace

// libFuzzer's entry point: its name and type are given.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz(data, size);
  return 0;
}

}  // namespace scyper::query
