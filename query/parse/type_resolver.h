#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "parse/ast_node.h"
#include "query/domain.h"
#include "storage/type.h"

namespace scyper::query {

// The SqlType that a type name means: int2, int4, int8, bool, numeric, float8, bpchar, varchar, text, date, timestamp,
// record, void (under every spelling PostgreSQL has for them) and one-dimensional arrays of them. A type that
// PostgreSQL has and we do not: 0A000 by name. An unknown one: 42704 `type "x" does not exist`. Modifiers are checked
// as PostgreSQL does. %TYPE and %ROWTYPE are the caller's; `setof` is ignored. Note: `char` is char(1), as in a column
// or a cast. The types of parameters and results of routines lose their modifiers in PostgreSQL (a parameter `char`
// takes any length): use without_modifiers() there. text: the source that locations point into, for the position of
// errors ("" = no position).
// user_types: those of the catalog; of a domain: its base type.
StatusOr<SqlType> resolve_type(const ast::TypeName& type, std::string_view text, const UserTypes& user_types = {});

// The domain that a type name means; nullptr: none.
const Domain* named_domain(const ast::TypeName& type, const UserTypes& user_types);

// The type as SQL writes it, user-defined ones with quotes where they need them.
std::string to_sql(const SqlType& type);

// The name as written, for messages: "pg_catalog.int4[]", "t.a%TYPE".
std::string to_string(const ast::TypeName& type);

}  // namespace scyper::query
