#include "parse/sql_parser.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "base/failpoint.h"
#include "base/internal_error.h"
#include "base/invariant.h"
#include "parse/scanner.h"
#include "parse/text.h"
//
#include "parse/converter.h"

namespace scyper::query {

namespace {

Failpoint parse_breaks("parse.breaks"), parse_throws("parse.throws");

// What was parsed: `prefix` bytes of ours, then the piece.
struct Parsed {
  const std::string& text;
  int32_t prefix;
  Piece piece;

  Status error(std::string_view sqlstate, std::string_view message, int32_t raw_offset) const {
    if (raw_offset < 0) return sql_error(sqlstate, message);
    const int32_t in_piece = std::clamp(raw_offset - prefix, 0, static_cast<int32_t>(piece.text.size()));
    return error_at(sqlstate, message, piece.whole, piece.offset + in_piece);
  }
};

// PostgreSQL's raw tree of one text, alive as long as this object.
class RawTree {
 public:
  explicit RawTree(const std::string& text)
      : context_(pg_query_enter_memory_context()), result_(pg_query_raw_parse(text.c_str())) {}
  ~RawTree() {
    if (result_.error != nullptr) pg_query_free_error(result_.error);
    free(result_.stderr_buffer);
    pg_query_exit_memory_context(context_);
  }
  RawTree(const RawTree&) = delete;
  RawTree& operator=(const RawTree&) = delete;

  const PgQueryError* error() const { return result_.error; }
  const List* statements() const { return result_.tree; }

