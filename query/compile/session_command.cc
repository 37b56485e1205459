#include "query/session_command.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/object_numbers.h"
#include "compile/statement_kind.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "parse/setting_text.h"
#include "parse/sql_parser.h"
#include "parse/type_resolver.h"
#include "query/catalog.h"
#include "query/refused_in_blocks.h"
#include "query/type_numbers.h"

namespace scyper::query {

namespace {

void read_modes(const std::vector<ast::Option>& modes, SessionCommand* out) {
  for (const ast::Option& mode : modes) {
    if (mode.name == "transaction_isolation") out->isolation = mode.value;
    if (mode.name == "transaction_deferrable") out->is_deferrable = mode.value != "0" && mode.value != "false";
    if (mode.name == "transaction_read_only") out->is_read_only = mode.value != "0" && mode.value != "false";
  }
}

struct Action {
  ast::TransactionAction action;
  CommandKind kind;
  std::string_view tag;
};
constexpr Action kActions[] = {
    {ast::TransactionAction::kBegin, CommandKind::kBegin, "BEGIN"},
    {ast::TransactionAction::kCommit, CommandKind::kCommit, "COMMIT"},
    {ast::TransactionAction::kRollback, CommandKind::kRollback, "ROLLBACK"},
    {ast::TransactionAction::kSavepoint, CommandKind::kSavepoint, "SAVEPOINT"},
    {ast::TransactionAction::kRelease, CommandKind::kRelease, "RELEASE"},
    {ast::TransactionAction::kRollbackTo, CommandKind::kRollbackTo, "ROLLBACK"},
};

void read_transaction(const ast::TransactionStatement& statement, SessionCommand* out) {
  for (const Action& action : kActions) {
    if (action.action != statement.action) continue;
    out->kind = action.kind;
    out->tag = action.tag;
    out->name = statement.name;
    out->is_chained = statement.chain;
    read_modes(statement.modes, out);
    if (action.kind == CommandKind::kBegin && absl::StartsWithIgnoreCase(out->text, "start"))
      out->tag = "START TRANSACTION";
  }
}

void read_set(const ast::SetStatement& statement, SessionCommand* out) {
  out->name = absl::AsciiStrToLower(statement.name);
  out->is_local = statement.local;
  out->tag = "SET";
  switch (statement.action) {
    case ast::SetAction::kSet:
    case ast::SetAction::kSetDefault:
    case ast::SetAction::kFromCurrent:
      out->kind = CommandKind::kSet;
      out->values = setting_values(statement);
      if (out->name == "search_path" && !out->values.empty()) out->values = {setting_value(statement)};
      return;
    case ast::SetAction::kSetTransaction:
      out->kind = CommandKind::kSetModes;
      return read_modes(statement.modes, out);
    case ast::SetAction::kReset:
    case ast::SetAction::kResetAll:
      out->kind = CommandKind::kReset;
      out->tag = "RESET";
      if (statement.action == ast::SetAction::kResetAll) out->name = "all";
      return;
  }
}

// The words of a statement that the grammar has accepted.
class Words {
 public:
  explicit Words(const std::vector<Token>* tokens) : tokens_(tokens) {}
  // Takes the next token if it is that keyword.
  bool take(std::string_view word) {
    if ((*tokens_)[at_].kind != TokenKind::kWord || value_of((*tokens_)[at_]) != word) return false;
    at_++;
    return true;
  }
  std::string take_name() { return value_of((*tokens_)[at_++]); }
  const Token& next() const { return (*tokens_)[at_]; }
  bool is_end() const { return (*tokens_)[at_].kind == TokenKind::kEnd || (*tokens_)[at_].text == ";"; }
  void skip() { at_++; }
  // A number with its sign.
  std::optional<int64_t> take_number() {
    const bool is_negative = (*tokens_)[at_].text == "-", is_signed = is_negative || (*tokens_)[at_].text == "+";
    const Token& token = (*tokens_)[at_ + (is_signed ? 1 : 0)];
    int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    if (token.kind != TokenKind::kNumber || std::from_chars(token.text.data(), end, value).ptr != end)
      return std::nullopt;
    at_ += is_signed ? 2 : 1;
    return is_negative ? -value : value;
  }

