#include "compile/dynamic_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "compile/compiler.h"
#include "compile/transition_scope.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"

namespace scyper::query {

std::string truncate_block(const ast::TruncateStatement& truncate) {
  std::string text = "BEGIN TRUNCATE";
  for (const auto& table : truncate.tables) {
    std::vector<std::string> parts = table.name;
    const std::string key = parts.back();
    parts.back() = std::string(bare_name(key));
    if (schema_of(key) != kPublicSchema) parts.insert(parts.end() - 1, std::string(schema_of(key)));
    absl::StrAppend(&text, &table == &truncate.tables[0] ? " " : ", ");
    for (const std::string& part : parts) absl::StrAppend(&text, &part == &parts[0] ? "" : ".", quote_identifier(part));
  }
  absl::StrAppend(&text, truncate.restart_identity ? " RESTART IDENTITY" : "", truncate.cascade ? " CASCADE" : "",
                  "; END");
  return text;
}

std::vector<std::string> Compiler::split(std::string_view sql) {
  std::vector<std::string> texts;
  const size_t first = sql.find(';');
  if (first == std::string_view::npos || sql.find_first_not_of(" \t\r\n;", first) == std::string_view::npos)
    return texts;
  auto statements = parse_sql(sql);
  if (!statements.ok() || statements->size() < 2) return texts;
  for (const auto& statement : *statements) {
    const auto from = static_cast<size_t>(std::max(0, statement->location));
    texts.emplace_back(sql.substr(from, statement->length > 0 ? static_cast<size_t>(statement->length) : sql.npos));
  }
  return texts;
}

void add_transition_types(std::vector<SqlType>* types) {
  if (const Trigger* trigger = TransitionScope::current(); trigger != nullptr)
    types->insert(types->end(), transition_names(*trigger).size(), make_type(TypeId::kInt8));
}

std::string transition_key() {
  const Trigger* trigger = TransitionScope::current();
  return trigger == nullptr ? std::string() : absl::StrCat("\n", trigger->table, "\n", trigger->name);
}

}  // namespace scyper::query
