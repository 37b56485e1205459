#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/invariant.h"
#include "compile/definition.h"
#include "parse/printer.h"

// CREATE, ALTER and DROP ROLE, GRANT and REVOKE of roles. Statements arrive here with verifiers in the place of
// passwords (without_passwords()): what is defined is logged.
namespace scyper::query {

namespace {

Status denied(const std::string& message) { return sql_error("42501", message); }

Status no_role(const std::string& name) {
  return sql_error("42704", absl::StrCat("role \"", name, "\" does not exist"));
}

Status check_role_name(const std::string& name) {
  const bool is_reserved = name.starts_with("pg_");
  if (name != "public" && name != "none" && !is_reserved) return Status();
  Status status = sql_error("42939", absl::StrCat("role name \"", name, "\" is reserved"));
  return is_reserved ? with_detail(std::move(status), "Role names starting with \"pg_\" are reserved.") : status;
}

Status check_new_role(const std::string& name, const Roles& roles) {
  SCYPER_RETURN_IF_ERROR(check_role_name(name));
  for (const char c : name)  // roles travel between marks of that kind
    if (static_cast<unsigned char>(c) < ' ')
      return sql_error("0A000", "control characters in the name of a role are not supported");
  if (roles.find(name) != nullptr) return sql_error("42710", absl::StrCat("role \"", name, "\" already exists"));
  return Status();
}

// What an option says of whom the role is or has as a member.
bool is_membership(const std::string& option) {
  return option == "addroleto" || option == "rolemembers" || option == "adminmembers";
}

// What only superusers may give.
Status check_attributes(const Role& by, const std::vector<ast::RoleOption>& options) {
  for (const ast::RoleOption& option : options) {
    if (by.is_superuser || option.value != "true") continue;
    if (option.name == "superuser") return denied("must be superuser to create superusers");
    if (option.name == "isreplication") return denied("must be superuser to create replication users");
    if (option.name == "bypassrls") return denied("must be superuser to create bypassrls users");
  }
  return Status();
}

}  // namespace

const Role& Definer::actor() const {
  const Role* role = current_role(old_->roles);
  INVARIANT(role != nullptr);  // roles_in() comes before a definition runs
  return *role;
}

// This session's, acting as the owner of something.
SessionRoles Definer::roles_of_owner(const Access& access) const {
  SessionRoles roles = thread_roles();
  const Role* owner = old_->roles.find(access.owner);
  if (owner != nullptr && owner->id != actor().id) roles.current = owner->name;
  return roles;
}

// What is about roles and rights.
Status Definer::define_access(const ast::Statement& statement, ResultSet* result) {
  switch (statement.kind) {
    case ast::StatementKind::kCreateRole:
      return create_role(ast::node_as<ast::CreateRoleStatement>(statement), result);
    case ast::StatementKind::kAlterRole:
      return alter_role(ast::node_as<ast::AlterRoleStatement>(statement), result);
    case ast::StatementKind::kDropRole:
      return drop_role(ast::node_as<ast::DropRoleStatement>(statement), result);
    case ast::StatementKind::kGrantRole:
      return grant_role(ast::node_as<ast::GrantRoleStatement>(statement), result);
    case ast::StatementKind::kGrant:
      return grant(ast::node_as<ast::GrantStatement>(statement), result);
    case ast::StatementKind::kAlterSettings:
      return alter_settings(ast::node_as<ast::AlterSettingsStatement>(statement), result);
    case ast::StatementKind::kDatabase:
      return define_database(ast::node_as<ast::DatabaseStatement>(statement), result);
    case ast::StatementKind::kOwner:
      return set_routine_owner(ast::node_as<ast::OwnerStatement>(statement), result);
    default:
      return error("0A000", "this statement is not supported", statement.location);
  }
}

StatusOr<const Role*> Definer::role_of(const ast::RoleRef& ref) {
  std::string name = ref.name;
  if (ref.kind == ast::RoleRef::Kind::kCurrent) name = current_user_name();
  if (ref.kind == ast::RoleRef::Kind::kSession) name = session_user_name();
  if (ref.kind == ast::RoleRef::Kind::kPublic) name = "public";
  const Role* role = next().roles.find(name);
  if (role == nullptr) return no_role(name);
  return role;
}

Status Definer::set_password(const ast::RoleOption& option, Role* role, ResultSet* result) {
  role->verifier.clear();
  if (!option.has_value) return Status();
  if (option.value.empty()) {
    result->notices.push_back("NOTICE:  empty string is not a valid password, clearing password");
    return Status();
  }
  if (!is_scram_verifier(option.value))
    return with_hint(sql_error("0A000", "a password in a routine, a block or a prepared statement is not supported"),
                     "It would be kept with the text: send CREATE or ALTER ROLE by itself, or give the SCRAM-SHA-256 "
                     "verifier instead.");
  role->verifier = option.value;
  return Status();
}

Status Definer::set_valid_until(const std::string& text, Role* role) {
  if (text == "infinity") return role->valid_until.reset(), Status();
  // the log has the text: it has to mean the same whenever it is read
  const bool is_fixed = std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_fixed) return sql_error("0A000", "VALID UNTIL takes a timestamp or infinity");
  const auto rows = query(absl::StrCat("SELECT ", quote_literal(text), "::timestamptz"));
  if (!rows.ok()) return sql_error(sqlstate_of(rows.status()), std::string(rows.status().message()));
  role->valid_until = rows->value(0, 0).lo;
  return Status();
}

