// Statements of callers that wait, and which queries among them run on a worker.
#include <optional>
#include <string>
#include <utility>

#include "block_waits.h"
#include "claim.h"
#include "partition_engine.h"

namespace scyper::primary {

Status PartitionEngine::run_and_wait(std::shared_ptr<const PreparedStatement> statement,
                                     std::span<const Datum> parameters, const StatementLimits& limits,
                                     query::ResultSet* result, uint64_t run_us_max, std::string_view request_text,
                                     uint64_t* seen_lsn) {
  struct Waiting : Transaction {
    Completion completion;
    Claim own_claim;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->statement = std::move(statement);
  waiting->arguments.assign(parameters.begin(), parameters.end());
  waiting->deadline_ns = limits.deadline_ns;
  waiting->cancelled = limits.cancelled;
  waiting->settings = limits.settings;
  waiting->block_time_us = limits.time_us;
  waiting->changed_settings = limits.changed_settings;
  waiting->client_id = limits.client_id;
  waiting->request_id = limits.request_id;
  waiting->request_text = request_text;
  waiting->run_us_max = run_us_max;
  waiting->claim = &waiting->own_claim;
  waiting->own_claim.keep(waiting);
  waiting->done = &signal_kept<Waiting>;
  std::swap(waiting->result, *result);
  submit_here(waiting.get());
  SCYPER_RETURN_IF_ERROR(await(*waiting, &waiting->completion));
  std::swap(waiting->result, *result);
  if (seen_lsn != nullptr) *seen_lsn = waiting->seen_lsn;
  return std::move(waiting->status);
}

// Until the answer is there, or the caller has left the transaction in its queue (claim.h).
Status PartitionEngine::await(const Transaction& transaction, Completion* completion) {
  Status left = wait_or_leave(completion, transaction.claim, transaction.cancelled, transaction.deadline_ns,
                              &queue_waits_, transaction.settings);
  if (left.ok()) return left;
  const bool is_cancelled = transaction.cancelled != nullptr && transaction.cancelled->load(std::memory_order_relaxed);
  const Refusal why = is_cancelled ? Refusal::kCancelled : Refusal::kTimeout;
  refused_[static_cast<size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  return left;
}

Status PartitionEngine::prepare_for(std::string_view sql, std::span<const Datum> parameters, AdHoc* ad_hoc,
                                    Companions companions) {
  if (parameters.empty()) return prepare_ad_hoc(sql, ad_hoc, companions);
  SCYPER_ASSIGN_OR_RETURN(ad_hoc->statement, prepare_statement(sql, companions));
  return Status();
}

std::shared_ptr<const PreparedStatement> PartitionEngine::find_for_open(std::string_view sql,
                                                                        std::span<const Datum> parameters,
                                                                        std::vector<Datum>* values,
                                                                        query::ValueArena* arena) {
  AdHoc ad_hoc;
  if (!prepare_for(sql, parameters, &ad_hoc, Companions::kRequest).ok()) return nullptr;
  if (!ad_hoc.statement->is_program()) return nullptr;
  *values = parameters.empty() ? std::move(ad_hoc.values) : std::vector<Datum>(parameters.begin(), parameters.end());
  *arena = std::move(ad_hoc.arena);
  return std::move(ad_hoc.statement);
}

ShortRead PartitionEngine::verdict_of(const PreparedStatement& statement) const {
  if (!statement.is_program()) return ShortRead::kLong;
  const auto program = database_->program_of(statement.prepared());
  if (!program.ok()) return ShortRead::kLong;
  const query::Footprint& footprint = (*program)->footprint();
  if (footprint.writes) return ShortRead::kWrites;
  return footprint.is_long ? ShortRead::kLong : ShortRead::kDone;
}

// Decides where the query runs. If it may run on a worker, *ad_hoc gets its statement.
StatusOr<ShortRead> PartitionEngine::judge(std::string_view sql, std::span<const Datum> parameters, AdHoc* ad_hoc) {
  const uint64_t version = environment_.catalog_version;
  if (!query::normalise(sql, &ad_hoc->text)) ad_hoc->text.clear();
  const std::string shape(shape_of(sql, *ad_hoc));
  const std::optional<ShortRead> known = verdicts_.find(shape, version, environment_.clock.monotonic_ns());
  if (known.has_value() && *known != ShortRead::kDone) return *known;
  ShortRead verdict = ShortRead::kLong;
  if (known.has_value() || database_->may_be_short(sql)) {
    SCYPER_RETURN_IF_ERROR(prepare_for(sql, parameters, ad_hoc));
    verdict = verdict_of(*ad_hoc->statement);
  }
  if (verdict != known) verdicts_.set(shape, version, verdict, environment_.clock.monotonic_ns());
  return verdict;
}

StatusOr<ShortRead> PartitionEngine::judge(std::string_view sql, std::span<const Datum> parameters) {
  if (options_.short_read_us_max == 0) return ShortRead::kLong;
  AdHoc ad_hoc;
  return judge(sql, parameters, &ad_hoc);
}

StatusOr<ShortRead> PartitionEngine::execute_short(std::string_view sql, std::span<const Datum> parameters,
                                                   query::ResultSet* result, const StatementLimits& limits,
                                                   query::Receipt* receipt) {
  if (options_.short_read_us_max == 0) return ShortRead::kLong;
  AdHoc ad_hoc;
  SCYPER_ASSIGN_OR_RETURN(const ShortRead verdict, judge(sql, parameters, &ad_hoc));
  if (verdict != ShortRead::kDone) return verdict;
  const std::span<const Datum> values = parameters.empty() ? std::span<const Datum>(ad_hoc.values) : parameters;
  *receipt = query::Receipt();
  receipt->node = options_.queries.node;
  const int64_t began_ns = environment_.clock.monotonic_ns();
  const Status status = run_and_wait(std::move(ad_hoc.statement), values, limits, result, options_.short_read_us_max,
                                     /*request_text=*/{}, &receipt->lsn);
  receipt->run_ms = static_cast<double>(environment_.clock.monotonic_ns() - began_ns) / 1e6;
  if (status.ok()) return ShortRead::kDone;
  const bool is_cancelled = limits.cancelled != nullptr && limits.cancelled->load(std::memory_order_relaxed);
  const int64_t now_ns = environment_.clock.monotonic_ns();
  const bool is_over = limits.deadline_ns != 0 && now_ns >= limits.deadline_ns;
  const std::string state(sqlstate_of(status));
  // it took too long, or the worker has no room for it: a snapshot has
  const bool goes_on = (state == "57014" && !is_cancelled && !is_over) || state == "53200" || state == "53300";
  if (state == "57014" && is_cancelled) return why_over(limits.cancelled, 0, now_ns);  // whatever came first
  if (!goes_on) return status;
  verdicts_.set(std::string(shape_of(sql, ad_hoc)), environment_.catalog_version, ShortRead::kLong, now_ns);
  result->clear();
  return ShortRead::kLong;
}

}  // namespace scyper::primary
