#include <tuple>
#include <utility>

#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_setting.cc
extern const ir::External k_fn_current_setting;
extern const ir::External k_fn_set_config;
// runtime/functions_hash.cc
extern const ir::External k_fn_hashtext;
extern const ir::External k_fn_hashtextextended;
// runtime/functions_lock.cc
extern const ir::External k_fn_advisory_lock;
extern const ir::External k_fn_advisory_lock_shared;
extern const ir::External k_fn_try_advisory_lock;
extern const ir::External k_fn_try_advisory_lock_shared;
extern const ir::External k_fn_session_lock;
extern const ir::External k_fn_session_lock_shared;
extern const ir::External k_fn_try_session_lock;
extern const ir::External k_fn_try_session_lock_shared;
extern const ir::External k_fn_session_unlock;
extern const ir::External k_fn_session_unlock_shared;
extern const ir::External k_fn_session_unlock_all;
extern const ir::External k_fn_note_lock;
// runtime/functions_row_locks.cc
extern const ir::External k_fn_row_is_free;
extern const ir::External k_fn_lock_row;
extern const ir::External k_fn_row_is_settled;
extern const ir::External k_fn_lock_unnamed;
extern const ir::External k_fn_may_lock;
// runtime/functions_session.cc
extern const ir::External k_fn_txid_current;
extern const ir::External k_fn_sequence_on_path;
extern const ir::External k_fn_char_of_text;
extern const ir::External k_fn_char_of_integer;
extern const ir::External k_fn_integer_of_char;
extern const ir::External k_fn_pg_notify;
extern const ir::External k_fn_set_constraints;
extern const ir::External k_fn_sequence_value;
extern const ir::External k_fn_sequence_called;
extern const ir::External k_fn_sequence_last_value;
extern const ir::External k_fn_pg_backend_pid;
extern const ir::External k_fn_pg_trigger_depth;
extern const ir::External k_fn_pg_cancel_backend;
extern const ir::External k_fn_pg_terminate_backend;

namespace {
void add_setting_functions(BuiltinTable* t) {
  auto add = [&](std::string_view name, std::vector<T> parameters, T result, const ir::External& function) -> Builtin& {
    Builtin& builtin = t->runtime(name, std::move(parameters), result, function);
    builtin.is_volatile = true;
    builtin.writes = true;  // a snapshot knows nothing of sessions
    return builtin;
  };
  add("current_setting", {T::kText}, T::kText, k_fn_current_setting);
  add("current_setting", {T::kText, T::kBool}, T::kText, k_fn_current_setting).may_return_null = true;
  add("set_config", {T::kText, T::kText, T::kBool}, T::kText, k_fn_set_config).strict = false;
  add("txid_current", {}, T::kInt8, k_fn_txid_current);
  add("pg_backend_pid", {}, T::kInt4, k_fn_pg_backend_pid);
  add("pg_cancel_backend", {T::kInt4}, T::kBool, k_fn_pg_cancel_backend);
  add("pg_terminate_backend", {T::kInt4}, T::kBool, k_fn_pg_terminate_backend);
  t->runtime("pg_trigger_depth", {}, T::kInt4, k_fn_pg_trigger_depth).is_volatile = true;
  Builtin& notify = t->runtime("pg_notify", {T::kText, T::kText}, T::kVoid, k_fn_pg_notify);
  notify.is_volatile = true;
  notify.writes = true;
  notify.strict = false;
  for (std::vector<T> parameters : {std::vector<T>{T::kBool}, std::vector<T>{T::kBool, T::kText, T::kText}}) {
    const bool names_some = parameters.size() > 1;
    add(" set_constraints", std::move(parameters), T::kVoid, k_fn_set_constraints).variadic = names_some;
  }
}

// What calls them runs beside no other transaction (Binder::make_call()).
void add_lock_functions(BuiltinTable* t) {
  const std::tuple<std::string_view, T, const ir::External&> locks[] = {
      {"pg_advisory_xact_lock", T::kVoid, k_fn_advisory_lock},
      {"pg_advisory_xact_lock_shared", T::kVoid, k_fn_advisory_lock_shared},
      {"pg_try_advisory_xact_lock", T::kBool, k_fn_try_advisory_lock},
      {"pg_try_advisory_xact_lock_shared", T::kBool, k_fn_try_advisory_lock_shared},
      {"pg_advisory_lock", T::kVoid, k_fn_session_lock},
      {"pg_advisory_lock_shared", T::kVoid, k_fn_session_lock_shared},
      {"pg_try_advisory_lock", T::kBool, k_fn_try_session_lock},
      {"pg_try_advisory_lock_shared", T::kBool, k_fn_try_session_lock_shared},
      {"pg_advisory_unlock", T::kBool, k_fn_session_unlock},
      {"pg_advisory_unlock_shared", T::kBool, k_fn_session_unlock_shared}};
  auto add = [&](std::string_view name, std::vector<T> key, T result, const ir::External& function) {
    Builtin& builtin = t->runtime(name, std::move(key), result, function);
    builtin.is_volatile = true;
    builtin.writes = true;
  };
  for (const auto& [name, result, function] : locks)
    for (const std::vector<T>& key : {std::vector<T>{T::kInt8}, {T::kInt4, T::kInt4}}) add(name, key, result, function);
  add("pg_advisory_unlock_all", {}, T::kVoid, k_fn_session_unlock_all);
  add(" lock_advisory_all", {}, T::kVoid, k_fn_note_lock);  // LOCK TABLE
  // locking clauses (bind/locking.cc)
  for (const auto& [name, function] :
       {std::pair<std::string_view, const ir::External&>{" row_is_free", k_fn_row_is_free},
        {" lock_row", k_fn_lock_row}}) {
    Builtin& builtin = t->runtime(name, {T::kInt4, T::kInt4, T::kText, T::kUnknown}, T::kBool, function);
    builtin.is_volatile = builtin.writes = builtin.variadic = true;
    builtin.strict = false;
  }
  Builtin& settled = t->runtime(" row_is_settled", {T::kInt4, T::kUnknown}, T::kBool, k_fn_row_is_settled);
  settled.variadic = true;
  settled.strict = false;
  add(" lock_unnamed", {}, T::kBool, k_fn_lock_unnamed);
  t->runtime("scyper_may_lock", {T::kBool, T::kText, T::kInt8, T::kInt4, T::kBool}, T::kBool, k_fn_may_lock)
      .is_volatile = true;  // LOCK TABLE
  Builtin& visible = t->runtime(" visible_row", {T::kBool, T::kText}, T::kBool, k_fn_visible_row);
  visible.is_volatile = true;
  visible.strict = false;
  t->runtime("hashtext", {T::kText}, T::kInt4, k_fn_hashtext);
  t->runtime("hashtextextended", {T::kText, T::kInt8}, T::kInt8, k_fn_hashtextextended);
}
}  // namespace

