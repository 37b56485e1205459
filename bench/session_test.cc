// The compiled procedures against the hand-written ones, which postgres_oracle_test compares with PostgreSQL 15 on the
// same streams: same outcomes, same tables, in both execution modes and layouts, with 4 partitions.
#include <gtest/gtest.h>

#include <cstdlib>

#include "client/ch/outcome.h"
#include "client/ch/sql.h"
#include "limit_engine.h"
#include "testing/session.h"
#include "tpcc_flags.h"

namespace scyper::bench {
namespace {

struct Case {
  const char* name;
  query::ExecutionMode mode;
  storage::Layout layout;
  ch::GeneratorOptions data;
  ch::MixOptions mix;
};

class ProceduresAgainstLimit : public testing::TestWithParam<Case> {
 protected:
  ProceduresAgainstLimit()
      : generator_(GetParam().data), session_(options()), database_(generator_, {.huge_pages = false}) {}

  static query::DatabaseOptions options() {
    query::DatabaseOptions options;
    options.partitions = 4;
    options.memory_bytes = size_t{2} << 30;
    options.page_mode = storage::PageMode::kSmall;
    options.execution = GetParam().mode;
    options.layout = GetParam().layout;
    return options;
  }

  void load() {
    ASSERT_TRUE(session_.script(ch::schema_sql({.partition_by = "HASH", .with = ""})).ok());
    for (const ch::TableInfo& table : ch::all_tables()) {
      for (int32_t w = 1; w <= (table.warehouse_column < 0 ? 1 : generator_.scale().warehouses); ++w) {
        ch::RowCursor cursor(generator_, table.table, w);
        for (ch::RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next())
          ASSERT_TRUE(session_.database().load(table.name, {batch.values, batch.rows * batch.columns}, nullptr).ok());
      }
    }
    ASSERT_TRUE(session_.script(ch::procedures_sql()).ok());
  }

  void prepare() {
    for (int p = 0; p < ch::kProcedureCount; ++p) {
      const auto procedure = static_cast<ch::Procedure>(p);
      std::string sql = "CALL " + std::string(ch::procedure_name(procedure)) + "(";
      for (size_t i = 1; i <= ch::parameter_types(procedure).size(); ++i)
        sql += (i > 1 ? ", $" : "$") + std::to_string(i);
      auto prepared = session_.database().prepare(sql + ")");
      ASSERT_TRUE(prepared.ok()) << prepared.status().message();
      auto program = session_.database().program_of(**prepared);
      ASSERT_TRUE(program.ok());
      ASSERT_TRUE(session_.database().add_companions(**program).ok());
      programs_.push_back(*program);
    }
  }

  std::string line_of(const ch::Call& call, int64_t time) {
    std::string line;
    query::ResultSet result;
    session_.set_time(time);
    Status status = session_.execute(*programs_[static_cast<size_t>(call.procedure)], call.args(), &result);
    if (status.ok())
      ch::append_outcome(line, call.procedure, result.values());
    else
      ch::append_failure(line, call.procedure, sqlstate_of(status));
    return line;
  }

  void expect_equal_tables() {
    for (const ch::TableInfo& info : ch::all_tables()) {
      ch::TableDigest expected;
      database_.for_each_row(info.table, [&](std::span<const Datum> row) { expected.add(info, row); });
      if (expected.rows() == 0) continue;  // not loaded by the limit program
      query::ResultSet result;
      ASSERT_TRUE(session_.run("SELECT * FROM " + std::string(info.name), &result).ok());
      ch::TableDigest digest;
      for (size_t row = 0; row < result.row_count(); ++row)
        digest.add(info, {result.values().data() + row * result.columns.size(), result.columns.size()});
      EXPECT_EQ(digest.text(), expected.text()) << info.name;
    }
  }

  const ch::Generator generator_;
  query::Session session_;
  LimitDatabase database_;
  std::vector<std::shared_ptr<const query::Program>> programs_;
};

const ch::GeneratorOptions kTwo = {.scale = ch::Scale::tiny(2)};
const ch::GeneratorOptions kVaried = {.scale = ch::Scale::tiny(3), .profile = ch::Profile::kVaried};
const ch::MixOptions kCrossing = {.seed = 5, .spec_remote = false, .crossing_percent = 10};

INSTANTIATE_TEST_SUITE_P(
    , ProceduresAgainstLimit,
    testing::Values(
        Case{"interpreted_columns", query::ExecutionMode::kInterpreted, storage::Layout::kColumn, kTwo, {.seed = 1}},
        Case{"interpreted_rows", query::ExecutionMode::kInterpreted, storage::Layout::kRow, kVaried, kCrossing},
        Case{"quick_columns", query::ExecutionMode::kQuick, storage::Layout::kColumn, kVaried, kCrossing},
        Case{"better_rows", query::ExecutionMode::kBetter, storage::Layout::kRow, kTwo, {.seed = 2}},
        Case{"better_columns", query::ExecutionMode::kBetter, storage::Layout::kColumn, kVaried, kCrossing},
        Case{"adaptive", query::ExecutionMode::kAdaptive, storage::Layout::kColumn, kTwo, {.seed = 3}}),
    [](const auto& info) { return info.param.name; });

TEST_P(ProceduresAgainstLimit, SameOutcomesAndTables) {
  load();
  prepare();
  if (HasFatalFailure()) return;
  LimitEngine engine(database_);
  ch::InputStream stream(generator_, GetParam().mix);
  ch::Call call;
  const int count = std::getenv("SCYPER_TEST_FULL") != nullptr ? 20'000 : 4'000;
  for (int i = 0; i < count; ++i) {
    stream.next(call);
    const int64_t time = first_run_time() + i;
    std::string expected;
    const LimitOutcome& outcome = engine.execute(call, time);
    if (outcome.sqlstate.empty())
      ch::append_outcome(expected, call.procedure, outcome.results());
    else
      ch::append_failure(expected, call.procedure, outcome.sqlstate);
    ASSERT_EQ(line_of(call, time), expected) << "transaction " << i;
  }
  expect_equal_tables();
}

}  // namespace
}  // namespace scyper::bench
