#pragma once

#include <cstddef>
#include <string_view>

// Bytes of types with a trailer (has_trailer() in storage/type.h). A value that has one begins with kTrailerMark and
// ends with the trailer's size, in kTrailerSizeBytes, the most significant byte first; the size counts itself.
namespace scyper {

constexpr char kTrailerMark = 2;
constexpr size_t kTrailerSizeBytes = 4;

// What is compared, hashed and indexed: all but the trailer.
inline std::string_view ordered_part(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != kTrailerMark) return bytes;
  size_t size = 0;
  for (const char byte : bytes.substr(bytes.size() - kTrailerSizeBytes))
    size = size << 8 | static_cast<unsigned char>(byte);
  return bytes.substr(0, bytes.size() - size);
}

}  // namespace scyper
