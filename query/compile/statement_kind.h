#pragma once

#include "parse/ast.h"
#include "query/database.h"

namespace scyper::query {

// How a statement runs.
Prepared::Kind kind_of(const ast::Statement& statement);

// EXPLAIN ANALYZE runs its statement.
bool is_analysis(const ast::Statement& statement);

// What is no statement of a session's here, by its name; null: it is one.
const char* refused_command(ast::StatementKind kind);

// The error of a statement that is not there, with a hint what to do instead. position: of it in its text; 0: unknown.
Status refuse(const ast::UnsupportedStatement& statement, int position = 0);

// Has it a WITH with INSERT, UPDATE or DELETE?
bool changes_data(const ast::SelectStatement& select);

// SELECT, WITH, VALUES, EXPLAIN, SHOW, COPY ... TO STDOUT: a statement that asks for rows and changes nothing.
bool asks_for_rows(const ast::Statement& statement);

// Statements that EXECUTE of a routine compiles to a program; it does others itself.
bool runs_dynamically(ast::StatementKind kind);

}  // namespace scyper::query
