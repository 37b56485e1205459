#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/table.h"

namespace scyper::storage {

// What a sample says about one column. Numbers, dates, timestamps and booleans also as doubles, numerics by their
// value.
struct ColumnStatistics {
  double distinct = 1;  // estimate for the whole table, NULL not counted
  double null_fraction = 0;
  std::vector<double> numbers;     // the sample's values in ascending order; empty for strings and arrays
  std::vector<std::string> texts;  // of strings, some values of the sample
};

struct TableStatistics {
  double rows = 0;
  double sampled = 0;
  std::vector<ColumnStatistics> columns;  // by position in TableSchema::columns
};

// Reads some thousand tuples, evenly spread. Nobody may change the table meanwhile.
std::shared_ptr<const TableStatistics> collect_statistics(const Table& table);
// Estimated rows that have one value in each of these columns. nullopt: the table has no statistics yet.
std::optional<double> rows_of_one_value(const Table& table, const std::vector<uint32_t>& columns);
// Has the table grown or shrunk by a quarter since it was sampled? Rows are counted as they come and go: near enough.
bool needs_statistics(const Table& table);

}  // namespace scyper::storage
