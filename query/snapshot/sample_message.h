#pragma once

#include <string>
#include <string_view>

#include "storage/hot_views.h"
#include "storage/table.h"

// What a query's scan asked of frozen chunks, as a snapshot's child tells its parent.
namespace scyper::query {

void put_sample(std::string* out, const storage::Table* table, const storage::HotView& asked);
// Takes one off the front; false at the end. Whether there is such a table the parent has to look, and then whether the
// sample can be one of it.
bool take_sample(std::string_view* in, const storage::Table** table, storage::HotView* asked);
bool fits_table(const storage::HotView& asked, const storage::Table& table);

}  // namespace scyper::query
