#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/catalog.h"
#include "query/foreign_table.h"

namespace scyper::query {

// A foreign table of these options, with the columns of `view`. Errors of the options are file_fdw's.
StatusOr<std::shared_ptr<const ForeignTable>> make_foreign_table(
    std::string server, std::vector<std::pair<std::string, std::string>> options, const View& view);

// Extensions, servers, and which views are foreign tables, for the catalog's image: texts, each behind its size, the
// number of a list before it. Read when the views are there; XX001 for what is damaged.
std::string encode_foreign(const Catalog& catalog);
Status decode_foreign(std::string_view bytes, Catalog* catalog);

}  // namespace scyper::query
