#include "bind/partition_catalog.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bind/partitions.h"
#include "bind/system_types.h"

namespace scyper::query {

namespace {

constexpr int64_t kDefaultCollation = 100;  // its number

// Partitioned tables, and partitions that are partitioned themselves.
void each_partitioned(const Catalog& catalog, const std::function<void(TableId, const Partitioning&)>& visit) {
  for (const auto& [id, rules] : catalog.rules)
    if (rules.partitioning) visit(id, rules.partitioning);
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr && view->partition->partitioning)
      visit(view->partition->id, view->partition->partitioning);
}

TableId root_of(const Catalog& catalog, TableId id) {
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr && view->partition->id == id) return view->partition->root;
  return id;
}

std::vector<SystemRow> inherits(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr)
      rows.push_back({partition_oid(*view->partition), table_oid(view->partition->parent), 1, false});
  return rows;
}

std::vector<SystemRow> partitioned_tables(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  each_partitioned(catalog, [&](TableId id, const Partitioning& partitioning) {
    const auto table = catalog.find_table(root_of(catalog, id));
    if (table == nullptr) return;
    const auto& columns = table->schema().columns;
    std::vector<std::string> positions, classes, collations, expressions;
    for (const Partitioning::Key& key : partitioning.keys) {
      const auto column = std::find_if(columns.begin(), columns.end(),
                                       [&](const auto& c) { return !key.column.empty() && c.name == key.column; });
      positions.push_back(column == columns.end() ? "0" : absl::StrCat(column - columns.begin() + 1));
      classes.push_back(absl::StrCat(operator_class_oid(key.type)));
      collations.push_back(absl::StrCat(is_string(key.type.id) ? kDefaultCollation : 0));
      if (key.column.empty()) expressions.push_back(key.expression);
    }
    int64_t default_partition = 0;
    for (const View* view : partitions_of(catalog, id))
      if (view->partition->bound.is_default) default_partition = partition_oid(*view->partition);
    rows.push_back({table_oid(id), partitioning.by == PartitionedBy::kRange ? "r" : "l", partitioning.keys.size(),
                    default_partition, absl::StrCat("{", absl::StrJoin(positions, ","), "}"),
                    absl::StrCat("{", absl::StrJoin(classes, ","), "}"),
                    absl::StrCat("{", absl::StrJoin(collations, ","), "}"),
                    expressions.empty() ? SystemValue() : SystemValue(absl::StrJoin(expressions, ", "))});
  });
  return rows;
}

}  // namespace

std::vector<SystemTable> partition_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  return {
      {kSchema, "pg_inherits", columns_of("inhrelid:int8 inhparent:int8 inhseqno:int4 inhdetachpending:bool"),
       inherits},
      {kSchema, "pg_partitioned_table",
       columns_of("partrelid:int8 partstrat partnatts:int2 partdefid:int8 partattrs:vector partclass:oidvector "
                  "partcollation:oidvector partexprs"),
       partitioned_tables},
  };
}

std::map<std::string, std::string> partition_key_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  each_partitioned(catalog, [&](TableId id, const Partitioning& partitioning) {
    all[absl::StrCat(table_oid(id))] = shown_key(partitioning);
  });
  return all;
}

std::map<std::string, std::string> partition_constraint_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr)
      all[absl::StrCat(partition_oid(*view->partition))] =
          absl::StrCat("(", partition_condition(catalog, *view->partition), ")");
  return all;
}

std::map<std::string, std::string> partition_ancestor_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  std::map<TableId, TableId> parents;
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr) parents[view->partition->id] = view->partition->parent;
  const auto add = [&](TableId id) {
    std::string list;
    for (TableId at = id;; at = parents[at]) {
      absl::StrAppend(&list, list.empty() ? "{" : ",", table_oid(at));
      if (!parents.contains(at)) break;
    }
    all[absl::StrCat(table_oid(id))] = list + "}";
  };
  for (const auto& [id, rules] : catalog.rules)
    if (rules.partitioning) add(id);
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr) add(view->partition->id);
  return all;
}

std::string partition_tree_query(const Catalog& catalog, const std::string& relation) {
  std::string rows;
  const auto add = [&](TableId top, TableId id, const std::string& parent, bool is_leaf, int level) {
    absl::StrAppend(&rows, rows.empty() ? "(" : ", (", table_oid(top), "::bigint, ", table_oid(id), "::bigint, ",
                    parent, "::bigint, ", is_leaf ? "true" : "false", ", ", level, ")");
  };
  const std::function<void(TableId, TableId, int)> add_below = [&](TableId top, TableId parent, int level) {
    for (const View* view : partitions_of(catalog, parent)) {
      const DeclaredPartition& partition = *view->partition;
      add(top, partition.id, absl::StrCat(table_oid(parent)), !partition.partitioning, level);
      add_below(top, partition.id, level + 1);
    }
  };
  each_partitioned(catalog, [&](TableId id, const Partitioning&) {
    if (catalog.find_table(id) == nullptr) return;
    add(id, id, "NULL", false, 0);
    add_below(id, id, 1);
  });
  for (const auto& [name, view] : catalog.views) {
    if (view->partition == nullptr) continue;
    const DeclaredPartition& partition = *view->partition;
    add(partition.id, partition.id, absl::StrCat(table_oid(partition.parent)), !partition.partitioning, 0);
    add_below(partition.id, partition.id, 1);
  }
  if (rows.empty()) rows = "(0::bigint, 0::bigint, 0::bigint, true, 0)";
  return absl::StrCat(
      "SELECT v.relid::regclass AS relid, v.parent::regclass AS parentrelid, v.leaf AS isleaf, "
      "v.level AS level FROM (VALUES ",
      rows, ") AS v(top, relid, parent, leaf, level) WHERE v.top = (", relation, ")::regclass::bigint");
}

std::map<std::string, std::string> partition_root_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const auto& [id, rules] : catalog.rules)
    if (rules.partitioning) all[absl::StrCat(table_oid(id))] = absl::StrCat(table_oid(id));
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr)
      all[absl::StrCat(partition_oid(*view->partition))] = absl::StrCat(table_oid(view->partition->root));
  return all;
}

}  // namespace scyper::query
