#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bind/pl_binder.h"
#include "compile/compiler.h"
#include "ir/ir.h"

// The steps from a syntax tree to code. Whatever goes wrong in one of them is an error of the statement `text`
// (base/internal_error.h).
namespace scyper::query {

StatusOr<std::unique_ptr<BoundProgram>> bind_statement(std::string_view text, const ast::Statement& statement,
                                                       const std::vector<SqlType>& types, Binder* binder);
StatusOr<std::unique_ptr<BoundProgram>> bind_routine(std::string_view body, const Routine& routine,
                                                     const plpgsql::Body& parsed, Binder* binder);
StatusOr<ir::Function> code_of(std::string_view text, const BoundProgram& bound, ProgramResources* resources);
// Generated code is verified in every build, before anything runs it.
Status check_code(const ir::Function& function, std::string_view text);

// A routine that is being compiled, for those that it calls and that call it.
class RoutineInProgress {
 public:
  RoutineInProgress(RoutinePrograms* routines, const RoutinePrograms::Key& key, Program* program);
  ~RoutineInProgress();
  RoutineInProgress(const RoutineInProgress&) = delete;
  RoutineInProgress& operator=(const RoutineInProgress&) = delete;

 private:
  RoutinePrograms* const routines_;
  const RoutinePrograms::Key key_;
};

// Drops the routines that were compiled while `failed` was and call it: it is about to go. Under routines->mutex, which
// its caller has held since, so that nobody else has them.
void drop_callers(const Program& failed, RoutinePrograms* routines);

// How the log names the statement of an internal error (base/internal_error.h): PostgreSQL's fingerprint, in 16 digits.
void name_statements_by_fingerprint();

}  // namespace scyper::query
