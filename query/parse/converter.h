#pragma once

// Private to parse/: the only header that includes PostgreSQL's. They are C, define macros of many common words
// (snprintf, Min, ERROR, _) and must come after everything else, so this header is included last.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "parse/ast.h"
#include "parse/name_path.h"
#include "parse/setting_text.h"
#include "parse/sql_parser.h"

extern "C" {
#include "postgres.h"
//
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
// libpg_query's own entry points: not in its public header
#include <pg_query.h>
#include <pg_query/pg_query_internal.h>
}

namespace scyper::query {

// Turns PostgreSQL's raw parse tree of one text into ours. The first failure sticks (status()): from then on everything
// returns empty nodes that nobody looks at, so the code below does not check after each call.
// Not thread-safe; lives within one parse.
class Converter {
 public:
  // text: what PostgreSQL parsed. shift: added to every location. original: the text before words were changed for
  // PostgreSQL's sake (quote_row_layouts), usually empty.
  Converter(std::string_view text, ast::Location shift, std::string_view original, TextOf whose)
      : text_(text), original_(original), shift_(shift), whose_(whose) {}

  ast::StatementPtr top_statement(const RawStmt& raw);
  // The single target of a SELECT as an expression; a SELECT with more than its target (PL/pgSQL: `n := count(*) FROM
  // t`) as a ScalarSubquery if `allow_query`.
  ast::ExprPtr only_target(const SelectStmt& select, bool allow_query);
  ast::TypeName type_name(const ::TypeName* type);

  bool failed() const { return failed_; }
  const std::string& sqlstate() const { return sqlstate_; }
  const std::string& message() const { return message_; }
  int raw_location() const { return raw_location_; }

  void fail(std::string_view sqlstate, std::string_view message, int raw_location);
  // 0A000 "<what> is not supported"
  void refuse(std::string_view what, int raw_location);

 private:
  // One level of nesting while it lives.
  class Level {
   public:
    explicit Level(Converter& converter);
    ~Level() { --converter_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Converter& converter_;
  };

  ast::Location at(int raw_location) const { return raw_location < 0 ? -1 : raw_location + shift_; }

  // convert_expression.cc
  ast::ExprPtr expr(const void* node);
  ast::ExprPtr expr_by_tag(const Node* node);
  ast::ExprPtr small_expr(const Node* node);
  std::vector<ast::ExprPtr> exprs(const List* list);
  ast::ExprPtr constant(const A_Const& node);
  ast::ExprPtr column_ref(const ::ColumnRef& node);
  ast::ExprPtr indirection(const A_Indirection& node);
  ast::ExprPtr indirection_steps(ast::ExprPtr out, const List* steps);
  ast::ExprPtr cast(const TypeCast& node);
  ast::ExprPtr function_call(const FuncCall& node);
  ast::ExprPtr bool_expr(const BoolExpr& node);
  ast::ExprPtr null_test(const ::NullTest& node);
  ast::ExprPtr boolean_test(const ::BooleanTest& node);
  ast::ExprPtr case_expr(const CaseExpr& node);
  ast::ExprPtr min_max(const MinMaxExpr& node);
  ast::ExprPtr value_function(const SQLValueFunction& node);
  ast::ExprPtr grouping_set(const ::GroupingSet& node);
  ast::ExprPtr row(const RowExpr& node);
  ast::SubscriptIndex subscript(const A_Indices& node);
  ast::SortItem sort_item(const SortBy& node);
  std::vector<ast::SortItem> sort_items(const List* list);
  ast::WindowDefinition window(const WindowDef& node);
  // convert_operator.cc
  ast::ExprPtr operation(const A_Expr& node);
  ast::ExprPtr plain_operation(const A_Expr& node);
  ast::ExprPtr like(const A_Expr& node, ast::LikeKind kind);
  ast::ExprPtr between(const A_Expr& node);
  ast::ExprPtr sub_link(const SubLink& node);
  void operator_name(const List* name, std::string& op, std::string& op_schema);

