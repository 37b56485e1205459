#include "query/database.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/internal_error.h"
#include "base/object_name.h"
#include "compile/alone.h"
#include "compile/catalog_tables.h"
#include "compile/compiler.h"
#include "compile/copy.h"
#include "compile/declared_types.h"
#include "compile/definition.h"
#include "compile/definition_log.h"
#include "compile/definitions.h"
#include "compile/load_rows.h"
#include "compile/parameter_count.h"
#include "compile/phases.h"
#include "compile/prepared_statement.h"
#include "compile/program_parts.h"
#include "compile/search_path.h"
#include "compile/setting.h"
#include "compile/short_read.h"
#include "compile/statement_kind.h"
#include "compile/temporary.h"
#include "jit/jit.h"
#include "jit/tiering.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "query/error_status.h"
#include "query/role_mark.h"
#include "query/search_path.h"
#include "runtime/memory.h"
#include "storage/statistics.h"

namespace scyper::query {
namespace {

jit::TieringOptions tiering_options(const DatabaseOptions& options) {
  jit::TieringOptions tiering;
  using Mode = jit::TieringMode;
  constexpr Mode kModes[] = {Mode::kAdaptive, Mode::kInterpreter, Mode::kQuick,
                             Mode::kBetter,   Mode::kSwapping,    Mode::kSwappingInterpreter};
  tiering.mode = kModes[static_cast<size_t>(options.execution)];
  return tiering;
}

}  // namespace

class DatabaseImpl final : public Database {
 public:
  DatabaseImpl(const DatabaseOptions& options, std::unique_ptr<storage::Arena> arena,
               std::unique_ptr<storage::FrozenMemory> frozen, std::unique_ptr<storage::FrozenTier> tier,
               std::unique_ptr<jit::Jit> jit)
      : options_(options),
        arena_(std::move(arena)),
        frozen_(std::move(frozen)),
        tier_(std::move(tier)),
        jit_(std::move(jit)),
        tiering_(*jit_, tiering_options(options)),
        compiler_(&tiering_, options),
        catalog_(std::make_shared<const Catalog>()) {}

  const DatabaseOptions& options() const override { return options_; }
  storage::Arena* arena() override { return arena_.get(); }
  storage::FrozenMemory* frozen_memory() override { return frozen_.get(); }
  storage::FrozenTier* tier() override { return tier_.get(); }
  std::shared_ptr<const Catalog> catalog() const override {
    std::lock_guard<std::mutex> lock(catalog_mutex_);
    return catalog_;
  }
  uint64_t programs_compiled() const override { return compiler_.compiled(); }
  size_t code_bytes() const override { return jit_->live_code_bytes(); }

  void while_no_code_is_linked(const std::function<void()>& work) override {
    auto hold = jit_->hold_for_fork();
    work();
  }

