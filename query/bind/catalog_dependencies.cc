#include "bind/catalog_dependencies.h"

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/object_text.h"
#include "bind/partitions.h"
#include "bind/system_types.h"

namespace scyper::query {

std::vector<ColumnDefault> column_defaults(const Catalog& catalog) {
  constexpr int64_t kFirst = 10000000;
  std::vector<ColumnDefault> all;
  for (const auto& [name, table] : catalog.tables)
    for (uint32_t i = 0; i < storage::visible_columns(table->schema()); i++)
      if (std::string text = shown_default(catalog, table->schema(), i, false); !text.empty())
        all.push_back({kFirst + static_cast<int64_t>(all.size()), &table->schema(), i, std::move(text),
                       table_oid(table->schema())});
  for (const auto& [view, root] : all_partitions(catalog))
    for (uint32_t i = 0; i < view->column_names.size(); i++)
      if (std::string text = shown_default(catalog, *view, i); !text.empty())
        all.push_back({kFirst + static_cast<int64_t>(all.size()), &root->schema(), i, std::move(text),
                       partition_oid(*view->partition)});
  return all;
}

namespace {

// The number of what a view reads, 0 = nothing that pg_class has.
int64_t relation_oid(const Catalog& catalog, const std::string& key) {
  if (const auto table = catalog.find_table(key); table != nullptr) return table_oid(table->schema());
  return catalog.views.count(key) != 0 ? view_oid(catalog, key) : 0;
}

// The rules by which views are what they read, as PostgreSQL has them: number, view, and the view's relations.
struct ViewRule {
  int64_t oid;
  int64_t view;
  const std::vector<std::string>* relations;
};

std::vector<ViewRule> view_rules(const Catalog& catalog) {
  constexpr int64_t kFirst = 9000000;
  std::vector<ViewRule> rules;
  const auto add = [&](int64_t view, const std::vector<std::string>& relations) {
    rules.push_back({kFirst + static_cast<int64_t>(rules.size()), view, &relations});
  };
  for (const auto& [name, view] : catalog.views)
    if (view->foreign == nullptr && view->partition == nullptr) add(view_oid(catalog, name), view->relations);
  for (const auto& [name, view] : catalog.materialized_views) add(relation_oid(catalog, name), view->relations);
  return rules;
}

void add_view_dependencies(const Catalog& catalog, std::vector<SystemRow>* rows) {
  const int64_t relations = system_table_oid("pg_class"), rewrite = system_table_oid("pg_rewrite");
  for (const ViewRule& rule : view_rules(catalog)) {
    rows->push_back({rewrite, rule.oid, 0, relations, rule.view, 0, "i"});
    for (const std::string& read : *rule.relations)
      if (const int64_t oid = relation_oid(catalog, read); oid != 0)
        rows->push_back({rewrite, rule.oid, 0, relations, oid, 0, "n"});
  }
}

// A default depends on its column, and on the sequence that it draws from.
void add_default_dependencies(const Catalog& catalog, std::vector<SystemRow>* rows) {
  const int64_t relations = system_table_oid("pg_class"), attrdef = system_table_oid("pg_attrdef");
  constexpr std::string_view kDraw = "nextval('";
  for (const ColumnDefault& of : column_defaults(catalog)) {
    rows->push_back({attrdef, of.oid, 0, relations, of.relation, size_t{of.column} + 1, "a"});
    if (!of.text.starts_with(kDraw)) continue;
    for (const auto& [name, sequence] : catalog.sequences)
      if (of.text == absl::StrCat("nextval('", without_keys(name, true), "'::regclass)"))
        rows->push_back({attrdef, of.oid, 0, relations, sequence_oid(*sequence), 0, "n"});
  }
}

// A routine depends on the tables whose rows it takes or returns.
void add_routine_dependencies(const Catalog& catalog, std::vector<SystemRow>* rows) {
  const int64_t relations = system_table_oid("pg_class"), routines = system_table_oid("pg_proc");
  for (const auto& [name, routine] : catalog.routines) {
    const auto add = [&, &routine = routine](const std::string& relation) {
      if (const int64_t oid = relation.empty() ? 0 : relation_oid(catalog, relation); oid != 0)
        rows->push_back({routines, routine_oid(*routine), 0, relations, oid, 0, "n"});
    };
    add(routine->return_relation);
    for (const RoutineParameter& parameter : routine->parameters) add(parameter.relation);
  }
}

}  // namespace

std::vector<SystemRow> rewrites(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const ViewRule& rule : view_rules(catalog))
    rows.push_back({rule.oid, "_RETURN", rule.view, "1", "O", true, "<>", "<>"});
  return rows;
}

// What is needed to make all objects again in an order that works: sequences that columns own, defaults, views.
std::vector<SystemRow> dependencies(const Catalog& catalog) {
  const int64_t relations = system_table_oid("pg_class");
  std::vector<SystemRow> rows;
  add_view_dependencies(catalog, &rows);
  for (const PartitionOfTable& of : all_partitions(catalog))
    rows.push_back({relations, partition_oid(of.partition()), 0, relations, table_oid(of.partition().parent), 0, "a"});
  add_default_dependencies(catalog, &rows);
  add_routine_dependencies(catalog, &rows);
  for (const auto& [name, sequence] : catalog.sequences) {
    const auto& d = sequence->definition();
    const auto table = d.owner.value() == 0 ? nullptr : catalog.find_table(d.owner);
    if (table == nullptr) continue;
    rows.push_back({relations, sequence_oid(*sequence), 0, relations, table_oid(table->schema()),
                    size_t{d.owner_column} + 1, d.is_identity ? "i" : "a"});
  }
  return rows;
}

}  // namespace scyper::query
