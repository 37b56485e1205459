#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/type.h"
#include "types/value_error.h"

// uuid and bytea: text both ways, digests.
namespace scyper::query {

constexpr size_t kUuidBytes = 16;
constexpr size_t kUuidTextBytes = 36;

// A uuid's datum and its bytes.
Datum datum_of_uuid(const uint8_t* bytes) noexcept;
void uuid_bytes(const Datum& uuid, uint8_t* bytes) noexcept;
// 32 digits of either case, a hyphen allowed behind every fourth, braces around it: kInvalidText.
[[nodiscard]] ValueError uuid_parse(std::string_view text, Datum* out) noexcept;
char* uuid_format(const Datum& uuid, char* out) noexcept;

// \x and digits, or the escape format: kInvalidByteaText, kInvalidHexDigit (word: the wrong one), kOddHexDigits.
[[nodiscard]] ValueError bytea_parse(std::string_view text, const TextArena& arena, Datum* out,
                                     std::string_view* word) noexcept;
// As the session's bytea_output says. No text is longer than that.
constexpr size_t bytea_text_bytes(size_t bytes) { return 2 + 4 * bytes; }
char* bytea_format(std::string_view bytes, char* out) noexcept;

// encode() and decode(): formats hex, base64, escape; 22023 with PostgreSQL's messages.
Status encode_bytes(std::string_view bytes, std::string_view format, std::string* out);
Status decode_bytes(std::string_view text, std::string_view format, std::string* out);

// The digest's bytes; bits: 224, 256, 384, 512.
std::string sha2(std::string_view bytes, int bits);

}  // namespace scyper::query
