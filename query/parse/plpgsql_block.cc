#include <algorithm>

#include "parse/conditions.h"
#include "parse/plpgsql_grammar.h"
#include "parse/plpgsql_parser.h"
#include "parse/text.h"

namespace scyper::query::plpgsql {

namespace {

bool is_sqlstate(std::string_view code) {
  return code.size() == 5 &&
         std::all_of(code.begin(), code.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
}

}  // namespace

StatusOr<std::unique_ptr<Body>> Grammar::body() {
  auto out = std::make_unique<Body>();
  compile_options(*out);
  std::string label = label_before();
  if (!failed() && !is_word("declare") && !is_word("begin")) syntax_error();
  out->block = block(std::move(label));
  accept(";");
  if (!at_end()) syntax_error();
  if (failed()) return status_;
  return out;
}

// #variable_conflict use_column and its like, before the outermost block
void Grammar::compile_options(Body& out) {
  while (!failed() && accept("#")) {
    const std::string name = identifier();
    const std::string value = identifier();
    if (name == "variable_conflict" && value == "error") {
      out.variable_conflict = VariableConflict::kError;
    } else if (name == "variable_conflict" && value == "use_variable") {
      out.variable_conflict = VariableConflict::kUseVariable;
    } else if (name == "variable_conflict" && value == "use_column") {
      out.variable_conflict = VariableConflict::kUseColumn;
    } else if (name == "print_strict_params" && (value == "on" || value == "off")) {
      out.print_strict_params = value == "on";
    } else if (name != "option" || value != "dump") {
      syntax_error();
    }
  }
}

std::string Grammar::label_before() {
  if (!accept("<<")) return {};
  std::string label = identifier();
  expect(">>");
  return label;
}

bool Grammar::push_label(const std::string& label, bool loop) {
  if (++depth_ > kMaxBlockDepth) fail(depth_error());
  labels_.push_back(Label{label, loop});
  return !failed();
}

void Grammar::check_end_label(const std::string& label) {
  if (failed() || at_end() || is_op(";")) return;
  const Location location = peek().begin;
  const std::string end_label = identifier();
  if (failed() || end_label == label) return;
  fail_at("42601",
          label.empty() ? "end label \"" + end_label + "\" specified for unlabeled block"
                        : "end label \"" + end_label + "\" differs from block's label \"" + label + "\"",
          location);
}

// [DECLARE ...] BEGIN ... [EXCEPTION ...] END [label], without the semicolon
std::unique_ptr<Block> Grammar::block(std::string label) {
  auto out = make_statement<Block>(peek().begin, line_of(peek().begin));
  out->label = std::move(label);
  if (push_label(out->label, false)) {
    if (accept("declare")) out->declarations = declarations();
    out->location = peek().begin;
    out->line = line_of(out->location);
    expect("begin");
    out->body = statements();
    if (accept("exception")) out->handlers = handlers();
    expect("end");
    check_end_label(out->label);
  }
  pop_label();
  --depth_;
  return out;
}

std::vector<Declaration> Grammar::declarations() {
  std::vector<Declaration> out;
  while (!failed() && !at_end() && !is_word("begin")) {
    if (accept("declare")) continue;  // may be repeated
    if (is_op("<<")) {
      fail_at("42601", "block label must be placed before DECLARE, not after", peek().begin);
      break;
    }
    const Token& name = peek();
    Declaration one = declaration();
    const auto same = [&](const Declaration& other) { return other.name == one.name; };
    if (!failed() && std::any_of(out.begin(), out.end(), same)) {
      fail_at("42601", "duplicate declaration" + near(name), name.begin);
    }
    out.push_back(std::move(one));
  }
  return out;
}

Declaration Grammar::declaration() {
  Declaration out;
  out.location = peek().begin;
  out.name = identifier();
  if (is_word("alias") && is_word("for", 1)) {
    advance();
    advance();
    out.alias_for = target().name;
  } else if (is_word("cursor") || (is_word("scroll") && is_word("cursor", 1)) ||
             (is_word("no") && is_word("scroll", 1))) {
    out.cursor = cursor_declaration();
  } else {
    variable(out);
  }
  expect(";");
  return out;
}

void Grammar::variable(Declaration& out) {
  out.constant = accept("constant");
  out.type = type(cut({"not", "collate", "default", ":=", "=", ";"}, "expression", ";"));
  if (accept("collate")) out.collation = target().name;
  if (accept("not")) {
    expect("null");
    out.not_null = true;
  }
  if (accept(":=") || accept("=") || accept("default")) {
    out.initial = expression_until({";"}, ";");
  } else if (out.not_null) {
    fail_at("22004", "variable \"" + out.name + "\" must have a default value, since it's declared NOT NULL",
            peek().begin);
  }
}

std::unique_ptr<CursorDeclaration> Grammar::cursor_declaration() {
  auto out = std::make_unique<CursorDeclaration>();
  if (accept("no")) out->scroll = ScrollOption::kNoScroll;
  if (accept("scroll") && out->scroll == ScrollOption::kDefault) out->scroll = ScrollOption::kScroll;
  expect("cursor");
  if (accept("(")) {
    do {
      CursorParameter parameter;
      parameter.location = peek().begin;
      parameter.name = identifier();
      parameter.type = type(cut({",", ")"}, "expression", ")"));
      out->parameters.push_back(std::move(parameter));
    } while (!failed() && accept(","));
    expect(")");
  }
  if (!accept("is")) expect("for");
  out->query = sql_until({";"}, ";");
  return out;
}

std::vector<ExceptionHandler> Grammar::handlers() {
  std::vector<ExceptionHandler> out;
  do {
    ExceptionHandler handler;
    handler.location = peek().begin;
    expect("when");
    do {
      handler.conditions.push_back(condition());
    } while (!failed() && accept("or"));
    expect("then");
    handler.body = statements();
    out.push_back(std::move(handler));
  } while (!failed() && is_word("when"));
  return out;
}

Condition Grammar::condition() {
  Condition out;
  out.location = peek().begin;
  if (is_word("sqlstate") && peek(1).kind == TokenKind::kString) {
    advance();
    out.sqlstates.push_back(value_of(peek()));
    if (!is_sqlstate(out.sqlstates[0])) error_near("invalid SQLSTATE code");
    advance();
    return out;
  }
  out.name = identifier();
  out.others = out.name == "others";
  if (out.others || failed()) return out;
  for (const std::string_view code : sqlstates_of_condition(out.name)) out.sqlstates.emplace_back(code);
  if (out.sqlstates.empty()) {
    fail_at("42704", "unrecognized exception condition \"" + out.name + "\"", out.location);
  }
  return out;
}

bool Grammar::at_list_end() const {
  if (at_end()) return true;
  if (at_assignment()) return false;
  return is_word("end") || is_word("exception") || is_word("when") || is_word("else") || is_word("elsif") ||
         is_word("elseif");
}

Statements Grammar::statements() {
  Statements out;
  while (!failed() && !at_list_end()) {
    StatementPtr one = statement();
    expect(";");
    out.push_back(std::move(one));
  }
  return out;
}

StatementPtr Grammar::statement() {
  if (is_op("<<")) return labelled();
  if (at_assignment()) return assign();
  if (peek().kind != TokenKind::kWord) {
    syntax_error();
    return nullptr;
  }
  return statement_by_word();
}

StatementPtr Grammar::labelled() {
  std::string label = label_before();
  if (is_word("declare") || is_word("begin")) return block(std::move(label));
  if (is_word("loop")) return loop(std::move(label));
  if (is_word("while")) return while_loop(std::move(label));
  if (is_word("for")) return for_loop(std::move(label));
  if (is_word("foreach")) return for_each(std::move(label));
  syntax_error();
  return nullptr;
}

StatementPtr Grammar::statement_by_word() {
  using Reader = StatementPtr (Grammar::*)();
  static constexpr struct {
    std::string_view word;
    Reader read;
  } kReaders[] = {
      {"if", &Grammar::if_statement},    {"case", &Grammar::case_statement},     {"return", &Grammar::return_statement},
      {"raise", &Grammar::raise},        {"assert", &Grammar::assert_statement}, {"perform", &Grammar::perform},
      {"call", &Grammar::call},          {"execute", &Grammar::execute},         {"get", &Grammar::get_diagnostics},
      {"commit", &Grammar::transaction}, {"rollback", &Grammar::transaction},    {"open", &Grammar::open},
      {"close", &Grammar::close},
  };
  for (const auto& reader : kReaders) {
    if (is_word(reader.word)) return (this->*reader.read)();
  }
  if (is_word("declare") || is_word("begin")) return block({});
  if (is_word("loop")) return loop({});
  if (is_word("while")) return while_loop({});
  if (is_word("for")) return for_loop({});
  if (is_word("foreach")) return for_each({});
  if (is_word("exit")) return exit_statement(false);
  if (is_word("continue")) return exit_statement(true);
  if (is_word("fetch")) return fetch(false);
  if (is_word("move")) return fetch(true);
  if (is_word("null")) {
    auto out = make_statement<Null>(peek().begin, line_of(peek().begin));
    advance();
    return out;
  }
  return sql_statement();
}

}  // namespace scyper::query::plpgsql
