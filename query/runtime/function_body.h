#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "runtime/functions.h"
#include "runtime/memory.h"
#include "types/datum_text.h"
#include "types/decimal.h"

// What the bodies of builtin functions share.
namespace scyper::query {

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
  char* copy = c->scratch->allocate(text.size());
  if (copy == nullptr) return fail_memory(c);
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  return give(out, std::string_view(copy, text.size()));
}

#define SCYPER_FUNCTION(name)                                                            \
  int32_t fn_##name([[maybe_unused]] ExecContext* c, [[maybe_unused]] const Datum* args, \
                    [[maybe_unused]] int64_t count, Datum* out, [[maybe_unused]] const SqlType* types) noexcept

#define SCYPER_DEFINE_FUNCTION(name) \
  const ir::External k_fn_##name{"fn_" #name, reinterpret_cast<void*>(&fn_##name), ir::Type::kI32, 5, false};

}  // namespace scyper::query
