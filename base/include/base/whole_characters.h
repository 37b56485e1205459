#pragma once

#include <cstddef>
#include <string_view>

namespace scyper {

// The beginning of a UTF-8 text, of at most so many bytes, in whole characters.
inline std::string_view beginning_of(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

}  // namespace scyper
