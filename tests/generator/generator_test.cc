#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "base/test_seed.h"
#include "generator/comparison.h"
#include "generator/random.h"

// Random scripts on PostgreSQL 15 and on ScyPer in both modes; one that differs is made as small as it goes.
// SCYPER_TEST_SEED repeats a run, SCYPER_TEST_SCRIPT one script of it, SCYPER_TEST_SCRIPTS says how many.
namespace scyper::generator {
namespace {

#ifdef SCYPER_SANITIZED
constexpr int kStatements = 500, kStatementsFull = 5000, kRoutines = 20, kRoutinesFull = 200;
#else
constexpr int kStatements = 5000, kStatementsFull = 50000, kRoutines = 200, kRoutinesFull = 2000;
#endif
constexpr int kStatementsPerScript = 40, kRoutinesPerScript = 8;
constexpr int kFailuresMax = 10;

bool is_full() { return std::getenv("SCYPER_TEST_FULL") != nullptr; }

void report(const Counts& counts) {
  std::cout << "[   oracle ] " << counts.statements << " statements, " << counts.errors << " fail on both sides, "
            << counts.either_error << " of them at different rows\n";
  for (const auto& [what, times] : counts.refused) std::cout << "[  refused ] " << times << " x " << what << "\n";
}

void add_failure(Comparison* comparison, uint64_t seed, const Script& script, const Difference& found) {
  const std::string from = script[found.statement].sql();
  const Script small = comparison->shrink(script, found);
  const auto difference = comparison->run(small);
  ASSERT_TRUE(difference.has_value()) << "differed once only: SCYPER_TEST_SCRIPT=" << seed << "\n" << to_string(script);
  auto shown = [](const std::string& text) { return text.substr(0, 1000); };
  ADD_FAILURE() << "SCYPER_TEST_SCRIPT=" << seed << "\n"
                << to_string(small) << "  PostgreSQL\n"
                << shown(difference->postgres) << "\n  interpreted\n"
                << shown(difference->interpreted) << "\n  compiled\n"
                << shown(difference->compiled) << "\n"
                << shown(difference->crash) << "\nfrom " << from;
}

// Runs scripts until they have made `count` of what make() counts.
template <typename Make>
void compare_scripts(int count, const Make& make) {
  Comparison comparison;
  Counts counts;
  if (const char* one = std::getenv("SCYPER_TEST_SCRIPT"); one != nullptr) {
    const uint64_t seed = std::strtoull(one, nullptr, 10);
    int made = 0;
    const Script script = make(seed, &made);
    std::cout << to_string(script);
    if (const auto found = comparison.run(script); found.has_value()) add_failure(&comparison, seed, script, *found);
    return;
  }
  Random seeds(test_seed());
  int failures = 0;
  for (int made = 0; made < count && failures < kFailuresMax;) {
    const uint64_t seed = seeds.next();
    const Script script = make(seed, &made);
    const auto found = comparison.run(script, &counts);
    if (!found.has_value()) continue;
    failures++;
    add_failure(&comparison, seed, script, *found);
  }
  report(counts);
}

TEST(GeneratedScripts, OfStatementsAreAsOnPostgres) {
  compare_scripts(is_full() ? kStatementsFull : kStatements, [](uint64_t seed, int* made) {
    *made += kStatementsPerScript;
    return statement_script(seed, kStatementsPerScript);
  });
}

TEST(GeneratedScripts, OfRoutinesAreAsOnPostgres) {
  compare_scripts(is_full() ? kRoutinesFull : kRoutines, [](uint64_t seed, int* made) {
    *made += kRoutinesPerScript;
    return routine_script(seed, kRoutinesPerScript);
  });
}

TEST(GeneratedScripts, DependOnTheirSeedOnly) {
  EXPECT_EQ(to_string(statement_script(5, 40)), to_string(statement_script(5, 40)));
  EXPECT_NE(to_string(statement_script(5, 40)), to_string(statement_script(6, 40)));
  EXPECT_EQ(to_string(routine_script(5, 4)), to_string(routine_script(5, 4)));
  EXPECT_NE(to_string(routine_script(5, 4)), to_string(routine_script(6, 4)));
}

}  // namespace
}  // namespace scyper::generator
