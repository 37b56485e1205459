#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include <fstream>
#include <sstream>

#include "csv.h"
#include "load_csv.h"
#include "programs.h"
#include "query/value_text.h"
#include "result_format.h"
#include "testing/fake_engine.h"

namespace scyper::client {
namespace {

TEST(CsvReader, ReadsQuotesAndLineBreaks) {
  std::istringstream in("a,\"b \"\"x\"\"\",\r\n\"two\nlines\",,\"\"\nlast");
  CsvReader reader(&in, ',');
  std::vector<CsvField> record;
  ASSERT_TRUE(*reader.next(&record));
  ASSERT_EQ(record.size(), 3u);
  EXPECT_EQ(record[1].text, "b \"x\"");
  EXPECT_FALSE(record[2].is_quoted);
  ASSERT_TRUE(*reader.next(&record));
  EXPECT_EQ(reader.line(), 2u);
  EXPECT_EQ(record[0].text, "two\nlines");
  EXPECT_TRUE(record[2].is_quoted);
  ASSERT_TRUE(*reader.next(&record));
  EXPECT_EQ(reader.line(), 4u);
  EXPECT_EQ(record[0].text, "last");
  EXPECT_FALSE(*reader.next(&record));
  std::istringstream open("a\n\"b");
  CsvReader bad(&open, ',');
  ASSERT_TRUE(*bad.next(&record));
  EXPECT_EQ(sqlstate_of(bad.next(&record).status()), "22P04");
}

std::string round_trip(const SqlType& type, std::string_view text) {
  query::ValueArena arena;
  Datum value;
  Status status = query::parse_value(type, text, &arena, &value);
  return status.ok() ? value_text(type, value) : sqlstate_of(status);
}

TEST(ParseValue, ReadsWhatPostgresPrints) {
  EXPECT_EQ(round_trip(make_type(TypeId::kInt2), " -32768 "), "-32768");
  EXPECT_EQ(round_trip(make_type(TypeId::kInt2), "32768"), "22003");
  EXPECT_EQ(round_trip(make_type(TypeId::kInt8), "99999999999999999999"), "22003");
  EXPECT_EQ(round_trip(make_type(TypeId::kInt4), "1x"), "22P02");
  EXPECT_EQ(round_trip(make_type(TypeId::kInt4), ""), "22P02");
  EXPECT_EQ(round_trip(make_numeric(5, 2), "-1.005"), "-1.01");
  EXPECT_EQ(round_trip(make_numeric(5, 2), "1000"), "22003");
  EXPECT_EQ(round_trip(make_type(TypeId::kNumeric), "00012.3400"), "12.3400");
  EXPECT_EQ(round_trip(make_type(TypeId::kNumeric), "."), "22P02");
  EXPECT_EQ(round_trip(make_type(TypeId::kBool), "Yes"), "t");
  EXPECT_EQ(round_trip(make_type(TypeId::kFloat8), "1e3"), "1000");
  EXPECT_EQ(round_trip(make_type(TypeId::kDate), "2024-02-29"), "2024-02-29");
  EXPECT_EQ(round_trip(make_type(TypeId::kDate), "2023-02-29"), "22008");
  EXPECT_EQ(round_trip(make_type(TypeId::kTimestamp), "1999-12-31T23:59:59.5"), "1999-12-31 23:59:59.5");
  EXPECT_EQ(round_trip(make_type(TypeId::kTimestamp), "2024-01-01"), "2024-01-01 00:00:00");
  EXPECT_EQ(round_trip(make_type(TypeId::kTimestamp), "some day"), "22007");
  EXPECT_EQ(round_trip(make_string(TypeId::kChar, 4), "\xC3\xA4"), "\xC3\xA4   ");
  EXPECT_EQ(round_trip(make_string(TypeId::kVarchar, 3), "abc  "), "abc");
  EXPECT_EQ(round_trip(make_string(TypeId::kVarchar, 3), "abcd"), "22001");
  EXPECT_EQ(round_trip(make_type(TypeId::kText), "\xFF"), "22021");
}

class LoadCsvTest : public testing::Test {
 protected:
  LoadCsvTest() : session_(local_session(&engine_)) {
    options_.table = "pairs";
    options_.path = testing::TempDir() + "load_test_" + std::to_string(getpid()) + ".csv";
    options_.is_quiet = true;
  }
  ~LoadCsvTest() override { unlink(options_.path.c_str()); }
  StatusOr<CsvLoadResult> load(const std::string& text) {
    std::ofstream(options_.path) << text;
    Status status = load_csv(session_.get(), options_, &counts_);
    if (!status.ok()) return status;
    return counts_;
  }

