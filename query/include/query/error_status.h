#pragma once

#include <utility>

#include "base/status.h"
#include "query/exec_context.h"

namespace scyper::query {

// The error of a statement as a status, with its detail and hint.
inline Status status_of(const ErrorState& error) {
  Status status = sql_error(error.sqlstate, error.message);
  if (!error.detail.empty()) status = with_detail(std::move(status), error.detail);
  if (!error.hint.empty()) status = with_hint(std::move(status), error.hint);
  return status;
}

}  // namespace scyper::query
