#pragma once

// Private to parse/: the recursive-descent grammar of PL/pgSQL. See plpgsql_parser.h.

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parse/plpgsql_ast.h"
#include "parse/scanner.h"
#include "parse/sql_parser.h"

namespace scyper::query::plpgsql {

// Reads one body. The first failure sticks: the cursor jumps to the end of the tokens, every reader returns something
// empty, and body() answers with the failure. Lives within one parse.
// Invariant: tokens_ ends in a kEnd that the cursor never passes.
class Grammar {
 public:
  Grammar(std::string_view text, std::vector<Token> tokens, TextOf whose);

  StatusOr<std::unique_ptr<Body>> body();

 private:
  struct Label {
    std::string name;
    bool loop = false;
  };
  // Tokens [begin, end).
  struct Range {
    size_t begin = 0;
    size_t end = 0;
    bool empty() const { return begin == end; }
  };

  // --- tokens (plpgsql_grammar.cc) ---
  const Token& peek(size_t ahead = 0) const;
  bool at_end() const { return peek().kind == TokenKind::kEnd; }
  bool is_word(std::string_view word, size_t ahead = 0) const;
  bool is_op(std::string_view op, size_t ahead = 0) const;
  static bool matches(const Token& token, std::string_view word_or_op);
  bool accept(std::string_view word_or_op);
  void expect(std::string_view word_or_op);
  void advance();
  std::string identifier();
  Target target();
  std::vector<Target> target_list();
  bool at_assignment() const;

  bool failed() const { return !status_.ok(); }
  void fail(Status status);
  void fail_at(std::string_view sqlstate, std::string_view message, Location location);
  void syntax_error();                         // at the current token
  void error_near(std::string_view message);   // "<message> at or near ..." the current token
  std::string near(const Token& token) const;  // ` at or near "x"` or ` at end of input`
  int32_t line_of(Location location) const;

  // --- pieces of SQL ---
  // The tokens from the cursor up to the first of `ends` outside of brackets and CASE ... END; the cursor stops at it.
  Range cut(std::initializer_list<std::string_view> ends, std::string_view what, std::string_view expected);
  Range cut_expression(std::initializer_list<std::string_view> ends, std::string_view expected) {
    return cut(ends, "expression", expected);
  }
  Location offset_of(Range range) const { return tokens_[range.begin].begin; }
  std::string text_of(Range range) const;
  ExprPtr expression(Range range);
  ExprPtr expression_until(std::initializer_list<std::string_view> ends, std::string_view expected);
  ast::StatementPtr sql(std::string text, Location offset, TextOf whose);
  ast::StatementPtr sql_until(std::initializer_list<std::string_view> ends, std::string_view expected);
  std::vector<ExprPtr> using_list(std::initializer_list<std::string_view> ends);
  ast::TypeName type(Range range);
  void call_arguments(std::vector<ExprPtr>& args, std::vector<std::string>& names);

  // --- blocks (plpgsql_block.cc) ---
  void compile_options(Body& out);
  std::unique_ptr<Block> block(std::string label);
  std::vector<Declaration> declarations();
  Declaration declaration();
  void variable(Declaration& out);
  std::unique_ptr<CursorDeclaration> cursor_declaration();
  std::vector<ExceptionHandler> handlers();
  Condition condition();
  Statements statements();
  bool at_list_end() const;
  std::string label_before();
  void check_end_label(const std::string& label);
  bool push_label(const std::string& label, bool loop);
  void pop_label() { labels_.pop_back(); }

  StatementPtr statement();
  StatementPtr statement_by_word();
  StatementPtr labelled();

  // --- control (plpgsql_control.cc) ---
  StatementPtr if_statement();
  StatementPtr case_statement();
  StatementPtr loop(std::string label);
  StatementPtr while_loop(std::string label);
  StatementPtr for_loop(std::string label);
  StatementPtr for_integer(std::string label, const std::vector<Target>& targets, bool reverse);
  StatementPtr for_query(std::string label, std::vector<Target> targets);
  StatementPtr for_execute(std::string label, std::vector<Target> targets);
  StatementPtr for_cursor(std::string label, std::vector<Target> targets);
  bool at_cursor_loop() const;
  bool at_integer_loop() const;
  StatementPtr for_each(std::string label);
  Statements loop_body(const std::string& label);
  StatementPtr exit_statement(bool is_continue);
  StatementPtr return_statement();

  // --- simple statements (plpgsql_simple.cc) ---
  StatementPtr assign();
  StatementPtr perform();
  StatementPtr call();
  StatementPtr sql_statement();
  StatementPtr execute();
  StatementPtr raise();
  void raise_message(Raise& out);
  void raise_options(Raise& out);
  void check_raise_arguments(const Raise& out, Location location);
  StatementPtr assert_statement();
  StatementPtr get_diagnostics();
  DiagnosticsItem diagnostics_item(bool stacked);
  StatementPtr transaction();
  StatementPtr open();
  StatementPtr fetch(bool move);
  void fetch_direction(Fetch& out);
  StatementPtr close();
  void into(IntoClause& out);

  std::string_view text_;
  const TextOf whose_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Status status_;
  int depth_ = 0;
  std::vector<Label> labels_;
  std::vector<Location> line_starts_;
};

template <class T>
std::unique_ptr<T> make_statement(Location location, int32_t line) {
  auto out = std::make_unique<T>();
  out->location = location;
  out->line = line;
  return out;
}

}  // namespace scyper::query::plpgsql
