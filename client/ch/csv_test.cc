#include "client/ch/csv.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "client/ch/text.h"

namespace scyper::ch {
namespace {

TEST(Csv, QuotesAndNullsAsCopyReadsThem) {
  const Column columns[] = {{"a", make_type(TypeId::kInt4), true}, {"b", make_type(TypeId::kText), true}};
  std::string out;
  append_csv_row(out, std::vector<Datum>{int_datum(-1), string_datum("x\"y,z", 5)}, columns);
  append_csv_row(out, std::vector<Datum>{null_datum(), string_datum("", 0)}, columns);
  append_csv_row(out, std::vector<Datum>{int_datum(2), null_datum()}, columns);
  EXPECT_EQ(out, "-1,\"x\"\"y,z\"\n,\"\"\n2,\n");
}

TEST(Csv, WritesEveryTable) {
  char directory[] = "/tmp/scyper-csv-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const Generator generator({.scale = Scale::tiny(2)});
  ASSERT_TRUE(write_csv_files(generator, directory, true).ok());
  std::ifstream file(std::string(directory) + "/district.csv");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "d_id,d_w_id,d_name,d_street_1,d_street_2,d_city,d_state,d_zip,d_tax,d_ytd,d_next_o_id");
  int rows = 0;
  while (std::getline(file, line)) ++rows;
  EXPECT_EQ(rows, 20);
  EXPECT_FALSE(write_csv_files(generator, "/nowhere").ok());
  (void)!std::system((std::string("rm -r ") + directory).c_str());
}

}  // namespace
}  // namespace scyper::ch
