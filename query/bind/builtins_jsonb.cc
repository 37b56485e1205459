#include "bind/builtin_table.h"
#include "runtime/functions_jsonb.h"
#include "storage/json_text_type.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_json_records.cc
extern const ir::External k_fn_json_rows;
extern const ir::External k_fn_json_object;
extern const ir::External k_fn_json_array;

// runtime/functions_json.cc
extern const ir::External k_fn_to_json;
extern const ir::External k_fn_array_to_json;
extern const ir::External k_fn_json_row;
extern const ir::External k_fn_json_row_pretty;
extern const ir::External k_fn_json_build_object;
extern const ir::External k_fn_json_build_array;
extern const ir::External k_fn_json_build_array_of;
extern const ir::External k_fn_json_build_object_of;
extern const ir::External k_fn_json_agg;
extern const ir::External k_fn_json_pair;
extern const ir::External k_fn_json_of_pairs;

namespace {
void add_json_functions(BuiltinTable* t) {
  auto add = [&](std::string_view name, std::vector<T> parameters, const ir::External& function) -> Builtin& {
    Builtin& builtin = t->runtime(name, std::move(parameters), T::kText, function);
    builtin.takes_types = true;
    builtin.result_type = [](const std::vector<SqlType>&) { return json_text_type(); };
    return builtin;
  };
  add("to_json", {T::kUnknown}, k_fn_to_json);
  add("array_to_json", {T::kArray}, k_fn_to_json);
  add(" array_json", {T::kArray}, k_fn_to_json);  // of json_agg()
  add("array_to_json", {T::kArray, T::kBool}, k_fn_array_to_json);
  const std::pair<std::string_view, const ir::External&> lists[] = {{" json_row", k_fn_json_row},
                                                                    {" json_row_pretty", k_fn_json_row_pretty},
                                                                    {"json_build_object", k_fn_json_build_object},
                                                                    {"json_build_array", k_fn_json_build_array}};
  for (const auto& [name, function] : lists) {
    add(name, {}, function);
    Builtin& builtin = add(name, {T::kUnknown}, function);
    builtin.strict = false;
    builtin.variadic = true;
  }
  add(" variadic json_build_array", {T::kArray}, k_fn_json_build_array_of);
  add(" variadic json_build_object", {T::kArray}, k_fn_json_build_object_of);
  add(" json_agg", {T::kArray, T::kBool, T::kBool}, k_fn_json_agg);
  add(" json_pair", {T::kUnknown, T::kUnknown}, k_fn_json_pair).strict = false;
  add(" json_of_pairs", {T::kArray}, k_fn_json_of_pairs);
}
// Functions that replace parts of a document.
void add_changes(BuiltinTable* t) {
  t->runtime("jsonb_concat", {T::kJsonb, T::kJsonb}, T::kJsonb, k_fn_jsonb_concat);
  t->runtime("jsonb_delete", {T::kJsonb, T::kText}, T::kJsonb, k_fn_jsonb_delete_key);
  t->runtime("jsonb_delete", {T::kJsonb, T::kInt4}, T::kJsonb, k_fn_jsonb_delete_index);
  t->runtime("jsonb_delete", {T::kJsonb, T::kArray}, T::kJsonb, k_fn_jsonb_delete_keys);
  t->runtime("jsonb_delete_path", {T::kJsonb, T::kArray}, T::kJsonb, k_fn_jsonb_delete_path);
  t->runtime("jsonb_set", {T::kJsonb, T::kArray, T::kJsonb}, T::kJsonb, k_fn_jsonb_set);
  t->runtime("jsonb_set", {T::kJsonb, T::kArray, T::kJsonb, T::kBool}, T::kJsonb, k_fn_jsonb_set);
  t->runtime(" jsonb_assign", {T::kJsonb, T::kArray, T::kBool, T::kJsonb}, T::kJsonb, k_fn_jsonb_assign).strict = false;
  std::vector<T> lax = {T::kJsonb, T::kArray, T::kJsonb};
  for (T more : {T::kUnknown, T::kBool, T::kText}) {
    if (more != T::kUnknown) lax.push_back(more);
    Builtin& set_lax = t->runtime("jsonb_set_lax", lax, T::kJsonb, k_fn_jsonb_set_lax);
    set_lax.strict = false;
    set_lax.may_return_null = true;
  }
  t->runtime("jsonb_insert", {T::kJsonb, T::kArray, T::kJsonb}, T::kJsonb, k_fn_jsonb_insert);
  t->runtime("jsonb_insert", {T::kJsonb, T::kArray, T::kJsonb, T::kBool}, T::kJsonb, k_fn_jsonb_insert);
}
}  // namespace

