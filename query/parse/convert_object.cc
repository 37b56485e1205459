#include "base/object_name.h"
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
    case OBJECT_TRIGGER:
      return ast::ObjectKind::kTrigger;
    case OBJECT_TYPE:
      return ast::ObjectKind::kType;
    case OBJECT_DOMAIN:
      return ast::ObjectKind::kDomain;
    case OBJECT_DOMCONSTRAINT:
      return ast::ObjectKind::kDomainConstraint;
    case OBJECT_ROLE:
      return ast::ObjectKind::kRole;
    default:
      return ast::ObjectKind::kOther;
  }
}

namespace {

constexpr struct {
  ObjectType type;
  std::string_view name;
} kObjectNames[] = {
    {OBJECT_TABLE, "TABLE"},
    {OBJECT_INDEX, "INDEX"},
    {OBJECT_VIEW, "VIEW"},
    {OBJECT_MATVIEW, "MATERIALIZED VIEW"},
    {OBJECT_SEQUENCE, "SEQUENCE"},
    {OBJECT_SCHEMA, "SCHEMA"},
    {OBJECT_PROCEDURE, "PROCEDURE"},
    {OBJECT_FUNCTION, "FUNCTION"},
    {OBJECT_ROUTINE, "ROUTINE"},
    {OBJECT_COLUMN, "COLUMN"},
    {OBJECT_TABCONSTRAINT, "CONSTRAINT"},
    {OBJECT_ACCESS_METHOD, "ACCESS METHOD"},
    {OBJECT_AGGREGATE, "AGGREGATE"},
    {OBJECT_CAST, "CAST"},
    {OBJECT_COLLATION, "COLLATION"},
    {OBJECT_CONVERSION, "CONVERSION"},
    {OBJECT_DATABASE, "DATABASE"},
    {OBJECT_DOMAIN, "DOMAIN"},
    {OBJECT_DOMCONSTRAINT, "DOMAIN CONSTRAINT"},
    {OBJECT_EVENT_TRIGGER, "EVENT TRIGGER"},
    {OBJECT_EXTENSION, "EXTENSION"},
    {OBJECT_FDW, "FOREIGN DATA WRAPPER"},
    {OBJECT_FOREIGN_SERVER, "SERVER"},
    {OBJECT_FOREIGN_TABLE, "FOREIGN TABLE"},
    {OBJECT_LANGUAGE, "LANGUAGE"},
    {OBJECT_OPCLASS, "OPERATOR CLASS"},
    {OBJECT_OPERATOR, "OPERATOR"},
    {OBJECT_OPFAMILY, "OPERATOR FAMILY"},
    {OBJECT_POLICY, "POLICY"},
    {OBJECT_PUBLICATION, "PUBLICATION"},
    {OBJECT_ROLE, "ROLE"},
    {OBJECT_RULE, "RULE"},
    {OBJECT_STATISTIC_EXT, "STATISTICS"},
    {OBJECT_SUBSCRIPTION, "SUBSCRIPTION"},
    {OBJECT_TABLESPACE, "TABLESPACE"},
    {OBJECT_TRANSFORM, "TRANSFORM"},
    {OBJECT_TRIGGER, "TRIGGER"},
    {OBJECT_TSCONFIGURATION, "TEXT SEARCH CONFIGURATION"},
    {OBJECT_TSDICTIONARY, "TEXT SEARCH DICTIONARY"},
    {OBJECT_TSPARSER, "TEXT SEARCH PARSER"},
    {OBJECT_TSTEMPLATE, "TEXT SEARCH TEMPLATE"},
    {OBJECT_TYPE, "TYPE"},
};

}  // namespace

std::string_view object_type_name(ObjectType type) {
  for (const auto& known : kObjectNames) {
    if (known.type == type) return known.name;
  }
  return "OBJECT";
}

