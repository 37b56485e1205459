#include "query/database.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compile/compiler.h"
#include "compile/definition.h"
#include "compile/parameter_count.h"
#include "compile/program_parts.h"
#include "jit/jit.h"
#include "jit/tiering.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "query/error_status.h"
#include "runtime/memory.h"
#include "storage/statistics.h"

namespace scyper::query {

namespace {

class PreparedStatement final : public Prepared {
 public:
  Kind kind() const override { return kind_; }
  std::string_view text() const override { return text_; }
  const std::vector<SqlType>& parameter_types() const override { return parameter_types_; }
  const std::vector<ResultColumn>& columns() const override { return columns_; }

  Kind kind_ = Kind::kProgram;
  std::string text_;
  ast::StatementPtr statement_;
  size_t parameter_count_ = 0;
  std::vector<SqlType> parameter_types_;
  std::vector<ResultColumn> columns_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Program> program_;
};

// EXPLAIN ANALYZE runs its statement.
bool is_analysis(const ast::Statement& statement) {
  const auto* explain = ast::node_if<ast::ExplainStatement>(&statement);
  if (explain == nullptr) return false;
  StatusOr<ExplainOptions> options = ExplainOptions::read(explain->options);
  return options.ok() && options->analyze && !options->compiled;
}

Prepared::Kind kind_of(const ast::Statement& statement) {
  switch (statement.kind) {
    case ast::StatementKind::kSelect:
    case ast::StatementKind::kInsert:
    case ast::StatementKind::kUpdate:
    case ast::StatementKind::kDelete:
    case ast::StatementKind::kCall:
    case ast::StatementKind::kDo:
      return Prepared::Kind::kProgram;
    case ast::StatementKind::kExplain:
      return is_analysis(statement) ? Prepared::Kind::kProgram : Prepared::Kind::kRows;
    case ast::StatementKind::kShow:
      return Prepared::Kind::kRows;
    case ast::StatementKind::kSet:
      return Prepared::Kind::kNothing;
    default:
      return Prepared::Kind::kDefinition;
  }
}

const char* name_of(ast::StatementKind kind) {
  switch (kind) {
    case ast::StatementKind::kMerge:
      return "MERGE";
    case ast::StatementKind::kCreateTableAs:
      return "CREATE TABLE AS";
    case ast::StatementKind::kCreateSchema:
      return "CREATE SCHEMA";
    case ast::StatementKind::kCopy:
      return "COPY";
    case ast::StatementKind::kTransaction:
      return "an interactive transaction (BEGIN, COMMIT, ROLLBACK)";
    case ast::StatementKind::kPrepare:
      return "PREPARE";
    case ast::StatementKind::kExecute:
      return "EXECUTE";
    case ast::StatementKind::kDeallocate:
      return "DEALLOCATE";
    default:
      return nullptr;
  }
}

jit::TieringOptions tiering_options(const DatabaseOptions& options) {
  jit::TieringOptions tiering;
  switch (options.execution) {
    case ExecutionMode::kAdaptive:
      tiering.mode = jit::TieringMode::kAdaptive;
      break;
    case ExecutionMode::kInterpreted:
      tiering.mode = jit::TieringMode::kInterpreter;
      break;
    case ExecutionMode::kQuick:
      tiering.mode = jit::TieringMode::kQuick;
      break;
    case ExecutionMode::kBetter:
      tiering.mode = jit::TieringMode::kBetter;
      break;
  }
  return tiering;
}

// Before a catalog is published: what its tables look like with this version.
void note_schemas(Catalog* catalog) {
  catalog->schemas.clear();
  for (const auto& [name, table] : catalog->tables) catalog->schemas[table.get()] = &table->schema();
}

class DatabaseImpl final : public Database {
 public:
  DatabaseImpl(const DatabaseOptions& options, std::unique_ptr<storage::Arena> arena, std::unique_ptr<jit::Jit> jit)
      : options_(options),
        arena_(std::move(arena)),
        jit_(std::move(jit)),
        tiering_(*jit_, tiering_options(options)),
        compiler_(&tiering_, options.shared_from_ns),
        catalog_(std::make_shared<const Catalog>()) {}

