#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/object_text.h"
#include "compile/definition.h"
#include "compile/routine_settings.h"
#include "compile/search_path.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/type_resolver.h"
#include "query/search_path.h"
#include "query/settings.h"
#include "storage/json_text_type.h"

// ALTER FUNCTION, PROCEDURE and ROUTINE.
namespace scyper::query {

namespace {

// As the definition gave it.
std::string written_body(const Routine& routine) {
  auto statements = parse_sql(routine.definition);
  if (!statements.ok() || statements->size() != 1) return routine.body;
  const auto* create = ast::node_if<ast::CreateRoutineStatement>((*statements)[0].get());
  if (create == nullptr) return routine.body;
  std::string text = create->body;
  for (const auto& statement : create->sql_body) absl::StrAppend(&text, to_sql(*statement), ";\n");
  return text;
}

std::vector<SqlType> input_types(const Routine& routine) {
  std::vector<SqlType> types;
  for (const auto& parameter : routine.parameters)
    if (parameter.mode != ParameterMode::kOut) types.push_back(parameter.type);
  return types;
}

std::string shown_signature(std::string_view name, const Routine& routine) {
  std::string text = absl::StrCat(std::string(name), "(");
  bool is_first = true;
  for (const SqlType& type : input_types(routine)) {
    absl::StrAppend(&text, is_first ? "" : ", ", type_name(plain_type(type)));
    is_first = false;
  }
  return text + ")";
}

}  // namespace

void Definer::put_routine(RoutinePlace found, std::shared_ptr<Routine> routine) {
  routine->definition = routine_source(next(), *routine, written_body(*routine));
  found->second = std::move(routine);
}

Status Definer::alter_routine(const ast::AlterRoutineStatement& alter, ResultSet* result) {
  result->command_tag = absl::StrCat("ALTER ", alter.object_name);
  SCYPER_ASSIGN_OR_RETURN(const RoutinePlace found, find_routine(alter.object, alter.target));
  auto routine = std::make_shared<Routine>(*found->second);
  if (routine->procedure && alter.function_attribute >= 0)
    return error("42P13", "invalid attribute in procedure definition", alter.function_attribute);
  if (alter.volatility.has_value()) {
    routine->is_volatile = *alter.volatility == ast::Volatility::kVolatile;
    routine->is_immutable = *alter.volatility == ast::Volatility::kImmutable;
  }
  routine->strict = alter.strict.value_or(routine->strict);
  routine->is_definer = alter.security_definer.value_or(routine->is_definer);
  std::vector<std::string> schemas;
  std::string zone(time_zone_of(routine->body));
  const std::string body(take_search_path(routine->body, &schemas));
  for (const std::string& name : alter.resets) {
    const bool is_all = name == "all";
    auto time = time_settings_of(zone);
    for (auto& [known, value] : time)
      if (is_all || name == setting_key(known)) value.clear();
    zone = mark_of(time);
    if (!is_all && name != "search_path") continue;
    schemas.clear();
    if (SessionPathScope::current != nullptr) schemas = path_of_routines(*SessionPathScope::current);
  }
  SCYPER_RETURN_IF_ERROR(read_routine_settings(alter.options, &schemas, &zone));
  routine->body = with_time_zone(zone, with_search_path(schemas, body));
  put_routine(found, std::move(routine));
  return absl::OkStatus();
}

Status Definer::rename_routine(ast::ObjectKind kind, const ast::ObjectRef& object, const std::string& to) {
  SCYPER_ASSIGN_OR_RETURN(const RoutinePlace found, find_routine(kind, object));
  return move_routine(found, to);
}

// Gives it another name or schema. What calls it in views, defaults and the like are texts, which keep its name.
Status Definer::move_routine(RoutinePlace found, const std::string& to) {
  const std::shared_ptr<const Routine> old = found->second;
  const std::string from = old->name;
  auto range = next().routines.equal_range(to);
  if (std::any_of(range.first, range.second,
                  [&](const auto& entry) { return input_types(*entry.second) == input_types(*old); }))
    return error("42723",
                 absl::StrCat("function ", shown_signature(bare_name(to), *old), " already exists in schema \"",
                              std::string(schema_of(to)), "\""),
                 -1);
  next().routines.erase(found);
  bool is_viewed = false;
  const bool is_alone = next().routines.count(from) == 0;
  if (!old->is_trigger) {
    for (const RoutineUser& user : users_of(*old)) {
      const bool is_view = user.name.starts_with("view ") || user.name.starts_with("materialized view ");
      if (!is_view || !is_alone)
        return error("0A000", absl::StrCat("renaming what ", user.name, " calls is not supported"), -1);
      is_viewed = true;
    }
  }
  auto routine = std::make_shared<Routine>(*old);
  routine->name = to;
  put_routine(next().routines.emplace(to, old), std::move(routine));
  for (auto& [key, trigger] : next().triggers) {
    if (!old->is_trigger || trigger->function != from) continue;
    auto changed = std::make_shared<Trigger>(*trigger);
    changed->function = to;
    trigger = std::move(changed);
  }
  if (is_viewed) SCYPER_RETURN_IF_ERROR(rename_routine_in_views(from, to));
  if (next().routines.count(from) != 0) return absl::OkStatus();
  if (auto comment = next().comments.extract("routine " + from); !comment.empty()) {
    comment.key() = "routine " + to;
    next().comments.insert(std::move(comment));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
