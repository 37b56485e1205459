#include "parse/converter.h"

namespace scyper::query {

namespace {

// Statements that the tree does not carry and whose tag is enough to name them.
constexpr struct {
  NodeTag tag;
  std::string_view name;
} kCommands[] = {
    {T_SelectStmt, "SELECT"},
    {T_InsertStmt, "INSERT"},
    {T_UpdateStmt, "UPDATE"},
    {T_DeleteStmt, "DELETE"},
    {T_MergeStmt, "MERGE"},
    {T_AlterDomainStmt, "ALTER DOMAIN"},
    {T_AlterDefaultPrivilegesStmt, "ALTER DEFAULT PRIVILEGES"},
    {T_ClosePortalStmt, "CLOSE"},
    {T_ClusterStmt, "CLUSTER"},
    {T_AlterFunctionStmt, "ALTER FUNCTION"},
    {T_RuleStmt, "CREATE RULE"},
    {T_NotifyStmt, "NOTIFY"},
    {T_ListenStmt, "LISTEN"},
    {T_UnlistenStmt, "UNLISTEN"},
    {T_LoadStmt, "LOAD"},
    {T_CreateDomainStmt, "CREATE DOMAIN"},
    {T_CreatedbStmt, "CREATE DATABASE"},
    {T_DropdbStmt, "DROP DATABASE"},
    {T_AlterSeqStmt, "ALTER SEQUENCE"},
    {T_CreateTrigStmt, "CREATE TRIGGER"},
    {T_CreatePLangStmt, "CREATE LANGUAGE"},
    {T_CreateRoleStmt, "CREATE ROLE"},
    {T_AlterRoleStmt, "ALTER ROLE"},
    {T_DropRoleStmt, "DROP ROLE"},
    {T_LockStmt, "LOCK TABLE"},
    {T_ConstraintsSetStmt, "SET CONSTRAINTS"},
    {T_ReindexStmt, "REINDEX"},
    {T_CheckPointStmt, "CHECKPOINT"},
    {T_AlterDatabaseStmt, "ALTER DATABASE"},
    {T_AlterDatabaseRefreshCollStmt, "ALTER DATABASE"},
    {T_AlterDatabaseSetStmt, "ALTER DATABASE"},
    {T_AlterRoleSetStmt, "ALTER ROLE"},
    {T_CreateConversionStmt, "CREATE CONVERSION"},
    {T_CreateCastStmt, "CREATE CAST"},
    {T_CreateOpClassStmt, "CREATE OPERATOR CLASS"},
    {T_CreateOpFamilyStmt, "CREATE OPERATOR FAMILY"},
    {T_AlterOpFamilyStmt, "ALTER OPERATOR FAMILY"},
    {T_DeclareCursorStmt, "DECLARE CURSOR"},
    {T_CreateTableSpaceStmt, "CREATE TABLESPACE"},
    {T_DropTableSpaceStmt, "DROP TABLESPACE"},
    {T_AlterOperatorStmt, "ALTER OPERATOR"},
    {T_AlterTypeStmt, "ALTER TYPE"},
    {T_DropOwnedStmt, "DROP OWNED"},
    {T_ReassignOwnedStmt, "REASSIGN OWNED"},
    {T_CompositeTypeStmt, "CREATE TYPE"},
    {T_CreateEnumStmt, "CREATE TYPE"},
    {T_CreateRangeStmt, "CREATE TYPE"},
    {T_AlterEnumStmt, "ALTER TYPE"},
    {T_AlterTSDictionaryStmt, "ALTER TEXT SEARCH DICTIONARY"},
    {T_AlterTSConfigurationStmt, "ALTER TEXT SEARCH CONFIGURATION"},
    {T_CreateFdwStmt, "CREATE FOREIGN DATA WRAPPER"},
    {T_AlterFdwStmt, "ALTER FOREIGN DATA WRAPPER"},
    {T_AlterForeignServerStmt, "ALTER SERVER"},
    {T_CreateUserMappingStmt, "CREATE USER MAPPING"},
    {T_AlterUserMappingStmt, "ALTER USER MAPPING"},
    {T_DropUserMappingStmt, "DROP USER MAPPING"},
    {T_AlterTableSpaceOptionsStmt, "ALTER TABLESPACE"},
    {T_AlterTableMoveAllStmt, "ALTER TABLE ALL IN TABLESPACE"},
    {T_SecLabelStmt, "SECURITY LABEL"},
    {T_ImportForeignSchemaStmt, "IMPORT FOREIGN SCHEMA"},
    {T_AlterExtensionStmt, "ALTER EXTENSION"},
    {T_AlterExtensionContentsStmt, "ALTER EXTENSION"},
    {T_CreateEventTrigStmt, "CREATE EVENT TRIGGER"},
    {T_AlterEventTrigStmt, "ALTER EVENT TRIGGER"},
    {T_RefreshMatViewStmt, "REFRESH MATERIALIZED VIEW"},
    {T_AlterSystemStmt, "ALTER SYSTEM"},
    {T_CreatePolicyStmt, "CREATE POLICY"},
    {T_AlterPolicyStmt, "ALTER POLICY"},
    {T_CreateTransformStmt, "CREATE TRANSFORM"},
    {T_CreateAmStmt, "CREATE ACCESS METHOD"},
    {T_CreatePublicationStmt, "CREATE PUBLICATION"},
    {T_AlterPublicationStmt, "ALTER PUBLICATION"},
    {T_CreateSubscriptionStmt, "CREATE SUBSCRIPTION"},
    {T_AlterSubscriptionStmt, "ALTER SUBSCRIPTION"},
    {T_DropSubscriptionStmt, "DROP SUBSCRIPTION"},
    {T_CreateStatsStmt, "CREATE STATISTICS"},
    {T_AlterStatsStmt, "ALTER STATISTICS"},
    {T_AlterCollationStmt, "ALTER COLLATION"},
};

std::string_view alter_name(ObjectType type) {
  switch (type) {
    case OBJECT_TABLE:
      return "ALTER TABLE";
    case OBJECT_FUNCTION:
      return "ALTER FUNCTION";
    case OBJECT_PROCEDURE:
      return "ALTER PROCEDURE";
    case OBJECT_SCHEMA:
      return "ALTER SCHEMA";
    case OBJECT_SEQUENCE:
      return "ALTER SEQUENCE";
    case OBJECT_VIEW:
      return "ALTER VIEW";
    case OBJECT_DATABASE:
      return "ALTER DATABASE";
    default:
      return "ALTER of this object";
  }
}

std::string_view discard_name(DiscardMode target) {
  switch (target) {
    case DISCARD_ALL:
      return "DISCARD ALL";
    case DISCARD_PLANS:
      return "DISCARD PLANS";
    case DISCARD_SEQUENCES:
      return "DISCARD SEQUENCES";
    case DISCARD_TEMP:
      return "DISCARD TEMP";
  }
  return "DISCARD";
}

std::string_view define_name(ObjectType type) {
  switch (type) {
    case OBJECT_AGGREGATE:
      return "CREATE AGGREGATE";
    case OBJECT_OPERATOR:
      return "CREATE OPERATOR";
    case OBJECT_COLLATION:
      return "CREATE COLLATION";
    case OBJECT_TYPE:
      return "CREATE TYPE";
    default:
      return "CREATE TEXT SEARCH";
  }
}

}  // namespace

std::string_view command_name(const Node* node) {
  const NodeTag tag = nodeTag(node);
  switch (tag) {  // those whose name depends on more than the tag
    case T_GrantStmt:
      return to<GrantStmt>(node).is_grant ? "GRANT" : "REVOKE";
    case T_GrantRoleStmt:
      return to<GrantRoleStmt>(node).is_grant ? "GRANT ROLE" : "REVOKE ROLE";
    case T_FetchStmt:
      return to<FetchStmt>(node).ismove ? "MOVE" : "FETCH";
    case T_VacuumStmt:
      return to<VacuumStmt>(node).is_vacuumcmd ? "VACUUM" : "ANALYZE";
    case T_AlterOwnerStmt:
      return alter_name(to<AlterOwnerStmt>(node).objectType);
    case T_AlterObjectSchemaStmt:
      return alter_name(to<AlterObjectSchemaStmt>(node).objectType);
    case T_AlterObjectDependsStmt:
      return alter_name(to<AlterObjectDependsStmt>(node).objectType);
    case T_DefineStmt:
      return define_name(to<DefineStmt>(node).kind);
    case T_DiscardStmt:
      return discard_name(to<DiscardStmt>(node).target);
    default:
      break;
  }
  for (const auto& command : kCommands) {
    if (command.tag == tag) return command.name;
  }
  return "this statement";
}

}  // namespace scyper::query
