#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// search_path of a session. It decides what a statement's names mean, so it travels with the statement's text: through
// caches, to snapshots, into the log and to other nodes.
namespace scyper::query {

// The schemas of a value of search_path, but for those that are none of users ("$user", pg_catalog, pg_temp). 22023.
StatusOr<std::vector<std::string>> schemas_of_path(std::string_view value);
// Whether names without a schema mean what they mean without any search_path: those of public.
bool is_default_path(const std::vector<std::string>& schemas);

// The text of a statement that is to be understood with that search_path.
std::string with_search_path(const std::vector<std::string>& schemas, std::string_view sql);
// Such a text taken apart: the statement itself, whose positions errors have. *schemas: empty = no search_path.
std::string_view take_search_path(std::string_view text, std::vector<std::string>* schemas);
std::string_view without_search_path(std::string_view text);

}  // namespace scyper::query
