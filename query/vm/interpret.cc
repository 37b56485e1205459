#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"
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

template <size_t>
using Word = uint64_t;

// One function of n words, whatever its declared parameter types: see ir::External.
template <size_t... i>
[[gnu::always_inline]] inline uint64_t call(const Code* pc, const uint32_t* slots, const std::byte* frame,
                                            std::index_sequence<i...>) {
  return reinterpret_cast<uint64_t (*)(Word<i>...)>(pc->imm)(get<uint64_t>(frame, slots[pc->a + i])...);
}

// The dispatch loop; with code == nullptr it only gives the handlers away. -fsanitize=function cannot know the
// externals' real types.
__attribute__((no_sanitize("function"))) int32_t execute(const Code* code, const uint32_t* call_slots, std::byte* frame,
                                                         const int32_t** handlers) noexcept {
#define DISTANCE(name) static_cast<int32_t>(static_cast<char*>(&&op_##name) - static_cast<char*>(&&op_Move)),
  static const int32_t kHandlers[] = {SCYPER_VM_OPS(DISTANCE)};
#undef DISTANCE
  if (code == nullptr) {
    *handlers = kHandlers;
    return 0;
  }
  const Code* pc = code;
#define DISPATCH() goto*(static_cast<char*>(&&op_Move) + pc->handler)
#define NEXT()  \
  do {          \
    ++pc;       \
    DISPATCH(); \
  } while (false)
#define GO(index)        \
  do {                   \
    pc = code + (index); \
    DISPATCH();          \
  } while (false)
#define A(T) get<T>(frame, pc->a)
#define B(T) get<T>(frame, pc->b)
// An operation whose result is `expression` of type T.
#define VALUE(name, T, expression)                \
  op_##name : set<T>(frame, pc->dst, expression); \
  NEXT();
#define INTEGERS(name, macro)                                                                           \
  macro(name##I8, int8_t) macro(name##I16, int16_t) macro(name##I32, int32_t) macro(name##I64, int64_t) \
      macro(name##I128, __int128)
#define ADD(name, T) VALUE(name, T, static_cast<T>(static_cast<Wide<T>>(A(T)) + static_cast<Wide<T>>(B(T))))
#define SUB(name, T) VALUE(name, T, static_cast<T>(static_cast<Wide<T>>(A(T)) - static_cast<Wide<T>>(B(T))))
#define MUL(name, T) VALUE(name, T, static_cast<T>(static_cast<Wide<T>>(A(T)) * static_cast<Wide<T>>(B(T))))
#define SDIV(name, T) VALUE(name, T, static_cast<T>(A(T) / B(T)))
#define SREM(name, T) VALUE(name, T, static_cast<T>(A(T) % B(T)))
#define SHL(name, T) VALUE(name, T, static_cast<T>(static_cast<Wide<T>>(A(T)) << B(uint8_t)))
#define LSHR(name, T) VALUE(name, T, static_cast<T>(A(Unsigned<T>::Type) >> B(uint8_t)))
#define ASHR(name, T) VALUE(name, T, static_cast<T>(A(T) >> B(uint8_t)))
#define BITWISE(name, op) \
  VALUE(name##I64, int64_t, A(int64_t) op B(int64_t)) VALUE(name##I128, __int128, A(__int128) op B(__int128))
#define CHECKED_ONE(name, T, builtin)              \
  op_##name : {                                    \
    T result;                                      \
    if (builtin(A(T), B(T), &result)) [[unlikely]] \
      GO(pc->imm);                                 \
    set<T>(frame, pc->dst, result);                \
    NEXT();                                        \
  }
#define CHECKED(name, builtin)                                                      \
  CHECKED_ONE(name##I16, int16_t, builtin)                                          \
  CHECKED_ONE(name##I32, int32_t, builtin) CHECKED_ONE(name##I64, int64_t, builtin) \
      CHECKED_ONE(name##I128, __int128, builtin)
#define COMPARE_ONE(name, T, op)     \
  VALUE(name, int64_t, A(T) op B(T)) \
  op_Branch##name : GO(A(T) op B(T) ? pc->dst : static_cast<uint32_t>(pc->imm));
#define COMPARE(name, op) \
  COMPARE_ONE(name##I8, int8_t, op) COMPARE_ONE(name##I64, int64_t, op) COMPARE_ONE(name##I128, __int128, op)
#define CALL(n)                                                                                               \
  VALUE(Call##n, uint64_t, call(pc, call_slots, frame, std::make_index_sequence<n>()))                        \
  VALUE(Call##n##I8, int8_t, static_cast<int8_t>(call(pc, call_slots, frame, std::make_index_sequence<n>()))) \
  VALUE(Call##n##I32, int32_t, static_cast<int32_t>(call(pc, call_slots, frame, std::make_index_sequence<n>())))

  DISPATCH();
  VALUE(Move, uint64_t, A(uint64_t))
  VALUE(Move128, __int128, A(__int128))
  VALUE(FrameAddr, uint64_t, reinterpret_cast<uint64_t>(frame + pc->imm))
  INTEGERS(Add, ADD)
  INTEGERS(Sub, SUB)
  INTEGERS(Mul, MUL)
  INTEGERS(SDiv, SDIV)
  INTEGERS(SRem, SREM)
  INTEGERS(Shl, SHL)
  INTEGERS(LShr, LSHR)
  INTEGERS(AShr, ASHR)
  BITWISE(And, &)
  BITWISE(Or, |)
  BITWISE(Xor, ^)
  VALUE(FAdd, double, A(double) + B(double))
  VALUE(FSub, double, A(double) - B(double))
  VALUE(FMul, double, A(double) * B(double))
  VALUE(FDiv, double, A(double) / B(double))
  CHECKED(AddChecked, __builtin_add_overflow)
  CHECKED(SubChecked, __builtin_sub_overflow)
  CHECKED(MulChecked, __builtin_mul_overflow)
  COMPARE(Eq, ==)
  COMPARE(Ne, !=)
  COMPARE(Lt, <)
  COMPARE(Le, <=)
  COMPARE(Gt, >)
  COMPARE(Ge, >=)
  COMPARE_ONE(ULtI8, uint8_t, <)
  COMPARE_ONE(ULtI64, uint64_t, <)
  COMPARE_ONE(ULtI128, unsigned __int128, <)
  COMPARE_ONE(EqF64, double, ==)
  COMPARE_ONE(LtF64, double, <)
  COMPARE_ONE(LeF64, double, <=)
  COMPARE_ONE(GtF64, double, >)
  COMPARE_ONE(GeF64, double, >=)
  COMPARE_ONE(NeF64, double, !=)
  VALUE(Select, uint64_t, get<uint64_t>(frame, A(uint64_t) != 0 ? pc->b : static_cast<uint32_t>(pc->imm)))
  VALUE(Select128, __int128, get<__int128>(frame, A(uint64_t) != 0 ? pc->b : static_cast<uint32_t>(pc->imm)))
  VALUE(SignExtend8, int64_t, A(int8_t))
  VALUE(SignExtend16, int64_t, A(int16_t))
  VALUE(SignExtend32, int64_t, A(int32_t))
  VALUE(ZeroExtend8, int64_t, A(uint8_t))
  VALUE(ZeroExtend16, int64_t, A(uint16_t))
  VALUE(ZeroExtend32, int64_t, A(uint32_t))
  VALUE(SignExtend128, __int128, A(int64_t))
  VALUE(ZeroExtend128, __int128, A(uint64_t))
  VALUE(IntToF, double, static_cast<double>(A(int64_t)))
  VALUE(FToInt, int64_t, static_cast<int64_t>(A(double)))
  VALUE(Bswap16, int16_t, static_cast<int16_t>(__builtin_bswap16(A(uint16_t))))
  VALUE(Bswap32, int32_t, static_cast<int32_t>(__builtin_bswap32(A(uint32_t))))
  VALUE(Bswap64, uint64_t, __builtin_bswap64(A(uint64_t)))
#define ADDRESS() (reinterpret_cast<std::byte*>(A(uint64_t)) + pc->imm)
  VALUE(Load8, int8_t, load<int8_t>(ADDRESS()))
  VALUE(Load16, int16_t, load<int16_t>(ADDRESS()))
  VALUE(Load32, int32_t, load<int32_t>(ADDRESS()))
  VALUE(Load64, int64_t, load<int64_t>(ADDRESS()))
  VALUE(Load128, __int128, load<__int128>(ADDRESS()))
#define STORE(bits, T)                        \
  op_Store##bits : store<T>(ADDRESS(), B(T)); \
  NEXT();
  STORE(8, int8_t)
  STORE(16, int16_t)
  STORE(32, int32_t)
  STORE(64, int64_t)
  STORE(128, __int128)
  VALUE(Offset, uint64_t, A(uint64_t) + static_cast<uint64_t>(pc->imm))
  VALUE(Index, uint64_t, A(uint64_t) + B(uint64_t) * static_cast<uint64_t>(pc->imm))
op_Prefetch:
  __builtin_prefetch(ADDRESS());
  NEXT();
op_Jump:
  GO(pc->dst);
op_Branch:
  GO(A(uint64_t) != 0 ? pc->dst : static_cast<uint32_t>(pc->imm));
op_Return:
  return A(int32_t);
  CALL(0)
  CALL(1)
  CALL(2)
  CALL(3)
  CALL(4)
  CALL(5)
  CALL(6)
  CALL(7)
  CALL(8)
  CALL(9)
  CALL(10)
  CALL(11)
  CALL(12)
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
