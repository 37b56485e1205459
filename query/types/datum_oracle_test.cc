#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "types/datum_text.h"
#include "types/oracle.h"

namespace scyper::query {
namespace {

TextArena test_arena() {
  static std::deque<std::vector<uint64_t>> blocks;
  return {[](void*, size_t size) noexcept -> void* { return blocks.emplace_back(size / 8 + 1).data(); }, nullptr};
}

// What PostgreSQL's name for the type is when it casts a literal.
std::string cast_name(const SqlType& type) { return type_name(type); }

std::string status_outcome(const Status& status) {
  return "!" + sqlstate_of(status) + " " + std::string(status.message()) + "|" + detail_of(status) + "|" +
         hint_of(status);
}

std::string outcome_of(const SqlType& type, std::string_view text, Datum* datum) {
  Status status = parse_datum(type, text, test_arena(), datum);
  if (!status.ok()) return status_outcome(status);
  std::string out = "=";
  append_datum(&out, type, *datum);
  return out;
}

SqlType array_type(TypeId id) { return make_array(make_type(id)); }

TEST(DatumOracle, Scalars) {
  const std::pair<SqlType, std::vector<std::string>> cases[] = {
      {make_type(TypeId::kBool), {"t", " off ", "x", ""}},
      {make_type(TypeId::kInt2), {"7", "-32768", "40000", "x"}},
      {make_type(TypeId::kInt4), {"7", "abc", "99999999999", ""}},
      {make_type(TypeId::kInt8), {"-9223372036854775808", "9223372036854775808"}},
      {make_type(TypeId::kFloat8), {"1.5", "1e999", "NaN", " -Infinity ", "x"}},
      {make_type(TypeId::kNumeric), {"1.50", "1e3", "x", " -0.00 "}},
      {make_numeric(5, 2), {"1.5", "999.994", "999.995", "-1000", "x", "1e1"}},
      {make_numeric(3, 3), {"0.9994", "0.9995"}},
      {make_type(TypeId::kDate), {"2020-02-29", "2019-02-29", "x", "2020-13-01"}},
      {make_type(TypeId::kTimestamp), {"2020-02-29 10:00:00.5", "x", "2020-02-29 25:00", "300000-01-01"}},
      {make_type(TypeId::kText), {"", "abc", "\xc3\xa4"}},
  };
  Comparison comparison;
  for (const auto& [type, texts] : cases) {
    for (const std::string& text : texts) {
      Datum datum;
      comparison.expect(sql_quote(text) + "::" + cast_name(type), outcome_of(type, text, &datum));
    }
  }
  comparison.check();
}

TEST(DatumOracle, KnownArrays) {
  Comparison comparison;
  for (std::string text : {"",
                           "a",
                           "{",
                           "}",
                           "{}",
                           "{}x",
                           "{} ",
                           "{1,2",
                           "{1,,2}",
                           "{,}",
                           "{1,}",
                           "{1 2}",
                           "{\"a\"b}",
                           "{b\"a\"}",
                           "{\"a}",
                           "{1,{2}}",
                           "{1}}",
                           "[1:2]={1,2}",
                           "[1:3]={1,2}",
                           "[2:1]={}",
                           "[1:2]={}",
                           "[5]={1,2,3,4,5}",
                           "[1:2]{1}",
                           "[1:2",
                           "[a:b]={1}",
                           "[1:]={1}",
                           "[]={1}",
                           "[-1:0]={1,2}",
                           " { 1 , 2 } ",
                           "{\\",
                           "{a\\",
                           "{\"a\\",
                           "{a\\}b}",
                           "{1}x",
                           "[1:1] = {1}",
                           " [1:1]={1}",
                           "{a\"b\"c}",
                           "{\"a\" \"b\"}",
                           "{ \"a\" x}",
                           "{a b}",
                           "{NULL}",
                           "{null ,\"NULL\"}",
                           "{\"a\"{",
                           "{a{b}",
                           "[0:0]={1}",
                           "[+1:1]={7}",
                           "{\"\"}",
                           "{a'b}",
                           "{ }",
                           "{  a}",
                           "{a ,b}",
                           "{\\ a}",
                           "{a\\ }",
                           "{a,b}{c}",
                           "[1:1]={}",
                           "[2147483647:2147483647]={1}",
                           "{\\NULL}",
                           "[2147483646:2147483646]={1}",
                           "[1:2]=x",
                           "{1,2,NULL,\"a b\"}",
                           "{\"a\"\\b}",
                           "{\xc3\xa4,\"\xc3\xa4 \"}"}) {
    Datum datum;
    comparison.expect(sql_quote(text) + "::text[]", outcome_of(array_type(TypeId::kText), text, &datum));
    comparison.expect(sql_quote(text) + "::int[]", outcome_of(array_type(TypeId::kInt4), text, &datum));
  }
  comparison.check();
  Datum datum;
  EXPECT_EQ(sqlstate_of(parse_datum(array_type(TypeId::kInt4), "{{1},{2}}", test_arena(), &datum)), "0A000");
  EXPECT_EQ(sqlstate_of(parse_datum(array_type(TypeId::kInt4), "[1:1][1:1]={{1}}", test_arena(), &datum)), "0A000");
}

TEST(DatumOracle, RandomArrays) {
  static const char* const kPieces[] = {"a",  "1",    "25",   " ",   ",",        ",", "\"", "\"",
                                        "\\", "NULL", "null", "x y", "\xc3\xa4", "}", "'",  "-3"};
  Comparison comparison;
  for (int i = 0; i < 6000; ++i) {
    std::string text = "{";
    for (uint64_t n = random_below(9); n > 0; --n) text += kPieces[random_below(std::size(kPieces))];
    text += "}";
    Datum datum;
    comparison.expect(sql_quote(text) + "::text[]", outcome_of(array_type(TypeId::kText), text, &datum));
    comparison.expect(sql_quote(text) + "::int8[]", outcome_of(array_type(TypeId::kInt8), text, &datum));
  }
  comparison.check();
}

TEST(DatumOracle, CompareAndHashArrays) {
  static const char* const kElements[] = {"1", "2", "-1", "NULL", "1.0", "1.00", "10"};
  Comparison comparison;
  SqlType type = array_type(TypeId::kNumeric);
  auto random_array = [] {
    std::string text = random_below(6) == 0 ? "[0:1]={1,2}" : "{";
    if (text.size() > 1) return text;
    for (uint64_t n = random_below(4); n > 0; --n)
      text += std::string(text.size() > 1 ? "," : "") + kElements[random_below(7)];
    return text + "}";
  };
  for (int i = 0; i < 2000; ++i) {
    std::string a = random_array(), b = random_array();
    Datum x, y;
    outcome_of(type, a, &x);
    outcome_of(type, b, &y);
    int order = compare_datums(type, x, y);
    comparison.expect(sql_quote(a) + "::numeric[] < " + sql_quote(b), order < 0 ? "=t" : "=f");
    comparison.expect(sql_quote(a) + "::numeric[] = " + sql_quote(b), order == 0 ? "=t" : "=f");
    if (order == 0) {
      EXPECT_EQ(hash_datum(type, x), hash_datum(type, y)) << a << " " << b;
    }
  }
  comparison.check();
}

TEST(DatumText, ModifiersFailAsOnInput) {
  Datum datum;
  EXPECT_EQ(outcome_of(make_string(TypeId::kVarchar, 3), "abcd", &datum),
            "!22001 value too long for type character varying(3)||");
  EXPECT_EQ(outcome_of(make_string(TypeId::kVarchar, 3), "abc  ", &datum), "=abc");
  EXPECT_EQ(outcome_of(make_string(TypeId::kChar, 3), "a", &datum), "=a  ");
  EXPECT_EQ(outcome_of(make_array(make_string(TypeId::kChar, 2)), "{a,NULL}", &datum), "={\"a \",NULL}");
  EXPECT_EQ(outcome_of(make_type(TypeId::kText), "a\xff", &datum),
            "!22021 invalid byte sequence for encoding \"UTF8\": 0xff||");
}

TEST(DatumText, EqualValuesHashAlike) {
  SqlType character = make_string(TypeId::kChar, -1), floating = make_type(TypeId::kFloat8);
  Datum a = string_datum("ab  ", 4), b = string_datum("ab", 2);
  EXPECT_TRUE(equal_datums(character, a, b));
  EXPECT_EQ(hash_datum(character, a), hash_datum(character, b));
  EXPECT_FALSE(equal_datums(make_type(TypeId::kText), a, b));
  EXPECT_TRUE(equal_datums(floating, float_datum(0.0), float_datum(-0.0)));
  EXPECT_EQ(hash_datum(floating, float_datum(0.0)), hash_datum(floating, float_datum(-0.0)));
  EXPECT_EQ(compare_datums(make_type(TypeId::kInt8), int_datum(-1), int_datum(1)), -1);
}

}  // namespace
}  // namespace scyper::query
