#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bind/bound.h"
#include "compile/session_sequences.h"
#include "jit/tiering.h"
#include "parse/ast.h"
#include "parse/sql_parser.h"
#include "plan/explain_options.h"
#include "query/advisory_locks.h"
#include "query/catalog.h"
#include "query/database.h"
#include "query/program.h"

namespace scyper::query {

struct ProgramResources;

// The compiled routines of one catalog version, made when first needed. They may call each other in cycles, so they
// refer to each other by plain pointers and live and die together.
class RoutinePrograms {
 public:
  std::recursive_mutex mutex;
  using Key = std::pair<RoutineId, std::string>;  // roles that it runs for, Routine::variant
  static Key key_of(const Routine& routine) { return {routine.id, with_roles(thread_roles(), routine.variant)}; }
  std::map<Key, std::unique_ptr<Program>> programs;
  std::map<Key, Program*> in_progress;
  std::map<std::string, std::shared_ptr<const Program>> dynamic;  // by text and types of parameters; hold no routines

  bool is_in_progress(const Routine& routine) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return in_progress.count(key_of(routine)) != 0;
  }
};

// Bound program to runnable program.
class Compiler {
 public:
  Compiler(jit::Tiering* tiering, const DatabaseOptions& options) : tiering_(tiering), options_(options) {}

  StatusOr<std::shared_ptr<const Program>> compile_statement(std::string_view text, const ast::Statement& statement,
                                                             size_t parameter_count,
                                                             const std::vector<SqlType>& parameter_types,
                                                             std::shared_ptr<const Catalog> catalog,
                                                             const ExplainOptions* analysed = nullptr);
  // An anonymous block (DO).
  // command: what its tag says.
  StatusOr<std::shared_ptr<const Program>> compile_block(std::string_view body, std::shared_ptr<const Catalog> catalog,
                                                         std::string_view command = "DO", TextOf whose = TextOf::kUser);
  StatusOr<const Program*> routine_program(const Routine& routine, const std::shared_ptr<const Catalog>& catalog,
                                           const std::shared_ptr<RoutinePrograms>& routines);
  StatusOr<const Program*> make_routine_program(const Routine& routine, const std::shared_ptr<const Catalog>& catalog,
                                                const std::shared_ptr<RoutinePrograms>& routines);
  std::shared_ptr<RoutinePrograms> routines_of(const Catalog& catalog);
  void forget_routines();  // a database's catalog is replaced by one whose version says nothing
  // The plans of a statement's queries.
  StatusOr<std::string> explain_plan(std::string_view text, const ast::Statement& statement, size_t parameter_count,
                                     std::shared_ptr<const Catalog> catalog, const ExplainOptions& options,
                                     const std::vector<SqlType>& types = {});
  // For EXPLAIN (COMPILED): the IR; with `jit` the better tier's machine code behind each function.
  StatusOr<std::string> explain(std::string_view text, const ast::Statement& statement, size_t parameter_count,
                                std::shared_ptr<const Catalog> catalog, jit::Jit* jit);
  // The program of a statement's text that EXECUTE runs, from a cache or new; null: it is a definition.
  StatusOr<std::shared_ptr<const Program>> dynamic_program(std::string_view text, const std::vector<SqlType>& types,
                                                           std::shared_ptr<const Catalog> catalog);
  uint64_t compiled() const { return compiled_.load(std::memory_order_relaxed); }

  AdvisoryLocks* locks() { return &locks_; }
  SessionSequences* sequences() { return &sequences_; }
  // A session ends, or begins anew (DISCARD ALL).
  void leave_session(const std::string& session) {
    locks_.release_all(session);
    sequences_.forget(session);
  }
  // The statements of a text that EXECUTE is given, where it has several of them.
  static std::vector<std::string> split(std::string_view sql);

 private:
  StatusOr<std::shared_ptr<const Program>> find_dynamic_program(std::string_view text,
                                                                const std::vector<SqlType>& types,
                                                                std::shared_ptr<const Catalog> catalog);
  StatusOr<std::shared_ptr<Program>> make_dynamic_program(std::string_view text, const ast::Statement& statement,
                                                          const std::vector<std::string>& names,
                                                          const std::vector<SqlType>& types,
                                                          const std::shared_ptr<const Catalog>& catalog,
                                                          const std::shared_ptr<RoutinePrograms>& routines,
                                                          const ExplainOptions* analysed);
  // A statement that EXECUTE runs by another one: DO, SET, SHOW, and EXPLAIN of a plan. Null: it is none of these.
  StatusOr<std::shared_ptr<const Program>> stand_in(std::string_view text, const ast::Statement& statement,
                                                    const std::vector<std::string>& search_path,
                                                    const std::vector<SqlType>& types,
                                                    std::shared_ptr<const Catalog> catalog);
  StatusOr<std::string> explained_query(std::string_view text, const ast::ExplainStatement& explain,
                                        const ExplainOptions& options, const std::vector<SqlType>& types,
                                        std::shared_ptr<const Catalog> catalog);
  // Does not hold `routines`.
  StatusOr<std::shared_ptr<Program>> make_program(std::string_view text, const ast::Statement& statement,
                                                  size_t parameter_count, const std::vector<SqlType>& parameter_types,
                                                  const std::shared_ptr<const Catalog>& catalog,
                                                  const std::shared_ptr<RoutinePrograms>& routines,
                                                  const ExplainOptions* analysed,
                                                  const std::vector<std::string>& names = {});
  void set_limits(ProgramResources* resources) const;
  Status add_code(ir::Function function, std::string_view text, ProgramParts* parts);
  Status generate(std::string_view text, const BoundProgram& bound, Program* program,
                  std::shared_ptr<RoutinePrograms> routines);

  AdvisoryLocks locks_;
  SessionSequences sequences_;
  jit::Tiering* const tiering_;
  const DatabaseOptions options_;
  std::mutex mutex_;
  // Of the last published catalog, and of the last one that a transaction has made for itself.
  struct Routines {
    uint64_t version = 0;
    std::shared_ptr<RoutinePrograms> programs;
  };
  Routines published_, trial_;
  std::atomic<uint64_t> compiled_{0};
};

}  // namespace scyper::query
