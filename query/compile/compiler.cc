#include "compile/compiler.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/deep_stack.h"
#include "base/failpoint.h"
#include "base/internal_error.h"
#include "base/invariant.h"
#include "base/object_name.h"
#include "bind/pl_binder.h"
#include "bind/shape.h"
#include "codegen/generator.h"
#include "compile/alone.h"
#include "compile/dynamic_text.h"
#include "compile/parameter_count.h"
#include "compile/phases.h"
#include "compile/program_look.h"
#include "compile/program_parts.h"
#include "compile/search_path.h"
#include "compile/statement_kind.h"
#include "compile/temporary.h"
#include "compile/transition_scope.h"
#include "ir/hand_over.h"
#include "parse/plpgsql_parser.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "plan/access_path.h"
#include "query/named_text.h"
#include "query/query_threads.h"
#include "query/role_mark.h"
#include "query/search_path.h"
#include "query/statement_weight.h"
#include "runtime/column_bounds.h"
#include "runtime/swap.h"
#include "storage/temporary.h"

namespace scyper::query {

namespace {

Failpoint compile_breaks("compile.breaks"), compile_throws("compile.throws");

const char* command_of(const ast::Statement& statement) {
  switch (statement.kind) {
    case ast::StatementKind::kInsert:
      return "INSERT";
    case ast::StatementKind::kUpdate:
      return "UPDATE";
    case ast::StatementKind::kDelete:
      return "DELETE";
    case ast::StatementKind::kMerge:
      return "MERGE";
    case ast::StatementKind::kCall:
      return "CALL";
    default:
      return "SELECT";
  }
}

void merge_route(Footprint* footprint, const std::optional<Route>& route) {
  footprint->is_beyond_routes |= !route.has_value();
  if (!route.has_value()) return;  // found out at run time: a wrong guess is undone and requeued
  if (std::find(footprint->routes.begin(), footprint->routes.end(), *route) == footprint->routes.end())
    footprint->routes.push_back(*route);
}

// What a callee touches, in terms of the caller's arguments.
void merge_callee(Footprint* footprint, const Footprint& callee, const std::vector<std::optional<Route>>& args) {
  footprint->writes |= callee.writes;
  footprint->writes_shared |= callee.writes_shared;
  footprint->reads_partitioned |= callee.reads_partitioned;
  footprint->all_partitions |= callee.all_partitions;
  footprint->is_beyond_routes |= callee.is_beyond_routes;
  footprint->is_planned |= callee.is_planned;
  footprint->is_volatile |= callee.is_volatile;
  footprint->is_long |= callee.is_long;
  for (const Route& route : callee.routes) {
    if (route.kind == Route::Kind::kConstant) {
      merge_route(footprint, route);
      continue;
    }
    std::optional<Route> mapped = args[route.argument];
    if (mapped.has_value() && route.kind == Route::Kind::kArrayArgument) {
      if (mapped->kind != Route::Kind::kArgument) {
        footprint->is_beyond_routes = true;
        continue;
      }
      mapped->kind = Route::Kind::kArrayArgument;
    }
    merge_route(footprint, mapped);
  }
}

// Estimated work of the planned queries of one statement, up to which a worker runs it between two transactions.
constexpr double kShortWorkNs = 500e3;

// What saves most time in the first run. Interpreted code is some 20 times as slow as the estimate says; better code
// costs some 25 us an instruction more to make, while quick code runs, and saves a third of what that computes, often
// more. Where the query's threads take all cores, making it takes the time of one of them: c of compiling are done
// after c * threads of computing, and have to save c of what is left, of which they save about three fifths.
jit::Tiering::Start first_tier(double work_ns, size_t instructions) {
  if (work_ns < 100e3) return jit::Tiering::Start::kInterpreter;
  static const uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  const uint32_t threads = QueryThreads::now();
  const double compile_ns = 25e3 * static_cast<double>(instructions);
  const double needed_ns = compile_ns * (threads < cores ? 1.4 * threads : 1.6 + threads);
  return work_ns > needed_ns ? jit::Tiering::Start::kBetter : jit::Tiering::Start::kQuick;
}

// A position in a routine's body means nothing in the statement that calls it.
Status without_position(const Status& status, const Routine& routine) {
  int position = position_of(status);
  if (position <= 0) return status;
  Status plain = sql_error(sqlstate_of(status), std::string(status.message()));
  std::string detail = detail_of(status);
  if (detail.empty()) {
    std::string_view body = without_search_path(routine.body);
    int32_t offset = byte_offset_of(body, position);
    auto line = std::count(body.begin(), body.begin() + offset, '\n') + 1;
    detail =
        absl::StrCat(routine.procedure ? "Procedure " : "Function ", routine.name, ", line ", line, " of its body.");
  }
  plain = with_detail(plain, detail);
  std::string hint = hint_of(status);
  return hint.empty() ? plain : with_hint(plain, hint);
}

}  // namespace

std::shared_ptr<RoutinePrograms> Compiler::routines_of(const Catalog& catalog) {
  std::lock_guard<std::mutex> lock(mutex_);
  Routines& routines = is_trial(catalog.version) ? trial_ : published_;
  if (routines.programs == nullptr || routines.version != catalog.version)
    routines = {catalog.version, std::make_shared<RoutinePrograms>()};
  return routines.programs;
}

void Compiler::forget_routines() {
  std::lock_guard<std::mutex> lock(mutex_);
  published_ = {};
  trial_ = {};
}

void Compiler::set_limits(ProgramResources* resources) const {
  resources->shared_from_ns = options_.shared_from_ns;
  resources->spill_from_bytes = static_cast<double>(options_.spill_from_bytes);
  resources->filter_from_ns = options_.filter_from_ns;
  resources->passes_swaps =
      options_.execution == ExecutionMode::kSwapping || options_.execution == ExecutionMode::kSwappingInterpreted;
}

// Code is made now, or, where the program may find out first that its work is in vain, when it comes to that.
Status Compiler::add_code(ir::Function function, std::string_view text, ProgramParts* parts) {
  INVARIANT(!compile_breaks.fires());
  if (compile_throws.fires()) throw std::out_of_range("failpoint compile.throws");
  using Start = jit::Tiering::Start;
  Start start = first_tier(parts->resources.work_ns, function.instruction_count());
  const bool is_plain = parts->command == "SELECT" && parts->callees.empty() && !parts->resources.explains &&
                        !parts->footprint.writes && !parts->footprint.is_volatile;
  if (is_plain && start == Start::kInterpreter && options_.filter_from_ns < 0) start = Start::kQuick;  // for tests
  const bool defers =
      is_plain && tiering_->may_defer(start) && ir::may_end_before_work(function, k_rt_bounds_exclude, k_rt_emit);
  ir::Function deferring;
  if (defers) {
    deferring = ir::with_hand_over(function, k_rt_hand_over);
    SCYPER_RETURN_IF_ERROR(check_code(deferring, text));
  }
  // what is over before better code could come would only have more to compile
  if (start != Start::kBetter && !parts->resources.passes_swaps) function.swaps.blocks.clear();
  if (defers) {
    parts->code = tiering_->add_deferred(std::move(function), std::move(deferring), start);
    return absl::OkStatus();
  }
  SCYPER_ASSIGN_OR_RETURN(parts->code, tiering_->add(std::move(function), start));
  return absl::OkStatus();
}

namespace {
// What a node that replays the statement does not have.
void note_temporary(ProgramParts* parts) {
  for (const auto& table : parts->resources.tables) {
    const storage::TableSchema& schema = table->schema();
    if (!storage::is_temporary(schema.id)) continue;
    parts->footprint.is_volatile = true;
    parts->has_temporary_rows |= loses_rows_at_commit(schema.name);
  }
  if (!parts->has_temporary_rows) return;
  Footprint& footprint = parts->footprint;  // its commit makes another catalog: it runs alone
  footprint.writes = footprint.writes_shared = footprint.reads_partitioned = footprint.all_partitions = true;
}
}  // namespace

// Fills a program in place: routines that call each other need its address before it is finished.
Status Compiler::generate(std::string_view text, const BoundProgram& bound, Program* program,
                          std::shared_ptr<RoutinePrograms> routines) {
  ProgramLook rows;
  SCYPER_RETURN_IF_ERROR(contained(Phase::kBinding, text, [&] { return rows.look_at(bound), Status(); }));
  if (rows.found()) return sql_error("0A000", "a whole row in this place is not supported");
  ProgramParts& parts = program->parts();
  parts.name = bound.name;
  parts.compiler = this;
  for (uint32_t i = 0; i < bound.parameters; i++) parts.parameter_types.push_back(bound.variables[i].type);
  for (const auto& column : bound.columns) parts.columns.push_back({column.name, column.type, column.declared});
  for (const auto& callee : bound.callees) {
    SCYPER_ASSIGN_OR_RETURN(const Program* target, routine_program(*callee, parts.catalog, routines));
    parts.callees.push_back(target);
    const bool is_unfinished = routines->is_in_progress(*callee);
    parts.resources.callee_writes.push_back(is_unfinished || target->footprint().writes);
    // Routines that call each other: what the one that is not finished touches is not known. It may be anything.
    if (is_unfinished && target != program) {
      Footprint& footprint = parts.resources.footprint;
      footprint.writes = footprint.writes_shared = footprint.reads_partitioned = footprint.all_partitions = true;
      footprint.is_volatile = true;
    }
  }
  set_limits(&parts.resources);
  SCYPER_ASSIGN_OR_RETURN(ir::Function function, code_of(text, bound, &parts.resources));
  parts.footprint = parts.resources.footprint;
  parts.is_dynamic = bound.is_dynamic;
  parts.footprint.writes |= bound.writes;
  parts.footprint.writes_shared |= bound.writes_shared;
  // a node that replays the statement need not have the same rules of the zone
  parts.footprint.is_volatile |= bound.volatile_result || parts.zone != nullptr;
  parts.footprint.reads_partitioned |= bound.is_dynamic;
  parts.footprint.all_partitions |= bound.is_dynamic;
  parts.footprint.is_long |=
      bound.is_dynamic || !parts.resources.foreign.empty() || parts.resources.work_ns > kShortWorkNs;
  for (const auto& call : parts.resources.calls)
    merge_callee(&parts.footprint, Footprint(parts.callees[call.callee]->footprint()), call.arguments);
  // what it calls itself with decides partitions, too
  const bool is_recursive =
      std::any_of(parts.callees.begin(), parts.callees.end(), [&](const Program* callee) { return callee == program; });
  parts.footprint.is_beyond_routes |= is_recursive && parts.footprint.reads_partitioned;
  note_temporary(&parts);
  parts.takes_locks = rows.takes_locks();
  const bool touches_tables = !parts.resources.tables.empty() || !parts.callees.empty() || bound.is_dynamic ||
                              !parts.resources.foreign.empty() || bound.dml != nullptr || bound.query == nullptr;
  const bool reads_activity = ActivityScope::current() != nullptr;
  parts.is_of_session = !touches_tables && !rows.calls_others() && (rows.calls_session() || reads_activity);
  for (const auto& update : parts.resources.updates) parts.updates.push_back(update.get());
  for (const auto& table : parts.resources.tables) parts.table_partitions.push_back(table->partition_array());
  SCYPER_RETURN_IF_ERROR(check_code(function, text));
  SCYPER_RETURN_IF_ERROR(
      contained(Phase::kCompiling, text, [&] { return add_code(std::move(function), text, &parts); }));
  compiled_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

namespace {
// A node that replays the statement does not have the view.
bool uses_temporary_view(const Binder& binder, const Catalog& catalog) {
  return std::any_of(binder.used_relations().begin(), binder.used_relations().end(),
                     [&](const std::string& name) { return is_temporary_key(name) && catalog.has_view(name); });
}
}  // namespace

StatusOr<std::shared_ptr<const Program>> Compiler::compile_statement(std::string_view text,
                                                                     const ast::Statement& statement,
                                                                     size_t parameter_count,
                                                                     const std::vector<SqlType>& parameter_types,
                                                                     std::shared_ptr<const Catalog> catalog,
                                                                     const ExplainOptions* analysed) {
  auto routines = routines_of(*catalog);
  SCYPER_ASSIGN_OR_RETURN(auto program,
                          make_program(text, statement, parameter_count, parameter_types, catalog, routines, analysed));
  program->parts().routines = routines;
  return program;
}

StatusOr<std::shared_ptr<Program>> Compiler::make_program(std::string_view text, const ast::Statement& statement,
                                                          size_t parameter_count,
                                                          const std::vector<SqlType>& parameter_types,
                                                          const std::shared_ptr<const Catalog>& catalog,
                                                          const std::shared_ptr<RoutinePrograms>& routines,
                                                          const ExplainOptions* analysed,
                                                          const std::vector<std::string>& names) {
  auto start = std::chrono::steady_clock::now();
  const NamedParameters named(names);
  Binder binder(*catalog, text, parameter_count);
  binder.set_foreign_files_directory(options_.foreign_files_directory);
  PlBinder::name_parameters(named, &binder);
  SCYPER_RETURN_IF_ERROR(PlBinder::see_transitions(parameter_count, &binder));
  SCYPER_ASSIGN_OR_RETURN(auto bound, bind_statement(text, statement, parameter_types, &binder));
  bound->volatile_result |= uses_temporary_view(binder, *catalog);
  auto parts = std::make_unique<ProgramParts>();
  parts->command = command_of(statement);
  parts->catalog_version = catalog->version;
  parts->catalog = catalog;
  parts->zone = session_zone();
  parts->roles = thread_roles();
  if (analysed != nullptr) {
    parts->command = "EXPLAIN";
    parts->resources.explains = true;
    parts->resources.explain_options = *analysed;
    std::chrono::duration<double, std::milli> planning = std::chrono::steady_clock::now() - start;
    parts->resources.planning_time = absl::StrFormat("%.3f", planning.count());
    bound->columns = {{"QUERY PLAN", make_type(TypeId::kText), false, false}};
  }
  auto program = std::make_shared<Program>(std::move(parts));
  SCYPER_RETURN_IF_ERROR(generate(text, *bound, program.get(), routines));
  return program;
}

namespace {
// *body: as a text with a search_path, then without.
StatusOr<std::unique_ptr<plpgsql::Body>> parse_body(const Catalog& catalog, std::string_view* body,
                                                    std::vector<std::string>* search_path, TextOf whose) {
  *body = take_search_path(*body, search_path);
  const SearchPath path(catalog, *search_path);
  const NamePathScope names(path.get());
  return parse_plpgsql(*body, whose);
}
}  // namespace

StatusOr<std::shared_ptr<const Program>> Compiler::compile_block(std::string_view body,
                                                                 std::shared_ptr<const Catalog> catalog,
                                                                 std::string_view command, TextOf whose) {
  std::vector<std::string> search_path;
  SCYPER_ASSIGN_OR_RETURN(auto parsed, parse_body(*catalog, &body, &search_path, whose));
  const SessionPathScope session(&search_path);
  Routine routine;
  routine.name = "inline_code_block";
  routine.procedure = true;
  Binder binder(*catalog, body);
  SCYPER_ASSIGN_OR_RETURN(auto bound, bind_routine(body, routine, *parsed, &binder));
  bound->volatile_result |= uses_temporary_view(binder, *catalog);
  auto parts = std::make_unique<ProgramParts>();
  parts->command = command;
  parts->search_path = search_path;
  parts->zone = session_zone();
  parts->roles = thread_roles();
  parts->catalog_version = catalog->version;
  parts->catalog = catalog;
  auto routines = routines_of(*catalog);
  parts->routines = routines;
  auto program = std::make_shared<Program>(std::move(parts));
  SCYPER_RETURN_IF_ERROR(generate(body, *bound, program.get(), routines));
  return program;
}

StatusOr<const Program*> Compiler::routine_program(const Routine& routine,
                                                   const std::shared_ptr<const Catalog>& catalog,
                                                   const std::shared_ptr<RoutinePrograms>& routines) {
  std::lock_guard<std::recursive_mutex> lock(routines->mutex);
  const RoutinePrograms::Key key = RoutinePrograms::key_of(routine);
  if (auto done = routines->programs.find(key); done != routines->programs.end()) return done->second.get();
  auto current = routines->in_progress.find(key);
  if (current != routines->in_progress.end()) return current->second;  // a recursive call
  // a chain of routines is as long as they were made, one after the other; a restart compiles it in one go
  return with_more_stack<const Program*>([&] { return make_routine_program(routine, catalog, routines); });
}

StatusOr<const Program*> Compiler::make_routine_program(const Routine& routine,
                                                        const std::shared_ptr<const Catalog>& catalog,
                                                        const std::shared_ptr<RoutinePrograms>& routines) {
  const RoutinePrograms::Key key = RoutinePrograms::key_of(routine);
  const TransitionScope transitions(routine.trigger.get());
  std::string_view body = routine.body;
  std::vector<std::string> search_path;
  const std::string_view zone_name = time_zone_of(body);
  const auto zone = make_session_zone(zone_name);
  const ZoneScope zone_scope(zone.get());
  SCYPER_ASSIGN_OR_RETURN(auto parsed, parse_body(*catalog, &body, &search_path, TextOf::kUser));
  const SessionPathScope session(&search_path);
  SessionRoles session_roles = thread_roles();
  if (const Role* owner = catalog->roles.find(routine.access.owner); routine.is_definer && owner != nullptr)
    session_roles.current = owner->name;
  const RoleScope roles(&session_roles);
  Binder binder(*catalog, body);
  auto bind = bind_routine(body, routine, *parsed, &binder);
  if (!bind.ok()) return without_position(bind.status(), routine);
  (*bind)->volatile_result |= uses_temporary_view(binder, *catalog);
  auto parts = std::make_unique<ProgramParts>();
  parts->command = "CALL";
  parts->zone = zone;
  parts->sets_zone = !zone_name.empty();
  parts->catalog_version = catalog->version;
  parts->catalog = catalog;  // `routines` is not held: it owns the program
  parts->search_path = search_path;
  parts->roles = session_roles;
  parts->trigger = routine.trigger;
  parts->trigger_depth = routine.trigger_depth;
  auto program = std::make_unique<Program>(std::move(parts));
  Status status;
  {
    const RoutineInProgress in_progress(routines.get(), key, program.get());
    status = contained(Phase::kGenerating, body, [&] { return generate(body, **bind, program.get(), routines); });
  }
  if (!status.ok()) {
    drop_callers(*program, routines.get());
    return status;
  }
  return (routines->programs[key] = std::move(program)).get();
}

namespace {
Status append_code(std::string_view text, const BoundProgram& bound, jit::Jit* jit, std::string* out) {
  ProgramResources resources;
  SCYPER_ASSIGN_OR_RETURN(ir::Function function, code_of(text, bound, &resources));
  SCYPER_RETURN_IF_ERROR(check_code(function, text));
  *out += ir::to_string(function);
  if (jit == nullptr) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(std::string machine_code, contained(Phase::kCompiling, text, [&] {
                            return jit->assembly(function, jit::Tier::kBetter);
                          }));
  absl::StrAppend(out, "machine code of ", bound.name.empty() ? "the statement" : bound.name, "\n", machine_code);
  return absl::OkStatus();
}
}  // namespace

StatusOr<std::string> Compiler::explain_plan(std::string_view text, const ast::Statement& statement,
                                             size_t parameter_count, std::shared_ptr<const Catalog> catalog,
                                             const ExplainOptions& options, const std::vector<SqlType>& types) {
  auto start = std::chrono::steady_clock::now();
  Binder binder(*catalog, text, parameter_count);
  binder.set_foreign_files_directory(options_.foreign_files_directory);
  SCYPER_ASSIGN_OR_RETURN(auto bound, bind_statement(text, statement, types, &binder));
  ProgramResources resources;
  set_limits(&resources);
  resources.explains = true;
  resources.explain_options = options;
  SCYPER_RETURN_IF_ERROR(code_of(text, *bound, &resources).status());
  std::chrono::duration<double, std::milli> planning = std::chrono::steady_clock::now() - start;
  std::string summary = options.summary ? absl::StrFormat("%.3f", planning.count()) : "";
  if (options.json) {
    std::string plan = resources.plan.empty() ? "    \"Plan\": {\"Node Type\": \"Direct\"}" : resources.plan;
    if (!summary.empty()) absl::StrAppend(&plan, ",\n    \"Planning Time\": ", summary);
    return absl::StrCat("[\n  {\n", plan, "\n  }\n]");
  }
  std::string plan = resources.plan.empty() ? absl::StrCat(kDirectPlan, "\n") : resources.plan;
  if (!summary.empty()) absl::StrAppend(&plan, "Planning Time: ", summary, " ms\n");
  return plan;
}

StatusOr<std::string> Compiler::explain(std::string_view text, const ast::Statement& statement, size_t parameter_count,
                                        std::shared_ptr<const Catalog> catalog, jit::Jit* jit) {
  Binder binder(*catalog, text, parameter_count);
  SCYPER_ASSIGN_OR_RETURN(auto bound, bind_statement(text, statement, {}, &binder));
  std::string out;
  // of a CALL, what runs is the procedure
  for (const auto& callee : bound->callees) {
    std::string_view body = callee->body;
    std::vector<std::string> search_path;
    SCYPER_ASSIGN_OR_RETURN(auto parsed, parse_body(*catalog, &body, &search_path, TextOf::kUser));
    const SessionPathScope session(&search_path);
    Binder inner(*catalog, body);
    SCYPER_ASSIGN_OR_RETURN(auto routine, bind_routine(body, *callee, *parsed, &inner));
    SCYPER_RETURN_IF_ERROR(append_code(body, *routine, jit, &out));
  }
  SCYPER_RETURN_IF_ERROR(append_code(text, *bound, jit, &out));
  return out;
}

}  // namespace scyper::query
