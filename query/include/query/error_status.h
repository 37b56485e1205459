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

// The error without its position: of a text that nobody has written, or where PostgreSQL tells none.
inline Status without_position(const Status& status) {
  if (status.ok()) return status;
  Status plain = sql_error(sqlstate_of(status), std::string(status.message()));
  if (std::string detail = detail_of(status); !detail.empty()) plain = with_detail(plain, detail);
  if (std::string hint = hint_of(status); !hint.empty()) plain = with_hint(plain, hint);
  return plain;
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

// What an error is about; parts may be empty.
struct ErrorObject {
  std::string schema, table, column, datatype, constraint;
};
constexpr char kObjectUrl[] = "scyper/object";

inline Status with_object(Status status, const ErrorObject& object) {
  const std::string joined = absl::StrJoin(
      {object.schema, object.table, object.column, object.datatype, object.constraint}, std::string(1, '\0'));
  if (joined.size() > 4) status.SetPayload(kObjectUrl, absl::Cord(absl::string_view(joined)));
  return status;
}

inline ErrorObject object_of(const Status& status) {
  const auto payload = status.GetPayload(kObjectUrl);
  if (!payload.has_value()) return {};
  const std::vector<std::string> parts = absl::StrSplit(std::string(*payload), '\0');
  return parts.size() == 5 ? ErrorObject{parts[0], parts[1], parts[2], parts[3], parts[4]} : ErrorObject();
}

// Fills in of which constraint, table or column an error of class 23 is, from the message that names it by keys
// (base/object_name.h).
void name_violated(const ExecContext& context, std::string_view message, ErrorState* error);

// The error of a statement as a status, with its detail, hint and object.
inline Status status_of(const ErrorState& error) {
  Status status = sql_error(error.sqlstate, error.message);
  if (!error.detail.empty()) status = with_detail(std::move(status), error.detail);
  if (!error.hint.empty()) status = with_hint(std::move(status), error.hint);
  return with_object(std::move(status), {error.schema, error.table, error.column, error.datatype, error.constraint});
}

}  // namespace scyper::query
