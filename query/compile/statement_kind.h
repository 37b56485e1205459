#pragma once

#include <string_view>

#include "base/status.h"
#include "parse/ast.h"
#include "query/database.h"

namespace scyper::query {

// How a statement runs.
Prepared::Kind kind_of(const ast::Statement& statement);

// EXPLAIN ANALYZE runs its statement.
bool is_analysis(const ast::Statement& statement);

// What is no statement of a session's here, by its name; null: it is one.
const char* refused_command(ast::StatementKind kind);

// 0A000, with what a user does instead where there is something. position: in the text; 0: none.
Status unsupported_command(std::string_view command, int position);

// Has it a WITH with INSERT, UPDATE or DELETE?
bool changes_data(const ast::SelectStatement& select);

// SELECT, WITH, VALUES, EXPLAIN, SHOW, COPY ... TO STDOUT: a statement that asks for rows and changes nothing.
bool asks_for_rows(const ast::Statement& statement);

// Statements that EXECUTE of a routine compiles to a program; it does others itself.
bool runs_dynamically(ast::StatementKind kind);

}  // namespace scyper::query
