#include "server/packed.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <deque>

#include "base/random.h"
#include "base/test_seed.h"
#include "query/value_text.h"
#include "statements.h"

namespace scyper::server {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char c : bytes) {
    char text[4];
    std::snprintf(text, sizeof(text), "%02x ", c);
    out += text;
  }
  return out;
}

const SqlType kInt4 = make_type(TypeId::kInt4);
const SqlType kText = make_type(TypeId::kText);
const SqlType kNumeric = make_type(TypeId::kNumeric);

// The example of proto/scyper.proto.
TEST(PackedRow, HasTheDocumentedBytes) {
  std::vector<SqlType> types = {kInt4, kText, kNumeric};
  Datum row[] = {int_datum(7), null_datum(), int128_datum(1250, 2)};
  std::string bytes;
  append_row(types, row, &bytes);
  EXPECT_EQ(hex(bytes), "02 07 00 00 00 02 08 e2 04 00 00 00 00 00 00 ");
}

std::vector<SqlType> all_types() {
  std::vector<SqlType> types = {
      make_type(TypeId::kBool),      make_type(TypeId::kInt2),      kInt4,
      make_type(TypeId::kInt8),      make_type(TypeId::kFloat8),    kNumeric,
      make_numeric(12, 2),           make_string(TypeId::kChar, 3), kText,
      make_type(TypeId::kTimestamp), make_type(TypeId::kDate),      make_type(TypeId::kTimestamptz),
      make_type(TypeId::kTime),      make_type(TypeId::kUuid),      make_type(TypeId::kBytea)};
  size_t scalars = types.size();
  for (size_t i = 0; i < scalars; ++i) types.push_back(make_array(types[i]));
  return types;
}

struct Maker {
  Random random;
  std::deque<std::string> strings = {};
  std::deque<ArrayValue> arrays = {};
  std::deque<std::vector<Datum>> elements = {};

