#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "parse/plpgsql_ast.h"
#include "parse/sql_parser.h"

namespace scyper::query {

// Deepest nesting of PL/pgSQL statements; the expressions in them have kMaxDepth (sql_parser.h) of their own.
constexpr int kMaxBlockDepth = 250;

// A PL/pgSQL body (the text between the quotes of CREATE PROCEDURE, CREATE FUNCTION or DO) to its tree. Names of
// variables are not resolved; labels are, and condition names. Errors as parse_sql, positions in characters of `body`
// from 1; 42704 for an unknown condition name.
StatusOr<std::unique_ptr<plpgsql::Body>> parse_plpgsql(std::string_view body, TextOf whose = TextOf::kUser);

// Moves an error's position from a body to the statement that holds it: `body_location` of CreateRoutineStatement or
// DoStatement. Without a known place (-1) the position is dropped.
Status move_error_to_source(const Status& error, std::string_view source, ast::Location body_location);

}  // namespace scyper::query