  const DatabaseOptions& options() const override { return options_; }
  storage::Arena* arena() override { return arena_.get(); }
  std::shared_ptr<const Catalog> catalog() const override {
    std::lock_guard<std::mutex> lock(catalog_mutex_);
    return catalog_;
  }
  uint64_t programs_compiled() const override { return compiler_.compiled(); }

  void while_no_code_is_linked(const std::function<void()>& work) override {
    auto hold = jit_->hold_for_fork();
    work();
  }

  StatusOr<std::vector<std::string>> split(std::string_view sql) override;
  StatusOr<std::shared_ptr<const Prepared>> prepare(std::string_view sql) override {
    return prepare_for(sql, catalog());
  }
  bool is_query(std::string_view sql) override {
    auto statements = parse_sql(sql);
    if (!statements.ok() || statements->size() != 1) return false;
    const ast::Statement* statement = (*statements)[0].get();
    if (is_analysis(*statement)) statement = ast::node_as<ast::ExplainStatement>(*statement).statement.get();
    return statement->kind == ast::StatementKind::kSelect || kind_of(*statement) == Prepared::Kind::kRows;
  }
  StatusOr<std::shared_ptr<const Prepared>> prepare_for(std::string_view sql,
                                                        std::shared_ptr<const Catalog> catalog) override;
  std::shared_ptr<const Program> first_program_of(const Prepared& prepared) const override;
  Status make_native(const Program& program) override;
  void request_better(const Program& program) override;
  StatusOr<std::shared_ptr<const Program>> program_of(const Prepared& prepared) override;
  bool wants_companions(const Program& program) const override;
  Status add_companions(const Program& program) override;
  Status define(const Prepared& prepared, ResultSet* result) override;
  Status load(std::string_view table, std::span<const Datum> values, std::string* redo) override;
  Status load_checked(const storage::TableSchema& schema, const TableRules& rules, std::span<const Datum> values,
                      std::string* redo);
  Status append(storage::Table* table, const std::vector<std::vector<Datum>>& parts, std::string* redo);
  void restore(std::shared_ptr<const Catalog> catalog) override {
    auto next = std::make_shared<Catalog>(*catalog);
    note_schemas(next.get());
    std::lock_guard<std::mutex> lock(catalog_mutex_);
    const bool forgets = next->tables.empty() && next->routines.empty();
    CHECK(forgets || (catalog_->tables.empty() && catalog_->routines.empty()));
    catalog_ = std::move(next);
  }
  void refresh_statistics() override {
    for (const auto& [name, table] : catalog()->tables) table->set_statistics(storage::collect_statistics(*table));
  }

 private:
  StatusOr<std::shared_ptr<const Program>> compile(const PreparedStatement& prepared,
                                                   std::shared_ptr<const Catalog> catalog);
  Status explain(const PreparedStatement& prepared, ResultSet* result);
  void enter_alone(storage::ChangeLog* log, ScratchArena* scratch, ResultSet* result, ExecContext* context) const;
  StatusOr<ResultSet> run_query(const std::string& sql, std::shared_ptr<const Catalog> catalog);
  Status show(const ast::ShowStatement& show, ResultSet* result);

  const DatabaseOptions options_;
  const std::unique_ptr<storage::Arena> arena_;  // outlives tables
  const std::unique_ptr<jit::Jit> jit_;
  jit::Tiering tiering_;
  Compiler compiler_;
  mutable std::mutex catalog_mutex_;
  std::shared_ptr<const Catalog> catalog_;
};

StatusOr<std::vector<std::string>> DatabaseImpl::split(std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql));
  std::vector<std::string> texts;
  for (const auto& statement : statements) {
    size_t from = static_cast<size_t>(std::max(0, statement->location));
    size_t length = statement->length > 0 ? static_cast<size_t>(statement->length) : sql.size() - from;
    texts.emplace_back(sql.substr(from, length));
  }
  return texts;
}

