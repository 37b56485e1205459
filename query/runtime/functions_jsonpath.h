#pragma once

#include "ir/ir.h"

// Functions and operators of jsonpath. bind/builtins_jsonpath.cc lists them.
namespace scyper::query {

extern const ir::External k_fn_jsonb_path_operator_exists;
extern const ir::External k_fn_jsonb_path_operator_match;
extern const ir::External k_fn_jsonb_path_exists;
extern const ir::External k_fn_jsonb_path_match;
extern const ir::External k_fn_jsonb_path_query;
extern const ir::External k_fn_jsonb_path_query_array;
extern const ir::External k_fn_jsonb_path_query_first;
extern const ir::External k_fn_jsonb_path_exists_tz;
extern const ir::External k_fn_jsonb_path_match_tz;
extern const ir::External k_fn_jsonb_path_query_tz;
extern const ir::External k_fn_jsonb_path_query_array_tz;
extern const ir::External k_fn_jsonb_path_query_first_tz;

}  // namespace scyper::query
