#pragma once

#include "base/status.h"

namespace scyper::query {

// For work that comes, or still waits, while the node stops. 57P03
inline Status stopping_error() {
  return with_hint(sql_error("57P03", "the node is shutting down"), "Retry after 1000 ms.");
}

}  // namespace scyper::query
