#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bind/binder.h"

namespace scyper::query {

// The parameters of a statement as variables of these names (query/named_text.h). Outlives the binder.
class NamedParameters {
 public:
  explicit NamedParameters(const std::vector<std::string>& names);
  bool empty() const { return scope_.variables.empty() && scope_.records.empty(); }

 private:
  friend class PlBinder;
  VariableScope scope_;
  std::vector<std::unique_ptr<VariableScope::Record>> records_;
};

// Binds the body of a routine: declarations to program variables, statements to steps. Records get their shape from the
// statement that assigns them, in text order; fields are variables of their own.
class PlBinder {
 public:
  PlBinder(Binder* binder, const Routine& routine) : binder_(*binder), routine_(routine) {}
  Status bind(const plpgsql::Body& body);
  // What makes the next version of the catalog.
  static bool is_definition(ast::StatementKind kind);
  // Of the statement that it will bind.
  static void name_parameters(const NamedParameters& names, Binder* binder);
  static Status see_transitions(size_t parameters, Binder* binder);

 private:
  using Record = VariableScope::Record;
  struct Label {
    std::string name;
    uint32_t id;
    bool loop;
  };
  // What records looked like before a branch that may not be taken.
  using Shapes = std::map<Record*, Record>;

  Status bind_statements(const plpgsql::Statements& statements, StepList* out);
  // A statement that does not fit the catalog fails when it runs, as in PostgreSQL.
  Status bind_statement(const plpgsql::Statement& statement, StepList* out);
  std::unique_ptr<Step> failing_step(const Status& status, const plpgsql::Statement& statement) const;
  void forget_failed(VariableScope* scope);
  // Of a part that is reached later than its statement, or not at all; false: the compilation fails.
  bool fails_when_run(const Status& status, const plpgsql::Statement& statement, StepList* out);
  Status bind_now(const plpgsql::Statement& statement, StepList* out);
  Status bind_block(const plpgsql::Block& block, StepList* out);
  Status bind_declaration(const plpgsql::Declaration& declaration, VariableScope* scope, StepList* out);
  Status bind_handlers(const plpgsql::Block& block, Step* step);
  Status bind_assign(const plpgsql::Assign& assign, StepList* out);
  Status bind_if(const plpgsql::If& statement, StepList* out);
  StatusOr<BoundPtr> case_test(const plpgsql::CaseBranch& branch, const BoundExpr* value);
  Status bind_case(const plpgsql::Case& statement, StepList* out);
  Status bind_loop(const plpgsql::Statement& statement, const std::string& label, const ast::Expr* condition,
                   const plpgsql::Statements& body, StepList* out);
  Status bind_for_integer(const plpgsql::ForInteger& loop, StepList* out);
  Status bind_for_query(const plpgsql::ForQuery& loop, StepList* out);
  Status bind_for_each(const plpgsql::ForEach& loop, StepList* out);
  Status bind_exit(const plpgsql::Exit& statement, StepList* out);
  // pl_late.cc: definitions, and statements that are planned when they run
  static bool defines(const plpgsql::Statements& statements);
  static bool defines(const plpgsql::Statement& statement);
  Status bind_definition(const plpgsql::Sql& statement, StepList* out);
  // False: it is none of these, or has to be bound now.
  StatusOr<bool> bind_late(const plpgsql::Statement& statement, StepList* out);
  StatusOr<bool> bind_late_sql(const plpgsql::Sql& statement, StepList* out);
  StatusOr<bool> bind_late_loop(const plpgsql::ForQuery& loop, StepList* out);
  void note_made(const ast::Statement& statement);
  std::unique_ptr<BoundQuery> late_shape(const ast::SelectStatement& select);
  Status late_targets(const plpgsql::Statement& statement, const std::vector<plpgsql::Target>& targets, Step* step);
  Status bind_late_text(std::string_view sql, Step* step);
  // An expression that is computed by a statement of its own, in front of the one that it belongs to.
  StatusOr<BoundPtr> late_value(const ast::Expr& expr, const SqlType* type);
  StatusOr<BoundPtr> value_of(const ast::Expr& expr, const SqlType* type);
  // pl_cursor.cc: cursors, dynamic SQL, the end of transactions
  Status bind_cursor(const plpgsql::Declaration& declaration, VariableScope* scope, StepList* out);
  const VariableScope::Cursor* find_cursor(const ast::Name& name) const;
  Status bind_cursor_arguments(const VariableScope::Cursor& cursor, const std::vector<ast::ExprPtr>& args,
                               const std::vector<std::string>& names, const plpgsql::Statement& statement,
                               StepList* out);
  StatusOr<std::unique_ptr<BoundQuery>> bind_cursor_query(const VariableScope::Cursor& cursor);
  VariableScope::CursorLoop add_identities(const ast::SelectStatement& select, BoundQuery* query);
  void add_current_rows(const plpgsql::Statement& statement, size_t at, StepList* out);
  bool gives_cursors() const;
  Status bind_open(const plpgsql::Open& statement, StepList* out);
  Status bind_fetch(const plpgsql::Fetch& statement, StepList* out);
  Status bind_close(const plpgsql::Close& statement, StepList* out);
  Status bind_for_cursor(const plpgsql::ForCursor& loop, StepList* out);
  Status bind_for_execute(const plpgsql::ForExecute& loop, StepList* out);
  Status bind_execute(const plpgsql::Execute& statement, StepList* out);
  Status bind_transaction(const plpgsql::Transaction& statement, StepList* out);
  Status bind_text_and_args(const ast::Expr& text, const std::vector<ast::ExprPtr>& args, Step* step);
  Status bind_loose_targets(const std::vector<plpgsql::Target>& targets, IntoTargets* into);
  Status bind_loop_body(const std::string& label, const plpgsql::Statements& body, std::unique_ptr<Step> step,
                        StepList* out);
  StatusOr<uint32_t> cursor_variable(const plpgsql::Target& target);
  // pl_trigger.cc
  Status bind_trigger_variables(StepList* out);
  static void add_transition(const std::string& name, const std::vector<RelationColumn>& columns, uint32_t variable,
                             Binder* binder);
  Status bind_trigger_return(const plpgsql::Return& statement, StepList* out);
  Status bind_trigger_case(const ast::Case& choice, const plpgsql::Return& statement, StepList* out);
  Status bind_trigger_row(const ast::Expr& value, const plpgsql::Return& statement, StepList* out);
  void raise_no_return(StepList* out);
  Status bind_parameters(StepList* out);
  Status bind_results();
  Record* new_record(const std::vector<RelationColumn>& columns);
  Status bind_return(const plpgsql::Return& statement, StepList* out);
  Status bind_return_next(const plpgsql::ReturnNext& statement, StepList* out);
  Status bind_return_query(const plpgsql::ReturnQuery& statement, StepList* out);
  Status bind_sql_result(const plpgsql::ReturnQuery& statement, StepList* out);
  Status check_structure(const std::vector<OutputColumn>& columns);
  // A query of one row for a composite value; null: it is NULL.
  // `what` it is for: assign, return, next (RETURN NEXT), trigger. `targets` take a record that dynamic SQL filled.
  StatusOr<std::unique_ptr<BoundQuery>> row_query(const ast::Expr& value, std::string_view what,
                                                  const std::vector<uint32_t>* targets);
  StatusOr<std::unique_ptr<BoundQuery>> image_query(const BoundExpr& row, std::string_view what,
                                                    const std::vector<uint32_t>& targets);
  Status note_field(const ast::Name& name, uint32_t variable, const plpgsql::Statement& statement, StepList* out);
  Status assign_row(const ast::Expr& value, Record* record, const std::vector<uint32_t>& variables,
                    std::string_view what, const plpgsql::Statement& statement, StepList* out);
  StatusOr<std::unique_ptr<BoundQuery>> bind_rows(const ast::Statement& statement, bool composite);
  Status name_to_state(int32_t location, BoundPtr* value);
  Status bind_raise(const plpgsql::Raise& raise, StepList* out);
  Status bind_assert(const plpgsql::Assert& statement, StepList* out);
  Status bind_sql(const plpgsql::Sql& statement, StepList* out);
  // pl_truncate.cc
  Status bind_truncate(const ast::TruncateStatement& truncate, const plpgsql::Sql& statement, StepList* out);
  StatusOr<std::vector<std::shared_ptr<storage::Table>>> truncated_tables(const ast::TruncateStatement& truncate,
                                                                          std::vector<std::string>* notices);
  Status restart_sequences(TableId table, const plpgsql::Sql& statement, StepList* out);
  Status bind_set(const ast::SetStatement& set, const plpgsql::Sql& statement, StepList* out);
  Status bind_perform(const plpgsql::Perform& statement, StepList* out);
  Status bind_diagnostics(const plpgsql::GetDiagnostics& statement, StepList* out);
  // Targets of INTO or FOR: scalars, or one record that takes the shape of `columns`.
  Status bind_targets(const std::vector<plpgsql::Target>& targets, const std::vector<OutputColumn>& columns,
                      IntoTargets* into);
  Status shape_record(Record* record, const std::vector<OutputColumn>& columns);
  StatusOr<BoundPtr> expression(const ast::Expr& expr, const SqlType& type);
  StatusOr<BoundPtr> condition(const ast::Expr& expr);
  StatusOr<uint32_t> target_variable(const ast::Name& name, int32_t location);
  Record* find_record(const ast::Name& name) const;
  // *domain: that it is, 0 = none.
  StatusOr<SqlType> declared_type(const ast::TypeName& type, uint32_t* domain);
  Shapes save_shapes() const;
  void merge_shapes(const Shapes& before);
  uint32_t open_label(const std::string& name, bool loop);
  std::unique_ptr<Step> new_step(StepKind kind, const plpgsql::Statement& statement) const;

  Binder& binder_;
  const Routine& routine_;
  VariableScope* scope_ = nullptr;
  std::vector<Label> labels_;
  std::vector<std::unique_ptr<Record>> records_;
  uint32_t found_ = 0;
  int handler_depth_ = 0;
  int exception_depth_ = 0;                                       // blocks with EXCEPTION around, their handlers not
  std::map<uint32_t, std::vector<OutputColumn>> cursor_columns_;  // what the cursor opened last gives, by variable
  bool returns_row_ = false;                                      // a composite value that is no OUT parameters
  // Tables that definitions before this place make, each as an element of WITH: "t (a) AS (...)".
  std::vector<std::pair<std::string, std::string>> made_;
  bool is_late_ = false;        // statements are planned when they run: the routine defines something
  StepList* before_ = nullptr;  // where the statement in hand may put what comes before it
};

}  // namespace scyper::query