  StatusOr<std::vector<std::string>> split(std::string_view sql) override;
  StatusOr<std::shared_ptr<const Prepared>> prepare(std::string_view sql) override {
    return prepare_for(sql, catalog());
  }
  bool is_query(std::string_view sql) override {
    auto statements = parse_sql(without_search_path(sql));
    return statements.ok() && statements->size() == 1 && asks_for_rows(*(*statements)[0]);
  }
  bool may_be_short(std::string_view sql) override {
    auto statements = parse_sql(without_search_path(sql));
    return statements.ok() && statements->size() == 1 && query::may_be_short(*(*statements)[0]);
  }
  StatusOr<std::shared_ptr<const Prepared>> prepare_for(std::string_view sql,
                                                        std::shared_ptr<const Catalog> catalog) override {
    return contained(Phase::kCompiling, without_search_path(sql),
                     [&] { return prepare_text(sql, std::move(catalog)); });
  }
  std::shared_ptr<const Program> first_program_of(const Prepared& prepared) const override;
  Status make_native(const Program& program) override;
  void request_better(const Program& program) override;
  StatusOr<std::shared_ptr<const Program>> program_of(const Prepared& prepared) override {
    return contained(Phase::kCompiling, without_search_path(prepared.text()),
                     [&] { return current_program(prepared); });
  }
  bool wants_companions(const Program& program) const override;
  Status add_companions(const Program& program) override;
  Status define(const Prepared& prepared, ResultSet* result, DefinitionRun* run) override {
    return contained(Phase::kDefining, without_search_path(prepared.text()),
                     [&] { return define_next(prepared, result, run); });
  }
  std::unique_ptr<Definitions> open_definitions();
  Status drop_temporary_tables(const std::string& session_schema) override;
  AdvisoryLocks* advisory_locks() override { return compiler_.locks(); }
  void leave_session(const std::string& session_schema) override { compiler_.leave_session(session_schema); }
  bool has_temporary_tables(std::string_view session_schema) const override;
  StatusOr<std::unique_ptr<CopyRows>> open_copy_for(std::string_view sql,
                                                    std::shared_ptr<const Catalog> current) override {
    return contained(Phase::kCompiling, without_search_path(sql), [&] { return open_copy_text(sql, current); });
  }
  Status copy(CopyRows* rows, ResultSet* result, DefinitionRun* run) override;
  Status fill_table(const Definer& definer, const std::shared_ptr<const Catalog>& next, ResultSet* result,
                    DefinitionRun* run);
  Status load(std::string_view table, std::span<const Datum> values, std::string* redo) override;
  Status append(storage::Table* table, const std::vector<std::vector<Datum>>& parts, std::string* redo);
  void restore(std::shared_ptr<const Catalog> catalog) override {
    auto next = std::make_shared<Catalog>(*catalog);
    note_tables(next.get(), frozen_.get(), tier_.get());
    std::lock_guard<std::mutex> lock(catalog_mutex_);
    const bool forgets = next->tables.empty() && next->routines.empty();
    CHECK(forgets || (catalog_->tables.empty() && catalog_->routines.empty()));
    compiler_.forget_routines();  // of other tables, though the catalog's version may be the same
    catalog_ = std::move(next);
  }
  void refresh_statistics() override {
    for (const auto& [name, table] : catalog()->tables) table->set_statistics(storage::collect_statistics(*table));
  }

 private:
  StatusOr<std::shared_ptr<const Prepared>> prepare_text(std::string_view sql, std::shared_ptr<const Catalog> catalog,
                                                         TextOf whose = TextOf::kUser);
  StatusOr<std::shared_ptr<const Program>> current_program(const Prepared& prepared);
  Status define_next(const Prepared& prepared, ResultSet* result, DefinitionRun* run);
  StatusOr<std::unique_ptr<CopyRows>> open_copy_text(std::string_view sql, std::shared_ptr<const Catalog> current);
  StatusOr<std::shared_ptr<const Program>> compile(const PreparedStatement& prepared,
                                                   std::shared_ptr<const Catalog> catalog);
  Status explain(const PreparedStatement& prepared, ResultSet* result);
  StatusOr<std::shared_ptr<const Program>> copy_program(ast::CopyStatement* copy, const CopyTarget& target,
                                                        std::shared_ptr<const Catalog> catalog);
  StatusOr<ResultSet> run_query(const std::string& sql, std::shared_ptr<const Catalog> catalog, int64_t time_us,
                                Definer::QueryFacts* facts);

  const DatabaseOptions options_;
  const std::unique_ptr<storage::Arena> arena_;          // outlives tables
  const std::unique_ptr<storage::FrozenMemory> frozen_;  // likewise; null: no chunk is ever frozen
  const std::unique_ptr<storage::FrozenTier> tier_;      // likewise; null: frozen chunks stay in memory
  const std::unique_ptr<jit::Jit> jit_;
  jit::Tiering tiering_;
  Compiler compiler_;
  mutable std::mutex catalog_mutex_;
  std::shared_ptr<const Catalog> catalog_;
};

StatusOr<std::vector<std::string>> DatabaseImpl::split(std::string_view text) {
  const std::string_view sql = without_search_path(text), marks = text.substr(0, text.size() - sql.size());
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql));
  std::vector<std::string> texts;
  for (const auto& statement : statements) {
    size_t from = static_cast<size_t>(std::max(0, statement->location));
    size_t length = statement->length > 0 ? static_cast<size_t>(statement->length) : sql.size() - from;
    texts.emplace_back(marks).append(sql.substr(from, length));
  }
  return texts;
}

