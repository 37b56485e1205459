// TPC-C's consistency conditions and the state of all tables, before and after a restart.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "ch_database.h"
#include "oltp.h"
#include "primary/engine.h"
#include "replay/recovery.h"
#include "replay/state_digest.h"
#include "replication/digests.h"
#include "session.h"
#include "storage/partition_digest.h"
#include "storage/table.h"

namespace scyper::tests {
namespace {

primary::EngineOptions options_for(const std::string& directory, primary::RedoMode redo) {
  primary::EngineOptions options;
  options.partitions = 4;
  options.workers = 2;
  options.memory_bytes = size_t{1} << 30;
  options.page_mode = storage::PageMode::kSmall;
  options.redo = redo;
  options.log.directory = directory;
  options.log.segment_bytes = 4 << 20;
  options.compaction.mode = replay::CompactionMode::kForced;
  options.compaction.window_us = 50'000;
  return options;
}

// LSN and digest of all tables, as a fork sees them.
struct State {
  uint64_t lsn = 0;
  storage::Digest digest;
  friend bool operator==(const State& a, const State& b) { return a.lsn == b.lsn && a.digest == b.digest; }
};

State state_of(primary::Engine* engine) {
  primary::ForkRequest request;
  request.body = [](const query::ForkedDatabase& forked, int socket) {
    State state;
    state.lsn = forked.point.lsn;
    for (const auto& [name, table] : forked.point.catalog->tables) {
      const storage::Digest one = storage::table_digest(*table);
      state.digest.add(one.lo, one.hi);
    }
    return ::send(socket, &state, sizeof(state), 0) == sizeof(state) ? 0 : 1;
  };
  State state;
  auto forked = engine->fork(std::move(request));
  EXPECT_TRUE(forked.ok()) << forked.status();
  if (forked.ok()) EXPECT_EQ(::recv(forked->child->socket(), &state, sizeof(state), MSG_WAITALL), sizeof(state));
  return state;
}

class TpccRestartTest : public testing::TestWithParam<std::tuple<primary::RedoMode, bool>> {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/scyper_tpcc_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void run_mix(primary::Engine* engine, const ch::Generator& generator, uint64_t seed) {
    client::OltpOptions oltp;
    oltp.transactions = 3000;
    oltp.mix.seed = seed;
    oltp.mix.crossing_percent = 10;
    auto result = client::run_oltp_in_process(engine, generator, oltp, 2, nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
  }
  void expect_consistent(primary::Engine* engine, const ch::Scale& scale) {
    auto session = client::local_session(engine);
    const auto report = client::check_consistency(session.get(), scale, /*after_load=*/false);
    EXPECT_GE(report.checked, 11);
    for (const auto& violation : report.violations) ADD_FAILURE() << violation.name << ": " << violation.meaning;
  }

  // What one holds of the primary's data directory, which stays as it is.
  StatusOr<std::unique_ptr<query::Database>> recover_partitions(const PartitionSet& held, uint32_t partitions) {
    const auto disk = make_real_disk();
    query::DatabaseOptions options;
    options.partitions = partitions;
    options.memory_bytes = size_t{1} << 30;
    options.page_mode = storage::PageMode::kSmall;
    SCYPER_ASSIGN_OR_RETURN(auto database, query::Database::create(options));
    SCYPER_ASSIGN_OR_RETURN(const auto identity, replay::open_data_directory(disk.get(), directory_, 0));
    replay::RecoveryOptions recovery;
    recovery.partitions = held;
    recovery.cuts = false;
    SCYPER_RETURN_IF_ERROR(replay::recover(disk.get(), directory_, identity, database.get(), recovery).status());
    return database;
  }
  // CH-benCHmark and transactions, with an archive between them or without.
  void fill(primary::Engine* engine, const ch::Generator& generator, const client::ChDatabaseOptions& database,
            bool with_archive) {
    auto session = client::local_session(engine);
    ASSERT_TRUE(client::create_ch_database(session.get(), generator, database).ok());
    run_mix(engine, generator, 1);
    if (with_archive) ASSERT_TRUE(engine->write_archive("", nullptr).ok());
    run_mix(engine, generator, 2);
  }
  static replication::StateDigest digest_of(query::Database& database, const PartitionSet& held) {
    replication::StateDigest state;
    for (const auto& [name, table] : database.catalog()->tables) {
      for (uint32_t i = 0; i < table->partition_count(); ++i) {
        const uint64_t rows = table->partition(i)->live_tuples;
        const bool is_shared = table->schema().scheme == storage::PartitionScheme::kShared;
        if (!is_shared && !held.has(i) && rows == 0) continue;
        const auto digest = storage::partition_digest(*table, i);
        EXPECT_TRUE(digest.ok()) << digest.status();
        state.parts.push_back({name, i, digest->lo, digest->hi, rows, is_shared});
      }
    }
    return state;
  }

