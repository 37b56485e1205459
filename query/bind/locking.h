#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bind/binder.h"
#include "parse/ast.h"

// FOR UPDATE and its kin: what they may stand with, and how a query locks its rows (Binder::lock_rows()).
namespace scyper::query {

// Are the rows of the query rows of tables? Rows that an outer join adds NULLs for are not there to be locked.
Status check_locking(const ast::SelectStatement& select, const BoundQuery& query);
// The select list has functions that return rows.
Status refuse_sets(const ast::SelectStatement& select);
// Do the names behind OF mean tables, views or subqueries?
using LocatedError = std::function<Status(std::string_view sqlstate, std::string_view message, int32_t location)>;
Status check_locked_names(const ast::SelectStatement& select, const Scope& scope, const LocatedError& error);

// How the clauses of a query lock a relation's rows; none: they do not mean it. As long as the query's tree.
CodeOfRelation codes_of(const ast::SelectStatement& select);

// A row that refers to the key counts when nobody is about to remove it: the last condition of the check's query asks
// for that. It repeats the others, because it must only look at rows that fulfil them.
void wait_for_referencing(const storage::TableSchema& child, BoundExpr* check);

// Conditions of a query on a subquery that locks its rows go into the subquery, as in PostgreSQL: rows that do not
// fulfil them are not locked.
void push_into_locking(BoundQuery* query);

// The tables and views whose rows a query's clauses lock, also those below its subqueries: each wants UPDATE.
std::vector<const ast::TableRef*> locked_refs(const ast::SelectStatement& select);

// The relation of a query that locks rows: its own rows before they are locked. Behind its columns stands what
// identifies the rows of the locked tables. No name that a query gives has a space first.
constexpr const char* kLockedRows = " locked";
inline bool locks_its_rows(const BoundQuery& query) {
  return query.from.size() == 1 && query.from[0].relation->alias == kLockedRows;
}
// The name of the first column of a table's identity among a query's columns. The others are called "\001".
std::string identity_name(const storage::Table& table);

}  // namespace scyper::query
