#include "bind/partition_catalog.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bind/partitions.h"
#include "bind/system_types.h"

namespace scyper::query {

namespace {

// Partitioned tables, and partitions that are partitioned themselves.
struct PartitionedRelation {
  TableId id;
  const Partitioning& key;
  std::shared_ptr<storage::Table> root;
  bool is_partition;
};

std::vector<PartitionedRelation> all_partitioned(const Catalog& catalog) {
  std::vector<PartitionedRelation> all;
  for (const auto& [name, table] : catalog.tables)
    if (const Partitioning& key = partitioning_of(catalog, table->schema().id); key)
      all.push_back({table->schema().id, key, table, false});
  for (const auto& [view, root] : all_partitions(catalog))
    if (view->partition->partitioning) all.push_back({view->partition->id, view->partition->partitioning, root, true});
  return all;
}

std::vector<SystemRow> inherits(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const PartitionOfTable& of : all_partitions(catalog))
    rows.push_back({partition_oid(of.partition()), table_oid(of.partition().parent), 1, false});
  return rows;
}

std::vector<SystemRow> partitioned_tables(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [id, partitioning, root, is_partition] : all_partitioned(catalog)) {
    const auto& columns = root->schema().columns;
    std::vector<std::string> positions, classes, collations, expressions;
    for (const Partitioning::Key& key : partitioning.keys) {
      const auto column = std::find_if(columns.begin(), columns.end(),
                                       [&](const auto& c) { return !key.column.empty() && c.name == key.column; });
      positions.push_back(column == columns.end() ? "0" : absl::StrCat(column - columns.begin() + 1));
      classes.push_back(absl::StrCat(operator_class_oid(key.type)));
      collations.push_back(absl::StrCat(is_string(key.type.id) ? kDefaultCollationOid : 0));
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
  }
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
  for (const PartitionedRelation& relation : all_partitioned(catalog))
    all[absl::StrCat(table_oid(relation.id))] = shown_key(relation.key);
  return all;
}

std::map<std::string, std::string> partition_constraint_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const PartitionOfTable& of : all_partitions(catalog))
    all[absl::StrCat(partition_oid(of.partition()))] =
        absl::StrCat("(", partition_condition(catalog, of.partition()), ")");
  return all;
}

std::map<std::string, std::string> partition_ancestor_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  std::map<TableId, TableId> parents;
  for (const PartitionOfTable& of : all_partitions(catalog)) parents[of.partition().id] = of.partition().parent;
  const auto add = [&](TableId id) {
    std::string list;
    for (TableId at = id;; at = parents[at]) {
      absl::StrAppend(&list, list.empty() ? "{" : ",", table_oid(at));
      if (!parents.contains(at)) break;
    }
    all[absl::StrCat(table_oid(id))] = list + "}";
  };
  for (const PartitionedRelation& relation : all_partitioned(catalog)) add(relation.id);
  for (const PartitionOfTable& of : all_partitions(catalog)) add(of.partition().id);
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
  for (const PartitionedRelation& relation : all_partitioned(catalog)) {
    if (relation.is_partition) continue;
    add(relation.id, relation.id, "NULL", false, 0);
    add_below(relation.id, relation.id, 1);
  }
  for (const PartitionOfTable& of : all_partitions(catalog)) {
    const DeclaredPartition& partition = of.partition();
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
  for (const PartitionedRelation& relation : all_partitioned(catalog))
    if (!relation.is_partition) all[absl::StrCat(table_oid(relation.id))] = absl::StrCat(table_oid(relation.id));
  for (const PartitionOfTable& of : all_partitions(catalog))
    all[absl::StrCat(partition_oid(of.partition()))] = absl::StrCat(table_oid(of.partition().root));
  return all;
}

}  // namespace scyper::query
