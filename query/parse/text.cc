#include "parse/text.h"

#include <algorithm>
#include <cstdio>

namespace scyper::query {
namespace {

constexpr size_t kMaxIdentifierBytes = 63;  // PostgreSQL's NAMEDATALEN - 1

bool is_continuation(unsigned char c) { return (c & 0xC0) == 0x80; }

// Length of the character at `s`, 0 when it is not UTF-8. Table 3-7 of the Unicode standard.
size_t character_bytes(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(i < s.size() ? s[i] : 0); };
  const unsigned char c = byte(0);
  if (c < 0x80) return c == 0 ? 0 : 1;
  if (c < 0xC2 || c > 0xF4) return 0;
  if (!is_continuation(byte(1))) return 0;
  if (c < 0xE0) return 2;
  if (!is_continuation(byte(2))) return 0;
  if (c < 0xF0) {
    if (c == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
    if (c == 0xED && byte(1) > 0x9F) return 0;  // surrogate
    return 3;
  }
  if (!is_continuation(byte(3))) return 0;
  if (c == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (c == 0xF4 && byte(1) > 0x8F) return 0;  // beyond U+10FFFF
  return 4;
}

// How many bytes PostgreSQL shows of a bad sequence: as many as its first byte announces, within the text.
size_t announced_bytes(std::string_view s) {
  const auto c = static_cast<unsigned char>(s[0]);
  const size_t length = c >= 0xF0 && c < 0xF8 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC0 && c < 0xE0 ? 2 : 1;
  return std::min(length, s.size());
}

}  // namespace

Status check_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const size_t length = character_bytes(text.substr(i));
    if (length == 0) {
      std::string message = "invalid byte sequence for encoding \"UTF8\":";
      for (size_t k = 0; k < announced_bytes(text.substr(i)); ++k) {
        char hex[8];
        std::snprintf(hex, sizeof hex, " 0x%02x", static_cast<unsigned char>(text[i + k]));
        message += hex;
      }
      return sql_error("22021", message);
    }
    i += length;
  }
  return {};
}

int position_at(std::string_view text, int32_t byte_offset) {
  if (byte_offset < 0) return 0;
  const size_t end = std::min(text.size(), static_cast<size_t>(byte_offset));
  return 1 + static_cast<int>(std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end),
                                            [](char c) { return !is_continuation(static_cast<unsigned char>(c)); }));
}

int32_t byte_offset_of(std::string_view text, int position) {
  int characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_continuation(static_cast<unsigned char>(text[i]))) continue;
    if (++characters == position) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(text.size());
}

std::string fold_identifier(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return truncate_identifier(std::move(folded));
}

std::string truncate_identifier(std::string text) {
  if (text.size() > kMaxIdentifierBytes) {
    size_t end = kMaxIdentifierBytes;
    while (end > 0 && is_continuation(static_cast<unsigned char>(text[end]))) --end;
    text.resize(end);
  }
  return text;
}

Status error_at(std::string_view sqlstate, std::string_view message, std::string_view text, int32_t byte_offset) {
  return sql_error(sqlstate, message, position_at(text, byte_offset));
}

Status depth_error() {
  return with_hint(sql_error("54001", "stack depth limit exceeded"), "Nest the statement less deeply.");
}

}  // namespace scyper::query