  // convert_query.cc
  ast::SelectPtr select(const void* node);
  ast::SelectPtr select_body(const SelectStmt& node);
  void select_leaf(const SelectStmt& node, ast::SelectStatement& out);
  ast::WithClause with(const ::WithClause* node);
  std::vector<ast::SelectTarget> targets(const List* list);
  ast::FromItemPtr from_item(const Node* node);
  std::vector<ast::FromItemPtr> from_items(const List* list);
  ast::FromItemPtr join(const JoinExpr& node);
  ast::FromItemPtr table_sample(const RangeTableSample& node);
  ast::FromItemPtr from_function(const RangeFunction& node);
  ast::Alias alias(const ::Alias* node);
  ast::TableRef table_ref(const RangeVar* node);
  // Of what the statement makes.
  ast::TableRef new_table_ref(const RangeVar* node, ast::OnCommit on_commit = ast::OnCommit::kPreserveRows);
  ast::LockingClause locking(const ::LockingClause& node);
  // convert_dml.cc
  std::unique_ptr<ast::InsertStatement> insert(const InsertStmt& node);
  std::unique_ptr<ast::UpdateStatement> update(const UpdateStmt& node);
  std::unique_ptr<ast::DeleteStatement> delete_from(const DeleteStmt& node);
  std::unique_ptr<ast::MergeStatement> merge(const MergeStmt& node);
  ast::MergeWhen merge_when(const MergeWhenClause& node);
  std::vector<ast::SetItem> set_items(const List* list);
  std::vector<ast::InsertColumn> insert_columns(const List* list);
  ast::OnConflict on_conflict(const OnConflictClause* node);
  void target_indirection(const List* list, std::vector<ast::SubscriptIndex>& subscripts, ast::Name& fields);

  // convert_schema.cc
  std::unique_ptr<ast::CreateTableStatement> create_table(const CreateStmt& node);
  void convert_table(const CreateStmt& node, ast::CreateTableStatement* out);
  ast::TableLike table_like(const TableLikeClause& node);
  std::unique_ptr<ast::CreateTableAsStatement> create_table_as(const CreateTableAsStmt& node);
  std::unique_ptr<ast::CreateIndexStatement> create_index(const IndexStmt& node);
  std::unique_ptr<ast::CreateViewStatement> create_view(const ViewStmt& node);
  ast::StatementPtr create_foreign_table(const CreateForeignTableStmt& node);
  ast::StatementPtr create_foreign_server(const CreateForeignServerStmt& node);
  ast::StatementPtr create_extension(const CreateExtensionStmt& node);
  std::unique_ptr<ast::CreateSchemaStatement> create_schema(const CreateSchemaStmt& node);
  std::unique_ptr<ast::CreateSequenceStatement> create_sequence(const CreateSeqStmt& node);
  static bool is_needless(const Node* node);
  std::string lock_query(const LockStmt& node);
  static std::string notify_query(const NotifyStmt& node);
  std::string constraints_query(const ConstraintsSetStmt& node);
  ast::StatementPtr create_composite(const CompositeTypeStmt& node);
  ast::StatementPtr create_enum(const CreateEnumStmt& node);
  ast::StatementPtr alter_enum(const AlterEnumStmt& node);
  ast::StatementPtr create_domain(const CreateDomainStmt& node);
  ast::StatementPtr access_statement(const Node* node);
  ast::RoleRef role_ref(const Node* node);
  std::vector<ast::RoleRef> role_refs(const List* list);
  std::vector<ast::RoleOption> role_options(const List* list);
  ast::StatementPtr create_role(const CreateRoleStmt& node);
  ast::StatementPtr alter_role(const AlterRoleStmt& node);
  ast::StatementPtr alter_role_settings(const AlterRoleSetStmt& node);
  ast::StatementPtr alter_database_settings(const AlterDatabaseSetStmt& node);
  ast::StatementPtr database(const Node* node);
  ast::StatementPtr drop_role(const DropRoleStmt& node);
  ast::StatementPtr grant_role(const GrantRoleStmt& node);
  ast::StatementPtr grant(const GrantStmt& node);
  ast::StatementPtr owner(const AlterOwnerStmt& node);
  ast::StatementPtr alter_domain(const AlterDomainStmt& node);
  std::unique_ptr<ast::CreateSequenceStatement> alter_sequence(const AlterSeqStmt& node);
  ast::ColumnDefinition column_definition(const ColumnDef& node);
  ast::Constraint constraint(const ::Constraint& node);
  std::vector<ast::Constraint> column_constraints(const List* list);
  void foreign_key(const ::Constraint& node, ast::Constraint& out);
  std::unique_ptr<ast::PartitionBound> partition_bound(const PartitionBoundSpec& node);
  ast::PartitionBy partition_by(const PartitionSpec* node);
  ast::IndexElement index_element(const IndexElem& node);
  std::vector<ast::IndexElement> index_elements(const List* list);
  ast::Persistence persistence(const RangeVar* node);
  // convert_routine.cc
  std::unique_ptr<ast::CreateRoutineStatement> create_routine(const CreateFunctionStmt& node);
  std::unique_ptr<ast::AlterRoutineStatement> alter_routine(const AlterFunctionStmt& node);
  std::unique_ptr<ast::CreateTriggerStatement> create_trigger(const CreateTrigStmt& node);
  void routine_option(const DefElem& option, ast::CreateRoutineStatement& out);
  void routine_body(const DefElem& option, ast::CreateRoutineStatement& out);
  void routine_sql_body(const Node* body, ast::CreateRoutineStatement& out);
  ast::RoutineParameter parameter(const FunctionParameter& node);
  std::unique_ptr<ast::DoStatement> do_statement(const DoStmt& node);
  ast::Location body_location(int after_raw_location, std::string_view body) const;

