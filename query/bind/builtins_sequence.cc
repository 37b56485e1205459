#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

void add_sequence_functions(BuiltinTable* t) {
  auto add = [&](std::string_view name, std::vector<T> parameters, const ir::External& function) {
    Builtin& builtin = t->runtime(name, std::move(parameters), T::kInt8, function);
    builtin.is_volatile = true;
    builtin.writes = true;
  };
  add("nextval", {T::kText}, k_fn_nextval);
  add(" nextval", {T::kInt4}, k_fn_nextval_of_id);  // defaults of columns: a sequence may be renamed
  add("setval", {T::kText, T::kInt8}, k_fn_setval);
  add("setval", {T::kText, T::kInt8, T::kBool}, k_fn_setval);
  add("currval", {T::kText}, k_fn_currval);
  add("lastval", {}, k_fn_lastval);
}

}  // namespace scyper::query
