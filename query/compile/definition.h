#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "compile/definition_alter.h"
#include "parse/ast.h"
#include "parse/name_path.h"
#include "query/catalog.h"
#include "query/database.h"
#include "query/exec_context.h"
#include "query/result.h"
#include "storage/column_values.h"

namespace scyper::query {

struct BoundProgram;

// Position of a visible column, -1 = none.
int find_column(const storage::TableSchema& schema, std::string_view name);
// Objects that these notices of DROP ... CASCADE tell of.
size_t count_cascaded(const std::vector<std::string>& notices);
// The visible columns as a list of SQL.
std::string column_list(const storage::TableSchema& schema);
Status check_unique(const storage::TableSchema& schema, const storage::IndexDef& index);

// Executes DDL: changes tables and makes the next catalog version. Runs alone. On error nothing has changed.
class Definer {
 public:
  Definer(const DatabaseOptions& options, storage::Arena* arena, std::shared_ptr<const Catalog> catalog,
          std::string_view text)
      : options_(options), arena_(arena), old_(std::move(catalog)), text_(text) {}

  // What replaying a definition depends on, of a query that it runs.
  struct QueryFacts {
    bool has_time = false;      // in: now() is the transaction's, else the same at each time
    bool is_volatile = false;   // it would answer otherwise
    bool reads_others = false;  // of partitioned tables more than the one that its rows are of
    bool has_changed = false;   // rows of tables
  };
  // Runs a query on a catalog, alone: for definitions that read their tables.
  using Runner = std::function<StatusOr<ResultSet>(const std::string& sql, std::shared_ptr<const Catalog> catalog,
                                                   QueryFacts* facts)>;
  void set_runner(Runner runner) { runner_ = std::move(runner); }

  // Variables of the routine that it runs in, and their types: parameters of CREATE TABLE AS.
  void name_parameters(std::vector<std::string> names, std::vector<SqlType> types) {
    names_ = std::move(names);
    types_ = std::move(types);
  }
  // It has run before: what it found out about rows is not asked again, and values that it drew are taken as the log
  // has them (definition_log.h).
  void repeat(std::string_view values) {
    is_repeated_ = true;
    given_values_ = values;
  }
  // The log is to get such values; kept_values() has them.
  void keep_values() { keeps_values_ = true; }
  const std::string& kept_values() const { return kept_values_; }
  void forget_values();
  // The sequences that gave values: the log gets the states that they have in the end.
  const std::set<SequenceId>& drawn_sequences() const { return drawn_sequences_; }
  // Tables stay as they are: others take their place. For definitions that may be taken back.
  void keep_tables() { keeps_tables_ = true; }
  // It is about temporary tables: what it makes gets their numbers.
  void set_temporary() { is_temporary_ = true; }

  // The next catalog; null = nothing to change (IF NOT EXISTS).
  StatusOr<std::shared_ptr<Catalog>> execute(const ast::Statement& statement, ResultSet* result);
  // What CREATE TABLE AS is without its rows, and the statement that gives them; empty of others.
  const std::string& definition_text() const { return definition_text_; }
  const std::string& rows_text() const { return rows_text_; }
  // Whose rights that statement has: REFRESH has those of the view's owner.
  SessionRoles roles_for_rows() const { return rows_roles_.value_or(thread_roles()); }
  // Of `next`, which it has made: what the statement is compiled for.
  std::shared_ptr<const Catalog> catalog_for_rows(std::shared_ptr<const Catalog> next) const;
  // Whether the command's tag says how many they are.
  bool tells_rows() const { return tells_rows_; }

 private:
  static constexpr std::string_view kAttachedTable = " attached";
  using RoutinePlace = std::multimap<std::string, std::shared_ptr<const Routine>, std::less<>>::iterator;

