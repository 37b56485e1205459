#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "types/oracle.h"
#include "types/text.h"

namespace scyper::query {
namespace {

// An arena for tests: forgets nothing.
TextArena test_arena() {
  static std::deque<std::vector<uint64_t>> blocks;
  return {[](void*, size_t size) noexcept -> void* { return blocks.emplace_back(size / 8 + 1).data(); }, nullptr};
}

std::string outcome(ValueError error, std::string_view value, const SqlType& type = {}) {
  return error == ValueError::kNone ? value_outcome(value) : error_outcome(error, type);
}

std::string random_text(size_t most) {
  static const char* const kPieces[] = {
      "a", "b", "c",  "A", "B", " ",        "ab",      "x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
      "%", "_", "\\", "1", "z", "abcdefgh", "\xc3\x84"};
  std::string text;
  for (uint64_t n = random_below(most + 1); n > 0; --n) text += kPieces[random_below(std::size(kPieces))];
  return text;
}

std::string call(const std::string& name, std::initializer_list<std::string> arguments) {
  std::string out = name + "(";
  for (const std::string& argument : arguments) out += (out.back() == '(' ? "" : ", ") + argument;
  return out + ")";
}

std::string text_literal(std::string_view text) { return sql_quote(text) + "::text"; }

int32_t random_count() {
  switch (random_below(20)) {
    case 0:
      return INT32_MAX;
    case 1:
      return INT32_MIN;
    default:
      return static_cast<int32_t>(random_below(24)) - 8;
  }
}

TEST(TextOracle, Parts) {
  Comparison comparison;
  for (int i = 0; i < 1500; ++i) {
    std::string text = random_text(8), other = random_text(3);
    int32_t start = random_count(), count = random_count();
    std::string t = text_literal(text), o = text_literal(other), n = std::to_string(count);
    std::string_view out;
    comparison.expect(call("length", {t}), value_outcome(std::to_string(text_length(text))));
    comparison.expect(call("substr", {t, std::to_string(start)}), value_outcome(substring_from(text, start)));
    ValueError error = substring(text, start, count, &out);
    comparison.expect(call("substr", {t, std::to_string(start), n}), outcome(error, out));
    comparison.expect(call("left", {t, n}), value_outcome(left(text, count)));
    comparison.expect(call("right", {t, n}), value_outcome(right(text, count)));
    comparison.expect(call("strpos", {t, o}), value_outcome(std::to_string(position(text, other))));
    comparison.expect(call("starts_with", {t, o}), starts_with(text, other) ? "=t" : "=f");
    comparison.expect(call("ltrim", {t, o}), value_outcome(trim_left(text, other)));
    comparison.expect(call("rtrim", {t, o}), value_outcome(trim_right(text, other)));
    comparison.expect(call("btrim", {t, o}), value_outcome(trim_both(text, other)));
    comparison.expect(call("trim", {t}), value_outcome(trim_both(text, " ")));
    comparison.expect(call("ascii", {t}), value_outcome(std::to_string(first_code_point(text))));
    int32_t field = static_cast<int32_t>(random_below(9)) - 4;
    error = split_part(text, other, field, &out);
    comparison.expect(call("split_part", {t, o, std::to_string(field)}), outcome(error, out));
    comparison.expect(t + " < " + o, text_compare(text, other) < 0 ? "=t" : "=f");
    comparison.expect(sql_quote(text) + "::char(20) < " + sql_quote(other) + "::char(20)",
                      char_compare(text, other) < 0 ? "=t" : "=f");
  }
  comparison.check();
}

TEST(TextOracle, NewStrings) {
  Comparison comparison;
  TextArena arena = test_arena();
  for (int i = 0; i < 1500; ++i) {
    std::string text = random_text(8), other = random_text(3), third = random_text(3);
    int32_t count = static_cast<int32_t>(random_below(30)) - 5;
    std::string t = text_literal(text), o = text_literal(other), n = std::to_string(count);
    std::string_view out;
    ValueError error = upper(text, arena, &out);
    comparison.expect(call("upper", {t}), outcome(error, out));
    error = lower(text, arena, &out);
    comparison.expect(call("lower", {t}), outcome(error, out));
    error = pad_left(text, count, other, arena, &out);
    comparison.expect(call("lpad", {t, n, o}), outcome(error, out));
    error = pad_right(text, count, other, arena, &out);
    comparison.expect(call("rpad", {t, n, o}), outcome(error, out));
    error = replace(text, other, third, arena, &out);
    comparison.expect(call("replace", {t, o, text_literal(third)}), outcome(error, out));
    error = repeat(text, count, arena, &out);
    comparison.expect(call("repeat", {t, n}), outcome(error, out));
    error = reverse(text, arena, &out);
    comparison.expect(call("reverse", {t}), outcome(error, out));
    std::string_view parts[] = {text, other, third};
    error = concatenate(parts, 3, arena, &out);
    comparison.expect(call("concat", {t, o, text_literal(third)}), outcome(error, out));
  }
  comparison.check();
}

TEST(TextOracle, TooLongResults) {
  Comparison comparison;
  TextArena none = {[](void*, size_t) noexcept -> void* { return nullptr; }, nullptr};
  std::string_view out;
  ValueError error = repeat("abcdefgh", 500000000, none, &out);
  comparison.expect("repeat('abcdefgh', 500000000)", outcome(error, out));
  error = pad_left("a", 300000000, "b", none, &out);
  comparison.expect("lpad('a', 300000000, 'b')", outcome(error, out));
  error = pad_right("a", INT32_MAX, "b", none, &out);
  comparison.expect("rpad('a', 2147483647, 'b')", outcome(error, out));
  comparison.check();
  EXPECT_EQ(repeat("a", 5, none, &out), ValueError::kOutOfMemory);
}

TEST(TextOracle, Casts) {
  Comparison comparison;
  TextArena arena = test_arena();
  for (int i = 0; i < 2000; ++i) {
    std::string text = random_text(6) + std::string(random_below(4), ' ');
    int32_t length = 1 + static_cast<int32_t>(random_below(8));
    std::string n = "(" + std::to_string(length) + ")";
    std::string_view out;
    ValueError error = varchar_cast(text, length, true, &out);
    comparison.expect(text_literal(text) + "::varchar" + n, outcome(error, out));
    error = char_cast(text, length, true, arena, &out);
    comparison.expect(text_literal(text) + "::char" + n, outcome(error, out));
    comparison.expect(text_literal(text) + "::char" + n + "::text", value_outcome(trim_blanks(out)));
    comparison.expect("length(" + text_literal(text) + "::char" + n + ")",
                      value_outcome(std::to_string(text_length(trim_blanks(out)))));
    // what an array element gets is the input function's, that is assignment's, rule
    error = varchar_cast(text, length, false, &out);
    comparison.expect("(string_to_array(" + text_literal("," + text) + ", ',')::varchar" + n + "[])[2]",
                      outcome(varchar_cast(text, length, true, &out), out));
    comparison.expect("pg_temp.assign_varchar" + std::to_string(length) + "(" + text_literal(text) + ")",
                      outcome(error, out, make_string(TypeId::kVarchar, length)));
    error = char_cast(text, length, false, arena, &out);
    comparison.expect("pg_temp.assign_char" + std::to_string(length) + "(" + text_literal(text) + ")",
                      outcome(error, out, make_string(TypeId::kChar, length)));
  }
  std::string setup;
  for (int length = 1; length <= 8; ++length) {
    for (std::string type : {"varchar", "char"}) {
      std::string n = std::to_string(length);
      setup += "CREATE OR REPLACE FUNCTION pg_temp.assign_" + type + n + "(t text) RETURNS " + type +
               " LANGUAGE plpgsql AS $$ DECLARE v " + type + "(" + n + "); BEGIN v := t; RETURN v; END $$;";
    }
  }
  oracle().execute(setup);
  comparison.check();
}

TEST(TextOracle, Characters) {
  Comparison comparison;
  std::vector<int32_t> codes = {0,     -1,    1,     127,   128,   2047,    2048,    55295,
                                55296, 57343, 57344, 65535, 65536, 1114111, 1114112, INT32_MAX};
  for (int i = 0; i < 200; ++i) codes.push_back(static_cast<int32_t>(random_below(0x120000)));
  for (int32_t code : codes) {
    char bytes[4];
    size_t size = 0;
    ValueError error = character_of(code, bytes, &size);
    std::string number = std::to_string(code);
    comparison.expect("chr(" + number + ")",
                      error == ValueError::kNone ? value_outcome({bytes, size}) : error_outcome(error, {}, number));
  }
  comparison.check();
}

TEST(TextOracle, Like) {
  Comparison comparison;
  for (int i = 0; i < 6000; ++i) {
    std::string text = random_text(6), pattern = random_text(6);
    if (random_below(2) == 0) pattern += "%";
    if (random_below(3) == 0) pattern = "%" + pattern;
    bool result = false;
    auto expect = [&](const std::string& expression, ValueError error) {
      comparison.expect(text_literal(text) + expression,
                        error == ValueError::kNone ? (result ? "=t" : "=f") : error_outcome(error));
    };
    ValueError error = like(text, pattern, "\\", false, &result);
    expect(" LIKE " + sql_quote(pattern), error);
    error = like(text, pattern, "\\", true, &result);
    expect(" ILIKE " + sql_quote(pattern), error);
    static const char* const kEscapes[] = {"", "a", "%", "_", "\xc3\xa4", "ab", "\\", "x"};
    std::string escape = kEscapes[random_below(std::size(kEscapes))];
    error = like(text, pattern, escape, false, &result);
    expect(" LIKE " + sql_quote(pattern) + " ESCAPE " + sql_quote(escape), error);
  }
  comparison.check();
}

TEST(TextOracle, InvalidUtf8) {
  Comparison comparison;
  const char* fragments[] = {"ab",       "\xc3\xa4",     "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x80", "\xc3",
                             "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8", "\xff",
                             "\xe2\x82", "\xf0\x9f\x98", "12345678",     "\xc2\xa0"};
  for (int i = 0; i < 2000; ++i) {
    std::string text, hex;
    for (uint64_t n = 1 + random_below(5); n > 0; --n) text += fragments[random_below(std::size(fragments))];
    if (random_below(20) == 0) text += '\0';
    for (char c : text) {
      constexpr char kHex[] = "0123456789abcdef";
      hex += kHex[static_cast<uint8_t>(c) >> 4];
      hex += kHex[static_cast<uint8_t>(c) & 15];
    }
    std::string_view wrong;
    ValueError error = utf8_check(text, &wrong);
    comparison.expect("convert_from('\\x" + hex + "'::bytea, 'UTF8')",
                      error == ValueError::kNone ? value_outcome(text) : error_outcome(error, {}, wrong));
  }
  comparison.check();
}

}  // namespace
}  // namespace scyper::query
