#pragma once

#include <cstdint>

// Which operator of patterns compares a text with the elements of an array (LIKE ANY and its kin): an argument of the
// builtin " match any".
namespace scyper::query {

enum class TextMatch : uint8_t { kLike, kNotLike, kILike, kNotILike, kRegex, kNotRegex, kIRegex, kNotIRegex };

}  // namespace scyper::query
