#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

extern const ir::External k_fn_random;  // runtime/functions_random.cc

void add_math_functions(BuiltinTable* t) {
  t->runtime("random", {}, TypeId::kFloat8, k_fn_random).is_volatile = true;
  const std::pair<std::string_view, const ir::External&> floats[] = {
      {"exp", k_fn_exp},         {"ln", k_fn_ln},           {"log", k_fn_log10},      {"log10", k_fn_log10},
      {"cbrt", k_fn_cbrt},       {"||/", k_fn_cbrt},        {"|/", k_fn_sqrt_float8}, {"sign", k_fn_sign_float8},
      {"degrees", k_fn_degrees}, {"radians", k_fn_radians}, {"sin", k_fn_sin},        {"cos", k_fn_cos},
      {"tan", k_fn_tan},         {"cot", k_fn_cot},         {"sind", k_fn_sind},      {"cosd", k_fn_cosd},
      {"tand", k_fn_tand},       {"cotd", k_fn_cotd},       {"asin", k_fn_asin},      {"acos", k_fn_acos},
      {"asind", k_fn_asind},     {"acosd", k_fn_acosd},     {"atan", k_fn_atan},      {"atand", k_fn_atand},
      {"sinh", k_fn_sinh},       {"cosh", k_fn_cosh},       {"tanh", k_fn_tanh},      {"asinh", k_fn_asinh},
      {"acosh", k_fn_acosh},     {"atanh", k_fn_atanh}};
  for (const auto& [name, function] : floats) t->runtime(name, {T::kFloat8}, T::kFloat8, function);
  t->runtime("atan2", {T::kFloat8, T::kFloat8}, T::kFloat8, k_fn_atan2);
  t->runtime("atan2d", {T::kFloat8, T::kFloat8}, T::kFloat8, k_fn_atan2d);
  t->runtime("pi", {}, T::kFloat8, k_fn_pi);
  for (std::string_view name : {"power", "pow", "^"}) {
    t->runtime(name, {T::kFloat8, T::kFloat8}, T::kFloat8, k_fn_power);
    t->runtime(name, {T::kNumeric, T::kNumeric}, T::kNumeric, k_fn_power_numeric);
  }
  t->runtime("exp", {T::kNumeric}, T::kNumeric, k_fn_exp_numeric);
  t->runtime("ln", {T::kNumeric}, T::kNumeric, k_fn_ln_numeric);
  for (std::string_view name : {"log", "log10"}) t->runtime(name, {T::kNumeric}, T::kNumeric, k_fn_log_numeric);
  t->runtime("log", {T::kNumeric, T::kNumeric}, T::kNumeric, k_fn_log_numeric);
  for (T type : {T::kInt4, T::kInt8})
    for (std::string_view name : {"gcd", "lcm"})
      t->runtime(name, {type, type}, type, name == "gcd" ? k_fn_gcd : k_fn_lcm).takes_types = true;
  t->runtime("gcd", {T::kNumeric, T::kNumeric}, T::kNumeric, k_fn_gcd_numeric);
  t->runtime("lcm", {T::kNumeric, T::kNumeric}, T::kNumeric, k_fn_lcm_numeric);
  t->runtime("factorial", {T::kInt8}, T::kNumeric, k_fn_factorial);
  t->runtime("scale", {T::kNumeric}, T::kInt4, k_fn_scale_numeric).may_return_null = true;  // of NaN
  t->runtime("min_scale", {T::kNumeric}, T::kInt4, k_fn_min_scale).may_return_null = true;
  t->runtime("trim_scale", {T::kNumeric}, T::kNumeric, k_fn_trim_scale);
  t->runtime("width_bucket", {T::kFloat8, T::kFloat8, T::kFloat8, T::kInt4}, T::kInt4, k_fn_width_bucket);
  t->runtime("width_bucket", {T::kNumeric, T::kNumeric, T::kNumeric, T::kInt4}, T::kInt4, k_fn_width_bucket_numeric);
  for (T type : {T::kInt2, T::kInt4, T::kInt8}) {
    t->runtime("&", {type, type}, type, k_fn_bit_and);
    t->runtime("|", {type, type}, type, k_fn_bit_or);
    t->runtime("#", {type, type}, type, k_fn_bit_xor);
    t->runtime("~", {type}, type, k_fn_bit_not);
    t->runtime("<<", {type, T::kInt4}, type, k_fn_shift_left).takes_types = true;
    t->runtime(">>", {type, T::kInt4}, type, k_fn_shift_right).takes_types = true;
    t->runtime("@", {type}, type, k_fn_abs_integer).takes_types = true;
  }
  for (T type : {T::kFloat4, T::kFloat8}) t->runtime("@", {type}, type, k_fn_abs_float8);
  t->runtime("@", {T::kNumeric}, T::kNumeric, k_fn_abs_numeric);
}

}  // namespace scyper::query
