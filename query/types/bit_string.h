#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

// bit(n) and bit varying(n).
namespace scyper::query {

// As ordered bytes: seven bits a byte, whose lowest bit says that more follow, then how many of the last seven there
// are. So a string comes before those that it is the beginning of. Functions work on a '0' or '1' a bit.
std::string bytes_of_bits(std::string_view bits);
std::string bits_of_bytes(std::string_view bytes);
uint64_t bit_count_of_bytes(std::string_view bytes);

// Digits, or b and digits, or x and hexadecimal digits. length: of bit(n), or the greatest of bit varying(n); -1: any.
// 22P02, 22026, 22001, 54000.
Status bits_parse(std::string_view text, bool varies, int32_t length, std::string* bits);
// What a cast to a length makes of bits: 22026 and 22001 but for explicit ones.
Status bits_fit(std::string bits, bool varies, int32_t length, bool is_explicit, std::string* out);
Status bits_receive(std::string_view sent, bool varies, int32_t length, std::string* bits);
void bits_send(std::string* out, std::string_view bits);

// The lowest `length` bits of a two's complement.
std::string bits_of_integer(int64_t value, int32_t length);
// most: 32 or 64. 22003.
Status integer_of_bits(std::string_view bits, size_t most, int64_t* out);

}  // namespace scyper::query
