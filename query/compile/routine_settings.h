#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "parse/ast.h"

namespace scyper::query {

// The mark of settings that time_settings_of() gives.
std::string mark_of(const std::vector<std::pair<std::string, std::string>>& time_settings);
// SET of a routine's definition. search_path: names of the body are looked up there. TimeZone, IntervalStyle and
// DateStyle: *zone, a mark; the ones that are not set there are those of a new session. The other settings mean nothing
// while a routine runs.
Status read_routine_settings(const std::vector<ast::Option>& options, std::vector<std::string>* schemas,
                             std::string* zone);

}  // namespace scyper::query
