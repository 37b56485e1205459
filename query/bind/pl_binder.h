#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bind/binder.h"

namespace scyper::query {

// Binds the body of a routine: declarations to program variables, statements to steps. Records get their shape from the
// statement that assigns them, in text order; fields are variables of their own.
class PlBinder {
 public:
  PlBinder(Binder* binder, const Routine& routine) : binder_(*binder), routine_(routine) {}
  Status bind(const plpgsql::Body& body);

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
  Status bind_now(const plpgsql::Statement& statement, StepList* out);
  Status bind_block(const plpgsql::Block& block, StepList* out);
  Status bind_declaration(const plpgsql::Declaration& declaration, VariableScope* scope, StepList* out);
  Status bind_handlers(const plpgsql::Block& block, Step* step);
  Status bind_assign(const plpgsql::Assign& assign, StepList* out);
  Status bind_if(const plpgsql::If& statement, StepList* out);
  Status bind_case(const plpgsql::Case& statement, StepList* out);
  Status bind_loop(const plpgsql::Statement& statement, const std::string& label, const ast::Expr* condition,
                   const plpgsql::Statements& body, StepList* out);
  Status bind_for_integer(const plpgsql::ForInteger& loop, StepList* out);
  Status bind_for_query(const plpgsql::ForQuery& loop, StepList* out);
  Status bind_for_each(const plpgsql::ForEach& loop, StepList* out);
  Status bind_exit(const plpgsql::Exit& statement, StepList* out);
  Status bind_return(const plpgsql::Return& statement, StepList* out);
  Status name_to_state(int32_t location, BoundPtr* value);
  Status bind_raise(const plpgsql::Raise& raise, StepList* out);
  Status bind_assert(const plpgsql::Assert& statement, StepList* out);
  Status bind_sql(const plpgsql::Sql& statement, StepList* out);
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
  StatusOr<SqlType> declared_type(const ast::TypeName& type);
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
};

}  // namespace scyper::query
