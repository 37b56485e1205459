// Files as tables of queries: read in snapshots' children, refused to transactions, kept within their directory.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "query/error_status.h"
#include "query/queries.h"
#include "query/value_text.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

using query::QueryOptions;

// A node and a directory with files that it may read, below one that it may not.
class ForeignTableTest : public testing::Test {
 protected:
  ForeignTableTest() {
    std::string pattern = testing::TempDir() + "foreign_XXXXXX";
    outside_ = mkdtemp(pattern.data());
    directory_ = outside_ / "files";
    std::filesystem::create_directories(directory_ / "inner");
    EngineOptions options = Bank::small_options();
    options.queries.foreign_files_directory = directory_;
    bank_ = std::make_unique<Bank>(options);
    for (const char* sql : {"CREATE EXTENSION file_fdw", "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw"}) run(sql);
  }
  ~ForeignTableTest() override {
    bank_.reset();
    std::filesystem::remove_all(outside_);
  }

  void write(const std::filesystem::path& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }
  void run(const std::string& sql) {
    const Status status = bank_->run(sql);
    EXPECT_TRUE(status.ok()) << sql << ": " << status;
  }
  void create(const std::string& table, const std::string& columns, const std::string& options) {
    run("CREATE FOREIGN TABLE " + table + " (" + columns + ") SERVER files OPTIONS (" + options + ")");
  }
  // Rows as text, values separated by blanks; or the error: state, message, context.
  std::string ask(const std::string& sql, uint32_t threads = 1) {
    query::ResultSet result;
    QueryOptions options;
    options.threads = threads;
    const Status status = bank_->engine().queries()->execute(sql, {}, options, &result, nullptr);
    if (!status.ok())
      return sqlstate_of(status) + " " + std::string(status.message()) + "|" + query::context_of(status);
    std::string text;
    for (size_t r = 0; r < result.row_count(); ++r) {
      for (size_t c = 0; c < result.columns.size(); ++c) {
        if (c > 0) text += " ";
        if (result.value(r, c).null)
          text += "null";
        else
          query::append_value(&text, result.columns[c].type, result.value(r, c));
      }
      text += "\n";
    }
    return text;
  }
  std::string error_of(const std::string& sql) {
    const Status status = bank_->run(sql);
    return sqlstate_of(status) + " " + std::string(status.message());
  }

  std::filesystem::path outside_, directory_;
  std::unique_ptr<Bank> bank_;
};

TEST_F(ForeignTableTest, RowsOfAFile) {
  write("branches.csv",
        "id,name,opened,rating\r\n1,\"Unter den Linden, \"\"Mitte\"\"\",2001-02-03,1.50\r\n2,,2011-12-13,\r\n"
        "3,\"two\r\nlines\",1999-01-01,-2.25\r\n");
  create("branches", "id int NOT NULL, name text, opened date, rating numeric(6,2)",
         "filename 'branches.csv', format 'csv', header 'true'");
  EXPECT_EQ(ask("SELECT * FROM branches WHERE id < 3"),
            "1 Unter den Linden, \"Mitte\" 2001-02-03 1.50\n2 null 2011-12-13 null\n");
  EXPECT_EQ(ask("SELECT count(*), count(name), min(opened), sum(rating) FROM branches"), "3 2 1999-01-01 -0.75\n");
  EXPECT_EQ(ask("SELECT b.id, count(*), sum(a.balance) FROM branches b JOIN accounts a ON a.branch = b.id "
                "GROUP BY b.id ORDER BY b.id DESC"),
            "3 32 32000\n2 32 32000\n1 32 32000\n");
  EXPECT_EQ(ask("SELECT a.name, b.name FROM branches a LEFT JOIN branches b ON b.id = a.id + 1 ORDER BY a.id"),
            "Unter den Linden, \"Mitte\" null\nnull two\r\nlines\ntwo\r\nlines null\n");
  EXPECT_EQ(ask("SELECT (SELECT max(b.id) FROM branches b WHERE b.id < a.id) FROM branches a ORDER BY a.id"),
            "null\n1\n2\n");
  EXPECT_EQ(ask("SELECT id FROM branches ORDER BY opened LIMIT 1"), "3\n");
  EXPECT_EQ(ask("SELECT id FROM branches LIMIT 1 OFFSET 1"), "2\n");
  run("CREATE VIEW named AS SELECT id, name FROM branches WHERE name IS NOT NULL");
  EXPECT_EQ(ask("SELECT count(*) FROM named"), "2\n");
  run("CREATE FUNCTION branch_count() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM branches'");
  EXPECT_EQ(ask("SELECT branch_count()"), "3\n");
  write("branches.csv", "id,name,opened,rating\n7,seven,2020-01-01,0\n");  // each query opens it anew
  EXPECT_EQ(ask("SELECT id, name FROM branches"), "7 seven\n");
}

