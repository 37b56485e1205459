#pragma once

#include <string>

#include "parse/ast.h"
#include "query/catalog.h"

// Fields of set-returning functions in a select list: (f(x)).n, and information_schema._pg_expandarray(), whose rows
// are read by their fields alone. They become functions in FROM.
namespace scyper::query {

// The select list asks for such a field.
bool has_expanded_sets(const ast::SelectStatement& select, const Catalog& catalog);
// The same query with the functions in FROM, as text.
std::string with_expanded_sets(const ast::SelectStatement& select, const Catalog& catalog);
// What _pg_expandarray() gives, as a query; empty: another function.
std::string expand_array_query(const ast::FunctionCall& call);
// The column that a field of _pg_expandarray() is, where its call is a column of a subquery.
std::string expanded_column(const std::string& column, const std::string& field);

}  // namespace scyper::query
