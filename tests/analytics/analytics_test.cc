#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "client/ch/csv.h"
#include "client/ch/generator.h"
#include "client/ch/sql.h"
#include "client/ch/tables.h"
#include "testing/postgres_session.h"
#include "testing/session.h"
#include "tpch_data.h"

namespace scyper::query {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

using Queries = std::vector<std::pair<std::string, std::string>>;  // name, text

Queries tpch_queries() {
  Queries queries;
  for (const auto& entry : std::filesystem::directory_iterator(SCYPER_TEST_DATA "/tpch"))
    if (entry.path().filename().string().starts_with("q"))
      queries.emplace_back(entry.path().stem().string(), read(entry.path()));
  std::sort(queries.begin(), queries.end());
  return queries;
}

Queries ch_queries() {
  Queries queries;
  for (int i = 1; i <= 22; i++) queries.emplace_back("q" + std::to_string(i), std::string(ch::query_sql(i)));
  return queries;
}

std::string sorted_lines(std::string text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

DatabaseOptions options_for(ExecutionMode mode) {
  DatabaseOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{2} << 30;
  options.execution = mode;
  if (mode == ExecutionMode::kInterpreted) options.filter_from_ns = -1;  // wherever it can
  return options;
}

// Runs the queries with and without statistics, that is, with different plans.
void compare(PostgresSession* postgres, Session* interpreted, Session* native, const Queries& queries,
             bool wants_rows) {
  for (const auto& [path, text] : queries) {
    StatementOutcome truth = postgres->run(text);
    ASSERT_TRUE(truth.ok()) << path << to_string(truth);
    std::string expected;
    for (const auto& row : truth.rows) expected += row + "\n";
    if (wants_rows) {
      EXPECT_FALSE(truth.rows.empty()) << path << " has no answer to compare";
    }
    EXPECT_EQ(sorted_lines(interpreted->text(text)), sorted_lines(expected)) << path << " interpreted";
    EXPECT_EQ(sorted_lines(native->text(text)), sorted_lines(expected)) << path << " native";
    native->database().refresh_statistics();
    EXPECT_EQ(sorted_lines(native->text(text + " ")), sorted_lines(expected)) << path << " with statistics";
  }
}

bool load(Session* session, const ch::Generator& generator) {
  if (!session->script(ch::schema_sql({.partition_by = "HASH", .with = ""})).ok()) return false;
  for (const auto& table : ch::all_tables())
    for (int32_t w = 1; w <= (table.warehouse_column < 0 ? 1 : generator.scale().warehouses); w++) {
      ch::RowCursor cursor(generator, table.table, w);
      for (ch::RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next())
        if (!session->database().load(table.name, {batch.values, batch.rows * batch.columns}, nullptr).ok())
          return false;
    }
  return true;
}

class ChQueries : public testing::TestWithParam<ch::Profile> {};

TEST_P(ChQueries, AreAsOnPostgres) {
  ch::GeneratorOptions options;
  options.scale = ch::Scale::tiny(3);
  options.profile = GetParam();
  ch::Generator generator(options);
  std::string name = GetParam() == ch::Profile::kSpec ? "spec" : "varied";
  PostgresSession postgres("scyper_ch_" + name);
  // the same test may run in several trees at once
  const std::string own_name = "scyper_ch_" + name + "_" + std::to_string(::getpid());
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / own_name;
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  ASSERT_TRUE(ch::write_csv_files(generator, folder.string()).ok());
  ASSERT_TRUE(postgres.run(ch::schema_sql({.partition_by = "", .with = ""})).ok());
  for (const auto& table : ch::all_tables()) {
    std::filesystem::path file = folder / (std::string(table.name) + ".csv");
    std::filesystem::permissions(file, std::filesystem::perms::all);
    StatementOutcome copied =
        postgres.run("COPY " + std::string(table.name) + " FROM '" + file.string() + "' (FORMAT csv)");
    ASSERT_TRUE(copied.ok()) << to_string(copied);
  }
  ASSERT_TRUE(postgres.run("ANALYZE").ok());
  Session interpreted(options_for(ExecutionMode::kInterpreted)), native(options_for(ExecutionMode::kQuick));
  ASSERT_TRUE(load(&interpreted, generator) && load(&native, generator));
  compare(&postgres, &interpreted, &native, ch_queries(), GetParam() == ch::Profile::kVaried);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Profiles, ChQueries, testing::Values(ch::Profile::kSpec, ch::Profile::kVaried),
                         [](const auto& parameter) {
                           return parameter.param == ch::Profile::kSpec ? "Spec" : "Varied";
                         });

TEST(TpchQueries, AreAsOnPostgres) {
  PostgresSession postgres("scyper_tpch");
  Session interpreted(options_for(ExecutionMode::kInterpreted)), native(options_for(ExecutionMode::kQuick));
  std::string schema = read(SCYPER_TEST_DATA "/tpch/schema.sql");
  ASSERT_TRUE(postgres.run(schema).ok());
  ASSERT_TRUE(interpreted.script(schema).ok() && native.script(schema).ok());
  for (const auto& insert : tests::tpch_inserts()) {
    ASSERT_TRUE(postgres.run(insert).ok()) << insert.substr(0, 200);
    ASSERT_EQ(interpreted.text(insert), "") << insert.substr(0, 200);
    ASSERT_EQ(native.text(insert), "");
  }
  compare(&postgres, &interpreted, &native, tpch_queries(), true);
}

}  // namespace
}  // namespace scyper::query
