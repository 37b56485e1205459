#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scyper {

// The SQL types, as PostgreSQL names them. The numbers are stored in logs and archives: never renumber, only append.
enum class TypeId : uint8_t {
  kUnknown = 0,  // an untyped literal or NULL before the binder decides
  kBool = 1,
  kInt2 = 2,
  kInt4 = 3,
  kInt8 = 4,
  kFloat8 = 5,
  kNumeric = 6,
  kChar = 7,  // char(n): blank-padded to n characters in every representation
  kVarchar = 8,
  kText = 9,
  kDate = 10,       // days since 2000-01-01, int32
  kTimestamp = 11,  // microseconds since 2000-01-01 00:00:00, int64
  kArray = 12,      // one-dimensional, of `element`
  kRecord = 13,
  kVoid = 14,
  kInterval = 15,     // months, days and microseconds; a value of expressions, not of columns
  kFloat4 = 16,       // held as the double of the same value
  kTimestamptz = 17,  // microseconds since 2000-01-01 00:00:00 UTC, int64
  kTime = 18,         // microseconds since midnight, int64, 24:00:00 included
  kUuid = 19,         // its 16 bytes as a big-endian integer less 2^127, int128: order of bytes = order of integers
  kBytea = 20,
  kJsonb = 21,  // text in a normal form
  kEnum = 22,   // the code of a label (enum_type.h), int64; SqlType::length says of which enum
  // Ordered bytes (query/types/ordered_bytes.h): see is_ordered_bytes(). Only these may stand here.
  kInet = 23,
  kCidr = 24,
  kMacaddr = 25,
  kMacaddr8 = 26,
  kBit = 27,     // SqlType::length: the declared length, -1 = any
  kVarbit = 28,  // likewise, the greatest
  kMoney = 29,
  kTimetz = 30,  // SqlType::length: the digits of the second, -1 = any
  kInt4range = 31,
  kInt8range = 32,
  kDaterange = 33,
  kTsrange = 34,
  kTstzrange = 35,
  kNumrange = 36,
  kInt4multirange = 37,  // the multiranges, in the order of their ranges
  kInt8multirange = 38,
  kDatemultirange = 39,
  kTsmultirange = 40,
  kTstzmultirange = 41,
  kNummultirange = 42,
  kTsvector = 43,
  kTsquery = 44,
};

// A type with its modifiers. Units: lengths in characters, precision and scale in decimal digits.
// numeric: precision 0 = unconstrained, its scale travels with each value. Otherwise every value is an integer scaled
// by 10^scale that fits in `precision` digits: 1..18 are held in 64 bits, 19..38 in 128. The binder also uses this form
// for expressions whose scale it knows (numeric(5,2) * integer is (15,2)), where PostgreSQL says plain numeric.
struct SqlType {
  TypeId id = TypeId::kUnknown;
  TypeId element = TypeId::kUnknown;  // arrays only
  uint8_t precision = 0;              // numeric only (also of numeric elements)
  uint8_t scale = 0;
  int32_t length = -1;  // char, varchar: declared length, -1 = unlimited; enum: its number

  friend bool operator==(const SqlType&, const SqlType&) = default;
};

constexpr uint8_t kMaxPrecision = 38;
constexpr uint8_t kMaxPrecision64 = 18;  // 10^18 - 1 fits in int64

