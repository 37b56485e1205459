#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/strong.h"
#include "storage/type.h"

// CREATE TABLE ... PARTITION BY RANGE | LIST, as PostgreSQL's declarative partitioning. The partitioned table at the
// top holds the rows of all its partitions. A partition is a view of that table: the rows within its bounds, which
// changes may not leave. (What storage calls partitions, the shares of the workers, is something else: PARTITION BY
// HASH.)
namespace scyper::query {

enum class PartitionedBy : uint8_t { kNothing, kRange, kList };

// The key of a partitioned table.
struct Partitioning {
  struct Key {
    std::string expression;  // SQL over the table's columns
    std::string column;      // empty: an expression
    SqlType type;
  };
  PartitionedBy by = PartitionedBy::kNothing;
  std::vector<Key> keys;

  explicit operator bool() const { return by != PartitionedBy::kNothing; }
};

// FOR VALUES. Values are texts of the key's type.
struct PartitionBound {
  enum class Limit : uint8_t { kMinimum, kValue, kMaximum };
  struct Value {
    Limit limit = Limit::kValue;
    bool is_null = false;
    std::string text;
  };
  bool is_default = false;
  std::vector<Value> values;    // IN (...)
  std::vector<Value> from, to;  // FROM (...) TO (...): as many as there are keys
};

struct CheckRule {
  std::string name;
  std::string expression;  // SQL
};

// The part of a view that makes it a partition. Immutable.
struct DeclaredPartition {
  TableId id;      // a number of its own
  TableId root;    // the table that has the rows
  TableId parent;  // the root, or a partition that is partitioned itself
  PartitionBound bound;
  Partitioning partitioning;                    // kNothing: a leaf
  std::vector<CheckRule> checks;                // CHECK and NOT NULL of its own
  std::map<std::string, std::string> defaults;  // column -> SQL: of rows that are inserted into the partition itself
};

}  // namespace scyper::query
