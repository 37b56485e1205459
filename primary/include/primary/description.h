#pragma once

#include <string_view>
#include <vector>

#include "primary/engine.h"
#include "query/catalog.h"

namespace scyper::primary {

// What Engine::tables() and Engine::describe() tell. Nothing changes the tables meanwhile.
std::vector<Engine::TableInfo> describe_tables(const query::Catalog& catalog);
StatusOr<std::vector<query::ResultColumn>> describe_columns(const query::Catalog& catalog, std::string_view table);

}  // namespace scyper::primary
