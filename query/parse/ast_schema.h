#pragma once

#include <optional>

#include "parse/ast_command.h"
#include "parse/ast_query.h"

namespace scyper::query::ast {

enum class ConstraintKind : uint8_t {
  kNotNull,
  kNull,
  kDefault,
  kCheck,
  kPrimaryKey,
  kUnique,
  kForeignKey,
  kIdentity,
  kGenerated,
  kExclusion,
};
enum class ReferentialAction : uint8_t { kNoAction, kRestrict, kCascade, kSetNull, kSetDefault };
enum class MatchKind : uint8_t { kSimple, kFull, kPartial };

// A constraint of a column or of a table. NOT NULL, DEFAULT, identity and generated only of columns.
struct Constraint {
  ConstraintKind kind = ConstraintKind::kNotNull;
  std::string name;                  // empty = none given
  ExprPtr expr;                      // CHECK, DEFAULT, GENERATED ALWAYS AS (expr)
  std::vector<std::string> columns;  // PRIMARY KEY, UNIQUE, FOREIGN KEY of a table; empty for a column's own
  std::vector<std::string> include;  // INCLUDE (...)
  bool nulls_not_distinct = false;   // UNIQUE
  Name foreign_table;                // REFERENCES
  std::vector<std::string> foreign_columns;
  MatchKind match = MatchKind::kSimple;
  ReferentialAction on_update = ReferentialAction::kNoAction;
  ReferentialAction on_delete = ReferentialAction::kNoAction;
  bool deferrable = false;
  bool initially_deferred = false;
  bool no_inherit = false;
  bool not_valid = false;
  bool identity_always = false;  // GENERATED ALWAYS AS IDENTITY (false: BY DEFAULT)
  std::vector<Option> options;   // WITH (...) of the index, or the sequence's of an identity column
  std::string using_index;       // PRIMARY KEY USING INDEX name
  Location location = -1;
};

struct ColumnDefinition {
  std::string name;
  TypeName type;
  Name collation;
  std::vector<Constraint> constraints;  // in the order written
  Location location = -1;
};

enum class PartitionStrategy : uint8_t { kNone, kHash, kRange, kList };

// PARTITION BY HASH (column): keys are columns or expressions.
struct PartitionBy {
  PartitionStrategy strategy = PartitionStrategy::kNone;
  std::vector<IndexElement> keys;
  Location location = -1;
};

// FOR VALUES ... of a partition, or DEFAULT.
struct PartitionBound {
  bool is_default = false;
  PartitionStrategy strategy = PartitionStrategy::kNone;
  int modulus = 0, remainder = 0;  // WITH (MODULUS, REMAINDER)
  std::vector<ExprPtr> values;     // IN (...)
  std::vector<ExprPtr> from, to;   // FROM (...) TO (...): MINVALUE and MAXVALUE look like columns
  Location location = -1;
};

enum class Persistence : uint8_t { kPermanent, kUnlogged, kTemporary };
// Of a temporary table: what a commit does to it.
enum class OnCommit : uint8_t { kPreserveRows, kDeleteRows, kDrop };

// LIKE table INCLUDING ... in a list of columns
struct TableLike {
  TableRef table;
  bool defaults = false, constraints = false, identity = false, generated = false, indexes = false, comments = false;
  size_t position = 0;  // columns before it
};

struct CreateTableStatement : StatementNode<StatementKind::kCreateTable> {
  TableRef table;
  bool is_composite = false;  // CREATE TYPE ... AS (...)
  Persistence persistence = Persistence::kPermanent;
  OnCommit on_commit = OnCommit::kPreserveRows;
  bool if_not_exists = false;
  std::vector<ColumnDefinition> columns;
  std::vector<TableLike> likes;
  std::vector<Constraint> constraints;    // of the table
  TableRef parent;                        // PARTITION OF
  std::unique_ptr<PartitionBound> bound;  // null: no partition
  PartitionBy partition_by;
  std::vector<Option> options;  // WITH (...)
};

// CREATE TABLE ... AS, SELECT INTO is left in SelectStatement
struct CreateTableAsStatement : StatementNode<StatementKind::kCreateTableAs> {
  TableRef table;
  std::vector<std::string> columns;
  Persistence persistence = Persistence::kPermanent;
  OnCommit on_commit = OnCommit::kPreserveRows;
  bool if_not_exists = false;
  bool materialized_view = false;
  bool with_data = true;
  std::vector<Option> options;
  StatementPtr query;  // SELECT or EXECUTE
};

struct CreateIndexStatement : StatementNode<StatementKind::kCreateIndex> {
  std::string name;  // empty = chosen by the system
  TableRef table;
  bool unique = false;
  bool nulls_not_distinct = false;
  bool if_not_exists = false;
  bool concurrently = false;
  std::string method;  // "btree" when none is given
  std::vector<IndexElement> elements;
  std::vector<IndexElement> include;
  std::vector<Option> options;
  ExprPtr where;
};

struct CreateViewStatement : StatementNode<StatementKind::kCreateView> {
  TableRef view;
  Persistence persistence = Persistence::kPermanent;
  bool or_replace = false;
  std::vector<std::string> columns;
  std::vector<Option> options;     // WITH CHECK OPTION as check_option
  bool is_hot_data = false;        // CREATE HOT DATA VIEW
  bool becomes_temporary = false;  // it does not say so, but reads what is temporary
  SelectPtr query;
};

struct CreateForeignTableStatement : StatementNode<StatementKind::kCreateForeignTable> {
  CreateTableStatement table;
  std::string server;
  std::vector<Option> options;
};

struct CreateForeignServerStatement : StatementNode<StatementKind::kCreateForeignServer> {
  std::string name;
  std::string wrapper;
  bool if_not_exists = false;
  std::vector<Option> options;
};

struct CreateExtensionStatement : StatementNode<StatementKind::kCreateExtension> {
  std::string name;
  bool if_not_exists = false;
};

struct CreateSchemaStatement : StatementNode<StatementKind::kCreateSchema> {
  std::string name;
  std::string owner;
  bool if_not_exists = false;
  std::vector<StatementPtr> elements;
};

// Also ALTER SEQUENCE with options.
struct CreateSequenceStatement : StatementNode<StatementKind::kCreateSequence> {
  bool alter = false;
  bool if_exists = false;  // ALTER
  TableRef sequence;
  Persistence persistence = Persistence::kPermanent;
  bool if_not_exists = false;
  std::vector<Option> options;
};

struct CreateEnumStatement : StatementNode<StatementKind::kCreateEnum> {
  Name name;
  std::vector<std::string> labels;
};

// ALTER TYPE ... ADD VALUE, RENAME VALUE
struct AlterEnumStatement : StatementNode<StatementKind::kAlterEnum> {
  Name name;
  std::string old_label;  // RENAME; empty: ADD
  std::string new_label;
  std::string neighbour;  // ADD BEFORE | AFTER it; empty: at the end
  bool after = false;
  bool if_not_exists = false;
};

struct CreateDomainStatement : StatementNode<StatementKind::kCreateDomain> {
  Name name;
  TypeName type;
  Name collation;
  std::vector<Constraint> constraints;  // in the order written
};

enum class AlterDomainAction : uint8_t {
  kSetDefault,  // expr; null: drop it
  kSetNotNull,
  kDropNotNull,
  kAddConstraint,
  kDropConstraint,
  kValidateConstraint,
};

struct AlterDomainStatement : StatementNode<StatementKind::kAlterDomain> {
  Name name;
  AlterDomainAction action = AlterDomainAction::kSetDefault;
  ExprPtr expr;
  std::unique_ptr<Constraint> constraint;
  std::string constraint_name;  // of what is dropped or validated
  bool if_exists = false;
};

enum class ParameterMode : uint8_t { kIn, kOut, kInOut, kVariadic, kTable };

struct RoutineParameter {
  std::string name;  // empty = unnamed
  ParameterMode mode = ParameterMode::kIn;
  TypeName type;
  ExprPtr default_value;
  Location location = -1;
};

enum class Volatility : uint8_t { kVolatile, kStable, kImmutable };

struct CreateRoutineStatement : StatementNode<StatementKind::kCreateRoutine> {
  bool procedure = false;
  bool or_replace = false;
  Name name;
  std::vector<RoutineParameter> parameters;  // the columns of RETURNS TABLE come last, mode kTable
  std::unique_ptr<TypeName> return_type;     // null: none given, or RETURNS TABLE
  bool returns_table = false;
  std::string language;  // folded; empty = none given
  Volatility volatility = Volatility::kVolatile;
  bool strict = false;
  bool security_definer = false;
  bool leakproof = false;
  bool window = false;
  std::string parallel;         // "" | safe | unsafe | restricted
  std::vector<Option> options;  // cost, rows, support, set: carried by name only
  std::string body;             // the text between the quotes, escapes undone
  bool has_body = false;
  // Byte offset in the source of the body's first character; -1 if the body was quoted with escapes ('it''s', E'...'),
  // so that its offsets and the source's differ.
  Location body_location = -1;
  std::vector<StatementPtr> sql_body;  // RETURN expr / BEGIN ATOMIC ... END
};

enum class ObjectKind : uint8_t {
  kTable,
  kIndex,
  kView,
  kMaterializedView,
  kSequence,
  kSchema,
  kProcedure,
  kFunction,
  kRoutine,
  kColumn,
  kConstraint,
  kTrigger,  // name: table and trigger
  kType,
  kDomain,
  kDomainConstraint,
  kRole,
  kForeignTable,  // of DROP only, as the next
  kForeignServer,
  kExtension,
  kOther,
};

// An object in DROP, COMMENT, RENAME; arguments only of routines.
struct ObjectRef {
  Name name;  // of a column: table and column
  bool has_arguments = false;
  std::vector<RoutineParameter> arguments;
  Location location = -1;
};

// ALTER FUNCTION, PROCEDURE or ROUTINE with attributes: those that it gives.
struct AlterRoutineStatement : StatementNode<StatementKind::kAlterRoutine> {
  ObjectKind object = ObjectKind::kFunction;
  std::string object_name;
  ObjectRef target;
  std::optional<Volatility> volatility;
  std::optional<bool> strict, security_definer;
  Location function_attribute = -1;  // the first one that procedures do not have
  std::vector<Option> options;       // SET setting, as CreateRoutineStatement has them
  std::vector<std::string> resets;   // RESET setting; "all"
};

// REFERENCING OLD | NEW TABLE AS name
struct Transition {
  std::string name;
  bool is_new = false;
  bool is_table = false;
};

struct CreateTriggerStatement : StatementNode<StatementKind::kCreateTrigger> {
  std::string name;
  bool or_replace = false;
  TableRef table;
  Name function;
  std::vector<std::string> arguments;
  bool before = false;
  bool instead = false;
  bool per_row = false;
  bool on_insert = false, on_update = false, on_delete = false, on_truncate = false;
  std::vector<std::string> columns;  // UPDATE OF
  ExprPtr when;
  std::vector<Transition> transitions;
  bool is_constraint = false, deferrable = false, initially_deferred = false;
  Name constraint_table;  // FROM; empty = none
};

struct DropStatement : StatementNode<StatementKind::kDrop> {
  ObjectKind object = ObjectKind::kTable;
  std::string object_name;  // "TABLE", "OPERATOR CLASS": for messages
  std::vector<ObjectRef> objects;
  bool if_exists = false;
  bool cascade = false;
  bool concurrently = false;
  bool is_hot_data = false;  // DROP HOT DATA VIEW; `object` says a view
};

// REFRESH MATERIALIZED VIEW
struct RefreshStatement : StatementNode<StatementKind::kRefresh> {
  TableRef view;
  bool concurrently = false;
  bool with_data = true;
};

struct TruncateStatement : StatementNode<StatementKind::kTruncate> {
  std::vector<TableRef> tables;
  bool restart_identity = false;
  bool cascade = false;
};

// ANALYZE [(options)] [table [(columns)], ...]
struct AnalyzeStatement : StatementNode<StatementKind::kAnalyze> {
  struct Target {
    TableRef table;
    std::vector<std::string> columns;
  };
  std::vector<Target> targets;  // empty = all tables
  std::vector<Option> options;  // verbose, skip_locked
};

struct CommentStatement : StatementNode<StatementKind::kComment> {
  ObjectKind object = ObjectKind::kTable;
  std::string object_name;
  ObjectRef target;
  bool has_text = false;  // false: IS NULL
  std::string text;
};

// A role in a statement: by its name, or who runs the statement.
struct RoleRef {
  enum class Kind : uint8_t { kName, kCurrent, kSession, kPublic };
  Kind kind = Kind::kName;
  std::string name;
};

// An option of CREATE or ALTER ROLE, by its name in PostgreSQL's tree: "superuser", "canlogin", "password",
// "addroleto".
struct RoleOption {
  std::string name;
  bool has_value = false;  // PASSWORD NULL has none
  std::string value;
  std::vector<RoleRef> roles;
};

// CREATE ROLE, USER or GROUP
struct CreateRoleStatement : StatementNode<StatementKind::kCreateRole> {
  std::string name;
  bool can_login = false;  // CREATE USER
  std::vector<RoleOption> options;
};

struct AlterRoleStatement : StatementNode<StatementKind::kAlterRole> {
  RoleRef role;
  bool drops_members = false;  // ALTER GROUP ... DROP USER: option "rolemembers"
  std::vector<RoleOption> options;
};

// ALTER ROLE ... [IN DATABASE ...] SET and RESET, ALTER DATABASE ... SET and RESET.
struct AlterSettingsStatement : StatementNode<StatementKind::kAlterSettings> {
  bool has_role = false;  // ALTER ROLE
  bool is_all = false;    // of all roles
  RoleRef role;
  std::string database;  // empty: any
  std::unique_ptr<SetStatement> set;
};

enum class DatabaseAction : uint8_t { kCreate, kDrop, kAlter, kRename, kOwner };

// CREATE, ALTER and DROP DATABASE
struct DatabaseStatement : StatementNode<StatementKind::kDatabase> {
  DatabaseAction action = DatabaseAction::kCreate;
  std::string name;
  std::string new_name;
  bool if_exists = false;
  RoleRef owner;
  std::vector<Option> options;
};

struct DropRoleStatement : StatementNode<StatementKind::kDropRole> {
  std::vector<RoleRef> roles;
  bool if_exists = false;
};

// GRANT role TO role, REVOKE role FROM role
struct GrantRoleStatement : StatementNode<StatementKind::kGrantRole> {
  bool is_grant = true;
  bool admin_option = false;
  std::vector<std::string> granted;
  std::vector<RoleRef> members;
};

// GRANT and REVOKE on objects
struct GrantStatement : StatementNode<StatementKind::kGrant> {
  bool is_grant = true;
  bool grant_option = false;
  bool all_in_schema = false;  // `objects` are schemas
  ObjectKind object = ObjectKind::kTable;
  std::string object_name;
  std::vector<std::string> privileges;  // in lower case; empty = ALL
  std::vector<ObjectRef> objects;
  std::vector<RoleRef> grantees;
};

// ALTER FUNCTION ... OWNER TO; of relations it is an AlterTableCommand.
struct OwnerStatement : StatementNode<StatementKind::kOwner> {
  ObjectKind object = ObjectKind::kFunction;
  std::string object_name;
  ObjectRef target;
  RoleRef owner;
};

enum class AlterTableAction : uint8_t {
  kAddColumn,
  kDropColumn,
  kSetType,
  kSetDefault,  // expr null: DROP DEFAULT
  kSetNotNull,
  kDropNotNull,
  kAddConstraint,
  kDropConstraint,
  kValidateConstraint,
  kSetOptions,
  kResetOptions,
  kSetOwner,
  kTrigger,  // ENABLE, DISABLE TRIGGER
  kOther,    // action_name says which
  kAlterConstraint,
  kAddIdentity,  // constraint has the options
  kSetIdentity,  // options: SET GENERATED as "generated", those of the sequence
  kDropIdentity,
  kAttachPartition,
  kDetachPartition,
};

// Which triggers of a table a command is about.
enum class TriggerSet : uint8_t { kNamed, kUser, kAll };

struct AlterTableCommand {
  AlterTableAction action = AlterTableAction::kOther;
  std::string action_name;  // as in PostgreSQL's messages
  std::string name;         // column, constraint or trigger
  bool if_exists = false;   // or IF NOT EXISTS of ADD COLUMN
  bool cascade = false;
  std::unique_ptr<ColumnDefinition> column;  // ADD COLUMN; SET TYPE (type only)
  ExprPtr expr;                              // SET DEFAULT, SET TYPE ... USING
  std::unique_ptr<Constraint> constraint;
  std::vector<Option> options;
  RoleRef owner;
  TableRef partition;                     // ATTACH, DETACH PARTITION
  std::unique_ptr<PartitionBound> bound;  // ATTACH PARTITION
  TriggerSet triggers = TriggerSet::kNamed;
  char firing = 'O';  // of the triggers: as pg_trigger.tgenabled
  Location location = -1;
};

struct AlterTableStatement : StatementNode<StatementKind::kAlterTable> {
  ObjectKind object = ObjectKind::kTable;
  TableRef table;
  bool if_exists = false;
  std::vector<AlterTableCommand> commands;
};

// ALTER ... RENAME [COLUMN a] TO b
struct RenameStatement : StatementNode<StatementKind::kRename> {
  bool set_schema = false;                 // ALTER ... SET SCHEMA new_name
  ObjectKind object = ObjectKind::kTable;  // what is renamed
  std::string object_name;
  ObjectRef target;      // the object, or the table of a column or constraint
  std::string old_name;  // column or constraint
  std::string new_name;
  bool if_exists = false;
};

}  // namespace scyper::query::ast
