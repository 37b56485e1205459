#include "base/check.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "base/object_name.h"
#include "base/status.h"

namespace scyper {

void check_failed(const char* file, int line, const char* condition) noexcept {
  char text[512];
  int n = std::snprintf(text, sizeof(text), "%s:%d: CHECK failed: %s\n", file, line, condition);
  if (n > 0) {
    size_t size = static_cast<size_t>(n) < sizeof(text) ? static_cast<size_t>(n) : sizeof(text) - 1;
    ssize_t ignored = ::write(STDERR_FILENO, text, size);
    static_cast<void>(ignored);
  }
  std::abort();
}

namespace {
constexpr char kSqlstateUrl[] = "scyper/sqlstate";
constexpr char kPositionUrl[] = "scyper/position";
constexpr char kDetailUrl[] = "scyper/detail";
constexpr char kHintUrl[] = "scyper/hint";

// gRPC's code for a SQLSTATE class: what a client that knows only Status codes should do.
absl::StatusCode code_of(std::string_view sqlstate) {
  std::string_view cls = sqlstate.substr(0, 2);
  if (sqlstate == "57014") return absl::StatusCode::kDeadlineExceeded;
  if (sqlstate == "0A000") return absl::StatusCode::kUnimplemented;
  if (sqlstate == "23505") return absl::StatusCode::kAlreadyExists;
  if (sqlstate == "42501") return absl::StatusCode::kPermissionDenied;
  if (sqlstate == "42P01" || sqlstate == "42883" || sqlstate == "42704") return absl::StatusCode::kNotFound;
  if (cls == "22" || cls == "42" || sqlstate == "08P01") return absl::StatusCode::kInvalidArgument;
  if (cls == "53" || cls == "54") return absl::StatusCode::kResourceExhausted;
  if (cls == "57" || cls == "08") return absl::StatusCode::kUnavailable;
  if (cls == "XX") return absl::StatusCode::kInternal;
  if (cls == "40") return absl::StatusCode::kAborted;
  return absl::StatusCode::kFailedPrecondition;
}

// Debian's Abseil has its own string_view and no instance of Cord(std::string&&).
absl::Cord cord_of(std::string_view text) { return absl::Cord(absl::string_view(text.data(), text.size())); }

std::string payload(const Status& status, const char* url) {
  auto cord = status.GetPayload(url);
  return cord.has_value() ? std::string(*cord) : std::string();
}
// A message with names as PostgreSQL shows them: with their schemas where it is about what is missing or depends.
std::string shown(std::string_view sqlstate, std::string_view text) {
  const bool qualified =
      sqlstate == "2BP01" || sqlstate == "42883" || (sqlstate == "42P01" && text.starts_with("relation"));
  return without_keys(text, qualified);
}
}  // namespace

Status sql_error(std::string_view sqlstate, std::string_view message, int position) {
  CHECK(sqlstate.size() == 5);
  const std::string text = shown(sqlstate, message);
  Status status(code_of(sqlstate), absl::string_view(text.data(), text.size()));
  status.SetPayload(kSqlstateUrl, cord_of(sqlstate));
  if (position > 0) status.SetPayload(kPositionUrl, cord_of(std::to_string(position)));
  return status;
}

Status with_detail(Status status, std::string_view detail) {
  status.SetPayload(kDetailUrl, cord_of(shown(sqlstate_of(status), detail)));
  return status;
}

Status with_hint(Status status, std::string_view hint) {
  status.SetPayload(kHintUrl, cord_of(shown(sqlstate_of(status), hint)));
  return status;
}

std::string sqlstate_of(const Status& status) {
  if (status.ok()) return "00000";
  std::string value = payload(status, kSqlstateUrl);
  return value.empty() ? "XX000" : value;
}

int position_of(const Status& status) {
  int position = 0;
  return absl::SimpleAtoi(payload(status, kPositionUrl), &position) ? position : 0;
}

std::string detail_of(const Status& status) { return payload(status, kDetailUrl); }
std::string hint_of(const Status& status) { return payload(status, kHintUrl); }

}  // namespace scyper