 private:
  const std::vector<Token>* tokens_;
  size_t at_ = 0;
};

// The rest of the text from there on, in its place.
std::string body_at(std::string_view text, size_t begin) {
  std::string body;
  for (char c : text.substr(0, begin))
    if ((c & 0xC0) != 0x80) body += c == '\n' ? '\n' : ' ';
  return body.append(text.substr(begin));
}

// DECLARE name options CURSOR [WITH | WITHOUT HOLD] FOR query
void read_declare(Words words, SessionCommand* out) {
  out->kind = CommandKind::kDeclare;
  out->tag = "DECLARE CURSOR";
  words.skip();
  out->name = words.take_name();
  while (!words.take("cursor")) {
    const bool is_no = words.take("no");
    if (words.take("scroll"))
      out->is_scrolling = !is_no;
    else
      words.skip();
  }
  if (words.take("with"))
    out->is_held = words.take("hold");
  else if (words.take("without"))
    words.skip();
  words.take("for");
  out->body = body_at(out->text, static_cast<size_t>(words.next().begin));
}

// FETCH | MOVE [direction] [FROM | IN] name
void read_fetch(Words words, SessionCommand* out) {
  using Direction = FetchCommand::Direction;
  FetchCommand& fetch = out->fetch;
  out->kind = CommandKind::kFetch;
  fetch.is_move = words.take("move");
  if (!fetch.is_move) words.skip();
  out->tag = fetch.is_move ? "MOVE" : "FETCH";
  const Words before = words;  // a cursor may be called as a direction is
  auto count = [&] {
    if (words.take("all")) return INT64_MAX;
    return words.take_number().value_or(1);
  };
  if (words.take("next")) {
  } else if (words.take("prior")) {
    fetch.direction = Direction::kBackward;
  } else if (words.take("first")) {
    fetch.direction = Direction::kAbsolute;
  } else if (words.take("last")) {
    fetch.direction = Direction::kAbsolute;
    fetch.count = -1;
  } else if (words.take("absolute") || words.take("relative")) {
    Words start = before;
    fetch.direction = start.take("absolute") ? Direction::kAbsolute : Direction::kRelative;
    fetch.count = count();
  } else if (words.take("backward")) {
    fetch.direction = Direction::kBackward;
    fetch.count = count();
  } else {
    words.take("forward");
    fetch.count = count();
  }
  if (!words.take("from")) words.take("in");
  if (words.is_end()) {
    fetch = {Direction::kForward, 1, fetch.is_move};
    words = before;
  }
  out->name = words.take_name();
}

// What the tree does not carry.
void read_words(const std::string& command, SessionCommand* out) {
  if (command.starts_with("DISCARD") || command == "UNLISTEN") {
    out->kind = CommandKind::kDiscard;
    out->tag = command;
    return;
  }
  if (command == "SET CONSTRAINTS") out->name = "constraints";
  if (command == "LOCK TABLE") out->name = command;
  const auto tokens = scan(out->text);
  if (!tokens.ok()) return;
  Words words(&*tokens);
  if (command == "DECLARE CURSOR") return read_declare(words, out);
  if (command == "FETCH" || command == "MOVE") return read_fetch(words, out);
  if (command != "CLOSE") return;
  out->kind = CommandKind::kClose;
  words.skip();
  const bool is_all = words.take("all") && words.is_end();
  out->tag = is_all ? "CLOSE CURSOR ALL" : "CLOSE CURSOR";
  if (is_all) return;
  words = Words(&*tokens);
  words.skip();
  out->name = words.take_name();
}

// LOCK TABLE ... IN ACCESS SHARE MODE or ROW SHARE MODE holds nothing up that a snapshot would notice, nor does a
// transaction that is READ ONLY: a query that looks whether the tables are there does the same.
void read_lock(const std::string& stands_for, SessionCommand* out) {
  constexpr std::string_view kLock = "\" lock_advisory_all\"(), ";
  const auto tokens = scan(out->text);
  if (!tokens.ok() || !stands_for.starts_with(kLock)) return;
  std::vector<std::string> words;
  for (const Token& token : *tokens)
    if (token.kind == TokenKind::kWord) words.push_back(value_of(token));
  out->body = absl::StrCat("SELECT ", stands_for.substr(kLock.size()));
  for (size_t i = 0; i + 3 < words.size(); ++i) {
    const bool is_share = words[i] == "in" && words[i + 2] == "share" && words[i + 3] == "mode";
    if (is_share && (words[i + 1] == "access" || words[i + 1] == "row")) out->values = {words[i + 1] + " share"};
  }
}

Status read_prepare(const ast::PrepareStatement& prepare, SessionCommand* out) {
  out->kind = CommandKind::kPrepare;
  out->tag = "PREPARE";
  out->name = prepare.name;
  for (const ast::TypeName& type : prepare.types) {
    std::string& name = out->parameter_types.emplace_back();
    if (const auto number = catalog_type(type); number.has_value()) {  // oid and its kin
      name = type_name(make_type(number->id));
      continue;
    }
    const auto resolved = resolve_type(type, out->text);
    if (!resolved.ok() && sqlstate_of(resolved.status()) != "42704") return resolved.status();
    if (resolved.ok()) {
      if (resolved->id != TypeId::kUnknown) name = type_name(*resolved);
      continue;
    }
    for (const std::string& part : type.name)  // the catalog knows it
      absl::StrAppend(&name, name.empty() ? "" : ".", quote_identifier(part));
    if (!type.array_bounds.empty()) name += "[]";
  }
  SCYPER_ASSIGN_OR_RETURN(auto tokens, scan(out->text));
  int depth = 0;
  for (const Token& token : tokens) {
    depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
    if (depth != 0 || token.kind != TokenKind::kWord || value_of(token) != "as") continue;
    out->body = body_at(out->text, static_cast<size_t>(token.end));
    break;
  }
  return {};
}

bool locks_rows(const ast::Statement& statement);

bool locks_rows(const ast::FromItem& item) {
  if (const auto* subquery = ast::node_if<ast::FromSubquery>(&item)) return locks_rows(*subquery->subquery);
  const auto* join = ast::node_if<ast::FromJoin>(&item);
  return join != nullptr && (locks_rows(*join->left) || locks_rows(*join->right));
}

// In the query itself, its common tables and its FROM.
bool locks_rows(const ast::Statement& statement) {
  const auto* select = ast::node_if<ast::SelectStatement>(&statement);
  if (select == nullptr) return false;
  return !select->locking.empty() ||
         std::any_of(select->with.tables.begin(), select->with.tables.end(),
                     [](const auto& table) { return locks_rows(*table.statement); }) ||
         std::any_of(select->from.begin(), select->from.end(), [](const auto& item) { return locks_rows(*item); });
}

// CREATE TABLE ... AS EXECUTE: a server that keeps prepared statements puts the statement there.
Status read_execute(const ast::ExecuteStatement& execute, SessionCommand* out) {
  out->name = execute.name;
  for (const auto& arg : execute.args) out->values.push_back(to_sql(*arg));
  SCYPER_ASSIGN_OR_RETURN(const auto tokens, scan(out->text));
  const auto is_word = [&](size_t i, std::string_view word) {
    return tokens[i].kind == TokenKind::kWord && value_of(tokens[i]) == word;
  };
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (!is_word(i, "as") || !is_word(i + 1, "execute")) continue;
    size_t last = i + 2;  // the name, then perhaps (values)
    if (last + 1 < tokens.size() && tokens[last + 1].text == "(") {
      int depth = 0;
      do {
        ++last;
        depth += tokens[last].text == "(" ? 1 : tokens[last].text == ")" ? -1 : 0;
      } while (depth > 0 && last + 1 < tokens.size());
    }
    out->execute.emplace(static_cast<size_t>(tokens[i + 1].begin), static_cast<size_t>(tokens[last].end));
  }
  return {};
}

Status read_command(const ast::Statement& statement, SessionCommand* out) {
  if (const auto* prepare = ast::node_if<ast::PrepareStatement>(&statement)) return read_prepare(*prepare, out);
  if (const auto* transaction = ast::node_if<ast::TransactionStatement>(&statement)) {
    read_transaction(*transaction, out);
  } else if (const auto* set = ast::node_if<ast::SetStatement>(&statement)) {
    read_set(*set, out);
  } else if (const auto* show = ast::node_if<ast::ShowStatement>(&statement)) {
    out->kind = CommandKind::kShow;
    out->tag = "SHOW";
    out->name = absl::AsciiStrToLower(show->name);
  } else if (const auto* deallocate = ast::node_if<ast::DeallocateStatement>(&statement)) {
    out->kind = CommandKind::kDeallocate;
    out->tag = deallocate->name.empty() ? "DEALLOCATE ALL" : "DEALLOCATE";
    out->name = deallocate->name;
  } else if (const auto* execute = ast::node_if<ast::ExecuteStatement>(&statement)) {
    out->kind = CommandKind::kExecute;
    out->name = execute->name;
    for (const auto& arg : execute->args) out->values.push_back(to_sql(*arg));
  } else if (const auto* create = ast::node_if<ast::CreateTableAsStatement>(&statement);
             create != nullptr && ast::node_if<ast::ExecuteStatement>(create->query.get()) != nullptr) {
    return read_execute(ast::node_as<ast::ExecuteStatement>(*create->query), out);
  } else if (const auto* copy = ast::node_if<ast::CopyStatement>(&statement)) {
    if (copy->file.empty()) out->kind = copy->from ? CommandKind::kCopyIn : CommandKind::kCopyOut;
  } else if (const auto* unsupported = ast::node_if<ast::UnsupportedStatement>(&statement)) {
    read_words(unsupported->command, out);
    if (unsupported->command == "LOCK TABLE") read_lock(unsupported->stands_for, out);
  } else if (const auto* database = ast::node_if<ast::DatabaseStatement>(&statement)) {
    if (database->action == ast::DatabaseAction::kDrop) {
      out->name = "DROP DATABASE";
      out->values = {database->name};
    }
  } else if (asks_for_rows(statement)) {
    out->kind = CommandKind::kQuery;
    out->locks_rows = locks_rows(statement);
  }
  return {};
}

}  // namespace

