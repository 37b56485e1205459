#include "bind/builtins.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_map>

#include "bind/builtin_table.h"
#include "runtime/functions.h"
#include "runtime/functions_record.h"
#include "storage/json_text_type.h"

namespace scyper::query {

SqlType as_numeric(const SqlType& type) {
  switch (type.id) {
    case TypeId::kInt2:
      return make_numeric(5, 0);
    case TypeId::kInt4:
      return make_numeric(10, 0);
    case TypeId::kInt8:
      return make_numeric(19, 0);
    case TypeId::kNumeric:
      return type;
    default:
      return make_numeric(0, 0);
  }
}

SqlType numeric_result(BuiltinOp op, const SqlType& a, const SqlType& b) {
  SqlType dynamic = make_numeric(0, 0);
  if (a.precision == 0 || b.precision == 0) return dynamic;
  int scale = std::max(a.scale, b.scale);
  int digits = std::max(a.precision - a.scale, b.precision - b.scale) + scale + 1;
  switch (op) {
    case BuiltinOp::kAdd:
    case BuiltinOp::kSubtract:
      break;
    case BuiltinOp::kMultiply:
      scale = a.scale + b.scale;
      digits = a.precision + b.precision;
      break;
    default:
      return dynamic;  // PostgreSQL chooses the scale of a quotient by the values
  }
  if (digits > kMaxPrecision) return dynamic;
  return make_numeric(static_cast<uint8_t>(digits), static_cast<uint8_t>(scale));
}

namespace {

using T = TypeId;

template <BuiltinOp op>
SqlType binary_numeric(const std::vector<SqlType>& args) {
  return numeric_result(op, args[0], args[1]);
}
SqlType same_as_first(const std::vector<SqlType>& args) { return args[0]; }
SqlType array_of_second(const std::vector<SqlType>& args) { return args[0].id == T::kArray ? args[0] : args[1]; }

void add_operators(BuiltinTable* t) {
  struct Arithmetic {
    std::string_view name;
    BuiltinOp op;
    SqlType (*numeric)(const std::vector<SqlType>&);
  };
  const Arithmetic arithmetic[] = {
      {"+", BuiltinOp::kAdd, binary_numeric<BuiltinOp::kAdd>},
      {"-", BuiltinOp::kSubtract, binary_numeric<BuiltinOp::kSubtract>},
      {"*", BuiltinOp::kMultiply, binary_numeric<BuiltinOp::kMultiply>},
      {"/", BuiltinOp::kDivide, binary_numeric<BuiltinOp::kDivide>},
      {"%", BuiltinOp::kModulo, binary_numeric<BuiltinOp::kModulo>},
  };
  for (const auto& a : arithmetic) {
    for (T type : {T::kInt2, T::kInt4, T::kInt8}) t->add(a.name, {type, type}, type).op = a.op;
    Builtin& numeric = t->add(a.name, {T::kNumeric, T::kNumeric}, T::kNumeric);
    numeric.op = a.op;
    numeric.result_type = a.numeric;
    if (a.op == BuiltinOp::kModulo) continue;
    for (T type : {T::kFloat4, T::kFloat8}) t->add(a.name, {type, type}, type).op = a.op;
  }
  for (T type : {T::kInt2, T::kInt4, T::kInt8, T::kFloat4, T::kFloat8})
    t->add("-", {type}, type).op = BuiltinOp::kNegate;
  Builtin& negate = t->add("-", {T::kNumeric}, T::kNumeric);
  negate.op = BuiltinOp::kNegate;
  negate.result_type = same_as_first;
  const std::pair<std::string_view, BuiltinOp> comparisons[] = {
      {"=", BuiltinOp::kEqual},      {"<>", BuiltinOp::kNotEqual}, {"<", BuiltinOp::kLess},
      {"<=", BuiltinOp::kLessEqual}, {">", BuiltinOp::kGreater},   {">=", BuiltinOp::kGreaterEqual},
  };
  for (const auto& [name, op] : comparisons)
    for (T type : {T::kBool,         T::kInt2,           T::kInt4,           T::kInt8,
                   T::kFloat4,       T::kFloat8,         T::kNumeric,        T::kChar,
                   T::kText,         T::kVarchar,        T::kDate,           T::kTimestamp,
                   T::kInterval,     T::kArray,          T::kTimestamptz,    T::kTime,
                   T::kUuid,         T::kBytea,          T::kJsonb,          T::kEnum,
                   T::kInet,         T::kMacaddr,        T::kMacaddr8,       T::kBit,
                   T::kVarbit,       T::kMoney,          T::kTimetz,         T::kInt4range,
                   T::kInt8range,    T::kDaterange,      T::kTsrange,        T::kTstzrange,
                   T::kNumrange,     T::kInt4multirange, T::kInt8multirange, T::kDatemultirange,
                   T::kTsmultirange, T::kTstzmultirange, T::kNummultirange,  T::kTsvector,
                   T::kTsquery})
      t->add(name, {type, type}, T::kBool).op = op;
  t->runtime("+", {T::kDate, T::kInt4}, T::kDate, k_fn_date_add);
  t->runtime("+", {T::kInt4, T::kDate}, T::kDate, k_fn_date_add).takes_types = true;
  t->runtime("-", {T::kDate, T::kInt4}, T::kDate, k_fn_date_subtract);
  t->runtime("-", {T::kDate, T::kDate}, T::kInt4, k_fn_date_difference);
  t->runtime("||", {T::kText, T::kText}, T::kText, k_fn_concat_text).op = BuiltinOp::kConcat;
}

void add_strings(BuiltinTable* t) {
  for (T text : {T::kText, T::kChar}) {  // char(n) with its padding
    t->runtime("like", {text, T::kText}, T::kBool, k_fn_like);
    t->runtime("like", {text, T::kText, T::kText}, T::kBool, k_fn_like);
    t->runtime("ilike", {text, T::kText}, T::kBool, k_fn_ilike);
    t->runtime("ilike", {text, T::kText, T::kText}, T::kBool, k_fn_ilike);
  }
  for (std::string_view name : {"length", "char_length", "character_length"}) {
    t->runtime(name, {T::kText}, T::kInt4, k_fn_length);
    t->runtime(name, {T::kChar}, T::kInt4, k_fn_char_length);
  }
  t->runtime("octet_length", {T::kText}, T::kInt4, k_fn_octet_length);
  t->runtime("octet_length", {T::kChar}, T::kInt4, k_fn_octet_length);
  for (std::string_view name : {"substr", "substring"}) {
    t->runtime(name, {T::kText, T::kInt4}, T::kText, k_fn_substring);
    t->runtime(name, {T::kText, T::kInt4, T::kInt4}, T::kText, k_fn_substring);
  }
  t->runtime("left", {T::kText, T::kInt4}, T::kText, k_fn_left);
  t->runtime("right", {T::kText, T::kInt4}, T::kText, k_fn_right);
  t->runtime("position", {T::kText, T::kText}, T::kInt4, k_fn_position);
  t->runtime("strpos", {T::kText, T::kText}, T::kInt4, k_fn_position);
  t->runtime("upper", {T::kText}, T::kText, k_fn_upper);
  t->runtime("lower", {T::kText}, T::kText, k_fn_lower);
  t->runtime("btrim", {T::kText}, T::kText, k_fn_trim);
  t->runtime("btrim", {T::kText, T::kText}, T::kText, k_fn_trim);
  t->runtime("ltrim", {T::kText}, T::kText, k_fn_trim_left);
  t->runtime("ltrim", {T::kText, T::kText}, T::kText, k_fn_trim_left);
  t->runtime("rtrim", {T::kText}, T::kText, k_fn_trim_right);
  t->runtime("rtrim", {T::kText, T::kText}, T::kText, k_fn_trim_right);
  t->runtime("lpad", {T::kText, T::kInt4}, T::kText, k_fn_pad_left);
  t->runtime("lpad", {T::kText, T::kInt4, T::kText}, T::kText, k_fn_pad_left);
  t->runtime("rpad", {T::kText, T::kInt4}, T::kText, k_fn_pad_right);
  t->runtime("rpad", {T::kText, T::kInt4, T::kText}, T::kText, k_fn_pad_right);
  t->runtime("replace", {T::kText, T::kText, T::kText}, T::kText, k_fn_replace);
  t->runtime("repeat", {T::kText, T::kInt4}, T::kText, k_fn_repeat);
  t->runtime("reverse", {T::kText}, T::kText, k_fn_reverse);
  t->runtime("ascii", {T::kText}, T::kInt4, k_fn_ascii);
  t->runtime("chr", {T::kInt4}, T::kText, k_fn_chr);
  t->runtime("split_part", {T::kText, T::kText, T::kInt4}, T::kText, k_fn_split_part);
  t->runtime("starts_with", {T::kText, T::kText}, T::kBool, k_fn_starts_with);
  for (std::string_view name : {"concat", "concat_ws"}) {
    Builtin& concat = t->runtime(name, {T::kUnknown}, T::kText, name == "concat" ? k_fn_concat : k_fn_concat_ws);
    concat.strict = false;
    concat.variadic = true;
    concat.takes_types = true;
  }
}

// The text that a value is shown as: concat() of one value, but NULL of NULL. No SQL name has a space first.
void add_output(BuiltinTable* t) {
  t->runtime(" output", {T::kUnknown}, T::kText, k_fn_concat).takes_types = true;
  Builtin& record = t->runtime(" record", {T::kUnknown}, T::kText, k_fn_record_text);  // (a,b,c)
  record.strict = false;
  record.variadic = true;
  record.takes_types = true;
  // of records filled by dynamic SQL
  t->runtime(" image field", {T::kText, T::kInt4, T::kText}, T::kText, k_fn_record_image_field).may_return_null = true;
  t->runtime(" image result", {T::kText, T::kInt4, T::kText, T::kText}, T::kText, k_fn_record_image_result)
      .may_return_null = true;
  Builtin& set = t->runtime(" image set", {T::kText, T::kText, T::kText}, T::kText, k_fn_record_image_set);
  set.strict = false;
  set.may_return_null = true;
  t->runtime(" image text", {T::kText}, T::kText, k_fn_record_image_text);
  t->runtime(" image json", {T::kText}, T::kJsonb, k_fn_record_image_json);
  t->runtime(" image json text", {T::kText}, T::kText, k_fn_record_image_json_text).result_type =
      [](const std::vector<SqlType>&) { return json_text_type(); };
  t->runtime(" image null", {T::kText, T::kInt4}, T::kBool, k_fn_record_image_null).strict = false;
}

void add_numbers(BuiltinTable* t) {
  for (T type : {T::kInt2, T::kInt4, T::kInt8, T::kFloat4, T::kFloat8, T::kNumeric}) {
    Builtin& abs = t->runtime("abs", {type}, type,
                              is_float(type)        ? k_fn_abs_float8
                              : type == T::kNumeric ? k_fn_abs_numeric
                                                    : k_fn_abs_integer);
    abs.takes_types = is_integer(type);
    if (type == T::kNumeric) abs.result_type = unconstrained_numeric;
  }
  t->runtime("round", {T::kNumeric}, T::kNumeric, k_fn_round);
  t->runtime("round", {T::kNumeric, T::kInt4}, T::kNumeric, k_fn_round);
  t->runtime("trunc", {T::kNumeric}, T::kNumeric, k_fn_truncate);
  t->runtime("trunc", {T::kNumeric, T::kInt4}, T::kNumeric, k_fn_truncate);
  t->runtime("round", {T::kFloat8}, T::kFloat8, k_fn_round_float8);
  t->runtime("trunc", {T::kFloat8}, T::kFloat8, k_fn_trunc_float8);
  for (std::string_view name : {"ceil", "ceiling"}) {
    t->runtime(name, {T::kNumeric}, T::kNumeric, k_fn_ceil);
    t->runtime(name, {T::kFloat8}, T::kFloat8, k_fn_ceil_float8);
  }
  t->runtime("floor", {T::kNumeric}, T::kNumeric, k_fn_floor);
  t->runtime("floor", {T::kFloat8}, T::kFloat8, k_fn_floor_float8);
  t->runtime("sign", {T::kNumeric}, T::kNumeric, k_fn_sign);
  t->runtime("sqrt", {T::kNumeric}, T::kNumeric, k_fn_sqrt);
  t->runtime("sqrt", {T::kFloat8}, T::kFloat8, k_fn_sqrt_float8);
  t->runtime("div", {T::kNumeric, T::kNumeric}, T::kNumeric, k_fn_div);
  for (T type : {T::kInt2, T::kInt4, T::kInt8}) t->add("mod", {type, type}, type).op = BuiltinOp::kModulo;
  Builtin& mod = t->add("mod", {T::kNumeric, T::kNumeric}, T::kNumeric);
  mod.op = BuiltinOp::kModulo;
  mod.result_type = unconstrained_numeric;
}

void add_times_and_arrays(BuiltinTable* t) {
  for (std::string_view name : {"now", "transaction_timestamp", "statement_timestamp"})
    t->add(name, {}, T::kTimestamptz).op = BuiltinOp::kNow;
  t->runtime("extract", {T::kText, T::kDate}, T::kNumeric, k_fn_extract_date).may_return_null = true;
  t->runtime("extract", {T::kText, T::kTimestamp}, T::kNumeric, k_fn_extract_timestamp).may_return_null = true;
  t->runtime("date_trunc", {T::kText, T::kTimestamp}, T::kTimestamp, k_fn_date_trunc);
  t->runtime("array_length", {T::kArray, T::kInt4}, T::kInt4, k_fn_array_length).may_return_null = true;
  t->runtime("array_upper", {T::kArray, T::kInt4}, T::kInt4, k_fn_array_upper).may_return_null = true;
  t->runtime("array_lower", {T::kArray, T::kInt4}, T::kInt4, k_fn_array_lower).may_return_null = true;
  t->runtime("cardinality", {T::kArray}, T::kInt4, k_fn_cardinality);
  Builtin& append = t->runtime("array_append", {T::kArray, T::kUnknown}, T::kUnknown, k_fn_array_append);
  append.result_type = array_of_second;
  append.strict = false;
  append.takes_types = append.elements_meet = true;
  t->runtime("version", {}, T::kText, k_fn_version);
}

const BuiltinTable& builtin_table() {
  static const BuiltinTable* table = [] {
    auto* t = new BuiltinTable();
    add_operators(t);
    add_strings(t);
    add_output(t);
    add_numbers(t);
    add_times_and_arrays(t);
    add_text_functions(t);
    add_math_functions(t);
    add_time_functions(t);
    add_array_functions(t);
    add_sequence_functions(t);
    add_catalog_functions(t);
    add_zone_functions(t);
    add_binary_functions(t);
    add_jsonb_functions(t);
    add_jsonpath_functions(t);
    add_json_text_functions(t);
    add_network_functions(t);
    add_bit_functions(t);
    add_money_functions(t);
    add_timetz_functions(t);
    add_range_functions(t);
    add_text_search_functions(t);
    return t;
  }();
  return *table;
}

}  // namespace

std::vector<const Builtin*> find_builtins(std::string_view name) {
  const BuiltinTable& table = builtin_table();
  auto it = table.by_name.find(name);
  return it == table.by_name.end() ? std::vector<const Builtin*>() : it->second;
}

std::vector<std::string_view> builtin_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, builtins] : builtin_table().by_name) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_callable_name(std::string_view name) {
  static constexpr std::string_view kSyntax[] = {"ilike"};
  const bool is_word = !name.empty() && name.find(' ') == std::string_view::npos &&
                       (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
  return is_word && std::find(std::begin(kSyntax), std::end(kSyntax), name) == std::end(kSyntax);
}

}  // namespace scyper::query
