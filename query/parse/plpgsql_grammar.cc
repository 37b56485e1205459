#include "parse/plpgsql_grammar.h"

#include <algorithm>
#include "base/invariant.h"
#include "base/object_name.h"

#include "parse/name_path.h"
#include "parse/sql_parser.h"
#include "parse/text.h"

namespace scyper::query::plpgsql {

namespace {

// PL/pgSQL's reserved words: no names unless quoted.
constexpr std::string_view kReserved[] = {
    "all", "begin", "by",   "case", "declare", "else", "end",    "execute", "for", "foreach", "from", "if",
    "in",  "into",  "loop", "not",  "null",    "or",   "strict", "then",    "to",  "using",   "when", "while",
};

bool is_reserved(std::string_view word) {
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

bool equals_folded(std::string_view written, std::string_view lower) {
  if (written.size() != lower.size()) return false;
  for (size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != lower[i]) return false;
  }
  return true;
}

}  // namespace

Grammar::Grammar(std::string_view text, std::vector<Token> tokens, TextOf whose)
    : text_(text), whose_(whose), tokens_(std::move(tokens)) {
  INVARIANT(!tokens_.empty() && tokens_.back().kind == TokenKind::kEnd);
  line_starts_.push_back(0);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(static_cast<Location>(i) + 1);
  }
}

int32_t Grammar::line_of(Location location) const {
  return static_cast<int32_t>(std::upper_bound(line_starts_.begin(), line_starts_.end(), location) -
                              line_starts_.begin());
}

