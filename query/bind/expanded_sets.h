#pragma once

#include <string>
#include <string_view>

#include "parse/ast.h"
#include "query/catalog.h"

// Fields of set-returning functions in a select list: (f(x)).n, and information_schema._pg_expandarray(), whose rows
// are read by their fields alone. They become functions in FROM. So does a set-returning function that is an argument
// of another one, where nothing beside them is computed: f(g(x)).
namespace scyper::query {

using IsSetFunction = bool (*)(std::string_view name);

// The select list asks for such a field.
bool has_expanded_sets(const ast::SelectStatement& select, const Catalog& catalog, IsSetFunction is_set);
// The same query with the functions in FROM, as text.
std::string with_expanded_sets(const ast::SelectStatement& select, const Catalog& catalog, IsSetFunction is_set);
// What _pg_expandarray() gives, as a query; empty: another function.
std::string expand_array_query(const ast::FunctionCall& call);
// The column that a field of _pg_expandarray() is, where its call is a column of a subquery.
std::string expanded_column(const std::string& column, const std::string& field);

}  // namespace scyper::query
