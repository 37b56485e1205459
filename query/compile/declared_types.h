#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/catalog.h"

namespace scyper::query {

// The types of query/declared_parameters.h: kUnknown where the statement tells. 42704.
StatusOr<std::vector<SqlType>> declared_types_of(const Catalog& catalog, const std::vector<std::string>& search_path,
                                                 std::string_view sql);

}  // namespace scyper::query
