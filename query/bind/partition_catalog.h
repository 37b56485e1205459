#pragma once

#include <map>
#include <string>
#include <vector>

#include "bind/system_tables.h"
#include "query/catalog.h"

// The rows of the system tables about partitions by range and list.
namespace scyper::query {

// pg_inherits and pg_partitioned_table.
std::vector<SystemTable> partition_tables();
// pg_get_partkeydef() and pg_get_partition_constraintdef(), by the number of a table.
std::map<std::string, std::string> partition_key_texts(const Catalog& catalog);
std::map<std::string, std::string> partition_constraint_texts(const Catalog& catalog);
// pg_partition_ancestors() as an array, the table itself first; pg_partition_root().
std::map<std::string, std::string> partition_ancestor_texts(const Catalog& catalog);
std::map<std::string, std::string> partition_root_texts(const Catalog& catalog);
// pg_partition_tree() of what the text gives, as a query.
std::string partition_tree_query(const Catalog& catalog, const std::string& relation);

}  // namespace scyper::query
