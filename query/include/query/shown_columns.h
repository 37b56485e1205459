#pragma once

#include <cstddef>
#include <span>

#include "query/result.h"

namespace scyper::query {

// Rows of a query without columns have one all the same, without a name, which clients are not shown.
inline size_t shown_columns(std::span<const ResultColumn> columns) {
  return columns.size() == 1 && columns[0].name.empty() ? 0 : columns.size();
}

}  // namespace scyper::query