  Datum value(const SqlType& type) {
    if (random.one_in(5)) return null_datum();
    switch (type.id) {
      case TypeId::kBool:
        return int_datum(random.between(0, 1));
      case TypeId::kInt2:
        return int_datum(static_cast<int16_t>(random.next()));
      case TypeId::kInt4:
        return int_datum(static_cast<int32_t>(random.next()));
      case TypeId::kDate:
        return int_datum(random.between(-2'451'545, 2'145'031'948));
      case TypeId::kTimestamp:
      case TypeId::kTimestamptz:
        return int_datum(random.between(-211'813'488'000'000'000, 9'223'371'331'199'999'999));
      case TypeId::kTime:
        return int_datum(random.between(0, int64_t{86'400'000'000}));
      case TypeId::kFloat8:
        return float_datum(random.real() * 1e9);
      case TypeId::kNumeric: {
        if (type.precision > 0) return int128_datum(random.between(-999'999'999, 999'999'999), type.scale);
        __int128 wide = static_cast<int64_t>(random.next());
        return int128_datum(random.one_in(2) ? wide * 1'000'000'007 : wide, static_cast<int32_t>(random.below(20)));
      }
      case TypeId::kUuid:
        return Datum{static_cast<int64_t>(random.next()), static_cast<int64_t>(random.next()), 0, 0, {}};
      case TypeId::kBytea:
      case TypeId::kChar:
      case TypeId::kText: {
        std::string& text = strings.emplace_back(random.below(20), 'x');
        if (!text.empty()) text += "\xC3\xA4";
        return string_datum(text.data(), text.size());
      }
      case TypeId::kArray: {
        auto& list = elements.emplace_back(random.below(6));
        for (Datum& element : list) element = value(element_of(type));
        auto size = static_cast<int32_t>(list.size());
        arrays.push_back({size, size, static_cast<int32_t>(random.between(-3, 3)), type.element, list.data()});
        return Datum{reinterpret_cast<int64_t>(&arrays.back()), 0, 0, 0, {}};
      }
      default:
        return int_datum(static_cast<int64_t>(random.next()));
    }
  }
};

bool is_equal(const SqlType& type, const Datum& a, const Datum& b) {
  if (a.null || b.null) return a.null == b.null;
  if (type.id == TypeId::kUuid) return a.lo == b.lo && a.hi == b.hi;
  if (holds_bytes(type.id)) return std::string_view(a.data(), a.size()) == std::string_view(b.data(), b.size());
  if (type.id == TypeId::kNumeric) return a.int128() == b.int128() && a.scale == b.scale;
  if (type.id != TypeId::kArray) return a.lo == b.lo;
  auto *x = reinterpret_cast<const ArrayValue*>(a.lo), *y = reinterpret_cast<const ArrayValue*>(b.lo);
  if (x->size != y->size || x->lower_bound != y->lower_bound || x->element != y->element) return false;
  for (int32_t i = 0; i < x->size; ++i) {
    if (!is_equal(element_of(type), x->elements[i], y->elements[i])) return false;
  }
  return true;
}

TEST(PackedRow, ComesBackAsItWas) {
  uint64_t seed = test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<SqlType> types = all_types();
  Maker maker{Random(seed)};
  RowArena arena;
  for (int round = 0; round < 500; ++round) {
    std::vector<Datum> row, read(types.size());
    for (const SqlType& type : types) row.push_back(maker.value(type));
    std::string bytes;
    append_row(types, row.data(), &bytes);
    arena.clear();
    std::string_view rest = bytes;
    ASSERT_TRUE(decode_row(types, &rest, read.data(), &arena).ok());
    EXPECT_TRUE(rest.empty());
    for (size_t i = 0; i < types.size(); ++i) ASSERT_TRUE(is_equal(types[i], row[i], read[i])) << type_name(types[i]);
  }
}

TEST(PackedRow, LongNumbersComeBack) {
  const SqlType types[] = {kNumeric, make_array(kNumeric)};
  const std::string texts[] = {"-123456789012345678901234567890123456789012345678.25", "{NaN,1,NULL,-Infinity,1000}"};
  query::ValueArena memory;
  RowArena arena;
  Datum row[2], read[2];
  for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(query::parse_value(types[i], texts[i], &memory, &row[i]).ok());
  std::string bytes;
  append_row(types, row, &bytes);
  std::string_view rest = bytes;
  ASSERT_TRUE(decode_row(types, &rest, read, &arena).ok());
  EXPECT_TRUE(rest.empty());
  for (size_t i = 0; i < 2; ++i) {
    std::string text;
    query::append_value(&text, types[i], read[i]);
    EXPECT_EQ(text, texts[i]);
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string exact = bytes.substr(0, size);
    rest = exact;
    EXPECT_EQ(sqlstate_of(decode_row(types, &rest, read, &arena)), "08P01") << size;
  }
}

TEST(PackedRow, RefusesEveryTruncationAndSurvivesDamage) {
  uint64_t seed = test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<SqlType> types = all_types();
  Maker maker{Random(seed)};
  RowArena arena;
  std::vector<Datum> row, read(types.size());
  for (const SqlType& type : types) row.push_back(maker.value(type));
  std::string bytes;
  append_row(types, row.data(), &bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    arena.clear();
    std::string exact = bytes.substr(0, size);  // a buffer of its own, for the sanitizer
    std::string_view rest = exact;
    EXPECT_EQ(sqlstate_of(decode_row(types, &rest, read.data(), &arena)), "08P01") << size;
  }
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = bytes;
    damaged[maker.random.below(damaged.size())] = static_cast<char>(maker.random.next());
    arena.clear();
    std::string_view rest = damaged;
    static_cast<void>(decode_row(types, &rest, read.data(), &arena));
  }
}

TEST(PackedRow, ChecksValues) {
  RowArena arena;
  Datum value;
  auto decode = [&](SqlType type, std::string bytes) {
    std::string_view rest = bytes;
    return sqlstate_of(decode_row({&type, 1}, &rest, &value, &arena));
  };
  EXPECT_EQ(decode(make_type(TypeId::kBool), std::string("\0\2", 2)), "08P01");
  EXPECT_EQ(decode(kText, std::string("\0\2\0\0\0\xC3\x28", 7)), "22021");
  EXPECT_EQ(decode(kText, std::string("\0\1\0\0\0\0", 6)), "22021");
  EXPECT_EQ(decode(make_numeric(3, 1), std::string("\0\2\x8\x10\x27\0\0\0\0\0\0", 11)), "22003");  // 100.00
  EXPECT_EQ(decode(make_numeric(3, 1), std::string("\0\2\x8\x19\0\0\0\0\0\0\0", 11)), "00000");    // 0.25 -> 0.3
  EXPECT_EQ(value.lo, 3);
  EXPECT_EQ(value.scale, 1);
  const SqlType time = make_type(TypeId::kTime);
  EXPECT_EQ(decode(time, std::string("\0\x00\x60\xD7\x1D\x14\0\0\0", 9)), "00000");  // 24:00:00
  EXPECT_EQ(decode(time, std::string("\0\x01\x60\xD7\x1D\x14\0\0\0", 9)), "22008");
  EXPECT_EQ(decode(time, std::string(1, '\0') + std::string(8, '\xff')), "22008");  // -1
  // PostgreSQL's last date and timestamp and what follows; infinity on both sides, and what lies beside it
  const SqlType date = make_type(TypeId::kDate);
  const auto number = [](int64_t value, size_t bytes) {
    return std::string(1, '\0') + std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  EXPECT_EQ(decode(date, number(2'145'031'948, 4)), "00000");
  EXPECT_EQ(decode(date, number(2'145'031'949, 4)), "22008");
  for (const int64_t infinity : {INT32_MIN, INT32_MAX}) EXPECT_EQ(decode(date, number(infinity, 4)), "00000");
  EXPECT_EQ(decode(date, number(INT32_MIN + 1, 4)), "22008");
  for (TypeId id : {TypeId::kTimestamp, TypeId::kTimestamptz}) {
    EXPECT_EQ(decode(make_type(id), number(9'223'371'331'199'999'999, 8)), "00000");
    EXPECT_EQ(decode(make_type(id), number(9'223'371'331'200'000'000, 8)), "22008");
    for (const int64_t infinity : {INT64_MIN, INT64_MAX})
      EXPECT_EQ(decode(make_type(id), number(infinity, 8)), "00000");
    EXPECT_EQ(decode(make_type(id), number(INT64_MIN + 1, 8)), "22008");
  }
  EXPECT_EQ(decode(kInt4, std::string("\2", 1)), "08P01");  // an unused bit of the bitmap
}

TEST(CheckText, FollowsUnicode) {
  EXPECT_TRUE(check_text("plain ascii, longer than eight bytes").ok());
  EXPECT_TRUE(check_text("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80").ok());
  for (const char* bad :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\x80", "abcdefgh\xC3"}) {
    EXPECT_EQ(sqlstate_of(check_text(bad)), "22021") << bad;
  }
  EXPECT_EQ(check_text("a\xE2\x28\xA1").message(), "invalid byte sequence for encoding \"UTF8\": 0xe2 0x28 0xa1");
  EXPECT_EQ(check_text(std::string_view("abcdefgh\0ijk", 12)).message(),
            "invalid byte sequence for encoding \"UTF8\": 0x00");
}

// An id is a hash that anybody can compute: what one role has prepared under it is nothing to another.
TEST(StatementsTest, TextsBelongToARole) {
  Statements::Texts texts(1 << 20);
  const auto id = texts.add("SELECT 1", "ann");
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(*id, Statements::id_of("SELECT 1"));
  EXPECT_EQ(texts.find(*id, "ann"), "SELECT 1");
  EXPECT_EQ(texts.find(*id, "eve"), "");
  EXPECT_EQ(texts.find(*id, ""), "");
  EXPECT_EQ(*texts.add("SELECT 1", "eve"), *id);
  EXPECT_EQ(texts.find(*id, "eve"), "SELECT 1");
}

// Beyond their memory the oldest go; one alone stays, however long it is.
TEST(StatementsTest, TextsAreBounded) {
  Statements::Texts texts(100);
  const std::string first(40, 'a'), second(40, 'b'), third(40, 'c'), huge(500, 'd');
  const uint64_t id = *texts.add(first, "");
  ASSERT_TRUE(texts.add(second, "").ok());
  EXPECT_EQ(texts.find(id, ""), first);
  ASSERT_TRUE(texts.add(third, "").ok());
  EXPECT_EQ(texts.find(id, ""), "");
  EXPECT_EQ(texts.find(Statements::id_of(third), ""), third);
  ASSERT_TRUE(texts.add(huge, "").ok());
  EXPECT_EQ(texts.find(Statements::id_of(third), ""), "");
  EXPECT_EQ(texts.find(Statements::id_of(huge), ""), huge);
  EXPECT_EQ(*texts.add(first, ""), id);
  EXPECT_EQ(texts.find(id, ""), first);
}

}  // namespace
}  // namespace scyper::server