constexpr SqlType make_type(TypeId id) { return SqlType{id, TypeId::kUnknown, 0, 0, -1}; }
constexpr SqlType make_numeric(uint8_t precision, uint8_t scale) {
  return SqlType{TypeId::kNumeric, TypeId::kUnknown, precision, scale, -1};
}
constexpr SqlType make_string(TypeId id, int32_t length) { return SqlType{id, TypeId::kUnknown, 0, 0, length}; }
constexpr SqlType make_array(SqlType element) {
  return SqlType{TypeId::kArray, element.id, element.precision, element.scale, element.length};
}
constexpr SqlType element_of(SqlType array) {
  return SqlType{array.element, TypeId::kUnknown, array.precision, array.scale, array.length};
}
// Without lengths and precisions.
constexpr SqlType without_modifiers(const SqlType& type) {
  const bool is_enum = type.id == TypeId::kEnum || type.element == TypeId::kEnum;
  return SqlType{type.id, type.element, 0, 0, is_enum ? type.length : -1};
}
// Values of these types are bytes in a normal form. Equal values are the same bytes, and the order of the bytes is the
// order of the values. So the types are kept, indexed, compared, hashed and sorted as bytea is.
constexpr bool is_ordered_bytes(TypeId id) { return id >= TypeId::kInet && id <= TypeId::kTsquery; }
constexpr bool is_range(TypeId id) { return id >= TypeId::kInt4range && id <= TypeId::kNumrange; }
constexpr bool is_multirange(TypeId id) { return id >= TypeId::kInt4multirange && id <= TypeId::kNummultirange; }
constexpr TypeId multirange_of(TypeId range) {
  return static_cast<TypeId>(static_cast<int>(range) - static_cast<int>(TypeId::kInt4range) +
                             static_cast<int>(TypeId::kInt4multirange));
}
constexpr TypeId range_of_multirange(TypeId multirange) {
  return static_cast<TypeId>(static_cast<int>(multirange) - static_cast<int>(TypeId::kInt4multirange) +
                             static_cast<int>(TypeId::kInt4range));
}
// Ordered bytes with a trailer that has no part in comparisons (query/types/range.h): equal numerics may show different
// scales. Equal values are not the same bytes.
constexpr bool has_trailer(TypeId id) { return id == TypeId::kNumrange || id == TypeId::kNummultirange; }
// The type as which values of `id` are kept: bytea for ordered bytes, jsonb for those with a trailer, else the type
// itself.
constexpr TypeId kept_as(TypeId id) {
  return !is_ordered_bytes(id) ? id : has_trailer(id) ? TypeId::kJsonb : TypeId::kBytea;
}
constexpr bool is_string(TypeId id) { return id == TypeId::kChar || id == TypeId::kVarchar || id == TypeId::kText; }
// Datums of the type point to bytes with a length.
constexpr bool holds_bytes(TypeId id) {
  return is_string(id) || is_ordered_bytes(id) || kept_as(id) == TypeId::kBytea || id == TypeId::kJsonb;
}
constexpr bool is_moment(TypeId id) {
  return id == TypeId::kDate || id == TypeId::kTimestamp || id == TypeId::kTimestamptz;
}
// Columns may be of the type.
constexpr bool is_storable(TypeId id) {
  return id != TypeId::kUnknown && id != TypeId::kRecord && id != TypeId::kVoid && id <= TypeId::kTsquery;
}
constexpr bool is_integer(TypeId id) { return id == TypeId::kInt2 || id == TypeId::kInt4 || id == TypeId::kInt8; }
constexpr bool is_float(TypeId id) { return id == TypeId::kFloat4 || id == TypeId::kFloat8; }
constexpr bool is_number(TypeId id) { return is_integer(id) || id == TypeId::kNumeric || is_float(id); }

// "numeric(5,2)", "character varying(16)", "integer[]": as PostgreSQL's format_type prints it.
std::string type_name(const SqlType& type);

// One value at rest between components (arguments, results, constants): 24 bytes, trivially copyable, owns nothing.
// By type: bool/int2/int4/int8/date/time/timestamp(tz) in lo (sign-extended); float4 and float8 as the bits of a double
// in lo; numeric as the 128-bit integer hi:lo scaled by 10^scale (scale always set); uuid as an integer hi:lo; strings,
// bytea, ordered bytes and jsonb as pointer lo and byte length hi; arrays as pointer lo to ArrayValue; intervals as
// microseconds lo, days and months in the low and high half of hi. null: all else is ignored.
struct Datum {
  int64_t lo = 0;
  int64_t hi = 0;
  int32_t scale = 0;
  uint8_t null = 1;
  uint8_t padding[3] = {};

  __int128 int128() const {
    return static_cast<__int128>((static_cast<unsigned __int128>(static_cast<uint64_t>(hi)) << 64) |
                                 static_cast<uint64_t>(lo));
  }
  const char* data() const { return reinterpret_cast<const char*>(lo); }
  uint64_t size() const { return static_cast<uint64_t>(hi); }
};
static_assert(sizeof(Datum) == 24);

inline Datum int_datum(int64_t value) { return Datum{value, value < 0 ? -1 : 0, 0, 0, {}}; }
inline Datum int128_datum(__int128 value, int32_t scale) {
  return Datum{static_cast<int64_t>(value), static_cast<int64_t>(value >> 64), scale, 0, {}};
}
inline Datum float_datum(double value) { return Datum{__builtin_bit_cast(int64_t, value), 0, 0, 0, {}}; }
inline Datum string_datum(const char* data, uint64_t size) {
  return Datum{reinterpret_cast<int64_t>(data), static_cast<int64_t>(size), 0, 0, {}};
}
inline Datum null_datum() { return Datum{}; }

// A one-dimensional array. Elements count from lower_bound. Lives in a transaction's arena (or in a caller's buffer for
// arguments). An array with size 0 is '{}'.
struct ArrayValue {
  int32_t size = 0;
  int32_t capacity = 0;
  int32_t lower_bound = 1;
  TypeId element = TypeId::kUnknown;
  Datum* elements = nullptr;
};

}  // namespace scyper
