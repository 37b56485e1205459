#include "client/ch/outcome.h"

#include <gtest/gtest.h>

namespace scyper::ch {
namespace {

TEST(Outcome, RunTimesAreNotComparedAndLoadTimesAre) {
  using Texts = std::vector<std::optional<std::string_view>>;
  std::string out;
  append_outcome(out, Procedure::kOrderStatus,
                 Texts{"1", "A\\B", "OE", "C", "-10.00", "7", "2026-01-02 03:04:05.6", std::nullopt,
                       "1,2,3,4.00\n1,2,3,4.00,2026-01-02 03:04:05\n1,2,3,4.00,2011-12-01 00:00:00\n"});
  EXPECT_EQ(out,
            "tpcc_order_status|1|A\\\\B|OE|C|-10.00|7|@|\\N|1,2,3,4.00\\n1,2,3,4.00,@\\n1,2,3,4.00,2011-12-01 "
            "00:00:00\\n");
  out.clear();
  append_failure(out, Procedure::kNewOrder, "TPCC1");
  EXPECT_EQ(out, "tpcc_new_order|!TPCC1");
}

TEST(Outcome, TableDigestIgnoresOrderAndRunTimes) {
  const TableInfo& info = table_info(Table::kHistory);
  TableDigest a, b, c;
  a.add_copy_line(info, "1\t2\t3\t4\t5\t2020-01-01 00:00:00\t1.00\tx");
  a.add_copy_line(info, "2\t2\t3\t4\t5\t2011-01-01 00:00:00\t1.00\tx");
  b.add_copy_line(info, "2\t2\t3\t4\t5\t2011-01-01 00:00:00\t1.00\tx");
  b.add_copy_line(info, "1\t2\t3\t4\t5\t2021-01-01 00:00:00\t1.00\tx");
  c.add_copy_line(info, "2\t2\t3\t4\t5\t2012-01-01 00:00:00\t1.00\tx");
  c.add_copy_line(info, "1\t2\t3\t4\t5\t2021-01-01 00:00:00\t1.00\tx");
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
  EXPECT_EQ(a.rows(), 2U);
}

}  // namespace
}  // namespace scyper::ch
