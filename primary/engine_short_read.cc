// Statements of callers that wait, and which queries among them run on a worker.
#include <optional>
#include <string>
#include <utility>

#include "partition_engine.h"

namespace scyper::primary {

Status PartitionEngine::run_and_wait(std::shared_ptr<const PreparedStatement> statement,
                                     std::span<const Datum> parameters, const StatementLimits& limits,
                                     query::ResultSet* result, uint64_t run_us_max) {
  struct Waiting : Transaction {
    Completion completion;
  } waiting;
  waiting.statement = std::move(statement);
  waiting.arguments.assign(parameters.begin(), parameters.end());
  waiting.deadline_ns = limits.deadline_ns;
  waiting.cancelled = limits.cancelled;
  waiting.settings = limits.settings;
  waiting.changed_settings = limits.changed_settings;
  waiting.client_id = limits.client_id;
  waiting.request_id = limits.request_id;
  waiting.run_us_max = run_us_max;
  waiting.done = [](Transaction* transaction) { static_cast<Waiting*>(transaction)->completion.signal(); };
  std::swap(waiting.result, *result);
  Transaction* transaction = &waiting;
  submit({&transaction, 1});
  waiting.completion.wait();
  std::swap(waiting.result, *result);
  return std::move(waiting.status);
}

std::shared_ptr<const PreparedStatement> PartitionEngine::find_for_open(std::string_view sql,
                                                                        std::span<const Datum> parameters,
                                                                        std::vector<Datum>* values,
                                                                        query::ValueArena* arena) {
  std::shared_ptr<const PreparedStatement> statement;
  if (parameters.empty()) {
    AdHoc ad_hoc;
    if (!prepare_ad_hoc(sql, &ad_hoc, Companions::kRequest).ok()) return nullptr;
    statement = std::move(ad_hoc.statement);
    *values = std::move(ad_hoc.values);
    *arena = std::move(ad_hoc.arena);
  } else {
    auto prepared = prepare_statement(sql, Companions::kRequest);
    if (!prepared.ok()) return nullptr;
    statement = *std::move(prepared);
    values->assign(parameters.begin(), parameters.end());
  }
  return statement->is_program() ? statement : nullptr;
}

ShortRead PartitionEngine::verdict_of(const PreparedStatement& statement) const {
  if (!statement.is_program()) return ShortRead::kLong;
  const auto program = database_->program_of(statement.prepared());
  if (!program.ok()) return ShortRead::kLong;
  const query::Footprint& footprint = (*program)->footprint();
  if (footprint.writes) return ShortRead::kWrites;
  return footprint.is_long ? ShortRead::kLong : ShortRead::kDone;
}

// What is to become of the query; where it may run, its statement is in *ad_hoc.
StatusOr<ShortRead> PartitionEngine::judge(std::string_view sql, std::span<const Datum> parameters, AdHoc* ad_hoc) {
  const uint64_t version = environment_.catalog_version;
  if (!query::normalise(sql, &ad_hoc->text)) ad_hoc->text.clear();
  const std::string shape(ad_hoc->text.text.empty() ? sql : std::string_view(ad_hoc->text.text));
  std::optional<ShortRead> verdict = verdicts_.find(shape, version, environment_.clock.monotonic_ns());
  if (verdict.has_value() && *verdict != ShortRead::kDone) return *verdict;
  if (!verdict.has_value() && !database_->may_be_short(sql)) verdict = ShortRead::kLong;
  if (verdict != ShortRead::kLong) {
    if (parameters.empty()) {
      SCYPER_RETURN_IF_ERROR(prepare_ad_hoc(sql, ad_hoc));
    } else {
      SCYPER_ASSIGN_OR_RETURN(ad_hoc->statement, prepare_statement(sql));
    }
    verdict = verdict_of(*ad_hoc->statement);
  }
  verdicts_.set(shape, version, *verdict, environment_.clock.monotonic_ns());
  return *verdict;
}

StatusOr<ShortRead> PartitionEngine::execute_short(std::string_view sql, std::span<const Datum> parameters,
                                                   query::ResultSet* result, const StatementLimits& limits) {
  if (options_.short_read_us_max == 0) return ShortRead::kLong;
  AdHoc ad_hoc;
  SCYPER_ASSIGN_OR_RETURN(const ShortRead verdict, judge(sql, parameters, &ad_hoc));
  if (verdict != ShortRead::kDone) return verdict;
  const std::span<const Datum> values = parameters.empty() ? std::span<const Datum>(ad_hoc.values) : parameters;
  const Status status = run_and_wait(std::move(ad_hoc.statement), values, limits, result, options_.short_read_us_max);
  if (status.ok()) return ShortRead::kDone;
  const bool is_cancelled = limits.cancelled != nullptr && limits.cancelled->load(std::memory_order_relaxed);
  const int64_t now_ns = environment_.clock.monotonic_ns();
  const bool is_over = limits.deadline_ns != 0 && now_ns >= limits.deadline_ns;
  const std::string state(sqlstate_of(status));
  // it took too long, or the worker has no room for it: a snapshot has
  const bool goes_on = (state == "57014" && !is_cancelled && !is_over) || state == "53200" || state == "53300";
  if (!goes_on) return status;
  verdicts_.set(ad_hoc.text.text.empty() ? std::string(sql) : ad_hoc.text.text, environment_.catalog_version,
                ShortRead::kLong, now_ns);
  result->clear();
  return ShortRead::kLong;
}

}  // namespace scyper::primary
