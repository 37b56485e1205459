#include "parse/converter.h"

namespace scyper::query {

ast::ObjectKind object_kind(ObjectType type) {
  switch (type) {
    case OBJECT_TABLE:
      return ast::ObjectKind::kTable;
    case OBJECT_INDEX:
      return ast::ObjectKind::kIndex;
    case OBJECT_VIEW:
      return ast::ObjectKind::kView;
    case OBJECT_MATVIEW:
      return ast::ObjectKind::kMaterializedView;
    case OBJECT_SEQUENCE:
      return ast::ObjectKind::kSequence;
    case OBJECT_SCHEMA:
      return ast::ObjectKind::kSchema;
    case OBJECT_PROCEDURE:
      return ast::ObjectKind::kProcedure;
    case OBJECT_FUNCTION:
      return ast::ObjectKind::kFunction;
    case OBJECT_ROUTINE:
      return ast::ObjectKind::kRoutine;
    case OBJECT_COLUMN:
      return ast::ObjectKind::kColumn;
    case OBJECT_TABCONSTRAINT:
      return ast::ObjectKind::kConstraint;
    default:
      return ast::ObjectKind::kOther;
  }
}

std::string_view object_type_name(ObjectType type) {
  switch (type) {
    case OBJECT_TABLE:
      return "TABLE";
    case OBJECT_INDEX:
      return "INDEX";
    case OBJECT_VIEW:
      return "VIEW";
    case OBJECT_MATVIEW:
      return "MATERIALIZED VIEW";
    case OBJECT_SEQUENCE:
      return "SEQUENCE";
    case OBJECT_SCHEMA:
      return "SCHEMA";
    case OBJECT_PROCEDURE:
      return "PROCEDURE";
    case OBJECT_FUNCTION:
      return "FUNCTION";
    case OBJECT_ROUTINE:
      return "ROUTINE";
    case OBJECT_COLUMN:
      return "COLUMN";
    case OBJECT_TABCONSTRAINT:
      return "CONSTRAINT";
    case OBJECT_ACCESS_METHOD:
      return "ACCESS METHOD";
    case OBJECT_AGGREGATE:
      return "AGGREGATE";
    case OBJECT_CAST:
      return "CAST";
    case OBJECT_COLLATION:
      return "COLLATION";
    case OBJECT_CONVERSION:
      return "CONVERSION";
    case OBJECT_DATABASE:
      return "DATABASE";
    case OBJECT_DOMAIN:
      return "DOMAIN";
    case OBJECT_DOMCONSTRAINT:
      return "DOMAIN CONSTRAINT";
    case OBJECT_EVENT_TRIGGER:
      return "EVENT TRIGGER";
    case OBJECT_EXTENSION:
      return "EXTENSION";
    case OBJECT_FDW:
      return "FOREIGN DATA WRAPPER";
    case OBJECT_FOREIGN_SERVER:
      return "SERVER";
    case OBJECT_FOREIGN_TABLE:
      return "FOREIGN TABLE";
    case OBJECT_LANGUAGE:
      return "LANGUAGE";
    case OBJECT_OPCLASS:
      return "OPERATOR CLASS";
    case OBJECT_OPERATOR:
      return "OPERATOR";
    case OBJECT_OPFAMILY:
      return "OPERATOR FAMILY";
    case OBJECT_POLICY:
      return "POLICY";
    case OBJECT_PUBLICATION:
      return "PUBLICATION";
    case OBJECT_ROLE:
      return "ROLE";
    case OBJECT_RULE:
      return "RULE";
    case OBJECT_STATISTIC_EXT:
      return "STATISTICS";
    case OBJECT_SUBSCRIPTION:
      return "SUBSCRIPTION";
    case OBJECT_TABLESPACE:
      return "TABLESPACE";
    case OBJECT_TRANSFORM:
      return "TRANSFORM";
    case OBJECT_TRIGGER:
      return "TRIGGER";
    case OBJECT_TSCONFIGURATION:
      return "TEXT SEARCH CONFIGURATION";
    case OBJECT_TSDICTIONARY:
      return "TEXT SEARCH DICTIONARY";
    case OBJECT_TSPARSER:
      return "TEXT SEARCH PARSER";
    case OBJECT_TSTEMPLATE:
      return "TEXT SEARCH TEMPLATE";
    case OBJECT_TYPE:
      return "TYPE";
    default:
      return "OBJECT";
  }
}

namespace {

ast::StatementPtr unsupported(std::string_view verb, ObjectType type) {
  auto out = std::make_unique<ast::UnsupportedStatement>();
  out->command = std::string(verb) + " " + std::string(object_type_name(type));
  return out;
}

ast::AlterTableAction alter_action(AlterTableType type) {
  switch (type) {
    case AT_AddColumn:
      return ast::AlterTableAction::kAddColumn;
    case AT_DropColumn:
      return ast::AlterTableAction::kDropColumn;
    case AT_AlterColumnType:
      return ast::AlterTableAction::kSetType;
    case AT_ColumnDefault:
      return ast::AlterTableAction::kSetDefault;
    case AT_SetNotNull:
      return ast::AlterTableAction::kSetNotNull;
    case AT_DropNotNull:
      return ast::AlterTableAction::kDropNotNull;
    case AT_AddConstraint:
      return ast::AlterTableAction::kAddConstraint;
    case AT_DropConstraint:
      return ast::AlterTableAction::kDropConstraint;
    case AT_ValidateConstraint:
      return ast::AlterTableAction::kValidateConstraint;
    case AT_SetRelOptions:
      return ast::AlterTableAction::kSetOptions;
    case AT_ResetRelOptions:
      return ast::AlterTableAction::kResetOptions;
    default:
      return ast::AlterTableAction::kOther;
  }
}

std::string_view alter_action_name(AlterTableType type) {
  switch (type) {
    case AT_AddColumn:
      return "ADD COLUMN";
    case AT_DropColumn:
      return "DROP COLUMN";
    case AT_AlterColumnType:
      return "ALTER COLUMN ... SET DATA TYPE";
    case AT_ColumnDefault:
      return "ALTER COLUMN ... SET/DROP DEFAULT";
    case AT_SetNotNull:
      return "ALTER COLUMN ... SET NOT NULL";
    case AT_DropNotNull:
      return "ALTER COLUMN ... DROP NOT NULL";
    case AT_AddConstraint:
      return "ADD CONSTRAINT";
    case AT_DropConstraint:
      return "DROP CONSTRAINT";
    case AT_ValidateConstraint:
      return "VALIDATE CONSTRAINT";
    case AT_AlterConstraint:
      return "ALTER CONSTRAINT";
    case AT_SetRelOptions:
      return "SET";
    case AT_ResetRelOptions:
      return "RESET";
    case AT_DropExpression:
      return "ALTER COLUMN ... DROP EXPRESSION";
    case AT_SetStatistics:
      return "ALTER COLUMN ... SET STATISTICS";
    case AT_SetOptions:
      return "ALTER COLUMN ... SET";
    case AT_ResetOptions:
      return "ALTER COLUMN ... RESET";
    case AT_SetStorage:
      return "ALTER COLUMN ... SET STORAGE";
    case AT_SetCompression:
      return "ALTER COLUMN ... SET COMPRESSION";
    case AT_AddIdentity:
      return "ALTER COLUMN ... ADD IDENTITY";
    case AT_SetIdentity:
      return "ALTER COLUMN ... SET";
    case AT_DropIdentity:
      return "ALTER COLUMN ... DROP IDENTITY";
    case AT_ChangeOwner:
      return "OWNER TO";
    case AT_ClusterOn:
      return "CLUSTER ON";
    case AT_DropCluster:
      return "SET WITHOUT CLUSTER";
    case AT_SetLogged:
      return "SET LOGGED";
    case AT_SetUnLogged:
      return "SET UNLOGGED";
    case AT_SetAccessMethod:
      return "SET ACCESS METHOD";
    case AT_SetTableSpace:
      return "SET TABLESPACE";
    case AT_AddInherit:
      return "INHERIT";
    case AT_DropInherit:
      return "NO INHERIT";
    case AT_AttachPartition:
      return "ATTACH PARTITION";
    case AT_DetachPartition:
      return "DETACH PARTITION";
    case AT_ReplicaIdentity:
      return "REPLICA IDENTITY";
    case AT_EnableRowSecurity:
      return "ENABLE ROW SECURITY";
    case AT_DisableRowSecurity:
      return "DISABLE ROW SECURITY";
    case AT_EnableTrig:
    case AT_EnableAlwaysTrig:
    case AT_EnableReplicaTrig:
    case AT_EnableTrigAll:
    case AT_EnableTrigUser:
      return "ENABLE TRIGGER";
    case AT_DisableTrig:
    case AT_DisableTrigAll:
    case AT_DisableTrigUser:
      return "DISABLE TRIGGER";
    default:
      return "this form";
  }
}

}  // namespace

ast::AlterTableCommand Converter::alter_command(const AlterTableCmd& node) {
  ast::AlterTableCommand out;
  out.action = alter_action(node.subtype);
  out.action_name = alter_action_name(node.subtype);
  out.name = text_of(node.name);
  out.if_exists = node.missing_ok;
  out.cascade = node.behavior == DROP_CASCADE;
  switch (out.action) {
    case ast::AlterTableAction::kAddColumn:
    case ast::AlterTableAction::kSetType: {
      const auto& column = to<ColumnDef>(node.def);
      out.column = std::make_unique<ast::ColumnDefinition>(column_definition(column));
      out.expr = expr(column.raw_default);  // USING
      out.location = at(column.location);
      break;
    }
    case ast::AlterTableAction::kSetDefault:
      out.expr = expr(node.def);
      break;
    case ast::AlterTableAction::kAddConstraint:
      out.constraint = std::make_unique<ast::Constraint>(constraint(to<::Constraint>(node.def)));
      out.location = out.constraint->location;
      break;
    case ast::AlterTableAction::kSetOptions:
    case ast::AlterTableAction::kResetOptions:
      out.options = options(reinterpret_cast<const List*>(node.def));
      break;
    default:
      break;
  }
  return out;
}

std::unique_ptr<ast::AlterTableStatement> Converter::alter_table(const AlterTableStmt& node) {
  auto out = std::make_unique<ast::AlterTableStatement>();
  out->object = object_kind(node.objtype);
  out->table = table_ref(node.relation);
  out->if_exists = node.missing_ok;
  for (const Node* item : items(node.cmds)) out->commands.push_back(alter_command(to<AlterTableCmd>(item)));
  return out;
}

ast::ObjectRef Converter::object_ref(const Node* node) {
  ast::ObjectRef out;
  if (node == nullptr) return out;
  switch (nodeTag(node)) {
    case T_String:
      out.name.push_back(string_of(node));
      break;
    case T_List:
      out.name = name_of(reinterpret_cast<const List*>(node));
      break;
    case T_TypeName:
      out.name = name_of(to<::TypeName>(node).names);
      out.location = at(to<::TypeName>(node).location);
      break;
    case T_ObjectWithArgs: {
      const auto& object = to<ObjectWithArgs>(node);
      out.name = name_of(object.objname);
      out.has_arguments = !object.args_unspecified;
      for (const Node* arg : items(object.objfuncargs)) {
        out.arguments.push_back(parameter(to<FunctionParameter>(arg)));
      }
      break;
    }
    default:
      refuse("this kind of object name", -1);
  }
  return out;
}

ast::StatementPtr Converter::drop(const DropStmt& node) {
  const ast::ObjectKind kind = object_kind(node.removeType);
  if (kind == ast::ObjectKind::kOther) return unsupported("DROP", node.removeType);
  auto out = std::make_unique<ast::DropStatement>();
  out->object = kind;
  out->object_name = object_type_name(node.removeType);
  for (const Node* object : items(node.objects)) out->objects.push_back(object_ref(object));
  out->if_exists = node.missing_ok;
  out->cascade = node.behavior == DROP_CASCADE;
  out->concurrently = node.concurrent;
  return out;
}

ast::StatementPtr Converter::comment(const CommentStmt& node) {
  const ast::ObjectKind kind = object_kind(node.objtype);
  if (kind == ast::ObjectKind::kOther) return unsupported("COMMENT ON", node.objtype);
  auto out = std::make_unique<ast::CommentStatement>();
  out->object = kind;
  out->object_name = object_type_name(node.objtype);
  out->target = object_ref(node.object);
  out->has_text = node.comment != nullptr;
  out->text = text_of(node.comment);
  return out;
}

ast::StatementPtr Converter::rename(const RenameStmt& node) {
  const ast::ObjectKind kind = object_kind(node.renameType);
  if (kind == ast::ObjectKind::kOther) return unsupported("ALTER", node.renameType);
  auto out = std::make_unique<ast::RenameStatement>();
  out->object = kind;
  out->object_name = object_type_name(node.renameType);
  if (node.relation != nullptr) {
    const ast::TableRef table = table_ref(node.relation);
    out->target.name = table.name;
    out->target.location = table.location;
  } else if (node.object != nullptr) {
    out->target = object_ref(node.object);
  } else {  // ALTER SCHEMA a RENAME TO b
    out->target.name.push_back(text_of(node.subname));
  }
  out->old_name = text_of(node.subname);
  out->new_name = text_of(node.newname);
  out->if_exists = node.missing_ok;
  return out;
}

}  // namespace scyper::query
