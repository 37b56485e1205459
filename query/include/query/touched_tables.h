#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "query/catalog.h"
#include "query/program.h"

namespace scyper::query {

// The tables whose rows a program may read or write: those of its own code and of all that it calls, and the ones that
// foreign keys tie to them, which checks read.
struct TouchedTables {
  bool may_be_any = false;   // it runs statements that are not known yet
  std::vector<TableId> ids;  // ascending

  bool contains(TableId id) const;
  bool meets(const TouchedTables& other) const;
};
TouchedTables touched_tables(const Program& program, const Catalog& catalog);
// What a definition touches that reads all rows of a table, ALTER TABLE or CREATE INDEX; none: it is another one.
std::optional<TouchedTables> tables_made_anew(std::string_view text, const Catalog& catalog);

}  // namespace scyper::query
