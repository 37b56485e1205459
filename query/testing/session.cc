#include "testing/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/object_name.h"
#include "query/definitions.h"
#include "query/error_status.h"
#include "query/normalise.h"
#include "query/search_path.h"
#include "query/session_command.h"
#include "query/settings.h"
#include "runtime/column_bounds.h"
#include "runtime/spill_space.h"
#include "storage/compactor.h"
#include "storage/frozen_tier.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {
constexpr const char* kTemporarySchema = "pg_temp_1";
constexpr size_t kTinyCacheBytes = 16 * storage::FrozenTier::kPageBytes;
}  // namespace

Session::Session(DatabaseOptions options, size_t scratch_bytes, bool tiers) {
  settings_.emplace(kTemporarySchemaSetting, kTemporarySchema);
  if (const char* threads = std::getenv("SCYPER_TEST_THREADS"); threads != nullptr) {
    threads_ = static_cast<uint32_t>(std::max(1, std::atoi(threads)));
    options.shared_from_ns = 0;  // every query that can
  }
  if (const char* bytes = std::getenv("SCYPER_TEST_SPILL"); bytes != nullptr) {
    set_spill(std::strtoull(bytes, nullptr, 10));
    options.spill_from_bytes = 1;  // whatever could
  }
  swaps_ = std::getenv("SCYPER_TEST_SWAPPING") != nullptr;
  if (swaps_)
    options.execution = options.execution == ExecutionMode::kInterpreted ? ExecutionMode::kSwappingInterpreted
                                                                         : ExecutionMode::kSwapping;
  if (const char* after = std::getenv("SCYPER_TEST_FREEZING"); after != nullptr) {
    options.frozen_bytes = size_t{4} << 30;
    set_freezing(std::max<uint64_t>(1, std::strtoull(after, nullptr, 10)));
  }
  if (options.frozen_bytes > 0 && (tiers || std::getenv("SCYPER_TEST_TIERING") != nullptr)) set_tiering(&options);
  auto database = Database::create(options);
  CHECK(database.ok());
  database_ = *std::move(database);
  auto log = storage::ChangeLog::create(database_->arena(), {});
  CHECK(log.ok());
  log_ = *std::move(log);
  scratch_ = std::make_unique<ScratchArena>(scratch_bytes);
  context_ = std::make_unique<ExecContext>();
  context_->set_log(log_.get());
  context_->scratch = scratch_.get();
  context_->partitions = options.partitions;
  context_->partition = ~0u;
  context_->crossing = 1;
  context_->deferred = &deferred_;
  context_->end_transaction = [](void*, ExecContext* c, bool commit) -> int32_t {
    Definitions* definitions = Definitions::current;
    if (commit) {
      c->log->commit();
      if (definitions != nullptr) definitions->publish();
    } else {
      c->log->rollback_all();
      if (definitions != nullptr) definitions->forget();
    }
    StatementSettings::current->end_transaction(commit);
    return 0;
  };
}

Session::~Session() = default;

void Session::set_tiering(DatabaseOptions* options) {
  storage::PageCacheOptions smallest;
  smallest.bytes = kTinyCacheBytes;
  const Status made = storage::PageCache::create(smallest).status();
  if (sqlstate_of(made) == "0A000") return;  // containers often forbid io_uring
  std::string name = "/tmp/session_tier_XXXXXX";
  CHECK(mkdtemp(name.data()) != nullptr);
  tier_directory_ = std::unique_ptr<std::string, RemoveDirectory>(new std::string(name));
  options->tier.directory = name;
  options->tier.cache_bytes = kTinyCacheBytes;
  options->tier.memory_bytes = 0;
}

void Session::RemoveDirectory::operator()(std::string* path) const {
  rmdir(path->c_str());  // the tier has removed its files
  delete path;
}

void Session::set_freezing(uint64_t statements) { freezes_after_ = statements; }

void Session::set_cooling() {
  storage::Compactor::Options forced;
  forced.is_forced = true;
  forced.cools_first = true;
  forced.reheat_share = 1;
  forced.tier = database_->tier();
  cooler_ = std::make_unique<storage::Compactor>(forced);
}

uint64_t Session::frozen_chunks() const {
  return (compactor_ == nullptr ? 0 : compactor_->counts().frozen) +
         (cooler_ == nullptr ? 0 : cooler_->counts().frozen);
}

