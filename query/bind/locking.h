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

// Are the rows of the query rows of tables?
Status check_locking(const ast::SelectStatement& select, const BoundQuery& query);
// Rows that an outer join adds NULLs for are not there to be locked. A condition may make it an inner join.
using LocatedError = std::function<Status(std::string_view sqlstate, std::string_view message, int32_t location)>;
Status check_locked_sides(const ast::SelectStatement& select, const Scope& scope, const LocatedError& error);

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
