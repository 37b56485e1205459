#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace scyper::query {

// The words of SQL and PL/pgSQL, as PostgreSQL's lexer cuts them: just enough to find where pieces begin and end.
enum class TokenKind : uint8_t {
  kEnd,
  kWord,              // unquoted identifier or keyword
  kQuotedIdentifier,  // "x", U&"x"
  kString,            // '..', E'..', B'..', X'..', N'..', U&'..'
  kDollarString,      // $tag$..$tag$
  kNumber,
  kParameter,  // $1
  kOperator,   // also ( ) [ ] , ; . : and the pairs := :: .. =>
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int32_t begin = 0;  // bytes [begin, end) of the text
  int32_t end = 0;
  std::string_view text;  // the same, as written
};

// All tokens of valid UTF-8 `text`, comments left out, a kEnd at its end. 42601 for what is not terminated.
// With `tokens_max` only that many, without the kEnd.
StatusOr<std::vector<Token>> scan(std::string_view text, size_t tokens_max = SIZE_MAX);

// What a token says: a word folded, a quoted identifier or string without its quotes and escapes. U& escapes are not
// undone.
std::string value_of(const Token& token);
// Where the value of a string token begins in the text when value and text are the same bytes; -1 = they are not.
int32_t verbatim_begin(const Token& token);

}  // namespace scyper::query
