#pragma once

#include <string>
#include <string_view>

namespace scyper::query {

// RFC 1321, as 32 hexadecimal digits. Not for secrets.
constexpr size_t kMd5HexSize = 32;
void md5_hex(std::string_view text, char* out) noexcept;
std::string md5_hex(std::string_view text);

}  // namespace scyper::query
