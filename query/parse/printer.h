#pragma once

#include <string>

#include "parse/ast.h"

namespace scyper::query {

// Trees back to SQL, fully bracketed, on one line: for tests, EXPLAIN and messages. Parsing the text again gives the
// same tree but for locations. Statements other than SELECT, INSERT, UPDATE, DELETE, MERGE, CREATE TABLE/INDEX/VIEW and
// CALL print as their name in angle brackets.
std::string to_sql(const ast::Expr& expr);
std::string to_sql(const ast::Statement& statement);
std::string to_sql(const ast::TypeName& type);

// "name", with quotes where PostgreSQL needs them.
std::string quote_identifier(const std::string& name);
std::string quote_literal(const std::string& text);

}  // namespace scyper::query
