#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "ir/foreign_call.h"
#include "vm/code.h"

namespace scyper::query::vm {
namespace {

template <typename T>
struct Unsigned {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct Unsigned<__int128> {
  using Type = unsigned __int128;
};
// wide enough that the promotion of narrow types to int cannot overflow
template <typename T>
using Wide =
    std::conditional_t<sizeof(T) == 16, unsigned __int128, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

template <typename T>
[[gnu::always_inline]] inline T get(const std::byte* frame, uint32_t offset) {
  if constexpr (sizeof(T) == 16) {
    T value;  // slots are 8-byte aligned, 128-bit values too
    memcpy(&value, frame + offset, sizeof value);
    return value;
  } else if constexpr (std::is_same_v<T, double>) {
    return *reinterpret_cast<const double*>(frame + offset);
  } else {
    return static_cast<T>(*reinterpret_cast<const uint64_t*>(frame + offset));
  }
}

template <typename T>
[[gnu::always_inline]] inline void set(std::byte* frame, uint32_t offset, T value) {
  if constexpr (sizeof(T) == 16) {
    memcpy(frame + offset, &value, sizeof value);
  } else if constexpr (std::is_same_v<T, double>) {
    *reinterpret_cast<double*>(frame + offset) = value;
  } else if constexpr (sizeof(T) == 1) {
    *reinterpret_cast<uint64_t*>(frame + offset) = static_cast<uint8_t>(value);
  } else {
    *reinterpret_cast<int64_t*>(frame + offset) = static_cast<int64_t>(value);
  }
}

template <typename T>
[[gnu::always_inline]] inline T load(const std::byte* address) {
  T value;
  memcpy(&value, address, sizeof value);
  return value;
}

template <typename T>
[[gnu::always_inline]] inline void store(std::byte* address, T value) {
  memcpy(address, &value, sizeof value);
}

// The threads of one query may all mark a tuple as joined.
template <>
[[gnu::always_inline]] inline void store(std::byte* address, int8_t value) {
  __atomic_store_n(reinterpret_cast<int8_t*>(address), value, __ATOMIC_RELAXED);
}

template <size_t>
using Word = uint64_t;

// One function of n words, whatever its declared parameter types: see ir::External.
template <size_t... i>
[[gnu::always_inline]] inline uint64_t call(const Code* pc, const uint32_t* slots,
                                            [[maybe_unused]] const std::byte* frame, std::index_sequence<i...>) {
  return reinterpret_cast<uint64_t (*)(Word<i>...)>(pc->imm)(get<uint64_t>(frame, slots[pc->a + i])...);
}

// The dispatch loop; with code == nullptr it only gives the handlers away.
SCYPER_FOREIGN_CALL int32_t execute(const Code* code, const uint32_t* call_slots, std::byte* frame,
                                    const int32_t** handlers) noexcept {
#define DISTANCE(name) static_cast<int32_t>(static_cast<char*>(&&op_##name) - static_cast<char*>(&&op_Move)),
  static const int32_t kHandlers[] = {SCYPER_VM_OPS(DISTANCE)};
#undef DISTANCE
  if (code == nullptr) {
    *handlers = kHandlers;
    return 0;
  }
  const Code* pc = code;

#include "vm/operations.inc"
}

}  // namespace

int32_t interpret(const Code* code, const uint32_t* call_slots, std::byte* frame) noexcept {
  return execute(code, call_slots, frame, nullptr);
}

const int32_t* handlers() noexcept {
  const int32_t* handlers = nullptr;
  execute(nullptr, nullptr, nullptr, &handlers);
  return handlers;
}

}  // namespace scyper::query::vm
