#pragma once

#include "ir/ir.h"
#include "storage/type.h"

namespace scyper::query {

// A SQL value in registers. By type: bool I8; int2 I16; int4, date I32; int8, time, timestamp(tz) I64; float4, float8
// F64; interval, uuid I128; numeric with known scale I64 (up to 18 digits) or I128; other numeric I128 with its scale
// (I32) in b; strings, bytea, jsonb Ptr with byte length (I64) in b; arrays Ptr. null: I8, 1 = NULL; kNoReg = never
// NULL. What a and b hold for NULL is undefined but computable.
struct Value {
  SqlType type;
  ir::Reg a = ir::kNoReg;
  ir::Reg b = ir::kNoReg;
  ir::Reg null = ir::kNoReg;
  // Strings and arrays: what they point to lives until the transaction ends. Else it may be a cell that the next change
  // overwrites.
  bool stable = false;
  // Strings: they are of a tuple (tuple.h), which keeps none that lie in a window (runtime/windows.h).
  bool is_stored = false;
  // Strings that are not stable: they are all the same, unless they lie in these `cells_bytes` bytes.
  ir::Reg cells = ir::kNoReg;
  uint32_t cells_bytes = 0;
  // Arrays: made for this use, so that a variable may own it as it is.
  bool fresh = false;
};

inline ir::Type register_type(const SqlType& type) {
  switch (type.id) {
    case TypeId::kBool:
      return ir::Type::kI8;
    case TypeId::kInt2:
      return ir::Type::kI16;
    case TypeId::kInt4:
    case TypeId::kDate:
      return ir::Type::kI32;
    case TypeId::kInt8:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
    case TypeId::kEnum:
      return ir::Type::kI64;
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return ir::Type::kF64;
    case TypeId::kInterval:
    case TypeId::kUuid:
      return ir::Type::kI128;
    case TypeId::kNumeric:
      return type.precision != 0 && type.precision <= kMaxPrecision64 ? ir::Type::kI64 : ir::Type::kI128;
    default:
      return ir::Type::kPtr;
  }
}

inline bool is_dynamic_numeric(const SqlType& type) { return type.id == TypeId::kNumeric && type.precision == 0; }

// Type of register b, kVoid = unused.
inline ir::Type second_register_type(const SqlType& type) {
  if (is_dynamic_numeric(type)) return ir::Type::kI32;
  if (holds_bytes(type.id) || type.id == TypeId::kUnknown) return ir::Type::kI64;
  return ir::Type::kVoid;
}

}  // namespace scyper::query
