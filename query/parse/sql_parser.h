#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parse/ast.h"

namespace scyper::query {

// SQL text to syntax trees, by PostgreSQL 15's grammar (libpg_query). Pure: any thread may parse at any time.
// Errors carry PostgreSQL's SQLSTATE and message, and the position in characters from 1:
//   42601 syntax error; 22021 invalid UTF-8 or a zero byte; 54001 nesting beyond kMaxDepth; 54000 text beyond
//   kMaxTextBytes; 0A000 what the grammar accepts and the tree does not carry, by name.

// Longest accepted text. PostgreSQL's own bound is 1 GB; the parser needs about 100 times the text for its nodes.
constexpr size_t kMaxTextBytes = 16 << 20;
// Deepest accepted nesting of nodes. Everything that walks a tree recurses, with a few hundred bytes to a few KB per
// level and several functions: 1000 levels stay far below the 8 MB of a thread's stack, also under sanitizers.
constexpr int kMaxDepth = 1000;

// All statements of `text`, in order; empty for blank text. Locations are byte offsets into `text`.
StatusOr<std::vector<ast::StatementPtr>> parse_sql(std::string_view text);

// One expression, as after SELECT.
StatusOr<ast::ExprPtr> parse_expression(std::string_view text);

// Pieces of a larger text (PL/pgSQL bodies): `piece` is a part of `whole`; locations count in `whole`, error positions
// too.
StatusOr<ast::StatementPtr> parse_statement_in(std::string_view whole, std::string_view piece);
StatusOr<ast::ExprPtr> parse_expression_in(std::string_view whole, std::string_view piece);

// The text with its constants replaced by $1, $2, ...: one text per shape of statement. Errors as parse_sql.
StatusOr<std::string> normalize_sql(std::string_view text);
// A hash that is equal for statements that differ only in constants, layout and list lengths.
StatusOr<uint64_t> fingerprint_sql(std::string_view text);

// Position (characters, from 1) of the byte at `location` in valid UTF-8 `text`; 0 for a negative location.
int position_at(std::string_view text, ast::Location location);

}  // namespace scyper::query