TEST_F(ForeignTableTest, TextFormatAndItsOptions) {
  write("inner/t.txt", "1|a\\|b|~\n2|\\t|x\n");
  create("t", "a bigint, b text, c text", "filename 'inner/t.txt', delimiter '|', null '~'");
  EXPECT_EQ(ask("SELECT a, b, c FROM t ORDER BY a"), "1 a|b null\n2 \t x\n");
  write("empty", "");
  create("empty", "a int", "filename '" + (directory_ / "empty").string() + "'");
  EXPECT_EQ(ask("SELECT count(*) FROM empty"), "0\n");
  EXPECT_EQ(ask("SELECT t.a FROM t LEFT JOIN empty ON t.a = empty.a ORDER BY 1"), "1\n2\n");
}

// Many windows and blocks, in one thread and in several; texts outlive the window that they came in.
TEST_F(ForeignTableTest, ManyRows) {
  constexpr int kRows = 30'000;
  std::string text;
  for (int i = 0; i < kRows; ++i)
    text +=
        std::to_string(i) + ",\"customer number " + std::to_string(i % 1000) + "\"," + std::to_string(i % 16) + "\n";
  write("many.csv", text);
  create("many", "id int, name text, branch int", "filename 'many.csv', format 'csv'");
  for (uint32_t threads : {1U, 2U}) {
    EXPECT_EQ(ask("SELECT count(*), sum(id), min(name), max(name) FROM many", threads),
              "30000 449985000 customer number 0 customer number 999\n");
    EXPECT_EQ(ask("SELECT count(*) FROM (SELECT name, count(*) AS n FROM many GROUP BY name) g WHERE n = 30", threads),
              "1000\n");
    EXPECT_EQ(ask("SELECT count(*), sum(a.balance) FROM accounts a JOIN many m ON m.branch = a.branch", threads),
              "960000 960000000\n");
    EXPECT_EQ(ask("SELECT name FROM many ORDER BY name DESC, id LIMIT 1", threads), "customer number 999\n");
  }
}

// Enough for several threads: one reads, all compute.
TEST_F(ForeignTableTest, SeveralThreads) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + "\n";
  write("ids", text);
  create("ids", "id int", "filename 'ids'");
  for (uint32_t threads : {1U, 2U}) {
    EXPECT_EQ(ask("SELECT id % 16 AS branch, count(*), sum(id) FROM ids GROUP BY 1 ORDER BY 1 LIMIT 2", threads),
              "0 12500 1249900000\n1 12500 1249912500\n");
    EXPECT_EQ(ask("SELECT count(*), sum(i.id) FROM accounts a JOIN ids i ON i.id = a.branch", threads), "512 3840\n");
  }
}

TEST_F(ForeignTableTest, ErrorsNameFileAndLine) {
  write("t.csv", "a,b\n1,x\nno,y\n");
  create("t", "a int, b text", "filename 't.csv', format 'csv', header 'on'");
  EXPECT_EQ(ask("SELECT count(*) FROM t"),
            "22P02 invalid input syntax for type integer: \"no\"|COPY t, line 3, column a: \"no\"");
  write("t.csv", "a,b\n1\n");
  EXPECT_EQ(ask("SELECT b FROM t"), "22P04 missing data for column \"b\"|COPY t, line 2: \"1\"");
  write("t.csv", "a,b\n1,2,3\n");
  EXPECT_EQ(ask("SELECT b FROM t"), "22P04 extra data after last expected column|COPY t, line 2: \"1,2,3\"");
  write("t.csv", "a,b\n1,\"x\n2,y\n");
  EXPECT_EQ(ask("SELECT b FROM t"), "22P04 unterminated CSV quoted field|COPY t, line 4: \"1,\"x\n2,y\n\"");
  std::filesystem::remove(directory_ / "t.csv");
  EXPECT_EQ(ask("SELECT b FROM t"), "58P01 could not open file \"t.csv\" for reading: No such file or directory|");
  EXPECT_EQ(ask("SELECT 1"), "1\n");
}

