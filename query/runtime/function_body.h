#pragma once

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/bounded_work.h"
#include "runtime/functions.h"
#include "runtime/memory.h"
#include "types/datum_text.h"
#include "types/decimal.h"

// What the bodies of builtin functions share.
namespace scyper::query {

constexpr size_t kValueBytesMax = 0x3fffffff - 4;  // PostgreSQL's: 1 GB less headers

inline int32_t done(ExecContext* c, ValueError error, std::string_view text = {}, const SqlType& type = {}) {
  if (error == ValueError::kNone) [[likely]]
    return 0;
  if (error == ValueError::kOutOfMemory) return fail_memory(c);
  return c->fail(error_status(error, type, text));
}
inline int32_t give(Datum* out, std::string_view text) { return *out = string_datum(text.data(), text.size()), 0; }
inline int32_t give(Datum* out, int64_t value) { return *out = int_datum(value), 0; }
inline int32_t give_bool(Datum* out, bool value) { return *out = int_datum(value ? 1 : 0), 0; }
inline int32_t give_null(Datum* out) { return *out = null_datum(), 0; }
inline int32_t int4(const Datum& datum) { return static_cast<int32_t>(datum.lo); }
inline double float8(const Datum& datum) { return __builtin_bit_cast(double, datum.lo); }
// A copy of `text` in the transaction's memory.
inline int32_t give_copy(ExecContext* c, Datum* out, std::string_view text) {
  if (text.size() > kValueBytesMax) return done(c, ValueError::kLengthTooLarge);
  char* copy = c->scratch->allocate(text.size());
  if (copy == nullptr) return fail_memory(c);
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  return give(out, std::string_view(copy, text.size()));
}

// What generated code calls: the body within its bounds. No exception leaves it.
template <auto body>
int32_t bounded_call(ExecContext* c, const Datum* args, int64_t count, Datum* out, const SqlType* types) noexcept {
  try {
    const BoundedWork work(work_bounds(c));
    const int32_t outcome = body(c, args, count, out, types);
    // a search may have ended early
    const bool is_interrupted = c->interrupt.load(std::memory_order_relaxed) != 0 && c->is_interrupted();
    return outcome == 0 && is_interrupted ? fail_interrupted(c) : outcome;
  } catch (const WorkInterrupted&) {
    return fail_interrupted(c);
  } catch (const std::bad_alloc&) {
    return fail_memory(c);
  } catch (const std::length_error&) {
    return fail_memory(c);
  }
}

// A body may throw std::bad_alloc, and calls poll_work() in loops that may take long.
#define SCYPER_FUNCTION(name)                                                            \
  int32_t fn_##name([[maybe_unused]] ExecContext* c, [[maybe_unused]] const Datum* args, \
                    [[maybe_unused]] int64_t count, Datum* out, [[maybe_unused]] const SqlType* types)

#define SCYPER_DEFINE_FUNCTION(name)                                                                                 \
  const ir::External k_fn_##name{"fn_" #name, reinterpret_cast<void*>(&bounded_call<&fn_##name>), ir::Type::kI32, 5, \
                                 false};

}  // namespace scyper::query
