#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// PostgreSQL's "char": one byte. Here its values are texts: \ooo where the byte is no ASCII, nothing where it is 0.
namespace scyper::query {

// The byte that a text stands for: that of \ooo, or its first one.
inline unsigned char byte_of_char(std::string_view text) {
  const auto is_octal = [&](size_t i) { return text[i] >= '0' && text[i] <= '7'; };
  if (text.size() == 4 && text[0] == '\\' && is_octal(1) && is_octal(2) && is_octal(3))
    return static_cast<unsigned char>((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
  return text.empty() ? 0 : static_cast<unsigned char>(text[0]);
}

inline std::string text_of_byte(unsigned char byte) {
  constexpr unsigned kAsciiEnd = 0x80;
  if (byte == 0) return "";
  if (byte < kAsciiEnd) return std::string(1, static_cast<char>(byte));
  return {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
          static_cast<char>('0' + (byte & 7))};
}

}  // namespace scyper::query
