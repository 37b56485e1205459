#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/ascii.h"

namespace scyper {

// Words in texts whose letters are of any case. lower: the word, without capital letters.

inline bool is_same_letter(char any, char lower) {
  return absl::ascii_tolower(static_cast<unsigned char>(any)) == lower;
}

inline bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(text.begin(), text.begin() + static_cast<ptrdiff_t>(lower.size()), lower.begin(), is_same_letter);
}

// The first place of the word at or behind `from`; npos: there is none.
inline size_t find_ignoring_case(std::string_view text, std::string_view lower, size_t from = 0) {
  if (from > text.size()) return std::string_view::npos;
  const auto found =
      std::search(text.begin() + static_cast<ptrdiff_t>(from), text.end(), lower.begin(), lower.end(), is_same_letter);
  return found == text.end() ? std::string_view::npos : static_cast<size_t>(found - text.begin());
}

}  // namespace scyper
