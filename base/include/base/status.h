#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace scyper {

using absl::Status;
using absl::StatusOr;

// An error that a client sees: a Status whose payload carries what PostgreSQL's error fields carry.
// sqlstate: exactly five characters. position: 1-based, in characters of the client's text; 0 = none.
Status sql_error(std::string_view sqlstate, std::string_view message, int position = 0);
Status with_detail(Status status, std::string_view detail);
Status with_hint(Status status, std::string_view hint);

// The fields back. A Status without them (a bug or a foreign library) has SQLSTATE XX000 (internal_error).
std::string sqlstate_of(const Status& status);
int position_of(const Status& status);
std::string detail_of(const Status& status);
std::string hint_of(const Status& status);

}  // namespace scyper

// Leaves the enclosing function with the Status of `expr` unless it is ok.
#define SCYPER_RETURN_IF_ERROR(expr)         \
  do {                                       \
    ::scyper::Status scyper_status = (expr); \
    if (!scyper_status.ok()) [[unlikely]]    \
      return scyper_status;                  \
  } while (false)

#define SCYPER_CONCAT_INNER(a, b) a##b
#define SCYPER_CONCAT(a, b) SCYPER_CONCAT_INNER(a, b)
// SCYPER_ASSIGN_OR_RETURN(auto x, f()): x = *f(), or leaves the enclosing function with f()'s Status.
#define SCYPER_ASSIGN_OR_RETURN(lhs, expr) SCYPER_ASSIGN_OR_RETURN_INNER(SCYPER_CONCAT(scyper_or_, __LINE__), lhs, expr)
#define SCYPER_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) [[unlikely]]                         \
    return std::move(tmp).status();                   \
  lhs = *std::move(tmp)