const Token& Grammar::peek(size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

void Grammar::advance() {
  if (at_ + 1 < tokens_.size()) ++at_;
}

bool Grammar::matches(const Token& token, std::string_view word_or_op) {
  if (token.kind == TokenKind::kOperator) return token.text == word_or_op;
  return token.kind == TokenKind::kWord && equals_folded(token.text, word_or_op);
}

bool Grammar::is_word(std::string_view word, size_t ahead) const {
  return peek(ahead).kind == TokenKind::kWord && matches(peek(ahead), word);
}

bool Grammar::is_op(std::string_view op, size_t ahead) const {
  return peek(ahead).kind == TokenKind::kOperator && peek(ahead).text == op;
}

bool Grammar::accept(std::string_view word_or_op) {
  if (!matches(peek(), word_or_op)) return false;
  advance();
  return true;
}

void Grammar::expect(std::string_view word_or_op) {
  if (!accept(word_or_op)) syntax_error();
}

void Grammar::fail(Status status) {
  if (!status_.ok()) return;
  status_ = std::move(status);
  at_ = tokens_.size() - 1;
}

void Grammar::fail_at(std::string_view sqlstate, std::string_view message, Location location) {
  if (status_.ok()) fail(error_at(sqlstate, message, text_, location));
}

std::string Grammar::near(const Token& token) const {
  if (token.kind == TokenKind::kEnd) return " at end of input";
  return " at or near \"" + std::string(token.text) + "\"";
}

void Grammar::error_near(std::string_view message) {
  fail_at("42601", std::string(message) + near(peek()), peek().begin);
}

void Grammar::syntax_error() { error_near("syntax error"); }

std::string Grammar::identifier() {
  const Token& token = peek();
  const bool word = token.kind == TokenKind::kWord && !is_reserved(fold_identifier(token.text));
  if (!word && token.kind != TokenKind::kQuotedIdentifier) {
    syntax_error();
    return {};
  }
  std::string name = value_of(token);
  advance();
  return name;
}

Target Grammar::target() {
  Target out;
  out.location = peek().begin;
  if (peek().kind == TokenKind::kParameter) {
    out.name.push_back(value_of(peek()));
    advance();
    return out;
  }
  out.name.push_back(identifier());
  while (!failed() && is_op(".")) {
    advance();
    if (peek().kind == TokenKind::kWord) {  // behind a dot any word is a name
      out.name.push_back(value_of(peek()));
      advance();
    } else {
      out.name.push_back(identifier());
    }
  }
  return out;
}

std::vector<Target> Grammar::target_list() {
  std::vector<Target> out;
  do {
    out.push_back(target());
  } while (!failed() && accept(","));
  return out;
}

bool Grammar::at_assignment() const {
  const TokenKind kind = peek().kind;
  if (kind == TokenKind::kQuotedIdentifier || kind == TokenKind::kParameter) return true;
  if (kind != TokenKind::kWord) return false;
  return is_op(":=", 1) || is_op("=", 1) || is_op("[", 1) || is_op(".", 1);
}

Grammar::Range Grammar::cut(std::initializer_list<std::string_view> ends, std::string_view what,
                            std::string_view expected) {
  Range out{at_, at_};
  int brackets = 0;
  int cases = 0;
  while (!failed()) {
    const Token& token = peek();
    if (brackets == 0 && cases == 0) {
      const auto is_end = [&](std::string_view end) { return matches(token, end); };
      if (std::any_of(ends.begin(), ends.end(), is_end)) break;
    }
    if (token.kind == TokenKind::kEnd || matches(token, ";")) {
      if (brackets != 0) {
        error_near("mismatched parentheses");
      } else if (token.kind == TokenKind::kEnd) {
        syntax_error();
      } else {
        fail_at("42601", "missing \"" + std::string(expected) + "\" at end of SQL " + std::string(what), token.begin);
      }
      break;
    }
    if (matches(token, "(") || matches(token, "[")) ++brackets;
    if ((matches(token, ")") || matches(token, "]")) && --brackets < 0) error_near("mismatched parentheses");
    if (matches(token, "case")) ++cases;
    if (cases > 0 && matches(token, "end")) --cases;
    advance();
  }
  out.end = failed() ? out.begin : at_;
  return out;
}

std::string Grammar::text_of(Range range) const {
  if (range.empty()) return {};
  const Location begin = tokens_[range.begin].begin;
  return std::string(text_.substr(static_cast<size_t>(begin), static_cast<size_t>(tokens_[range.end - 1].end - begin)));
}

ExprPtr Grammar::expression(Range range) {
  if (failed()) return nullptr;
  if (range.empty()) {
    fail_at("42601", "missing expression" + near(tokens_[range.end]), tokens_[range.end].begin);
    return nullptr;
  }
  const std::string text = text_of(range);
  auto parsed = parse_expression(Piece{text, text_, offset_of(range), whose_});
  if (!parsed.ok()) {
    fail(parsed.status());
    return nullptr;
  }
  return *std::move(parsed);
}

ExprPtr Grammar::expression_until(std::initializer_list<std::string_view> ends, std::string_view expected) {
  return expression(cut_expression(ends, expected));
}

ast::StatementPtr Grammar::sql(std::string text, Location offset, TextOf whose) {
  if (failed()) return nullptr;
  auto parsed = parse_statement(Piece{text, text_, offset, whose});
  if (!parsed.ok()) {
    fail(parsed.status());
    return nullptr;
  }
  return *std::move(parsed);
}

ast::StatementPtr Grammar::sql_until(std::initializer_list<std::string_view> ends, std::string_view expected) {
  const Range range = cut(ends, "statement", expected);
  if (failed()) return nullptr;
  if (range.empty()) {
    error_near("missing SQL statement");
    return nullptr;
  }
  return sql(text_of(range), offset_of(range), whose_);
}

// The expressions behind USING, up to one of `ends` (which must hold the comma), not past it.
std::vector<ExprPtr> Grammar::using_list(std::initializer_list<std::string_view> ends) {
  std::vector<ExprPtr> out;
  do {
    out.push_back(expression_until(ends, "; or ,"));
  } while (!failed() && accept(","));
  return out;
}

ast::TypeName Grammar::type(Range range) {
  if (failed()) return {};
  if (range.empty()) {
    fail_at("42601", "missing data type declaration" + near(tokens_[range.end]), tokens_[range.end].begin);
    return {};
  }
  const size_t count = range.end - range.begin;
  const Token& last = tokens_[range.end - 1];
  if (count >= 3 && tokens_[range.end - 2].text == "%" && (matches(last, "type") || matches(last, "rowtype"))) {
    ast::TypeName out;  // the grammar of SQL has no v%TYPE
    out.location = offset_of(range);
    out.percent_type = matches(last, "type");
    out.percent_rowtype = !out.percent_type;
    for (size_t i = range.begin; i + 2 < range.end; i += 2) {
      const TokenKind kind = tokens_[i].kind;
      const bool name = kind == TokenKind::kWord || kind == TokenKind::kQuotedIdentifier;
      const bool joined = i + 3 == range.end || tokens_[i + 1].text == ".";
      if (!name || !joined) {
        fail_at("42601", "syntax error" + near(tokens_[name ? i + 1 : i]), tokens_[name ? i + 1 : i].begin);
        return out;
      }
      out.name.push_back(value_of(tokens_[i]));
    }
    if (out.percent_rowtype) out.name = name_key(NameKind::kRelation, std::move(out.name));
    if (out.percent_type) out.name = column_key(std::move(out.name));
    return out;
  }
  const std::string text = text_of(range);
  auto parsed = parse_type(Piece{text, text_, offset_of(range), whose_});
  if (!parsed.ok()) {
    fail(parsed.status());
    return {};
  }
  return *std::move(parsed);
}

// (a, b), (name := a, name => b): the cursor stands behind the opening bracket and ends behind the closing one.
void Grammar::call_arguments(std::vector<ExprPtr>& args, std::vector<std::string>& names) {
  if (accept(")")) return;
  do {
    std::string name;
    if (is_op(":=", 1) || is_op("=>", 1)) {
      name = identifier();
      advance();
      names.resize(args.size());
    }
    const bool named = !name.empty() || !names.empty();
    args.push_back(expression_until({",", ")"}, ")"));
    if (named) names.push_back(std::move(name));
  } while (!failed() && accept(","));
  expect(")");
}

}  // namespace scyper::query::plpgsql
