#include <algorithm>

#include "base/invariant.h"
#include "parse/conditions.h"
#include "parse/plpgsql_grammar.h"

namespace scyper::query::plpgsql {

StatementPtr Grammar::assign() {
  auto out = make_statement<Assign>(peek().begin, line_of(peek().begin));
  out->target = expression_until({":=", "="}, ":=");
  if (!accept(":=")) expect("=");
  if (failed()) return out;
  const ast::ExprKind kind = out->target->kind;
  if (kind != ast::ExprKind::kColumnRef && kind != ast::ExprKind::kParameter && kind != ast::ExprKind::kSubscript &&
      kind != ast::ExprKind::kFieldSelect) {
    fail_at("42601",
            "syntax error at or near \"" + std::string(text_.substr(static_cast<size_t>(out->location), 1)) + "\"",
            out->location);
    return out;
  }
  out->value = expression_until({";"}, ";");
  return out;
}

// PERFORM and SELECT with a blank are equally long, so the offsets stay right.
StatementPtr Grammar::perform() {
  auto out = make_statement<Perform>(peek().begin, line_of(peek().begin));
  const Range range = cut({";"}, "statement", ";");
  if (failed()) return out;
  if (range.end - range.begin < 2) {
    error_near("missing expression");
    return out;
  }
  out->query = sql(text_of(range).replace(0, std::string_view("PERFORM").size(), "SELECT "), offset_of(range), whose_);
  return out;
}

StatementPtr Grammar::call() {
  auto out = make_statement<Call>(peek().begin, line_of(peek().begin));
  ast::StatementPtr parsed = sql_until({";"}, ";");
  if (failed()) return out;
  INVARIANT(parsed->kind == ast::StatementKind::kCall);
  out->call.reset(static_cast<ast::CallStatement*>(parsed.release()));
  return out;
}

// [STRICT] target [, target]: the cursor stands behind INTO
void Grammar::into(IntoClause& out) {
  if (!out.targets.empty()) {
    const Token& token = tokens_[at_ - 1];
    fail_at("42601", "INTO specified more than once" + near(token), token.begin);
    return;
  }
  out.location = peek().begin;
  out.strict = accept("strict");
  out.targets = target_list();
}

// Reads up to the semicolon. INTO and its targets are blanked out of the text, except where INTO is the statement's own
// (INSERT INTO, MERGE INTO).
StatementPtr Grammar::sql_statement() {
  auto out = make_statement<Sql>(peek().begin, line_of(peek().begin));
  const size_t first = at_;
  std::vector<std::pair<Location, Location>> blanks;
  int brackets = 0;
  while (!failed() && !at_end() && !is_op(";")) {
    if (is_op("(")) ++brackets;
    if (is_op(")")) --brackets;
    const bool own = at_ > first && (matches(tokens_[at_ - 1], "insert") || matches(tokens_[at_ - 1], "merge"));
    if (is_word("into") && brackets == 0 && !own) {
      const Location begin = peek().begin;
      advance();
      into(out->into);
      if (!failed()) blanks.emplace_back(begin, tokens_[at_ - 1].end);
    } else {
      advance();
    }
  }
  if (!failed() && at_end()) syntax_error();
  if (failed()) return out;
  std::string text = text_of(Range{first, at_});
  for (const auto& [begin, end] : blanks) {
    std::fill(text.begin() + (begin - out->location), text.begin() + (end - out->location), ' ');
  }
  out->statement = sql(std::move(text), out->location, whose_);
  if (failed()) return out;
  const auto* other = ast::node_if<ast::UnsupportedStatement>(out->statement.get());
  if (other == nullptr || other->stands_for.empty()) return out;
  auto perform = make_statement<Perform>(out->location, line_of(out->location));
  perform->query = sql("SELECT " + other->stands_for, out->location, TextOf::kSystem);
  return perform;
}

StatementPtr Grammar::execute() {
  auto out = make_statement<Execute>(peek().begin, line_of(peek().begin));
  advance();
  out->text = expression_until({"into", "using", ";"}, ";");
  while (!failed() && !is_op(";")) {
    if (accept("into")) {
      into(out->into);
    } else if (is_word("using") && out->args.empty()) {
      advance();
      out->args = using_list({",", "into", ";"});
    } else {
      syntax_error();
    }
  }
  return out;
}

StatementPtr Grammar::raise() {
  auto out = make_statement<Raise>(peek().begin, line_of(peek().begin));
  advance();
  if (is_op(";")) {
    out->reraise = true;
    return out;
  }
  static constexpr struct {
    std::string_view word;
    RaiseLevel level;
  } kLevels[] = {
      {"exception", RaiseLevel::kException}, {"warning", RaiseLevel::kWarning}, {"notice", RaiseLevel::kNotice},
      {"info", RaiseLevel::kInfo},           {"log", RaiseLevel::kLog},         {"debug", RaiseLevel::kDebug}};
  for (const auto& level : kLevels) {
    if (!accept(level.word)) continue;
    out->level = level.level;
    break;
  }
  raise_message(*out);
  if (accept("using")) raise_options(*out);
  check_raise_arguments(*out, out->location);
  return out;
}

// 'format', args | condition | SQLSTATE 'code' | nothing before USING
void Grammar::raise_message(Raise& out) {
  if (is_word("using")) return;
  if (peek().kind == TokenKind::kString || peek().kind == TokenKind::kDollarString) {
    out.has_format = true;
    out.format = value_of(peek());
    advance();
    while (!failed() && accept(",")) out.args.push_back(expression_until({",", ";", "using"}, ";"));
    return;
  }
  const Location location = peek().begin;
  if (is_word("sqlstate")) {
    advance();
    const bool text = peek().kind == TokenKind::kString;
    out.sqlstate = text ? value_of(peek()) : std::string();
    const auto valid = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
    if (!text) {
      syntax_error();
    } else if (out.sqlstate.size() != 5 || !std::all_of(out.sqlstate.begin(), out.sqlstate.end(), valid)) {
      error_near("invalid SQLSTATE code");
    }
    advance();
  } else {
    out.condition = identifier();
    if (failed()) return;
    const auto codes = sqlstates_of_condition(out.condition);
    if (codes.empty()) {
      fail_at("42704", "unrecognized exception condition \"" + out.condition + "\"", location);
      return;
    }
    out.sqlstate = codes.front();
  }
  if (!failed() && !is_op(";") && !is_word("using")) syntax_error();
}

void Grammar::raise_options(Raise& out) {
  static constexpr struct {
    std::string_view word;
    RaiseOptionKind kind;
  } kOptions[] = {{"errcode", RaiseOptionKind::kErrcode},   {"message", RaiseOptionKind::kMessage},
                  {"detail", RaiseOptionKind::kDetail},     {"hint", RaiseOptionKind::kHint},
                  {"column", RaiseOptionKind::kColumn},     {"constraint", RaiseOptionKind::kConstraint},
                  {"datatype", RaiseOptionKind::kDatatype}, {"table", RaiseOptionKind::kTable},
                  {"schema", RaiseOptionKind::kSchema}};
  do {
    RaiseOption option;
    const auto named = [this](const auto& known) { return is_word(known.word); };
    const auto* known = std::find_if(std::begin(kOptions), std::end(kOptions), named);
    if (known == std::end(kOptions)) {
      error_near("unrecognized RAISE statement option");
      return;
    }
    advance();
    option.kind = known->kind;
    if (!accept("=") && !accept(":=")) error_near("syntax error, expected \"=\"");
    option.value = expression_until({",", ";"}, ";");
    out.options.push_back(std::move(option));
  } while (!failed() && accept(","));
}

void Grammar::check_raise_arguments(const Raise& out, Location location) {
  if (failed() || !out.has_format) return;
  size_t expected = 0;
  for (size_t i = 0; i < out.format.size(); ++i) {
    if (out.format[i] != '%') continue;
    if (i + 1 < out.format.size() && out.format[i + 1] == '%') {
      ++i;
    } else {
      ++expected;
    }
  }
  if (expected < out.args.size()) fail_at("42601", "too many parameters specified for RAISE", location);
  if (expected > out.args.size()) fail_at("42601", "too few parameters specified for RAISE", location);
}

StatementPtr Grammar::assert_statement() {
  auto out = make_statement<Assert>(peek().begin, line_of(peek().begin));
  advance();
  out->condition = expression_until({",", ";"}, ";");
  if (accept(",")) out->message = expression_until({";"}, ";");
  return out;
}

DiagnosticsItem Grammar::diagnostics_item(bool stacked) {
  static constexpr struct {
    std::string_view word;
    DiagnosticsItem item;
    bool stacked;
  } kItems[] = {{"row_count", DiagnosticsItem::kRowCount, false},
                {"pg_context", DiagnosticsItem::kContext, false},
                {"pg_exception_context", DiagnosticsItem::kErrorContext, true},
                {"pg_exception_detail", DiagnosticsItem::kErrorDetail, true},
                {"pg_exception_hint", DiagnosticsItem::kErrorHint, true},
                {"returned_sqlstate", DiagnosticsItem::kReturnedSqlstate, true},
                {"column_name", DiagnosticsItem::kColumnName, true},
                {"constraint_name", DiagnosticsItem::kConstraintName, true},
                {"pg_datatype_name", DiagnosticsItem::kDatatypeName, true},
                {"message_text", DiagnosticsItem::kMessageText, true},
                {"table_name", DiagnosticsItem::kTableName, true},
                {"schema_name", DiagnosticsItem::kSchemaName, true}};
  for (const auto& known : kItems) {
    if (!is_word(known.word)) continue;
    if (known.stacked != stacked) {
      std::string name(known.word);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
      fail_at(
          "42601",
          "diagnostics item " + name + " is not allowed in GET " + (stacked ? "STACKED" : "CURRENT") + " DIAGNOSTICS",
          peek().begin);
    }
    advance();
    return known.item;
  }
  error_near("unrecognized GET DIAGNOSTICS item");
  return DiagnosticsItem::kRowCount;
}

StatementPtr Grammar::get_diagnostics() {
  auto out = make_statement<GetDiagnostics>(peek().begin, line_of(peek().begin));
  advance();
  out->stacked = accept("stacked");
  if (!out->stacked) accept("current");
  expect("diagnostics");
  do {
    DiagnosticsAssignment item;
    item.target = target();
    if (!accept("=")) expect(":=");
    if (failed()) return out;
    item.item = diagnostics_item(out->stacked);
    out->items.push_back(std::move(item));
  } while (!failed() && accept(","));
  return out;
}

StatementPtr Grammar::transaction() {
  auto out = make_statement<Transaction>(peek().begin, line_of(peek().begin));
  out->commit = is_word("commit");
  advance();
  if (accept("and")) {
    out->chain = !accept("no");
    expect("chain");
  }
  return out;
}

StatementPtr Grammar::open() {
  auto out = make_statement<Open>(peek().begin, line_of(peek().begin));
  advance();
  out->cursor = target();
  if (is_op(";")) return out;
  if (accept("(")) {
    call_arguments(out->args, out->arg_names);
    return out;
  }
  if (accept("no")) {
    expect("scroll");
    out->scroll = ScrollOption::kNoScroll;
  } else if (accept("scroll")) {
    out->scroll = ScrollOption::kScroll;
  }
  expect("for");
  if (accept("execute")) {
    out->text = expression_until({";", "using"}, ";");
    if (accept("using")) out->args = using_list({",", ";"});
  } else {
    out->query = sql_until({";"}, ";");
  }
  return out;
}

void Grammar::fetch_direction(Fetch& out) {
  static constexpr struct {
    std::string_view word;
    FetchDirection direction;
    bool counted;
  } kDirections[] = {{"next", FetchDirection::kNext, false},        {"prior", FetchDirection::kPrior, false},
                     {"first", FetchDirection::kFirst, false},      {"last", FetchDirection::kLast, false},
                     {"absolute", FetchDirection::kAbsolute, true}, {"relative", FetchDirection::kRelative, true},
                     {"forward", FetchDirection::kForward, true},   {"backward", FetchDirection::kBackward, true}};
  const bool named = is_word("into", 1) || is_op(";", 1);  // a cursor of that name
  bool counted = !named && peek().kind != TokenKind::kWord && peek().kind != TokenKind::kQuotedIdentifier;
  if (counted) out.direction = FetchDirection::kForward;
  for (const auto& known : kDirections) {
    if (named || counted || !is_word(known.word)) continue;
    advance();
    out.direction = known.direction;
    counted = known.counted && !is_word("from") && !is_word("in");
    // FORWARD c: no count, the cursor follows
    if (is_word("into", 1) || is_op(";", 1)) counted = false;
    break;
  }
  if (!named && accept("all")) {
    out.all = true;
    if (out.direction == FetchDirection::kNext) out.direction = FetchDirection::kForward;
  } else if (counted) {
    out.count = expression_until({"from", "in"}, "FROM");
  }
  if (!accept("from")) accept("in");
}

StatementPtr Grammar::fetch(bool move) {
  auto out = make_statement<Fetch>(peek().begin, line_of(peek().begin));
  advance();
  out->move = move;
  fetch_direction(*out);
  out->cursor = target();
  if (!move) {
    expect("into");
    if (!failed()) into(out->into);
  }
  return out;
}

StatementPtr Grammar::close() {
  auto out = make_statement<Close>(peek().begin, line_of(peek().begin));
  advance();
  out->cursor = target();
  return out;
}

}  // namespace scyper::query::plpgsql
