// What PostgreSQL 15 says about the benchmark itself: the limit program does the same work, the consistency conditions
// hold and notice violations, the varied data have an answer to every query.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "client/ch/consistency.h"
#include "client/ch/outcome.h"
#include "client/ch/sql.h"
#include "limit_engine.h"
#include "postgres_tpcc.h"
#include "tpcc_flags.h"

namespace scyper::bench {
namespace {

// The server of this ctest run, or any other.
std::string server_connection() {
  const char* connection = std::getenv("SCYPER_TEST_POSTGRES");
  return connection != nullptr ? connection : "host=/none";
}

// The long slice (bench_oracle_full_test): 20,000 calls instead of 2,000, the queries on a whole warehouse.
bool full_run() { return std::getenv("SCYPER_TEST_ORACLE_FULL") != nullptr; }

std::unique_ptr<PostgresTpcc> create_database(const ch::Generator& generator) {
  auto tpcc = PostgresTpcc::create(server_connection(), generator);
  EXPECT_TRUE(tpcc.ok()) << tpcc.status().message() << "\n(run by ctest, or set SCYPER_TEST_POSTGRES to a server)";
  return tpcc.ok() ? *std::move(tpcc) : nullptr;
}

std::string limit_line(LimitEngine& engine, const ch::Call& call, int64_t time) {
  std::string line;
  const LimitOutcome& outcome = engine.execute(call, time);
  if (outcome.sqlstate.empty()) {
    ch::append_outcome(line, call.procedure, outcome.results());
  } else {
    ch::append_failure(line, call.procedure, outcome.sqlstate);
  }
  return line;
}

// Both run `count` calls of the same stream; the first difference ends it.
void run_both(PostgresTpcc& tpcc, LimitEngine& engine, ch::InputStream& stream, int count) {
  ASSERT_TRUE(tpcc.session().begin_pipeline().ok());
  ch::Call call;
  for (int i = 0; i < count; ++i) {
    stream.next(call);
    std::string line;
    bool failed = false;
    ASSERT_TRUE(tpcc.send(call).ok());
    ASSERT_TRUE(tpcc.receive(&line, &failed).ok());
    ASSERT_EQ(limit_line(engine, call, first_run_time() + i), line) << "transaction " << i;
    ASSERT_EQ(failed, call.rolls_back);
  }
  ASSERT_TRUE(tpcc.session().end_pipeline().ok());
}

void expect_equal_tables(PostgresTpcc& tpcc, const LimitDatabase& database) {
  const auto digests = tpcc.table_digests();
  ASSERT_TRUE(digests.ok());
  for (const ch::TableInfo& info : ch::all_tables()) {
    ch::TableDigest digest;
    database.for_each_row(info.table, [&](std::span<const Datum> row) { digest.add(info, row); });
    if (digest.rows() == 0) continue;  // not loaded: supplier, nation, region
    EXPECT_EQ(digest.text(), digests->at(std::string(info.name))) << info.name;
  }
}

int64_t violations(PostgresTpcc& tpcc, const ch::ConsistencyCheck& check) {
  const auto count = tpcc.session().value("SELECT count(*) FROM (" + check.sql + ") violations");
  EXPECT_TRUE(count.ok()) << check.name << ": " << count.status().message();
  return count.ok() ? std::stoll(*count) : -1;
}

void expect_consistent(PostgresTpcc& tpcc, const ch::Scale& scale, bool after_load) {
  for (const ch::ConsistencyCheck& check : ch::consistency_checks(scale)) {
    if (!check.after_load_only || after_load) {
      EXPECT_EQ(violations(tpcc, check), 0) << check.name;
    }
  }
}

struct Case {
  const char* name;
  ch::GeneratorOptions data;
  ch::MixOptions mix;
};

class LimitAgainstPostgres : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    , LimitAgainstPostgres,
    testing::Values(
        Case{"one_warehouse", {.scale = ch::Scale::tiny(1)}, {.seed = 1}},
        Case{"crossing", {.scale = ch::Scale::tiny(3)}, {.seed = 2, .spec_remote = false, .crossing_percent = 50}},
        Case{"varied", {.scale = ch::Scale::tiny(2), .profile = ch::Profile::kVaried}, {.seed = 3}}),
    [](const auto& info) { return info.param.name; });

TEST_P(LimitAgainstPostgres, SameOutcomesTablesAndConsistency) {
  const ch::Generator generator(GetParam().data);
  const auto tpcc = create_database(generator);
  ASSERT_NE(tpcc, nullptr);
  const auto database = std::make_unique<LimitDatabase>(generator, LimitOptions{.huge_pages = false});
  LimitEngine engine(*database);
  expect_equal_tables(*tpcc, *database);
  expect_consistent(*tpcc, generator.scale(), true);
  ch::InputStream stream(generator, GetParam().mix);
  run_both(*tpcc, engine, stream, full_run() ? 20'000 : 2'000);
  if (HasFatalFailure()) return;
  expect_equal_tables(*tpcc, *database);
  expect_consistent(*tpcc, generator.scale(), false);
}

// Every check finds what breaks its condition, planted into a consistent database and taken back.
TEST(Consistency, FindsPlantedViolations) {
  const ch::Generator generator({.scale = ch::Scale::tiny(2), .profile = ch::Profile::kVaried});
  const auto tpcc = create_database(generator);
  ASSERT_NE(tpcc, nullptr);
  struct Plant {
    const char* check;
    const char* sql;
  };
  const Plant plants[] = {
      {"1", "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2"},
      {"2a", "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = 120"},
      {"2b", "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 4 AND no_o_id = 120"},
      {"3", "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 10 AND no_o_id = 100"},
      {"4", "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 7 AND ol_number = 1"},
      {"5a", "UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 5"},
      {"5b", "UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 119"},
      {"6a", "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 5"},
      {"6b", "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 7"},
      {"7",
       "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 9 AND ol_o_id = 1 AND "
       "ol_number = 2"},
      {"7",
       "UPDATE order_line SET ol_delivery_d = now() WHERE ol_w_id = 1 AND ol_d_id = 9 AND ol_o_id = 120 AND "
       "ol_number = 2"},
      {"8", "UPDATE history SET h_amount = h_amount + 1 WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 1"},
      {"9", "UPDATE district SET d_ytd = d_ytd - 0.01 WHERE d_w_id = 1 AND d_id = 10"},
      {"10a", "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id % 3 <> 0"},
      {"10b", "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3"},
      {"11", "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 10 AND no_o_id = 100"},
      {"12a", "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 2"},
      {"12b", "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3"},
  };
  std::set<std::string> proven;
  const auto checks = ch::consistency_checks(generator.scale());
  for (const Plant& plant : plants) {
    ASSERT_TRUE(tpcc->session().run("BEGIN").ok());
    ASSERT_TRUE(tpcc->session().run(plant.sql).ok()) << plant.sql;
    for (const ch::ConsistencyCheck& check : checks) {
      if (check.name == plant.check) {
        EXPECT_GT(violations(*tpcc, check), 0) << plant.check << ": " << plant.sql;
      }
    }
    ASSERT_TRUE(tpcc->session().run("ROLLBACK").ok());
    proven.insert(plant.check);
  }
  std::set<int> conditions;
  for (const ch::ConsistencyCheck& check : checks) {
    EXPECT_TRUE(proven.contains(check.name)) << check.name;
    conditions.insert(check.condition);
  }
  EXPECT_EQ(conditions.size(), 12U);
  expect_consistent(*tpcc, generator.scale(), true);
}

TEST(VariedProfile, EveryQueryHasAnAnswer) {
  const ch::Scale scale = full_run() ? ch::Scale{.warehouses = 1} : ch::Scale::tiny(3);
  const ch::Generator generator({.scale = scale, .profile = ch::Profile::kVaried});
  const auto tpcc = create_database(generator);
  ASSERT_NE(tpcc, nullptr);
  // these scans are not what the calls need
  ASSERT_TRUE(tpcc->session().run("RESET enable_seqscan; RESET enable_bitmapscan").ok());
  for (int number = 1; number <= ch::kQueryCount; ++number) {
    const std::string sql(ch::query_sql(number));
    // a row with a value: a sum over nothing is one NULL
    const auto answers = tpcc->session().value("SELECT count(*) FROM (" + sql + ") q WHERE NOT (q IS NULL)");
    ASSERT_TRUE(answers.ok()) << number << ": " << answers.status().message();
    EXPECT_GT(std::stoll(*answers), 0) << "query " << number;
  }
}

}  // namespace
}  // namespace scyper::bench