namespace {

ast::StatementPtr unsupported(std::string_view verb, ObjectType type) {
  auto out = std::make_unique<ast::UnsupportedStatement>();
  out->command = std::string(verb) + " " + std::string(object_type_name(type));
  return out;
}

// ENABLE and DISABLE TRIGGER.
struct FiringCommand {
  AlterTableType type;
  ast::TriggerSet triggers;
  char firing;
};
constexpr FiringCommand kFiringCommands[] = {
    {AT_EnableTrig, ast::TriggerSet::kNamed, 'O'},        {AT_EnableAlwaysTrig, ast::TriggerSet::kNamed, 'A'},
    {AT_EnableReplicaTrig, ast::TriggerSet::kNamed, 'R'}, {AT_EnableTrigAll, ast::TriggerSet::kAll, 'O'},
    {AT_EnableTrigUser, ast::TriggerSet::kUser, 'O'},     {AT_DisableTrig, ast::TriggerSet::kNamed, 'D'},
    {AT_DisableTrigAll, ast::TriggerSet::kAll, 'D'},      {AT_DisableTrigUser, ast::TriggerSet::kUser, 'D'},
};

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
    case AT_AlterConstraint:
      return ast::AlterTableAction::kAlterConstraint;
    case AT_AddIdentity:
      return ast::AlterTableAction::kAddIdentity;
    case AT_SetIdentity:
      return ast::AlterTableAction::kSetIdentity;
    case AT_DropIdentity:
      return ast::AlterTableAction::kDropIdentity;
    case AT_SetRelOptions:
      return ast::AlterTableAction::kSetOptions;
    case AT_ResetRelOptions:
      return ast::AlterTableAction::kResetOptions;
    case AT_AttachPartition:
      return ast::AlterTableAction::kAttachPartition;
    case AT_DetachPartition:
      return ast::AlterTableAction::kDetachPartition;
    case AT_ChangeOwner:
      return ast::AlterTableAction::kSetOwner;
    default:
      return std::any_of(std::begin(kFiringCommands), std::end(kFiringCommands),
                         [&](const FiringCommand& command) { return command.type == type; })
                 ? ast::AlterTableAction::kTrigger
                 : ast::AlterTableAction::kOther;
  }
}

constexpr struct {
  AlterTableType type;
  std::string_view name;
} kAlterNames[] = {
    {AT_AddColumn, "ADD COLUMN"},
    {AT_DropColumn, "DROP COLUMN"},
    {AT_AlterColumnType, "ALTER COLUMN ... SET DATA TYPE"},
    {AT_ColumnDefault, "ALTER COLUMN ... SET/DROP DEFAULT"},
    {AT_SetNotNull, "ALTER COLUMN ... SET NOT NULL"},
    {AT_DropNotNull, "ALTER COLUMN ... DROP NOT NULL"},
    {AT_AddConstraint, "ADD CONSTRAINT"},
    {AT_DropConstraint, "DROP CONSTRAINT"},
    {AT_ValidateConstraint, "VALIDATE CONSTRAINT"},
    {AT_AlterConstraint, "ALTER CONSTRAINT"},
    {AT_SetRelOptions, "SET"},
    {AT_ResetRelOptions, "RESET"},
    {AT_DropExpression, "ALTER COLUMN ... DROP EXPRESSION"},
    {AT_SetStatistics, "ALTER COLUMN ... SET STATISTICS"},
    {AT_SetOptions, "ALTER COLUMN ... SET"},
    {AT_ResetOptions, "ALTER COLUMN ... RESET"},
    {AT_SetStorage, "ALTER COLUMN ... SET STORAGE"},
    {AT_SetCompression, "ALTER COLUMN ... SET COMPRESSION"},
    {AT_AddIdentity, "ALTER COLUMN ... ADD IDENTITY"},
    {AT_SetIdentity, "ALTER COLUMN ... SET"},
    {AT_DropIdentity, "ALTER COLUMN ... DROP IDENTITY"},
    {AT_ChangeOwner, "OWNER TO"},
    {AT_ClusterOn, "CLUSTER ON"},
    {AT_DropCluster, "SET WITHOUT CLUSTER"},
    {AT_SetLogged, "SET LOGGED"},
    {AT_SetUnLogged, "SET UNLOGGED"},
    {AT_SetAccessMethod, "SET ACCESS METHOD"},
    {AT_SetTableSpace, "SET TABLESPACE"},
    {AT_AddInherit, "INHERIT"},
    {AT_DropInherit, "NO INHERIT"},
    {AT_AttachPartition, "ATTACH PARTITION"},
    {AT_DetachPartition, "DETACH PARTITION"},
    {AT_ReplicaIdentity, "REPLICA IDENTITY"},
    {AT_EnableRowSecurity, "ENABLE ROW SECURITY"},
    {AT_DisableRowSecurity, "DISABLE ROW SECURITY"},
    {AT_EnableTrig, "ENABLE TRIGGER"},
    {AT_EnableAlwaysTrig, "ENABLE TRIGGER"},
    {AT_EnableReplicaTrig, "ENABLE TRIGGER"},
    {AT_EnableTrigAll, "ENABLE TRIGGER"},
    {AT_EnableTrigUser, "ENABLE TRIGGER"},
    {AT_DisableTrig, "DISABLE TRIGGER"},
    {AT_DisableTrigAll, "DISABLE TRIGGER"},
    {AT_DisableTrigUser, "DISABLE TRIGGER"},
};

