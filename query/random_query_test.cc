#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "base/test_seed.h"
#include "testing/postgres_session.h"
#include "testing/query_maker.h"
#include "testing/session.h"
#include "types/datum_text.h"

// Random queries over small tables, on PostgreSQL 15 and on ScyPer in both modes; a query that differs is made as small
// as it goes. SCYPER_TEST_SEED repeats a run, SCYPER_TEST_QUERIES says how many.
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

std::string text_of(Session* session, const std::string& sql) {
  std::string text = session->text(sql);
  return text.compare(0, 6, "ERROR ") == 0 ? text.substr(0, 11) : text;
}

class Comparison {
 public:
  explicit Comparison(uint64_t seed)
      : maker_(seed),
        postgres_("scyper_random_" + std::to_string(getpid())),  // sanitized ones may run beside it
        interpreted_(options_for(ExecutionMode::kInterpreted)),
        native_(options_for(ExecutionMode::kQuick)) {
    check_ok(postgres_.run("SET jit = off").ok(), "jit");  // PostgreSQL's estimates of these would compile many of them
    for (const auto& sql : maker_.tables()) {
      check_ok(postgres_.run(sql).ok(), sql);
      check_ok(interpreted_.run(sql).ok(), sql);
      check_ok(native_.run(sql).ok(), sql);
    }
  }

  void run(int count) {
    constexpr int kBatch = 100;
    const bool trace = std::getenv("SCYPER_TEST_TRACE") != nullptr;  // to find the one that ends the process
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

  // 0 = alike, 1 = refused, 2 = different.
  int differs(const std::string& sql, const std::string& truth) {
    std::string first = text_of(&interpreted_, sql);
    if (first == "ERROR 0A000") return 1;
    return truth == first && truth == text_of(&native_, sql) ? 0 : 2;
  }

  void compare(const Term& term, const std::string& sql, const std::string& truth) {
    errors_ += truth.compare(0, 6, "ERROR ") == 0 ? 1 : 0;
    int outcome = differs(sql, truth);
    if (outcome == 1) {
      std::string message = interpreted_.text(sql);
      refused_[message.substr(std::min<size_t>(13, message.size()))]++;
    }
    if (outcome < 2) return;
    wrong_++;
    std::string small = shrink(term).sql();
    auto shown = [](const std::string& text) { return text.substr(0, 1000); };
    ADD_FAILURE() << small << "\n  PostgreSQL\n"
                  << shown(text_of(postgres_.run(small))) << "\n  interpreted\n"
                  << shown(interpreted_.text(small)) << "\n  native\n"
                  << shown(native_.text(small)) << "\nfrom " << sql;
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
  Session interpreted_;
  Session native_;
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
