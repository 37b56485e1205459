#pragma once

#include <string_view>

#include "storage/type.h"

namespace scyper {

// The type name: a text of at most 63 bytes. Longer texts are cut at a character's end, without an error, as in
// PostgreSQL.
constexpr int32_t kNameLength = -19;
constexpr size_t kNameBytesMax = 63;

inline SqlType name_type() {
  SqlType type = make_type(TypeId::kText);
  type.length = kNameLength;
  return type;
}
inline bool is_name(const SqlType& type) { return type.id == TypeId::kText && type.length == kNameLength; }

// `text` is UTF-8.
inline std::string_view clip_name(std::string_view text) {
  constexpr unsigned char kContinuationMask = 0xc0, kContinuation = 0x80;
  if (text.size() <= kNameBytesMax) return text;
  size_t size = kNameBytesMax;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & kContinuationMask) == kContinuation) size--;
  return text.substr(0, size);
}

}  // namespace scyper