std::string_view alter_action_name(AlterTableType type) {
  for (const auto& known : kAlterNames) {
    if (known.type == type) return known.name;
  }
  return "this form";
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
    case ast::AlterTableAction::kAlterConstraint: {
      const auto& altered = to<::Constraint>(node.def);
      out.name = text_of(altered.conname);
      out.constraint = std::make_unique<ast::Constraint>();
      out.constraint->deferrable = altered.deferrable;
      out.constraint->initially_deferred = altered.initdeferred;
      break;
    }
    case ast::AlterTableAction::kAddIdentity:
      out.constraint = std::make_unique<ast::Constraint>(constraint(to<::Constraint>(node.def)));
      break;
    case ast::AlterTableAction::kSetIdentity:
    case ast::AlterTableAction::kSetOptions:
    case ast::AlterTableAction::kResetOptions:
      out.options = options(reinterpret_cast<const List*>(node.def));
      break;
    case ast::AlterTableAction::kAttachPartition:
    case ast::AlterTableAction::kDetachPartition: {
      const auto& command = to<PartitionCmd>(node.def);
      out.partition = table_ref(command.name);
      if (command.bound != nullptr) out.bound = partition_bound(*command.bound);
      break;
    }
    case ast::AlterTableAction::kSetOwner:
      out.owner = role_ref(reinterpret_cast<const Node*>(node.newowner));
      break;
    case ast::AlterTableAction::kTrigger:
      for (const FiringCommand& command : kFiringCommands)
        if (command.type == node.subtype) out.triggers = command.triggers, out.firing = command.firing;
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

namespace {
NameKind name_kind(ast::ObjectKind kind) {
  switch (kind) {
    case ast::ObjectKind::kProcedure:
    case ast::ObjectKind::kFunction:
    case ast::ObjectKind::kRoutine:
      return NameKind::kRoutine;
    case ast::ObjectKind::kType:
    case ast::ObjectKind::kDomain:
    case ast::ObjectKind::kDomainConstraint:
      return NameKind::kType;
    default:
      return NameKind::kRelation;
  }
}
}  // namespace

// With one key for the object and its schema; columns, constraints and triggers stand behind their table.
ast::ObjectRef Converter::named_object(const Node* node, ast::ObjectKind kind) {
  ast::ObjectRef out = object_ref(node);
  const bool is_member =
      kind == ast::ObjectKind::kColumn || kind == ast::ObjectKind::kConstraint || kind == ast::ObjectKind::kTrigger;
  out.name = is_member ? column_key(std::move(out.name)) : name_key(name_kind(kind), std::move(out.name));
  return out;
}

// Of ALTER: a table and its kin, or else another object.
ast::ObjectRef Converter::altered_object(const RangeVar* relation, const Node* object, ast::ObjectKind kind) {
  if (relation == nullptr) return named_object(object, kind);
  ast::TableRef table = table_ref(relation);
  ast::ObjectRef out;
  out.name = std::move(table.name);
  out.location = table.location;
  return out;
}

// ALTER ... SET SCHEMA
ast::StatementPtr Converter::set_schema(const AlterObjectSchemaStmt& node) {
  const ast::ObjectKind kind = object_kind(node.objectType);
  if (kind == ast::ObjectKind::kOther) return unsupported("ALTER", node.objectType);
  auto out = std::make_unique<ast::RenameStatement>();
  out->set_schema = true;
  out->object = kind;
  out->object_name = object_type_name(node.objectType);
  out->target = altered_object(node.relation, node.object, kind);
  out->new_name = text_of(node.newschema);
  out->if_exists = node.missing_ok;
  return out;
}

ast::StatementPtr Converter::refresh(const RefreshMatViewStmt& node) {
  auto out = std::make_unique<ast::RefreshStatement>();
  out->view = table_ref(node.relation);
  out->concurrently = node.concurrent;
  out->with_data = !node.skipData;
  return out;
}

namespace {
// Other statements do not carry these.
ast::ObjectKind dropped_kind(ObjectType type) {
  switch (type) {
    case OBJECT_FOREIGN_TABLE:
      return ast::ObjectKind::kForeignTable;
    case OBJECT_FOREIGN_SERVER:
      return ast::ObjectKind::kForeignServer;
    case OBJECT_EXTENSION:
      return ast::ObjectKind::kExtension;
    default:
      return object_kind(type);
  }
}
}  // namespace

ast::StatementPtr Converter::drop(const DropStmt& node) {
  const ast::ObjectKind kind = dropped_kind(node.removeType);
  const bool has_schema = kind != ast::ObjectKind::kForeignServer && kind != ast::ObjectKind::kExtension;
  if (kind == ast::ObjectKind::kOther) return unsupported("DROP", node.removeType);
  auto out = std::make_unique<ast::DropStatement>();
  out->object = kind;
  out->object_name = object_type_name(node.removeType);
  for (const Node* object : items(node.objects))
    out->objects.push_back(has_schema ? named_object(object, kind) : object_ref(object));
  out->if_exists = node.missing_ok;
  out->cascade = node.behavior == DROP_CASCADE;
  out->concurrently = node.concurrent;
  return out;
}

ast::StatementPtr Converter::create_enum(const CreateEnumStmt& node) {
  auto out = std::make_unique<ast::CreateEnumStatement>();
  out->name = name_key(NameKind::kCreated, name_of(node.typeName));
  for (const Node* label : items(node.vals)) out->labels.push_back(string_of(label));
  return out;
}

ast::StatementPtr Converter::alter_enum(const AlterEnumStmt& node) {
  auto is_empty = [](const char* label) { return label != nullptr && *label == '\0'; };
  if (is_empty(node.oldVal) || is_empty(node.newValNeighbor)) refuse("ALTER TYPE by an empty label", -1);
  auto out = std::make_unique<ast::AlterEnumStatement>();
  out->name = name_key(NameKind::kType, name_of(node.typeName));
  out->old_label = text_of(node.oldVal);
  out->new_label = text_of(node.newVal);
  out->neighbour = text_of(node.newValNeighbor);
  out->after = node.newValIsAfter;
  out->if_not_exists = node.skipIfNewValExists;
  return out;
}

ast::StatementPtr Converter::create_domain(const CreateDomainStmt& node) {
  auto out = std::make_unique<ast::CreateDomainStatement>();
  out->name = name_key(NameKind::kCreated, name_of(node.domainname));
  out->type = type_name(node.typeName);
  if (node.collClause != nullptr) out->collation = name_of(node.collClause->collname);
  for (const Node* item : items(node.constraints)) out->constraints.push_back(constraint(to<::Constraint>(item)));
  return out;
}

ast::StatementPtr Converter::alter_domain(const AlterDomainStmt& node) {
  auto out = std::make_unique<ast::AlterDomainStatement>();
  out->name = name_key(NameKind::kType, name_of(node.typeName));
  out->constraint_name = text_of(node.name);
  out->if_exists = node.missing_ok;
  switch (node.subtype) {
    case 'T':
      out->action = ast::AlterDomainAction::kSetDefault;
      out->expr = expr(node.def);
      break;
    case 'N':
      out->action = ast::AlterDomainAction::kDropNotNull;
      break;
    case 'O':
      out->action = ast::AlterDomainAction::kSetNotNull;
      break;
    case 'C':
      out->action = ast::AlterDomainAction::kAddConstraint;
      out->constraint = std::make_unique<ast::Constraint>(constraint(to<::Constraint>(node.def)));
      break;
    case 'X':
      out->action = ast::AlterDomainAction::kDropConstraint;
      break;
    case 'V':
      out->action = ast::AlterDomainAction::kValidateConstraint;
      break;
    default:
      refuse("this form of ALTER DOMAIN", -1);
  }
  return out;
}

ast::StatementPtr Converter::comment(const CommentStmt& node) {
  const ast::ObjectKind kind = object_kind(node.objtype);
  if (kind == ast::ObjectKind::kOther || kind == ast::ObjectKind::kDomainConstraint || kind == ast::ObjectKind::kRole)
    return unsupported("COMMENT ON", node.objtype);
  auto out = std::make_unique<ast::CommentStatement>();
  out->object = kind;
  out->object_name = object_type_name(node.objtype);
  out->target = named_object(node.object, kind);
  out->has_text = node.comment != nullptr;
  out->text = text_of(node.comment);
  return out;
}

ast::StatementPtr Converter::rename(const RenameStmt& node) {
  if (node.renameType == OBJECT_DATABASE) return database(reinterpret_cast<const Node*>(&node));
  const ast::ObjectKind kind = object_kind(node.renameType);
  if (kind == ast::ObjectKind::kOther) return unsupported("ALTER", node.renameType);
  auto out = std::make_unique<ast::RenameStatement>();
  out->object = kind;
  out->object_name = object_type_name(node.renameType);
  if (node.relation != nullptr || node.object != nullptr) {
    out->target = altered_object(node.relation, node.object, kind);
  } else {  // ALTER SCHEMA a RENAME TO b
    out->target.name.push_back(text_of(node.subname));
  }
  out->old_name = text_of(node.subname);
  out->new_name = text_of(node.newname);
  out->if_exists = node.missing_ok;
  return out;
}

}  // namespace scyper::query
