#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "types/value_error.h"

// PostgreSQL's string functions for UTF-8 under the C collation: order is that of the bytes, upper and lower know ASCII
// letters only. Positions and lengths count characters. Inputs are valid UTF-8 without zero bytes. Results either point
// into an argument (functions without an arena) or are new in the arena. Overlong results fail with kLengthTooLarge.
namespace scyper::query {

// kInvalidUtf8 unless text is UTF-8 without zero bytes; wrong then is the rest from the bad bytes on.
[[nodiscard]] ValueError utf8_check(std::string_view text, std::string_view* wrong) noexcept;

constexpr bool is_continuation(char c) noexcept { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }
// Bytes of the character that starts with this byte.
constexpr size_t character_size(char first) noexcept {
  uint8_t byte = static_cast<uint8_t>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
// Bytes of the first `count` characters (all when there are fewer).
inline size_t prefix_size(std::string_view text, size_t count) noexcept {
  if (text.size() <= count) return text.size();
  size_t size = 0;
  while (count >= 8 && size + 8 <= text.size()) {  // eight ASCII characters at a time
    uint64_t word;
    std::memcpy(&word, text.data() + size, 8);
    if ((word & 0x8080808080808080u) != 0) break;
    size += 8;
    count -= 8;
  }
  for (; count > 0 && size < text.size(); --count) size += character_size(text[size]);
  return std::min(size, text.size());
}
// The character that the text starts with, however wrong its bytes are.
constexpr std::string_view first_character(std::string_view text) noexcept {
  size_t size = 1;
  while (size < text.size() && is_continuation(text[size])) ++size;
  return text.substr(0, size);
}
size_t character_count(std::string_view text) noexcept;

inline std::string_view trim_blanks(std::string_view text) noexcept {
  size_t size = text.size();
  while (size > 0 && text[size - 1] == ' ') --size;
  return text.substr(0, size);
}

inline int text_compare(std::string_view a, std::string_view b) noexcept {
  int order = a.compare(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}
// char(n): trailing blanks do not count.
inline int char_compare(std::string_view a, std::string_view b) noexcept {
  return text_compare(trim_blanks(a), trim_blanks(b));
}
uint64_t text_hash(std::string_view text) noexcept;

// length(): of char(n) pass trim_blanks(text).
inline int32_t text_length(std::string_view text) noexcept { return static_cast<int32_t>(character_count(text)); }

// Casts to varchar(n) and char(n). Not explicit (assignment): kStringTooLong unless only blanks are cut off.
[[nodiscard]] ValueError varchar_cast(std::string_view text, int32_t length, bool is_explicit,
                                      std::string_view* out) noexcept;
// Pads with blanks; the result points into text where nothing is added.
[[nodiscard]] ValueError char_cast(std::string_view text, int32_t length, bool is_explicit, const TextArena& arena,
                                   std::string_view* out) noexcept;

// substr(text, start [, length]); kNegativeSubstringLength.
std::string_view substring_from(std::string_view text, int32_t start) noexcept;
[[nodiscard]] ValueError substring(std::string_view text, int32_t start, int32_t length,
                                   std::string_view* out) noexcept;
// left(), right(): a negative count leaves out that many at the other end.
inline std::string_view left(std::string_view text, int32_t count) noexcept {
  if (count >= 0) return text.substr(0, prefix_size(text, static_cast<size_t>(count)));
  int64_t kept = static_cast<int64_t>(character_count(text)) + count;
  return text.substr(0, kept <= 0 ? 0 : prefix_size(text, static_cast<size_t>(kept)));
}
std::string_view right(std::string_view text, int32_t count) noexcept;
// strpos(), position(): 1 for the first character, 0 = not found.
int32_t position(std::string_view text, std::string_view part) noexcept;
// Where the part, which is not empty, begins at or behind byte `from`; npos = nowhere. Linear time.
size_t find_text(std::string_view text, std::string_view part, size_t from) noexcept;
inline bool starts_with(std::string_view text, std::string_view prefix) noexcept { return text.starts_with(prefix); }

// trim(): cuts characters of the set `characters` off.
std::string_view trim_left(std::string_view text, std::string_view characters) noexcept;
std::string_view trim_right(std::string_view text, std::string_view characters) noexcept;
inline std::string_view trim_both(std::string_view text, std::string_view characters) noexcept {
  return trim_right(trim_left(text, characters), characters);
}

[[nodiscard]] ValueError upper(std::string_view text, const TextArena& arena, std::string_view* out) noexcept;
[[nodiscard]] ValueError lower(std::string_view text, const TextArena& arena, std::string_view* out) noexcept;
[[nodiscard]] ValueError pad_left(std::string_view text, int32_t length, std::string_view fill, const TextArena& arena,
                                  std::string_view* out) noexcept;
[[nodiscard]] ValueError pad_right(std::string_view text, int32_t length, std::string_view fill, const TextArena& arena,
                                   std::string_view* out) noexcept;
[[nodiscard]] ValueError replace(std::string_view text, std::string_view from, std::string_view to,
                                 const TextArena& arena, std::string_view* out) noexcept;
[[nodiscard]] ValueError repeat(std::string_view text, int32_t count, const TextArena& arena,
                                std::string_view* out) noexcept;
[[nodiscard]] ValueError reverse(std::string_view text, const TextArena& arena, std::string_view* out) noexcept;
// All parts behind each other.
[[nodiscard]] ValueError concatenate(const std::string_view* parts, size_t count, const TextArena& arena,
                                     std::string_view* out) noexcept;

// ascii(): the first character's code point, 0 for ''. chr(): writes at most 4 bytes to out.
int32_t first_code_point(std::string_view text) noexcept;
[[nodiscard]] ValueError character_of(int32_t code_point, char* out, size_t* size) noexcept;
// split_part(): a negative field counts from the end; kFieldPositionZero.
[[nodiscard]] ValueError split_part(std::string_view text, std::string_view delimiter, int32_t field,
                                    std::string_view* out) noexcept;

// LIKE and ILIKE (ignore_case). escape: one character, or empty for none; kInvalidEscape, kPatternEndsInEscape.
[[nodiscard]] ValueError like(std::string_view text, std::string_view pattern, std::string_view escape,
                              bool ignore_case, bool* out) noexcept;

}  // namespace scyper::query
