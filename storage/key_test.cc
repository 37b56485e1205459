#include "storage/key.h"

#include <cmath>
#include <limits>

#include "base/random.h"
#include "gtest/gtest.h"
#include "storage/big_numeric.h"

namespace scyper::storage {
namespace {

using Row = std::vector<Datum>;

TableSchema make_schema(const std::vector<SqlType>& types, bool not_null) {
  TableSchema schema;
  for (const SqlType& type : types)
    schema.columns.push_back({"c" + std::to_string(schema.columns.size()), type, not_null});
  return schema;
}
IndexDef make_index(size_t columns, bool unique, std::vector<bool> descending = {}) {
  IndexDef index;
  index.name = "i";
  for (uint32_t i = 0; i < columns; ++i) index.columns.push_back(i);
  index.descending = std::move(descending);
  index.unique = unique;
  return index;
}
KeyFormat make_format(const std::vector<SqlType>& types, bool not_null, bool unique,
                      std::vector<bool> descending = {}) {
  auto format =
      KeyFormat::create(make_index(types.size(), unique, std::move(descending)), make_schema(types, not_null));
  CHECK(format.ok());
  return *format;
}
std::string encode(const KeyFormat& format, const Row& row) {
  std::string key(kMaxIndexKeyBytes, '?');
  key.resize(format.encode(row, key.data()));
  return key;
}
std::string encode_entry(const KeyFormat& format, const Row& row, Tid tid) {
  std::string key(kMaxIndexKeyBytes, '?');
  key.resize(format.encode_entry(row, tid, key.data()));
  return key;
}

int sign(int value) { return (value > 0) - (value < 0); }
template <typename T>
int compare(T a, T b) {
  return (a > b) - (a < b);
}

__int128 power10(int32_t exponent) {
  __int128 power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

// SQL order of two values of a type, slowly and obviously. Scales are small enough here not to overflow.
int compare_values(const SqlType& type, const Datum& a, const Datum& b) {
  if (a.null || b.null) return compare<int>(a.null, b.null);
  if (holds_bytes(type.id)) {
    std::string x(a.data(), a.size()), y(b.data(), b.size());
    while (type.id == TypeId::kChar && !x.empty() && x.back() == ' ') x.pop_back();
    while (type.id == TypeId::kChar && !y.empty() && y.back() == ' ') y.pop_back();
    return sign(x.compare(y));
  }
  if (type.id == TypeId::kFloat8) {
    const auto x = std::bit_cast<double>(a.lo), y = std::bit_cast<double>(b.lo);
    if (std::isnan(x) || std::isnan(y)) return compare<int>(std::isnan(x), std::isnan(y));
    return compare(x, y);
  }
  if (type.id == TypeId::kNumeric) {
    const int32_t scale = std::max(a.scale, b.scale);
    return compare(a.int128() * power10(scale - a.scale), b.int128() * power10(scale - b.scale));
  }
  if (type.id == TypeId::kUuid) return compare(a.int128(), b.int128());
  return compare(a.lo, b.lo);
}

class RowSource {
 public:
  explicit RowSource(uint64_t seed) : random_(seed) {}
  Random& random() { return random_; }

  Datum value(const SqlType& type, bool may_be_null) {
    if (may_be_null && random_.one_in(6)) return null_datum();
    switch (type.id) {
      case TypeId::kBool:
        return int_datum(random_.between(0, 1));
      case TypeId::kInt2:
        return int_datum(static_cast<int16_t>(number()));
      case TypeId::kInt4:
      case TypeId::kDate:
        return int_datum(static_cast<int32_t>(number()));
      case TypeId::kInt8:
      case TypeId::kTimestamp:
      case TypeId::kTimestamptz:
      case TypeId::kTime:
        return int_datum(number());
      case TypeId::kUuid:
        return Datum{number(), number(), 0, 0, {}};
      case TypeId::kBytea:
        return bytes();
      case TypeId::kFloat8:
        return float_datum(real());
      case TypeId::kNumeric:
        return numeric(type);
      default:
        return string(type.id == TypeId::kChar);
    }
  }

 private:
  Datum bytes() {
    std::string& text = *strings_.emplace_back(std::make_unique<std::string>());
    for (uint64_t i = random_.below(6); i > 0; --i) text += "\0\xff\1"[random_.below(3)];
    return string_datum(text.data(), text.size());
  }
  int64_t number() {
    switch (random_.below(4)) {
      case 0:
        return random_.between(-3, 3);
      case 1:
        return random_.one_in(2) ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
      case 2:
        return random_.between(-40000, 40000);
      default:
        return static_cast<int64_t>(random_.next());
    }
  }
  double real() {
    const double special[] = {0.0,
                              -0.0,
                              1.5,
                              -1.5,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              std::nan(""),
                              -std::nan(""),
                              std::numeric_limits<double>::denorm_min()};
    if (random_.one_in(2)) return special[random_.below(std::size(special))];
    return std::bit_cast<double>(random_.next());
  }
  Datum numeric(const SqlType& type) {
    const int32_t digits = static_cast<int32_t>(random_.below(type.precision == 0 ? 20 : type.precision + 1));
    __int128 value = static_cast<__int128>(random_.next() >> 1) * static_cast<int64_t>(random_.next() >> 40);
    value = value * 1000003 % power10(digits);
    if (value < 0) value = -value;
    if (random_.one_in(3)) value = value / power10(digits / 2) * power10(digits / 2);
    if (random_.one_in(2)) value = -value;
    return int128_datum(value, type.precision == 0 ? static_cast<int32_t>(random_.below(15)) : type.scale);
  }
  Datum string(bool padded) {
    std::string text(random_.below(5), 'a');
    for (char& c : text) c = "\x01 ab\xff"[random_.below(5)];
    if (padded) text += std::string(random_.below(3), ' ');
    strings_.push_back(std::make_unique<std::string>(std::move(text)));
    return string_datum(strings_.back()->data(), strings_.back()->size());
  }

  Random random_;
  std::vector<std::unique_ptr<std::string>> strings_;
};

const SqlType kTypes[] = {make_type(TypeId::kBool),
                          make_type(TypeId::kInt2),
                          make_type(TypeId::kInt4),
                          make_type(TypeId::kInt8),
                          make_type(TypeId::kFloat8),
                          make_type(TypeId::kDate),
                          make_type(TypeId::kTimestamp),
                          make_numeric(3, 1),
                          make_numeric(9, 2),
                          make_numeric(18, 0),
                          make_numeric(36, 6),
                          make_numeric(0, 0),
                          make_string(TypeId::kChar, 8),
                          make_string(TypeId::kVarchar, 9),
                          make_string(TypeId::kText, -1),
                          make_type(TypeId::kTimestamptz),
                          make_type(TypeId::kTime),
                          make_type(TypeId::kUuid),
                          make_type(TypeId::kBytea)};

// Byte order is SQL order, equality is equality, and no key begins another, for random rows of random types.
TEST(Key, BytesFollowSqlOrder) {
  const uint64_t seed = 77;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RowSource source(seed);
  for (int round = 0; round < 400; ++round) {
    std::vector<SqlType> types;
    std::vector<bool> descending;
    const bool not_null = source.random().one_in(2);
    for (uint64_t i = 1 + source.random().below(3); i > 0; --i) {
      types.push_back(kTypes[source.random().below(std::size(kTypes))]);
      descending.push_back(source.random().one_in(3));
    }
    const KeyFormat format = make_format(types, not_null, true, descending);
    std::vector<Row> rows(25);
    for (Row& row : rows) {
      for (const SqlType& type : types) row.push_back(source.value(type, !not_null));
    }
    for (const Row& a : rows) {
      for (const Row& b : rows) {
        int expected = 0;
        for (size_t i = 0; i < types.size() && expected == 0; ++i) {
          expected = compare_values(types[i], a[i], b[i]) * (descending[i] ? -1 : 1);
        }
        const std::string x = encode(format, a), y = encode(format, b);
        ASSERT_EQ(sign(x.compare(y)), expected)
            << testing::PrintToString(x) << " " << testing::PrintToString(y) << " " << type_name(types[0]);
        if (expected != 0) ASSERT_FALSE(x.starts_with(y));
        if (format.key_bytes() != 0) ASSERT_EQ(x.size(), format.key_bytes());
        const Row head(a.begin(), a.begin() + 1);
        ASSERT_TRUE(x.starts_with(encode(format, head)));
      }
    }
  }
}

TEST(Key, BytesAreAsDocumented) {
  const auto key = [](const SqlType& type, const Datum& value, bool not_null = true) {
    return encode(make_format({type}, not_null, true), {value});
  };
  EXPECT_EQ(key(make_type(TypeId::kInt4), int_datum(1)), std::string("\x80\0\0\1", 4));
  EXPECT_EQ(key(make_type(TypeId::kInt2), int_datum(-2)), std::string("\x7f\xfe", 2));
  EXPECT_EQ(key(make_type(TypeId::kBool), int_datum(1)), std::string("\x81", 1));
  EXPECT_EQ(key(make_type(TypeId::kText), string_datum("ab", 2)), std::string("ab\0", 3));
  EXPECT_EQ(key(make_type(TypeId::kText), string_datum("ab", 2), false), std::string("\0ab\0", 4));
  EXPECT_EQ(key(make_type(TypeId::kText), null_datum(), false), std::string("\1", 1));
  EXPECT_EQ(key(make_type(TypeId::kInt2), null_datum(), false), std::string("\1\0\0", 3));
  EXPECT_EQ(key(make_string(TypeId::kChar, 4), string_datum("a   ", 4)), std::string("a\0", 2));
  EXPECT_EQ(key(make_numeric(4, 2), int128_datum(100, 2)), std::string("\x80\x64", 2));
  EXPECT_EQ(key(make_numeric(38, 0), int128_datum(-1, 0)), std::string("\x7f") + std::string(15, '\xff'));
  EXPECT_EQ(key(make_numeric(0, 0), int128_datum(1234500, 2)), std::string("\x81\x80\x05\x0d\x23\x33\0", 7));
  EXPECT_EQ(key(make_numeric(0, 0), int128_datum(0, 9)), std::string("\x80"));
  EXPECT_EQ(key(make_numeric(0, 0), int128_datum(-5, 1)), std::string("\x7f\x7f\xff\xcc\xff"));
  const auto special = [&](int32_t scale) {
    return key(make_numeric(0, 0), int128_datum(static_cast<__int128>(kSpecialHigh) << 64, scale));
  };
  EXPECT_EQ(special(kNanScale), std::string("\xff"));
  EXPECT_EQ(special(kInfinityScale), std::string("\xfe"));
  EXPECT_EQ(special(kNegativeInfinityScale), std::string("\1"));
  EXPECT_EQ(key(make_type(TypeId::kFloat8), float_datum(-0.0)), std::string("\x80\0\0\0\0\0\0\0", 8));
  // the longest decimal: 39 digits
  const auto max = static_cast<__int128>(~static_cast<unsigned __int128>(0) >> 1);
  EXPECT_EQ(key(make_numeric(0, 0), int128_datum(max, 0)).size(), kMaxDecimalKeyBytes);
  EXPECT_LT(key(make_numeric(0, 0), int128_datum(-max - 1, 0)), key(make_numeric(0, 0), int128_datum(-max, 0)));
}

TEST(Key, TidEndsWhatIsNotUnique) {
  const SqlType int4 = make_type(TypeId::kInt4);
  const std::string tid("\0\0\0\0\0\0\1\2", 8);
  EXPECT_EQ(make_format({int4}, true, true).key_bytes(), 4u);
  EXPECT_EQ(make_format({int4}, true, false).key_bytes(), 12u);
  EXPECT_EQ(make_format({int4}, false, false).key_bytes(), 13u);
  EXPECT_EQ(make_format({int4}, false, true).key_bytes(), 0u);
  EXPECT_EQ(make_format({int4, make_type(TypeId::kText)}, true, false).key_bytes(), 0u);
  EXPECT_EQ(encode_entry(make_format({int4}, true, true), {int_datum(1)}, 258), std::string("\x80\0\0\1", 4));
  EXPECT_EQ(encode_entry(make_format({int4}, true, false), {int_datum(1)}, 258), std::string("\x80\0\0\1", 4) + tid);
  const KeyFormat nullable = make_format({int4}, false, true);
  EXPECT_EQ(encode_entry(nullable, {int_datum(1)}, 258), std::string("\0\x80\0\0\1", 5));
  EXPECT_EQ(encode_entry(nullable, {null_datum()}, 258), std::string("\1\0\0\0\0", 5) + tid);
}

TEST(Key, RefusesWhatIsTooLargeOrNoKey) {
  const std::string text(3000, 'x');
  const KeyFormat format = make_format({make_type(TypeId::kText)}, true, false);
  char key[kMaxIndexKeyBytes];
  const Row longest{string_datum(text.data(), kMaxKeyBytes - 1)};
  EXPECT_EQ(format.encode_entry(longest, 1, key), kMaxIndexKeyBytes);
  const Row longer{string_datum(text.data(), kMaxKeyBytes)};
  EXPECT_EQ(format.encode_entry(longer, 1, key), kKeyTooLarge);
  EXPECT_EQ(format.encode(longer, key), kKeyTooLarge);
  const Status status = format.key_too_large(longer);
  EXPECT_EQ(sqlstate_of(status), "54000");
  EXPECT_EQ(status.message(), "index row size 2001 exceeds maximum 2000 for index \"i\"");
  const auto array = KeyFormat::create(make_index(1, true), make_schema({make_array(make_type(TypeId::kInt4))}, true));
  EXPECT_EQ(sqlstate_of(array.status()), "0A000");
  const std::vector<SqlType> many(33, make_type(TypeId::kInt4));
  EXPECT_EQ(sqlstate_of(KeyFormat::create(make_index(33, true), make_schema(many, true)).status()), "54011");
}

}  // namespace
}  // namespace scyper::storage
