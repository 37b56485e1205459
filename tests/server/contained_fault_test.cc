// Faults of the program itself while a statement is compiled: the statement fails, everything else goes on.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/failpoint.h"
#include "base/internal_error.h"
#include "postgres_socket.h"
#include "real_node.h"

namespace scyper::server {
namespace {

// Planned: its tables are joined by hash, in no order.
constexpr char kJoin[] = "SELECT count(*) FROM t x JOIN t y ON x.b = y.b";

class ContainedFaultTest : public RealNodeTest {
 protected:
  ContainedFaultTest() {
    ServerOptions server;
    server.postgres_listen = "127.0.0.1:0";
    start_node({}, server);
    socket_ = open();
    EXPECT_EQ(ask("CREATE TABLE t (a integer PRIMARY KEY, b integer)"), "CREATE TABLE");
    EXPECT_EQ(ask("INSERT INTO t VALUES (1, 10), (2, 20)"), "INSERT 0 2");
  }
  ~ContainedFaultTest() override { disarm_failpoints(); }

  std::unique_ptr<Socket> open() {
    auto socket = std::make_unique<Socket>(server_->postgres_port());
    socket->send(start_packet());
    EXPECT_TRUE(socket->types().ends_with("Z"));
    return socket;
  }
  // The first value of the first row, a command's tag, or an error's SQLSTATE and message.
  std::string ask(const std::string& sql, Socket* socket = nullptr) {
    if (socket == nullptr) socket = socket_.get();
    socket->rows.clear();
    socket->tags.clear();
    socket->send(query(sql));
    return answer(socket);
  }
  static std::string answer(Socket* socket) {
    const std::string types = socket->types();
    if (!types.ends_with("Z")) return "the connection has ended";
    if (types.find('E') != std::string::npos) return socket->error.field('C') + " " + socket->error.field('M');
    return socket->rows.empty() ? socket->tags.back() : socket->rows[0].substr(6);
  }
  static void arm(const std::string& spec) { ASSERT_TRUE(arm_failpoints(spec).ok()) << spec; }
  static std::string fault(const std::string& phase) {
    return "XX000 internal error while " + phase + "; please report";
  }
  // Shown as scyper_internal_errors_total.
  static uint64_t counted(const std::string& phase) {
    uint64_t count = 0;
    for (size_t i = 0; i < kPhaseCount; ++i)
      if (name_of(static_cast<Phase>(i)) == phase) count = internal_error_counts()[i];
    return count;
  }

