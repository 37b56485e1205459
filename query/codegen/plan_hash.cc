#include "base/check.h"
#include "codegen/generator.h"

// Hashing and comparing keys of joins and groups.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kMultiplier = static_cast<int64_t>(0xff51afd7ed558ccdull);
constexpr int64_t kSeed = static_cast<int64_t>(0x9E3779B97F4A7C15ull);
}  // namespace

// 64 bits that agree for equal keys.
ir::Reg Generator::hash_word(const Value& key) {
  switch (kept_as(key.type.id)) {
    case TypeId::kChar:
      return b_.call(k_rt_hash_char, {key.a, key.b});
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kBytea:
    case TypeId::kUnknown:
      return b_.call(k_rt_hash_text, {key.a, key.b});
    case TypeId::kFloat4:
    case TypeId::kFloat8:
    case TypeId::kArray:
    case TypeId::kInterval:
    case TypeId::kJsonb:
      return b_.call(k_rt_hash_datum, {data_of(std::vector<SqlType>{key.type}), store_row({key})});
    case TypeId::kNumeric:
      if (is_dynamic_numeric(key.type))
        return b_.call(k_rt_hash_datum, {data_of(std::vector<SqlType>{key.type}), store_row({key})});
      break;
    default:
      break;
  }
  Type type = b_.type_of(key.a);
  if (type == Type::kI64) return key.a;
  if (type != Type::kI128) return b_.convert(type == Type::kI8 ? Op::kZExt : Op::kSExt, key.a, Type::kI64);
  Reg high = b_.convert(Op::kTrunc, b_.binary(Op::kLShr, key.a, constant(Type::kI128, 64)), Type::kI64);
  Reg low = b_.convert(Op::kTrunc, key.a, Type::kI64);
  return b_.binary(Op::kXor, low, b_.binary(Op::kMul, high, constant(Type::kI64, kSeed)));
}

// The slot is decided by the top bits, the filter's bit by the low four: both depend on all of the key. Narrow integers
// share a word but where `apart` says that either side may compare NULLs.
ir::Reg Generator::hash_of(const Values& keys, const std::vector<bool>& apart) {
  Reg hash = ir::kNoReg;
  auto mix = [&](Reg word) {
    Reg input = hash == ir::kNoReg ? word : b_.binary(Op::kXor, hash, word);
    Reg product = b_.binary(Op::kMul, input, constant(Type::kI64, kMultiplier));
    hash = b_.binary(Op::kXor, product, b_.binary(Op::kLShr, product, constant(Type::kI64, 32)));
  };
  Reg pending = ir::kNoReg;
  int64_t used = 0;
  for (size_t i = 0; i < keys.size(); i++) {
    const Value& key = keys[i];
    Type type = b_.type_of(key.a);
    int64_t bits = type == Type::kI8 ? 8 : type == Type::kI16 ? 16 : type == Type::kI32 ? 32 : 64;
    if (bits < 64 && !apart[i]) {
      Reg word = b_.convert(Op::kZExt, key.a, Type::kI64);
      if (key.null != ir::kNoReg) word = b_.select(key.null, constant(Type::kI64, 0), word);
      if (used + bits > 64) {
        mix(pending);
        pending = ir::kNoReg;
        used = 0;
      }
      pending = pending == ir::kNoReg
                    ? word
                    : b_.binary(Op::kOr, pending, b_.binary(Op::kShl, word, constant(Type::kI64, used)));
      used += bits;
      continue;
    }
    if (key.null == ir::kNoReg) {
      mix(hash_word(key));
      continue;
    }
    SqlType word_type = make_type(TypeId::kInt8);
    Value present = strict({key}, word_type, [&](const Values& values) {
      Value result;
      result.type = word_type;
      result.a = hash_word(values[0]);
      return result;
    });
    mix(b_.select(key.null, constant(Type::kI64, kSeed), present.a));
  }
  if (pending != ir::kNoReg) mix(pending);
  if (hash == ir::kNoReg) return constant(Type::kI64, 0);
  // a second round: one multiplication leaves the top bits of small keys too regular
  Reg product = b_.binary(Op::kMul, hash, constant(Type::kI64, kSeed));
  return b_.binary(Op::kXor, product, b_.binary(Op::kLShr, product, constant(Type::kI64, 29)));
}

ir::Reg Generator::find_slot(Reg store, Reg hash) {
  Reg slots = b_.load(Type::kPtr, store, offsetof(TupleStore, slots));
  Reg shift = b_.load(Type::kI64, store, offsetof(TupleStore, shift));
  return b_.index(slots, b_.binary(Op::kLShr, hash, shift), 8);
}

// NULL equals NULL here; keys that must not have been refused before.
void Generator::compare_keys(const Values& keys, const std::vector<TupleField>& fields, Reg tuple, Block equal,
                             Block differs) {
  for (size_t i = 0; i < keys.size(); i++) {
    Value mine = keys[i];
    Value other = load_field(tuple, fields[i]);
    Block next = i + 1 == keys.size() ? equal : b_.new_block();
    if (mine.null != ir::kNoReg || other.null != ir::kNoReg) {
      Reg null_a = is_null(mine), null_b = is_null(other);
      Block both = b_.new_block(), some = b_.new_block();
      b_.branch(b_.binary(Op::kOr, null_a, null_b), some, both, 2);
      b_.set_block(some);
      b_.branch(b_.binary(Op::kAnd, null_a, null_b), next, differs);
      b_.set_block(both);
      mine.null = other.null = ir::kNoReg;
    }
    b_.branch(compare(BuiltinOp::kEqual, mine, other), next, differs, 1);
    if (i + 1 < keys.size()) b_.set_block(next);
  }
  if (keys.empty()) b_.jump(equal);
}

}  // namespace scyper::query
