#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/ir.h"
#include "storage/type.h"

namespace scyper::query {

// What the code generator does for a builtin. kRuntime: call the runtime function on Datums; the others are generated
// inline.
enum class BuiltinOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kNegate,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kNow,     // the transaction's time
  kConcat,  // text || text
  kRuntime,
};

// A function or operator for exactly these argument types (after the binder's casts).
struct Builtin {
  std::string_view name;  // "+", "left"
  BuiltinOp op = BuiltinOp::kRuntime;
  std::vector<TypeId> parameters;    // kUnknown = any
  TypeId result = TypeId::kUnknown;  // kUnknown: computed by result_type
  bool strict = true;                // NULL in, NULL out, without a call
  bool variadic = false;             // the last parameter repeats
  bool is_volatile = false;
  bool writes = false;           // never on a snapshot
  bool may_return_null = false;  // also for arguments that are not NULL
  // kRuntime: int32 f(ExecContext*, const Datum* args, int64 count, Datum* result, const SqlType* types); types is null
  // unless takes_types
  const ir::External* runtime = nullptr;
  bool takes_types = false;
  bool takes_dimensions = false;  // its kArray parameters are integer[], whatever the others are
  bool elements_meet = false;     // of its arrays, with values beside them: in a common type
  bool result_is_new = false;     // what the result points to is in the transaction's memory, never part of an argument
  // kUnknown result: from the argument types.
  SqlType (*result_type)(const std::vector<SqlType>& arguments) = nullptr;
};

// All builtins of that name.
std::vector<const Builtin*> find_builtins(std::string_view name);

// The names of all, operators and functions of the system among them.
std::vector<std::string_view> builtin_names();
// Whether statements may call it by that name, as they call a function. Operators, and what has syntax of its own in
// place of a name, have names that PostgreSQL has no function of.
bool is_callable_name(std::string_view name);

// Type of an arithmetic result on numerics whose scale is known, PostgreSQL's rules with precision tracked.
SqlType numeric_result(BuiltinOp op, const SqlType& a, const SqlType& b);
// int2/int4/int8 as the numeric that holds all their values.
SqlType as_numeric(const SqlType& type);

}  // namespace scyper::query
