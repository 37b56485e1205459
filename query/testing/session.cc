#include "testing/session.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "query/error_status.h"
#include "query/normalise.h"
#include "types/datum_text.h"

namespace scyper::query {

Session::Session(DatabaseOptions options, size_t scratch_bytes) {
  if (const char* threads = std::getenv("SCYPER_TEST_THREADS"); threads != nullptr) {
    threads_ = static_cast<uint32_t>(std::max(1, std::atoi(threads)));
    options.shared_from_ns = 0;  // every query that can
  }
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
  context_->end_transaction = [](void*, ExecContext* c, bool commit) -> int32_t {
    if (commit)
      c->log->commit();
    else
      c->log->rollback_all();
    return 0;
  };
}

Session::~Session() = default;

Status Session::run(std::string_view sql, ResultSet* result, std::span<const Datum> parameters) {
  ResultSet ignored;
  if (result == nullptr) result = &ignored;
  result->clear();
  notices_.clear();
  SCYPER_ASSIGN_OR_RETURN(auto prepared, database_->prepare(sql));
  if (prepared->kind() != Prepared::Kind::kProgram) return database_->define(*prepared, result);
  SCYPER_ASSIGN_OR_RETURN(auto program, database_->program_of(*prepared));
  if (program->parameter_types().size() != parameters.size()) return sql_error("08P01", "wrong number of parameters");
  SCYPER_RETURN_IF_ERROR(database_->add_companions(*program));
  result->columns = program->columns();
  return execute(*program, parameters, result);
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

Status Session::execute(const Program& program, std::span<const Datum> arguments, ResultSet* result) {
  context_->result = result;
  context_->notices = &notices_;
  Outcome outcome = program.run_shared(context_.get(), arguments.data(), threads_, size_t{1} << 30);
  CHECK(outcome != Outcome::kMisclassified);
  if (outcome == Outcome::kOk) {
    CHECK(log_->log_sequences());
    redo_bytes_ += log_->redo_bytes();
    log_->commit();
    result->affected_rows = context_->affected_rows;
  } else {
    log_->rollback_all();
    result->clear();
  }
  scratch_->reset();
  if (outcome == Outcome::kOk) return absl::OkStatus();
  CHECK(context_->error.set);
  Status status = status_of(context_->error);
  context_->error = ErrorState{};
  return status;
}

Status Session::script(std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, database_->split(sql));
  for (const auto& statement : statements) SCYPER_RETURN_IF_ERROR(run(statement));
  return absl::OkStatus();
}

std::string Session::text(std::string_view sql) {
  ResultSet result;
  Status status = run(sql, &result);
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
