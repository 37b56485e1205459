#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/declared_type.h"
#include "compile/definition.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"

// CREATE VIEW, DROP VIEW, DROP TABLE: what depends on what.
namespace scyper::query {

Status Definer::create_view(const ast::CreateViewStatement& create, ResultSet* result) {
  if (create.is_hot_data) return create_hot_view(create, result);
  result->command_tag = "CREATE VIEW";
  if (create.persistence == ast::Persistence::kUnlogged)
    return error("42601", "views cannot be unlogged because they do not have storage", -1);
  if (create.persistence == ast::Persistence::kTemporary && !is_temporary_key(create.view.name.back()))
    return error("42P16", "cannot create temporary relation in non-temporary schema", -1);
  if (create.becomes_temporary)
    result->notices.push_back(absl::StrCat("NOTICE:  view \"", std::string(bare_name(create.view.name.back())),
                                           "\" will be a temporary view"));
  if (const auto* select = ast::node_if<ast::SelectStatement>(create.query.get()))
    for (const auto& table : select->with.tables)
      if (table.statement->kind != ast::StatementKind::kSelect)
        return error("0A000", "views must not contain data-modifying statements in WITH", -1);
  SCYPER_RETURN_IF_ERROR(check_schema(create.view.name));
  Binder binder(*old_, text_);
  binder.allow_unpopulated();
  SCYPER_ASSIGN_OR_RETURN(auto program, binder.bind_statement(*create.query, {}));
  auto view = std::make_shared<View>();
  view->name = create.view.name.back();
  view->query = with_stars_expanded(to_sql(*create.query));
  DeclaredTypes declared(*program->query);
  for (size_t i = 0; i < program->query->outputs.size(); i++) {
    if (program->query->outputs[i].hidden || program->query->outputs[i].name.empty()) continue;  // "" of no columns
    view->column_names.push_back(program->query->outputs[i].name);
    view->column_types.push_back(declared.of_output(*program->query, i));
  }
  if (create.columns.size() > view->column_names.size())
    return error("42601", "CREATE VIEW specifies more column names than columns", -1);
  std::copy(create.columns.begin(), create.columns.end(), view->column_names.begin());
  for (size_t i = 0; i < view->column_names.size(); i++)
    for (size_t j = 0; j < i; j++)
      if (view->column_names[i] == view->column_names[j])
        return error("42701", absl::StrCat("column \"", view->column_names[i], "\" specified more than once"), -1);
  SCYPER_RETURN_IF_ERROR(define_view_options(create.options, false, view.get()));
  view->relations.assign(binder.used_relations().begin(), binder.used_relations().end());
  auto old = old_->views.find(view->name);
  view->access.owner = actor().id;
  if (old != old_->views.end() && old_->has_view(view->name) && create.or_replace) {
    view->access = old->second->access;
    SCYPER_RETURN_IF_ERROR(check_replaced(*old->second, *view));
  } else if (is_taken_for_table(view->name)) {
    if (create.or_replace && (old_->find_table(view->name) != nullptr || !old_->has_view(view->name)))
      return error("42809", absl::StrCat("\"", view->name, "\" is not a view"), -1);
    return error("42P07", absl::StrCat("relation \"", view->name, "\" already exists"), -1);
  }
  SCYPER_RETURN_IF_ERROR(check_view_option(*view));
  next().views[view->name] = view;
  return absl::OkStatus();
}

// What uses the old view must keep working: columns may only be added.
Status Definer::check_replaced(const View& old, const View& view) const {
  if (view.column_names.size() < old.column_names.size()) return error("42P16", "cannot drop columns from view", -1);
  for (size_t i = 0; i < old.column_names.size(); i++) {
    if (old.column_names[i] != view.column_names[i])
      return with_hint(error("42P16",
                             absl::StrCat("cannot change name of view column \"", old.column_names[i], "\" to \"",
                                          view.column_names[i], "\""),
                             -1),
                       "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.");
    if (old.column_types[i].id != view.column_types[i].id)
      return error("42P16",
                   absl::StrCat("cannot change data type of view column \"", old.column_names[i], "\" from ",
                                type_name(old.column_types[i]), " to ", type_name(view.column_types[i])),
                   -1);
  }
  if (std::find(view.relations.begin(), view.relations.end(), view.name) != view.relations.end())
    return error("42P17", absl::StrCat("infinite recursion detected in rules for relation \"", view.name, "\""), -1);
  return absl::OkStatus();
}

// Views that read `name`, and views that read those: what is read comes first.
std::vector<std::string> Definer::dependents_of(const std::string& name) const {
  std::vector<std::string> found = {name};
  const auto contains = [](const std::vector<std::string>& names, const std::string& wanted) {
    return std::find(names.begin(), names.end(), wanted) != names.end();
  };
  const auto add_readers = [&](const auto& views, const std::string& of) {
    for (const auto& [other, view] : views)
      if (contains(view->relations, of) && !contains(found, other)) found.push_back(other);
  };
  for (size_t i = 0; i < found.size(); i++) {
    const std::string of = found[i];
    add_readers(next_->views, of);
    add_readers(next_->materialized_views, of);
  }
  found.erase(found.begin());
  return found;
}

namespace {
// A temporary schema is on the search_path, so messages leave it out.
std::string shown_name(const std::string& key) { return is_temporary_key(key) ? std::string(bare_name(key)) : key; }
}  // namespace

// Dependents go too, or keep it from going.
Status Definer::drop_dependents(const std::string& kind, const std::string& name, const ast::DropStatement& drop,
                                ResultSet* result) {
  std::vector<std::string> dependents = dependents_of(name);
  auto is_named = [&](const std::string& view) {
    return std::any_of(drop.objects.begin(), drop.objects.end(),
                       [&](const auto& object) { return object.name.back() == view; });
  };
  dependents.erase(std::remove_if(dependents.begin(), dependents.end(), is_named), dependents.end());
  if (dependents.empty()) return absl::OkStatus();
  if (!drop.cascade)
    return with_hint(
        with_detail(
            error("2BP01",
                  absl::StrCat("cannot drop ", kind, " ", shown_name(name), " because other objects depend on it"), -1),
            absl::StrCat(relation_word(dependents[0]), " ", shown_name(dependents[0]), " depends on ", kind, " ",
                         shown_name(name))),
        "Use DROP ... CASCADE to drop the dependent objects too.");
  if (dependents.size() == 1)
    result->notices.push_back(
        absl::StrCat("NOTICE:  drop cascades to ", relation_word(dependents[0]), " ", shown_name(dependents[0])));
  else
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", dependents.size(), " other objects"));
  for (const auto& view : dependents)
    next().find_materialized_view(view) != nullptr ? erase_table(view) : erase_view(view);
  return absl::OkStatus();
}

// Foreign keys of tables that stay.
Status Definer::drop_references(TableId id, const std::string& name, const ast::DropStatement& drop,
                                ResultSet* result) {
  for (const auto& [other, table] : next().tables) {
    auto is_named = [&, &other = other](const auto& object) { return object.name.back() == other; };
    if (other == name || std::any_of(drop.objects.begin(), drop.objects.end(), is_named)) continue;
    auto& keys = next().rules[table->schema().id].foreign_keys;
    for (size_t i = 0; i < keys.size();) {
      if (keys[i].table != id) {
        i++;
        continue;
      }
      if (!drop.cascade)
        return with_hint(
            with_detail(
                error("2BP01", absl::StrCat("cannot drop table ", name, " because other objects depend on it"), -1),
                absl::StrCat("constraint ", keys[i].name, " on table ", other, " depends on table ", name)),
            "Use DROP ... CASCADE to drop the dependent objects too.");
      result->notices.push_back(
          absl::StrCat("NOTICE:  drop cascades to constraint ", keys[i].name, " on table ", other));
      keys.erase(keys.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return absl::OkStatus();
}

Status Definer::drop_table(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  if (next().find_partition(name) != nullptr) return drop_partition(name, drop, result);
  auto it = next().tables.find(name);
  if (next().composites.count(name) != 0)
    return with_hint(error("42809", absl::StrCat("\"", name, "\" is not a table"), -1),
                     "Use DROP TYPE to remove a type.");
  const bool is_materialized = next().find_materialized_view(name) != nullptr;
  if (is_materialized && drop.object == ast::ObjectKind::kTable)
    return with_hint(error("42809", absl::StrCat("\"", name, "\" is not a table"), -1),
                     "Use DROP MATERIALIZED VIEW to remove a materialized view.");
  if (it == next().tables.end()) {
    if (next().views.count(name) != 0)
      return with_hint(error("42809", absl::StrCat("\"", name, "\" is not a table"), -1),
                       next().has_view(name) ? "Use DROP VIEW to remove a view."
                                             : "Use DROP FOREIGN TABLE to remove a foreign table.");
    if (old_->find_partition(name) != nullptr) return absl::OkStatus();  // it has gone with its table
    if (!drop.if_exists) return error("42P01", absl::StrCat("table \"", name, "\" does not exist"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  table \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  const TableId id = it->second->schema().id;
  SCYPER_RETURN_IF_ERROR(erase_partitions_of(id, drop, result));
  SCYPER_RETURN_IF_ERROR(drop_dependents(relation_word(name), name, drop, result));
  SCYPER_RETURN_IF_ERROR(drop_references(id, name, drop, result));
  std::vector<std::string> dropped;
  for (const auto& object : drop.objects) dropped.push_back(object.name.back());
  SCYPER_RETURN_IF_ERROR(drop_uses_of_sequences(name, -1, dropped, drop.cascade, result));
  erase_table(name);
  return absl::OkStatus();
}

void Definer::erase_table(const std::string& name) {
  const auto it = next().tables.find(name);
  const TableId id = it->second->schema().id;
  for (const auto& index : it->second->schema().indexes) next().index_tables.erase(index.name);
  drop_sequences_of(id, -1);
  next().rules.erase(id);
  drop_triggers_of(name);
  move_comments(name, "");
  next().materialized_views.erase(name);
  next().tables.erase(it);  // its memory goes when the last catalog version that has it goes
}

void Definer::erase_view(const std::string& name) {
  drop_triggers_of(name);
  move_comments(name, "");
  next().views.erase(name);
}

Status Definer::drop_view(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  if (!next().has_view(name)) {
    const bool is_foreign = next().has_foreign_table(name);
    if (is_foreign || next().tables.count(name) != 0 || next().find_partition(name) != nullptr)
      return with_hint(error("42809", absl::StrCat("\"", name, "\" is not a view"), -1),
                       is_foreign ? "Use DROP FOREIGN TABLE to remove a foreign table."
                       : next().find_materialized_view(name) != nullptr
                           ? "Use DROP MATERIALIZED VIEW to remove a materialized view."
                           : "Use DROP TABLE to remove a table.");
    if (!drop.if_exists) return error("42P01", absl::StrCat("view \"", name, "\" does not exist"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  view \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(drop_dependents("view", name, drop, result));
  erase_view(name);
  return absl::OkStatus();
}

namespace {
// Without the nameless column of a query that has none (query/shown_columns.h).
size_t width_of(const BoundProgram& program) {
  const bool is_nameless = program.columns.size() == 1 && program.columns[0].name.empty();
  return is_nameless ? 0 : program.columns.size();
}
}  // namespace

// Views keep their columns; what would change them is refused.
Status Definer::check_views(const std::string& name) {
  if (next_ == nullptr) return absl::OkStatus();
  for (const std::string& dependent : dependents_of(name)) {
    const MaterializedView* materialized = next().find_materialized_view(dependent);
    const std::string& query = materialized != nullptr ? materialized->query : next().views[dependent]->query;
    std::vector<SqlType> types;
    if (materialized == nullptr) types = next().views[dependent]->column_types;
    if (materialized != nullptr)
      for (const auto& column : next().find_table(dependent)->schema().columns) types.push_back(column.type);
    if (materialized != nullptr) types.resize(storage::visible_columns(next().find_table(dependent)->schema()));
    SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(query, TextOf::kSystem));
    Binder binder(next(), query);
    binder.allow_unpopulated();
    auto bound = binder.bind_statement(*statements[0], {});
    bool same = bound.ok() && width_of(**bound) == types.size();
    for (size_t i = 0; same && i < types.size(); i++) same = (*bound)->query->outputs[i].expr->type.id == types[i].id;
    if (same) continue;
    return with_hint(
        with_detail(
            error("2BP01", absl::StrCat("cannot alter table ", name, " because other objects depend on it"), -1),
            absl::StrCat(relation_word(dependent), " ", dependent, " depends on table ", name)),
        "Drop the view first.");
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
