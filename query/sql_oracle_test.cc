#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <utility>

#include "base/test_slice.h"
#include "testing/corpus.h"
#include "testing/outcome.h"

// Statements of tests/data/sql on PostgreSQL 15 and on ScyPer in both execution modes: the same rows, column names,
// notices, SQLSTATEs, messages and positions. What ScyPer refuses by name (0A000) is counted and shown.
namespace scyper::query {
namespace {

DatabaseOptions options_for(ExecutionMode mode) {
  DatabaseOptions options;
  options.partitions = 4;
  options.memory_bytes = size_t{1} << 30;
  options.execution = mode;
  if (mode == ExecutionMode::kInterpreted) options.filter_from_ns = -1;  // wherever it can
  return options;
}

bool same_outcome(const CorpusStatement& statement, StatementOutcome truth, StatementOutcome ours) {
  if (truth.sqlstate != ours.sqlstate) return false;
  if (!truth.ok()) {
    if (!statement.state_only.empty()) return true;
    // PostgreSQL reports no position for what it finds in a body; ours is in the body's own text
    bool has_body = statement.text.find("$$") != std::string::npos;
    return truth.message == ours.message && (has_body || truth.position == ours.position) &&
           truth.notices == ours.notices;
  }
  if (!is_ordered(statement.text)) {
    std::sort(truth.rows.begin(), truth.rows.end());
    std::sort(ours.rows.begin(), ours.rows.end());
  }
  return truth.names == ours.names && truth.rows == ours.rows && truth.notices == ours.notices;
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, IsAsOnPostgres) {
  PostgresSession postgres("scyper_sql_" + GetParam());
  Session interpreted(options_for(ExecutionMode::kInterpreted));
  Session native(options_for(ExecutionMode::kQuick));
  Session shared(options_for(ExecutionMode::kInterpreted));
  Session shared_native(options_for(ExecutionMode::kQuick));
  int normalised = 0, normalised_native = 0;
  std::map<std::string, int> refused;
  int compared = 0, listed = 0;
  const bool trace = std::getenv("SCYPER_TEST_TRACE") != nullptr;  // to find the one that ends the process
  for (const auto& statement : read_corpus(SCYPER_SQL_CORPUS "/" + GetParam() + ".sql")) {
    if (trace) std::cerr << statement.file << ":" << statement.line << ": " << statement.text << std::endl;
    StatementOutcome truth = postgres.run(for_postgres(statement.text));
    StatementOutcome first = run_statement(&interpreted, statement.text);
    StatementOutcome second = run_statement(&native, statement.text);
    EXPECT_EQ(to_string(first), to_string(second)) << statement.file << ":" << statement.line;
    EXPECT_EQ(to_string(first), to_string(run_statement(&shared, statement.text, &normalised)))
        << statement.file << ":" << statement.line << " with literals as parameters";
    EXPECT_EQ(to_string(second), to_string(run_statement(&shared_native, statement.text, &normalised_native)))
        << statement.file << ":" << statement.line << " with literals as parameters";
    if (first.sqlstate == "0A000" && truth.sqlstate != "0A000") {
      refused[first.message]++;
      continue;
    }
    if (!statement.differs.empty()) {
      listed++;
      continue;
    }
    compared++;
    if (same_outcome(statement, truth, first)) continue;
    ADD_FAILURE() << statement.file << ":" << statement.line << ": " << statement.text << "\n  PostgreSQL "
                  << to_string(truth) << "\n  ours       " << to_string(first);
  }
  std::cout << "[   oracle ] " << compared << " statements compared, " << listed << " known to differ, " << normalised
            << " normalised";
  for (const auto& [what, count] : refused) std::cout << "\n[  refused ] " << count << " x " << what;
  std::cout << "\n";
}

std::vector<std::string> corpus_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SCYPER_SQL_CORPUS))
    if (entry.path().extension() == ".sql") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return every_in_slice(std::move(names), 2);
}
INSTANTIATE_TEST_SUITE_P(Files, Corpus, testing::ValuesIn(corpus_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace scyper::query
