#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/type_resolver.h"

// DROP FUNCTION: the triggers, views, defaults and constraints that call it. Bodies of routines count for nothing, as
// in PostgreSQL.
namespace scyper::query {

namespace {

// Whether the statement calls this very routine. Without the routine another one of its name might take its place.
bool calls(const Catalog& catalog, const std::string& sql, const Routine& routine) {
  auto statements = parse_sql(sql, TextOf::kSystem);
  if (!statements.ok() || statements->empty()) return false;
  Binder binder(catalog, sql);
  binder.allow_unpopulated();
  const auto bound = binder.bind_statement(*(*statements)[0], {});
  if (!bound.ok()) return false;
  const auto& callees = (*bound)->callees;
  return std::any_of(callees.begin(), callees.end(), [&](const auto& callee) { return callee->id == routine.id; });
}

}  // namespace

// Whether the statement calls a function that has been there.
bool Definer::misses_function(const std::string& sql) {
  auto statements = parse_sql(sql, TextOf::kSystem);
  if (!statements.ok() || statements->empty()) return false;
  auto fails = [&](const Catalog& catalog) {
    Binder binder(catalog, sql);
    binder.allow_unpopulated();
    auto bound = binder.bind_statement(*(*statements)[0], {});
    return !bound.ok() && sqlstate_of(bound.status()) == "42883";
  };
  return fails(next()) && !fails(*old_);
}

// With `routine` gone from next() already. Drops of what must go before the others come first.
std::vector<Definer::RoutineUser> Definer::users_of(const Routine& routine) {
  std::vector<RoutineUser> users;
  auto mentions = [&](const std::string& text) { return text.find(bare_name(routine.name)) != std::string::npos; };
  auto uses = [&](const std::string& sql) { return misses_function(sql) || calls(*old_, sql, routine); };
  std::vector<std::string> views;
  for (const auto& [name, view] : next().views)
    if (mentions(view->query) && uses(view->query)) views.push_back(name);
  for (const auto& name : views)
    users.push_back({absl::StrCat("view ", name), [this, name] {
                       for (const auto& other : dependents_of(name)) erase_view(other);
                       erase_view(name);
                       return absl::OkStatus();
                     }});
  for (const auto& [name, view] : next().materialized_views)
    if (mentions(view->query) && uses(view->query))
      users.push_back({absl::StrCat("materialized view ", name), [this, name = name] {
                         erase_table(name);
                         return absl::OkStatus();
                       }});
  for (const auto& [name, table] : next().tables) {
    const storage::TableSchema& schema = table->schema();
    auto rules = next().rules.find(schema.id);
    if (rules == next().rules.end()) continue;
    auto misses = [&, &name = name](const std::string& text) {
      return mentions(text) && uses(absl::StrCat("SELECT ", text, " FROM ", quote_identifier(name)));
    };
    TableRules* of = &rules->second;
    const size_t visible = storage::visible_columns(schema);
    for (const storage::IndexDef& index : schema.indexes)
      if (std::any_of(index.columns.begin(), index.columns.end(),
                      [&](uint32_t c) { return c >= visible && misses(schema.columns[c].name); }))
        users.push_back(
            {absl::StrCat("index ", index.name), [this, which = index.name] { return remove_index(which); }});
    for (size_t c = 0; c < visible; c++) {
      const std::string& column = schema.columns[c].name;
      if (misses(of->columns[c].default_text))
        users.push_back({absl::StrCat("default value for column ", column, " of table ", name), [of, c] {
                           of->columns[c].default_text.clear();
                           return absl::OkStatus();
                         }});
      if (misses(of->columns[c].generated_text))
        users.push_back({absl::StrCat("column ", column, " of table ", name), [this] {
                           return error("0A000", "dropping generated columns by DROP ... CASCADE is not supported", -1);
                         }});
    }
    for (const auto& check : of->checks)
      if (misses(check.expression))
        users.push_back({absl::StrCat("constraint ", check.name, " on table ", name), [of, which = check.name] {
                           std::erase_if(of->checks, [&](const auto& other) { return other.name == which; });
                           return absl::OkStatus();
                         }});
  }
  for (const auto& [name, domain] : next().domains)
    for (const auto& check : domain->checks)
      if (mentions(check.expression) && uses(absl::StrCat("SELECT ", check.expression, " FROM (SELECT CAST(NULL AS ",
                                                          to_sql(domain->base), ") AS value) AS \" row\"")))
        users.push_back({absl::StrCat("constraint ", check.name), [this, name = name, which = check.name] {
                           auto changed = std::make_shared<Domain>(*next().domains[name]);
                           std::erase_if(changed->checks, [&](const auto& other) { return other.name == which; });
                           put_domain(std::move(changed));
                           return absl::OkStatus();
                         }});
  for (const auto& [key, trigger] : next().triggers)
    if (routine.is_trigger && trigger->function == routine.name)
      users.push_back({absl::StrCat("trigger ", key.second, " on table ", key.first), [this, key = key] {
                         next().triggers.erase(key);
                         return absl::OkStatus();
                       }});
  return users;
}

// They go too, or keep it from going.
Status Definer::drop_users_of(const Routine& routine, const ast::DropStatement& drop, ResultSet* result) {
  const std::vector<RoutineUser> users = users_of(routine);
  if (users.empty()) return absl::OkStatus();
  std::vector<std::string> types;
  for (const auto& parameter : routine.parameters)
    if (parameter.mode != ParameterMode::kOut) types.push_back(type_name(make_type(parameter.type.id)));
  const std::string shown = absl::StrCat("function ", routine.name, "(", absl::StrJoin(types, ","), ")");
  if (!drop.cascade) {
    std::vector<std::string> lines;
    for (const auto& user : users) lines.push_back(absl::StrCat(user.name, " depends on ", shown));
    return with_hint(
        with_detail(error("2BP01", absl::StrCat("cannot drop ", shown, " because other objects depend on it"), -1),
                    absl::StrJoin(lines, "\n")),
        "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  if (users.size() == 1)
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", users[0].name));
  else
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", users.size(), " other objects"));
  for (const auto& user : users) SCYPER_RETURN_IF_ERROR(user.drop());
  return absl::OkStatus();
}

}  // namespace scyper::query
