#pragma once

#include <string_view>

namespace scyper::query {

// The query that a view of pg_catalog or information_schema stands for; empty: there is none of that name. schema:
// empty for pg_catalog.
std::string_view system_view_query(std::string_view schema, std::string_view name);

}  // namespace scyper::query
