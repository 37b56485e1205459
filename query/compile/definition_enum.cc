#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "compile/definition.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "storage/enum_transaction.h"

// CREATE TYPE ... AS ENUM, ALTER TYPE ... ADD | RENAME VALUE, DROP TYPE. The texts of values follow when the next
// catalog is published (storage/enum_type.h).
namespace scyper::query {

namespace {

constexpr size_t kLabelBytesMax = 63;  // PostgreSQL's NAMEDATALEN - 1
constexpr int64_t kLabelDistance = kEnumLabelDistance;

Status check_label(const std::string& label) {
  if (label.size() <= kLabelBytesMax) return absl::OkStatus();
  return with_detail(sql_error("42602", absl::StrCat("invalid enum label \"", label, "\"")),
                     "Labels must be 63 bytes or less.");
}

Status exists_already(std::string_view label) {
  return sql_error("42710", absl::StrCat("enum label \"", std::string(label), "\" already exists"));
}

Status is_no_label(std::string_view label) {
  return sql_error("22023", absl::StrCat("\"", std::string(label), "\" is not an existing enum label"));
}

}  // namespace

Status Definer::create_enum(const ast::CreateEnumStatement& create, ResultSet* result) {
  result->command_tag = "CREATE TYPE";
  const std::string& name = create.name.back();
  SCYPER_RETURN_IF_ERROR(check_schema(create.name));
  if (type_taken(name)) return error("42710", absl::StrCat("type \"", name, "\" already exists"), -1);
  auto type = std::make_shared<EnumType>();
  type->name = name;
  type->number = new_enum_number();
  if (type->number == 0) return error("54000", "too many enums have been created in this process", -1);
  for (const std::string& label : create.labels) {
    SCYPER_RETURN_IF_ERROR(check_label(label));
    if (type->find(label) != nullptr)
      return error("23505", "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"", -1);
    type->labels.push_back({label, static_cast<int64_t>(type->labels.size() + 1) * kLabelDistance});
  }
  next().enums[name] = std::move(type);
  return absl::OkStatus();
}

Status Definer::alter_enum(const ast::AlterEnumStatement& alter, ResultSet* result) {
  result->command_tag = "ALTER TYPE";
  const std::string& name = alter.name.back();
  auto found = next().enums.find(name);
  if (found == next().enums.end())
    return error("42704", absl::StrCat("type \"", without_keys(name, true), "\" does not exist"), -1);
  auto type = std::make_shared<EnumType>(*found->second);
  SCYPER_RETURN_IF_ERROR(alter.old_label.empty() ? add_label(alter, type.get(), result)
                                                 : rename_label(alter, type.get()));
  found->second = std::move(type);
  return absl::OkStatus();
}

Status Definer::add_label(const ast::AlterEnumStatement& alter, EnumType* type, ResultSet* result) {
  SCYPER_RETURN_IF_ERROR(check_label(alter.new_label));
  auto& labels = type->labels;
  if (type->find(alter.new_label) != nullptr) {
    if (!alter.if_not_exists) return exists_already(alter.new_label);
    result->notices.push_back(absl::StrCat("NOTICE:  enum label \"", alter.new_label, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  auto place = labels.end();
  if (!alter.neighbour.empty()) {
    const EnumType::Label* neighbour = type->find(alter.neighbour);
    if (neighbour == nullptr) return is_no_label(alter.neighbour);
    place = labels.begin() + (neighbour - labels.data()) + (alter.after ? 1 : 0);
  }
  int64_t code = 0;
  if (labels.empty() || place == labels.end()) {
    code = (labels.empty() ? 0 : labels.back().code) + kLabelDistance;
  } else if (place == labels.begin()) {
    code = place->code - kLabelDistance;
  } else {
    const int64_t before = std::prev(place)->code;
    code = before + (place->code - before) / 2;
    if (code == before) return error("54000", "there is no room for more labels at this place of the enum", -1);
  }
  labels.insert(place, {alter.new_label, code});
  return absl::OkStatus();
}

// Is there something in the text of a rule or a view? Those texts are bound anew whenever they are used.
bool Definer::rules_contain(const std::function<bool(const std::string&)>& has) {
  for (const auto& [name, domain] : next().domains) {
    if (has(domain->default_text)) return true;
    for (const auto& check : domain->checks)
      if (has(check.expression)) return true;
  }
  for (const auto& [id, rules] : next().rules) {
    for (const auto& column : rules.columns)
      if (has(column.default_text) || has(column.generated_text)) return true;
    for (const auto& check : rules.checks)
      if (has(check.expression)) return true;
  }
  return std::any_of(next().views.begin(), next().views.end(),
                     [&](const auto& view) { return has(view.second->query); });
}

namespace {
// Whether what follows in parentheses is no list of arguments.
bool stands_before_group(const Token& token) {
  static constexpr std::string_view kWords[] = {"and", "or", "not", "in", "between", "like", "when", "then", "else"};
  return token.kind == TokenKind::kWord &&
         std::find(std::begin(kWords), std::end(kWords), value_of(token)) != std::end(kWords);
}
}  // namespace

// Whether a rule or a view may mean the label. A literal means it beside a value of the type, and where the text names
// the type or calls something that may take it.
bool Definer::names_label(const EnumType& type, const std::string& label) {
  const std::string literal = quote_literal(label);
  const auto is_of = [&](const SqlType& other) {
    return (other.id == TypeId::kEnum || other.element == TypeId::kEnum) && other.length == type.number;
  };
  const auto means = [&](const std::string& text, bool is_beside) {
    if (text.find(literal) == std::string::npos) return false;
    const auto tokens = scan(text);
    if (is_beside || !tokens.ok()) return true;
    for (size_t i = 0; i < tokens->size(); i++) {
      const Token& token = (*tokens)[i];
      const bool is_name = token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedIdentifier;
      if (is_name && bare_name(value_of(token)) == bare_name(type.name)) return true;
      if (is_name && i + 1 < tokens->size() && (*tokens)[i + 1].text == "(" && !stands_before_group(token)) return true;
    }
    return false;
  };
  for (const auto& [name, domain] : next().domains) {
    if (means(domain->default_text, is_of(domain->base))) return true;
    for (const auto& check : domain->checks)
      if (means(check.expression, is_of(domain->base))) return true;
  }
  for (const auto& [id, rules] : next().rules) {
    const auto table = next().find_table(id);
    if (table == nullptr) continue;
    const auto& columns = table->schema().columns;
    const bool has_column =
        std::any_of(columns.begin(), columns.end(), [&](const auto& column) { return is_of(column.type); });
    for (size_t c = 0; c < rules.columns.size(); c++) {
      const bool is_beside = c >= columns.size() || is_of(columns[c].type);
      if (means(rules.columns[c].default_text, is_beside)) return true;
      if (means(rules.columns[c].generated_text, has_column)) return true;
    }
    for (const auto& check : rules.checks)
      if (means(check.expression, has_column)) return true;
  }
  return std::any_of(next().views.begin(), next().views.end(),
                     [&](const auto& view) { return means(view.second->query, true); });
}

// Does the text of a rule or a view name the type?
bool Definer::rules_name(const std::string& key) {
  const std::string_view name = bare_name(key);
  return rules_contain([&](const std::string& text) {
    auto tokens = scan(text);
    return !tokens.ok() || std::any_of(tokens->begin(), tokens->end(), [&](const Token& token) {
      return (token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedIdentifier) &&
             bare_name(value_of(token)) == name;
    });
  });
}

// A relation's rows are of a type of its name.
bool Definer::type_taken(const std::string& name) {
  return next().enums.count(name) != 0 || next().domains.count(name) != 0 || next().tables.count(name) != 0 ||
         next().views.count(name) != 0;
}

// Columns and routines know the type by its number.
Status Definer::rename_type(const std::string& from, const std::string& to) {
  auto found = next().enums.find(from);
  if (found == next().enums.end()) return error("42704", absl::StrCat("type \"", from, "\" does not exist"), -1);
  if (type_taken(to)) return error("42710", absl::StrCat("type \"", to, "\" already exists"), -1);
  if (rules_name(from))
    return error("0A000", "renaming a type that a default, constraint, index or view names is not supported", -1);
  auto type = std::make_shared<EnumType>(*found->second);
  type->name = to;
  next().enums.erase(found);
  next().enums[to] = std::move(type);
  return absl::OkStatus();
}

Status Definer::rename_label(const ast::AlterEnumStatement& alter, EnumType* type) {
  SCYPER_RETURN_IF_ERROR(check_label(alter.new_label));
  const EnumType::Label* label = type->find(alter.old_label);
  if (label == nullptr) return is_no_label(alter.old_label);
  if (type->find(alter.new_label) != nullptr) return exists_already(alter.new_label);
  if (names_label(*type, alter.old_label))
    return error("0A000", "renaming a label that a default, constraint, index or view names is not supported", -1);
  type->labels[static_cast<size_t>(label - type->labels.data())].text = alter.new_label;
  return absl::OkStatus();
}

// Columns, routines and views of the type; bodies of routines count for nothing, as in PostgreSQL.
std::vector<Definer::TypeUser> Definer::users_of(const EnumType& type) {
  auto is_of = [&](const SqlType& other) {
    return (other.id == TypeId::kEnum || other.element == TypeId::kEnum) && other.length == type.number;
  };
  std::vector<TypeUser> users;
  for (const auto& [name, table] : next().tables) {
    const storage::TableSchema& schema = table->schema();
    for (size_t c = 0; c < visible_columns(schema); c++)
      if (is_of(schema.columns[c].type))
        users.push_back(
            {absl::StrCat("column ", schema.columns[c].name, " of table ", name), name, schema.columns[c].name, ""});
  }
  for (const auto& [name, view] : next().views)
    if (std::any_of(view->column_types.begin(), view->column_types.end(), is_of))
      users.push_back({absl::StrCat("view ", name), "", "", ""});
  for (const auto& [name, domain] : next().domains)
    if (is_of(domain->base)) users.push_back({absl::StrCat("type ", name), "", "", name});
  for (const auto& [name, routine] : next().routines)
    if (is_of(routine->return_type) || std::any_of(routine->parameters.begin(), routine->parameters.end(),
                                                   [&](const auto& p) { return is_of(p.type); }))
      users.push_back({absl::StrCat("function ", signature_of(*routine)), "", "", ""});
  return users;
}

// Also of domains.
Status Definer::drop_composite(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  std::vector<std::shared_ptr<const Routine>> users;
  for (const auto& [key, routine] : next().routines) {
    const auto& parameters = routine->parameters;
    if (routine->return_relation == name ||
        std::any_of(parameters.begin(), parameters.end(),
                    [&](const auto& parameter) { return parameter.relation == name; }))
      users.push_back(routine);
  }
  if (!users.empty() && !drop.cascade) {
    std::vector<std::string> lines;
    for (const auto& user : users)
      lines.push_back(absl::StrCat("function ", signature_of(*user), " depends on type ", name));
    return with_hint(
        with_detail(error("2BP01", absl::StrCat("cannot drop type ", name, " because other objects depend on it"), -1),
                    absl::StrJoin(lines, "\n")),
        "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  if (!users.empty()) return error("0A000", "DROP TYPE ... CASCADE of functions is not supported", -1);
  next().composites.erase(name);
  return drop_table(name, drop, result);
}

Status Definer::drop_type(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  const auto found = next().enums.find(name);
  const auto domain = next().domains.find(name);
  const bool is_domain = domain != next().domains.end();
  if (next().composites.count(name) != 0 && drop.object == ast::ObjectKind::kType)
    return drop_composite(name, drop, result);
  if (found == next().enums.end() && !is_domain) {
    const std::string missing = absl::StrCat("type \"", without_keys(name, true), "\" does not exist");
    if (!drop.if_exists) return error("42704", missing, -1);
    result->notices.push_back(absl::StrCat("NOTICE:  ", missing, ", skipping"));
    return absl::OkStatus();
  }
  if (drop.object == ast::ObjectKind::kDomain && !is_domain)
    return error("42809", absl::StrCat("\"", name, "\" is not a domain"), -1);
  const std::vector<TypeUser> users = is_domain ? users_of(*domain->second) : users_of(*found->second);
  if (is_domain && rules_name(name))
    return error("0A000", "dropping a domain that a default, constraint, index or view names is not supported", -1);
  if (!users.empty() && !drop.cascade) {
    std::vector<std::string> lines;
    for (const auto& user : users) lines.push_back(absl::StrCat(user.name, " depends on type ", name));
    return with_hint(
        with_detail(error("2BP01", absl::StrCat("cannot drop type ", name, " because other objects depend on it"), -1),
                    absl::StrJoin(lines, "\n")),
        "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  for (const auto& user : users) {
    if (!user.domain.empty()) {
      SCYPER_RETURN_IF_ERROR(drop_type(user.domain, drop, result));
      result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", user.name));
      continue;
    }
    if (user.table.empty())
      return error("0A000", absl::StrCat("dropping ", user.name, " by DROP TYPE is not supported"), -1);
    ast::AlterTableCommand command;
    command.name = user.column;
    command.cascade = true;
    SCYPER_RETURN_IF_ERROR(drop_column(command, user.table, result));
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", user.name));
  }
  next().enums.erase(name);
  next().domains.erase(name);
  return absl::OkStatus();
}

}  // namespace scyper::query