StatusOr<std::vector<SessionCommand>> read_commands(std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql));
  std::vector<SessionCommand> commands(statements.size());
  for (size_t i = 0; i < statements.size(); ++i) {
    const ast::Statement& statement = *statements[i];
    commands[i].offset = static_cast<size_t>(std::max(0, statement.location));
    commands[i].text = sql.substr(commands[i].offset, statement.length > 0 ? static_cast<size_t>(statement.length)
                                                                           : sql.size() - commands[i].offset);
    SCYPER_RETURN_IF_ERROR(read_command(statement, &commands[i]));
  }
  return commands;
}

std::string command_refused_in_block(std::string_view sql) {
  constexpr std::string_view kOthers[] = {"VACUUM", "ALTER SYSTEM", "CREATE TABLESPACE", "DROP TABLESPACE"};
  const std::string text = absl::AsciiStrToLower(absl::string_view(sql.data(), sql.size()));
  const auto mentions = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (!mentions("concurrently") && !mentions("vacuum") && !mentions("database") && !mentions("system") &&
      !mentions("tablespace"))
    return "";
  const auto statements = parse_sql(sql);
  if (!statements.ok() || statements->size() != 1) return "";
  const ast::Statement& statement = *(*statements)[0];
  if (const auto* other = ast::node_if<ast::UnsupportedStatement>(&statement))
    return std::find(std::begin(kOthers), std::end(kOthers), other->command) != std::end(kOthers) ? other->command : "";
  if (const auto* database = ast::node_if<ast::DatabaseStatement>(&statement)) {
    if (database->action == ast::DatabaseAction::kCreate) return "CREATE DATABASE";
    return database->action == ast::DatabaseAction::kDrop ? "DROP DATABASE" : "";
  }
  const auto* create = ast::node_if<ast::CreateIndexStatement>(&statement);
  if (create != nullptr && create->concurrently) return "CREATE INDEX CONCURRENTLY";
  const auto* drop = ast::node_if<ast::DropStatement>(&statement);
  return drop != nullptr && drop->concurrently ? "DROP INDEX CONCURRENTLY" : "";
}

