#pragma once

#include <cstdint>

// For inline_library_test.cc: runtime functions in native form and as bitcode.
extern "C" {
int64_t inline_sample_add(int64_t a, int64_t b) noexcept;
int32_t inline_sample_narrow(bool flag, int16_t a, const int32_t* b) noexcept;  // bool, i16, pointer
int64_t inline_sample_hash(int64_t value) noexcept;          // calls an inline function and reads a table
int64_t inline_sample_calls_native(int64_t value) noexcept;  // calls native_only() of another file
int64_t inline_sample_length(const char* text) noexcept;     // calls strlen
int64_t inline_sample_counter() noexcept;                    // has a static variable: refused
int64_t inline_sample_unknown() noexcept;                    // calls what nobody gave an address: refused
int64_t inline_sample_native_only(int64_t value) noexcept;
int64_t inline_sample_nobody_knows() noexcept;
}
