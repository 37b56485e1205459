#include "client/ch/generator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "client/ch/text.h"
#include "names.h"

namespace scyper::ch {
namespace {

std::vector<std::vector<std::string>> all_rows(const Generator& generator, Table table, int32_t warehouse) {
  std::vector<std::vector<std::string>> result;
  RowCursor cursor(generator, table, warehouse);
  const auto columns = table_info(table).columns;
  for (RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next()) {
    for (size_t r = 0; r < batch.rows; ++r) {
      auto& row = result.emplace_back();
      for (size_t c = 0; c < columns.size(); ++c) {
        const Datum& value = batch.row(r)[c];
        row.emplace_back();
        if (value.null) {
          EXPECT_TRUE(columns[c].nullable) << columns[c].name;
        } else {
          append_text(row.back(), value, columns[c].type);
        }
      }
    }
  }
  return result;
}

std::vector<std::vector<std::string>> all_rows(const Generator& generator, Table table) {
  if (table_info(table).warehouse_column < 0) return all_rows(generator, table, 0);
  std::vector<std::vector<std::string>> result;
  for (int32_t w = 1; w <= generator.scale().warehouses; ++w) {
    for (auto& row : all_rows(generator, table, w)) result.push_back(std::move(row));
  }
  return result;
}

class EveryProfile : public testing::TestWithParam<Profile> {};
INSTANTIATE_TEST_SUITE_P(, EveryProfile, testing::Values(Profile::kSpec, Profile::kVaried, Profile::kCensus));

TEST_P(EveryProfile, RowsFitTheSchemaAndCountsAreTpcc) {
  const Generator generator({.scale = Scale::tiny(2), .profile = GetParam()});
  for (const TableInfo& info : all_tables()) {
    const auto rows = all_rows(generator, info.table);
    int64_t expected = 0;
    for (int32_t w = 1; w <= (info.warehouse_column < 0 ? 1 : 2); ++w) expected += generator.row_count(info.table, w);
    if (info.table == Table::kOrderLine) {
      EXPECT_NEAR(static_cast<double>(rows.size()), static_cast<double>(expected), 0.1 * static_cast<double>(expected));
    } else {
      EXPECT_EQ(static_cast<int64_t>(rows.size()), expected) << info.name;
    }
    for (const auto& row : rows) {
      for (size_t c = 0; c < info.columns.size(); ++c) {
        const SqlType& type = info.columns[c].type;
        if (type.id == TypeId::kChar) {
          EXPECT_EQ(static_cast<int>(row[c].size()), type.length) << info.columns[c].name;
        }
        if (type.id == TypeId::kVarchar) {
          EXPECT_LE(static_cast<int>(row[c].size()), type.length) << info.columns[c].name;
        }
      }
    }
  }
}

TEST_P(EveryProfile, LinesBelongToOrdersAndBalancesToLines) {
  const Generator generator({.scale = Scale::tiny(1), .profile = GetParam(), .seed = 7});
  std::map<std::string, int> line_count;
  std::map<std::string, double> delivered;  // by d-o
  for (const auto& line : all_rows(generator, Table::kOrderLine)) {
    ++line_count[line[1] + "-" + line[0]];
    if (!line[6].empty()) delivered[line[1] + "-" + line[0]] += std::stod(line[8]);
  }
  std::map<std::string, double> by_customer;  // by d-c
  std::set<std::string> open;
  for (const auto& order : all_rows(generator, Table::kOrders)) {
    const std::string key = order[1] + "-" + order[0];
    EXPECT_EQ(line_count[key], std::stoi(order[6]));
    EXPECT_EQ(order[5].empty(), std::stoi(order[0]) > generator.scale().delivered_per_district());
    if (order[5].empty()) open.insert(key);
    by_customer[order[1] + "-" + order[3]] += delivered[key];
  }
  for (const auto& row : all_rows(generator, Table::kNewOrder)) EXPECT_EQ(open.erase(row[1] + "-" + row[0]), 1U);
  EXPECT_TRUE(open.empty());
  std::map<std::string, double> paid;
  double paid_total = 0;
  for (const auto& row : all_rows(generator, Table::kHistory)) {
    paid[row[1] + "-" + row[0]] += std::stod(row[6]);
    paid_total += std::stod(row[6]);
  }
  for (const auto& c : all_rows(generator, Table::kCustomer)) {
    EXPECT_NEAR(std::stod(c[16]), by_customer[c[1] + "-" + c[0]] - paid[c[1] + "-" + c[0]], 0.001);
    EXPECT_NEAR(std::stod(c[17]), paid[c[1] + "-" + c[0]], 0.001);
  }
  EXPECT_NEAR(std::stod(all_rows(generator, Table::kWarehouse)[0][8]), paid_total, 0.001);
}

TEST(Generator, SpecValuesAtFullScale) {
  const Generator generator({.scale = {.warehouses = 1}});
  const auto district = all_rows(generator, Table::kDistrict);
  EXPECT_EQ(district.size(), 10U);
  EXPECT_EQ(district[3][9], "30000.00");
  EXPECT_EQ(district[3][10], "3001");
  EXPECT_EQ(all_rows(generator, Table::kWarehouse)[0][8], "300000.00");
  std::set<std::string> names;
  int bad_credit = 0;
  for (const auto& c : all_rows(generator, Table::kCustomer)) {
    if (c[1] == "1") names.insert(c[5]);
    bad_credit += c[13] == "BC";
    EXPECT_EQ(c[16], "-10.00");
  }
  EXPECT_EQ(names.size(), 1000U);
  EXPECT_NEAR(bad_credit, 3000, 300);
  int original = 0;
  for (const auto& item : all_rows(generator, Table::kItem)) original += item[4].find("ORIGINAL") != std::string::npos;
  EXPECT_NEAR(original, 10'000, 500);
  EXPECT_EQ(all_rows(generator, Table::kNewOrder).size(), 9000U);
}

TEST(Generator, SameSeedSameRowsInAnyOrder) {
  const Generator a({.scale = Scale::tiny(2), .seed = 5}), b({.scale = Scale::tiny(2), .seed = 5});
  const Generator c({.scale = Scale::tiny(2), .seed = 6});
  const auto second = all_rows(a, Table::kStock, 2);
  (void)all_rows(b, Table::kStock, 1);
  EXPECT_EQ(second, all_rows(b, Table::kStock, 2));
  EXPECT_NE(second, all_rows(c, Table::kStock, 2));
  EXPECT_NE(second, all_rows(a, Table::kStock, 1));
}

TEST(Generator, SuppliersAndNationsAreReachable) {
  const Generator generator({.scale = Scale::tiny(1)});
  std::set<std::string> nations;
  for (const auto& n : all_rows(generator, Table::kNation)) {
    nations.insert(n[0]);
    EXPECT_TRUE(isalnum(std::stoi(n[0])));
  }
  EXPECT_EQ(nations.size(), 62U);
  const auto suppliers = all_rows(generator, Table::kSupplier);
  EXPECT_EQ(suppliers.front()[0], "0");
  EXPECT_EQ(suppliers.back()[0], "9999");
  for (const auto& s : suppliers) EXPECT_EQ(nations.count(s[3]), 1U);
}

TEST(NameSampler, FollowsTheFrequencies) {
  const NameSampler sampler;
  EXPECT_EQ(sampler.size(), 88'799U);
  Random random(3);
  std::map<std::string_view, int> seen;
  for (int i = 0; i < 1'000'000; ++i) ++seen[sampler.draw(random)];
  EXPECT_NEAR(seen["SMITH"], 1'000'000 * 1.006 / 90.5, 500);
  EXPECT_NEAR(seen["JOHNSON"], 1'000'000 * 0.810 / 90.5, 450);
  EXPECT_GT(seen.size(), 40'000U);
}

TEST(Text, PrintsAsPostgres) {
  std::string out;
  append_text(out, int128_datum(-5, 2), make_numeric(6, 2));
  append_text(out += ' ', int128_datum(0, 4), make_numeric(4, 4));
  append_text(out += ' ', int128_datum(123, 0), make_numeric(4, 0));
  append_text(out += ' ', int_datum(kDefaultLoadTime), make_type(TypeId::kTimestamp));
  append_text(out += ' ', int_datum(kDefaultLoadTime + 1'500'000), make_type(TypeId::kTimestamp));
  append_text(out += ' ', int_datum(-1), make_type(TypeId::kTimestamp));
  EXPECT_EQ(out, "-0.05 0.0000 123 2011-12-01 00:00:00 2011-12-01 00:00:01.5 1999-12-31 23:59:59.999999");
}

}  // namespace
}  // namespace scyper::ch