bool reads_sequence(const Catalog& catalog, std::string_view sql) {
  if (sql.find('(') != std::string_view::npos) return false;
  const auto statements = parse_sql(sql);
  if (!statements.ok() || statements->size() != 1) return false;
  const auto* select = ast::node_if<ast::SelectStatement>((*statements)[0].get());
  if (select == nullptr || select->from.size() != 1) return false;
  const auto* from = ast::node_if<ast::FromTable>(select->from[0].get());
  if (from == nullptr) return false;
  const ast::Name& name = from->table.name;
  const std::string key = name.size() == 1 ? name[0] : object_key(name[name.size() - 2], name.back());
  return catalog.sequences.count(key) != 0;
}

StatusOr<std::string> with_parameter_values(std::string_view sql, const std::vector<std::string>& values) {
  SCYPER_ASSIGN_OR_RETURN(auto tokens, scan(sql));
  std::string out;
  size_t copied = 0;
  for (const Token& token : tokens) {
    size_t number = 0;
    if (token.kind != TokenKind::kParameter) continue;
    const auto [end, error] = std::from_chars(token.text.data() + 1, token.text.data() + token.text.size(), number);
    if (error != std::errc() || number == 0 || number > values.size()) continue;
    const auto begin = static_cast<size_t>(token.begin);
    out.append(sql.substr(copied, begin - copied)).append(values[number - 1]);
    copied = static_cast<size_t>(token.end);
  }
  return std::move(out.append(sql.substr(copied)));
}

StatusOr<std::string> with_parameter_types(std::string_view sql, const std::vector<std::string>& types) {
  SCYPER_ASSIGN_OR_RETURN(auto tokens, scan(sql));
  std::string out;
  size_t copied = 0;
  for (const Token& token : tokens) {
    uint32_t number = 0;
    if (token.kind != TokenKind::kParameter) continue;
    const auto [end, error] = std::from_chars(token.text.data() + 1, token.text.data() + token.text.size(), number);
    if (error != std::errc() || number == 0 || number > types.size() || types[number - 1].empty()) continue;
    const auto begin = static_cast<size_t>(token.begin);
    out.append(sql.substr(copied, begin - copied)).append("(").append(token.text);
    out.append("::").append(types[number - 1]).append(")");
    copied = static_cast<size_t>(token.end);
  }
  out.append(sql.substr(copied));
  return out;
}

}  // namespace scyper::query
