#include "compile/parameter_count.h"

#include <algorithm>
#include <cctype>

namespace scyper::query {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

// Position behind the quoted piece that starts at `at`.
size_t skip_quoted(std::string_view sql, size_t at, bool escapes) {
  char quote = sql[at++];
  while (at < sql.size()) {
    if (escapes && sql[at] == '\\')
      at++;
    else if (sql[at] == quote)
      return at + 1;  // a doubled quote starts the next piece
    at++;
  }
  return sql.size();
}

size_t skip_comment(std::string_view sql, size_t at) {
  if (sql[at] == '-') {
    size_t end = sql.find('\n', at);
    return end == std::string_view::npos ? sql.size() : end;
  }
  int depth = 0;
  for (; at + 1 < sql.size(); at++) {
    if (sql[at] == '/' && sql[at + 1] == '*')
      depth++, at++;
    else if (sql[at] == '*' && sql[at + 1] == '/' && --depth == 0)
      return at + 2;
  }
  return sql.size();
}

// $tag$ ... $tag$; returns `at` when no dollar quote starts here.
size_t skip_dollar_quote(std::string_view sql, size_t at) {
  size_t tag_end = at + 1;
  while (tag_end < sql.size() && is_word(sql[tag_end])) tag_end++;
  if (tag_end >= sql.size() || sql[tag_end] != '$') return at;
  std::string_view tag = sql.substr(at, tag_end + 1 - at);
  size_t end = sql.find(tag, tag_end + 1);
  return end == std::string_view::npos ? sql.size() : end + tag.size();
}

}  // namespace

size_t parameter_count(std::string_view sql) {
  size_t count = 0;
  size_t at = 0;
  while (at < sql.size()) {
    char c = sql[at];
    bool pair = at + 1 < sql.size();
    if (c == '\'' || c == '"') {
      bool escapes =
          c == '\'' && at > 0 && (sql[at - 1] == 'e' || sql[at - 1] == 'E') && (at < 2 || !is_word(sql[at - 2]));
      at = skip_quoted(sql, at, escapes);
    } else if (pair && ((c == '-' && sql[at + 1] == '-') || (c == '/' && sql[at + 1] == '*'))) {
      at = skip_comment(sql, at);
    } else if (is_word(c)) {
      while (at < sql.size() && (is_word(sql[at]) || sql[at] == '$')) at++;
    } else if (c == '$' && pair && std::isdigit(static_cast<unsigned char>(sql[at + 1])) != 0) {
      size_t number = 0;
      for (at++; at < sql.size() && std::isdigit(static_cast<unsigned char>(sql[at])) != 0; at++)
        number = std::min<size_t>(number * 10 + static_cast<size_t>(sql[at] - '0'), 70000);
      count = std::max(count, number);
    } else if (c == '$') {
      size_t behind = skip_dollar_quote(sql, at);
      at = behind == at ? at + 1 : behind;
    } else {
      at++;
    }
  }
  return count;
}

}  // namespace scyper::query
