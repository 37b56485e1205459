#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace scyper::query {

// CREATE ROLE. Immutable.
struct Role {
  uint32_t id = 0;  // never given twice; pg_roles.oid
  std::string name;
  bool is_superuser = false;
  bool can_login = false;
  bool inherits = true;
  bool creates_roles = false;
  bool creates_databases = false;  // there is one database: shown only, as the two behind it
  bool is_replication = false;
  bool bypasses_rls = false;
  int32_t connections_max = -1;        // of each node; below 0: any number
  std::string verifier;                // of its password: SCRAM-SHA-256$...; empty: it has none
  std::optional<int64_t> valid_until;  // its password: microseconds since 2000; infinity is none
};

// The roles that are there from the beginning, with these numbers. kSuperuser is who acts where nobody is asked for.
constexpr char kSuperuser[] = "scyper";
constexpr uint32_t kSuperuserId = 10;
constexpr char kClientRole[] = "scyper_client", kAnalystRole[] = "scyper_analyst", kOperatorRole[] = "scyper_operator",
               kMemberRole[] = "scyper_member";
constexpr uint32_t kClientRoleId = 6001, kFirstRoleId = 16384;  // of a database's own roles

// The roles of a catalog version and who is a member of which.
class Roles {
 public:
  struct Membership {
    bool has_admin_option = false;
    uint32_t grantor = kSuperuserId;
  };
  using Members = std::map<std::pair<uint32_t, uint32_t>, Membership>;  // by role and member

  Roles();
  const Role* find(std::string_view name) const;
  const Role* find(uint32_t id) const;
  const std::map<std::string, std::shared_ptr<const Role>, std::less<>>& all() const { return by_name_; }
  const Members& members() const { return members_; }

  uint32_t draw_id() { return next_id_++; }
  void put(Role role);       // new, or instead of the one of its number
  void remove(uint32_t id);  // with its memberships
  void add_member(uint32_t role, uint32_t member, Membership membership) { members_[{role, member}] = membership; }
  bool remove_member(uint32_t role, uint32_t member) { return members_.erase({role, member}) != 0; }

  // Whether it is the role, or a member of it, or of a member. Superusers are not members of all roles here.
  bool is_member(uint32_t member, uint32_t role) const;
  // The same by memberships whose rights it has without SET ROLE: superusers have those of all roles.
  bool has_rights_of(const Role& member, uint32_t role) const;
  // Whether it may give the role to others.
  bool administers(const Role& member, uint32_t role) const;
  // Whether a superuser can log in by a password: from then on nobody comes in who is not known (docs/security.md).
  bool is_closed() const;

 private:
  friend struct RolesImage;
  std::map<std::string, std::shared_ptr<const Role>, std::less<>> by_name_;
  Members members_;
  uint32_t next_id_ = kFirstRoleId;
};

bool is_predefined(const Role& role);

// Whom a statement runs for: the roles that session_user and current_user say. They travel with the statement's text,
// as search_path does (query/search_path.h), so what was compiled for one role is never another's.
struct SessionRoles {
  std::string session;  // empty: kSuperuser
  std::string current;
  bool empty() const { return session.empty() && current.empty(); }
  bool operator==(const SessionRoles&) const = default;
};
// While it lives, the roles of what this thread binds or defines; they outlive it.
class RoleScope {
 public:
  explicit RoleScope(const SessionRoles* roles) noexcept : saved_(current) { current = roles; }
  ~RoleScope() { current = saved_; }
  RoleScope(const RoleScope&) = delete;
  RoleScope& operator=(const RoleScope&) = delete;
  static inline constinit thread_local const SessionRoles* current = nullptr;  // null: kSuperuser

 private:
  const SessionRoles* const saved_;
};
SessionRoles thread_roles();
// SET ROLE; "none": the session's own. 22023 there is none of that name, 42501.
Status set_role(const std::string& name, const Roles& roles, SessionRoles* session);
std::string_view session_user_name();
std::string_view current_user_name();
// Null: it has been dropped.
const Role* current_role(const Roles& roles);
// 28000 where one of them has been dropped.
Status check_roles(const SessionRoles& session, const Roles& roles);

std::string with_roles(const SessionRoles& roles, std::string text);
SessionRoles roles_of(std::string_view text);

// PostgreSQL's form of what a server keeps of a password: SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>.
bool is_scram_verifier(std::string_view text);

// Whether a statement begins as those do that say who there is and who may do what: about roles, GRANT, REVOKE.
bool is_about_roles(std::string_view sql);
// Such a statement as it may be shown: without passwords and verifiers.
std::string shown_role_statement(std::string_view sql);

// Passwords in CREATE and ALTER ROLE give way to what `verifier_of` makes of them, so that what keeps, shows or logs
// the text never has one. Not within routines and blocks: there they are refused when they run.
StatusOr<std::string> without_passwords(std::string_view sql,
                                        const std::function<StatusOr<std::string>(std::string_view)>& verifier_of);

}  // namespace scyper::query
