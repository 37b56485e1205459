#pragma once

#include <string>

#include "runtime/functions.h"
#include "storage/type.h"

// Builtin functions of jsonb, as those of functions.h.
namespace scyper::query {

// clang-format off: it does not come to rest on this list
#define SCYPER_JSONB_FUNCTIONS(X) \
  X(jsonb_field) X(jsonb_field_text) X(jsonb_element) X(jsonb_element_text) X(jsonb_path) X(jsonb_path_text) \
  X(jsonb_contains) X(jsonb_contained) X(jsonb_exists) X(jsonb_exists_any) X(jsonb_exists_all) X(jsonb_concat) \
  X(jsonb_delete_key) X(jsonb_delete_keys) X(jsonb_delete_index) X(jsonb_delete_path) X(jsonb_set) X(jsonb_set_lax) X(jsonb_assign) X(jsonb_insert) \
  X(jsonb_typeof) X(jsonb_array_length) X(jsonb_strip_nulls) X(jsonb_pretty) X(to_jsonb) X(jsonb_build_array) \
  X(jsonb_build_object) X(jsonb_build_array_of) X(jsonb_build_object_of) X(jsonb_elements) X(jsonb_elements_text) X(jsonb_keys) X(jsonb_each_keys) \
  X(jsonb_each_text_keys) X(jsonb_each_values) X(jsonb_each_text_values) X(jsonb_pair) X(jsonb_of_pairs) \
  X(jsonb_extract_path) X(jsonb_extract_path_text)
// clang-format on

#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_JSONB_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION
extern const ir::External k_rt_compare_jsonb;  // text, size, text, size -> <0, 0, >0

// What a document says for a value that is neither a number, a boolean, an array nor a document.
std::string json_scalar_text(const SqlType& type, const Datum& value);

}  // namespace scyper::query
