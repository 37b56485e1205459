#include "snapshot/query_records.h"

#include <gtest/gtest.h>

#include <string>

namespace scyper::query {
namespace {

constexpr int64_t kHourUs = 3'600'000'000;

Receipt took(double run_ms, uint64_t memory_bytes = 0, uint64_t spilled_bytes = 0) {
  Receipt receipt;
  receipt.wait_ms = 1;
  receipt.compile_ms = 2;
  receipt.run_ms = run_ms;
  receipt.memory_bytes = memory_bytes;
  receipt.spilled_bytes = spilled_bytes;
  return receipt;
}

TEST(QueryRecordsTest, CountsWhatQueriesCost) {
  QueryRecords records;
  records.note("SELECT 1", took(1, 100, 7), 1, true, 0);
  records.note("SELECT 2", took(1, 300, 0), 1, true, 0);
  records.note("SELECT 3", took(1, 200, 5), 0, false, 0);
  Queries::Counters counters;
  records.add_to(&counters);
  EXPECT_EQ(counters.answered, 2u);
  EXPECT_EQ(counters.broken, 1u);
  EXPECT_EQ(counters.memory_bytes, 600u);
  EXPECT_EQ(counters.memory_bytes_max, 300u);
  EXPECT_EQ(counters.spilled_bytes, 12u);
  EXPECT_TRUE(records.slow(0).empty());
}

TEST(QueryRecordsTest, SlowOnesOfTheLastHourWithoutConstants) {
  QueryRecords records;
  records.note("SELECT * FROM patients WHERE name = 'Ada' AND age > 36", took(50), 3, true, 1);
  records.note("SELECT * FROM patients WHERE name = 'Bob' AND age > 7", took(80, 9, 8), 4, true, 2);
  records.note("SELECT * FROM patients WHERE name = 'Eve' AND age > 7", took(60), 5, true, 3);
  records.note("SELECT secret FROM", took(70), 0, false, 4);  // is not parsed: could not be cleaned
  const auto slow = records.slow(5);
  ASSERT_EQ(slow.size(), 2u);
  EXPECT_EQ(slow[0].text, "SELECT * FROM patients WHERE name = $1 AND age > $2");
  EXPECT_EQ(slow[0].total_ms, 83);
  EXPECT_EQ(slow[0].times, 3u);
  EXPECT_EQ(slow[0].rows, 4u);
  EXPECT_EQ(slow[0].memory_bytes, 9u);
  EXPECT_EQ(slow[0].spilled_bytes, 8u);
  EXPECT_TRUE(slow[0].is_answered);
  EXPECT_EQ(slow[1].text, "(not shown)");
  EXPECT_FALSE(slow[1].is_answered);
  EXPECT_TRUE(records.slow(5 + kHourUs).empty());
  records.note("SELECT 1", took(20), 1, true, 5 + kHourUs);
  EXPECT_EQ(records.slow(5 + kHourUs).size(), 1u);
}

TEST(QueryRecordsTest, ListAndTextsAreBounded) {
  QueryRecords records;
  for (int i = 1; i <= 200; ++i) {
    records.note("SELECT * FROM t" + std::to_string(i), took(100 + i * 37 % 200), 1, true, i);
  }
  const auto slow = records.slow(200);
  ASSERT_EQ(slow.size(), 20u);
  for (size_t i = 0; i < slow.size(); ++i) EXPECT_EQ(slow[i].run_ms, 299 - static_cast<double>(i));
  std::string names;
  for (int i = 0; i < 300; ++i) names += "\xc3\xa9";
  const std::string shown = shown_text("SELECT a" + names + " FROM t");  // one odd byte before: the cut is within one
  EXPECT_LE(shown.size(), 503u);
  EXPECT_TRUE(shown.ends_with("\xc3\xa9...")) << shown;
  EXPECT_EQ(shown_text(""), "(a long text)");
}

}  // namespace
}  // namespace scyper::query