 private:
  MemoryContext context_;
  PgQueryInternalParsetreeAndError result_;
};

// libpg_query hands out PostgreSQL's message but not its SQLSTATE; these are the grammar's ereports that differ from
// 42601.
constexpr struct {
  std::string_view words;
  std::string_view sqlstate;
} kSqlstates[] = {
    {"LIMIT #,# syntax is not supported", "42601"},
    {"not yet implemented", "0A000"},
    {"not implemented", "0A000"},
    {"not supported", "0A000"},
    {"no longer supported", "0A000"},
    {"cannot be marked", "0A000"},
    {"cannot have output arguments", "0A000"},
    {"unsafe use of string constant with Unicode escapes", "0A000"},
    {"unsafe use of \\' in a string literal", "22P06"},
    {"precision for type float", "22023"},
    {"unrecognized partitioning strategy", "22023"},
    {"frame start", "42P20"},
    {"frame end", "42P20"},
    {"frame starting from", "42P20"},
    {"invalid byte sequence", "22021"},
    {"out of memory", "53200"},
};

Status raw_error(const PgQueryError& error, const Parsed& parsed) {
  const std::string_view message = error.message;
  if (message.find("memory exhausted") != std::string_view::npos ||  // the depth of bison's stack
      message.find("stack depth") != std::string_view::npos) {
    return depth_error();
  }
  std::string_view sqlstate = "42601";
  for (const auto& known : kSqlstates) {
    if (message.find(known.words) == std::string_view::npos) continue;
    sqlstate = known.sqlstate;
    break;
  }
  const int32_t offset = error.cursorpos > 0 ? byte_offset_of(parsed.text, error.cursorpos) : -1;
  if (message == "invalid Unicode escape" && offset >= 0) {  // of E'\u...' or of U&'\...'
    const std::string_view escape = std::string_view(parsed.text).substr(static_cast<size_t>(offset), 2);
    sqlstate = escape == "\\u" || escape == "\\U" ? "22025" : "42601";
  }
  return parsed.error(sqlstate, message, offset);
}

Status converter_error(const Converter& converter, const Parsed& parsed) {
  if (converter.sqlstate() == "54001") return depth_error();
  return parsed.error(converter.sqlstate(), converter.message(), converter.raw_location());
}

Status check_text(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return with_detail(sql_error("54000", "statement is too long"),
                       "The limit is " + std::to_string(kMaxTextBytes) + " bytes.");
  }
  return check_utf8(text);
}

bool is_word(const Token& token, std::string_view word) {
  return token.kind == TokenKind::kWord && value_of(token) == word;
}

// A statement that begins here is of hot data views.
bool starts_hot_data(std::span<const Token> tokens) {
  return tokens.size() >= 4 && (is_word(tokens[0], "create") || is_word(tokens[0], "drop")) &&
         is_word(tokens[1], "hot") && is_word(tokens[2], "data") && is_word(tokens[3], "view");
}

// What is ours in words of PostgreSQL's grammar, each at its place; the converter looks into the original.
// `row` is a word that it does not take as an option's value, `column` is: 'r', as long as row, in place of it. Blanks
// in place of HOT DATA.
std::string without_own_words(const std::string& text) {
  std::string known = text;
  const auto tokens = scan(text);
  if (!tokens.ok()) return known;
  const auto replace = [&](const Token& token, const std::string& by) {
    known.replace(static_cast<size_t>(token.begin), by.size(), by);
  };
  for (size_t i = 0; i < tokens->size(); ++i) {
    const std::span<const Token> rest = std::span(*tokens).subspan(i);
    if (i >= 2 && is_word(rest[0], "row") && (*tokens)[i - 1].text == "=" && value_of((*tokens)[i - 2]) == "layout") {
      replace(rest[0], "'r'");
    }
    if ((i == 0 || (*tokens)[i - 1].text == ";") && starts_hot_data(rest)) {
      replace(rest[1], "   ");
      replace(rest[2], "    ");
    }
  }
  return known;
}

bool is_of_own_words(const PgQueryError& error) {
  const std::string message = fold_identifier(error.message);
  return message == "syntax error at or near \"row\"" || message == "syntax error at or near \"hot\"";
}

// `text`: the statement's, as it was written. Their names have no schema: returns where one has, -1 = none.
int32_t mark_hot_data(std::string_view text, ast::Statement* statement) {
  const auto tokens = scan(text);
  if (!tokens.ok() || !starts_hot_data(*tokens)) return -1;
  const bool is_create = statement->kind == ast::StatementKind::kCreateView;
  if (is_create) {
    ast::node_as<ast::CreateViewStatement>(*statement).is_hot_data = true;
  } else {
    auto& drop = ast::node_as<ast::DropStatement>(*statement);
    drop.is_hot_data = true;
    drop.object_name = "HOT DATA VIEW";
  }
  constexpr size_t kBehindName = 5;
  for (size_t i = kBehindName; i < (is_create ? kBehindName + 1 : tokens->size()); ++i) {
    if ((*tokens)[i].text == ".") return (*tokens)[i].begin;
  }
  return -1;
}

StatusOr<std::vector<ast::StatementPtr>> parse_all(const Parsed& parsed, std::string_view original) {
  const RawTree raw(parsed.text);
  if (raw.error() != nullptr) {
    if (original.empty() && is_of_own_words(*raw.error())) {
      const std::string known = without_own_words(parsed.text);
      if (known != parsed.text) return parse_all(Parsed{known, parsed.prefix, parsed.piece}, parsed.text);
    }
    return raw_error(*raw.error(), parsed);
  }
  Converter converter(parsed.text, parsed.piece.offset, original, parsed.piece.whose);
  std::vector<ast::StatementPtr> out;
  for (const Node* statement : items(raw.statements())) {
    out.push_back(converter.top_statement(to<RawStmt>(statement)));
    if (converter.failed()) return converter_error(converter, parsed);
    if (original.empty()) continue;
    ast::Statement* made = out.back().get();
    const int32_t begin = made->location - parsed.piece.offset;
    const auto length = static_cast<size_t>(made->length);
    const int32_t dot = mark_hot_data(original.substr(static_cast<size_t>(begin), length), made);
    if (dot >= 0) return parsed.error("42601", "syntax error at or near \".\"", begin + dot);
  }
  return out;
}

// The only statement of the tree, a SELECT; nullptr otherwise.
const SelectStmt* only_select(const RawTree& raw) {
  if (length_of(raw.statements()) != 1) return nullptr;
  const Node* statement = to<RawStmt>(node_at(raw.statements(), 0)).stmt;
  return statement != nullptr && nodeTag(statement) == T_SelectStmt ? &to<SelectStmt>(statement) : nullptr;
}

Status unexpected_end(const Parsed& parsed, const RawTree& raw) {
  if (length_of(raw.statements()) > 1) {
    const RawStmt& first = to<RawStmt>(node_at(raw.statements(), 0));
    return parsed.error("42601", "syntax error at or near \";\"", first.stmt_location + first.stmt_len);
  }
  return parsed.error("42601", "syntax error at end of input", static_cast<int32_t>(parsed.text.size()));
}

StatusOr<ast::ExprPtr> expression_of(const Piece& piece, bool allow_query) {
  constexpr std::string_view kPrefix = "SELECT ";
  std::string text(kPrefix);
  text += piece.text;
  const Parsed parsed{text, static_cast<int32_t>(kPrefix.size()), piece};
  const RawTree raw(text);
  if (raw.error() != nullptr) return raw_error(*raw.error(), parsed);
  const SelectStmt* select = only_select(raw);
  if (select == nullptr || (select->op == SETOP_NONE && length_of(select->targetList) == 0)) {
    return unexpected_end(parsed, raw);
  }
  Converter converter(text, piece.offset - parsed.prefix, {}, piece.whose);
  ast::ExprPtr out = converter.only_target(*select, allow_query);
  if (converter.failed()) return converter_error(converter, parsed);
  return out;
}

}  // namespace