uint64_t Session::relocated_tuples() const { return cooler_ == nullptr ? 0 : cooler_->counts().relocated; }

// With set_cooling() what is hot cools in sixteen rounds, and freezes in the next sixteen. Windows are long, so that
// chunks stay cooling.
void Session::freeze() {
  if (++freezing_ % freezes_after_ != 0) return;
  if (compactor_ == nullptr) {
    storage::Compactor::Options forced;
    forced.is_forced = true;
    forced.tier = database_->tier();
    compactor_ = std::make_unique<storage::Compactor>(forced);
  }
  const uint64_t round = freezing_ / freezes_after_;
  const bool leaves_cold = round % 3 == 0, cools = cooler_ != nullptr && round / 16 % 2 == 0;
  storage::Compactor* compactor = cools ? cooler_.get() : compactor_.get();
  if (cools && round % 8 == 0) CHECK(compactor->observe({}).ok());
  for (const auto& [name, table] : database_->catalog()->tables) {
    if (table->frozen_store() == nullptr) continue;
    const std::span<storage::TablePartition* const> partitions(table->partition_array(), table->partition_count());
    bool more = true;
    while (more) {
      more = compactor->take_step(partitions, log_.get());
      while (!leaves_cold && compactor->freeze_one()) more = true;
    }
  }
}

void Session::set_spill(size_t memory_bytes, uint64_t disk_bytes_max, std::string directory) {
  spill_ = std::make_unique<SpillLimits>(std::move(directory), disk_bytes_max, memory_bytes);
}

Status Session::run(std::string_view text, ResultSet* result, std::span<const Datum> parameters) {
  set_thread_time_zone(zone_);
  const std::string in_path = with_marks(text);
  const std::string_view sql = in_path;
  ResultSet ignored;
  if (result == nullptr) result = &ignored;
  result->clear();
  notices_.clear();
  SCYPER_ASSIGN_OR_RETURN(auto prepared, database_->prepare(sql));
  if (prepared->kind() == Prepared::Kind::kNothing || prepared->kind() == Prepared::Kind::kRows) {
    SCYPER_ASSIGN_OR_RETURN(bool was_setting, run_setting(sql, result));
    if (was_setting) return Status();
  }
  if (prepared->kind() != Prepared::Kind::kProgram) {
    statement_settings_.begin(&settings_);
    const StatementSettings::Scope scope(&statement_settings_);
    Status defined = database_->define(*prepared, result);
    auto level = settings_.find("client_min_messages");
    std::erase_if(result->notices, [&](const std::string& notice) {
      return level != settings_.end() && !shows_message(level->second, notice.substr(0, notice.find(':')));
    });
    return defined;
  }
  SCYPER_ASSIGN_OR_RETURN(auto program, database_->program_of(*prepared));
  if (program->parameter_types().size() != parameters.size()) return sql_error("08P01", "wrong number of parameters");
  SCYPER_RETURN_IF_ERROR(database_->add_companions(*program));
  result->columns = program->columns();
  return execute(*program, parameters, result);
}

std::string Session::with_marks(std::string_view sql) const {
  return with_roles(roles_, with_time_zone(zone_, with_search_path(path(), sql)));
}

std::vector<std::string> Session::path() const {
  return database_->has_temporary_tables(kTemporarySchema) ? path_with_temporary(search_path_, kTemporarySchema)
                                                           : search_path_;
}

void Session::note_search_path() {
  auto found = settings_.find("search_path");
  auto schemas = schemas_of_path(found == settings_.end() ? kPublicSchema : found->second);
  CHECK(schemas.ok());
  search_path_ = *std::move(schemas);
  zone_ = time_mark([&](std::string_view name) {
    const auto given = settings_.find(setting_key(name));
    return given == settings_.end() ? std::string() : given->second;
  });
  set_thread_time_zone(zone_);
}

