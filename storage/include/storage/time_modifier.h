#pragma once

#include <cstdint>
#include <string>

#include "storage/type.h"

// Modifiers of types with a clock, in SqlType::length as in PostgreSQL's atttypmod; -1: none. timestamp(p),
// timestamptz(p), time(p) and timetz(p): p, the digits of the second that are kept. interval: its fields in the high 16
// bits, the digits in the low ones.
namespace scyper {

constexpr int32_t kMicrosecondDigits = 6;
constexpr int32_t kIntervalAllFields = 0x7fff, kIntervalAllDigits = 0xffff;

constexpr bool has_clock(TypeId id) {
  return id == TypeId::kTimestamp || id == TypeId::kTimestamptz || id == TypeId::kTime || id == TypeId::kInterval ||
         id == TypeId::kTimetz;
}
constexpr int32_t interval_modifier(int32_t fields, int32_t digits) { return fields << 16 | digits; }
constexpr int32_t interval_fields(const SqlType& type) {
  return type.length < 0 ? kIntervalAllFields : type.length >> 16;
}
// Digits of the second that a value of the type keeps.
constexpr int32_t second_digits(const SqlType& type) {
  if (type.length < 0) return kMicrosecondDigits;
  const int32_t digits = type.id == TypeId::kInterval ? type.length & kIntervalAllDigits : type.length;
  return digits < kMicrosecondDigits ? digits : kMicrosecondDigits;
}

// "(3)", " day to second(3)": as format_type() has it.
std::string time_modifier_text(TypeId id, int32_t modifier);

}  // namespace scyper
