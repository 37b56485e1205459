#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// PostgreSQL's functions that read and write the values of types: tools look for them in pg_type and pg_proc. Here
// nothing calls them.
namespace scyper::query {

// Their names are the prefix with in, out, recv and send; 0: PostgreSQL has none.
struct TypeFunctions {
  std::string_view type;
  std::string_view prefix;
  int64_t in, out, receive, send;
};

// Of a type of pg_catalog by its name, of its values' kind for others: "array", "enum", "domain". nullptr: unknown.
const TypeFunctions* find_type_functions(std::string_view type);

struct TypeFunction {
  int64_t oid;
  std::string name;
  std::vector<int64_t> arguments;
  int64_t result;
};
const std::vector<TypeFunction>& all_type_functions();

constexpr int64_t kArraySubscriptOid = 6179;

}  // namespace scyper::query
