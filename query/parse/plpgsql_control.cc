#include <algorithm>
#include <charconv>

#include "parse/plpgsql_grammar.h"
#include "parse/plpgsql_parser.h"
#include "parse/text.h"

namespace scyper::query::plpgsql {

StatementPtr Grammar::if_statement() {
  auto out = make_statement<If>(peek().begin, line_of(peek().begin));
  if (push_label({}, false)) {
    do {
      IfBranch branch;
      branch.location = peek().begin;
      advance();  // IF, ELSIF
      branch.condition = expression_until({"then"}, "THEN");
      expect("then");
      branch.body = statements();
      out->branches.push_back(std::move(branch));
    } while (!failed() && (is_word("elsif") || is_word("elseif")));
    if (accept("else")) out->otherwise = statements();
    expect("end");
    expect("if");
  }
  pop_label();
  --depth_;
  return out;
}

StatementPtr Grammar::case_statement() {
  auto out = make_statement<Case>(peek().begin, line_of(peek().begin));
  advance();
  if (push_label({}, false)) {
    if (!is_word("when")) out->arg = expression_until({"when"}, "WHEN");
    while (!failed() && is_word("when")) {
      CaseBranch branch;
      branch.location = peek().begin;
      advance();
      do {
        branch.conditions.push_back(out->arg == nullptr ? expression_until({"then"}, "THEN")
                                                        : expression_until({",", "then"}, "THEN"));
      } while (!failed() && accept(","));
      expect("then");
      branch.body = statements();
      out->branches.push_back(std::move(branch));
    }
    if (out->branches.empty()) syntax_error();
    out->has_else = accept("else");
    if (out->has_else) out->otherwise = statements();
    expect("end");
    expect("case");
  }
  pop_label();
  --depth_;
  return out;
}

// LOOP ... END LOOP [label]
Statements Grammar::loop_body(const std::string& label) {
  Statements out;
  if (push_label(label, true)) {
    expect("loop");
    out = statements();
    expect("end");
    expect("loop");
    check_end_label(label);
  }
  pop_label();
  --depth_;
  return out;
}

StatementPtr Grammar::loop(std::string label) {
  auto out = make_statement<Loop>(peek().begin, line_of(peek().begin));
  out->body = loop_body(label);
  out->label = std::move(label);
  return out;
}

StatementPtr Grammar::while_loop(std::string label) {
  auto out = make_statement<While>(peek().begin, line_of(peek().begin));
  advance();
  out->condition = expression_until({"loop"}, "LOOP");
  out->body = loop_body(label);
  out->label = std::move(label);
  return out;
}

// Names in IN position that cannot start a query are cursors: FOR r IN c LOOP, FOR r IN c(1) LOOP.
bool Grammar::at_cursor_loop() const {
  static constexpr std::string_view kQueryWords[] = {"select", "with",   "values", "table",   "insert",
                                                     "update", "delete", "merge",  "explain", "show"};
  if (peek().kind == TokenKind::kWord) {
    const auto starts = [this](std::string_view word) { return is_word(word); };
    if (std::any_of(std::begin(kQueryWords), std::end(kQueryWords), starts)) return false;
  } else if (peek().kind != TokenKind::kQuotedIdentifier) {
    return false;
  }
  size_t ahead = 1;
  while (is_op(".", ahead)) ahead += 2;
  if (is_op("(", ahead)) {
    int brackets = 0;
    do {
      if (peek(ahead).kind == TokenKind::kEnd) return false;
      if (is_op("(", ahead)) ++brackets;
      if (is_op(")", ahead)) --brackets;
      ++ahead;
    } while (brackets > 0);
  }
  return is_word("loop", ahead);
}

// A `..` outside of brackets before LOOP
bool Grammar::at_integer_loop() const {
  int brackets = 0;
  for (size_t ahead = 0;; ++ahead) {
    const Token& token = peek(ahead);
    if (token.kind == TokenKind::kEnd || matches(token, ";")) return false;
    if (matches(token, "(") || matches(token, "[")) ++brackets;
    if (matches(token, ")") || matches(token, "]")) --brackets;
    if (brackets == 0 && matches(token, "..")) return true;
    if (brackets == 0 && matches(token, "loop")) return false;
  }
}

StatementPtr Grammar::for_loop(std::string label) {
  const Location location = peek().begin;
  advance();
  std::vector<Target> targets = target_list();
  expect("in");
  StatementPtr out;
  if (is_word("execute")) {
    out = for_execute(std::move(label), std::move(targets));
  } else {
    const bool reverse = is_word("reverse") && !is_op("..", 1);
    if (reverse) advance();
    if (at_integer_loop()) {
      out = for_integer(std::move(label), targets, reverse);
    } else if (reverse) {
      fail_at("42601", "cannot specify REVERSE in query FOR loop", tokens_[at_ > 0 ? at_ - 1 : 0].begin);
    } else if (at_cursor_loop()) {
      out = for_cursor(std::move(label), std::move(targets));
    } else {
      out = for_query(std::move(label), std::move(targets));
    }
  }
  if (out != nullptr) {
    out->location = location;
    out->line = line_of(location);
  }
  return out;
}

StatementPtr Grammar::for_integer(std::string label, const std::vector<Target>& targets, bool reverse) {
  auto out = std::make_unique<ForInteger>();
  if (targets.size() != 1 || targets[0].name.size() != 1) {
    fail_at("42601", "integer FOR loop must have only one target variable", targets.back().location);
    return out;
  }
  out->variable = targets[0].name[0];
  out->reverse = reverse;
  out->from = expression_until({".."}, "..");
  expect("..");
  out->to = expression_until({"by", "loop"}, "LOOP");
  if (accept("by")) out->step = expression_until({"loop"}, "LOOP");
  out->body = loop_body(label);
  out->label = std::move(label);
  return out;
}

StatementPtr Grammar::for_query(std::string label, std::vector<Target> targets) {
  auto out = std::make_unique<ForQuery>();
  out->targets = std::move(targets);
  out->query = sql_until({"loop"}, "LOOP");
  out->body = loop_body(label);
  out->label = std::move(label);
  return out;
}

StatementPtr Grammar::for_execute(std::string label, std::vector<Target> targets) {
  auto out = std::make_unique<ForExecute>();
  out->targets = std::move(targets);
  advance();
  out->text = expression_until({"loop", "using"}, "LOOP");
  if (accept("using")) out->args = using_list({",", "loop"});
  out->body = loop_body(label);
  out->label = std::move(label);
  return out;
}

StatementPtr Grammar::for_cursor(std::string label, std::vector<Target> targets) {
  auto out = std::make_unique<ForCursor>();
  if (targets.size() != 1 || targets[0].name.size() != 1) {
    fail_at("42601", "cursor FOR loop must have only one target variable", targets.back().location);
    return out;
  }
  out->target = std::move(targets[0]);
  out->cursor = target();
  if (accept("(")) call_arguments(out->args, out->arg_names);
  out->body = loop_body(label);
  out->label = std::move(label);
  return out;
}

StatementPtr Grammar::for_each(std::string label) {
  auto out = make_statement<ForEach>(peek().begin, line_of(peek().begin));
  advance();
  out->targets = target_list();
  if (accept("slice")) {
    const std::string_view digits = peek().text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out->slice);
    if (peek().kind != TokenKind::kNumber || error != std::errc() || end != digits.data() + digits.size()) {
      syntax_error();
    }
    advance();
  }
  expect("in");
  expect("array");
  out->array = expression_until({"loop"}, "LOOP");
  out->body = loop_body(label);
  out->label = std::move(label);
  return out;
}