StatusOr<std::shared_ptr<const Prepared>> DatabaseImpl::prepare_text(std::string_view text,
                                                                     std::shared_ptr<const Catalog> catalog,
                                                                     TextOf whose) {
  std::vector<std::string> search_path;
  const std::string_view sql = take_search_path(text, &search_path);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_in(*catalog, search_path, sql, whose));
  if (statements.size() > 1) return sql_error("42601", "cannot insert multiple commands into a prepared statement");
  auto prepared = std::make_shared<PreparedStatement>();
  prepared->text_ = std::string(text);
  prepared->zone_ = make_session_zone(time_zone_of(text));
  prepared->search_path_ = std::move(search_path);
  prepared->path_bytes_ = text.size() - sql.size();
  if (statements.empty()) {
    prepared->kind_ = Prepared::Kind::kNothing;
    return prepared;
  }
  prepared->statement_ = std::move(statements[0]);
  const bool is_copy = prepared->is_copy_ = prepared->statement_->kind == ast::StatementKind::kCopy;
  if (is_copy) {
    const storage::SchemaScope as_of(&catalog->schemas);
    auto& copy = ast::node_as<ast::CopyStatement>(*prepared->statement_);
    SCYPER_RETURN_IF_ERROR(check_copy_place(copy, /*from=*/false));
    SCYPER_ASSIGN_OR_RETURN(prepared->statement_, query_of_copy(&copy, *catalog, sql));
  }
  const ast::Statement& statement = *prepared->statement_;
  if (const char* name = refused_command(statement.kind))
    return sql_error("0A000", absl::StrCat(name, " is not supported"), position_at(sql, statement.location));
  if (const auto* other = ast::node_if<ast::UnsupportedStatement>(&statement);
      other != nullptr && other->stands_for.empty())
    return unsupported_command(other->command, position_at(sql, statement.location));
  prepared->kind_ = kind_of(statement);
  SCYPER_ASSIGN_OR_RETURN(prepared->parameter_types_, declared_types_of(*catalog, prepared->search_path_, sql));
  prepared->parameter_count_ =
      is_copy ? 0 : std::max(parameter_count(sql), prepared->parameter_types_.size());  // COPY has none
  if (prepared->parameter_count_ > 65535) return sql_error("54023", "too many parameters");
  if (prepared->kind_ != Prepared::Kind::kProgram) return prepared;
  SCYPER_ASSIGN_OR_RETURN(prepared->program_, compile(*prepared, std::move(catalog)));
  prepared->parameter_types_ = prepared->program_->parameter_types();
  prepared->columns_ = prepared->program_->columns();
  return prepared;
}

StatusOr<std::shared_ptr<const Program>> DatabaseImpl::compile(const PreparedStatement& prepared,
                                                               std::shared_ptr<const Catalog> catalog) {
  const storage::SchemaScope as_of(&catalog->schemas);
  const SessionPathScope session(&prepared.search_path_);
  const ZoneScope zone(prepared.zone_.get());
  SCYPER_ASSIGN_OR_RETURN(const SessionRoles session_roles, roles_in(catalog->roles, prepared.text_));
  const RoleScope roles(&session_roles);
  const std::string_view sql = prepared.sql();
  ast::StatementPtr again;  // another catalog has other names
  const bool is_renewed = !prepared.search_path_.empty() && prepared.program_ != nullptr && !prepared.is_copy_;
  if (is_renewed) {
    SCYPER_ASSIGN_OR_RETURN(auto statements, parse_in(*catalog, prepared.search_path_, sql, TextOf::kSystem));
    again = std::move(statements[0]);
  }
  const ast::Statement& statement = is_renewed ? *again : *prepared.statement_;
  if (const auto* block = ast::node_if<ast::DoStatement>(&statement)) {
    if (!block->language.empty() && block->language != "plpgsql")
      return sql_error("0A000", absl::StrCat("language \"", block->language, "\" is not supported"));
    return compiler_.compile_block(with_search_path(prepared.search_path_, block->body), std::move(catalog));
  }
  if (const auto* other = ast::node_if<ast::UnsupportedStatement>(&statement))
    return compiler_.compile_block(
        with_search_path(prepared.search_path_, absl::StrCat("BEGIN PERFORM ", other->stands_for, "; END")),
        std::move(catalog), other->command, TextOf::kSystem);
  if (const auto* explain = ast::node_if<ast::ExplainStatement>(&statement)) {
    SCYPER_ASSIGN_OR_RETURN(ExplainOptions options, ExplainOptions::read(explain->options));
    if (explain->statement->kind == ast::StatementKind::kCall || explain->statement->kind == ast::StatementKind::kDo)
      return sql_error("0A000", "EXPLAIN ANALYZE of CALL and DO is not supported");
    return compiler_.compile_statement(sql, *explain->statement, prepared.parameter_count_, prepared.parameter_types_,
                                       std::move(catalog), &options);
  }
  return compiler_.compile_statement(sql, statement, prepared.parameter_count_, prepared.parameter_types_,
                                     std::move(catalog));
}