  // convert_object.cc
  std::unique_ptr<ast::AlterTableStatement> alter_table(const AlterTableStmt& node);
  ast::AlterTableCommand alter_command(const AlterTableCmd& node);
  ast::StatementPtr drop(const DropStmt& node);
  ast::StatementPtr comment(const CommentStmt& node);
  ast::StatementPtr rename(const RenameStmt& node);
  ast::ObjectRef object_ref(const Node* node);
  ast::ObjectRef named_object(const Node* node, ast::ObjectKind kind);
  ast::ObjectRef altered_object(const RangeVar* relation, const Node* object, ast::ObjectKind kind);
  ast::StatementPtr set_schema(const AlterObjectSchemaStmt& node);
  ast::StatementPtr refresh(const RefreshMatViewStmt& node);

  // convert_command.cc
  ast::StatementPtr statement(const void* node);
  ast::StatementPtr statement_by_tag(const Node* node);
  ast::StatementPtr command(const Node* node);
  std::unique_ptr<ast::CallStatement> call(const CallStmt& node);
  std::unique_ptr<ast::ExplainStatement> explain(const ExplainStmt& node);
  std::unique_ptr<ast::CopyStatement> copy(const CopyStmt& node);
  std::unique_ptr<ast::TransactionStatement> transaction(const TransactionStmt& node);
  std::unique_ptr<ast::SetStatement> set(const VariableSetStmt& node);
  std::unique_ptr<ast::TruncateStatement> truncate(const TruncateStmt& node);
  ast::StatementPtr analyze(const VacuumStmt& node);
  ast::Option option(const DefElem& node);
  std::vector<ast::Option> options(const List* list);
  void option_value(const Node* value, ast::Option& out);

  std::string_view text_;
  std::string_view original_;
  ast::Location shift_;
  TextOf whose_;
  int depth_ = 0;
  std::vector<std::string> common_names_;        // queries of WITH, which are not looked up
  std::pair<std::string, std::string> created_;  // what the statement makes: name and key
  bool failed_ = false;
  std::string sqlstate_;
  std::string message_;
  int raw_location_ = -1;
};

// Whether a SELECT has nothing but its targets.
bool is_bare_select(const SelectStmt& node);
// The command tag of a statement, PostgreSQL's spelling.
std::string_view command_name(const Node* node);
// The kind of an object and its name in messages; kOther for those the tree does not carry.
ast::ObjectKind object_kind(ObjectType type);
std::string_view object_type_name(ObjectType type);

// --- lists ---

inline const Node* node_at(const List* list, int i) { return static_cast<const Node*>(list->elements[i].ptr_value); }
inline int length_of(const List* list) { return list == nullptr ? 0 : list->length; }
template <class T>
const T& to(const void* node) {
  return *static_cast<const T*>(node);
}

// for (const Node* node : items(list))
class ListItems {
 public:
  class Iterator {
   public:
    explicit Iterator(const ListCell* cell) : cell_(cell) {}
    const Node* operator*() const { return static_cast<const Node*>(cell_->ptr_value); }
    Iterator& operator++() {
      ++cell_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return cell_ != other.cell_; }

   private:
    const ListCell* cell_;
  };
  explicit ListItems(const List* list) : list_(list) {}
  Iterator begin() const { return Iterator(list_ == nullptr ? nullptr : list_->elements); }
  Iterator end() const { return Iterator(list_ == nullptr ? nullptr : list_->elements + list_->length); }

 private:
  const List* list_;
};
inline ListItems items(const List* list) { return ListItems(list); }

inline std::string text_of(const char* s) { return s == nullptr ? std::string() : std::string(s); }
inline std::string string_of(const Node* node) { return strVal(node); }
// The String nodes of a list; others (the star of a column reference) are left out.
ast::Name name_of(const List* list);

}  // namespace scyper::query
