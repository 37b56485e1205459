#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "sqllogictest/player.h"
#include "sqllogictest/records.h"

// sqllogictest_test [--every=N] [file or folder ...]: all files below the paths
// (without one: the project's own), in both execution modes; of the queries each N-th.
namespace scyper::tests {
namespace {

struct Options {
  std::vector<std::string> paths;
  int every = 1;
};
Options options;

query::DatabaseOptions options_for(query::ExecutionMode mode) {
  query::DatabaseOptions database;
  database.partitions = 2;
  database.memory_bytes = size_t{1} << 30;
  database.execution = mode;
  return database;
}

std::vector<std::string> files() {
  std::vector<std::string> found;
  for (const auto& path : options.paths) {
    if (!std::filesystem::is_directory(path)) {
      found.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      std::string name = entry.path().string();
      if (entry.is_regular_file() && (name.ends_with(".test") || name.ends_with(".test.gz"))) found.push_back(name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The first failures in full, then how many there are of each kind.
std::string summary(const Outcomes& outcomes) {
  std::string text;
  std::map<std::string, int> kinds;
  int shown = 0;
  for (const auto& mismatch : outcomes.mismatches) {
    if (kinds[mismatch.what]++ > 1 || shown++ > 20) continue;
    text += "line " + std::to_string(mismatch.line) + ": " + mismatch.sql + "\n  " + mismatch.what + "\n" +
            mismatch.detail + "\n";
  }
  for (const auto& [what, count] : kinds) text += std::to_string(count) + " x " + what + "\n";
  return text;
}

TEST(SqlLogicTest, ResultsAreAsRecorded) {
  std::vector<std::string> all = files();
  query::PostgresSession judge("scyper_sqllogictest");
  ASSERT_FALSE(all.empty());
  for (const auto& file : all) {
    auto records = read_records(file, "postgresql");
    ASSERT_TRUE(records.ok()) << file << ": " << records.status();
    for (auto mode : {query::ExecutionMode::kInterpreted, query::ExecutionMode::kQuick}) {
      const char* name = mode == query::ExecutionMode::kQuick ? "compiled" : "interpreted";
      query::Session session(options_for(mode));
      judge.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
      Outcomes outcomes = Player(&session, options.every, &judge).run(*records);
      std::cout << file << " (" << name << "): " << outcomes.statements << " statements, " << outcomes.queries
                << " queries, " << outcomes.as_postgres << " as on PostgreSQL but not as recorded, "
                << outcomes.mismatches.size() << " wrong" << std::endl;
      EXPECT_TRUE(outcomes.mismatches.empty()) << file << "\n" << summary(outcomes);
    }
  }
}

TEST(SqlLogicTest, ReadsRecords) {
  auto records = parse_records(
      "hash-threshold 8\n\n# comment\nstatement ok\nCREATE TABLE t\n(a)\n\nskipif postgresql\nquery I nosort\nSELECT "
      "0\n----\n"
      "0\n\nonlyif postgresql\nquery IT valuesort x-1\nSELECT 1,\n2\n----\n1\n2\n\nonlyif mysql # "
      "no\nhalt\n\nstatement "
      "error\nSELECT\n\nhalt\n\nstatement ok\nSELECT 9\n",
      "postgresql");
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ((*records)[0].sql, "CREATE TABLE t\n(a)");
  EXPECT_EQ((*records)[1].types, "IT");
  EXPECT_EQ((*records)[1].label, "x-1");
  EXPECT_EQ((*records)[1].expected, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ((*records)[2].kind, RecordKind::kStatementError);
  EXPECT_FALSE(parse_records("query\nSELECT 1\n", "x").ok());
  EXPECT_FALSE(parse_records("statement perhaps\nSELECT 1\n", "x").ok());
}

// As DuckDB and CockroachDB write them.
TEST(SqlLogicTest, UnderstandsOtherDialects) {
  auto records = parse_records(
      "# name: x\nrequire skip_reload\n\nstatement ok\nCREATE TABLE t (a integer, b text, c boolean)\n\n"
      "loop i 0 2\n\nforeach v x y\n\nstatement ok\nINSERT INTO t VALUES (${i}, '${v} z', ${i} = 1)\n\nendloop\n\n"
      "endloop\n\nquery ITT rowsort\nSELECT a, b, c FROM t\n----\n0\tx z\tfalse\n1\ty z\ttrue\n0\ty z\tfalse\n"
      "1\tx z\ttrue\n\nquery IBR colnames\nSELECT a, c, a / 2.0 AS r FROM t WHERE b = 'x z' ORDER BY a\n----\na c r\n"
      "0  false  0\n1  true  0.5\n\nsubtest one\n\nquery error pgcode 22012 division by zero\nSELECT 1 / 0\n\n"
      "statement error\nSELECT nothing\n----\nBinder Error\n\nstatement maybe\nSELECT nothing\n\nmode skip\n\n"
      "statement ok\nnonsense\n\nmode unskip\n\nstatement count 4\nDELETE FROM t\n\nrequire parquet\n\n"
      "statement ok\nnonsense\n",
      "postgresql");
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 11u);
  query::Session session(options_for(query::ExecutionMode::kInterpreted));
  Outcomes outcomes = Player(&session, 1, nullptr).run(*records);
  EXPECT_TRUE(outcomes.mismatches.empty()) << summary(outcomes);
}

TEST(SqlLogicTest, FindsWhatIsWrong) {
  auto records = parse_records(
      "statement ok\nSELEC\n\nstatement error\nSELECT 1\n\nquery I nosort\nSELECT 1\n----\n2\n\nquery I nosort x\n"
      "SELECT 1\n----\n1\n\nquery I nosort x\nSELECT 2\n----\n2\n\nquery II nosort\nSELECT 1\n----\n1\n\n"
      "query I rowsort\nSELECT 1 UNION ALL SELECT 2\n----\n2 values hashing to 6ddb4095eb719e2a9f0a3f95677d24e0\n",
      "postgresql");
  ASSERT_TRUE(records.ok());
  query::Session session(options_for(query::ExecutionMode::kInterpreted));
  Outcomes outcomes = Player(&session, 1, nullptr).run(*records);
  ASSERT_EQ(outcomes.mismatches.size(), 5u) << summary(outcomes);
  EXPECT_EQ(outcomes.mismatches[3].what, "the result of this label was another");
}

}  // namespace

void set_options(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    std::string argument = argv[i];
    if (argument.compare(0, 8, "--every=") == 0)
      options.every = std::max(1, std::atoi(argument.c_str() + 8));
    else
      options.paths.push_back(argument);
  }
  if (options.paths.empty()) options.paths.push_back(SCYPER_SQLLOGICTEST_DATA);
}

}  // namespace scyper::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  scyper::tests::set_options(argc, argv);
  return RUN_ALL_TESTS();
}
