#pragma once

#include <string_view>

#include "base/status.h"
#include "query/database.h"

namespace scyper::query {

// Defines again what the log has, for who replays it. DefinitionRun::log says so when it is not empty before the run:
// rules are not checked by the rows that are there, and values that were drawn are taken from the log. *changes: those
// of rows and sequences that follow, not yet made. Runs alone. Errors: those of the definition; XX001: the values do
// not fit the rows.
Status repeat_definition(Database* database, std::string_view log, std::string_view* changes);

}  // namespace scyper::query