  std::string directory_;
};

TEST_P(TpccRestartTest, SameTablesAndConditions) {
  const auto [redo, with_archive] = GetParam();
  client::ChDatabaseOptions database;
  database.generator.scale = ch::Scale::tiny(8);
  database.is_quiet = true;
  const ch::Generator generator(database.generator);
  State before;
  {
    auto engine = primary::Engine::create(options_for(directory_, redo));
    ASSERT_TRUE(engine.ok()) << engine.status();
    ASSERT_NO_FATAL_FAILURE(fill(engine->get(), generator, database, with_archive));
    expect_consistent(engine->get(), database.generator.scale);
    before = state_of(engine->get());
  }
  for (uint32_t threads : {1u, 2u}) {
    primary::EngineOptions options = options_for(directory_, redo);
    options.log.recovery_threads = threads;
    auto engine = primary::Engine::create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    EXPECT_EQ(state_of(engine->get()), before);
    expect_consistent(engine->get(), database.generator.scale);
  }
  auto engine = primary::Engine::create(options_for(directory_, redo));
  ASSERT_TRUE(engine.ok()) << engine.status();
  run_mix(engine->get(), generator, 3);  // and goes on
  expect_consistent(engine->get(), database.generator.scale);
}

// A node that holds one partition of four, from an archive that has nothing else, or from the log.
class TpccPartialTest : public TpccRestartTest {};

TEST_P(TpccPartialTest, OnePartitionIsThePrimarys) {
  const auto [redo, with_archive] = GetParam();
  client::ChDatabaseOptions database;
  database.generator.scale = ch::Scale::tiny(8);
  if (std::getenv("SCYPER_TEST_FULL") != nullptr) {  // where what a node's memory is taken for are rows
    database.generator.scale.items = 100'000;
    database.generator.scale.customers_per_district = database.generator.scale.orders_per_district = 600;
  }
  database.is_quiet = true;
  const ch::Generator generator(database.generator);
  primary::EngineOptions options = options_for(directory_, redo);
  options.physical_crossing = true;
  replication::StateDigest wanted;
  {
    auto engine = primary::Engine::create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    ASSERT_NO_FATAL_FAILURE(fill(engine->get(), generator, database, with_archive));
    auto forked = (*engine)->fork(replay::make_digest_request());
    ASSERT_TRUE(forked.ok()) << forked.status();
    auto digest = replay::read_digest(*forked);
    ASSERT_TRUE(digest.ok()) << digest.status();
    wanted = *std::move(digest);
  }
  size_t all_bytes = 0;
  for (const char* list : {"", "0", "1", "2", "3", "0,2"}) {
    SCOPED_TRACE(list);
    const PartitionSet held = *PartitionSet::parse(list);
    auto node = recover_partitions(held, options.partitions);
    ASSERT_TRUE(node.ok()) << node.status();
    EXPECT_EQ(replication::describe_difference(wanted, digest_of(**node, held), held), "");
    const size_t bytes = (*node)->arena()->used_bytes();
    if (held.is_all()) all_bytes = bytes;
    std::printf("partitions %s: %zu bytes\n", held.is_all() ? "all" : list, bytes);
    if (!held.is_all()) EXPECT_LT(bytes, all_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Redo, TpccPartialTest,
                         testing::Combine(testing::Values(primary::RedoMode::kLogical, primary::RedoMode::kPhysical),
                                          testing::Bool()));
INSTANTIATE_TEST_SUITE_P(Redo, TpccRestartTest,
                         testing::Combine(testing::Values(primary::RedoMode::kLogical, primary::RedoMode::kPhysical),
                                          testing::Bool()));

}  // namespace
}  // namespace scyper::tests