TEST_F(ForeignTableTest, FilesLieInTheDirectory) {
  std::ofstream(outside_ / "secret") << "1\n";
  std::ofstream(outside_ / "files_too") << "1\n";
  write("plain", "1\n");
  std::filesystem::create_symlink(outside_ / "secret", directory_ / "out");
  std::filesystem::create_symlink(directory_ / "plain", directory_ / "in");
  std::filesystem::create_directory_symlink(outside_, directory_ / "up");
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  const auto state_of = [&](const std::string& file) {
    create("t", "a int", "filename '" + file + "'");
    const std::string answer = ask("SELECT a FROM t");
    run("DROP FOREIGN TABLE t");
    return answer.substr(0, 5);
  };
  EXPECT_EQ(state_of("plain"), "1\n");
  EXPECT_EQ(state_of("in"), "1\n");
  EXPECT_EQ(state_of((directory_ / "plain").string()), "1\n");
  for (const std::string& file :
       {std::string("out"), std::string("up/secret"), std::string("../secret"), std::string("inner/../plain"),
        (outside_ / "secret").string(), (outside_ / "files_too").string(), std::string("/etc/passwd")})
    EXPECT_EQ(state_of(file), "42501") << file;
  EXPECT_EQ(state_of("inner"), "42809");
  EXPECT_EQ(state_of("."), "42809");
  EXPECT_EQ(state_of("pipe"), "42809");
  EXPECT_EQ(state_of("nothing/here"), "58P01");
}

TEST_F(ForeignTableTest, TransactionsReadNone) {
  write("t.csv", "1\n");
  create("t", "a int", "filename 't.csv', format 'csv'");
  run("CREATE TABLE kept (a int PRIMARY KEY)");
  run("INSERT INTO kept VALUES (1)");
  const std::string refused = "0A000 foreign table \"t\" cannot be read in a transaction";
  EXPECT_EQ(error_of("INSERT INTO kept SELECT a FROM t"), refused);
  EXPECT_EQ(error_of("DELETE FROM kept WHERE a IN (SELECT a FROM t)"), refused);
  EXPECT_EQ(error_of("CREATE TABLE copied AS SELECT a FROM t"), refused);
  run("CREATE PROCEDURE take() LANGUAGE plpgsql AS 'BEGIN INSERT INTO kept VALUES (9); INSERT INTO kept SELECT a FROM "
      "t; "
      "EXCEPTION WHEN OTHERS THEN NULL; END'");
  EXPECT_EQ(error_of("CALL take()"), refused);
  EXPECT_EQ(bank_->value_of("SELECT count(*) FROM kept"), 1);
  EXPECT_EQ(error_of("INSERT INTO t VALUES (1)"), "0A000 cannot insert into foreign table \"t\"");
  EXPECT_EQ(error_of("UPDATE t SET a = 1"), "0A000 cannot update foreign table \"t\"");
  EXPECT_EQ(error_of("DELETE FROM t"), "0A000 cannot delete from foreign table \"t\"");
  EXPECT_EQ(error_of("TRUNCATE t"), "0A000 cannot truncate foreign table \"t\"");
  EXPECT_EQ(error_of("CREATE INDEX ON t (a)"), "42809 cannot create index on relation \"t\"");
}