StatusOr<std::vector<ast::StatementPtr>> parse_sql(std::string_view text, TextOf whose) {
  SCYPER_RETURN_IF_ERROR(check_text(text));
  return contained(Phase::kParsing, text, [&] {
    INVARIANT(!parse_breaks.fires());
    if (parse_throws.fires()) throw std::out_of_range("failpoint parse.throws");
    const std::string copy(text);  // ends in a zero byte
    return parse_all(Parsed{copy, 0, Piece{text, text, 0, whose}}, {});
  });
}

StatusOr<ast::StatementPtr> parse_statement(const Piece& piece) {
  const std::string copy(piece.text);
  const Parsed parsed{copy, 0, piece};
  SCYPER_ASSIGN_OR_RETURN(auto statements,
                          contained(Phase::kParsing, piece.text, [&] { return parse_all(parsed, {}); }));
  if (statements.size() != 1) {
    const int32_t end = statements.empty() ? 0 : statements[0]->location - piece.offset + statements[0]->length;
    return parsed.error("42601", statements.empty() ? "syntax error at end of input" : "syntax error at or near \";\"",
                        end);
  }
  return std::move(statements[0]);
}

StatusOr<ast::ExprPtr> parse_expression(std::string_view text, TextOf whose) {
  SCYPER_RETURN_IF_ERROR(check_text(text));
  return contained(Phase::kParsing, text, [&] { return expression_of(Piece{text, text, 0, whose}, false); });
}

StatusOr<ast::ExprPtr> parse_expression(const Piece& piece) {
  return contained(Phase::kParsing, piece.text, [&] { return expression_of(piece, true); });
}

namespace {
StatusOr<ast::TypeName> type_of(const Piece& piece) {
  constexpr std::string_view kPrefix = "SELECT CAST(NULL AS ";
  std::string text(kPrefix);
  text += piece.text;
  text += "\n)";
  const Parsed parsed{text, static_cast<int32_t>(kPrefix.size()), piece};
  const RawTree raw(text);
  if (raw.error() != nullptr) return raw_error(*raw.error(), parsed);
  const SelectStmt* select = only_select(raw);
  const bool one = select != nullptr && length_of(select->targetList) == 1 && is_bare_select(*select);
  const Node* target = one ? to<ResTarget>(node_at(select->targetList, 0)).val : nullptr;
  if (target == nullptr || nodeTag(target) != T_TypeCast || nodeTag(to<TypeCast>(target).arg) != T_A_Const ||
      !to<A_Const>(to<TypeCast>(target).arg).isnull) {
    return parsed.error("42601", "invalid type name \"" + std::string(piece.text) + "\"", parsed.prefix);
  }
  Converter converter(text, piece.offset - parsed.prefix, {}, TextOf::kUser);
  ast::TypeName out = converter.type_name(to<TypeCast>(target).typeName);
  if (converter.failed()) return converter_error(converter, parsed);
  return out;
}
}  // namespace

StatusOr<ast::TypeName> parse_type(const Piece& piece) {
  return contained(Phase::kParsing, piece.text, [&] { return type_of(piece); });
}

StatusOr<std::string> normalize_sql(std::string_view text) {
  // libpg_query walks the tree without a bound of its own: only trees that parse_sql accepts
  if (const auto parsed = parse_sql(text); !parsed.ok()) return parsed.status();
  const PgQueryNormalizeResult result = pg_query_normalize(std::string(text).c_str());
  StatusOr<std::string> out = std::string();
  if (result.error != nullptr) {
    out = sql_error("42601", result.error->message);
  } else {
    out = std::string(result.normalized_query);
  }
  pg_query_free_normalize_result(result);
  return out;
}

StatusOr<uint64_t> fingerprint_sql(std::string_view text) {
  if (const auto parsed = parse_sql(text); !parsed.ok()) return parsed.status();
  const PgQueryFingerprintResult result = pg_query_fingerprint(std::string(text).c_str());
  StatusOr<uint64_t> out = result.fingerprint;
  if (result.error != nullptr) out = sql_error("42601", result.error->message);
  pg_query_free_fingerprint_result(result);
  return out;
}

}  // namespace scyper::query
