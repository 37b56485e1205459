#include <algorithm>
#include <bit>
#include <cmath>

#include "base/object_name.h"
#include "bind/system_types.h"
#include "storage/statistics.h"

// What is counted of tables: pg_stats, and the rows that pg_stat_user_tables shows. As it is when a statement is
// compiled: one that names these views is compiled each time it runs (session_activity.cc).
namespace scyper::query {

namespace {

constexpr size_t kBoundsMax = 101;  // of a histogram, as PostgreSQL's default_statistics_target of 100 has

SystemValue real(double value) { return SystemValue(std::bit_cast<int64_t>(value)); }

std::vector<SystemRow> table_counts(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    rows.push_back({table_oid(table->schema()), static_cast<int64_t>(table->live_tuples())});
  return rows;
}

// Below 0: as a fraction of the rows, where it grows with them. PostgreSQL's rule.
double distinct_values(const storage::ColumnStatistics& column, double rows) {
  constexpr double kGrows = 0.1;
  return rows > 0 && column.distinct > kGrows * rows ? -std::min(1.0, column.distinct / rows) : column.distinct;
}

template <typename Value, typename Shown>
SystemValue histogram(const std::vector<Value>& sorted, const Shown& shown) {
  if (sorted.size() < 2) return {};
  const size_t bounds = std::min(kBoundsMax, sorted.size());
  std::vector<std::string> texts;
  for (size_t i = 0; i < bounds; i++) texts.push_back(shown(sorted[i * (sorted.size() - 1) / (bounds - 1)]));
  return array_text(texts);
}

SystemValue histogram_of(const SqlType& type, const storage::ColumnStatistics& column) {
  if (is_integer(type.id))
    return histogram(column.numbers, [](double value) { return std::to_string(std::llround(value)); });
  if (!is_string(type.id)) return {};
  std::vector<std::string> texts = column.texts;
  std::sort(texts.begin(), texts.end());
  return histogram(texts, [](const std::string& text) { return text; });
}

int64_t average_width(const SqlType& type, const storage::ColumnStatistics& column) {
  if (const int16_t length = type_length(type); length > 0) return length;
  constexpr size_t kHeaderBytes = 1, kUnknownBytes = 8;
  if (column.texts.empty()) return static_cast<int64_t>(kUnknownBytes);
  size_t bytes = 0;
  for (const std::string& text : column.texts) bytes += text.size() + kHeaderBytes;
  return static_cast<int64_t>(bytes / column.texts.size());
}

// Histograms have values of rows: they are for those who may read the table.
bool may_read(const Catalog& catalog, const storage::TableSchema& schema) {
  const Role* role = current_role(catalog.roles);
  const auto rules = catalog.rules.find(schema.id);
  return role != nullptr && rules != catalog.rules.end() &&
         rights_of(rules->second.access, Accessed::kRelation, catalog.roles, *role, kSelectRight) != 0;
}

std::vector<SystemRow> column_statistics(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables) {
    const auto statistics = table->statistics();
    if (statistics == nullptr || statistics->rows <= 0 || !may_read(catalog, table->schema())) continue;
    const storage::TableSchema& schema = table->schema();
    const size_t columns = std::min(storage::visible_columns(schema), statistics->columns.size());
    for (size_t i = 0; i < columns; i++) {
      const storage::ColumnStatistics& column = statistics->columns[i];
      const SqlType& type = schema.columns[i].type;
      rows.push_back({std::string(schema_of(name)), std::string(bare_name(name)), schema.columns[i].name, false,
                      real(column.null_fraction), average_width(type, column),
                      real(distinct_values(column, statistics->rows)), SystemValue(), SystemValue(),
                      histogram_of(type, column), SystemValue(), SystemValue(), SystemValue(), SystemValue()});
    }
  }
  return rows;
}

}  // namespace

std::vector<SystemTable> statistics_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  return {
      {kSchema, "scyper_table_counts", columns_of("relid:int8 live:int8"), table_counts},
      {kSchema, "pg_stats",
       columns_of("schemaname tablename attname inherited:bool null_frac:float4 avg_width:int4 n_distinct:float4 "
                  "most_common_vals:text[] most_common_freqs:float4[] histogram_bounds:text[] correlation:float4 "
                  "most_common_elems:text[] most_common_elem_freqs:float4[] elem_count_histogram:float4[]"),
       column_statistics},
  };
}

}  // namespace scyper::query