namespace {
// The functions behind operators, which PostgreSQL lets call by name.
void add_named_operators(BuiltinTable* t) {
  t->runtime("jsonb_contains", {T::kJsonb, T::kJsonb}, T::kBool, k_fn_jsonb_contains);
  t->runtime("jsonb_contained", {T::kJsonb, T::kJsonb}, T::kBool, k_fn_jsonb_contained);
  t->runtime("jsonb_exists", {T::kJsonb, T::kText}, T::kBool, k_fn_jsonb_exists);
  t->runtime("jsonb_exists_any", {T::kJsonb, T::kArray}, T::kBool, k_fn_jsonb_exists_any);
  t->runtime("jsonb_exists_all", {T::kJsonb, T::kArray}, T::kBool, k_fn_jsonb_exists_all);
  t->runtime("jsonb_object_field", {T::kJsonb, T::kText}, T::kJsonb, k_fn_jsonb_field).may_return_null = true;
  t->runtime("jsonb_object_field_text", {T::kJsonb, T::kText}, T::kText, k_fn_jsonb_field_text).may_return_null = true;
  t->runtime("jsonb_array_element", {T::kJsonb, T::kInt4}, T::kJsonb, k_fn_jsonb_element).may_return_null = true;
  t->runtime("jsonb_array_element_text", {T::kJsonb, T::kInt4}, T::kText, k_fn_jsonb_element_text).may_return_null =
      true;
  for (bool object : {false, true})
    t->runtime(object ? " variadic jsonb_build_object" : " variadic jsonb_build_array", {T::kArray}, T::kJsonb,
               object ? k_fn_jsonb_build_object_of : k_fn_jsonb_build_array_of)
        .takes_types = true;
}
}  // namespace