// SET, RESET and SHOW of one setting, as a server's session does them.
StatusOr<bool> Session::run_setting(std::string_view sql, ResultSet* result) {
  std::vector<std::string> path;
  SCYPER_ASSIGN_OR_RETURN(auto commands, read_commands(take_search_path(sql, &path)));
  if (commands.size() != 1) return false;
  const SessionCommand& command = commands[0];
  const bool is_set = command.kind == CommandKind::kSet, is_show = command.kind == CommandKind::kShow;
  if (!is_set && !is_show && command.kind != CommandKind::kReset) return false;
  if (command.name == "all" || command.is_local) return false;
  const Setting* setting = find_setting(command.name);
  const std::string key = setting_key(command.name);
  if (is_show) {
    auto found = settings_.find(key);
    if (found == settings_.end() && setting == nullptr)
      return sql_error("42704", absl::StrCat("unrecognized configuration parameter \"", command.name, "\""));
    const std::string value = found != settings_.end() ? found->second : std::string(setting->value);
    result->columns = {{setting != nullptr ? std::string(setting->name) : key, make_type(TypeId::kText)}};
    result->append(make_type(TypeId::kText), string_datum(value.data(), value.size()));
  } else if (is_set && !command.values.empty()) {
    if (command.values.size() > 1 && command.name != "datestyle") return takes_one_value(command.name);
    std::string value = absl::StrJoin(command.values, ", ");
    if (setting == nullptr) {
      SCYPER_RETURN_IF_ERROR(check_custom_setting(command.name));
    } else {
      SCYPER_ASSIGN_OR_RETURN(value, read_setting(*setting, value));
      if (setting->kind == SettingKind::kRole)
        SCYPER_RETURN_IF_ERROR(set_role(value, database_->catalog()->roles, &roles_));
    }
    settings_[key] = std::move(value);
    note_search_path();
  } else {
    if (setting == nullptr) SCYPER_RETURN_IF_ERROR(check_custom_setting(command.name));
    settings_.erase(key);
    if (key == "role") roles_.current.clear();
    if (setting == nullptr) settings_[key] = "";
    note_search_path();
  }
  result->command_tag = command.tag;
  return true;
}

Status Session::run_normalised(std::string_view sql, ResultSet* result, bool* is_normalised) {
  NormalisedText normalised;
  *is_normalised = false;
  if (!normalise(sql, &normalised)) return run(sql, result);
  auto exact = database_->prepare(sql);
  auto prepared = database_->prepare(normalised.text);
  if (!exact.ok() || !prepared.ok()) return run(sql, result);
  const auto& names = (*exact)->columns();
  const auto& columns = (*prepared)->columns();
  if (!std::equal(columns.begin(), columns.end(), names.begin(), names.end(),
                  [](const auto& a, const auto& b) { return a.name == b.name && a.type == b.type; }))
    return run(sql, result);
  ValueArena arena;
  std::vector<Datum> values;
  if (!literal_values(normalised, (*prepared)->parameter_types(), &arena, &values).ok()) return run(sql, result);
  *is_normalised = true;
  return run(normalised.text, result, values);
}

Status Session::copy_from(std::string_view sql, std::string_view text, ResultSet* result, size_t piece_bytes) {
  result->clear();
  notices_.clear();
  SCYPER_ASSIGN_OR_RETURN(auto rows, database_->open_copy(with_marks(sql)));
  for (; !text.empty(); text.remove_prefix(std::min(piece_bytes, text.size())))
    SCYPER_RETURN_IF_ERROR(rows->add(text.substr(0, piece_bytes)));
  SCYPER_RETURN_IF_ERROR(rows->finish());
  DefinitionRun run;
  run.time_us = context_->transaction_time_us;
  run.wants_rows = true;
  return database_->copy(rows.get(), result, &run);
}

Status Session::execute(const Program& program, std::span<const Datum> arguments, ResultSet* result) {
  // the n-th run of a query changes at its n-th place: now here, now there
  const bool repeats = swaps_ && !program.footprint().writes && !program.footprint().is_volatile;
  for (uint64_t runs = repeats ? statements_++ % 4 : 0; runs > 0; runs--) {
    static_cast<void>(execute_once(program, arguments, result));
    result->clear();
    result->columns = program.columns();
    notices_.clear();
  }
  return execute_once(program, arguments, result);
}

