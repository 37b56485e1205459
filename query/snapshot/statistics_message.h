#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/statistics.h"

namespace scyper::query {

// Statistics of one table as a child sends them. Both processes know the table at the same address.
void put_statistics(std::string* out, const storage::Table* table, const storage::TableStatistics& statistics);
// False at the end; what does not fit is a programmer's error.
bool take_statistics(std::string_view* in, const storage::Table** table,
                     std::shared_ptr<const storage::TableStatistics>* statistics);

}  // namespace scyper::query