void add_jsonb_functions(BuiltinTable* t) {
  add_named_operators(t);
  auto texts = [](const std::vector<SqlType>&) { return make_array(make_type(T::kText)); };
  auto documents = [](const std::vector<SqlType>&) { return make_array(make_type(T::kJsonb)); };
  auto nullable = [&](std::string_view name, T second, T result, const ir::External& function) {
    t->runtime(name, {T::kJsonb, second}, result, function).may_return_null = true;
  };
  nullable("->", T::kText, T::kJsonb, k_fn_jsonb_field);
  nullable("->", T::kInt4, T::kJsonb, k_fn_jsonb_element);
  nullable("->>", T::kText, T::kText, k_fn_jsonb_field_text);
  nullable("->>", T::kInt4, T::kText, k_fn_jsonb_element_text);
  nullable("#>", T::kArray, T::kJsonb, k_fn_jsonb_path);
  nullable("#>>", T::kArray, T::kText, k_fn_jsonb_path_text);
  for (bool text : {false, true}) {
    Builtin& extract =
        t->runtime(text ? "jsonb_extract_path_text" : "jsonb_extract_path", {T::kJsonb, T::kText},
                   text ? T::kText : T::kJsonb, text ? k_fn_jsonb_extract_path_text : k_fn_jsonb_extract_path);
    extract.variadic = true;
    extract.may_return_null = true;
  }
  for (T document : {T::kJsonb, T::kText}) {
    const auto same = [](const std::vector<SqlType>& types) { return types[0]; };
    t->runtime(" json_rows", {document, T::kText}, document, k_fn_json_rows).result_type = same;
    t->runtime(" json_object", {document, T::kText}, document, k_fn_json_object).result_type = same;
    t->runtime(" json_array", {document, T::kText}, document, k_fn_json_array).result_type = same;
  }
  t->runtime("@>", {T::kJsonb, T::kJsonb}, T::kBool, k_fn_jsonb_contains);
  t->runtime("<@", {T::kJsonb, T::kJsonb}, T::kBool, k_fn_jsonb_contained);
  t->runtime("?", {T::kJsonb, T::kText}, T::kBool, k_fn_jsonb_exists);
  t->runtime("?|", {T::kJsonb, T::kArray}, T::kBool, k_fn_jsonb_exists_any);
  t->runtime("?&", {T::kJsonb, T::kArray}, T::kBool, k_fn_jsonb_exists_all);
  t->runtime("||", {T::kJsonb, T::kJsonb}, T::kJsonb, k_fn_jsonb_concat);
  t->runtime("-", {T::kJsonb, T::kText}, T::kJsonb, k_fn_jsonb_delete_key);
  t->runtime("-", {T::kJsonb, T::kInt4}, T::kJsonb, k_fn_jsonb_delete_index);
  t->runtime("-", {T::kJsonb, T::kArray}, T::kJsonb, k_fn_jsonb_delete_keys);
  t->runtime("#-", {T::kJsonb, T::kArray}, T::kJsonb, k_fn_jsonb_delete_path);
  add_changes(t);
  t->runtime("jsonb_typeof", {T::kJsonb}, T::kText, k_fn_jsonb_typeof);
  t->runtime("jsonb_array_length", {T::kJsonb}, T::kInt4, k_fn_jsonb_array_length);
  t->runtime("jsonb_strip_nulls", {T::kJsonb}, T::kJsonb, k_fn_jsonb_strip_nulls);
  t->runtime("jsonb_pretty", {T::kJsonb}, T::kText, k_fn_jsonb_pretty);
  t->runtime("to_jsonb", {T::kUnknown}, T::kJsonb, k_fn_to_jsonb).takes_types = true;
  t->runtime("jsonb_build_array", {}, T::kJsonb, k_fn_jsonb_build_array).takes_types = true;
  t->runtime("jsonb_build_object", {}, T::kJsonb, k_fn_jsonb_build_object).takes_types = true;
  for (bool object : {false, true}) {
    Builtin& build = t->runtime(object ? "jsonb_build_object" : "jsonb_build_array", {T::kUnknown}, T::kJsonb,
                                object ? k_fn_jsonb_build_object : k_fn_jsonb_build_array);
    build.strict = false;
    build.variadic = true;
    build.takes_types = true;
  }
  t->runtime(" jsonb_elements", {T::kJsonb}, T::kArray, k_fn_jsonb_elements).result_type = documents;
  t->runtime(" jsonb_elements_text", {T::kJsonb}, T::kArray, k_fn_jsonb_elements_text).result_type = texts;
  t->runtime(" jsonb_keys", {T::kJsonb}, T::kArray, k_fn_jsonb_keys).result_type = texts;
  t->runtime(" jsonb_each_keys", {T::kJsonb}, T::kArray, k_fn_jsonb_each_keys).result_type = texts;
  t->runtime(" jsonb_each_text_keys", {T::kJsonb}, T::kArray, k_fn_jsonb_each_text_keys).result_type = texts;
  t->runtime(" jsonb_each_values", {T::kJsonb}, T::kArray, k_fn_jsonb_each_values).result_type = documents;
  t->runtime(" jsonb_each_text_values", {T::kJsonb}, T::kArray, k_fn_jsonb_each_text_values).result_type = texts;
  Builtin& pair = t->runtime(" jsonb_pair", {T::kUnknown, T::kUnknown}, T::kJsonb, k_fn_jsonb_pair);
  pair.strict = false;
  pair.takes_types = true;
  t->runtime(" jsonb_of_pairs", {T::kArray}, T::kJsonb, k_fn_jsonb_of_pairs);
  add_json_functions(t);
}

}  // namespace scyper::query
