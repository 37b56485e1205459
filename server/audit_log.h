#pragma once

#include <string>

#include "base/status.h"

namespace scyper::server {

// One administrative act: a line of JSON {"time", "who", "from", "by", "act", "result"}, with an error's "sqlstate" and
// "message".
struct AuditRecord {
  std::string who;   // a role, or the name that was given
  std::string from;  // address
  std::string by;    // "postgres", "grpc"
  std::string act;   // the statement without passwords and verifiers, the method, "login"
};

// The file that lines are appended to from here on; empty: standard error, as before. For the whole process, as its
// standard error is. Threads: open before there are others.
Status open_audit_log(const std::string& path);
// Threads: any. A line that cannot be written is lost; the act is not undone.
void write_audit(const AuditRecord& record, const Status& result);

}  // namespace scyper::server
