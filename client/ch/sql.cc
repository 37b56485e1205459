#include "client/ch/sql.h"

#include <array>

#include "base/check.h"
#include "client/ch/tables.h"
#include "embedded_sql.h"

namespace scyper::ch {

std::string_view schema_sql() { return kEmbeddedSchema; }
std::string_view procedures_sql() { return kEmbeddedProcedures; }

std::string_view query_sql(int number) {
  CHECK(number >= 1 && number <= kQueryCount);
  return kEmbeddedQueries[number - 1];
}

std::string schema_sql(const SchemaOptions& options) {
  std::string text(schema_sql());
  for (const TableInfo& info : all_tables()) {
    const size_t table = text.find("CREATE TABLE " + std::string(info.name) + " (");
    CHECK(table != std::string::npos);
    const size_t end = text.find("\n);", table);
    CHECK(end != std::string::npos);
    std::string clauses;
    if (!options.partition_by.empty() && info.warehouse_column >= 0) {
      const Column& key = info.columns[static_cast<size_t>(info.warehouse_column)];
      clauses += " PARTITION BY " + options.partition_by + " (" + std::string(key.name) + ")";
    }
    if (!options.with.empty()) clauses += " WITH (" + options.with + ")";
    text.insert(end + 2, clauses);
  }
  return text;
}

}  // namespace scyper::ch
