#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/comes_true.h"
#include "base/test_seed.h"
#include "query/queries.h"
#include "storage/frozen_tier.h"
#include "testing/bank.h"
#include "testing/compacting.h"

// Snapshots of an engine that compacts all the time.
namespace scyper::primary {
namespace {

// Transactions keep the sum; queries on snapshots of every age see it, whatever has been frozen, emptied and written
// over since; a session's answers stay as they were.
void run_snapshots_under_load(EngineOptions options) {
  const uint64_t seed = test_seed();
  options.queries.snapshots.unused_us_max = 60'000'000;
  Bank bank(options);
  // its rows come and go all the time
  ASSERT_TRUE(bank.run("CREATE HOT DATA VIEW poor AS SELECT balance FROM accounts WHERE balance < 1000").ok());
  std::atomic<bool> is_over{false};
  std::vector<std::thread> writers;
  for (uint64_t w = 0; w < 2; ++w) {
    writers.emplace_back([&, w] {
      for (uint64_t i = seed + w * 1000; !is_over; ++i) {
        // long enough that the other partitions are cold meanwhile, however slow freezing is
        const auto b = static_cast<int64_t>(i / 64 % Bank::kBranches);
        ASSERT_TRUE(bank.run("CALL churn($1)", {b}).ok());
        ASSERT_TRUE(
            bank.run("CALL move($1, $2, $3, $4, 7)", {b, static_cast<int64_t>(i % 32), (b + 5) % Bank::kBranches, 3})
                .ok());
        ASSERT_FALSE(bank.run("CALL move_and_fail($1, 1, 2, 5)", {b}).ok());
      }
    });
  }
  query::Queries* queries = bank.engine().queries();
  const auto ask = [&](std::string_view sql, uint64_t session, bool is_fresh) {
    query::QueryOptions how;
    how.session = session;
    if (!is_fresh) how.freshness.kind = query::Freshness::Kind::kStaleness;
    if (!is_fresh) how.freshness.staleness_us = 50'000;
    query::ResultSet result;
    const Status status = queries->execute(sql, {}, how, &result, nullptr);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
  };
  constexpr std::string_view kSum = "SELECT sum(balance)::bigint FROM accounts";
  constexpr std::string_view kPoor = "SELECT count(*) FROM accounts WHERE balance < 1000";
  constexpr std::string_view kPoorOfAll =
      "SELECT sum(CASE WHEN balance < 1000 THEN 1 ELSE 0 END)::bigint FROM accounts";
  constexpr std::string_view kShape = "SELECT sum(balance * (branch * 32 + id))::bigint FROM accounts";
  for (int round = 0; round < 5; ++round) {
    auto session = queries->open_session({}, nullptr);
    ASSERT_TRUE(session.ok()) << session.status();
    const auto shape = ask(kShape, *session, true);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(ask(kSum, 0, i % 2 == 0), 16 * 32 * 1000);
      const uint64_t before = frozen_chunks(&bank.engine());
      EXPECT_TRUE(comes_true([&] { return frozen_chunks(&bank.engine()) > before; }));
      EXPECT_EQ(ask(kShape, *session, true), shape);
      EXPECT_EQ(ask(kPoor, *session, true), ask(kPoorOfAll, *session, true));
    }
    EXPECT_TRUE(queries->close_session(*session).ok());
  }
  if (storage::FrozenTier* tier = bank.engine().database().tier(); tier != nullptr) {
    EXPECT_TRUE(comes_true([&] {
      EXPECT_EQ(ask(kSum, 0, true), 16 * 32 * 1000);
      return tier->counts().evictions > 0 && tier->cache()->statistics().pages_read > 0;
    }));
  }
  is_over = true;
  for (std::thread& writer : writers) writer.join();
  bank.check_tables();
  const auto counts = bank.engine().compaction()->counts();
  EXPECT_GT(counts.emptied, 0u);  // images were given back while snapshots could see them
  EXPECT_GT(counts.moved, 0u);
  EXPECT_GT(counts.placed, 0u);
}

TEST(CompactionTest, SnapshotsUnderLoad) { run_snapshots_under_load(frozen(Bank::small_options())); }
TEST(CompactionTest, SnapshotsOfTieredChunksUnderLoad) {
  run_snapshots_under_load(tiered(frozen(Bank::small_options())));
}

// Queries in snapshots' children tell what they ask; what transactions ask is learned apart.
TEST(CompactionTest, LearnsOfQueriesAndTransactions) {
  Bank bank(tiered(frozen(Bank::small_options(), 50'000)));
  if (bank.engine().database().tier() == nullptr) GTEST_SKIP() << "no io_uring";
  constexpr std::string_view kQuery = "SELECT sum(balance)::bigint FROM accounts WHERE id IN (3, 5)";
  const auto query = [&](std::string_view sql) {
    query::ResultSet result;
    const Status status = bank.engine().queries()->execute(sql, {}, {}, &result, nullptr);
    EXPECT_TRUE(status.ok()) << status;
    std::string text;
    for (size_t row = 0; status.ok() && row < result.row_count(); ++row) {
      const Datum& value = result.value(row, 0);
      text += result.columns[0].type.id == TypeId::kText ? std::string(value.data(), value.size()) + "\n"
                                                         : std::to_string(value.lo);
    }
    return text;
  };
  const auto learned = [&](std::string_view workload) -> std::string {
    for (const Engine::TableInfo& table : bank.engine().tables()) {
      if (table.name != "accounts") continue;
      for (const query::LearnedViewInfo& view : table.learned_views) {
        if (view.workload == workload) return view.condition;
      }
    }
    return "";
  };
  const auto change = [&] { EXPECT_TRUE(bank.run("CALL deposit($1, $2, $3)", {3, 31, 1}).ok()); };
  EXPECT_TRUE(comes_true([&] {
    change();  // else the snapshot stays, as it was before rows were frozen
    for (int i = 0; i < 4; ++i) EXPECT_EQ(query(kQuery), "32000");
    EXPECT_EQ(bank.value_of("SELECT count(*) FROM accounts WHERE id = 9"), 16);
    return learned("analytics") != "" && learned("transactions") != "";
  }));
  EXPECT_EQ(learned("analytics"), "(id = 3 OR id = 5)");
  EXPECT_EQ(learned("transactions"), "id = 9");
  // and left out of what is read
  EXPECT_TRUE(comes_true([&] {
    change();
    EXPECT_EQ(query(kQuery), "32000");
    const std::string plan = query(std::string("EXPLAIN (ANALYZE) ") + std::string(kQuery));
    const size_t at = plan.find("by hot data views: ");
    return at != std::string::npos && plan[at + 19] != '0';
  }));
  EXPECT_GE(bank.engine().compaction()->views_adopted(), 2u);
  EXPECT_GT(bank.engine().compaction()->learning(storage::Workload::kAnalytics).samples, 0u);
  bank.check_tables();
}

}  // namespace
}  // namespace scyper::primary