  server::FakeEngine engine_;
  std::unique_ptr<Session> session_;
  CsvLoadOptions options_;
  CsvLoadResult counts_;
};

// The fake table refuses negative numbers, a whole batch at a time.
TEST_F(LoadCsvTest, LeavesOutBadRowsOnly) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i % 100 == 7 ? -i : i) + ",row\n";
  options_.reject_path = options_.path + ".reject";
  auto result = load(text + "x,y\n5\n1,2,3\n");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rows, 990u);
  EXPECT_EQ(result->rejected, 13u);
  EXPECT_EQ(engine_.loaded().size(), 2 * 990u);
  std::ifstream rejected(options_.reject_path);
  std::string line;
  int lines = 0;
  while (std::getline(rejected, line)) ++lines;
  EXPECT_EQ(lines, 13);
  unlink(options_.reject_path.c_str());
  options_.errors_max = 5;
  EXPECT_EQ(sqlstate_of(load(text).status()), "22P04");
}

TEST_F(LoadCsvTest, HeadersNameTheColumns) {
  options_.has_header = true;
  auto result = load("b,a\none,1\n,2\n");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(engine_.loaded().size(), 4u);
  EXPECT_EQ(engine_.loaded()[0].lo, 1);
  EXPECT_TRUE(engine_.loaded()[3].null);
  EXPECT_EQ(sqlstate_of(load("nothing\n1\n").status()), "42703");
  EXPECT_EQ(sqlstate_of(load("a,a\n1,1\n").status()), "42701");
  ASSERT_TRUE(load("\xEF\xBB\xBF"
                   "b,a\none,3\n")
                  .ok());
  EXPECT_EQ(engine_.loaded()[4].lo, 3);
  options_.table = "nowhere";
  EXPECT_EQ(sqlstate_of(load("a\n1\n").status()), "42P01");
}

TEST_F(LoadCsvTest, RowsBeforeAnErrorAreLoaded) {
  EXPECT_EQ(sqlstate_of(load("1,one\n2,two\n3,\"open\n4,four\n").status()), "22P04");
  EXPECT_EQ(counts_.rows, 2u);
  EXPECT_EQ(engine_.loaded().size(), 4u);
  auto result = load("5,five\n\xFF,six\n7,\xFF\n");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rows, 1u);
  EXPECT_EQ(result->rejected, 2u);
  options_.reject_path = "/nowhere/at/all";
  EXPECT_FALSE(load("8,eight\n").ok());
}

TEST(PartitionsFor, SpreadsWarehousesEvenly) {
  for (uint32_t workers : {1u, 2u, 4u}) {
    for (int32_t warehouses : {1, 2, 5, 8, 12, 40}) {
      uint32_t partitions = partitions_for(warehouses, workers);
      std::vector<int32_t> count(workers);
      for (int32_t w = 1; w <= warehouses; ++w) ++count[storage::partition_of(w, partitions) % workers];
      auto [low, high] = std::minmax_element(count.begin(), count.end());
      EXPECT_LE(*high - *low, 1) << warehouses << " warehouses, " << workers << " workers";
      EXPECT_EQ(partitions % workers, 0u);
    }
  }
}

}  // namespace
}  // namespace scyper::client