Status Definer::set_role_option(const ast::RoleOption& option, Role* role, ResultSet* result) {
  const bool is_on = option.value == "true";
  if (option.name == "password") return set_password(option, role, result);
  if (option.name == "validUntil") return set_valid_until(option.value, role);
  if (option.name == "connectionlimit") {
    int32_t limit = 0;
    std::from_chars(option.value.data(), option.value.data() + option.value.size(), limit);
    if (limit < -1) return sql_error("22023", absl::StrCat("invalid connection limit: ", limit));
    role->connections_max = limit;
    return Status();
  }
  if (option.name == "sysid") {
    result->notices.push_back("NOTICE:  SYSID can no longer be specified");
    return Status();
  }
  static constexpr std::pair<std::string_view, bool Role::*> kSwitches[] = {
      {"superuser", &Role::is_superuser},     {"inherit", &Role::inherits},   {"createrole", &Role::creates_roles},
      {"createdb", &Role::creates_databases}, {"canlogin", &Role::can_login}, {"isreplication", &Role::is_replication},
      {"bypassrls", &Role::bypasses_rls},
  };
  for (const auto& [name, field] : kSwitches)
    if (name == option.name) return role->*field = is_on, Status();
  return sql_error("0A000", absl::StrCat("option \"", option.name, "\" of a role is not supported"));
}

Status Definer::create_role(const ast::CreateRoleStatement& create, ResultSet* result) {
  result->command_tag = "CREATE ROLE";
  SCYPER_RETURN_IF_ERROR(check_attributes(actor(), create.options));
  if (!actor().is_superuser && !actor().creates_roles) return denied("permission denied to create role");
  SCYPER_RETURN_IF_ERROR(check_new_role(create.name, old_->roles));
  Role role;
  role.name = create.name;
  role.can_login = create.can_login;
  for (const ast::RoleOption& option : create.options)
    if (!is_membership(option.name)) SCYPER_RETURN_IF_ERROR(set_role_option(option, &role, result));
  role.id = next().roles.draw_id();
  const uint32_t id = role.id;
  next().roles.put(std::move(role));
  for (const ast::RoleOption& option : create.options) {
    for (const ast::RoleRef& ref : option.roles) {
      SCYPER_ASSIGN_OR_RETURN(const Role* other, role_of(ref));
      const bool is_in = option.name == "addroleto";
      SCYPER_RETURN_IF_ERROR(
          add_member(is_in ? other->id : id, is_in ? id : other->id, option.name == "adminmembers", result));
    }
  }
  return Status();
}