TEST_F(ForeignTableTest, Definitions) {
  create("t", "a int", "filename 't.csv', format 'csv'");
  for (const auto& [sql, error] : std::vector<std::pair<std::string, std::string>>{
           {"CREATE EXTENSION file_fdw", "42710 extension \"file_fdw\" already exists"},
           {"CREATE EXTENSION hstore", "0A000 extension \"hstore\" is not available"},
           {"CREATE SERVER files FOREIGN DATA WRAPPER file_fdw", "42710 server \"files\" already exists"},
           {"CREATE SERVER x FOREIGN DATA WRAPPER y", "42704 foreign-data wrapper \"y\" does not exist"},
           {"CREATE FOREIGN TABLE x (a int) SERVER y", "42704 server \"y\" does not exist"},
           {"CREATE FOREIGN TABLE t (a int) SERVER files", "42P07 relation \"t\" already exists"},
           {"CREATE FOREIGN TABLE x (a int) SERVER files",
            "HV002 either filename or program is required for file_fdw foreign tables"},
           {"CREATE FOREIGN TABLE x (a int) SERVER files OPTIONS (filename 'f', wrong 'x')",
            "HV00D invalid option \"wrong\""},
           {"CREATE FOREIGN TABLE x (a int) SERVER files OPTIONS (filename 'f', format 'csv', delimiter ',,')",
            "0A000 COPY delimiter must be a single one-byte character"},
           {"CREATE FOREIGN TABLE x (a int PRIMARY KEY) SERVER files OPTIONS (filename 'f')",
            "0A000 primary key constraints are not supported on foreign tables"},
           {"CREATE TABLE t (a int)", "42P07 relation \"t\" already exists"},
           {"DROP TABLE t", "42809 \"t\" is not a table"},
           {"DROP VIEW t", "42809 \"t\" is not a view"},
           {"DROP FOREIGN TABLE rates", "42809 \"rates\" is not a foreign table"},
           {"DROP FOREIGN TABLE nothing", "42704 foreign table \"nothing\" does not exist"},
           {"DROP SERVER files", "2BP01 cannot drop server files because other objects depend on it"},
           {"DROP EXTENSION file_fdw", "2BP01 cannot drop extension file_fdw because other objects depend on it"},
       })
    EXPECT_EQ(error_of(sql), error) << sql;
  run("CREATE VIEW v AS SELECT a FROM t");
  EXPECT_EQ(error_of("DROP FOREIGN TABLE t"), "2BP01 cannot drop foreign table t because other objects depend on it");
  EXPECT_EQ(ask("SELECT c.relkind, s.srvname, o.option_name, o.option_value FROM pg_class c JOIN pg_foreign_table f "
                "ON f.ftrelid = c.oid JOIN pg_foreign_server s ON s.oid = f.ftserver, "
                "pg_options_to_table(f.ftoptions) o WHERE c.relname = 't'"),
            "f files filename t.csv\nf files format csv\n");
  // as psql's \\d asks
  EXPECT_EQ(
      ask("SELECT s.srvname, pg_catalog.array_to_string(ARRAY(SELECT pg_catalog.quote_ident(option_name) || ' ' || "
          "pg_catalog.quote_literal(option_value) FROM pg_catalog.pg_options_to_table(ftoptions)), ', ') FROM "
          "pg_catalog.pg_foreign_table f, pg_catalog.pg_foreign_server s WHERE f.ftrelid = 't'::regclass AND "
          "s.oid = f.ftserver"),
      "files filename 't.csv', format 'csv'\n");
  EXPECT_EQ(
      ask("SELECT a.attname, CASE WHEN attfdwoptions IS NULL THEN '' ELSE '(' || pg_catalog.array_to_string(ARRAY("
          "SELECT pg_catalog.quote_ident(option_name) || ' ' || pg_catalog.quote_literal(option_value) FROM "
          "pg_catalog.pg_options_to_table(attfdwoptions)), ', ') || ')' END AS attfdwoptions FROM "
          "pg_catalog.pg_attribute a WHERE a.attrelid = 't'::regclass AND a.attnum > 0"),
      "a \n");
  EXPECT_EQ(ask("SELECT table_type FROM information_schema.tables WHERE table_name = 't'"), "FOREIGN\n");
  EXPECT_EQ(ask("EXPLAIN (COSTS OFF) SELECT a FROM t"), "Foreign Scan on t\n      Foreign File: t.csv\n");
  write("t.csv", "1\n2\n");
  EXPECT_NE(ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT a FROM t").find("Foreign Scan on t (actual rows=2)"),
            std::string::npos);
  run("DROP EXTENSION file_fdw CASCADE");
  EXPECT_EQ(ask("SELECT count(*) FROM pg_class WHERE relname IN ('t', 'v')"), "0\n");
}

TEST(ForeignTableWithoutDirectoryTest, IsRefusedByName) {
  Bank bank;
  ASSERT_TRUE(bank.run("CREATE EXTENSION file_fdw").ok());
  ASSERT_TRUE(bank.run("CREATE SERVER files FOREIGN DATA WRAPPER file_fdw").ok());
  ASSERT_TRUE(bank.run("CREATE FOREIGN TABLE t (a int) SERVER files OPTIONS (filename '/etc/passwd')").ok());
  query::ResultSet result;
  const Status status = bank.engine().queries()->execute("SELECT a FROM t", {}, {}, &result, nullptr);
  EXPECT_EQ(sqlstate_of(status), "55000");
  EXPECT_NE(hint_of(status).find("foreign_files_directory"), std::string::npos);
}

}  // namespace
}  // namespace scyper::primary
