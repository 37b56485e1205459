#include "audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace scyper::server {

namespace {

std::atomic<int> audit_descriptor{STDERR_FILENO};

void append_json(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      absl::StrAppend(out, "\\u00", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      *out += c;
    }
  }
  *out += '"';
}

void append_field(const char* name, std::string_view value, std::string* out) {
  absl::StrAppend(out, out->size() > 1 ? ", \"" : "\"", name, "\": ");
  append_json(value, out);
}

}  // namespace

Status open_audit_log(const std::string& path) {
  if (path.empty()) return {};
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return absl::InvalidArgumentError("audit_log: " + path + ": " + std::strerror(errno));
  const int before = audit_descriptor.exchange(descriptor);
  if (before != STDERR_FILENO) ::close(before);
  return {};
}

void write_audit(const AuditRecord& record, const Status& result) {
  std::string line = "{";
  append_field("time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()), &line);
  append_field("who", record.who, &line);
  append_field("from", record.from, &line);
  append_field("by", record.by, &line);
  append_field("act", record.act, &line);
  append_field("result", result.ok() ? "ok" : "refused", &line);
  if (!result.ok()) {
    append_field("sqlstate", sqlstate_of(result), &line);
    append_field("message", {result.message().data(), result.message().size()}, &line);
  }
  line += "}\n";
  // one write: lines of several threads do not mix
  static_cast<void>(!::write(audit_descriptor.load(), line.data(), line.size()));
}

}  // namespace scyper::server
