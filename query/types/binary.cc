#include "types/binary.h"

#include <openssl/sha.h>

#include <cstring>
#include <vector>

#include "types/digits.h"
#include "types/text.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

constexpr char kHex[] = "0123456789abcdef";

// Digits in pairs, white space between them; room for half of the text at `out`. Moves it to the end.
ValueError read_hex(std::string_view text, char** out, std::string_view* word) noexcept {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
      ++i;
      continue;
    }
    int high = hex_value_of(text[i]);
    if (high < 0) return *word = first_character(text.substr(i)), ValueError::kHexDigit;
    if (++i == text.size()) return ValueError::kHexOdd;
    int low = hex_value_of(text[i]);
    if (low < 0) return *word = first_character(text.substr(i)), ValueError::kHexDigit;
    ++i;
    *(*out)++ = static_cast<char>(high << 4 | low);
  }
  return ValueError::kNone;
}

bool is_octal(char c, char most) noexcept { return c >= '0' && c <= most; }

ValueError read_escaped(std::string_view text, char** out) noexcept {
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      *(*out)++ = text[i++];
    } else if (i + 3 < text.size() && is_octal(text[i + 1], '3') && is_octal(text[i + 2], '7') &&
               is_octal(text[i + 3], '7')) {
      *(*out)++ = static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
      i += 4;
    } else if (i + 1 < text.size() && text[i + 1] == '\\') {
      *(*out)++ = '\\';
      i += 2;
    } else {
      return ValueError::kByteaSyntax;
    }
  }
  return ValueError::kNone;
}

}  // namespace

Datum datum_of_uuid(const uint8_t* bytes) noexcept {
  uint64_t high = 0, low = 0;
  std::memcpy(&high, bytes, 8);
  std::memcpy(&low, bytes + 8, 8);
  high = __builtin_bswap64(high) ^ uint64_t { 1 } << 63;
  return Datum{static_cast<int64_t>(__builtin_bswap64(low)), static_cast<int64_t>(high), 0, 0, {}};
}

void uuid_bytes(const Datum& uuid, uint8_t* bytes) noexcept {
  uint64_t high = __builtin_bswap64(static_cast<uint64_t>(uuid.hi) ^ uint64_t{1} << 63);
  uint64_t low = __builtin_bswap64(static_cast<uint64_t>(uuid.lo));
  std::memcpy(bytes, &high, 8);
  std::memcpy(bytes + 8, &low, 8);
}

ValueError uuid_parse(std::string_view text, Datum* out) noexcept {
  bool braces = !text.empty() && text[0] == '{';
  size_t at = braces ? 1 : 0;
  uint8_t bytes[kUuidBytes];
  for (size_t i = 0; i < kUuidBytes; ++i) {
    if (at + 2 > text.size()) return ValueError::kInvalidText;
    int high = hex_value_of(text[at]), low = hex_value_of(text[at + 1]);
    if (high < 0 || low < 0) return ValueError::kInvalidText;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
    at += 2;
    if (at < text.size() && text[at] == '-' && i % 2 == 1 && i + 1 < kUuidBytes) ++at;
  }
  if (braces && (at == text.size() || text[at++] != '}')) return ValueError::kInvalidText;
  if (at != text.size()) return ValueError::kInvalidText;
  *out = datum_of_uuid(bytes);
  return ValueError::kNone;
}

char* uuid_format(const Datum& uuid, char* out) noexcept {
  uint8_t bytes[kUuidBytes];
  uuid_bytes(uuid, bytes);
  for (size_t i = 0; i < kUuidBytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
    *out++ = kHex[bytes[i] >> 4];
    *out++ = kHex[bytes[i] & 15];
  }
  return out;
}

ValueError bytea_parse(std::string_view text, const TextArena& arena, Datum* out, std::string_view* word) noexcept {
  char* bytes = arena.allocate(text.size() + 1);
  if (bytes == nullptr) return ValueError::kOutOfMemory;
  char* end = bytes;
  bool hex = text.size() >= 2 && text[0] == '\\' && text[1] == 'x';
  ValueError error = hex ? read_hex(text.substr(2), &end, word) : read_escaped(text, &end);
  *out = string_datum(bytes, static_cast<size_t>(end - bytes));
  return error;
}