void add_sequence_functions(BuiltinTable* t) {
  auto add = [&](std::string_view name, std::vector<T> parameters, const ir::External& function) -> Builtin& {
    Builtin& builtin = t->runtime(name, std::move(parameters), T::kInt8, function);
    builtin.is_volatile = true;
    builtin.writes = true;
    return builtin;
  };
  add("nextval", {T::kText}, k_fn_nextval);
  add(" nextval", {T::kInt4}, k_fn_nextval_of_id);  // defaults of columns: a sequence may be renamed
  t->runtime(" permitted sequence", {T::kText, T::kText}, T::kText, k_fn_permitted_sequence);
  add("setval", {T::kText, T::kInt8}, k_fn_setval);
  add("setval", {T::kText, T::kInt8, T::kBool}, k_fn_setval);
  add("currval", {T::kText}, k_fn_currval);
  add("lastval", {}, k_fn_lastval);
  add(" sequence value", {T::kInt4}, k_fn_sequence_value);
  add("pg_sequence_last_value", {T::kInt8}, k_fn_sequence_last_value).may_return_null = true;
  Builtin& called = t->runtime(" sequence called", {T::kInt4}, T::kBool, k_fn_sequence_called);
  called.is_volatile = called.writes = true;
  Builtin& on_path = t->runtime(" sequence on path", {T::kText, T::kText}, T::kText, k_fn_sequence_on_path);
  on_path.is_volatile = true;  // what the transaction has made counts
  add_setting_functions(t);
  add_lock_functions(t);
}

// What binder_object.cc makes of functions over objects: their first argument is what the catalog knows.
void add_catalog_functions(BuiltinTable* t) {
  for (const std::vector<T>& numbers :
       {std::vector<T>{T::kInt8}, {T::kInt8, T::kInt4}, {T::kInt8, T::kInt4, T::kInt4}}) {
    std::vector<T> parameters = {T::kText};
    parameters.insert(parameters.end(), numbers.begin(), numbers.end());
    t->runtime(" catalog text", parameters, T::kText, k_fn_catalog_text).may_return_null = true;
  }
  t->runtime(" catalog form", {T::kText, T::kText}, T::kText, k_fn_catalog_form);
  t->runtime(" object name", {T::kText, T::kInt8}, T::kText, k_fn_object_name);
  t->runtime(" object number", {T::kText, T::kText, T::kInt4, T::kInt4}, T::kInt8, k_fn_object_number).may_return_null =
      true;
  Builtin& format = t->runtime(" format type", {T::kText, T::kInt8, T::kInt4}, T::kText, k_fn_format_type);
  format.strict = false;
  format.may_return_null = true;
  t->runtime(" char of text", {T::kText}, T::kText, k_fn_char_of_text);
  t->runtime(" char of integer", {T::kInt4}, T::kText, k_fn_char_of_integer);
  t->runtime(" integer of char", {T::kText}, T::kInt4, k_fn_integer_of_char);
  t->runtime("pg_size_pretty", {T::kInt8}, T::kText, k_fn_size_pretty);
}

}  // namespace scyper::query
