#pragma once

#include <string_view>

#include "base/status.h"

namespace scyper::query {

// Texts have the order of their bytes: the collations that promise it are known. 42704: no collation of that name in a
// database of PostgreSQL whose system has no other locales; 0A000: one of ICU's.
Status check_collation_name(std::string_view name);

}  // namespace scyper::query
