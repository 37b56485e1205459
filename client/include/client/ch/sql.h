#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scyper::ch {

// The benchmark's SQL as PostgreSQL 15 runs it unchanged.
std::string_view schema_sql();
std::string_view procedures_sql();
constexpr int kQueryCount = 22;
std::string_view query_sql(int number);  // 1..22, without a semicolon at its end

struct SchemaOptions {
  std::string partition_by;  // "HASH": " PARTITION BY HASH (w_id)" behind the tables of a warehouse; empty = none
  std::string with;          // "layout = row": " WITH (layout = row)" behind every table; empty = none
};
// The schema with what this database understands beyond PostgreSQL.
std::string schema_sql(const SchemaOptions& options);

}  // namespace scyper::ch