  Status define_other(const ast::Statement& statement, ResultSet* result);
  Status create_table(const ast::CreateTableStatement& create, ResultSet* result);
  Status define_columns(const ast::CreateTableStatement& create, storage::TableSchema* schema, TableRules* rules);
  Status define_partitioning(const ast::CreateTableStatement& create, storage::TableSchema* schema);
  Status define_options(const std::vector<ast::Option>& options, storage::TableSchema* schema, TableRules* rules,
                        ResultSet* result);
  // Their names, whatever they say.
  Status check_options(const std::vector<ast::Option>& options) const;
  Status unrecognized(const ast::Option& option) const;
  Status define_tier_cache(const ast::Option& option, TableRules* rules, ResultSet* result);
  Status define_column(const ast::ColumnDefinition& column, storage::TableSchema* schema, TableRules* rules);
  Status define_column_rule(const ast::ColumnDefinition& column, const ast::Constraint& constraint, uint32_t number,
                            storage::TableSchema* schema, TableRules* rules);
  Status define_default(const ast::Expr& expr, const SqlType& type, TableRules::Column* rule);
  std::string sequence_default(const ast::Expr& expr);
  Status check_column_type(const ast::ColumnDefinition& column, const SqlType& type) const;
  // Whether the statement changes tables in place, or makes others that share their rows.
  void begin(const ast::Statement& statement);
  // definition_schema.cc
  Status create_schema(const ast::CreateSchemaStatement& create, ResultSet* result);
  Status drop_schema(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_members(const std::string& name, ResultSet* result);
  Status drop_routines_of(const std::vector<std::pair<ast::ObjectKind, std::string>>& members,
                          const ast::DropStatement& drop, ResultSet* result);
  std::vector<std::pair<ast::ObjectKind, std::string>> members_of(const std::string& schema) const;
  Status set_schema(const ast::RenameStatement& rename, ResultSet* result);
  Status move_object(ast::ObjectKind kind, const std::string& from, const std::string& to);
  Status rename_schema(const std::string& from, const std::string& to);
  bool has_schema(std::string_view name) const;
  // definition_as.cc
  Status create_table_as(const ast::CreateTableAsStatement& create, ResultSet* result);
  StatusOr<std::shared_ptr<storage::Table>> table_like(const ast::Name& name) const;
  Status copy_columns(const ast::TableLike& like, storage::TableSchema* schema, TableRules* rules);
  Status copy_indexes(const ast::TableLike& like, storage::TableSchema* schema, TableRules* rules);
  // definition_constraint.cc
  Status define_keys(const ast::CreateTableStatement& create, storage::TableSchema* schema);
  Status define_constraints(const ast::CreateTableStatement& create, const std::string& table);
  Status define_constraint(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                           const std::string& table);
  Status define_check(const ast::Constraint& constraint, const std::string& table);
  Status define_foreign_key(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                            const std::string& table);
  Status resolve_key_columns(const std::vector<std::string>& names, const storage::TableSchema& schema,
                             std::vector<uint32_t>* columns) const;
  Status resolve_referenced(const ast::Constraint& constraint, const storage::TableSchema& parent,
                            ForeignKey* key) const;
  Status check_placement(const storage::TableSchema& schema, const storage::TableSchema& parent, const ForeignKey& key,
                         int32_t location) const;
  Status define_generated(const ast::Constraint& constraint, const std::string& column, const std::string& name);
  bool constraint_taken(const storage::TableSchema& schema, std::string_view name);
  StatusOr<std::string> constraint_name(const ast::Constraint& constraint, const storage::TableSchema& schema,
                                        std::string_view base);
  // definition_alter.cc
  Status alter_table(const ast::AlterTableStatement& alter, ResultSet* result);
  Status alter_one(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result);
  Status alter_options(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result);
  // view_options.cc
  Status define_view_options(const std::vector<ast::Option>& options, bool resets, View* view) const;
  Status check_view_option(const View& view) const;
  Status alter_view(const ast::AlterTableStatement& alter, ResultSet* result);
  Status apply_change(TableChange change);
  StatusOr<uint32_t> column_to_alter(const std::string& column, const std::string& name);
  Status default_values(const storage::TableSchema& schema, uint32_t column, const std::string& text, uint64_t rows,
                        TableChange* change);
  Status add_column(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result);
  static bool reads_column(const storage::TableSchema& schema, const std::string& text, uint32_t column);
  Status drop_rules_of(uint32_t column, const ast::AlterTableCommand& command, TableChange* change, ResultSet* result);
  Status drop_column(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result);
  Status set_type(const ast::AlterTableCommand& command, const std::string& name);
  Status converted_values(const ast::AlterTableCommand& command, const std::string& name, uint32_t column,
                          const Domain* domain, TableChange* change);
  Status change_type(const ast::AlterTableCommand& command, const std::string& name, uint32_t column);
  Status set_default(const ast::AlterTableCommand& command, const std::string& name);
  Status set_not_null(const ast::AlterTableCommand& command, const std::string& name);
  Status add_constraint(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                        const std::string& name);
  Status check_references(const ForeignKey& key, const std::string& name);
  Status validate_constraint(const ast::AlterTableCommand& command, const std::string& name);
  Status drop_constraint(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result);
  Status alter_constraint(const ast::AlterTableCommand& command, const std::string& name);
  Status check_views(const std::string& name);
  // definition_identity.cc
  StatusOr<std::string> identity_sequence(TableId table, uint32_t column);
  Status add_identity(const ast::AlterTableCommand& command, const std::string& name);
  Status set_identity(const ast::AlterTableCommand& command, const std::string& name);
  Status drop_identity(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result);
  // definition_views.cc
  std::string with_stars_expanded(const std::string& text) const;
  std::vector<std::string> readers_of(const std::string& name) const;
  const std::string& query_of_view(const std::string& name) const;
  Status change_views(const std::vector<std::string>& views, const NamePath& path);
  Status rename_below_views(const std::string& from, const std::string& to);
  Status rename_column_below_views(const std::string& name, const std::vector<std::string>& columns);
  Status drop_column_below_views(const std::string& name, uint32_t column);
  Status rename_routine_in_views(const std::string& from, const std::string& to);
  Status rename_view_column(const std::string& name, const std::string& from, const std::string& to);
  bool view_reads(const std::string& view, const std::string& name, uint32_t column) const;
  Status drop_readers(const std::string& name, uint32_t column, bool cascade, ResultSet* result);
  Status check_unread(const std::string& name, uint32_t column);
  // definition_query.cc
  StatusOr<ResultSet> query(const std::string& sql, QueryFacts* facts = nullptr);
  StatusOr<bool> has_no_rows(const std::string& sql);
  Status check_repeats(const BoundProgram& bound, const QueryFacts& facts, const storage::ColumnDef& column,
                       bool* repeats) const;
  bool asks_rows() const;
  bool draws_by_row(const std::string& sql);
  Status evaluate(const std::string& sql, const storage::ColumnDef& column, std::vector<Datum>* values, bool* repeats);
  // A value for each of so many rows, of a text that draws them.
  Status draw_values(const std::string& text, const storage::ColumnDef& column, uint64_t rows,
                     std::vector<Datum>* values, bool* repeats);
  Status convert(const SqlType& from, const storage::ColumnDef& column, std::vector<Datum>* values);
  // definition_log.cc
  StatusOr<bool> take_given_values(uint32_t column, TableChange* change);
  void keep_values_of(uint32_t column, const TableChange& change);
  // definition_routine.cc: ALTER FUNCTION, PROCEDURE, ROUTINE
  Status alter_routine(const ast::AlterRoutineStatement& alter, ResultSet* result);
  Status rename_routine(ast::ObjectKind kind, const ast::ObjectRef& object, const std::string& to);
  Status move_routine(RoutinePlace found, const std::string& to);
  void put_routine(RoutinePlace found, std::shared_ptr<Routine> routine);
  // definition_materialized.cc
  static bool says_filled(const std::vector<ast::Option>& options);
  std::string relation_word(const std::string& name) const;
  Status check_table_kind(const std::string& name, bool is_materialized) const;
  void note_materialized_view(const ast::CreateTableAsStatement& create, const std::string& written_name,
                              const std::set<std::string>& relations);
  Status empty_materialized_view(const std::string& name, bool is_populated);
  Status check_concurrent_refresh(const ast::RefreshStatement& refresh, const MaterializedView& view) const;
  Status refresh(const ast::RefreshStatement& refresh, ResultSet* result);
  Status alter_materialized_view(const ast::AlterTableStatement& alter, ResultSet* result);
  Status drop_materialized_view(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  // definition_rename.cc
  Status rename(const ast::RenameStatement& rename, ResultSet* result);
  Status check_new_name(const std::string& name) const;
  Status rename_table(const std::string& from, const std::string& to);
  Status rename_type(const std::string& from, const std::string& to);
  Status rename_column(const std::string& name, const std::string& from, const std::string& to);
  StatusOr<uint32_t> rename_position(const std::string& name, const std::string& column);
  Status rename_constraint(const std::string& name, const std::string& from, const std::string& to);
  Status rename_index(const std::string& from, const std::string& to);
  Status rename_sequence(const std::string& from, const std::string& to);
  Status rename_view(const std::string& from, const std::string& to);
  void rename_in_hot_views(TableId table, const std::string& from, const std::string& to, bool is_table);
  void move_owned_sequences(TableId table, uint32_t dropped);
  Status comment(const ast::CommentStatement& comment, ResultSet* result);
  StatusOr<std::string> member_to_comment(const ast::CommentStatement& comment);
  // definition_sequence.cc
  Status create_sequence(const ast::CreateSequenceStatement& create, ResultSet* result);
  Status alter_sequence(const ast::CreateSequenceStatement& alter, ResultSet* result);
  Status define_sequence_options(const std::vector<ast::Option>& options, bool is_new,
                                 storage::SequenceDefinition* sequence, storage::SequenceState* state);
  Status define_sequence_bounds(const std::vector<ast::Option>& options, bool is_new,
                                storage::SequenceDefinition* sequence);
  Status define_owner(const ast::Option& option, storage::SequenceDefinition* sequence);
  Status define_serial(const storage::TableSchema& schema, uint32_t column, const std::vector<ast::Option>& options,
                       Identity identity, TableRules* rules);
  Status drop_sequence(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_uses_of_sequences(const std::string& name, int column, const std::vector<std::string>& dropped,
                                bool cascade, ResultSet* result);
  void drop_sequences_of(TableId table, int column);
  void restart_sequences_of(TableId table);
  Status add_key(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                 storage::TableSchema* schema);
  // definition_enum.cc
  Status create_enum(const ast::CreateEnumStatement& create, ResultSet* result);
  Status alter_enum(const ast::AlterEnumStatement& alter, ResultSet* result);
  Status add_label(const ast::AlterEnumStatement& alter, EnumType* type, ResultSet* result);
  Status rename_label(const ast::AlterEnumStatement& alter, EnumType* type);
  bool names_label(const EnumType& type, const std::string& label);
  bool rules_contain(const std::function<bool(const std::string&)>& has);
  Status drop_type(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_composite(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  struct TypeUser {
    std::string name;           // "column m of table t"
    std::string table, column;  // of a column
    std::string domain;         // that is made of it
  };
  std::vector<TypeUser> users_of(const EnumType& type);
  bool type_taken(const std::string& name);
  bool rules_name(const std::string& name);
  // definition_domain.cc
  Status create_domain(const ast::CreateDomainStatement& create, ResultSet* result);
  Status define_domain_rule(const ast::Constraint& constraint, const std::vector<ast::Constraint>& before,
                            Domain* domain);
  Status alter_domain(const ast::AlterDomainStatement& alter, ResultSet* result);
  Status alter_domain_check(const ast::AlterDomainStatement& alter, Domain* domain, ResultSet* result);
  Status rename_domain(const std::string& from, const std::string& to);
  Status rename_domain_constraint(const std::string& name, const std::string& from, const std::string& to);
  StatusOr<std::shared_ptr<Domain>> domain_to_alter(const std::string& name);
  Status domain_default(const ast::Expr& expr, Domain* domain);
  Status add_domain_check(const ast::Constraint& constraint, Domain* domain);
  Status check_domain_columns(const Domain& domain, const Domain::Check* check);
  void put_domain(std::shared_ptr<Domain> domain);
  std::vector<TypeUser> users_of(const Domain& domain);
  // definition_role.cc
  Status define_access(const ast::Statement& statement, ResultSet* result);
  const Role& actor() const;
  StatusOr<const Role*> role_of(const ast::RoleRef& ref);
  Status set_password(const ast::RoleOption& option, Role* role, ResultSet* result);
  Status set_valid_until(const std::string& text, Role* role);
  Status set_role_option(const ast::RoleOption& option, Role* role, ResultSet* result);
  Status create_role(const ast::CreateRoleStatement& create, ResultSet* result);
  Status check_superuser_left();
  Status alter_role(const ast::AlterRoleStatement& alter, ResultSet* result);
  Status drop_role(const ast::DropRoleStatement& drop, ResultSet* result);
  // definition_database.cc
  Status alter_settings(const ast::AlterSettingsStatement& alter, ResultSet* result);
  Status may_alter_settings(const ast::AlterSettingsStatement& alter, uint32_t* role);
  Status define_database(const ast::DatabaseStatement& database, ResultSet* result);
  Status create_database(const ast::DatabaseStatement& create);
  Status check_database_options(const std::vector<ast::Option>& options);
  Status drop_database(const ast::DatabaseStatement& drop, ResultSet* result);
  Status rename_database(const std::string& name);
  bool has_objects() const;
  Status rename_role(const std::string& from, const std::string& to, ResultSet* result);
  Status add_member(uint32_t role_id, uint32_t member_id, bool admin, ResultSet* result);
  void drop_member(uint32_t role_id, uint32_t member_id, bool admin_only, ResultSet* result);
  Status grant_role(const ast::GrantRoleStatement& grant, ResultSet* result);
  // definition_access.cc
  Status authorize(const ast::Statement& statement) const;
  Status may_create(std::string_view key, int32_t location = -1) const;
  Status must_own(ast::ObjectKind kind, const std::string& key) const;
  Status may_use_table(const std::string& key, uint16_t right) const;
  Status may_create_table(const ast::CreateTableStatement& create) const;
  Status may_alter_table(const ast::AlterTableStatement& alter) const;
  Status may_drop(const ast::DropStatement& drop) const;
  Status may_rename(const ast::RenameStatement& rename) const;
  Status may_comment(const ast::CommentStatement& comment) const;
  Status check_new_owner(const Role& owner, std::string_view key) const;
  Status set_owner(const ast::RoleRef& ref, const std::string& name);
  Status set_sequence_owner(const ast::RoleRef& ref, const std::string& name);
  Status set_routine_owner(const ast::OwnerStatement& statement, ResultSet* result);
  Status change_routine(ast::ObjectKind kind, const ast::ObjectRef& object, const std::function<void(Access*)>& change);
  Status check_owns_nothing(const Role& role);
  Status change_access(const ast::GrantStatement& grant, Accessed kind, std::string_view word, std::string_view key,
                       uint16_t wanted, Access* access, ResultSet* result);
  Status grant_on_sequence(const ast::GrantStatement& grant, const std::string& key, uint16_t wanted,
                           ResultSet* result);
  Status grant_on_relation(const ast::GrantStatement& grant, const std::string& key, uint16_t wanted,
                           ResultSet* result);
  Status grant_in_schema(const ast::GrantStatement& grant, const std::string& schema, uint16_t wanted,
                         ResultSet* result);
  Status grant(const ast::GrantStatement& grant, ResultSet* result);
  // definition_index.cc
  Status create_index(const ast::CreateIndexStatement& create, ResultSet* result);
  Status check_index(const ast::CreateIndexStatement& create) const;
  Status make_room_for_index(const storage::TableSchema& schema);
  Status define_index_columns(const ast::CreateIndexStatement& create, TableChange* change, storage::IndexDef* index,
                              std::string* base);
  StatusOr<uint32_t> add_hidden_column(const std::shared_ptr<storage::Table>& table, const ast::Expr& expr,
                                       const ast::Expr* predicate, TableChange* change);
  Status fill_hidden_columns(TableChange* change);
  Status remove_index(const std::string& name);
  std::vector<std::string> indexes_that_read(const storage::TableSchema& schema, uint32_t column) const;
  // definition_foreign.cc
  Status define_foreign(const ast::Statement& statement, ResultSet* result);
  Status create_extension(const ast::CreateExtensionStatement& create, ResultSet* result);
  Status create_foreign_server(const ast::CreateForeignServerStatement& create, ResultSet* result);
  Status create_foreign_table(const ast::CreateForeignTableStatement& create, ResultSet* result);
  Status check_foreign_constraint(const ast::Constraint& constraint) const;
  Status define_foreign_column(const ast::ColumnDefinition& column, View* view);
  Status drop_foreign_table(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_foreign_server(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_extension(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status create_routine(const ast::CreateRoutineStatement& create, ResultSet* result);
  Status check_routine(const ast::CreateRoutineStatement& create) const;
  Status define_parameters(const ast::CreateRoutineStatement& create, Routine* routine) const;
  Status create_trigger(const ast::CreateTriggerStatement& create, ResultSet* result);
  Status check_transitions(const ast::CreateTriggerStatement& create, Trigger* trigger) const;
  Status check_view_trigger(const ast::CreateTriggerStatement& create) const;
  Status check_constraint_trigger(const ast::CreateTriggerStatement& create, Trigger* trigger) const;
  Status drop_trigger(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result);
  Status rename_trigger(const std::string& table, const std::string& from, const std::string& to);
  void move_triggers(const std::string& from, const std::string& to);
  void move_comments(const std::string& from, const std::string& to);
  Status set_firing(const ast::AlterTableCommand& command, const std::string& name);
  Status fire_foreign_keys(const std::string& name, bool fires);
  void drop_triggers_of(const std::string& table);
  Status define_result(const ast::CreateRoutineStatement& create, Routine* routine) const;
  StatusOr<SqlType> routine_type(const ast::TypeName& type, std::string* relation, uint32_t* domain) const;
  Status remove_replaced(const ast::CreateRoutineStatement& create, Routine* routine);
  StatusOr<std::vector<SqlType>> argument_types(const ast::ObjectRef& object);
  StatusOr<RoutinePlace> match_routine(ast::ObjectKind kind, const ast::ObjectRef& object,
                                       const std::vector<SqlType>& wanted);
  StatusOr<RoutinePlace> find_routine(ast::ObjectKind kind, const ast::ObjectRef& object);
  Status create_view(const ast::CreateViewStatement& create, ResultSet* result);
  // definition_hot_view.cc
  Status create_hot_view(const ast::CreateViewStatement& create, ResultSet* result);
  StatusOr<std::shared_ptr<storage::Table>> table_of_hot_view(const ast::CreateViewStatement& create) const;
  Status define_hot_columns(const std::vector<ast::SelectTarget>& targets, const storage::TableSchema& schema,
                            HotDataView* view) const;
  Status check_hot_predicate(const ast::Expr& expr, const std::shared_ptr<storage::Table>& table) const;
  Status not_hot(int32_t location) const;
  Status drop_hot_views(const ast::DropStatement& drop, ResultSet* result);
  void drop_hot_views_without_table();
  void drop_column_of_hot_views(const storage::TableSchema& schema, uint32_t column);
  Status check_hot_views(TableId table);
  Status check_replaced(const View& old, const View& view) const;
  Status drop(const ast::DropStatement& drop, ResultSet* result);
  Status drop_table(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_references(TableId id, const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  void erase_view(const std::string& name);
  void erase_table(const std::string& name);
  Status drop_view(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_dependents(const std::string& kind, const std::string& name, const ast::DropStatement& drop,
                         ResultSet* result);
  std::vector<std::string> dependents_of(const std::string& name) const;
  Status drop_routine(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result);
  // routine_users.cc
  struct RoutineUser {
    std::string name;  // "view v"
    std::function<Status()> drop;
  };
  bool misses_function(const std::string& sql);
  std::vector<RoutineUser> users_of(const Routine& routine);
  Status drop_users_of(const Routine& routine, const ast::DropStatement& drop, ResultSet* result);
  Status drop_index(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_references_to(const std::string& table, const storage::IndexDef& index, std::string_view what,
                            bool cascade, ResultSet* result);
  Status truncate(const ast::TruncateStatement& truncate, ResultSet* result);
  // definition_partition.cc
  StatusOr<Partitioning::Key> partition_key_part(const ast::IndexElement& element, const std::string& root);
  StatusOr<Partitioning> partition_key(const ast::PartitionBy& by, const std::string& root);
  StatusOr<PartitionBound::Value> bound_value(const ast::Expr& expr, const Partitioning& key, size_t position);
  StatusOr<std::vector<PartitionBound::Value>> range_limit(const std::vector<ast::ExprPtr>& exprs,
                                                           const Partitioning& key, std::string_view word);
  StatusOr<PartitionBound> partition_bound(const ast::PartitionBound& bound, const Partitioning& key,
                                           const std::string& name);
  Status check_bound(TableId parent, const PartitionBound& bound, const std::string& name,
                     const ast::PartitionBound& written);
  StatusOr<std::pair<TableId, TableId>> partitioned_relation(const ast::Name& name, int32_t location);
  Status define_partition_rule(const ast::Constraint& constraint, const std::string& column, const std::string& name,
                               DeclaredPartition* partition);
  Status define_partition_default(const ast::Expr& expr, const std::string& column, DeclaredPartition* partition);
  bool has_same_key(const ast::Constraint& constraint, const std::string& column,
                    const storage::TableSchema& schema) const;
  Status define_partition_rules(const ast::CreateTableStatement& create, DeclaredPartition* partition);
  Status check_persistence(const std::string& name, const std::string& parent) const;
  Status create_partition(const ast::CreateTableStatement& create);
  void add_partition(const std::string& name, std::shared_ptr<DeclaredPartition> partition);
  void remake_partitions(TableId root);
  Status rename_in_partitions(TableId root, const std::string& from, const std::string& to);
  static std::string renamed_in_text(const std::string& text, const std::string& from, const std::string& to);
  // definition_attach.cc
  Status check_not_only(const ast::TableRef& ref) const;
  Status renew_table(TableId id);
  void forget_in_partitions(TableId root, const std::string& column, bool with_checks);
  Status check_partition_rules() const;
  Status delete_rows_of(const DeclaredPartition& partition);
  void write_deletes();
  void move_rows(std::string text);
  void put_partition(const std::string& name, std::shared_ptr<const DeclaredPartition> partition);
  Status drop_partition(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status erase_partition(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status erase_partitions_of(TableId parent, const ast::DropStatement& drop, ResultSet* result);
  Status check_no_key_part(const std::string& table, const std::string& column, std::string_view verb);
  Status check_attached(const storage::TableSchema& mine, const storage::TableSchema& theirs,
                        const std::string& parent) const;
  Status attach_partition(const ast::AlterTableCommand& command, const ast::Name& parent);
  std::vector<std::shared_ptr<const View>> take_partitions_of(TableId parent);
  void give_partitions(const std::vector<std::shared_ptr<const View>>& views, TableId old_parent, TableId new_parent,
                       TableId root);
  void keep_defaults(const storage::TableSchema& schema, const TableRules& rules, DeclaredPartition* partition);
  std::vector<std::string> indexes_to_keep(const storage::TableSchema& mine, const storage::TableSchema& theirs);
  Status take_in(const std::string& name, std::shared_ptr<DeclaredPartition> partition);
  Status detach_partition(const ast::AlterTableCommand& command, const ast::Name& parent);
  bool attaches_index(const ast::AlterTableStatement& alter, ResultSet* result) const;
  Status alter_partition(const ast::AlterTableStatement& alter);
  Status alter_partition(const ast::AlterTableCommand& command, const ast::Name& name);
  Status check_rows_of(const std::string& partition, const CheckRule& check, Status violated);
  Status change_partition(const ast::AlterTableCommand& command, const std::string& key, DeclaredPartition* partition);
  Status create_partition_index(const ast::CreateIndexStatement& create, const DeclaredPartition& partition,
                                ResultSet* result);
  // definition_analyze.cc
  Status analyze(const ast::AnalyzeStatement& analyze, ResultSet* result);
  Status check_schema(const ast::Name& name, int32_t location = -1) const;
  Status error(std::string_view sqlstate, std::string_view message, int32_t location) const;
  StatusOr<std::shared_ptr<storage::Table>> find_table(const ast::Name& name) const;
  std::string free_index_name(std::string base) const;
  bool name_taken(const std::string& name) const;
  bool is_taken_for_table(const std::string& name) const;
  SessionRoles roles_of_owner(const Access& access) const;
  uint32_t draw_number(uint32_t* next);
  Catalog& next();

  const DatabaseOptions& options_;
  storage::Arena* const arena_;
  const std::shared_ptr<const Catalog> old_;
  const std::string_view text_;
  std::shared_ptr<Catalog> next_;
  Runner runner_;
  std::string definition_text_, rows_text_;
  std::optional<SessionRoles> rows_roles_;  // null: those of the statement
  std::vector<std::string> names_;
  std::vector<SqlType> types_;
  std::string filled_view_;                        // a materialized view that rows_text_ is about
  std::set<TableId> renewed_;                      // tables whose rows partitions have changed
  std::map<TableId, std::string> rows_to_delete_;  // of partitions that go: conditions, by table
  std::shared_ptr<storage::Table> attached_;       // rows_text_ reads it as kAttachedTable
  bool moves_rows_ = false;                        // rows_text_ moves rows of partitions: no trigger fires
  bool keeps_tables_ = false, shares_rows_ = false, is_temporary_ = false, tells_rows_ = true;
  std::deque<ResultSet> results_;                  // what values of new columns point to
  std::deque<storage::ColumnValues> read_values_;  // likewise
  uint32_t command_ = 0;                           // of ALTER TABLE
  bool is_repeated_ = false;
  std::string_view given_values_;
  bool keeps_values_ = false;
  std::string kept_values_;
  std::set<SequenceId> drawn_sequences_;
  std::vector<std::unique_ptr<ScratchArena>> scratch_;
};

}  // namespace scyper::query
