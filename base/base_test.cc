#include <gtest/gtest.h>

#include <type_traits>

#include "base/check.h"
#include "base/status.h"
#include "base/strong.h"

namespace scyper {
namespace {

TEST(SqlError, CarriesStateAndPosition) {
  Status status = with_hint(with_detail(sql_error("42P01", "relation \"x\" does not exist", 15), "d"), "h");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sqlstate_of(status), "42P01");
  EXPECT_EQ(position_of(status), 15);
  EXPECT_EQ(detail_of(status), "d");
  EXPECT_EQ(hint_of(status), "h");
  EXPECT_EQ(sqlstate_of(absl::InternalError("bug")), "XX000");
  EXPECT_EQ(sqlstate_of(absl::OkStatus()), "00000");
}

TEST(Strong, DoesNotConvert) {
  static_assert(!std::is_convertible_v<TableId, uint32_t>);
  static_assert(!std::is_convertible_v<uint32_t, TableId>);
  static_assert(!std::is_convertible_v<TableId, IndexId>);
  EXPECT_LT(TableId(1), TableId(2));
}

TEST(CheckDeathTest, StopsTheProcess) { EXPECT_DEATH(CHECK(1 == 2), "CHECK failed: 1 == 2"); }

}  // namespace
}  // namespace scyper
