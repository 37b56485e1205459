#pragma once

#include <span>
#include <vector>

#include "storage/hot_views.h"
#include "storage/schema.h"

namespace scyper::storage {

// Conjunctions that contain many of what statements have asked, so that it may pay to have them as hot data views: of
// each column that at least `least` of them compare, and of the columns that so many compare together, ranges and lists
// of the values seen, of all and of most of them. Values that come once are in no list. Without columns and names.
std::vector<HotView> find_view_candidates(const TableSchema& schema, std::span<const HotView* const> asked,
                                          size_t least);

}  // namespace scyper::storage
