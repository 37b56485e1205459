#include "compile/declared_types.h"

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "compile/search_path.h"
#include "query/declared_parameters.h"

namespace scyper::query {

namespace {

constexpr std::string_view kBegin = "\n/*scyper: parameters ";
constexpr std::string_view kEnd = "*/";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// What could end the comment or begin one within it, or be taken for a comma between two types.
bool is_special(char c) { return c == '/' || c == '*' || c == ',' || c == '%'; }

int hex_value(char c) { return static_cast<int>(kHexDigits.find(c)); }

}  // namespace

std::string with_declared_parameters(std::string_view sql, const std::vector<std::string>& types) {
  std::string text(sql);
  if (types.empty()) return text;
  text += kBegin;
  for (size_t i = 0; i < types.size(); i++) {
    if (i > 0) text += ',';
    for (const char c : types[i]) {
      if (!is_special(c)) {
        text += c;
        continue;
      }
      const auto byte = static_cast<unsigned char>(c);
      text += '%';
      text += kHexDigits[byte >> 4];
      text += kHexDigits[byte & 15];
    }
  }
  return text.append(kEnd);
}

std::vector<std::string> declared_parameters_of(std::string_view sql) {
  const size_t begin = sql.ends_with(kEnd) ? sql.rfind(kBegin) : std::string_view::npos;
  if (begin == std::string_view::npos) return {};
  const size_t first = begin + kBegin.size();
  const std::string_view list = sql.substr(first, sql.size() - kEnd.size() - first);
  std::vector<std::string> types(1);
  for (size_t i = 0; i < list.size(); i++) {
    if (list[i] == ',') {
      types.emplace_back();
    } else if (list[i] != '%') {
      types.back() += list[i];
    } else if (i + 2 < list.size() && hex_value(list[i + 1]) >= 0 && hex_value(list[i + 2]) >= 0) {
      types.back() += static_cast<char>(hex_value(list[i + 1]) * 16 + hex_value(list[i + 2]));
      i += 2;
    } else {
      return {};  // somebody else's comment
    }
  }
  return types;
}

// A cast to each of the types says what they are, in the words of the statement's own search_path.
StatusOr<std::vector<SqlType>> declared_types_of(const Catalog& catalog, const std::vector<std::string>& search_path,
                                                 std::string_view sql) {
  const std::vector<std::string> names = declared_parameters_of(sql);
  std::vector<SqlType> types(names.size());
  std::string text;
  for (const std::string& name : names)
    if (!name.empty()) absl::StrAppend(&text, text.empty() ? "SELECT CAST(NULL AS " : ", CAST(NULL AS ", name, ")");
  if (text.empty()) return types;
  const storage::SchemaScope as_of(&catalog.schemas);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_in(catalog, search_path, text, TextOf::kUser));
  const Status no_types = sql_error("42601", "the types of parameters are no types");
  if (statements.size() != 1 || statements[0]->kind != ast::StatementKind::kSelect) return no_types;
  Binder binder(catalog, text);
  auto bound = binder.bind_statement(*statements[0], {});
  if (!bound.ok()) return sql_error(sqlstate_of(bound.status()), std::string(bound.status().message()));
  const std::vector<OutputColumn>& outputs = (*bound)->query->outputs;
  size_t next = 0;
  for (size_t i = 0; i < names.size(); i++) {
    if (names[i].empty()) continue;
    if (next == outputs.size()) return no_types;
    types[i] = without_modifiers(outputs[next++].expr->type);
  }
  return types;
}

}  // namespace scyper::query
