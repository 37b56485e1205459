#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bind/bound.h"
#include "bind/scope.h"
#include "parse/ast.h"
#include "query/catalog.h"

// Names of the fields of a relation's rows. A row of a table, a view or a function of a named type keeps the names of
// its type, whatever names the alias gives to the columns: row_to_json(t) of `tab AS t(a, b)` shows the names of `tab`.
// Rows of all other relations are of type record, whose fields have the names of the alias.
namespace scyper::query {

// The nearest relation of that name; nullptr: there is none.
const Relation* relation_of_name(std::string_view name, const Scope* scope, bool* nullable);
// The relation whose row an expression, which has been bound to a row, is by its name alone: its fields are selected by
// the names of the alias. nullptr: another row.
const Relation* relation_of_row(const ast::Expr& expr, const Scope* scope);

// Names the outputs of a relation that is a query: its rows' fields.
void name_outputs(const std::vector<std::string>& names, Relation* relation);

// Of the visible columns, as the statement calls them.
std::vector<std::string> column_names(const Relation& relation);
// The same of the row that the relation's name stands for.
std::vector<std::string> row_names(const Relation& relation, const Catalog& catalog);

}  // namespace scyper::query
