#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "base/test_seed.h"
#include "generator/comparison.h"
#include "generator/nested_script.h"
#include "generator/random.h"
#include "testing/isolated_session.h"

// Nested queries, and changes with them, on PostgreSQL 15 and on ScyPer (README.md). SCYPER_TEST_SHAPES says which
// shapes, SCYPER_TEST_STATEMENTS how many statements, SCYPER_TEST_FINDINGS a directory that small failing scripts go
// to: with it a run goes on to the end.
namespace scyper::generator {
namespace {

#ifdef SCYPER_SANITIZED
constexpr int kStatements = 1000, kStatementsFull = 10000;
#else
constexpr int kStatements = 20000, kStatementsFull = 200000;
#endif
constexpr int kStatementsPerScript = 100;
constexpr int kCompiledEvery = 8;  // scripts
constexpr int kFailuresMax = 10, kFailuresPerScript = 3, kFailuresPerKind = 5;

int statement_count() {
  if (const char* wanted = std::getenv("SCYPER_TEST_STATEMENTS"); wanted != nullptr) return std::atoi(wanted);
  return std::getenv("SCYPER_TEST_FULL") != nullptr ? kStatementsFull : kStatements;
}

class NestedRun {
 public:
  void run(int count) {
    findings_ = std::getenv("SCYPER_TEST_FINDINGS");
    if (const char* one = std::getenv("SCYPER_TEST_SCRIPT"); one != nullptr) {
      run_script(std::strtoull(one, nullptr, 10), 0, true);
      return;
    }
    Random seeds(test_seed_of_day());
    for (int i = 0; counts_.statements < count && (findings_ != nullptr || failures_ < kFailuresMax); i++)
      run_script(seeds.next(), i, false);
    std::cout << "[   oracle ] " << counts_.statements << " statements, " << counts_.errors << " fail on both sides\n";
    for (const auto& [kind, times] : kinds_) std::cout << "[ differs  ] " << times << " x " << kind << "\n";
    for (const auto& [what, times] : counts_.refused) std::cout << "[  refused ] " << times << " x " << what << "\n";
  }

 private:
  void run_script(uint64_t seed, int number, bool is_shown) {
    const Script script = nested_script(seed, kStatementsPerScript, shapes_);
    if (is_shown) std::cout << to_string(script);
    comparison_.set_compiled(is_shown || number % kCompiledEvery == kCompiledEvery - 1);
    std::vector<std::string> told;
    int failures = 0;
    for (const Difference& found : comparison_.run_all(script, &counts_)) {
      const std::string sql = script[found.statement].sql();
      const std::string around = (found.statement > 0 ? script[found.statement - 1].sql() : "") + sql;
      // the same query in another form
      if (std::any_of(told.begin(), told.end(),
                      [&](const std::string& other) { return around.find(other) != std::string::npos; }))
        continue;
      told.push_back(sql);
      if (++kinds_[kind_of(found)] > kFailuresPerKind && found.interpreted.find("ERROR ") != std::string::npos)
        continue;
      if (++failures > kFailuresPerScript) break;
      tell(seed, script, found);
    }
  }

  void tell(uint64_t seed, const Script& script, const Difference& found) {
    failures_++;
    const Script small = comparison_.shrink(script, found);
    const auto difference = comparison_.run(small);
    auto shown = [](const std::string& text) { return text.substr(0, 1500); };
    const Difference& told = difference.has_value() ? *difference : found;
    const std::string text = to_string(small) + "-- PostgreSQL\n" + shown(told.postgres) + "\n-- interpreted\n" +
                             shown(told.interpreted) + "\n-- compiled\n" + shown(told.compiled) + "\n" +
                             shown(told.crash);
    if (findings_ != nullptr) {
      std::ofstream file(std::string(findings_) + "/" + std::to_string(seed) + "_" + std::to_string(found.statement) +
                         ".found");
      file << (difference.has_value() ? "" : "-- differed once only\n") << text << "\n-- from "
           << script[found.statement].sql() << "\n";
    }
    ADD_FAILURE() << "SCYPER_TEST_SCRIPT=" << seed << (difference.has_value() ? "\n" : " differed once only\n") << text
                  << "\nfrom " << script[found.statement].sql();
  }

  const Shapes shapes_;
  Comparison comparison_;
  Counts counts_;
  const char* findings_ = nullptr;
  int failures_ = 0;
  std::map<std::string, int> kinds_;  // times each
};

TEST(NestedScripts, AreAsOnPostgres) { NestedRun().run(statement_count()); }

// Statements of a file, one a line; comment lines are left out.
Script read_script(const std::filesystem::path& path, bool* is_open) {
  std::ifstream file(path);
  Script script;
  for (std::string line; std::getline(file, line);) {
    *is_open |= line.starts_with("-- open");
    if (line.empty() || line.starts_with("--")) continue;
    if (line.ends_with(";")) line.pop_back();
    script.push_back(query::make('Z', line));
  }
  return script;
}

// Small scripts that were once found. One with a line "-- open: ..." may fail.
TEST(NestedScripts, ThatWereFoundAreAsOnPostgres) {
  Comparison comparison;
  for (const auto& entry : std::filesystem::directory_iterator(SCYPER_FOUND)) {
    bool is_open = false;
    const Script script = read_script(entry.path(), &is_open);
    const auto found = comparison.run(script);
    const std::string name = entry.path().filename().string();
    if (is_open && !found.has_value()) std::cout << "[  mended  ] " << name << ": no longer open\n";
    if (is_open || !found.has_value()) continue;
    ADD_FAILURE() << name << ": " << script[found->statement].sql() << "\n  PostgreSQL\n"
                  << found->postgres << "\n  interpreted\n"
                  << found->interpreted << "\n  compiled\n"
                  << found->compiled << "\n"
                  << found->crash;
  }
}

TEST(NestedScripts, GoOnAfterACrash) {
  query::DatabaseOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{1} << 28;
  query::IsolatedSession session(options);
  session.clear();
  ASSERT_TRUE(session.run("CREATE TABLE t (a integer)").ok());
  ASSERT_EQ(kill(session.process(), SIGABRT), 0);
  const query::StatementOutcome crashed = session.run("SELECT 1");
  EXPECT_TRUE(query::IsolatedSession::is_crash(crashed));
  EXPECT_NE(crashed.message.find("signal 6"), std::string::npos) << crashed.message;
  EXPECT_FALSE(session.is_running());
  EXPECT_EQ(session.run("SELECT 1").sqlstate, "57P01");
  session.clear();
  EXPECT_EQ(session.run("SELECT 1").rows, std::vector<std::string>{"1"});
  EXPECT_EQ(session.run("SELECT * FROM t").sqlstate, "42P01");
}

TEST(NestedScripts, DependOnTheirSeedOnly) {
  const Shapes shapes;
  EXPECT_EQ(to_string(nested_script(5, 40, shapes)), to_string(nested_script(5, 40, shapes)));
  EXPECT_NE(to_string(nested_script(5, 40, shapes)), to_string(nested_script(6, 40, shapes)));
}

}  // namespace
}  // namespace scyper::generator
