#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "bind/builtins.h"
#include "parse/printer.h"
#include "testing/outcome.h"
#include "testing/postgres_session.h"

// Functions of the system and operators are no functions that statements may call: 42883, as on PostgreSQL.
namespace scyper::query {
namespace {

bool is_refused_name(std::string_view name) { return name.starts_with(' ') || !is_callable_name(name); }

TEST(SystemNames, ArePostgresFunctionsOrRefused) {
  PostgresSession postgres("scyper_system_names");
  const StatementOutcome known = postgres.run("SELECT DISTINCT proname FROM pg_proc");
  ASSERT_TRUE(known.ok());
  std::set<std::string> functions;
  for (const auto& row : known.rows) functions.insert(row);
  for (const char* of_extension : {"digest", "hmac", "uuid_generate_v4"}) functions.insert(of_extension);
  for (const std::string_view name : builtin_names()) {
    if (is_refused_name(name) || name.starts_with("scyper_")) continue;
    EXPECT_TRUE(functions.contains(std::string(name))) << name;
  }
}

TEST(SystemNames, CannotBeCalled) {
  Session session{DatabaseOptions()};
  ASSERT_TRUE(run_statement(&session, "CREATE TABLE t (id int PRIMARY KEY, x text)").ok());
  const std::string places[] = {"SELECT $()",
                                "SELECT $(1)",
                                "SELECT $(1, 2)",
                                "SELECT $(1, 2, 'a', 3)",
                                "SELECT pg_catalog.$(1, 2)",
                                "SELECT count(*) FROM $(1) f",
                                "SELECT $(1) OVER ()",
                                "SELECT id FROM t WHERE $(id, id)",
                                "INSERT INTO t VALUES (1, $(1))",
                                "UPDATE t SET x = $(id)",
                                "CALL $(1)",
                                "CREATE TABLE u (id int DEFAULT $(1))",
                                "CREATE TABLE u (id int CHECK ($(id)))",
                                "CREATE VIEW v AS SELECT $(id) FROM t",
                                "CREATE INDEX ON t (($(id)))",
                                "DO $$ BEGIN PERFORM $(1); END $$",
                                "DO $$ DECLARE n int := $(1); BEGIN END $$",
                                "DO $$ BEGIN EXECUTE 'SELECT $(1)'; END $$"};
  int calls = 0;
  for (const std::string_view name : builtin_names()) {
    if (!is_refused_name(name)) continue;
    for (const std::string& place : places) {
      std::string text = place;
      for (size_t at = 0; (at = text.find("$(", at)) != std::string::npos;)
        text.replace(at, 1, quote_identifier(std::string(name)));
      EXPECT_EQ(run_statement(&session, text).sqlstate, "42883") << text;
      ++calls;
    }
  }
  EXPECT_GT(calls, 1000);
}

// Texts that the system writes call them all the same.
TEST(SystemNames, AreCalledByTheSystem) {
  Session session{DatabaseOptions()};
  const std::string statements[] = {
      "CREATE TABLE t (id serial PRIMARY KEY, x int GENERATED ALWAYS AS IDENTITY)",
      "INSERT INTO t DEFAULT VALUES",
      "ALTER TABLE t ADD COLUMN y serial",
      "ALTER TABLE t ALTER COLUMN id TYPE bigint",
      "SELECT last_value, is_called FROM t_id_seq",
      "SELECT * FROM json_to_recordset('[{\"a\": [1, 2]}]') AS x(a int[])",
      "CREATE VIEW v AS SELECT id FROM t TABLESAMPLE bernoulli (100) REPEATABLE (3)",
      "ALTER TABLE t RENAME TO u",
      "SELECT * FROM v",
      "CREATE TABLE c AS SELECT s.id, generate_series(1, 2) FROM u AS s TABLESAMPLE system (100)",
      "SET CONSTRAINTS ALL IMMEDIATE",
      "DO $$ BEGIN SET CONSTRAINTS ALL DEFERRED; EXECUTE 'SET CONSTRAINTS ALL IMMEDIATE'; LOCK TABLE u; END $$",
      "SELECT * FROM u FOR UPDATE",
  };
  for (const std::string& statement : statements) {
    const StatementOutcome outcome = run_statement(&session, statement);
    EXPECT_TRUE(outcome.ok()) << statement << ": " << outcome.message;
  }
}

}  // namespace
}  // namespace scyper::query