StatusOr<std::shared_ptr<const Program>> DatabaseImpl::current_program(const Prepared& base) {
  const auto& prepared = static_cast<const PreparedStatement&>(base);
  CHECK(prepared.kind_ == Prepared::Kind::kProgram);
  auto current = catalog();
  std::lock_guard<std::mutex> lock(prepared.mutex_);
  // what transactions run is not compiled by them
  if (prepared.program_->catalog_version() == current->version) {
    SCYPER_RETURN_IF_ERROR(prepared.program_->parts().code->begin_native());
    return prepared.program_;
  }
  SCYPER_ASSIGN_OR_RETURN(auto program, compile(prepared, current));
  bool same =
      program->columns().size() == prepared.columns_.size() && program->parameter_types() == prepared.parameter_types_;
  for (size_t i = 0; same && i < prepared.columns_.size(); i++)
    same = program->columns()[i].type == prepared.columns_[i].type &&
           program->columns()[i].name == prepared.columns_[i].name;
  if (!same) return sql_error("0A000", "cached plan must not change result type");
  SCYPER_RETURN_IF_ERROR(program->parts().code->begin_native());
  prepared.program_ = program;
  return program;
}

std::shared_ptr<const Program> DatabaseImpl::first_program_of(const Prepared& base) const {
  const auto& prepared = static_cast<const PreparedStatement&>(base);
  CHECK(prepared.kind_ == Prepared::Kind::kProgram);
  std::lock_guard<std::mutex> lock(prepared.mutex_);
  return prepared.program_;
}

Status DatabaseImpl::make_native(const Program& program) {
  std::vector<const Program*> all;
  visit_programs(program, &all);
  for (const Program* one : all) SCYPER_RETURN_IF_ERROR(tiering_.make_native(*one->parts().code));
  return absl::OkStatus();
}

void DatabaseImpl::request_better(const Program& program) {
  std::vector<const Program*> all;
  visit_programs(program, &all);
  for (const Program* one : all) tiering_.request_better(*one->parts().code);
}

bool DatabaseImpl::wants_companions(const Program& program) const {
  std::vector<const Program*> all;
  visit_programs(program, &all);
  for (const Program* one : all)
    for (const auto& [table, index] : one->parts().resources.point_indexes)
      if (table->partition(0)->indexes[index].hash == nullptr) return true;
  return false;
}

Status DatabaseImpl::add_companions(const Program& program) {
  std::vector<const Program*> all;
  visit_programs(program, &all);
  for (const Program* one : all)
    for (const auto& [table, index] : one->parts().resources.point_indexes)
      SCYPER_RETURN_IF_ERROR(table->build_hash_companion(static_cast<uint32_t>(index)));
  return absl::OkStatus();
}

std::unique_ptr<Definitions> DatabaseImpl::open_definitions() {
  auto publish = [this](std::shared_ptr<const Catalog> next) {
    std::lock_guard<std::mutex> lock(catalog_mutex_);
    catalog_ = std::move(next);
  };
  auto run = [this](const std::string& sql, std::shared_ptr<const Catalog> catalog, int64_t time_us,
                    Definer::QueryFacts* facts) { return run_query(sql, std::move(catalog), time_us, facts); };
  return make_definitions(
      {&options_, arena_.get(), frozen_.get(), tier_.get(), &compiler_, [this] { return catalog(); }, publish, run});
}

// A query of a definition, while nothing else runs.
StatusOr<ResultSet> DatabaseImpl::run_query(const std::string& sql, std::shared_ptr<const Catalog> catalog,
                                            int64_t time_us, Definer::QueryFacts* facts) {
  const std::string text = with_roles(thread_roles(), with_time_zone(session_zone_mark(), sql));
  SCYPER_ASSIGN_OR_RETURN(auto prepared, contained(Phase::kCompiling, sql, [&] {
                            return prepare_text(text, std::move(catalog), TextOf::kSystem);
                          }));
  auto program = first_program_of(*prepared);
  facts->is_volatile = program->footprint().is_volatile;
  facts->reads_others = reads_others(*program);
  return query_alone(options_, arena_.get(), *program, facts->has_time ? time_us : 0, &facts->has_changed);
}

