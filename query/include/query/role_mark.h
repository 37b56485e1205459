#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "query/role.h"

// A session is its role's by number: the mark that its texts begin with (query/role.h) has the numbers beside the
// names. Whoever binds a text gets the names from the catalog as it is then, so a role that is renamed stays who it
// was, and one that gets the name of a dropped one is somebody else.
namespace scyper::query {

// 0: whoever has the name, as in texts that nodes have logged.
struct RoleIds {
  uint32_t session = 0;
  uint32_t current = 0;
};

std::string with_roles(const SessionRoles& roles, const RoleIds& ids, std::string text);
RoleIds role_ids_of(std::string_view text);
// The roles of a text, by the names that they have in this catalog version. 28000: one has been dropped.
Status resolve_roles(const Roles& roles, const RoleIds& ids, SessionRoles* session);
StatusOr<SessionRoles> roles_in(const Roles& roles, std::string_view text);
// The number of the role that the session of a text has begun with.
uint32_t session_role_id(std::string_view text, const Roles& roles);
// SET ROLE, as in query/role.h, of a session with numbers.
Status set_role(const std::string& name, const Roles& roles, SessionRoles* session, RoleIds* ids);

}  // namespace scyper::query
