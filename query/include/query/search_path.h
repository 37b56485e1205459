#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// search_path and TimeZone of a session. They decide what a statement's names and times mean, so they travel with the
// statement's text: through caches, to snapshots, into the log and to other nodes.
namespace scyper::query {

// The schemas of a value of search_path, but for those that are none of users ("$user", pg_catalog, pg_temp). A path
// that has no others gives pg_none, a schema that never exists, or pg_catalog. *before_temporary: how many of them
// stand before pg_temp; none: it is not named. 22023.
StatusOr<std::vector<std::string>> schemas_of_path(std::string_view value,
                                                   std::optional<size_t>* before_temporary = nullptr);
// What stands for the schema of a session's temporary tables among its settings; no name of one.
constexpr std::string_view kTemporarySchemaSetting = "pg_temp";
// Whether names without a schema mean what they mean without any search_path: those of public.
bool is_default_path(const std::vector<std::string>& schemas);

// With the schemas of a session's temporary tables, whether there are some or not: behind so many schemas.
std::vector<std::string> path_with_temporary(const std::vector<std::string>& schemas, const std::string& session_schema,
                                             size_t before = 0);
// The text of a statement that is to be understood with that search_path.
std::string with_search_path(const std::vector<std::string>& schemas, std::string_view sql);
// Such a text taken apart: the statement itself, whose positions errors have. *schemas: empty = no search_path.
std::string_view take_search_path(std::string_view text, std::vector<std::string>* schemas);
std::string_view without_search_path(std::string_view text);

// The same with a session's time zone, which such texts begin with behind its roles (query/role.h). Empty: none.
std::string with_time_zone(std::string_view zone, std::string text);
std::string_view time_zone_of(std::string_view text);

}  // namespace scyper::query
