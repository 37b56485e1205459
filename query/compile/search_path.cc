#include "compile/search_path.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/transition_scope.h"
#include "parse/sql_parser.h"
#include "query/named_text.h"
#include "query/role_mark.h"
#include "query/search_path.h"

namespace scyper::query {

namespace {

constexpr std::string_view kCatalogSchema = "pg_catalog";
constexpr char kMark = '\x03', kBetween = '\x04', kZoneMark = '\x05', kNamesMark = '\x06', kRoleMark = '\x07';

// Behind the second of two marks that the text begins with, or all of it.
std::string_view without_marked(char mark, std::string_view text) {
  const size_t end = text.empty() || text[0] != mark ? std::string_view::npos : text.find(mark, 1);
  return end == std::string_view::npos ? text : text.substr(end + 1);
}

std::string_view without_zone(std::string_view text) {
  return without_marked(kZoneMark, without_marked(kRoleMark, text));
}

// SELECT ... INTO table: CREATE TABLE table AS SELECT ...
ast::StatementPtr table_of(ast::StatementPtr statement) {
  auto create = std::make_unique<ast::CreateTableAsStatement>();
  create->location = statement->location;
  create->length = statement->length;
  auto& select = static_cast<ast::SelectStatement&>(*statement);
  select.into = false;
  create->table = std::move(select.into_table);
  create->query = std::move(statement);
  return create;
}

}  // namespace

bool SearchPath::has(NameKind kind, const std::string& key) const {
  const bool is_relation = catalog_.tables.count(key) != 0 || catalog_.views.count(key) != 0;
  switch (kind) {
    case NameKind::kRelation:
      return is_relation || catalog_.sequences.count(key) != 0 || catalog_.index_tables.count(key) != 0;
    case NameKind::kRoutine:
    case NameKind::kCall:
      return catalog_.routines.count(key) != 0;
    case NameKind::kType:
      return is_relation || catalog_.enums.count(key) != 0 || catalog_.domains.count(key) != 0;
    case NameKind::kCreated:
      break;
  }
  return false;
}

std::string SearchPath::key_of(NameKind kind, const std::string& name) const {
  // which function it is depends on the arguments (binder_callee.cc)
  if (kind == NameKind::kCall && Binder::is_builtin_function(name)) return name;
  if (const Trigger* trigger = TransitionScope::current(); trigger != nullptr && kind == NameKind::kRelation)
    if (name == trigger->old_table || name == trigger->new_table) return name;
  for (const std::string& schema : schemas_) {
    if (schema == kCatalogSchema) continue;
    const std::string key = object_key(schema, name);
    const bool exists =
        schema == kPublicSchema || (catalog_.namespaces.count(schema) != 0 && !is_temporary_schema(schema));
    if (kind == NameKind::kCreated ? exists : has(kind, key)) return key;
  }
  if (kind == NameKind::kCreated) return object_key(kNoSchema, name);
  const bool sees_public = std::find(schemas_.begin(), schemas_.end(), kPublicSchema) != schemas_.end();
  // not one of public: a name that nothing has
  return sees_public || !has(kind, name) ? name : object_key(kNoSchema, name);
}

StatusOr<std::vector<std::string>> schemas_of_path(std::string_view value, std::optional<size_t>* before_temporary) {
  const Status invalid = with_detail(
      sql_error("22023", absl::StrCat("invalid value for parameter \"search_path\": \"", std::string(value), "\"")),
      "List syntax is invalid.");
  std::vector<std::string> schemas;
  bool has_catalog = false;
  auto skip_blanks = [&] {
    while (!value.empty() && (value[0] == ' ' || value[0] == '\t' || value[0] == '\n')) value.remove_prefix(1);
  };
  for (skip_blanks(); !value.empty(); skip_blanks()) {
    std::string name;
    const bool is_quoted = value[0] == '"';
    if (is_quoted) {
      size_t i = 1;
      for (; i < value.size() && (value[i] != '"' || (i + 1 < value.size() && value[i + 1] == '"')); i++) {
        if (value[i] == '"') i++;
        name += value[i];
      }
      if (i >= value.size()) return invalid;
      value.remove_prefix(i + 1);
    } else {
      while (!value.empty() && value[0] != ',' && value[0] != ' ' && value[0] != '"') {
        name += value[0] >= 'A' && value[0] <= 'Z' ? static_cast<char>(value[0] + 32) : value[0];
        value.remove_prefix(1);
      }
    }
    if (name.empty() && !is_quoted) return invalid;
    for (char c : name)
      if (static_cast<unsigned char>(c) < ' ') return invalid;
    // pg_catalog counts where it comes behind a schema; it is the first without being named
    const bool is_implicit = name == kCatalogSchema && schemas.empty();
    has_catalog |= is_implicit;
    if (name == "pg_temp") {
      if (before_temporary != nullptr && !before_temporary->has_value()) *before_temporary = schemas.size();
    } else if (!name.empty() && name != "$user" && !is_implicit) {
      schemas.push_back(name);
    }
    skip_blanks();
    if (value.empty()) break;
    if (value[0] != ',') return invalid;
    value.remove_prefix(1);
    skip_blanks();
    if (value.empty()) return invalid;
  }
  // a path without a schema of users is not the default path: it does not see public
  if (schemas.empty()) schemas.emplace_back(has_catalog ? kCatalogSchema : kNoSchema);
  return schemas;
}

bool is_default_path(const std::vector<std::string>& schemas) {
  return schemas.empty() || (schemas.size() == 1 && schemas[0] == kPublicSchema);
}

std::string with_search_path(const std::vector<std::string>& schemas, std::string_view sql) {
  if (is_default_path(schemas)) return std::string(sql);
  std::string text(1, kMark);
  absl::StrAppend(&text, absl::StrJoin(schemas, std::string(1, kBetween)));
  text += kMark;
  return text.append(sql);
}

std::vector<std::string> path_with_temporary(const std::vector<std::string>& schemas, const std::string& session_schema,
                                             size_t before) {
  std::vector<std::string> path = schemas;
  if (path.empty()) path.emplace_back(kPublicSchema);
  const auto place = path.begin() + static_cast<ptrdiff_t>(std::min(before, path.size()));
  path.insert(place, {session_schema, session_schema + std::string(kDeletesRowsSuffix)});
  return path;
}

std::vector<std::string> path_of_routines(std::vector<std::string> session_path) {
  std::replace(session_path.begin(), session_path.end(), std::string(kNoSchema), std::string(kPublicSchema));
  return is_default_path(session_path) ? std::vector<std::string>() : session_path;
}

std::string_view without_search_path(std::string_view text) {
  std::vector<std::string> ignored;
  return take_search_path(text, &ignored);
}

namespace {
// What stands between two marks at the start of a text.
std::string_view take_list(char mark, std::string_view text, std::vector<std::string>* list) {
  list->clear();
  const size_t end = text.empty() || text[0] != mark ? std::string_view::npos : text.find(mark, 1);
  if (end == std::string_view::npos) return text;
  std::string_view names = text.substr(1, end - 1);
  while (!names.empty()) {
    const size_t size = std::min(names.find(kBetween), names.size());
    if (size > 0) list->emplace_back(names.substr(0, size));
    names.remove_prefix(std::min(size + 1, names.size()));
  }
  return text.substr(end + 1);
}
}  // namespace

std::string_view take_search_path(std::string_view text, std::vector<std::string>* schemas) {
  return take_list(kMark, without_zone(text), schemas);
}

std::string with_names(const std::vector<std::string>& names, std::string_view sql) {
  if (names.empty()) return std::string(sql);
  return absl::StrCat(std::string(1, kNamesMark), absl::StrJoin(names, std::string(1, kBetween)),
                      std::string(1, kNamesMark), std::string(sql));
}

std::string_view take_names(std::string_view text, std::vector<std::string>* names) {
  return take_list(kNamesMark, text, names);
}

std::string with_time_zone(std::string_view zone, std::string text) {
  if (zone.empty()) return text;
  return absl::StrCat(std::string(1, kZoneMark), std::string(zone), std::string(1, kZoneMark), text);
}

std::string_view time_zone_of(std::string_view text) {
  text = without_marked(kRoleMark, text);
  const size_t rest = without_marked(kZoneMark, text).size();
  return rest == text.size() ? std::string_view() : text.substr(1, text.size() - rest - 2);
}

std::string with_roles(const SessionRoles& roles, const RoleIds& ids, std::string text) {
  if (roles.empty()) return text;
  const std::string mark(1, kRoleMark), between(1, kBetween);
  const bool has_ids = ids.session != 0 || ids.current != 0;
  const std::string numbers = has_ids ? absl::StrCat(between, ids.session, between, ids.current) : "";
  return absl::StrCat(mark, roles.session, between, roles.current, numbers, mark, text);
}

std::string with_roles(const SessionRoles& roles, std::string text) {
  return with_roles(roles, RoleIds(), std::move(text));
}

namespace {
// The fields of a mark of roles: two names, and their numbers if they are known.
std::array<std::string_view, 4> role_fields(std::string_view text) {
  std::array<std::string_view, 4> fields;
  const size_t rest = without_marked(kRoleMark, text).size();
  if (rest == text.size()) return fields;
  std::string_view all = text.substr(1, text.size() - rest - 2);
  for (std::string_view& field : fields) {
    field = all.substr(0, all.find(kBetween));
    all.remove_prefix(std::min(field.size() + 1, all.size()));
  }
  return fields;
}

uint32_t number_of(std::string_view digits) {
  uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}
}  // namespace

SessionRoles roles_of(std::string_view text) {
  const auto fields = role_fields(text);
  return {std::string(fields[0]), std::string(fields[1])};
}

RoleIds role_ids_of(std::string_view text) {
  const auto fields = role_fields(text);
  return {number_of(fields[2]), number_of(fields[3])};
}

StatusOr<std::vector<ast::StatementPtr>> parse_in(const Catalog& catalog, const std::vector<std::string>& search_path,
                                                  std::string_view sql, TextOf whose) {
  const SearchPath path(catalog, search_path);
  const NamePathScope scope(path.get());
  auto statements = parse_sql(sql, whose);
  if (!statements.ok()) return statements;
  for (auto& statement : *statements)
    if (auto* select = ast::node_if<ast::SelectStatement>(statement.get()); select != nullptr && select->into)
      statement = table_of(std::move(statement));
  return statements;
}

}  // namespace scyper::query