  std::unique_ptr<Socket> socket_;
};

TEST_F(ContainedFaultTest, EachPhaseFailsItsStatementOnly) {
  struct Case {
    const char* failpoint;
    const char* phase;
    const char* sql;
  };
  const Case cases[] = {
      {"parse", "parsing", kJoin},
      {"bind", "binding", kJoin},
      {"plan", "planning", kJoin},
      {"generate", "generating", kJoin},
      {"compile", "compiling", kJoin},
      {"bind", "binding", "UPDATE t SET b = b + 1 WHERE a = 1"},
      {"generate", "generating", "UPDATE t SET b = b + 1 WHERE a = 1"},
      {"compile", "compiling", "UPDATE t SET b = b + 1 WHERE a = 1"},
      {"bind", "binding", "DO 'BEGIN NULL; END'"},
      {"bind", "binding", "EXPLAIN SELECT b FROM t"},
      {"generate", "generating", "EXPLAIN (COMPILED) SELECT b FROM t"},
      {"define", "defining", "CREATE TABLE u (a integer)"},
      {"define", "defining", "CREATE INDEX t_b ON t (b)"},
      {"define", "defining", "ALTER TABLE t ADD COLUMN c integer"},
      {"define", "defining", "CREATE TABLE u AS SELECT * FROM t"},
  };
  const auto other = open();
  EXPECT_EQ(ask("BEGIN", other.get()), "BEGIN");
  EXPECT_EQ(ask("SELECT sum(b) FROM t", other.get()), "30");
  for (const Case& one : cases) {
    for (const char* how : {".breaks", ".throws"}) {
      SCOPED_TRACE(std::string(one.failpoint) + how + ": " + one.sql);
      const uint64_t before = counted(one.phase);
      arm(std::string(one.failpoint) + how + "=fail*1");
      EXPECT_EQ(ask(one.sql), fault(one.phase));
      const std::string detail = socket_->error.field('D');
      const bool is_broken = std::string(how) == ".breaks";
      EXPECT_NE(detail.find(is_broken ? "query/" : "std::out_of_range: failpoint"), std::string::npos) << detail;
      EXPECT_EQ(counted(one.phase), before + 1);
      EXPECT_EQ(ask("SELECT sum(b) FROM t"), "30");
      EXPECT_EQ(ask("SELECT count(*) FROM t", other.get()), "2");
    }
  }
  EXPECT_EQ(ask("COMMIT", other.get()), "COMMIT");
  EXPECT_EQ(ask("UPDATE t SET b = b + 1 WHERE a = 1"), "UPDATE 1");
}

TEST_F(ContainedFaultTest, TheLogNamesStatementAndPlace) {
  const auto logged = [&](const std::string& sql) {
    arm("bind.breaks=fail*1");
    testing::internal::CaptureStderr();
    EXPECT_EQ(ask(sql), fault("binding"));
    const std::string log = testing::internal::GetCapturedStderr();
    return log.substr(log.find("scyper: internal error"));
  };
  const std::string one = logged("SELECT b FROM t\nWHERE a = 1"), other = logged("select  b from t where a = 2");
  EXPECT_TRUE(one.starts_with("scyper: internal error while binding: statement ")) << one;
  EXPECT_NE(one.find(": query/compile/phases.cc:"), std::string::npos) << one;
  EXPECT_TRUE(one.ends_with(": SELECT b FROM t WHERE a = 1\n")) << one;
  constexpr size_t kFingerprint = 48, kDigits = 16;  // the same for both
  EXPECT_EQ(one.substr(kFingerprint, kDigits), other.substr(kFingerprint, kDigits));
}

TEST_F(ContainedFaultTest, WrongCodeNeverRuns) {
  arm("generate.verify=fail*1");
  EXPECT_EQ(ask("DELETE FROM t"), fault("generating"));
  EXPECT_EQ(ask("SELECT sum(b) FROM t"), "30");
}

TEST_F(ContainedFaultTest, AProgramThatCannotBeShippedLosesNoSnapshot) {
  arm("ship.breaks=fail*1");
  EXPECT_EQ(ask(kJoin), fault("shipping"));
  EXPECT_EQ(ask(kJoin), "2");
}

TEST_F(ContainedFaultTest, ABlockIsAsAfterAnyError) {
  EXPECT_EQ(ask("BEGIN"), "BEGIN");
  EXPECT_EQ(ask("INSERT INTO t VALUES (3, 30)"), "INSERT 0 1");
  EXPECT_EQ(ask("SAVEPOINT s"), "SAVEPOINT");
  EXPECT_EQ(ask("INSERT INTO t VALUES (4, 40)"), "INSERT 0 1");
  arm("plan.throws=fail");  // each time: what fails for the cache is compiled once more for the block
  EXPECT_EQ(ask(kJoin), fault("planning"));
  disarm_failpoints();
  EXPECT_EQ(ask("SELECT 1").substr(0, 5), "25P02");
  EXPECT_EQ(ask("ROLLBACK TO s"), "ROLLBACK");
  EXPECT_EQ(ask("SELECT sum(b) FROM t"), "60");
  arm("define.breaks=fail*1");
  EXPECT_EQ(ask("CREATE TABLE u (a integer)"), fault("defining"));
  EXPECT_EQ(ask("ROLLBACK TO s"), "ROLLBACK");
  EXPECT_EQ(ask("CREATE TABLE u (a integer)"), "CREATE TABLE");
  EXPECT_EQ(ask("COMMIT"), "COMMIT");
  EXPECT_EQ(ask("SELECT sum(b) FROM t"), "60");
  EXPECT_EQ(ask("SELECT count(*) FROM u"), "0");
}

TEST_F(ContainedFaultTest, PreparedStatements) {
  arm("bind.breaks=fail*1");
  socket_->send(parse("p", "SELECT b FROM t WHERE a = 1") + kSync);
  EXPECT_EQ(answer(socket_.get()), fault("binding"));
  EXPECT_EQ(ask("PREPARE p AS UPDATE t SET b = b + 1 WHERE a = $1"), "PREPARE");
  EXPECT_EQ(ask("EXECUTE p(1)"), "UPDATE 1");
  EXPECT_EQ(ask("ALTER TABLE t ADD COLUMN c integer"), "ALTER TABLE");  // it is compiled anew
  arm("generate.throws=fail");  // each time: a statement that the cache cannot renew is compiled once more
  EXPECT_EQ(ask("EXECUTE p(1)"), fault("generating"));
  disarm_failpoints();
  EXPECT_EQ(ask("EXECUTE p(1)"), "UPDATE 1");
  EXPECT_EQ(ask("SELECT b FROM t WHERE a = 1"), "12");
}

TEST_F(ContainedFaultTest, DynamicStatementsCanBeCaught) {
  const std::string block = R"(DO $$
    BEGIN
      UPDATE t SET b = 0 WHERE a = 1;
      BEGIN
        EXECUTE 'UPDATE t SET b = 1 WHERE a = ' || 2;
      EXCEPTION WHEN internal_error THEN
        RAISE NOTICE 'caught %', SQLSTATE;
      END;
    END $$)";
  arm("bind.breaks=fail@1*1");  // behind the block itself
  EXPECT_EQ(ask(block), "DO");
  EXPECT_EQ(ask("SELECT string_agg(b::text, ',' ORDER BY a) FROM t"), "0,20");
  EXPECT_EQ(ask(block), "DO");
  EXPECT_EQ(ask("SELECT string_agg(b::text, ',' ORDER BY a) FROM t"), "0,1");
}

// Routines that call each other are compiled together: one that fails leaves none that would call it.
TEST_F(ContainedFaultTest, RoutinesThatCallEachOther) {
  EXPECT_EQ(ask("CREATE FUNCTION odd(n integer) RETURNS boolean LANGUAGE plpgsql AS "
                "'BEGIN RETURN false; END'"),
            "CREATE FUNCTION");
  EXPECT_EQ(ask("CREATE FUNCTION even(n integer) RETURNS boolean LANGUAGE plpgsql AS "
                "'BEGIN RETURN CASE WHEN n = 0 THEN true ELSE odd(n - 1) END; END'"),
            "CREATE FUNCTION");
  EXPECT_EQ(ask("CREATE OR REPLACE FUNCTION odd(n integer) RETURNS boolean LANGUAGE plpgsql AS "
                "'BEGIN RETURN CASE WHEN n = 0 THEN false ELSE even(n - 1) END; END'"),
            "CREATE FUNCTION");
  for (const char* point : {"bind.throws", "generate.breaks", "compile.throws", "generate.verify"}) {
    for (int pass = 0; pass < 3; ++pass) {
      SCOPED_TRACE(std::string(point) + std::to_string(pass));
      EXPECT_EQ(ask("CREATE OR REPLACE FUNCTION unused() RETURNS integer LANGUAGE sql AS 'SELECT 1'"),
                "CREATE FUNCTION");  // another catalog: all is compiled anew
      arm(std::string(point) + "=fail@" + std::to_string(pass));
      EXPECT_EQ(ask("SELECT even(10)").substr(0, 5), "XX000");
      disarm_failpoints();
      EXPECT_EQ(ask("SELECT odd(7)"), "t");
      EXPECT_EQ(ask("SELECT even(10)"), "t");
    }
  }
}

// A definition whose last step fails has changed nothing.
TEST_F(ContainedFaultTest, DefinitionsAreTakenBack) {
  EXPECT_EQ(ask("CREATE INDEX t_b ON t (b)"), "CREATE INDEX");
  for (const char* sql : {"DROP INDEX t_b", "DROP TABLE t", "TRUNCATE t", "ALTER TABLE t DROP COLUMN b",
                          "ALTER TABLE t ALTER COLUMN b TYPE text", "ALTER TABLE t RENAME TO v",
                          "CREATE UNIQUE INDEX t_u ON t (b)", "CREATE TABLE t2 (LIKE t INCLUDING ALL)"}) {
    SCOPED_TRACE(sql);
    arm("define.throws=fail*1");
    EXPECT_EQ(ask(sql), fault("defining"));
    EXPECT_EQ(ask("SELECT a FROM t WHERE b = 20"), "2");
    EXPECT_EQ(ask("SELECT string_agg(indexname, ',' ORDER BY indexname) FROM pg_indexes"), "t_b,t_pkey");
    EXPECT_EQ(ask("INSERT INTO t VALUES (3, 30)"), "INSERT 0 1");
    EXPECT_EQ(ask("DELETE FROM t WHERE b = 30"), "DELETE 1");
  }
}

}  // namespace
}  // namespace scyper::server
