#include "inline_sample.h"

#include <cstring>

namespace {
constexpr int64_t kTable[] = {3, 1, 4, 1, 5, 9, 2, 6};
}

// not in an anonymous namespace: linked as linkonce_odr
inline int64_t inline_sample_mix(int64_t value) {
  const auto bits = static_cast<uint64_t>(value) * 0x9E3779B97F4A7C15u;
  return static_cast<int64_t>(bits ^ bits >> 32);
}

int64_t inline_sample_add(int64_t a, int64_t b) noexcept { return a + 2 * b; }
int32_t inline_sample_narrow(bool flag, int16_t a, const int32_t* b) noexcept { return flag ? a : *b; }
int64_t inline_sample_hash(int64_t value) noexcept { return inline_sample_mix(value) + kTable[value & 7]; }
int64_t inline_sample_calls_native(int64_t value) noexcept { return inline_sample_native_only(value) + 1; }
int64_t inline_sample_length(const char* text) noexcept { return static_cast<int64_t>(strlen(text)); }
int64_t inline_sample_counter() noexcept {
  static int64_t counter = 0;
  return ++counter;
}
int64_t inline_sample_unknown() noexcept { return inline_sample_nobody_knows(); }
