#pragma once

#include "ir/ir.h"

// Functions that look into documents of type json. bind/builtins_json_text.cc lists them.
namespace scyper::query {

extern const ir::External k_fn_json_field;
extern const ir::External k_fn_json_field_text;
extern const ir::External k_fn_json_element;
extern const ir::External k_fn_json_element_text;
extern const ir::External k_fn_json_path;
extern const ir::External k_fn_json_path_text;
extern const ir::External k_fn_json_extract_path;
extern const ir::External k_fn_json_extract_path_text;
extern const ir::External k_fn_json_array_length;
extern const ir::External k_fn_json_typeof;
extern const ir::External k_fn_json_strip_nulls;
extern const ir::External k_fn_json_elements;
extern const ir::External k_fn_json_elements_text;
extern const ir::External k_fn_json_keys;
extern const ir::External k_fn_json_each_keys;
extern const ir::External k_fn_json_each_text_keys;
extern const ir::External k_fn_json_each_values;
extern const ir::External k_fn_json_each_text_values;
extern const ir::External k_fn_json_object_of_texts;
extern const ir::External k_fn_jsonb_object_of_texts;

}  // namespace scyper::query