StatusOr<std::shared_ptr<const Prepared>> DatabaseImpl::prepare_for(std::string_view sql,
                                                                    std::shared_ptr<const Catalog> catalog) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql));
  if (statements.size() > 1) return sql_error("42601", "cannot insert multiple commands into a prepared statement");
  auto prepared = std::make_shared<PreparedStatement>();
  prepared->text_ = std::string(sql);
  if (statements.empty()) {
    prepared->kind_ = Prepared::Kind::kNothing;
    return prepared;
  }
  prepared->statement_ = std::move(statements[0]);
  const ast::Statement& statement = *prepared->statement_;
  if (const char* name = name_of(statement.kind))
    return sql_error("0A000", absl::StrCat(name, " is not supported"), position_at(sql, statement.location));
  if (statement.kind == ast::StatementKind::kUnsupported)
    return sql_error("0A000",
                     absl::StrCat(ast::node_as<ast::UnsupportedStatement>(statement).command, " is not supported"),
                     position_at(sql, statement.location));
  prepared->kind_ = kind_of(statement);
  prepared->parameter_count_ = parameter_count(sql);
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
  if (const auto* block = ast::node_if<ast::DoStatement>(prepared.statement_.get())) {
    if (!block->language.empty() && block->language != "plpgsql")
      return sql_error("0A000", absl::StrCat("language \"", block->language, "\" is not supported"));
    return compiler_.compile_block(block->body, std::move(catalog));
  }
  if (const auto* explain = ast::node_if<ast::ExplainStatement>(prepared.statement_.get())) {
    SCYPER_ASSIGN_OR_RETURN(ExplainOptions options, ExplainOptions::read(explain->options));
    if (explain->statement->kind == ast::StatementKind::kCall || explain->statement->kind == ast::StatementKind::kDo)
      return sql_error("0A000", "EXPLAIN ANALYZE of CALL and DO is not supported");
    return compiler_.compile_statement(prepared.text_, *explain->statement, prepared.parameter_count_,
                                       prepared.parameter_types_, std::move(catalog), &options);
  }
  return compiler_.compile_statement(prepared.text_, *prepared.statement_, prepared.parameter_count_,
                                     prepared.parameter_types_, std::move(catalog));
}

StatusOr<std::shared_ptr<const Program>> DatabaseImpl::program_of(const Prepared& base) {
  const auto& prepared = static_cast<const PreparedStatement&>(base);
  CHECK(prepared.kind_ == Prepared::Kind::kProgram);
  auto current = catalog();
  std::lock_guard<std::mutex> lock(prepared.mutex_);
  if (prepared.program_->catalog_version() == current->version) return prepared.program_;
  SCYPER_ASSIGN_OR_RETURN(auto program, compile(prepared, current));
  bool same =
      program->columns().size() == prepared.columns_.size() && program->parameter_types() == prepared.parameter_types_;
  for (size_t i = 0; same && i < prepared.columns_.size(); i++)
    same = program->columns()[i].type == prepared.columns_[i].type &&
           program->columns()[i].name == prepared.columns_[i].name;
  if (!same) return sql_error("0A000", "cached plan must not change result type");
  prepared.program_ = program;
  return program;
}

namespace {
void visit_programs(const Program& program, std::vector<const Program*>* seen) {
  if (std::find(seen->begin(), seen->end(), &program) != seen->end()) return;
  seen->push_back(&program);
  for (const Program* callee : program.parts().callees) visit_programs(*callee, seen);
}
}  // namespace

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

// For a program that runs while nothing else does, in all partitions.
void DatabaseImpl::enter_alone(storage::ChangeLog* log, ScratchArena* scratch, ResultSet* result,
                               ExecContext* context) const {
  context->set_log(log);
  context->scratch = scratch;
  context->partitions = options_.partitions;
  context->partition = ~uint32_t{0};
  context->crossing = 1;
  context->result = result;
}

