#pragma once

#include <cstddef>
#include <string_view>

namespace scyper::query {

// Approximate memory of a statement that is kept: its text, its plan and its program in the interpreter's form, which
// grow with the text. Native code has a bound of its own (query/jit/code_arena.h).
constexpr size_t statement_weight(std::string_view text) {
  constexpr size_t kFixedBytes = 16 << 10, kBytesPerByte = 48;
  return kFixedBytes + kBytesPerByte * text.size();
}

}  // namespace scyper::query
