#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/catalog.h"

// The bounds of partitions (query/partitioning.h) as SQL conditions over the columns of the partitioned table.
namespace scyper::query {

// A partition, and the table that has its rows.
struct PartitionOfTable {
  const View* view;
  std::shared_ptr<storage::Table> root;

  const DeclaredPartition& partition() const { return *view->partition; }
};
// All of them, by name.
std::vector<PartitionOfTable> all_partitions(const Catalog& catalog);

// The key of a partitioned table or of a partition that is partitioned itself; kNothing: it is not.
const Partitioning& partitioning_of(const Catalog& catalog, TableId id);
const Partitioning& partitioning_of(const Catalog& catalog, std::string_view name);
// The name of either; empty: there is none.
std::string name_of_partitioned(const Catalog& catalog, TableId id);
// Its partitions, in the order of their bounds, a default one last.
std::vector<const View*> partitions_of(const Catalog& catalog, TableId parent);
// Those, and the partitions of those: what is divided comes first.
std::vector<const View*> partitions_below(const Catalog& catalog, TableId parent);

// The rows that a bound of the parent's key admits. A default partition has the rows that no other one has.
std::string bound_condition(const Catalog& catalog, TableId parent, const PartitionBound& bound);
// The rows of the table that are in the partition.
std::string partition_condition(const Catalog& catalog, const DeclaredPartition& partition);
// The rows that one of the partitions takes; empty: all.
std::string placed_condition(const Catalog& catalog, TableId parent);
// The number of the partition that has a row of `top`, a table or partition.
std::string tableoid_text(const Catalog& catalog, TableId top);

// Two bounds FROM or TO of one key: -1, 0, 1.
int compare_limits(const Partitioning& key, const std::vector<PartitionBound::Value>& a,
                   const std::vector<PartitionBound::Value>& b);
// The partition whose rows another one of that bound would take too; nullptr: none. Default partitions take no part.
const View* find_overlap(const Catalog& catalog, TableId parent, const PartitionBound& bound);

// (1, MAXVALUE)
std::string shown_limits(const Partitioning& key, const std::vector<PartitionBound::Value>& values);
// FOR VALUES FROM (1) TO (10), as PostgreSQL shows it.
std::string shown_bound(const Partitioning& key, const PartitionBound& bound);
// RANGE (a, lower(b))
std::string shown_key(const Partitioning& key);

}  // namespace scyper::query
