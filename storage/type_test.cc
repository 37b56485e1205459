#include "storage/type.h"

#include <gtest/gtest.h>

#include <thread>

#include "storage/enum_transaction.h"

namespace scyper {
namespace {

TEST(TypeName, MatchesFormatType) {
  EXPECT_EQ(type_name(make_type(TypeId::kInt4)), "integer");
  EXPECT_EQ(type_name(make_type(TypeId::kFloat8)), "double precision");
  EXPECT_EQ(type_name(make_type(TypeId::kTimestamp)), "timestamp without time zone");
  EXPECT_EQ(type_name(make_string(TypeId::kTimestamp, 3)), "timestamp(3) without time zone");
  constexpr int32_t kDayToSecond = (1 << 3 | 1 << 10 | 1 << 11 | 1 << 12) << 16;
  EXPECT_EQ(type_name(make_string(TypeId::kInterval, kDayToSecond | 2)), "interval day to second(2)");
  EXPECT_EQ(type_name(make_type(TypeId::kNumeric)), "numeric");
  EXPECT_EQ(type_name(make_numeric(5, 2)), "numeric(5,2)");
  EXPECT_EQ(type_name(make_numeric(38, 0)), "numeric(38,0)");
  EXPECT_EQ(type_name(make_string(TypeId::kChar, 9)), "character(9)");
  EXPECT_EQ(type_name(make_string(TypeId::kVarchar, 16)), "character varying(16)");
  EXPECT_EQ(type_name(make_type(TypeId::kVarchar)), "character varying");
  EXPECT_EQ(type_name(make_array(make_numeric(5, 2))), "numeric(5,2)[]");
  EXPECT_EQ(type_name(make_array(make_type(TypeId::kInt4))), "integer[]");
}

TEST(Datum, KeepsNegative128BitValues) {
  __int128 value = -(static_cast<__int128>(1) << 100) - 7;
  Datum datum = int128_datum(value, 3);
  EXPECT_TRUE(datum.int128() == value);
  EXPECT_EQ(datum.scale, 3);
  EXPECT_EQ(datum.null, 0);
  EXPECT_EQ(int_datum(-5).hi, -1);
  EXPECT_EQ(null_datum().null, 1);
}

TEST(SqlType, ElementOfArrayKeepsModifiers) {
  SqlType array = make_array(make_string(TypeId::kVarchar, 24));
  EXPECT_EQ(element_of(array), make_string(TypeId::kVarchar, 24));
}

// A label that a transaction has renamed shows in the threads of that transaction alone until it commits.
TEST(EnumTrial, OthersSeeTheCommittedLabels) {
  const int32_t number = new_enum_number();
  auto with_label = [&](const char* label) {
    auto type = std::make_shared<EnumType>();
    type->number = number;
    type->name = "mood";
    type->labels.push_back({label, kEnumLabelDistance});
    return type;
  };
  auto label = [&] { return find_enum(number)->labels[0].text; };
  auto elsewhere = [&](EnumTrial trial) {
    std::string seen;
    std::thread([&] {
      see_enum_trial(trial);
      seen = label();
    }).join();
    return seen;
  };
  publish_enum(with_label("sad"));
  const EnumTrial trial = begin_enum_trial();
  const auto renamed = with_label("blue");
  publish_enum_on_trial(renamed);
  EXPECT_EQ(label(), "blue");
  EXPECT_EQ(elsewhere(EnumTrial(0)), "sad");
  EXPECT_EQ(elsewhere(trial), "blue");  // the one that shows its rows
  publish_enum(renamed);
  EXPECT_EQ(elsewhere(EnumTrial(0)), "blue");
  // the next one is taken back
  const EnumTrial second = begin_enum_trial();
  publish_enum_on_trial(with_label("red"));
  EXPECT_EQ(elsewhere(trial), "blue");
  EXPECT_EQ(elsewhere(second), "red");
  publish_enum_again(*renamed);
  EXPECT_EQ(label(), "blue");
  publish_enum(renamed);
  EXPECT_EQ(elsewhere(EnumTrial(0)), "blue");
}

}  // namespace
}  // namespace scyper
