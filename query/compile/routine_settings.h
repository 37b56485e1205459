#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "parse/ast.h"

namespace scyper::query {

// SET of a routine's definition. search_path: names of the body are looked up there. TimeZone: *zone. The other
// settings mean nothing while a routine runs.
Status read_routine_settings(const std::vector<ast::Option>& options, std::vector<std::string>* schemas,
                             std::string* zone);

}  // namespace scyper::query
