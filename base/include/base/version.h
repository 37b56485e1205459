#pragma once

#include <string_view>

namespace scyper {

// What SELECT version() gives. Clients read from its beginning which PostgreSQL's dialect and catalogs they find.
constexpr std::string_view kVersionText = "PostgreSQL 15.0 (ScyPer 0.1.0)";

}  // namespace scyper
