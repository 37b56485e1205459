#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_bits.cc
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_DECLARE_FUNCTION(bits_length)
SCYPER_DECLARE_FUNCTION(bits_octets)
SCYPER_DECLARE_FUNCTION(bits_ones)
SCYPER_DECLARE_FUNCTION(bits_concat)
SCYPER_DECLARE_FUNCTION(bits_and)
SCYPER_DECLARE_FUNCTION(bits_or)
SCYPER_DECLARE_FUNCTION(bits_xor)
SCYPER_DECLARE_FUNCTION(bits_not)
SCYPER_DECLARE_FUNCTION(bits_shift_left)
SCYPER_DECLARE_FUNCTION(bits_shift_right)
SCYPER_DECLARE_FUNCTION(bits_substring)
SCYPER_DECLARE_FUNCTION(bits_overlay)
SCYPER_DECLARE_FUNCTION(bits_position)
SCYPER_DECLARE_FUNCTION(bits_get)
SCYPER_DECLARE_FUNCTION(bits_set)
SCYPER_DECLARE_FUNCTION(bits_same)
SCYPER_DECLARE_FUNCTION(bits_fold_and)
SCYPER_DECLARE_FUNCTION(bits_fold_or)
SCYPER_DECLARE_FUNCTION(bits_fold_xor)
SCYPER_DECLARE_FUNCTION(money_cents)
SCYPER_DECLARE_FUNCTION(money_of_cents)
SCYPER_DECLARE_FUNCTION(money_add)
SCYPER_DECLARE_FUNCTION(money_subtract)
SCYPER_DECLARE_FUNCTION(money_multiply_float)
SCYPER_DECLARE_FUNCTION(money_multiply_float_reversed)
SCYPER_DECLARE_FUNCTION(money_multiply)
SCYPER_DECLARE_FUNCTION(money_multiply_reversed)
SCYPER_DECLARE_FUNCTION(money_divide_float)
SCYPER_DECLARE_FUNCTION(money_divide)
SCYPER_DECLARE_FUNCTION(money_ratio)
SCYPER_DECLARE_FUNCTION(money_words)
SCYPER_DECLARE_FUNCTION(money_larger)
SCYPER_DECLARE_FUNCTION(money_smaller)
#undef SCYPER_DECLARE_FUNCTION

void add_bit_functions(BuiltinTable* t) {
  for (std::string_view name : {"length", "bit_length"}) t->runtime(name, {T::kBit}, T::kInt4, k_fn_bits_length);
  t->runtime("octet_length", {T::kBit}, T::kInt4, k_fn_bits_octets);
  t->runtime("bit_count", {T::kBit}, T::kInt8, k_fn_bits_ones);
  t->runtime("||", {T::kVarbit, T::kVarbit}, T::kVarbit, k_fn_bits_concat);
  t->runtime("&", {T::kBit, T::kBit}, T::kBit, k_fn_bits_and);
  t->runtime("|", {T::kBit, T::kBit}, T::kBit, k_fn_bits_or);
  t->runtime("#", {T::kBit, T::kBit}, T::kBit, k_fn_bits_xor);
  t->runtime("~", {T::kBit}, T::kBit, k_fn_bits_not);
  t->runtime("<<", {T::kBit, T::kInt4}, T::kBit, k_fn_bits_shift_left);
  t->runtime(">>", {T::kBit, T::kInt4}, T::kBit, k_fn_bits_shift_right);
  t->runtime("substring", {T::kBit, T::kInt4}, T::kBit, k_fn_bits_substring);
  t->runtime("substring", {T::kBit, T::kInt4, T::kInt4}, T::kBit, k_fn_bits_substring);
  t->runtime("overlay", {T::kBit, T::kBit, T::kInt4}, T::kBit, k_fn_bits_overlay);
  t->runtime("overlay", {T::kBit, T::kBit, T::kInt4, T::kInt4}, T::kBit, k_fn_bits_overlay);
  t->runtime("position", {T::kBit, T::kBit}, T::kInt4, k_fn_bits_position);
  t->runtime("get_bit", {T::kBit, T::kInt4}, T::kInt4, k_fn_bits_get);
  t->runtime("set_bit", {T::kBit, T::kInt4, T::kInt4}, T::kBit, k_fn_bits_set);
  // bit_and() and its kin collect arrays: marks of what is collected, and what becomes of the array
  for (std::string_view name : {" bit_and of", " bit_or of", " bit_xor of"})
    t->runtime(name, {T::kBit}, T::kBit, k_fn_bits_same);
  t->runtime(" bit_and", {T::kArray}, T::kBit, k_fn_bits_fold_and).may_return_null = true;
  t->runtime(" bit_or", {T::kArray}, T::kBit, k_fn_bits_fold_or).may_return_null = true;
  t->runtime(" bit_xor", {T::kArray}, T::kBit, k_fn_bits_fold_xor).may_return_null = true;
}

void add_money_functions(BuiltinTable* t) {
  t->runtime(" sum of", {T::kMoney}, T::kInt8, k_fn_money_cents);  // sum() adds cents
  t->runtime(" sum", {T::kNumeric}, T::kMoney, k_fn_money_of_cents);
  t->runtime("+", {T::kMoney, T::kMoney}, T::kMoney, k_fn_money_add);
  t->runtime("-", {T::kMoney, T::kMoney}, T::kMoney, k_fn_money_subtract);
  for (T type : {T::kFloat8, T::kFloat4}) {
    t->runtime("*", {T::kMoney, type}, T::kMoney, k_fn_money_multiply_float);
    t->runtime("*", {type, T::kMoney}, T::kMoney, k_fn_money_multiply_float_reversed);
    t->runtime("/", {T::kMoney, type}, T::kMoney, k_fn_money_divide_float);
  }
  for (T type : {T::kInt2, T::kInt4, T::kInt8}) {
    t->runtime("*", {T::kMoney, type}, T::kMoney, k_fn_money_multiply);
    t->runtime("*", {type, T::kMoney}, T::kMoney, k_fn_money_multiply_reversed);
    t->runtime("/", {T::kMoney, type}, T::kMoney, k_fn_money_divide);
  }
  t->runtime("/", {T::kMoney, T::kMoney}, T::kFloat8, k_fn_money_ratio);
  t->runtime("cash_words", {T::kMoney}, T::kText, k_fn_money_words);
  t->runtime("cashlarger", {T::kMoney, T::kMoney}, T::kMoney, k_fn_money_larger);
  t->runtime("cashsmaller", {T::kMoney, T::kMoney}, T::kMoney, k_fn_money_smaller);
}

}  // namespace scyper::query