// A role that others could not do without: what it was says whether the change is allowed.
Status Definer::check_superuser_left() {
  if (!old_->roles.is_closed() || next().roles.is_closed()) return Status();
  for (const auto& [name, role] : next().roles.all())
    if (role->can_login && !role->verifier.empty())
      return with_hint(sql_error("55006", "the last superuser who can log in by a password stays"),
                       "Everybody could come in then: drop the other roles that can log in first.");
  return Status();
}

Status Definer::alter_role(const ast::AlterRoleStatement& alter, ResultSet* result) {
  result->command_tag = "ALTER ROLE";
  SCYPER_ASSIGN_OR_RETURN(const Role* old, role_of(alter.role));
  if (is_predefined(*old))
    return with_detail(sql_error("42939", absl::StrCat("role name \"", old->name, "\" is reserved")),
                       "The roles of ScyPer's services cannot be changed.");
  const bool gives_superuser = std::any_of(alter.options.begin(), alter.options.end(),
                                           [](const auto& option) { return option.name == "superuser"; });
  if ((old->is_superuser || gives_superuser) && !actor().is_superuser)
    return denied("must be superuser to alter superuser roles or change superuser attribute");
  const bool changes_password = alter.options.size() == 1 && alter.options[0].name == "password";
  if (!actor().is_superuser && !actor().creates_roles && !(changes_password && old->id == actor().id))
    return denied("permission denied");
  for (const ast::RoleOption& option : alter.options)
    if (option.value == "true" && !actor().is_superuser &&
        (option.name == "isreplication" || option.name == "bypassrls"))
      return denied(option.name == "isreplication" ? "must be superuser to alter replication users"
                                                   : "must be superuser to change bypassrls attribute");
  Role role = *old;
  for (const ast::RoleOption& option : alter.options)
    if (!is_membership(option.name)) SCYPER_RETURN_IF_ERROR(set_role_option(option, &role, result));
  const uint32_t id = role.id;
  next().roles.put(std::move(role));
  for (const ast::RoleOption& option : alter.options) {
    for (const ast::RoleRef& ref : option.roles) {
      SCYPER_ASSIGN_OR_RETURN(const Role* member, role_of(ref));
      if (alter.drops_members) {
        drop_member(id, member->id, /*admin_only=*/false, result);
      } else {
        SCYPER_RETURN_IF_ERROR(add_member(id, member->id, /*admin=*/false, result));
      }
    }
  }
  return check_superuser_left();
}

Status Definer::drop_role(const ast::DropRoleStatement& drop, ResultSet* result) {
  result->command_tag = "DROP ROLE";
  if (!actor().is_superuser && !actor().creates_roles) return denied("permission denied to drop role");
  for (const ast::RoleRef& ref : drop.roles) {
    if (ref.kind != ast::RoleRef::Kind::kName)
      return sql_error("22023", "cannot use special role specifier in DROP ROLE");
    const Role* role = next().roles.find(ref.name);
    if (role == nullptr && drop.if_exists) {
      result->notices.push_back(absl::StrCat("NOTICE:  role \"", ref.name, "\" does not exist, skipping"));
      continue;
    }
    if (role == nullptr) return no_role(ref.name);
    if (role->name == current_user_name()) return sql_error("55006", "current user cannot be dropped");
    if (role->name == session_user_name()) return sql_error("55006", "session user cannot be dropped");
    if (role->is_superuser && !actor().is_superuser) return denied("must be superuser to drop superusers");
    if (is_predefined(*role) || role->id == kSuperuserId)
      return sql_error("2BP01",
                       absl::StrCat("cannot drop role ", role->name, " because it is required by the database system"));
    SCYPER_RETURN_IF_ERROR(check_owns_nothing(*role));
    next().database.forget_role(role->id);
    next().roles.remove(role->id);
  }
  return check_superuser_left();
}

