#pragma once

#include <cstdint>

#include "storage/type.h"

// What a numeric holds that 128 bits do not: more than 38 digits, NaN and infinities. Only numerics without a declared
// precision of up to 38 have such values. Columns hold NaN and infinities; more than 38 digits live only while a
// statement runs. A scale below 0 tells them apart. They are never the 64 bits of a small number (hi is not lo's sign),
// so code that is only for those leaves them alone.
namespace scyper {

constexpr int32_t kBigScale = -1;  // lo: pointer to the magnitude; hi: BigNumeric
constexpr int32_t kNanScale = -2;
constexpr int32_t kInfinityScale = -3;
constexpr int32_t kNegativeInfinityScale = -4;
constexpr int64_t kSpecialHigh = 1;  // hi of NaN and infinities, lo is 0

// numeric(p,s) that no 128 bits hold (p above 38, s below 0 or above p) is unconstrained but for SqlType::length, which
// has both as PostgreSQL's type modifier does: such a value is cut to them when it is cast.
constexpr SqlType make_modified_numeric(int32_t precision, int32_t scale) {
  return SqlType{TypeId::kNumeric, TypeId::kUnknown, 0, 0, precision << 16 | (scale & 0x7ff)};
}
constexpr bool is_modified_numeric(const SqlType& type) {
  return type.id == TypeId::kNumeric && type.precision == 0 && type.length >= 0;
}
constexpr int32_t numeric_precision(const SqlType& type) {
  return is_modified_numeric(type) ? type.length >> 16 : type.precision;
}
constexpr int32_t numeric_scale(const SqlType& type) {
  if (!is_modified_numeric(type)) return type.scale;
  return ((type.length & 0x7ff) ^ 0x400) - 0x400;  // 11 bits with a sign
}

// The value is magnitude / 10^scale; the magnitude lies in limbs of 64 bits, the least significant first.
struct BigNumeric {
  uint32_t limbs = 0;  // at least one
  uint32_t scale = 0;
  bool negative = false;

  static BigNumeric of(int64_t hi) {
    return {static_cast<uint32_t>(hi & 0xffff), static_cast<uint32_t>(hi >> 16 & 0xffff), (hi >> 32 & 1) != 0};
  }
  int64_t hi() const {
    return static_cast<int64_t>(limbs) | static_cast<int64_t>(scale) << 16 | static_cast<int64_t>(negative) << 32;
  }
  uint64_t bytes() const { return uint64_t{limbs} * sizeof(uint64_t); }
};
constexpr int64_t kBigNegativeBit = int64_t{1} << 32;  // of hi
constexpr uint32_t kBigLimbsMax = 7700;                // 147,455 digits, PostgreSQL's largest
constexpr uint32_t kBigScaleMax = 16383;               // PostgreSQL's, behind the point

inline bool is_special_numeric(const Datum& value) { return value.scale < 0; }
// The bytes that a numeric points to; 0 = it is all in itself.
inline uint64_t big_numeric_bytes(const Datum& value) {
  return value.scale == kBigScale ? BigNumeric::of(value.hi).bytes() : 0;
}
// Of a Datum that was read from elsewhere, but for what it points to.
inline bool is_numeric_form(int64_t hi, int32_t scale) {
  if (scale >= 0) return true;
  if (scale != kBigScale) return scale >= kNegativeInfinityScale && hi == kSpecialHigh;
  const BigNumeric big = BigNumeric::of(hi);
  return hi == big.hi() && big.limbs > 0 && big.limbs <= kBigLimbsMax && big.scale <= kBigScaleMax;
}

}  // namespace scyper
