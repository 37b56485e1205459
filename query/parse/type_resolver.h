#pragma once

#include "base/status.h"
#include "parse/ast_node.h"
#include "storage/type.h"

namespace scyper::query {

// The SqlType that a type name means: int2 .. int8, smallint .. bigint, bool, numeric, decimal, float8, double
// precision, char, bpchar, varchar, text, date, timestamp, record, void, their one-dimensional arrays, and PostgreSQL's
// other spellings of them. A type that PostgreSQL has and we do not: 0A000 by name. An unknown one: 42704 `type "x"
// does not exist`. Modifiers are checked as PostgreSQL does (22023). %TYPE and %ROWTYPE are the caller's. `setof` is
// ignored. `text`: the source, for the position of errors ("" = none).
StatusOr<SqlType> resolve_type(const ast::TypeName& type, std::string_view text);

// "character varying(10)": the name as written, for messages.
std::string to_string(const ast::TypeName& type);

}  // namespace scyper::query
