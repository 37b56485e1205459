#pragma once

#include <string>
#include <vector>

#include "parse/ast.h"

namespace scyper::query {

// What SET gives, value by value.
std::vector<std::string> setting_values(const ast::SetStatement& set);
// The same, as set_config() takes it: several values with commas between them.
std::string setting_value(const ast::SetStatement& set);

}  // namespace scyper::query
