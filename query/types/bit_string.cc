#include "types/bit_string.h"

#include <algorithm>

#include "types/big_endian.h"
#include "types/digits.h"
#include "types/text.h"

namespace scyper::query {

namespace {

constexpr size_t kGroupBits = 7;
constexpr size_t kLengthBytes = 4;               // in the binary format
constexpr int64_t kMaxBits = INT32_MAX - 8 + 1;  // PostgreSQL's VARBITMAXLEN

Status wrong_digit(std::string_view rest, const char* kind) {
  return sql_error("22P02", "\"" + std::string(first_character(rest)) + "\" is not a valid " + kind + " digit");
}

Status wrong_length(size_t size, bool varies, int32_t length) {
  const std::string declared = std::to_string(length) + ")";
  if (varies) return sql_error("22001", "bit string too long for type bit varying(" + declared);
  return sql_error("22026", "bit string length " + std::to_string(size) + " does not match type bit(" + declared);
}

Status check_length(size_t size, bool varies, int32_t length) {
  const auto wanted = static_cast<size_t>(std::max(length, 0));
  const bool fits = length < 0 || (varies ? size <= wanted : size == wanted);
  return fits ? absl::OkStatus() : wrong_length(size, varies, length);
}

}  // namespace

std::string bytes_of_bits(std::string_view bits) {
  const size_t groups = std::max<size_t>(1, (bits.size() + kGroupBits - 1) / kGroupBits);
  std::string bytes(groups + 1, '\0');
  for (size_t i = 0; i < bits.size(); ++i)
    if (bits[i] == '1') bytes[i / kGroupBits] = static_cast<char>(bytes[i / kGroupBits] | 0x80 >> (i % kGroupBits));
  for (size_t i = 0; i + 1 < groups; ++i) bytes[i] = static_cast<char>(bytes[i] | 1);
  bytes[groups] = static_cast<char>(bits.size() - kGroupBits * (groups - 1));
  return bytes;
}

uint64_t bit_count_of_bytes(std::string_view bytes) {
  return kGroupBits * (bytes.size() - 2) + static_cast<uint64_t>(bytes.back());
}

std::string bits_of_bytes(std::string_view bytes) {
  std::string bits(bit_count_of_bytes(bytes), '0');
  for (size_t i = 0; i < bits.size(); ++i)
    if ((static_cast<unsigned char>(bytes[i / kGroupBits]) & 0x80 >> (i % kGroupBits)) != 0) bits[i] = '1';
  return bits;
}

Status bits_parse(std::string_view text, bool varies, int32_t length, std::string* bits) {
  const char prefix = text.empty() ? '\0' : to_lower(text.front());
  const bool is_hex = prefix == 'x';
  if (is_hex || prefix == 'b') text.remove_prefix(1);
  const size_t size = text.size() * (is_hex ? 4 : 1);
  if (size > static_cast<size_t>(kMaxBits))
    return sql_error("54000", "bit string length exceeds the maximum allowed (" + std::to_string(kMaxBits) + ")");
  SCYPER_RETURN_IF_ERROR(check_length(size, varies, length));
  bits->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    const int value = is_hex ? hex_value_of(text[i]) : text[i] - '0';
    if (value < 0 || value > (is_hex ? 15 : 1)) return wrong_digit(text.substr(i), is_hex ? "hexadecimal" : "binary");
    for (int bit = is_hex ? 3 : 0; bit >= 0; --bit) *bits += (value >> bit & 1) != 0 ? '1' : '0';
  }
  return absl::OkStatus();
}

Status bits_fit(std::string bits, bool varies, int32_t length, bool is_explicit, std::string* out) {
  if (!is_explicit) SCYPER_RETURN_IF_ERROR(check_length(bits.size(), varies, length));
  const auto wanted = static_cast<size_t>(std::max(length, 0));
  if (length >= 0 && (!varies || bits.size() > wanted)) bits.resize(wanted, '0');
  *out = std::move(bits);
  return absl::OkStatus();
}

Status bits_receive(std::string_view sent, bool varies, int32_t length, std::string* bits) {
  if (sent.size() < kLengthBytes) return sql_error("08P01", "insufficient data left in message");
  const auto size = static_cast<uint32_t>(big_endian_of(sent.substr(0, kLengthBytes)));
  sent.remove_prefix(kLengthBytes);
  if (size > static_cast<uint32_t>(kMaxBits) || sent.size() != (size + 7) / 8)
    return sql_error("22P03", "invalid length in external bit string");
  SCYPER_RETURN_IF_ERROR(check_length(size, varies, length));
  bits->clear();
  for (size_t i = 0; i < size; ++i)
    *bits += (static_cast<unsigned char>(sent[i / 8]) & 0x80 >> (i % 8)) != 0 ? '1' : '0';
  return absl::OkStatus();
}

void bits_send(std::string* out, std::string_view bits) {
  append_big_endian(out, bits.size(), kLengthBytes);
  std::string packed((bits.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bits.size(); ++i)
    if (bits[i] == '1') packed[i / 8] = static_cast<char>(packed[i / 8] | 0x80 >> (i % 8));
  *out += packed;
}

std::string bits_of_integer(int64_t value, int32_t length) {
  std::string bits(static_cast<size_t>(std::max(length, 1)), '0');
  for (size_t i = 0; i < bits.size(); ++i) {
    const size_t place = std::min<size_t>(bits.size() - 1 - i, 63);  // the sign beyond
    if ((value >> place & 1) != 0) bits[i] = '1';
  }
  return bits;
}

Status integer_of_bits(std::string_view bits, size_t most, int64_t* out) {
  if (bits.size() > most) return sql_error("22003", most == 32 ? "integer out of range" : "bigint out of range");
  uint64_t value = 0;
  for (const char bit : bits) value = value << 1 | (bit == '1' ? 1 : 0);
  *out = most == 32 ? int64_t{static_cast<int32_t>(value)} : static_cast<int64_t>(value);
  return absl::OkStatus();
}

}  // namespace scyper::query
