#pragma once

#include <cstdint>
#include <string>

#include "query/drawn_values.h"
#include "runtime/function_body.h"

// Builtin functions whose values a second run of the statement gets from the first one (query/drawn_values.h).
namespace scyper::query {

constexpr int64_t kNoText = -1;

// Names the call among those of its statement. text: the argument that is a text.
template <auto body, int64_t text>
std::string name_call(const Datum* args, int64_t count) {
  std::string name = std::to_string(reinterpret_cast<uintptr_t>(body));
  for (int64_t i = 0; i < count; ++i) {
    name += ' ';
    if (args[i].null != 0) continue;
    name += i == text ? std::string(text_of(args[i])) : std::to_string(args[i].lo);
  }
  return name;
}

template <auto body, TypeId result, int64_t text>
int32_t drawn_call(ExecContext* c, const Datum* args, int64_t count, Datum* out, const SqlType* types) {
  DrawnValues* drawn = DrawnValues::current;
  if (drawn == nullptr) [[likely]]
    return body(c, args, count, out, types);
  std::string call = name_call<body, text>(args, count);
  if (drawn->is_replaying()) return drawn->give(c, call, out);
  const int32_t outcome = body(c, args, count, out, types);
  if (outcome == 0) {
    drawn->note(std::move(call), make_type(result), *out);
  } else {
    drawn->note_failure(std::move(call), c->error);
  }
  return outcome;
}

// type: of the result.
#define SCYPER_DEFINE_DRAWN_FUNCTION(name, type, text)                                                                \
  const ir::External k_fn_##name{"fn_" #name,                                                                         \
                                 reinterpret_cast<void*>(&bounded_call<&drawn_call<&fn_##name, TypeId::type, text>>), \
                                 ir::Type::kI32, 5, false};

}  // namespace scyper::query
