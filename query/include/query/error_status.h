#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "query/exec_context.h"

namespace scyper::query {

constexpr char kNoticesUrl[] = "scyper/notices";

// An error with the messages (RAISE NOTICE and the like) that the statement had sent before. They hold no zero byte.
inline Status with_notices(Status status, const std::vector<std::string>& notices) {
  const std::string joined = absl::StrJoin(notices, std::string(1, '\0'));
  if (!notices.empty()) status.SetPayload(kNoticesUrl, absl::Cord(absl::string_view(joined)));
  return status;
}

inline std::vector<std::string> notices_of(const Status& status) {
  auto payload = status.GetPayload(kNoticesUrl);
  if (!payload.has_value()) return {};
  return absl::StrSplit(std::string(*payload), '\0');
}

// CONTEXT: where an error happened, as "COPY t, line 3".
constexpr char kContextUrl[] = "scyper/context";

inline Status with_context(Status status, std::string_view context) {
  status.SetPayload(kContextUrl, absl::Cord(absl::string_view(context.data(), context.size())));
  return status;
}

inline std::string context_of(const Status& status) {
  auto payload = status.GetPayload(kContextUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

// The error of a statement as a status, with its detail and hint.
inline Status status_of(const ErrorState& error) {
  Status status = sql_error(error.sqlstate, error.message);
  if (!error.detail.empty()) status = with_detail(std::move(status), error.detail);
  if (!error.hint.empty()) status = with_hint(std::move(status), error.hint);
  return status;
}

}  // namespace scyper::query
