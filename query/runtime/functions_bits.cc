#include <algorithm>
#include <cmath>

#include "runtime/function_body.h"
#include "types/bit_string.h"
#include "types/money.h"

// Bit strings and money. Declared where the builtins are listed (bind/builtins_bits.cc).
namespace scyper::query {

// clang-format off: as in runtime/functions.h
#define SCYPER_BITS_FUNCTIONS(X) \
  X(bits_length) X(bits_octets) X(bits_ones) X(bits_concat) X(bits_and) X(bits_or) X(bits_xor) X(bits_not) \
  X(bits_shift_left) X(bits_shift_right) X(bits_substring) X(bits_overlay) X(bits_position) X(bits_get) X(bits_set) \
  X(bits_same) X(bits_fold_and) X(bits_fold_or) X(bits_fold_xor) \
  X(money_cents) X(money_of_cents) X(money_add) X(money_subtract) X(money_multiply_float) X(money_multiply_float_reversed) \
  X(money_multiply) X(money_multiply_reversed) X(money_divide_float) X(money_divide) X(money_ratio) X(money_words) \
  X(money_larger) X(money_smaller)
// clang-format on
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_BITS_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

namespace {

std::string bits_of(const Datum& datum) { return bits_of_bytes(text_of(datum)); }
int32_t give_bits(ExecContext* c, Datum* out, std::string_view bits) { return give_copy(c, out, bytes_of_bits(bits)); }

char and_of(char a, char b) { return a == '1' && b == '1' ? '1' : '0'; }
char or_of(char a, char b) { return a == '1' || b == '1' ? '1' : '0'; }
char xor_of(char a, char b) { return a != b ? '1' : '0'; }

using Combine = char (*)(char, char);

int32_t combine(ExecContext* c, std::string* into, const std::string& other, const char* name, Combine one) {
  if (into->size() != other.size())
    return c->fail("22026", std::string("cannot ") + name + " bit strings of different sizes");
  for (size_t i = 0; i < into->size(); ++i) (*into)[i] = one((*into)[i], other[i]);
  return 0;
}

int32_t give_combined(ExecContext* c, const Datum* args, const char* name, Combine one, Datum* out) {
  std::string bits = bits_of(args[0]);
  const int32_t outcome = combine(c, &bits, bits_of(args[1]), name, one);
  return outcome != 0 ? outcome : give_bits(c, out, bits);
}

// bit_and() and its kin: of an array of what was aggregated.
int32_t fold(ExecContext* c, const Datum& given, const char* name, Combine one, Datum* out) {
  const ArrayValue* array = array_of(given);
  std::string bits;
  bool has_any = false;
  for (int32_t i = 0; i < array->size; ++i) {
    if (array->elements[i].null) continue;
    const std::string next = bits_of(array->elements[i]);
    if (has_any) {
      if (const int32_t outcome = combine(c, &bits, next, name, one); outcome != 0) return outcome;
    } else {
      bits = next;
    }
    has_any = true;
  }
  return has_any ? give_bits(c, out, bits) : give_null(out);
}

int32_t give_shifted(ExecContext* c, const Datum& given, int64_t left, Datum* out) {
  std::string bits = bits_of(given);
  const auto size = static_cast<int64_t>(bits.size());
  const auto count = static_cast<size_t>(std::min(left < 0 ? -left : left, size));
  const std::string zeros(count, '0');
  bits = left >= 0 ? bits.substr(count) + zeros : zeros + bits.substr(0, bits.size() - count);
  return give_bits(c, out, bits);
}

// from counts from 1, and may lie before the start. length -1: to the end.
std::string part_of(const std::string& bits, int64_t from, int64_t length) {
  const auto size = static_cast<int64_t>(bits.size());
  const int64_t begin = std::clamp<int64_t>(from - 1, 0, size);
  const int64_t end = length < 0 ? size : std::clamp<int64_t>(from - 1 + length, begin, size);
  return bits.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

int32_t check_index(ExecContext* c, int64_t index, size_t size) {
  if (index >= 0 && index < static_cast<int64_t>(size)) return 0;
  return c->fail("2202E", "bit index " + std::to_string(index) + " out of valid range (0.." +
                              std::to_string(static_cast<int64_t>(size) - 1) + ")");
}

int64_t cents_of(const Datum& datum) { return cents_of_bytes(text_of(datum)); }
int32_t give_money(ExecContext* c, Datum* out, int64_t cents) { return give_copy(c, out, bytes_of_cents(cents)); }
int32_t fail_range(ExecContext* c) { return c->fail("22003", "money out of range"); }
int32_t fail_zero(ExecContext* c) { return c->fail("22012", "division by zero"); }

int32_t give_rounded(ExecContext* c, Datum* out, double cents) {
  constexpr double kLimit = 9223372036854775808.0;
  cents = std::rint(cents);
  if (!(cents >= -kLimit && cents < kLimit)) return fail_range(c);
  return give_money(c, out, static_cast<int64_t>(cents));
}

int32_t give_product(ExecContext* c, Datum* out, int64_t cents, int64_t factor) {
  return __builtin_mul_overflow(cents, factor, &cents) ? fail_range(c) : give_money(c, out, cents);
}

extern "C" {

SCYPER_FUNCTION(bits_length) { return give(out, static_cast<int64_t>(bit_count_of_bytes(text_of(args[0])))); }
SCYPER_FUNCTION(bits_octets) { return give(out, static_cast<int64_t>((bit_count_of_bytes(text_of(args[0])) + 7) / 8)); }
SCYPER_FUNCTION(bits_ones) {
  const std::string bits = bits_of(args[0]);
  return give(out, static_cast<int64_t>(std::count(bits.begin(), bits.end(), '1')));
}
SCYPER_FUNCTION(bits_concat) { return give_bits(c, out, bits_of(args[0]) + bits_of(args[1])); }
SCYPER_FUNCTION(bits_and) { return give_combined(c, args, "AND", and_of, out); }
SCYPER_FUNCTION(bits_or) { return give_combined(c, args, "OR", or_of, out); }
SCYPER_FUNCTION(bits_xor) { return give_combined(c, args, "XOR", xor_of, out); }
SCYPER_FUNCTION(bits_not) {
  std::string bits = bits_of(args[0]);
  for (char& bit : bits) bit = xor_of(bit, '1');
  return give_bits(c, out, bits);
}
SCYPER_FUNCTION(bits_shift_left) { return give_shifted(c, args[0], args[1].lo, out); }
SCYPER_FUNCTION(bits_shift_right) { return give_shifted(c, args[0], -args[1].lo, out); }
SCYPER_FUNCTION(bits_substring) {
  if (count > 2 && args[2].lo < 0) return done(c, ValueError::kNegativeSubstringLength);
  return give_bits(c, out, part_of(bits_of(args[0]), args[1].lo, count > 2 ? args[2].lo : -1));
}
SCYPER_FUNCTION(bits_overlay) {
  const std::string bits = bits_of(args[0]), placed = bits_of(args[1]);
  const int64_t from = args[2].lo, length = count > 3 ? args[3].lo : static_cast<int64_t>(placed.size());
  if (from <= 0) return done(c, ValueError::kNegativeSubstringLength);
  if (from + length > INT32_MAX) return c->fail("22003", "integer out of range");
  return give_bits(c, out, part_of(bits, 1, from - 1) + placed + part_of(bits, from + length, -1));
}
SCYPER_FUNCTION(bits_position) {
  const std::string sought = bits_of(args[1]), bits = bits_of(args[0]);
  const size_t at = bits.find(sought);
  if (sought.empty() && !bits.empty()) return give(out, int64_t{1});
  return give(out, at == std::string::npos || bits.empty() ? int64_t{0} : static_cast<int64_t>(at) + 1);
}
SCYPER_FUNCTION(bits_get) {
  const std::string bits = bits_of(args[0]);
  if (const int32_t outcome = check_index(c, args[1].lo, bits.size()); outcome != 0) return outcome;
  return give(out, int64_t{bits[static_cast<size_t>(args[1].lo)] == '1' ? 1 : 0});
}
SCYPER_FUNCTION(bits_set) {
  std::string bits = bits_of(args[0]);
  if (const int32_t outcome = check_index(c, args[1].lo, bits.size()); outcome != 0) return outcome;
  if (args[2].lo != 0 && args[2].lo != 1) return c->fail("22023", "new bit must be 0 or 1");
  bits[static_cast<size_t>(args[1].lo)] = args[2].lo != 0 ? '1' : '0';
  return give_bits(c, out, bits);
}
SCYPER_FUNCTION(bits_same) { return give(out, text_of(args[0])); }
SCYPER_FUNCTION(bits_fold_and) { return fold(c, args[0], "AND", and_of, out); }
SCYPER_FUNCTION(bits_fold_or) { return fold(c, args[0], "OR", or_of, out); }
SCYPER_FUNCTION(bits_fold_xor) { return fold(c, args[0], "XOR", xor_of, out); }

SCYPER_FUNCTION(money_cents) { return give(out, cents_of(args[0])); }
SCYPER_FUNCTION(money_of_cents) {
  int64_t cents = 0;
  if (decimal_to_int8(decimal_of(args[0]), &cents) != ValueError::kNone) return fail_range(c);
  return give_money(c, out, cents);
}
SCYPER_FUNCTION(money_add) {
  int64_t cents = 0;
  if (__builtin_add_overflow(cents_of(args[0]), cents_of(args[1]), &cents)) return fail_range(c);
  return give_money(c, out, cents);
}
SCYPER_FUNCTION(money_subtract) {
  int64_t cents = 0;
  if (__builtin_sub_overflow(cents_of(args[0]), cents_of(args[1]), &cents)) return fail_range(c);
  return give_money(c, out, cents);
}
SCYPER_FUNCTION(money_multiply_float) {
  return give_rounded(c, out, static_cast<double>(cents_of(args[0])) * float8(args[1]));
}
SCYPER_FUNCTION(money_multiply_float_reversed) {
  return give_rounded(c, out, static_cast<double>(cents_of(args[1])) * float8(args[0]));
}
SCYPER_FUNCTION(money_multiply) { return give_product(c, out, cents_of(args[0]), args[1].lo); }
SCYPER_FUNCTION(money_multiply_reversed) { return give_product(c, out, cents_of(args[1]), args[0].lo); }
SCYPER_FUNCTION(money_divide_float) {
  if (float8(args[1]) == 0) return fail_zero(c);
  return give_rounded(c, out, static_cast<double>(cents_of(args[0])) / float8(args[1]));
}
SCYPER_FUNCTION(money_divide) {
  if (args[1].lo == 0) return fail_zero(c);
  const int64_t cents = cents_of(args[0]);
  if (cents == INT64_MIN && args[1].lo == -1) return fail_range(c);
  return give_money(c, out, cents / args[1].lo);
}
SCYPER_FUNCTION(money_ratio) {
  const int64_t divisor = cents_of(args[1]);
  if (divisor == 0) return fail_zero(c);
  return *out = float_datum(static_cast<double>(cents_of(args[0])) / static_cast<double>(divisor)), 0;
}
SCYPER_FUNCTION(money_words) { return give_copy(c, out, query::money_words(cents_of(args[0]))); }
SCYPER_FUNCTION(money_larger) { return give(out, text_of(cents_of(args[0]) > cents_of(args[1]) ? args[0] : args[1])); }
SCYPER_FUNCTION(money_smaller) { return give(out, text_of(cents_of(args[0]) < cents_of(args[1]) ? args[0] : args[1])); }

}  // extern "C"

}  // namespace

SCYPER_BITS_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
