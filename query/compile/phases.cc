#include "compile/phases.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/failpoint.h"
#include "base/internal_error.h"
#include "base/invariant.h"
#include "codegen/generator.h"
#include "compile/program_parts.h"
#include "parse/sql_parser.h"

namespace scyper::query {

namespace {

Failpoint bind_breaks("bind.breaks"), bind_throws("bind.throws");
Failpoint generate_breaks("generate.breaks"), generate_throws("generate.throws"), verify_fails("generate.verify");

std::string fingerprint_of_statement(const InternalError& error) {
  // a text that the parser stumbles over is not given to it again
  if (error.phase != Phase::kParsing && error.phase != Phase::kAnswering)
    if (const auto known = fingerprint_sql(error.text); known.ok()) return absl::StrFormat("%016x", *known);
  return absl::StrFormat("%016x (of the text)", std::hash<std::string_view>()(error.text));
}

}  // namespace

StatusOr<std::unique_ptr<BoundProgram>> bind_statement(std::string_view text, const ast::Statement& statement,
                                                       const std::vector<SqlType>& types, Binder* binder) {
  return contained(Phase::kBinding, text, [&] {
    INVARIANT(!bind_breaks.fires());
    if (bind_throws.fires()) throw std::out_of_range("failpoint bind.throws");
    return binder->bind_statement(statement, types);
  });
}

StatusOr<std::unique_ptr<BoundProgram>> bind_routine(std::string_view body, const Routine& routine,
                                                     const plpgsql::Body& parsed, Binder* binder) {
  return contained(Phase::kBinding, body, [&] {
    INVARIANT(!bind_breaks.fires());
    if (bind_throws.fires()) throw std::out_of_range("failpoint bind.throws");
    return binder->bind_routine(routine, parsed);
  });
}

StatusOr<ir::Function> code_of(std::string_view text, const BoundProgram& bound, ProgramResources* resources) {
  return contained(Phase::kGenerating, text, [&] {
    INVARIANT(!generate_breaks.fires());
    if (generate_throws.fires()) throw std::out_of_range("failpoint generate.throws");
    return Generator(bound, resources).generate();
  });
}

Status check_code(const ir::Function& function, std::string_view text) {
  std::string broken = ir::verify(function);
  if (verify_fails.fires()) broken = "failpoint generate.verify";
  if (broken.empty()) return Status();
  return internal_error({Phase::kGenerating, "generated code is wrong: " + broken, text});
}

RoutineInProgress::RoutineInProgress(RoutinePrograms* routines, const RoutinePrograms::Key& key, Program* program)
    : routines_(routines), key_(key) {
  routines->in_progress[key] = program;
}

RoutineInProgress::~RoutineInProgress() { routines_->in_progress.erase(key_); }

void drop_callers(const Program& failed, RoutinePrograms* routines) {
  std::vector<std::unique_ptr<Program>> dropped;
  std::set<const Program*> gone = {&failed};
  const auto calls_gone = [&](const Program& program) {
    const auto& callees = program.parts().callees;
    return std::any_of(callees.begin(), callees.end(), [&](const Program* callee) { return gone.count(callee) != 0; });
  };
  for (size_t before = 0; before != gone.size();) {
    before = gone.size();
    for (auto it = routines->programs.begin(); it != routines->programs.end();) {
      if (!calls_gone(*it->second)) {
        ++it;
        continue;
      }
      gone.insert(it->second.get());
      dropped.push_back(std::move(it->second));
      it = routines->programs.erase(it);
    }
  }
}

void name_statements_by_fingerprint() { set_fingerprint(&fingerprint_of_statement); }

}  // namespace scyper::query
