#include "bind/builtin_table.h"

namespace scyper::query {

// runtime/functions_names.cc
extern const ir::External k_fn_parse_ident;
extern const ir::External k_fn_size_bytes;
// runtime/functions_text.cc
extern const ir::External k_fn_num_nulls_of;
extern const ir::External k_fn_num_nonnulls_of;
extern const ir::External k_fn_concat_of;
extern const ir::External k_fn_concat_ws_of;
extern const ir::External k_fn_format_of;

namespace {

using T = TypeId;

void add_regex(BuiltinTable* t) {
  const std::pair<std::string_view, const ir::External&> operators[] = {{"~", k_fn_regex_matches},
                                                                        {"!~", k_fn_regex_matches_not},
                                                                        {"~*", k_fn_regex_imatches},
                                                                        {"!~*", k_fn_regex_imatches_not}};
  for (T text : {T::kText, T::kChar}) {  // char(n) with its padding
    for (const auto& [name, function] : operators) t->runtime(name, {text, T::kText}, T::kBool, function);
    t->runtime("similar to", {text, T::kText}, T::kBool, k_fn_similar_to);
    t->runtime("similar to", {text, T::kText, T::kText}, T::kBool, k_fn_similar_to);
  }
  for (std::string_view name : {"similar_to_escape", "similar_escape"}) {
    t->runtime(name, {T::kText}, T::kText, k_fn_similar_escape);
    t->runtime(name, {T::kText, T::kText}, T::kText, k_fn_similar_escape);
  }
  t->runtime("pg_size_bytes", {T::kText}, T::kInt8, k_fn_size_bytes);
  const auto texts = [](const std::vector<SqlType>&) { return make_array(make_type(T::kText)); };
  t->runtime("parse_ident", {T::kText}, T::kArray, k_fn_parse_ident).result_type = texts;
  t->runtime("parse_ident", {T::kText, T::kBool}, T::kArray, k_fn_parse_ident).result_type = texts;
  t->runtime("regexp_like", {T::kText, T::kText}, T::kBool, k_fn_regexp_like);
  t->runtime("regexp_like", {T::kText, T::kText, T::kText}, T::kBool, k_fn_regexp_like);
  auto add = [&](std::string_view name, std::vector<std::vector<T>> more, T result, const ir::External& function,
                 std::vector<T> base) {
    for (auto& parameters : more) {
      std::vector<T> all = base;
      all.insert(all.end(), parameters.begin(), parameters.end());
      Builtin& builtin = t->runtime(name, all, result, function);
      builtin.may_return_null = true;
      builtin.takes_types = true;
      if (result == T::kArray)
        builtin.result_type = [](const std::vector<SqlType>&) { return make_array(make_type(T::kText)); };
    }
  };
  const std::vector<T> pair = {T::kText, T::kText};
  add("regexp_match", {{}, {T::kText}}, T::kArray, k_fn_regexp_match, pair);
  add(" regexp_matches", {{}, {T::kText}}, T::kArray, k_fn_regexp_matches, pair);
  add("regexp_split_to_array", {{}, {T::kText}}, T::kArray, k_fn_regexp_split_to_array, pair);
  add("regexp_substr",
      {{}, {T::kInt4}, {T::kInt4, T::kInt4}, {T::kInt4, T::kInt4, T::kText}, {T::kInt4, T::kInt4, T::kText, T::kInt4}},
      T::kText, k_fn_regexp_substr, pair);
  add("regexp_count", {{}, {T::kInt4}, {T::kInt4, T::kText}}, T::kInt4, k_fn_regexp_count, pair);
  add("regexp_instr",
      {{},
       {T::kInt4},
       {T::kInt4, T::kInt4},
       {T::kInt4, T::kInt4, T::kInt4},
       {T::kInt4, T::kInt4, T::kInt4, T::kText},
       {T::kInt4, T::kInt4, T::kInt4, T::kText, T::kInt4}},
      T::kInt4, k_fn_regexp_instr, pair);
  add("regexp_replace",
      {{T::kText},
       {T::kText, T::kText},
       {T::kText, T::kInt4},
       {T::kText, T::kInt4, T::kInt4},
       {T::kText, T::kInt4, T::kInt4, T::kText}},
      T::kText, k_fn_regexp_replace, pair);
  add("substring", {{}}, T::kText, k_fn_substring_regex, pair);
  add("substring", {{T::kText}}, T::kText, k_fn_substring_similar, pair);
}

}  // namespace

void add_text_functions(BuiltinTable* t) {
  t->runtime("bit_length", {T::kText}, T::kInt4, k_fn_bit_length);
  t->runtime("initcap", {T::kText}, T::kText, k_fn_initcap);
  t->runtime("overlay", {T::kText, T::kText, T::kInt4}, T::kText, k_fn_overlay);
  t->runtime("overlay", {T::kText, T::kText, T::kInt4, T::kInt4}, T::kText, k_fn_overlay);
  t->runtime("translate", {T::kText, T::kText, T::kText}, T::kText, k_fn_translate);
  t->runtime("to_hex", {T::kInt4}, T::kText, k_fn_to_hex4);
  t->runtime("to_hex", {T::kInt8}, T::kText, k_fn_to_hex8);
  t->runtime("md5", {T::kText}, T::kText, k_fn_md5);
  t->runtime("^@", {T::kText, T::kText}, T::kBool, k_fn_starts_with);
  t->runtime("quote_ident", {T::kText}, T::kText, k_fn_quote_ident);
  t->runtime("quote_literal", {T::kUnknown}, T::kText, k_fn_quote_literal).takes_types = true;
  Builtin& nullable = t->runtime("quote_nullable", {T::kUnknown}, T::kText, k_fn_quote_nullable);
  nullable.strict = false;
  nullable.takes_types = true;
  Builtin& type_of = t->runtime("pg_typeof", {T::kUnknown}, T::kText, k_fn_type_of);
  type_of.takes_types = true;
  type_of.strict = false;
  for (std::string_view name : {"num_nulls", "num_nonnulls"}) {
    Builtin& builtin =
        t->runtime(name, {T::kUnknown}, T::kInt4, name == "num_nulls" ? k_fn_num_nulls : k_fn_num_nonnulls);
    builtin.strict = false;
    builtin.variadic = true;
  }
  Builtin& format = t->runtime("format", {T::kText, T::kUnknown}, T::kText, k_fn_format);
  format.strict = false;
  format.variadic = true;
  t->runtime(" variadic num_nulls", {T::kArray}, T::kInt4, k_fn_num_nulls_of).takes_types = true;
  t->runtime(" variadic num_nonnulls", {T::kArray}, T::kInt4, k_fn_num_nonnulls_of).takes_types = true;
  t->runtime(" variadic concat", {T::kArray}, T::kText, k_fn_concat_of).takes_types = true;
  t->runtime(" variadic concat_ws", {T::kText, T::kArray}, T::kText, k_fn_concat_ws_of).takes_types = true;
  Builtin& format_of = t->runtime(" variadic format", {T::kText, T::kArray}, T::kText, k_fn_format_of);
  format_of.strict = false;
  format_of.takes_types = true;
  format.takes_types = true;
  for (T type : {T::kInt4, T::kInt8, T::kNumeric, T::kFloat4, T::kFloat8})
    t->runtime("to_char", {type, T::kText}, T::kText, k_fn_to_char_number).takes_types = true;
  Builtin& any = t->runtime(" match any", {T::kText, T::kArray, T::kInt4, T::kBool}, T::kBool, k_fn_match_any);
  any.strict = false;
  any.may_return_null = true;
  t->runtime("to_number", {T::kText, T::kText}, T::kNumeric, k_fn_to_number).may_return_null = true;
  add_regex(t);
}

}  // namespace scyper::query
