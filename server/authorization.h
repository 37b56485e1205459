#pragma once

#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/status.h"
#include "primary/engine.h"
#include "query/role_mark.h"
#include "server/server.h"

namespace scyper::server {

// Who may call what by gRPC: the role that a certificate names, and the classes of verbs that it is a member of
// (docs/security.md). Where it is off, and until a superuser can log in by a password, everybody may do everything.
// Threads: any.
class Authorization {
 public:
  Authorization(const ServerOptions& options, primary::Engine* engine, MetricsRegistry* metrics)
      : is_on_(options.authorization),
        engine_(engine),
        refused_(metrics->counter("scyper_grpc_refused_total", "Calls by gRPC that a role was not allowed.")) {}

  bool is_on() const { return is_on_; }
  // path: of the method, "/scyper.v1.Admin/Backup". name: the certificate's (CN). 42501, counted and written to the
  // audit log.
  Status check(std::string_view path, const std::string& name, const std::string& peer);

  struct Caller {
    std::string mark;         // that texts of its statements begin with (query/role.h)
    bool reads_only = false;  // it may ask, not change
    // Whom the mark names. Empty: everybody may do everything, or a member says itself whom its texts are for.
    query::SessionRoles roles;
    query::RoleIds ids;
    bool is_superuser = true;
  };
  Caller caller(const std::string& name) const;
  // Rows into a table, past its statements.
  Status check_load(const std::string& name, std::string_view table) const;
  static Status read_only_error();

 private:
  const bool is_on_;
  primary::Engine* const engine_;
  Counter& refused_;
};

}  // namespace scyper::server
