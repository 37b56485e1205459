#include "parse/converter.h"

// Statements about roles and what they may do.
namespace scyper::query {

ast::StatementPtr Converter::access_statement(const Node* node) {
  switch (nodeTag(node)) {
    case T_CreateRoleStmt:
      return create_role(to<CreateRoleStmt>(node));
    case T_AlterRoleStmt:
      return alter_role(to<AlterRoleStmt>(node));
    case T_DropRoleStmt:
      return drop_role(to<DropRoleStmt>(node));
    case T_GrantRoleStmt:
      return grant_role(to<GrantRoleStmt>(node));
    case T_GrantStmt:
      return grant(to<GrantStmt>(node));
    case T_AlterRoleSetStmt:
      return alter_role_settings(to<AlterRoleSetStmt>(node));
    case T_AlterDatabaseSetStmt:
      return alter_database_settings(to<AlterDatabaseSetStmt>(node));
    case T_CreatedbStmt:
    case T_DropdbStmt:
    case T_AlterDatabaseStmt:
      return database(node);
    case T_AlterOwnerStmt:
      return owner(to<AlterOwnerStmt>(node));
    default:
      return command(node);
  }
}

ast::RoleRef Converter::role_ref(const Node* node) {
  ast::RoleRef out;
  if (node == nullptr) return out;
  const auto& spec = to<RoleSpec>(node);
  out.name = text_of(spec.rolename);
  switch (spec.roletype) {
    case ROLESPEC_CSTRING:
      break;
    case ROLESPEC_CURRENT_ROLE:
    case ROLESPEC_CURRENT_USER:
      out.kind = ast::RoleRef::Kind::kCurrent;
      break;
    case ROLESPEC_SESSION_USER:
      out.kind = ast::RoleRef::Kind::kSession;
      break;
    case ROLESPEC_PUBLIC:
      out.kind = ast::RoleRef::Kind::kPublic;
      break;
  }
  return out;
}

std::vector<ast::RoleRef> Converter::role_refs(const List* list) {
  std::vector<ast::RoleRef> out;
  for (const Node* item : items(list)) out.push_back(role_ref(item));
  return out;
}

std::vector<ast::RoleOption> Converter::role_options(const List* list) {
  std::vector<ast::RoleOption> out;
  for (const Node* item : items(list)) {
    const auto& node = to<DefElem>(item);
    ast::RoleOption made;
    made.name = text_of(node.defname);
    if (node.arg != nullptr && nodeTag(node.arg) == T_List) {
      made.roles = role_refs(reinterpret_cast<const List*>(node.arg));
    } else {
      ast::Option value;
      option_value(node.arg, value);
      made.has_value = value.has_value;
      made.value = std::move(value.value);
    }
    out.push_back(std::move(made));
  }
  return out;
}

ast::StatementPtr Converter::create_role(const CreateRoleStmt& node) {
  auto out = std::make_unique<ast::CreateRoleStatement>();
  out->name = text_of(node.role);
  out->can_login = node.stmt_type == ROLESTMT_USER;
  out->options = role_options(node.options);
  return out;
}

ast::StatementPtr Converter::alter_role(const AlterRoleStmt& node) {
  auto out = std::make_unique<ast::AlterRoleStatement>();
  out->role = role_ref(reinterpret_cast<const Node*>(node.role));
  out->drops_members = node.action < 0;
  out->options = role_options(node.options);
  return out;
}

ast::StatementPtr Converter::alter_role_settings(const AlterRoleSetStmt& node) {
  auto out = std::make_unique<ast::AlterSettingsStatement>();
  out->has_role = true;
  out->is_all = node.role == nullptr;
  out->role = role_ref(reinterpret_cast<const Node*>(node.role));
  out->database = text_of(node.database);
  out->set = set(*node.setstmt);
  return out;
}

ast::StatementPtr Converter::alter_database_settings(const AlterDatabaseSetStmt& node) {
  auto out = std::make_unique<ast::AlterSettingsStatement>();
  out->database = text_of(node.dbname);
  out->set = set(*node.setstmt);
  return out;
}

ast::StatementPtr Converter::database(const Node* node) {
  using Action = ast::DatabaseAction;
  auto out = std::make_unique<ast::DatabaseStatement>();
  switch (nodeTag(node)) {
    case T_CreatedbStmt:
      out->name = text_of(to<CreatedbStmt>(node).dbname);
      out->options = options(to<CreatedbStmt>(node).options);
      break;
    case T_DropdbStmt:
      out->action = Action::kDrop;
      out->name = text_of(to<DropdbStmt>(node).dbname);
      out->if_exists = to<DropdbStmt>(node).missing_ok;
      break;
    case T_AlterDatabaseStmt:
      out->action = Action::kAlter;
      out->name = text_of(to<AlterDatabaseStmt>(node).dbname);
      out->options = options(to<AlterDatabaseStmt>(node).options);
      break;
    case T_RenameStmt:
      out->action = Action::kRename;
      out->name = text_of(to<RenameStmt>(node).subname);
      out->new_name = text_of(to<RenameStmt>(node).newname);
      break;
    default:
      out->action = Action::kOwner;
      out->name = strVal(to<AlterOwnerStmt>(node).object);
      out->owner = role_ref(reinterpret_cast<const Node*>(to<AlterOwnerStmt>(node).newowner));
  }
  return out;
}

ast::StatementPtr Converter::drop_role(const DropRoleStmt& node) {
  auto out = std::make_unique<ast::DropRoleStatement>();
  out->roles = role_refs(node.roles);
  out->if_exists = node.missing_ok;
  return out;
}

ast::StatementPtr Converter::grant_role(const GrantRoleStmt& node) {
  auto out = std::make_unique<ast::GrantRoleStatement>();
  out->is_grant = node.is_grant;
  out->admin_option = node.admin_opt;
  if (node.grantor != nullptr) refuse("GRANTED BY", -1);
  for (const Node* item : items(node.granted_roles)) {
    const auto& granted = to<AccessPriv>(item);
    if (granted.cols != nullptr) fail("0LP01", "column names cannot be included in GRANT/REVOKE ROLE", -1);
    out->granted.push_back(text_of(granted.priv_name));
  }
  out->members = role_refs(node.grantee_roles);
  return out;
}

// GRANT and REVOKE on objects.
ast::StatementPtr Converter::grant(const GrantStmt& node) {
  auto out = std::make_unique<ast::GrantStatement>();
  out->is_grant = node.is_grant;
  out->grant_option = node.grant_option;
  out->object = object_kind(node.objtype);
  out->object_name = object_type_name(node.objtype);
  out->all_in_schema = node.targtype == ACL_TARGET_ALL_IN_SCHEMA;
  if (node.grantor != nullptr) refuse("GRANTED BY", -1);
  for (const Node* item : items(node.privileges)) {
    const auto& privilege = to<AccessPriv>(item);
    if (privilege.cols != nullptr) refuse("a privilege on columns", -1);
    out->privileges.push_back(text_of(privilege.priv_name));
  }
  for (const Node* item : items(node.objects)) {
    if (nodeTag(item) == T_RangeVar) {
      out->objects.push_back(altered_object(&to<RangeVar>(item), nullptr, out->object));
    } else if (nodeTag(item) == T_ObjectWithArgs) {
      out->objects.push_back(named_object(item, out->object));
    } else {
      out->objects.push_back(object_ref(item));
    }
  }
  out->grantees = role_refs(node.grantees);
  return out;
}

// ALTER ... OWNER TO of what is no relation.
ast::StatementPtr Converter::owner(const AlterOwnerStmt& node) {
  if (node.objectType == OBJECT_DATABASE) return database(reinterpret_cast<const Node*>(&node));
  const ast::ObjectKind kind = object_kind(node.objectType);
  const bool is_routine =
      kind == ast::ObjectKind::kFunction || kind == ast::ObjectKind::kProcedure || kind == ast::ObjectKind::kRoutine;
  const bool is_other =
      kind == ast::ObjectKind::kSchema || kind == ast::ObjectKind::kType || kind == ast::ObjectKind::kDomain;
  if (!is_routine && !is_other) return command(reinterpret_cast<const Node*>(&node));
  auto out = std::make_unique<ast::OwnerStatement>();
  out->object = kind;
  out->object_name = object_type_name(node.objectType);
  const bool is_plain = kind == ast::ObjectKind::kSchema;
  out->target = is_plain ? object_ref(node.object) : named_object(node.object, kind);
  out->owner = role_ref(reinterpret_cast<const Node*>(node.newowner));
  return out;
}

}  // namespace scyper::query
