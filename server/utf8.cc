#include <algorithm>
#include <cstdio>

#include "server/packed.h"

namespace scyper::server {

namespace {

// Bytes of the well-formed sequence at `p`, 0 if there is none. Table 3-7 of the Unicode Standard.
size_t sequence_bytes(const unsigned char* p, const unsigned char* end) {
  auto is_tail = [&](const unsigned char* q) { return q < end && (*q & 0xC0) == 0x80; };
  if (*p < 0x80) return *p == 0 ? 0 : 1;
  if (*p < 0xC2) return 0;
  if (*p < 0xE0) return is_tail(p + 1) ? 2 : 0;
  if (*p < 0xF0) {
    if (!is_tail(p + 1) || !is_tail(p + 2)) return 0;
    if ((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F)) return 0;
    return 3;
  }
  if (*p < 0xF5) {
    if (!is_tail(p + 1) || !is_tail(p + 2) || !is_tail(p + 3)) return 0;
    if ((*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

// PostgreSQL prints the bytes that the first one announces, as far as there are any.
Status invalid_sequence(const unsigned char* p, const unsigned char* end) {
  ptrdiff_t announced = *p < 0xC0 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF8 ? 4 : 1;
  std::string message = "invalid byte sequence for encoding \"UTF8\":";
  for (ptrdiff_t i = 0; i < std::min(announced, end - p); ++i) {
    char hex[8];
    std::snprintf(hex, sizeof(hex), " 0x%02x", p[i]);
    message += hex;
  }
  return sql_error("22021", message);
}

}  // namespace

Status check_text(std::string_view text) {
  auto* p = reinterpret_cast<const unsigned char*>(text.data());
  auto* end = p + text.size();
  while (p < end) {
    // Eight ASCII bytes at a time: no high bit and no zero byte.
    uint64_t word;
    if (end - p >= 8) {
      std::memcpy(&word, p, 8);
      uint64_t zero = (word - 0x0101010101010101ull) & ~word;
      if (((word | zero) & 0x8080808080808080ull) == 0) {
        p += 8;
        continue;
      }
    }
    size_t bytes = sequence_bytes(p, end);
    if (bytes == 0) return invalid_sequence(p, end);
    p += bytes;
  }
  return {};
}

}  // namespace scyper::server