Status Definer::rename_role(const std::string& from, const std::string& to, ResultSet* result) {
  result->command_tag = "ALTER ROLE";
  const Role* old = next().roles.find(from);
  if (old == nullptr) return no_role(from);
  if (from == session_user_name()) return sql_error("0A000", "session user cannot be renamed");
  if (from == current_user_name()) return sql_error("0A000", "current user cannot be renamed");
  SCYPER_RETURN_IF_ERROR(check_role_name(from));
  SCYPER_RETURN_IF_ERROR(check_new_role(to, next().roles));
  if (is_predefined(*old) || old->id == kSuperuserId)
    return sql_error("42939", absl::StrCat("role name \"", from, "\" is reserved"));
  if (old->is_superuser && !actor().is_superuser) return denied("must be superuser to rename superusers");
  if (!actor().is_superuser && !actor().creates_roles) return denied("permission denied to rename role");
  Role role = *old;
  role.name = to;
  next().roles.put(std::move(role));
  return Status();
}

Status Definer::add_member(uint32_t role_id, uint32_t member_id, bool admin, ResultSet* result) {
  Roles& roles = next().roles;
  const Role& role = *roles.find(role_id);
  const Role& member = *roles.find(member_id);
  if (role.is_superuser && !actor().is_superuser) return denied("must be superuser to alter superusers");
  if (!actor().is_superuser && !actor().creates_roles && !roles.administers(actor(), role_id))
    return denied(absl::StrCat("must have admin option on role \"", role.name, "\""));
  if (is_predefined(role) && !actor().is_superuser && !roles.administers(actor(), role_id))
    return denied(absl::StrCat("must have admin option on role \"", role.name, "\""));
  if (roles.is_member(role_id, member_id))
    return sql_error("0LP01", absl::StrCat("role \"", role.name, "\" is a member of role \"", member.name, "\""));
  const auto known = roles.members().find({role_id, member_id});
  if (known != roles.members().end() && (known->second.has_admin_option || !admin)) {
    result->notices.push_back(
        absl::StrCat("NOTICE:  role \"", member.name, "\" is already a member of role \"", role.name, "\""));
    return Status();
  }
  roles.add_member(role_id, member_id, {admin, actor().id});
  return Status();
}

void Definer::drop_member(uint32_t role_id, uint32_t member_id, bool admin_only, ResultSet* result) {
  Roles& roles = next().roles;
  const auto known = roles.members().find({role_id, member_id});
  if (known == roles.members().end()) {
    result->notices.push_back(absl::StrCat("WARNING:  role \"", roles.find(member_id)->name,
                                           "\" is not a member of role \"", roles.find(role_id)->name, "\""));
  } else if (admin_only) {
    Roles::Membership membership = known->second;
    membership.has_admin_option = false;
    roles.add_member(role_id, member_id, membership);
  } else {
    roles.remove_member(role_id, member_id);
  }
}

Status Definer::grant_role(const ast::GrantRoleStatement& grant, ResultSet* result) {
  result->command_tag = grant.is_grant ? "GRANT ROLE" : "REVOKE ROLE";
  std::vector<uint32_t> members;
  for (const ast::RoleRef& ref : grant.members) {
    SCYPER_ASSIGN_OR_RETURN(const Role* member, role_of(ref));
    members.push_back(member->id);
  }
  for (const std::string& name : grant.granted) {
    const Role* role = next().roles.find(name);
    if (role == nullptr) return no_role(name);
    for (const uint32_t member : members) {
      if (grant.is_grant) {
        SCYPER_RETURN_IF_ERROR(add_member(role->id, member, grant.admin_option, result));
        continue;
      }
      if (role->is_superuser && !actor().is_superuser) return denied("must be superuser to alter superusers");
      const bool may = actor().is_superuser || (actor().creates_roles && !is_predefined(*role)) ||
                       next().roles.administers(actor(), role->id);
      if (!may) return denied(absl::StrCat("must have admin option on role \"", role->name, "\""));
      drop_member(role->id, member, grant.admin_option, result);
    }
  }
  return Status();
}

}  // namespace scyper::query
