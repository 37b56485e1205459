#include "parse/type_resolver.h"

#include <gtest/gtest.h>

#include "parse/sql_parser.h"

namespace scyper::query {
namespace {

StatusOr<SqlType> resolve(std::string_view text) {
  const auto type = parse_type(Piece{text, text, 0});
  if (!type.ok()) return type.status();
  return resolve_type(*type, text);
}

TEST(TypeResolver, Known) {
  const struct {
    std::string_view text;
    SqlType type;
  } kCases[] = {
      {"smallint", make_type(TypeId::kInt2)},
      {"int", make_type(TypeId::kInt4)},
      {"int8", make_type(TypeId::kInt8)},
      {"bigint", make_type(TypeId::kInt8)},
      {"boolean", make_type(TypeId::kBool)},
      {"double precision", make_type(TypeId::kFloat8)},
      {"float", make_type(TypeId::kFloat8)},
      {"real", make_type(TypeId::kFloat4)},
      {"interval", make_type(TypeId::kInterval)},
      {"numeric", make_type(TypeId::kNumeric)},
      {"decimal(12,2)", make_numeric(12, 2)},
      {"numeric(5)", make_numeric(5, 0)},
      {"char", make_string(TypeId::kChar, 1)},
      {"char(9)", make_string(TypeId::kChar, 9)},
      {"bpchar", make_type(TypeId::kChar)},
      {"varchar", make_type(TypeId::kVarchar)},
      {"character varying(16)", make_string(TypeId::kVarchar, 16)},
      {"text", make_type(TypeId::kText)},
      {"date", make_type(TypeId::kDate)},
      {"timestamp", make_type(TypeId::kTimestamp)},
      {"timestamp(6) without time zone", make_string(TypeId::kTimestamp, 6)},
      {"timestamp(3)", make_string(TypeId::kTimestamp, 3)},
      {"interval(2)", make_string(TypeId::kInterval, (0x7fff << 16) | 2)},
      {"timestamp with time zone", make_type(TypeId::kTimestamptz)},
      {"time", make_type(TypeId::kTime)},
      {"uuid", make_type(TypeId::kUuid)},
      {"bytea[]", make_array(make_type(TypeId::kBytea))},
      {"jsonb", make_type(TypeId::kJsonb)},
      {"record", make_type(TypeId::kRecord)},
      {"integer[]", make_array(make_type(TypeId::kInt4))},
      {"numeric(5,2) array[4]", make_array(make_numeric(5, 2))},
      {"pg_catalog._text", make_array(make_type(TypeId::kText))},
  };
  for (const auto& one : kCases) {
    const auto type = resolve(one.text);
    ASSERT_TRUE(type.ok()) << one.text << type.status();
    EXPECT_EQ(*type, one.type) << one.text;
  }
}

TEST(TypeResolver, Errors) {
  const struct {
    std::string_view text;
    std::string_view sqlstate;
    std::string_view message;
  } kCases[] = {
      {"nix", "42704", "type \"nix\" does not exist"},
      {"s.int4", "42704", "type \"s.int4\" does not exist"},
      {"nix[]", "42704", "type \"nix[]\" does not exist"},
      {"box", "0A000", "type \"box\" is not supported"},
      {"int[][]", "0A000", "multidimensional arrays are not supported"},
      {"numeric(0)", "22023", "NUMERIC precision 0 must be between 1 and 1000"},
      {"numeric(5,2000)", "22023", "NUMERIC scale 2000 must be between -1000 and 1000"},
      {"numeric(1,2,3)", "22023", "invalid NUMERIC type modifier"},
      {"varchar(0)", "22023", "length for type varchar must be at least 1"},
      {"char(20000000)", "22023", "length for type char cannot exceed 10485760"},
      {"text(5)", "42601", "type modifier is not allowed for type \"text\""},
      {"numeric(a + 1)", "42601", "type modifiers must be simple constants or identifiers"},
      {"int +", "42601", "syntax error at or near \"+\""},
      {"int) where (true", "42601", "invalid type name \"int) where (true\""},
      {"int), (1", "42601", "invalid type name \"int), (1\""},
  };
  for (const auto& wrong : kCases) {
    const auto type = resolve(wrong.text);
    ASSERT_FALSE(type.ok()) << wrong.text;
    EXPECT_EQ(sqlstate_of(type.status()), wrong.sqlstate) << wrong.text;
    EXPECT_EQ(std::string(type.status().message()), wrong.message) << wrong.text;
    EXPECT_GT(position_of(type.status()), 0) << wrong.text;
  }
  EXPECT_EQ(without_modifiers(make_array(make_numeric(5, 2))), make_array(make_type(TypeId::kNumeric)));
}

}  // namespace
}  // namespace scyper::query
