#include "query/tracked_cursor.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/ignoring_case.h"
#include "base/object_name.h"
#include "compile/search_path.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "query/catalog.h"
#include "query/search_path.h"
#include "storage/row_values.h"

namespace scyper::query {

namespace {

using ast::node_if;

// The only statement of the text; null: there is none, or it is wrong.
ast::StatementPtr only_statement(const Catalog& catalog, std::string_view text, std::string_view* sql) {
  std::vector<std::string> search_path;
  *sql = take_search_path(text, &search_path);
  auto statements = parse_in(catalog, search_path, *sql);
  return statements.ok() && statements->size() == 1 ? std::move((*statements)[0]) : nullptr;
}

std::string name_in_query(const ast::TableRef& table) {
  return table.alias.name.empty() ? std::string(bare_name(table.name.back())) : table.alias.name;
}

// The tables that FROM names itself; false: their columns cannot be named so, or there is something else, too.
bool add_tables(const ast::FromItem& item, std::vector<const ast::TableRef*>* tables) {
  if (const auto* table = node_if<ast::FromTable>(&item)) {
    tables->push_back(&table->table);
    return table->table.alias.columns.empty();  // else its columns have other names
  }
  const auto* join = node_if<ast::FromJoin>(&item);
  return join != nullptr && join->alias.name.empty() && add_tables(*join->left, tables) &&
         add_tables(*join->right, tables);
}

// One row of the query is one row of each of its tables.
bool keeps_rows(const ast::SelectStatement& select) {
  return select.set == ast::SetOperation::kNone && select.values.empty() && !select.distinct && !select.into &&
         select.group_by.empty() && select.having == nullptr && select.windows.empty() && !select.targets.empty() &&
         !select.from.empty();
}

bool is_word(const Token& token, std::string_view word) {
  return token.kind == TokenKind::kWord && value_of(token) == word;
}

// Where the query's own FROM begins.
std::optional<size_t> find_from(std::string_view sql) {
  const auto tokens = scan(sql);
  if (!tokens.ok()) return std::nullopt;
  int depth = 0;
  for (size_t i = 0; i < tokens->size(); i++) {
    const Token& token = (*tokens)[i];
    depth += token.text == "(" || token.text == "[" ? 1 : token.text == ")" || token.text == "]" ? -1 : 0;
    if (depth == 0 && is_word(token, "from") && (i == 0 || !is_word((*tokens)[i - 1], "distinct")))
      return static_cast<size_t>(token.begin);
  }
  return std::nullopt;
}

// A primary key, or the number that rows without one have.
std::vector<std::string> identity_of(const storage::TableSchema& schema) {
  std::vector<std::string> columns;
  if (schema.has_row_id) return {"ctid"};
  for (const uint32_t column : storage::identity_columns(schema))
    columns.push_back(quote_identifier(schema.columns[column].name));
  return columns;
}

}  // namespace

TrackedQuery track_rows(const Catalog& catalog, std::string_view text) {
  std::string_view sql;
  const ast::StatementPtr statement = only_statement(catalog, text, &sql);
  TrackedQuery tracked;
  tracked.sql = std::string(sql);
  const auto* select = statement == nullptr ? nullptr : node_if<ast::SelectStatement>(statement.get());
  if (select == nullptr || !keeps_rows(*select)) return tracked;
  std::vector<const ast::TableRef*> refs;
  for (const auto& item : select->from)
    if (!add_tables(*item, &refs)) return tracked;
  if (select->locking.empty() && refs.size() > 1) return tracked;  // as PostgreSQL has it
  const auto is_common = [&](const std::string& name) {
    return std::any_of(select->with.tables.begin(), select->with.tables.end(),
                       [&](const auto& table) { return table.name == name; });
  };
  std::string added;
  for (const ast::TableRef* ref : refs) {
    const auto table = is_common(ref->name.back()) ? nullptr : catalog.find_table(ref->name.back());
    if (table == nullptr) continue;
    const auto is_it = [&](const TrackedTable& known) { return known.name == ref->name.back(); };
    const auto known = std::find_if(tracked.tables.begin(), tracked.tables.end(), is_it);
    if (known != tracked.tables.end()) {
      known->is_ambiguous = true;
      continue;
    }
    TrackedTable& entry = tracked.tables.emplace_back();
    entry.name = ref->name.back();
    entry.columns = identity_of(table->schema());
    entry.first = tracked.added;
    tracked.added += entry.columns.size();
    for (const std::string& column : entry.columns)
      absl::StrAppend(&added, ", ", quote_identifier(name_in_query(*ref)), ".", column);
  }
  const auto from = find_from(sql);
  if (!from.has_value()) tracked.tables.clear();
  if (tracked.tables.empty()) return tracked;
  tracked.sql.insert(*from, added + " ");
  return tracked;
}

bool mentions_current(std::string_view text) {
  constexpr std::string_view kWord = "current";
  for (size_t at = find_ignoring_case(text, kWord); at != text.npos; at = find_ignoring_case(text, kWord, at + 1)) {
    if (at + kWord.size() == text.size()) return false;
    const auto next = static_cast<unsigned char>(text[at + kWord.size()]);
    if (absl::ascii_isspace(next) || next == '/' || next == '-') return true;  // not current_timestamp
  }
  return false;
}

std::optional<CurrentOf> find_current_of(const Catalog& catalog, std::string_view text) {
  if (!mentions_current(text)) return std::nullopt;
  std::string_view sql;
  const ast::StatementPtr statement = only_statement(catalog, text, &sql);
  if (statement == nullptr) return std::nullopt;
  const auto* update = node_if<ast::UpdateStatement>(statement.get());
  const auto* remove = node_if<ast::DeleteStatement>(statement.get());
  if (update == nullptr && remove == nullptr) return std::nullopt;
  const ast::Expr* where = update != nullptr ? update->where.get() : remove->where.get();
  const ast::TableRef& table = update != nullptr ? update->table : remove->table;
  if (where == nullptr || where->kind != ast::ExprKind::kCurrentOf) return std::nullopt;
  if (catalog.find_table(table.name.back()) == nullptr) return std::nullopt;  // the binder says what it is
  const auto tokens = scan(sql);
  if (!tokens.ok()) return std::nullopt;
  CurrentOf found;
  found.cursor = ast::node_as<ast::CurrentOf>(*where).cursor;
  found.table = table.name.back();
  found.alias = quote_identifier(name_in_query(table));
  int depth = 0;
  for (size_t i = 0; i + 3 < tokens->size(); i++) {
    const Token& token = (*tokens)[i];
    depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
    if (depth != 0 || !is_word(token, "where") || !is_word((*tokens)[i + 1], "current") ||
        !is_word((*tokens)[i + 2], "of"))
      continue;
    found.begin = static_cast<size_t>((*tokens)[i + 1].begin);
    found.end = static_cast<size_t>((*tokens)[i + 3].end);
    return found;
  }
  return std::nullopt;
}

}  // namespace scyper::query