// The rows of CREATE TABLE AS, while nothing else runs. Nothing has changed where this fails: `next` is dropped then.
Status DatabaseImpl::fill_table(const Definer& definer, const std::shared_ptr<const Catalog>& next, ResultSet* result,
                                DefinitionRun* run) {
  const std::string& sql = definer.rows_text();
  auto trial = std::make_shared<Catalog>(*definer.catalog_for_rows(next));
  trial->version = trial_version();
  note_tables(trial.get(), frozen_.get(), tier_.get());
  const SessionRoles roles = definer.roles_for_rows();
  SCYPER_ASSIGN_OR_RETURN(auto prepared,
                          prepare_for(with_roles(roles, with_time_zone(session_zone_mark(), sql)), trial));
  auto program = first_program_of(*prepared);
  const bool records = run != nullptr && run->wants_rows;
  std::string redo;
  AloneRun alone;
  if (run != nullptr) alone.time_us = run->time_us;
  if (records) alone.redo = &redo;
  if (records) alone.redo_bytes_max = run->row_bytes_max;
  SCYPER_RETURN_IF_ERROR(change_alone(options_, arena_.get(), *program, alone, result));
  if (records) run->log.append(1, '\0').append(redo);
  if (definer.tells_rows()) result->command_tag = absl::StrCat("SELECT ", result->affected_rows);
  return Status();
}

StatusOr<std::unique_ptr<CopyRows>> DatabaseImpl::open_copy_text(std::string_view text,
                                                                 std::shared_ptr<const Catalog> current) {
  std::vector<std::string> search_path;
  const std::string_view sql = take_search_path(text, &search_path);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_in(*current, search_path, sql));
  if (statements.size() != 1 || statements[0]->kind != ast::StatementKind::kCopy)
    return sql_error("42601", "the statement is not a COPY");
  auto& copy = ast::node_as<ast::CopyStatement>(*statements[0]);
  SCYPER_RETURN_IF_ERROR(check_copy_place(copy, /*from=*/true));
  SCYPER_ASSIGN_OR_RETURN(const SessionRoles session_roles, roles_in(current->roles, text));
  const RoleScope roles(&session_roles);
  const storage::SchemaScope as_of(&current->schemas);
  SCYPER_ASSIGN_OR_RETURN(CopyTarget target, copy_target(copy, *current, sql));
  target.sql = std::string(text);
  auto rows = std::make_unique<CopyRows>(std::move(target));
  SCYPER_ASSIGN_OR_RETURN(auto program, copy_program(&copy, rows->target(), current));
  rows->set_program(std::move(program));
  return rows;
}

StatusOr<std::shared_ptr<const Program>> DatabaseImpl::copy_program(ast::CopyStatement* copy, const CopyTarget& target,
                                                                    std::shared_ptr<const Catalog> catalog) {
  const storage::SchemaScope as_of(&catalog->schemas);
  const auto zone = make_session_zone(time_zone_of(target.sql));
  const ZoneScope zone_scope(zone.get());
  SCYPER_ASSIGN_OR_RETURN(auto insert, insert_of_copy(copy, *catalog, target));
  auto program = compiler_.compile_statement(without_search_path(target.sql), *insert, 0, {}, std::move(catalog));
  if (!program.ok()) return copy_error(program.status());
  return program;
}

Status DatabaseImpl::copy(CopyRows* rows, ResultSet* result, DefinitionRun* run) {
  auto current = catalog();
  if (rows->program()->catalog_version() != current->version) {
    SCYPER_ASSIGN_OR_RETURN(auto now, open_copy(rows->target().sql));
    if (!now->target().is_like(rows->target()))
      return sql_error("40001",
                       absl::StrCat("table \"", rows->target().table, "\" has changed while COPY read its input"));
    rows->set_program(now->program());
  }
  result->clear();
  rows->rewind();
  const AloneRun alone{.feed = rows,
                       .time_us = run->time_us,
                       .redo = run->wants_rows ? &run->log : nullptr,
                       .redo_bytes_max = run->row_bytes_max,
                       .interruption = run->interruption};
  Status status = change_alone(options_, arena_.get(), *rows->program(), alone, result);
  if (!status.ok()) return rows->with_line(std::move(status));
  result->command_tag = absl::StrCat("COPY ", result->affected_rows);
  if (auto table = current->find_table(rows->target().key); table != nullptr) note_growth(table.get());
  return Status();
}

