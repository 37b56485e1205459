#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bind/system_tables.h"

// What PostgreSQL's catalogs say of types, functions, operators, casts and operator classes that are there from the
// beginning: data of PostgreSQL 15 (builtin_*.inc), as far as it is here, too. Tables of many rows are queries over
// lines of text, so a statement that reads some columns of them splits those alone.
namespace scyper::query {

// The lines of a table of that name ("operators"), one after the other; nullopt: there is none.
std::optional<std::string_view> builtin_lines(std::string_view name);

// pg_type.
const std::vector<SystemRow>& builtin_type_rows();
// Functions by number: their names, and with the types of their arguments.
struct BuiltinFunction {
  int64_t oid;
  std::string name;
  std::vector<int64_t> arguments;
};
const std::vector<BuiltinFunction>& builtin_functions();
// The class by which a btree index orders values of the type with that number; 0: there is none.
int64_t builtin_operator_class(int64_t type);
// Tables of pg_catalog.
std::vector<SystemTable> builtin_tables();
// What a call of a function in FROM stands for: pg_get_keywords(). Empty: another function.
std::string_view builtin_function_query(std::string_view name);

// What a call with these arguments stands for: pg_client_encoding() and its kin. Empty: another function.
bool is_builtin_call_text(std::string_view name);
std::string builtin_call_text(std::string_view name, const std::vector<std::string>& arguments);

}  // namespace scyper::query
