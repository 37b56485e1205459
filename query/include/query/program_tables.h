#pragma once

#include <vector>

#include "query/program.h"
#include "storage/table.h"

namespace scyper::query {

// Adds the tables that the program and its callees read or change. Checks of foreign keys are left out. False: it may
// touch others as well, by statements that are not known before it runs.
bool add_tables(const Program& program, std::vector<const storage::Table*>* tables);
// It is an EXPLAIN.
bool shows_plan(const Program& program);

}  // namespace scyper::query