Status DatabaseImpl::drop_temporary_tables(const std::string& session_schema) {
  const auto current = catalog();
  auto next = std::make_shared<Catalog>(*current);
  drop_session_tables(session_schema, next.get());
  if (next->tables.size() == current->tables.size() && next->views.size() == current->views.size()) return Status();
  next->version++;
  note_tables(next.get(), frozen_.get(), tier_.get());
  release_dropped(*current, *next);
  std::lock_guard<std::mutex> lock(catalog_mutex_);
  catalog_ = std::move(next);
  return Status();
}

bool DatabaseImpl::has_temporary_tables(std::string_view session_schema) const {
  const auto current = catalog();
  return !with_temporary({}, *current, std::string(session_schema)).empty();
}

Status DatabaseImpl::define_next(const Prepared& base, ResultSet* result, DefinitionRun* run) {
  const auto& prepared = static_cast<const PreparedStatement&>(base);
  switch (prepared.kind_) {
    case Prepared::Kind::kNothing:
      return prepared.statement_ == nullptr ? Status() : accept_setting(*prepared.statement_, result);
    case Prepared::Kind::kRows:
      if (prepared.statement_->kind == ast::StatementKind::kShow)
        return show_setting(ast::node_as<ast::ShowStatement>(*prepared.statement_), result);
      return explain(prepared, result);
    default:
      break;
  }
  const auto current = catalog();
  SCYPER_ASSIGN_OR_RETURN(const auto parsed, parse_definition(*current, prepared.search_path_, prepared.sql()));
  SCYPER_RETURN_IF_ERROR(check_has_session(parsed));
  Definer definer(options_, arena_.get(), current, prepared.sql());
  if (parsed.is_temporary) definer.set_temporary();
  const SessionPathScope session(&parsed.search_path);
  const ZoneScope zone(prepared.zone_.get());
  SCYPER_ASSIGN_OR_RETURN(const SessionRoles session_roles, roles_in(current->roles, prepared.text_));
  const RoleScope roles(&session_roles);
  const int64_t time_us = run == nullptr ? 0 : run->time_us;
  definer.set_runner(
      [this, time_us](const std::string& sql, std::shared_ptr<const Catalog> catalog, Definer::QueryFacts* facts) {
        return run_query(sql, std::move(catalog), time_us, facts);
      });
  const std::string logged = run == nullptr ? "" : std::exchange(run->log, "");
  if (!logged.empty()) definer.repeat(values_of_log(logged));
  if (run != nullptr && run->wants_rows && !parsed.is_temporary) definer.keep_values();
  SCYPER_ASSIGN_OR_RETURN(auto next, definer.execute(*parsed.statement, result));
  if (run != nullptr && !parsed.is_temporary) {
    run->log = definer.definition_text();
    if (run->log.empty())
      run->log = with_time_zone(time_zone_of(prepared.text_), with_search_path(parsed.search_path, prepared.sql()));
    run->log = with_roles(session_roles, std::move(run->log));
    SCYPER_RETURN_IF_ERROR(log_values(&definer, next.get(), run));
  }
  if (next == nullptr) return absl::OkStatus();
  if (!definer.rows_text().empty()) SCYPER_RETURN_IF_ERROR(fill_table(definer, next, result, run));
  if (parsed.is_temporary) {
    if (run != nullptr) run->log.clear();
    SCYPER_RETURN_IF_ERROR(
        end_temporary_tables(session_temporary_schema(), options_.partitions, arena_.get(), next.get()));
  }
  note_tables(next.get(), frozen_.get(), tier_.get());
  release_dropped(*catalog(), *next);
  for (const auto& [name, type] : next->enums) publish_enum(type);
  std::lock_guard<std::mutex> lock(catalog_mutex_);
  catalog_ = std::move(next);
  return absl::OkStatus();
}

namespace {
void append_line(ResultSet* result, std::string_view line) {
  result->append(make_type(TypeId::kText), string_datum(line.data(), line.size()));
}
}  // namespace

