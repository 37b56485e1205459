#include "types/numeric_key.h"

#include <algorithm>

#include "types/big_endian.h"
#include "types/decimal.h"
#include "types/value_error.h"

namespace scyper::query {

namespace {

constexpr char kMinusInfinityKey = 0x01, kNegativeKey = 0x7f, kInfinityKey = static_cast<char>(0xfe),
               kNanKey = static_cast<char>(0xff), kZeroKey = static_cast<char>(0x80),
               kPositiveKey = static_cast<char>(0x81);
constexpr size_t kExponentBytes = 4;
// numeric_send()
constexpr uint64_t kPositiveSign = 0, kNegativeSign = 0x4000, kNanSign = 0xc000, kInfinitySign = 0xd000,
                   kMinusInfinitySign = 0xf000, kInfinityScaleSent = 32;
constexpr size_t kWordBytes = 2, kHeaderBytes = 4 * kWordBytes, kGroupDigits = 4;
constexpr uint64_t kGroupMax = 9999, kSentScaleMax = 0x3fff;

// The number is 0.digits * 10^exponent. No digits: zero.
struct Digits {
  bool is_negative = false;
  std::string digits;  // neither begins nor ends with a zero
  int64_t exponent = 0;
};

Digits digits_of(std::string_view text, uint32_t* scale) {
  Digits out;
  out.is_negative = text.starts_with('-');
  if (out.is_negative) text.remove_prefix(1);
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  *scale = static_cast<uint32_t>(fraction.size());
  out.digits = std::string(text.substr(0, point)) + std::string(fraction);
  const size_t first = out.digits.find_first_not_of('0');
  if (first == std::string::npos) return {};
  out.exponent = static_cast<int64_t>(point) - static_cast<int64_t>(first);
  out.digits = out.digits.substr(first, out.digits.find_last_not_of('0') + 1 - first);
  return out;
}

std::string text_of_digits(const Digits& number, uint32_t scale) {
  std::string whole, fraction;
  const auto size = static_cast<int64_t>(number.digits.size());
  for (int64_t i = std::min<int64_t>(number.exponent, 0); i < std::max(size, number.exponent); i++) {
    const char digit = i >= 0 && i < size ? number.digits[static_cast<size_t>(i)] : '0';
    (i < number.exponent ? whole : fraction) += digit;
  }
  fraction.resize(scale, '0');
  return (number.is_negative ? "-" : "") + (whole.empty() ? "0" : whole) + (scale > 0 ? "." + fraction : "");
}

std::string key_of_digits(const Digits& number) {
  if (number.digits.empty()) return std::string(1, kZeroKey);
  std::string key;
  append_ordered_integer(&key, number.exponent, kExponentBytes);
  for (size_t i = 0; i < number.digits.size(); i += 2) {
    const int tens = number.digits[i] - '0', ones = i + 1 < number.digits.size() ? number.digits[i + 1] - '0' : 0;
    key += static_cast<char>(tens * 10 + ones + 1);
  }
  key += '\0';
  if (number.is_negative)
    for (char& byte : key) byte = static_cast<char>(~byte);
  return std::string(1, number.is_negative ? kNegativeKey : kPositiveKey) + key;
}

Digits digits_of_key(std::string_view key) {
  Digits number;
  if (key.front() == kZeroKey) return number;
  number.is_negative = key.front() == kNegativeKey;
  std::string rest(key.substr(1));
  if (number.is_negative)
    for (char& byte : rest) byte = static_cast<char>(~byte);
  number.exponent = ordered_integer_of(std::string_view(rest).substr(0, kExponentBytes));
  for (size_t i = kExponentBytes; i < rest.size() && rest[i] != '\0'; i++) {
    const int pair = static_cast<unsigned char>(rest[i]) - 1;
    number.digits += static_cast<char>('0' + pair / 10);
    number.digits += static_cast<char>('0' + pair % 10);
  }
  if (number.digits.ends_with('0')) number.digits.pop_back();
  return number;
}

}  // namespace

NumericKey numeric_key_of_text(std::string_view text) {
  if (text == "NaN") return {std::string(1, kNanKey), 0};
  if (text == "Infinity") return {std::string(1, kInfinityKey), 0};
  if (text == "-Infinity") return {std::string(1, kMinusInfinityKey), 0};
  NumericKey key;
  const Digits number = digits_of(text, &key.scale);
  key.bytes = key_of_digits(number);
  return key;
}

std::string text_of_numeric_key(const NumericKey& key) {
  switch (key.bytes.front()) {
    case kNanKey:
      return "NaN";
    case kInfinityKey:
      return "Infinity";
    case kMinusInfinityKey:
      return "-Infinity";
    default:
      return text_of_digits(digits_of_key(key.bytes), key.scale);
  }
}

NumericKey numeric_key_of(const Datum& numeric) { return numeric_key_of_text(decimal_text(decimal_of(numeric))); }

Status receive_numeric_key(std::string_view sent, NumericKey* out) {
  if (sent.size() < kHeaderBytes) return sql_error("08P01", "insufficient data left in message");
  const auto word = [&](size_t i) { return big_endian_of(sent.substr(i * kWordBytes, kWordBytes)); };
  const size_t groups = word(0);
  const auto weight = static_cast<int16_t>(word(1));
  const uint64_t sign = word(2), scale = word(3);
  if (sent.size() != kHeaderBytes + groups * kWordBytes) return sql_error("08P01", "insufficient data left in message");
  if (sign == kNanSign) return *out = numeric_key_of_text("NaN"), absl::OkStatus();
  if (sign == kInfinitySign) return *out = numeric_key_of_text("Infinity"), absl::OkStatus();
  if (sign == kMinusInfinitySign) return *out = numeric_key_of_text("-Infinity"), absl::OkStatus();
  if (sign != kPositiveSign && sign != kNegativeSign)
    return sql_error("22P03", "invalid sign in external \"numeric\" value");
  if (scale > kSentScaleMax) return sql_error("22P03", "invalid scale in external \"numeric\" value");
  Digits number;
  for (size_t i = 0; i < groups; i++) {
    const uint64_t group = word(4 + i);
    if (group > kGroupMax) return sql_error("22P03", "invalid digit in external \"numeric\" value");
    const std::string digits = std::to_string(group);
    number.digits += std::string(kGroupDigits - digits.size(), '0') + digits;
  }
  number.is_negative = sign == kNegativeSign;
  number.exponent = (int64_t{weight} + 1) * static_cast<int64_t>(kGroupDigits);
  *out = numeric_key_of_text(text_of_digits(number, static_cast<uint32_t>(scale)));
  return absl::OkStatus();
}

void send_numeric_key(std::string* out, const NumericKey& key) {
  const char first = key.bytes.front();
  if (first == kNanKey || first == kInfinityKey || first == kMinusInfinityKey) {
    const uint64_t sign = first == kNanKey ? kNanSign : first == kInfinityKey ? kInfinitySign : kMinusInfinitySign;
    append_big_endian(out, kHeaderBytes, 4);
    const uint64_t scale = first == kNanKey ? 0 : kInfinityScaleSent;
    for (const uint64_t word : {uint64_t{0}, uint64_t{0}, sign, scale}) append_big_endian(out, word, kWordBytes);
    return;
  }
  Digits number = digits_of_key(key.bytes);
  // the first group ends where the exponent is a multiple of four
  int64_t weight = 0;
  if (!number.digits.empty()) {
    constexpr auto kGroup = static_cast<int64_t>(kGroupDigits);
    const int64_t behind = ((number.exponent % kGroup) + kGroup) % kGroup;
    if (behind != 0) {
      number.digits.insert(0, static_cast<size_t>(kGroup - behind), '0');
      number.exponent += kGroup - behind;
    }
    weight = number.exponent / kGroup - 1;
    number.digits.append((kGroupDigits - number.digits.size() % kGroupDigits) % kGroupDigits, '0');
  }
  const size_t groups = number.digits.size() / kGroupDigits;
  append_big_endian(out, kHeaderBytes + groups * kWordBytes, 4);
  append_big_endian(out, groups, kWordBytes);
  append_big_endian(out, static_cast<uint64_t>(weight), kWordBytes);
  append_big_endian(out, number.is_negative ? kNegativeSign : kPositiveSign, kWordBytes);
  append_big_endian(out, key.scale, kWordBytes);
  for (size_t i = 0; i < groups; i++)
    append_big_endian(out, std::stoull(number.digits.substr(i * kGroupDigits, kGroupDigits)), kWordBytes);
}

}  // namespace scyper::query