namespace {

char* hex_format(std::string_view bytes, char* out) noexcept {
  for (char c : bytes) {
    *out++ = kHex[static_cast<uint8_t>(c) >> 4];
    *out++ = kHex[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

char* octal_format(uint8_t byte, char* out) noexcept {
  *out++ = '\\';
  for (int shift : {6, 3, 0}) *out++ = static_cast<char>('0' + (byte >> shift & 7));
  return out;
}

// bytea_output = escape
char* escape_format(std::string_view bytes, char* out) noexcept {
  for (const char c : bytes) {
    if (c == '\\') {
      *out++ = '\\';
      *out++ = '\\';
    } else if (c >= ' ' && c <= '~') {
      *out++ = c;
    } else {
      out = octal_format(static_cast<uint8_t>(c), out);
    }
  }
  return out;
}

}  // namespace

char* bytea_format(std::string_view bytes, char* out) noexcept {
  if (session_escapes_bytes()) return escape_format(bytes, out);
  *out++ = '\\';
  *out++ = 'x';
  return hex_format(bytes, out);
}

namespace {

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kBase64Line = 76;

void encode_base64(std::string_view bytes, std::string* out) {
  size_t line = 0;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j) word = word << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) out->push_back(i + j > bytes.size() ? '=' : kBase64[word >> (18 - 6 * j) & 63]);
    line += 4;
    const bool is_whole = i + 3 <= bytes.size();  // PostgreSQL: no end of line behind padding
    if (line == kBase64Line && is_whole) out->push_back('\n'), line = 0;
  }
}

Status bad_base64() {
  return with_hint(sql_error("22023", "invalid base64 end sequence"),
                   "Input data is missing padding, is truncated, or is otherwise corrupted.");
}

Status decode_base64(std::string_view text, std::string* out) {
  uint32_t word = 0;
  int digits = 0, ends = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    uint32_t value = 0;
    if (c == '=') {
      if (ends == 0) {
        if (digits != 2 && digits != 3) return sql_error("22023", "unexpected \"=\" while decoding base64 sequence");
        ends = digits == 2 ? 1 : 2;
      }
    } else {
      const char* place = c == '\0' ? nullptr : std::strchr(kBase64, c);
      if (place == nullptr) {
        std::string symbol(first_character(text.substr(i)));
        return sql_error("22023", "invalid symbol \"" + symbol + "\" found while decoding base64 sequence");
      }
      value = static_cast<uint32_t>(place - kBase64);
    }
    word = word << 6 | value;
    if (++digits < 4) continue;
    out->push_back(static_cast<char>(word >> 16));
    if (ends == 0 || ends > 1) out->push_back(static_cast<char>(word >> 8));
    if (ends == 0 || ends > 2) out->push_back(static_cast<char>(word));
    word = 0, digits = 0;
  }
  return digits == 0 ? absl::OkStatus() : bad_base64();
}

void encode_escape(std::string_view bytes, std::string* out) {
  for (char c : bytes) {
    auto byte = static_cast<uint8_t>(c);
    if (c == '\\') {
      out->append("\\\\");
    } else if (byte == 0 || byte >= 0x80) {
      *out += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
               static_cast<char>('0' + (byte & 7))};
    } else {
      out->push_back(c);
    }
  }
}

enum class ByteFormat : uint8_t { kHex, kBase64, kEscape };

Status find_format(std::string_view name, ByteFormat* out) {
  std::string lower(name);
  for (char& c : lower) c = to_lower(c);
  if (lower == "hex") return *out = ByteFormat::kHex, absl::OkStatus();
  if (lower == "base64") return *out = ByteFormat::kBase64, absl::OkStatus();
  if (lower == "escape") return *out = ByteFormat::kEscape, absl::OkStatus();
  return sql_error("22023", "unrecognized encoding: \"" + std::string(name) + "\"");
}

}  // namespace

Status encode_bytes(std::string_view bytes, std::string_view format, std::string* out) {
  ByteFormat kind{};
  SCYPER_RETURN_IF_ERROR(find_format(format, &kind));
  if (kind == ByteFormat::kBase64) {
    encode_base64(bytes, out);
  } else if (kind == ByteFormat::kEscape) {
    encode_escape(bytes, out);
  } else {
    out->resize(2 * bytes.size());
    hex_format(bytes, out->data());
  }
  return absl::OkStatus();
}

Status decode_bytes(std::string_view text, std::string_view format, std::string* out) {
  ByteFormat kind{};
  SCYPER_RETURN_IF_ERROR(find_format(format, &kind));
  if (kind == ByteFormat::kBase64) return decode_base64(text, out);
  out->resize(text.size());
  char* end = out->data();
  std::string_view word;
  ValueError error = kind == ByteFormat::kHex ? read_hex(text, &end, &word) : read_escaped(text, &end);
  out->resize(static_cast<size_t>(end - out->data()));
  return error_status(error, make_type(TypeId::kBytea), word);
}

std::string sha2(std::string_view bytes, int bits) {
  unsigned char digest[SHA512_DIGEST_LENGTH];
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bits == 224) SHA224(data, bytes.size(), digest);
  if (bits == 256) SHA256(data, bytes.size(), digest);
  if (bits == 384) SHA384(data, bytes.size(), digest);
  if (bits == 512) SHA512(data, bytes.size(), digest);
  return {reinterpret_cast<const char*>(digest), static_cast<size_t>(bits) / 8};
}

}  // namespace scyper::query