Status DatabaseImpl::explain(const PreparedStatement& prepared, ResultSet* result) {
  const ZoneScope zone(prepared.zone_.get());
  const auto current = catalog();
  SCYPER_ASSIGN_OR_RETURN(const SessionRoles session_roles, roles_in(current->roles, prepared.text_));
  const RoleScope roles(&session_roles);
  const auto& explain = ast::node_as<ast::ExplainStatement>(*prepared.statement_);
  SCYPER_ASSIGN_OR_RETURN(ExplainOptions options, ExplainOptions::read(explain.options));
  auto explained = options.compiled ? compiler_.explain(prepared.sql(), *explain.statement, prepared.parameter_count_,
                                                        current, options.machine ? jit_.get() : nullptr)
                                    : compiler_.explain_plan(prepared.sql(), *explain.statement,
                                                             prepared.parameter_count_, current, options);
  SCYPER_ASSIGN_OR_RETURN(std::string text, std::move(explained));
  result->columns = {{"QUERY PLAN", make_type(TypeId::kText)}};
  size_t from = 0;
  if (options.json) append_line(result, text);
  while (from < text.size() && !options.json) {
    size_t end = std::min(text.find('\n', from), text.size());
    append_line(result, std::string_view(text).substr(from, end - from));
    from = end + 1;
  }
  result->command_tag = "EXPLAIN";
  return absl::OkStatus();
}

Status DatabaseImpl::load(std::string_view name, std::span<const Datum> values, std::string* redo) {
  auto table = catalog()->find_table(name);
  if (table == nullptr) table = catalog()->find_table(object_key_of_text(name));
  if (table == nullptr) return sql_error("42P01", absl::StrCat("relation \"", std::string(name), "\" does not exist"));
  const storage::TableSchema& schema = table->schema();
  size_t width = storage::visible_columns(schema);
  if (width == 0 || values.size() % width != 0) return sql_error("22P04", "a row has the wrong number of values");
  const auto current = catalog();
  auto rules = current->rules.find(schema.id);
  if (rules != current->rules.end() && has_rules(rules->second))
    return load_by_insert(this, schema, rules->second, values, redo);
  std::vector<std::vector<Datum>> parts(table->partition_count());
  if (schema.scheme == storage::PartitionScheme::kShared || table->partition_count() == 1) {
    parts[0].assign(values.begin(), values.end());
    return append(table.get(), parts, redo);
  }
  for (size_t row = 0; row < values.size(); row += width) {
    const Datum& key = values[row + schema.partition_column];
    if (key.null)
      return sql_error("23502", absl::StrCat("null value in column \"", schema.columns[schema.partition_column].name,
                                             "\" of relation \"", schema.name, "\" violates not-null constraint"));
    auto& part = parts[storage::partition_of(key.lo, table->partition_count())];
    part.insert(part.end(), values.begin() + static_cast<ptrdiff_t>(row),
                values.begin() + static_cast<ptrdiff_t>(row + width));
  }
  return append(table.get(), parts, redo);
}

Status DatabaseImpl::append(storage::Table* table, const std::vector<std::vector<Datum>>& parts, std::string* redo) {
  SCYPER_RETURN_IF_ERROR(storage::append_rows(table, parts, format_datum, redo));
  note_growth(table);
  return absl::OkStatus();
}

std::unique_ptr<Definitions> open_definitions(Database* database) {
  return static_cast<DatabaseImpl*>(database)->open_definitions();
}

std::string_view Database::definition_of_log(std::string_view log, std::string_view* rows) {
  const size_t end = std::min(log.find('\0'), log.size());
  *rows = end < log.size() ? log.substr(end + 1) : std::string_view();
  take_values_entries(rows);
  return log.substr(0, end);
}

StatusOr<std::unique_ptr<Database>> Database::create(const DatabaseOptions& options) {
  name_statements_by_fingerprint();
  // address space is cheap, so the budget alone bounds memory
  size_t reserve = std::max<size_t>(options.memory_bytes * 2, size_t{1} << 30);
  SCYPER_ASSIGN_OR_RETURN(auto arena, storage::Arena::create(reserve, options.memory_bytes, options.page_mode));
  arena->fault_ahead();
  arena->copy_ahead(options.copy_ahead_rate);
  SCYPER_ASSIGN_OR_RETURN(auto frozen, make_frozen_memory(options.frozen_bytes));
  std::unique_ptr<storage::FrozenTier> tier;
  if (frozen != nullptr && !options.tier.directory.empty()) {
    SCYPER_ASSIGN_OR_RETURN(tier, storage::FrozenTier::create(options.tier));
  }
  SCYPER_ASSIGN_OR_RETURN(auto jit, jit::Jit::create({}));
  return std::make_unique<DatabaseImpl>(options, std::move(arena), std::move(frozen), std::move(tier), std::move(jit));
}

}  // namespace scyper::query
