#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

// Decimal digits by hand: strings are built inside transactions, where snprintf and iostreams cost more than the work.
namespace scyper::query {

constexpr std::array<char, 200> kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (int i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

constexpr std::array<uint64_t, 20> kPowersOfTen64 = [] {
  std::array<uint64_t, 20> powers{};
  uint64_t power = 1;
  for (auto& p : powers) {
    p = power;
    power *= 10;
  }
  return powers;
}();

// Number of decimal digits; 1 for 0.
constexpr int digit_count(uint64_t value) noexcept {
  int guess = (std::bit_width(value | 1) * 1233) >> 12;  // log10(2) = 1233/4096, at most one too small
  return guess + (value >= kPowersOfTen64[guess] ? 1 : 0) + (value == 0 ? 1 : 0);
}

// Exactly `width` digits with leading zeros; what does not fit is lost. Returns the end.
inline char* write_fixed(char* out, uint64_t value, int width) noexcept {
  int i = width;
  for (; i >= 2; i -= 2) {
    std::memcpy(out + i - 2, &kDigitPairs[2 * (value % 100)], 2);
    value /= 100;
  }
  if (i == 1) out[0] = static_cast<char>('0' + value % 10);
  return out + width;
}

inline char* write_unsigned(char* out, uint64_t value) noexcept { return write_fixed(out, value, digit_count(value)); }

inline char* write_signed(char* out, int64_t value) noexcept {
  if (value >= 0) return write_unsigned(out, static_cast<uint64_t>(value));
  *out = '-';
  return write_unsigned(out + 1, 0 - static_cast<uint64_t>(value));
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
// -1: no hexadecimal digit.
constexpr int hex_value_of(char c) noexcept {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
constexpr bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr char to_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr char to_upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

}  // namespace scyper::query
