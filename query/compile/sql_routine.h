#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "query/catalog.h"

namespace scyper::query {

// The PL/pgSQL body that does what the body of a LANGUAGE sql routine says: its statements one after the other, the
// last one's first row as result. Names mean columns before parameters, as in PostgreSQL.
StatusOr<std::string> plpgsql_of_sql(std::string_view body, const Routine& routine);

}  // namespace scyper::query
