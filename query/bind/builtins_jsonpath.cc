#include "bind/builtin_table.h"
#include "runtime/functions_jsonpath.h"

namespace scyper::query {

using T = TypeId;

// The path is of type jsonpath (Binder::coerce_path); the names that begin with a blank give arrays of rows.
void add_jsonpath_functions(BuiltinTable* t) {
  t->runtime("@?", {T::kJsonb, T::kText}, T::kBool, k_fn_jsonb_path_operator_exists).may_return_null = true;
  t->runtime("@@", {T::kJsonb, T::kText}, T::kBool, k_fn_jsonb_path_operator_match).may_return_null = true;
  struct PathFunction {
    std::string_view name;
    T result;
    const ir::External& function;
  };
  const PathFunction functions[] = {
      {"jsonb_path_exists", T::kBool, k_fn_jsonb_path_exists},
      {"jsonb_path_match", T::kBool, k_fn_jsonb_path_match},
      {" jsonb_path_query", T::kArray, k_fn_jsonb_path_query},
      {"jsonb_path_query_array", T::kJsonb, k_fn_jsonb_path_query_array},
      {"jsonb_path_query_first", T::kJsonb, k_fn_jsonb_path_query_first},
      {"jsonb_path_exists_tz", T::kBool, k_fn_jsonb_path_exists_tz},
      {"jsonb_path_match_tz", T::kBool, k_fn_jsonb_path_match_tz},
      {" jsonb_path_query_tz", T::kArray, k_fn_jsonb_path_query_tz},
      {"jsonb_path_query_array_tz", T::kJsonb, k_fn_jsonb_path_query_array_tz},
      {"jsonb_path_query_first_tz", T::kJsonb, k_fn_jsonb_path_query_first_tz},
  };
  for (const auto& [name, result, function] : functions) {
    std::vector<T> parameters = {T::kJsonb, T::kText};
    for (T more : {T::kUnknown, T::kJsonb, T::kBool}) {
      if (more != T::kUnknown) parameters.push_back(more);
      Builtin& builtin = t->runtime(name, parameters, result, function);
      builtin.may_return_null = true;
      if (result != T::kArray) continue;
      builtin.result_type = [](const std::vector<SqlType>&) { return make_array(make_type(T::kJsonb)); };
    }
  }
}

}  // namespace scyper::query
