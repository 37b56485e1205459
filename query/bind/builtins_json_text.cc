#include "bind/builtin_table.h"
#include "runtime/functions_json_text.h"
#include "storage/json_text_type.h"

namespace scyper::query {

using T = TypeId;

namespace {

SqlType json_result(const std::vector<SqlType>&) { return json_text_type(); }
SqlType jsons_result(const std::vector<SqlType>&) { return make_array(json_text_type()); }
SqlType texts_result(const std::vector<SqlType>&) { return make_array(make_type(T::kText)); }

void add_parts(BuiltinTable* t) {
  struct Part {
    std::string_view name;
    T second;
    bool is_text;
    const ir::External& function;
  };
  const Part parts[] = {
      {" json->", T::kText, false, k_fn_json_field},      {" json->", T::kInt4, false, k_fn_json_element},
      {" json->>", T::kText, true, k_fn_json_field_text}, {" json->>", T::kInt4, true, k_fn_json_element_text},
      {" json#>", T::kArray, false, k_fn_json_path},      {" json#>>", T::kArray, true, k_fn_json_path_text},
  };
  for (const auto& [name, second, is_text, function] : parts) {
    Builtin& part = t->runtime(name, {T::kText, second}, T::kText, function);
    part.may_return_null = true;
    if (!is_text) part.result_type = json_result;
  }
  for (bool is_text : {false, true}) {
    Builtin& extract = t->runtime(is_text ? "json_extract_path_text" : "json_extract_path", {T::kText, T::kText},
                                  T::kText, is_text ? k_fn_json_extract_path_text : k_fn_json_extract_path);
    extract.variadic = true;
    extract.may_return_null = true;
    if (!is_text) extract.result_type = json_result;
  }
}

}  // namespace

// Their documents are of type json (Binder::fits_marks); the names that begin with a blank are the binder's own.
void add_json_text_functions(BuiltinTable* t) {
  add_parts(t);
  t->runtime("json_array_length", {T::kText}, T::kInt4, k_fn_json_array_length);
  t->runtime("json_typeof", {T::kText}, T::kText, k_fn_json_typeof);
  t->runtime("json_strip_nulls", {T::kText}, T::kText, k_fn_json_strip_nulls).result_type = json_result;
  t->runtime(" json_elements", {T::kText}, T::kArray, k_fn_json_elements).result_type = jsons_result;
  t->runtime(" json_elements_text", {T::kText}, T::kArray, k_fn_json_elements_text).result_type = texts_result;
  t->runtime(" json_keys", {T::kText}, T::kArray, k_fn_json_keys).result_type = texts_result;
  t->runtime(" json_each_keys", {T::kText}, T::kArray, k_fn_json_each_keys).result_type = texts_result;
  t->runtime(" json_each_text_keys", {T::kText}, T::kArray, k_fn_json_each_text_keys).result_type = texts_result;
  t->runtime(" json_each_values", {T::kText}, T::kArray, k_fn_json_each_values).result_type = jsons_result;
  t->runtime(" json_each_text_values", {T::kText}, T::kArray, k_fn_json_each_text_values).result_type = texts_result;
  t->runtime("json_object", {T::kArray}, T::kText, k_fn_json_object_of_texts).result_type = json_result;
  t->runtime("json_object", {T::kArray, T::kArray}, T::kText, k_fn_json_object_of_texts).result_type = json_result;
  t->runtime("jsonb_object", {T::kArray}, T::kJsonb, k_fn_jsonb_object_of_texts);
  t->runtime("jsonb_object", {T::kArray, T::kArray}, T::kJsonb, k_fn_jsonb_object_of_texts);
}

}  // namespace scyper::query