StatementPtr Grammar::exit_statement(bool is_continue) {
  auto out = make_statement<Exit>(peek().begin, line_of(peek().begin));
  advance();
  out->is_continue = is_continue;
  const Location label_location = peek().begin;
  if (!is_op(";") && !is_word("when")) out->label = identifier();
  if (accept("when")) out->when = expression_until({";"}, ";");
  if (failed()) return out;
  if (!out->label.empty()) {
    const auto named = [&](const Label& label) { return label.name == out->label; };
    const auto found = std::find_if(labels_.rbegin(), labels_.rend(), named);
    if (found == labels_.rend()) {
      fail_at("42601",
              "there is no label \"" + out->label + "\" attached to any block or loop enclosing this statement",
              label_location);
    } else if (is_continue && !found->loop) {
      fail_at("42601", "block label \"" + out->label + "\" cannot be used in CONTINUE", label_location);
    }
  } else if (std::none_of(labels_.begin(), labels_.end(), [](const Label& label) { return label.loop; })) {
    fail_at("42601",
            is_continue ? "CONTINUE cannot be used outside a loop"
                        : "EXIT cannot be used outside a loop, unless it has a label",
            out->location);
  }
  return out;
}

StatementPtr Grammar::return_statement() {
  const Location location = peek().begin;
  const int32_t line = line_of(location);
  advance();
  if (accept("next")) {
    auto out = make_statement<ReturnNext>(location, line);
    if (!is_op(";")) out->value = expression_until({";"}, ";");
    return out;
  }
  if (accept("query")) {
    auto out = make_statement<ReturnQuery>(location, line);
    if (accept("execute")) {
      out->text = expression_until({";", "using"}, ";");
      if (accept("using")) out->args = using_list({",", ";"});
    } else {
      out->query = sql_until({";"}, ";");
    }
    return out;
  }
  auto out = make_statement<Return>(location, line);
  if (!is_op(";")) out->value = expression_until({";"}, ";");
  return out;
}

}  // namespace scyper::query::plpgsql
