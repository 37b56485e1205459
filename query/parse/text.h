#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace scyper::query {

// 22021 with PostgreSQL's message for the first byte sequence that is not UTF-8 (overlong forms, surrogates and zero
// bytes are not either).
Status check_utf8(std::string_view text);

// Between positions (characters, from 1) and byte offsets of valid UTF-8. Past the end: the end.
int position_at(std::string_view text, int32_t byte_offset);
int32_t byte_offset_of(std::string_view text, int position);

// As PostgreSQL treats identifiers: ASCII letters in lower case, cut to 63 bytes at a character's border.
std::string fold_identifier(std::string_view text);
std::string truncate_identifier(std::string text);

// "22012" with a message, at a byte offset (-1 = no position) of `text`.
Status error_at(std::string_view sqlstate, std::string_view message, std::string_view text, int32_t byte_offset);
Status depth_error();

}  // namespace scyper::query
