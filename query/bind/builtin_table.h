#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind/builtins.h"
#include "runtime/functions.h"

namespace scyper::query {

inline SqlType unconstrained_numeric(const std::vector<SqlType>&) { return make_numeric(0, 0); }

// All builtins, while they are listed.
struct BuiltinTable {
  std::unordered_map<std::string_view, std::vector<const Builtin*>> by_name;
  std::vector<std::unique_ptr<Builtin>> all;

  Builtin& add(std::string_view name, std::vector<TypeId> parameters, TypeId result) {
    all.push_back(std::make_unique<Builtin>());
    Builtin& builtin = *all.back();
    builtin.name = name;
    builtin.parameters = std::move(parameters);
    builtin.result = result;
    by_name[name].push_back(&builtin);
    return builtin;
  }
  Builtin& runtime(std::string_view name, std::vector<TypeId> parameters, TypeId result, const ir::External& function) {
    Builtin& builtin = add(name, std::move(parameters), result);
    builtin.runtime = &function;
    if (result == TypeId::kNumeric) builtin.result_type = unconstrained_numeric;
    return builtin;
  }
};

// By subject, each in a file of its own.
void add_text_functions(BuiltinTable* t);
void add_math_functions(BuiltinTable* t);
void add_time_functions(BuiltinTable* t);
void add_array_functions(BuiltinTable* t);
void add_sequence_functions(BuiltinTable* t);
void add_catalog_functions(BuiltinTable* t);
void add_zone_functions(BuiltinTable* t);
void add_binary_functions(BuiltinTable* t);
void add_jsonb_functions(BuiltinTable* t);
void add_jsonpath_functions(BuiltinTable* t);
void add_json_text_functions(BuiltinTable* t);
void add_network_functions(BuiltinTable* t);
void add_bit_functions(BuiltinTable* t);
void add_money_functions(BuiltinTable* t);
void add_timetz_functions(BuiltinTable* t);
void add_range_functions(BuiltinTable* t);
void add_text_search_functions(BuiltinTable* t);

}  // namespace scyper::query