Status Session::execute_once(const Program& program, std::span<const Datum> arguments, ResultSet* result) {
  context_->result = result;
  context_->notices = &notices_;
  statement_settings_.begin(&settings_);
  const StatementSettings::Scope scope(&statement_settings_);
  // what may define something runs dynamic SQL
  const bool may_define = program.footprint().all_partitions && program.footprint().is_volatile;
  const auto definitions = may_define ? open_definitions(database_.get()) : nullptr;
  const Definitions::Scope definitions_scope(definitions.get());
  std::optional<SpillSpace> spill;
  if (spill_ != nullptr) context_->spill = &spill.emplace(spill_.get(), 1);
  ColumnBounds bounds;  // of this statement: the next one may find other rows
  const bool can_change = program.footprint().writes || program.footprint().is_volatile;
  const ColumnBounds::Scope bounds_scope(can_change ? nullptr : &bounds);
  deferred_.begin(/*is_block=*/false);
  Outcome outcome = program.run_shared(context_.get(), arguments.data(), threads_, size_t{1} << 30);
  if (outcome == Outcome::kOk) outcome = static_cast<Outcome>(deferred_.check_at_end(context_.get()));
  context_->spill = nullptr;
  chunks_skipped_ += bounds.chunks_skipped();
  context_->interrupt = 0;
  if (spill_ != nullptr) spilled_bytes_ += spill_->written_bytes.exchange(0);
  CHECK(outcome != Outcome::kMisclassified);
  if (outcome == Outcome::kOk) {
    CHECK(log_->log_sequences());
    redo_bytes_ += log_->redo_bytes();
    log_->commit();
    if (definitions != nullptr) definitions->publish();
    result->affected_rows = context_->affected_rows;
    std::vector<ChangedSetting> changed;
    statement_settings_.give_changed(&changed);
    std::erase_if(changed, [](const ChangedSetting& setting) { return setting.is_local; });
    for (const ChangedSetting& setting : changed) settings_[setting.name] = setting.value;
    if (!changed.empty()) note_search_path();
  } else {
    log_->rollback_all();
    if (definitions != nullptr) definitions->forget();
    result->clear();
  }
  scratch_->reset();
  if (freezes_after_ != 0) freeze();
  if (outcome == Outcome::kOk) return absl::OkStatus();
  CHECK(context_->error.set);
  Status status = status_of(context_->error);
  context_->error = ErrorState{};
  return status;
}

uint64_t Session::count_polls(std::string_view sql) {
  struct Counter {
    ExecContext* context;
    uint64_t polls = 0;
  } counter{context_.get()};
  context_->safepoint_owner = &counter;
  context_->safepoint = [](void* owner) {
    auto* self = static_cast<Counter*>(owner);
    self->polls++;
    self->context->interrupt.fetch_or(kSafepointBit);  // again at the next poll
  };
  context_->interrupt = kSafepointBit;
  Status status = run(sql);
  CHECK(status.ok());
  context_->safepoint = nullptr;
  return counter.polls;
}

Status Session::script(std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, database_->split(sql));
  for (const auto& statement : statements) SCYPER_RETURN_IF_ERROR(run(statement));
  return absl::OkStatus();
}

std::string Session::text(std::string_view sql) {
  ResultSet result;
  const Status status = run(sql, &result);
  return text_of(status, result);
}

std::shared_ptr<const Program> Session::program(std::string_view sql) {
  auto prepared = database_->prepare(sql);
  if (!prepared.ok() || (*prepared)->kind() != Prepared::Kind::kProgram) return nullptr;
  auto program = database_->program_of(**prepared);
  return program.ok() && database_->add_companions(**program).ok() ? *program : nullptr;
}

std::string Session::text(const Program& program) {
  ResultSet result;
  notices_.clear();
  result.columns = program.columns();
  const Status status = execute(program, {}, &result);
  return text_of(status, result);
}

std::string Session::text_of(const Status& status, const ResultSet& result) {
  if (!status.ok()) return absl::StrCat("ERROR ", sqlstate_of(status), ": ", std::string(status.message()));
  std::string out;
  for (size_t row = 0; row < result.row_count(); row++) {
    if (row > 0) out += '\n';
    for (size_t column = 0; column < result.columns.size(); column++) {
      if (column > 0) out += '|';
      const Datum& value = result.value(row, column);
      if (value.null)
        out += "NULL";
      else
        append_datum(&out, result.columns[column].type, value);
    }
  }
  return out;
}

}  // namespace scyper::query
