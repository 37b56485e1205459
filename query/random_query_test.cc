#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/test_seed.h"
#include "testing/isolated_session.h"
#include "testing/postgres_session.h"
#include "testing/query_maker.h"

// Random queries over small tables, on PostgreSQL 15 and on ScyPer in both modes; a query that differs, or that ends
// the process, is made as small as it goes. SCYPER_TEST_SEED repeats a run, SCYPER_TEST_QUERIES says how many.
namespace scyper::query {
namespace {

DatabaseOptions options_for(ExecutionMode mode) {
  DatabaseOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{1} << 30;
  options.execution = mode;
  options.filter_from_ns = -1;  // wherever it can
  return options;
}

std::string text_of(const StatementOutcome& outcome) {
  if (!outcome.ok()) return "ERROR " + outcome.sqlstate;
  std::string text;
  for (size_t i = 0; i < outcome.rows.size(); i++) text += (i == 0 ? "" : "\n") + outcome.rows[i];
  return text;
}

class Comparison {
 public:
  explicit Comparison(uint64_t seed)
      : maker_(seed),
        postgres_("scyper_random_" + std::to_string(getpid())),  // sanitized ones may run beside it
        interpreted_(options_for(ExecutionMode::kInterpreted)),
        native_(options_for(ExecutionMode::kQuick)) {
    check_ok(postgres_.run("SET jit = off").ok(), "jit");  // PostgreSQL's estimates of these would compile many of them
    tables_ = maker_.tables();
    for (const auto& sql : tables_) check_ok(postgres_.run(sql).ok(), sql);
  }

  void run(int count) {
    constexpr int kBatch = 100;
    const bool trace = std::getenv("SCYPER_TEST_TRACE") != nullptr;
    for (int done = 0; done < count && wrong_ < 10; done += kBatch) {
      std::vector<Term> terms;
      std::vector<std::string> queries;
      for (int i = 0; i < std::min(kBatch, count - done); i++) {
        terms.push_back(maker_.query());
        queries.push_back(terms.back().sql());
      }
      std::vector<StatementOutcome> truths = postgres_.run_all(queries);
      for (size_t i = 0; i < queries.size() && wrong_ < 10; i++) {
        if (trace) std::cerr << queries[i] << std::endl;
        compare(terms[i], queries[i], text_of(truths[i]));
      }
    }
  }

  void report(int count) const {
    std::cout << "[   oracle ] " << count << " queries, " << errors_ << " fail on both sides\n";
    for (const auto& [what, times] : refused_) std::cout << "[  refused ] " << times << " x " << what << "\n";
  }

 private:
  static void check_ok(bool ok, const std::string& sql) { ASSERT_TRUE(ok) << sql; }

  // One that a crash has ended begins anew.
  StatementOutcome run(IsolatedSession* session, const std::string& sql) {
    if (!session->is_running()) {
      session->clear();
      for (const auto& table : tables_) check_ok(session->run(table).ok(), table);
    }
    return session->run(sql);
  }

  // 0 = alike, 1 = refused, 2 = different.
  int differs(const std::string& sql, const std::string& truth) {
    const std::string first = text_of(run(&interpreted_, sql));
    if (first == "ERROR 0A000") return 1;
    return truth == first && truth == text_of(run(&native_, sql)) ? 0 : 2;
  }

  void compare(const Term& term, const std::string& sql, const std::string& truth) {
    errors_ += truth.compare(0, 6, "ERROR ") == 0 ? 1 : 0;
    int outcome = differs(sql, truth);
    if (outcome == 1) {
      refused_[run(&interpreted_, sql).message]++;
    }
    if (outcome < 2) return;
    wrong_++;
    std::string small = shrink(term).sql();
    auto shown = [](const std::string& text) { return text.substr(0, 1000); };
    ADD_FAILURE() << small << "\n  PostgreSQL\n"
                  << shown(text_of(postgres_.run(small))) << "\n  interpreted\n"
                  << shown(to_string(run(&interpreted_, small))) << "\n  native\n"
                  << shown(to_string(run(&native_, small))) << "\nfrom " << sql;
  }

  // Takes the first simpler query that still differs, again and again.
  Term shrink(Term term) {
    constexpr int kTries = 600;
    int tries = 0;
    for (bool smaller = true; smaller && tries < kTries;) {
      smaller = false;
      for (Term& candidate : simpler_terms(term)) {
        std::string sql = candidate.sql();
        if (sql.size() >= term.sql().size()) continue;
        if (++tries > kTries) break;
        if (differs(sql, text_of(postgres_.run(sql))) != 2) continue;
        term = std::move(candidate);
        smaller = true;
        break;
      }
    }
    return term;
  }

  QueryMaker maker_;
  PostgresSession postgres_;
  IsolatedSession interpreted_;
  IsolatedSession native_;
  std::vector<std::string> tables_;
  int errors_ = 0, wrong_ = 0;
  std::map<std::string, int> refused_;
};

#ifdef SCYPER_SANITIZED
constexpr int kQueries = 2000;
#else
constexpr int kQueries = 20000;
#endif

TEST(RandomQueries, AreAsOnPostgres) {
  const char* wanted = std::getenv("SCYPER_TEST_QUERIES");
  int count = wanted != nullptr ? std::atoi(wanted) : kQueries;
  Comparison comparison(test_seed());
  comparison.run(count);
  comparison.report(count);
}

TEST(RandomQueries, ShrinkToTheirParts) {
  QueryMaker maker(7);
  Term term = maker.query();
  for (int i = 0; i < 50; i++) {
    std::vector<Term> simpler = simpler_terms(term);
    if (simpler.empty()) break;
    term = simpler.front();
  }
  EXPECT_TRUE(simpler_terms(term).empty() || term.sql().size() < 400) << term.sql();
}

}  // namespace
}  // namespace scyper::query
