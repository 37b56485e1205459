#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parse/ast.h"

namespace scyper::query {

// SQL text to syntax trees, by PostgreSQL 15's grammar (libpg_query). Any thread may parse at any time.
// Errors carry PostgreSQL's SQLSTATE and message, and the position in characters from 1:
//   42601 syntax error; 22021 invalid UTF-8 or a zero byte; 54001 nesting beyond kMaxDepth; 54000 text beyond
//   kMaxTextBytes; 0A000 what the grammar accepts and the tree does not carry, by name.
// Beyond PostgreSQL's grammar: WITH (layout = row), where it wants 'row' quoted; CREATE HOT DATA VIEW name AS SELECT
// ..., DROP HOT DATA VIEW ... (views with a mark in the tree).

// Longest accepted text: gRPC's default message size. The worst text (SELECT 1,1,1,...) needs about 130 times its size
// while it is parsed.
inline constexpr size_t kMaxTextBytes = size_t{4} << 20;
// Deepest accepted nesting of nodes. Everything that walks a tree recurses, with a few hundred bytes to a few KB per
// level and several functions: 1000 levels stay far below the 8 MB of a thread's stack, also under sanitizers.
inline constexpr int kMaxDepth = 1000;

// Whose text it is. Functions of the system have names that begin with a blank. Texts that the system writes, or keeps
// after it has read them as a user's, may call them. In a user's text such a call is 42883.
enum class TextOf : uint8_t { kUser, kSystem };

// All statements of `text`, in order; empty for blank text. Locations are byte offsets into `text`.
StatusOr<std::vector<ast::StatementPtr>> parse_sql(std::string_view text, TextOf whose = TextOf::kUser);

// One expression, as after SELECT.
StatusOr<ast::ExprPtr> parse_expression(std::string_view text, TextOf whose = TextOf::kUser);

// A piece of a larger text: locations and positions of errors count in `whole`, where `text` stands at byte `offset`.
// `text` may differ from that part of `whole` by blanks put over something that was cut out. Both are valid UTF-8.
struct Piece {
  std::string_view text;
  std::string_view whole;
  ast::Location offset = 0;
  TextOf whose = TextOf::kUser;
};
// Exactly one statement.
StatusOr<ast::StatementPtr> parse_statement(const Piece& piece);
// What PL/pgSQL takes as an expression: one target of a SELECT, whose FROM and so on may follow (`count(*) FROM t`, a
// ScalarSubquery then).
StatusOr<ast::ExprPtr> parse_expression(const Piece& piece);
// A type as in CAST, without %TYPE and %ROWTYPE.
StatusOr<ast::TypeName> parse_type(const Piece& piece);

// The text with its constants replaced by $1, $2, ...: one text per shape of statement. Errors as parse_sql.
StatusOr<std::string> normalize_sql(std::string_view text);
// A hash that is equal for statements that differ only in constants, layout and the lengths of lists.
StatusOr<uint64_t> fingerprint_sql(std::string_view text);

}  // namespace scyper::query