// A query of a definition, while nothing else runs.
StatusOr<ResultSet> DatabaseImpl::run_query(const std::string& sql, std::shared_ptr<const Catalog> catalog) {
  SCYPER_ASSIGN_OR_RETURN(auto prepared, prepare_for(sql, std::move(catalog)));
  auto program = first_program_of(*prepared);
  SCYPER_ASSIGN_OR_RETURN(auto log, storage::ChangeLog::create(arena_.get(), {}));
  ScratchArena scratch(size_t{4} << 30);
  ResultSet result;
  result.columns = program->columns();
  ExecContext context;
  enter_alone(log.get(), &scratch, &result, &context);
  context.result_bytes_max = SIZE_MAX;
  const Outcome outcome = program->run(&context, nullptr);
  log->rollback_all();
  if (outcome == Outcome::kOk) return result;
  return status_of(context.error);
}

Status DatabaseImpl::define(const Prepared& base, ResultSet* result) {
  const auto& prepared = static_cast<const PreparedStatement&>(base);
  switch (prepared.kind_) {
    case Prepared::Kind::kNothing:
      result->command_tag = prepared.statement_ == nullptr ? "" : "SET";
      return absl::OkStatus();
    case Prepared::Kind::kRows:
      if (prepared.statement_->kind == ast::StatementKind::kShow)
        return show(ast::node_as<ast::ShowStatement>(*prepared.statement_), result);
      return explain(prepared, result);
    default:
      break;
  }
  Definer definer(options_, arena_.get(), catalog(), prepared.text_);
  definer.set_runner([this](const std::string& sql, std::shared_ptr<const Catalog> catalog) {
    return run_query(sql, std::move(catalog));
  });
  SCYPER_ASSIGN_OR_RETURN(auto next, definer.execute(*prepared.statement_, result));
  if (next == nullptr) return absl::OkStatus();
  note_schemas(next.get());
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
  const auto& explain = ast::node_as<ast::ExplainStatement>(*prepared.statement_);
  SCYPER_ASSIGN_OR_RETURN(ExplainOptions options, ExplainOptions::read(explain.options));
  auto explained = options.compiled ? compiler_.explain(prepared.text_, *explain.statement, prepared.parameter_count_,
                                                        catalog(), options.machine ? jit_.get() : nullptr)
                                    : compiler_.explain_plan(prepared.text_, *explain.statement,
                                                             prepared.parameter_count_, catalog(), options);
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

Status DatabaseImpl::show(const ast::ShowStatement& show, ResultSet* result) {
  static const std::pair<std::string_view, std::string_view> kSettings[] = {{"server_version", "15.0 (ScyPer)"},
                                                                            {"server_encoding", "UTF8"},
                                                                            {"client_encoding", "UTF8"},
                                                                            {"datestyle", "ISO, MDY"},
                                                                            {"standard_conforming_strings", "on"},
                                                                            {"transaction_isolation", "serializable"},
                                                                            {"timezone", "UTC"}};
  for (const auto& [name, value] : kSettings) {
    if (name != show.name) continue;
    result->columns = {{show.name, make_type(TypeId::kText)}};
    append_line(result, value);
    result->command_tag = "SHOW";
    return absl::OkStatus();
  }
  return sql_error("42704", absl::StrCat("unrecognized configuration parameter \"", show.name, "\""));
}

namespace {
bool has_rules(const TableRules& rules) {
  return !rules.checks.empty() || !rules.foreign_keys.empty() ||
         std::any_of(rules.columns.begin(), rules.columns.end(),
                     [](const auto& column) { return !column.generated_text.empty(); });
}
}  // namespace

// Row after row through an INSERT, which knows the table's rules; generated columns are computed.
Status DatabaseImpl::load_checked(const storage::TableSchema& schema, const TableRules& rules,
                                  std::span<const Datum> values, std::string* redo) {
  const size_t width = schema.columns.size() - (schema.has_row_id ? 1 : 0);
  std::string columns, parameters;
  std::vector<size_t> given;
  for (size_t c = 0; c < width; c++) {
    if (!rules.columns[c].generated_text.empty()) continue;
    given.push_back(c);
    absl::StrAppend(&columns, given.size() == 1 ? "" : ", ", quote_identifier(schema.columns[c].name));
    absl::StrAppend(&parameters, given.size() == 1 ? "$" : ", $", given.size());
  }
  SCYPER_ASSIGN_OR_RETURN(auto prepared,
                          prepare(absl::StrCat("INSERT INTO ", quote_identifier(schema.name), " (", columns,
                                               ") OVERRIDING SYSTEM VALUE VALUES (", parameters, ")")));
  SCYPER_ASSIGN_OR_RETURN(auto program, program_of(*prepared));
  storage::ChangeLog::Options limits;
  limits.undo_limit_bytes = limits.redo_limit_bytes = SIZE_MAX / 4;
  SCYPER_ASSIGN_OR_RETURN(auto log, storage::ChangeLog::create(arena_.get(), limits));
  log->record_redo(redo != nullptr);
  ScratchArena scratch(size_t{1} << 30);
  ResultSet result;
  ExecContext context;
  enter_alone(log.get(), &scratch, &result, &context);
  std::vector<Datum> row(given.size());
  for (size_t at = 0; at < values.size(); at += width) {
    for (size_t i = 0; i < given.size(); i++) row[i] = values[at + given[i]];
    const Outcome outcome = program->run(&context, row.data());
    scratch.reset();
    if (outcome == Outcome::kOk) continue;
    log->rollback_all();
    return status_of(context.error);
  }
  if (!log->log_sequences()) {  // of triggers
    Status status = storage::change_status(log->last_result(), *log, nullptr);
    log->rollback_all();
    return status;
  }
  if (redo != nullptr) redo->append(log->redo());
  log->commit();
  return absl::OkStatus();
}

Status DatabaseImpl::load(std::string_view name, std::span<const Datum> values, std::string* redo) {
  auto table = catalog()->find_table(name);
  if (table == nullptr) return sql_error("42P01", absl::StrCat("relation \"", std::string(name), "\" does not exist"));
  const storage::TableSchema& schema = table->schema();
  size_t width = schema.columns.size() - (schema.has_row_id ? 1 : 0);
  if (width == 0 || values.size() % width != 0) return sql_error("22P04", "a row has the wrong number of values");
  const auto current = catalog();
  auto rules = current->rules.find(schema.id);
  if (rules != current->rules.end() && has_rules(rules->second))
    return load_checked(schema, rules->second, values, redo);
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

// Loads run alone, so that the whole table may be read for statistics, once it has grown by a quarter.
Status DatabaseImpl::append(storage::Table* table, const std::vector<std::vector<Datum>>& parts, std::string* redo) {
  SCYPER_RETURN_IF_ERROR(storage::append_rows(table, parts, format_datum, redo));
  double rows = 0;
  for (uint32_t i = 0; i < table->partition_count(); i++) rows += static_cast<double>(table->partition(i)->live_tuples);
  auto known = table->statistics();
  if (known == nullptr || rows > known->rows * 1.25) table->set_statistics(storage::collect_statistics(*table));
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<Database>> Database::create(const DatabaseOptions& options) {
  // address space is cheap, so the budget alone bounds memory
  size_t reserve = std::max<size_t>(options.memory_bytes * 2, size_t{1} << 30);
  SCYPER_ASSIGN_OR_RETURN(auto arena, storage::Arena::create(reserve, options.memory_bytes, options.page_mode));
  arena->fault_ahead();
  SCYPER_ASSIGN_OR_RETURN(auto jit, jit::Jit::create({}));
  return std::make_unique<DatabaseImpl>(options, std::move(arena), std::move(jit));
}

}  // namespace scyper::query
