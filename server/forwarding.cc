#include "forwarding.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "changed_settings.h"
#include "errors.h"
#include "forwarded_block.h"
#include "forwarded_copy.h"
#include "node_parts.h"
#include "query/search_path.h"
#include "query_router.h"
#include "scyper.grpc.pb.h"
#include "secondary_engine.h"
#include "server/call_outcome.h"
#include "server/messages.h"
#include "server/packed.h"
#include "server/step_stream.h"

namespace scyper::server {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
constexpr milliseconds kConnectWait{1000};
constexpr milliseconds kDescribeWait{10'000};
// Until the outcome of a call counts as unknown after its node has gone: an election takes less.
constexpr milliseconds kOutcomeWait{15'000};
constexpr milliseconds kPause{20};
constexpr int kHintsMax = 3;  // that are followed one after the other when nothing was done
// Between looks at whether the client has gone or cancels. An answer does not wait for them.
constexpr absl::Duration kLook = absl::Milliseconds(10);
constexpr int64_t kMillisecondNs = 1'000'000;
// The primary ends what takes too long by itself, and says so; beyond this it is taken for gone.
constexpr int64_t kGraceMs = 2000;

Status no_primary(const std::string& target) {
  return with_hint(sql_error("57P03", "the primary cannot be reached"), "It was at " + target + ". Retry.");
}

Status cancelled_error() {
  return with_detail(sql_error("57014", "canceling statement due to user request"),
                     "The primary may have committed it just before.");
}

int64_t left_ms(const primary::StatementLimits& limits) {
  return std::max<int64_t>((limits.deadline_ns - monotonic_ns()) / kMillisecondNs, 1);
}

bool is_cancelled(const primary::StatementLimits& limits) {
  return limits.cancelled != nullptr && limits.cancelled->load(std::memory_order_relaxed);
}

// One RPC whose end is waited for, and which can be cancelled meanwhile.
class Waiting {
 public:
  void end(const grpc::Status& status) {
    absl::MutexLock lock(&mutex_);
    status_ = status;
    is_over_ = true;
  }
  grpc::Status wait(grpc::ClientContext* context, const primary::StatementLimits& limits) {
    absl::MutexLock lock(&mutex_);
    while (!mutex_.AwaitWithTimeout(absl::Condition(&is_over_), kLook)) {
      if (is_cancelled(limits)) context->TryCancel();
    }
    return status_;
  }

 private:
  absl::Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void encode_settings(const query::SettingValues* settings, v1::Settings* message) {
  if (settings == nullptr) return;
  for (const auto& [name, value] : *settings) {
    if (name != query::kTemporarySchemaSetting)
      (*message->mutable_values())[name] = value;  // nobody would drop its tables there
  }
}

query::SettingValues settings_of(const v1::Settings& message) {
  query::SettingValues values(message.values().begin(), message.values().end());
  values.erase(std::string(query::kTemporarySchemaSetting));  // a node's own
  return values;
}

Forwarding::Forwarding(QueryRouter* router, primary::Engine* engine)
    : router_(router), secondary_(dynamic_cast<SecondaryEngine*>(engine)), client_id_(draw_client_id()) {}

StatusOr<std::shared_ptr<grpc::Channel>> Forwarding::connect(const std::string& target) {
  if (target.empty()) return with_hint(sql_error("57P03", "there is no primary"), "Retry.");
  auto channel = router_->channel(target);
  if (channel->WaitForConnected(std::chrono::system_clock::now() + kConnectWait)) return channel;
  return no_primary(target);
}

std::string Forwarding::next_target(const std::string& target, const Status& why) const {
  const std::string hinted = primary_in(hint_of(why));
  return hinted.empty() || hinted == target ? secondary_->primary() : hinted;
}

StatusOr<Forwarding::Description> Forwarding::describe(std::string_view sql) {
  v1::PrepareRequest request;
  request.set_sql(std::string(sql));
  std::string target = secondary_->primary();
  for (int hints = 0;; ++hints) {
    SCYPER_ASSIGN_OR_RETURN(const auto channel, connect(target));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDescribeWait);
    v1::PrepareResponse response;
    const grpc::Status ended = v1::Transactions::NewStub(channel)->Prepare(&context, request, &response);
    if (ended.ok()) {
      Description made;
      for (const v1::Type& type : response.parameters()) made.parameters.push_back(type_of(type));
      made.columns = columns_of(response.columns());
      return made;
    }
    v1::Error error;
    const Status status = find_error(ended, &error) ? status_of(error) : no_primary(target);
    const std::string next = next_target(target, status);
    if (!is_worth_another(status) || next == target || hints == kHintsMax) return status;
    target = next;
  }
}

Forwarding::Attempt Forwarding::try_call(const std::string& target, const v1::CallRequest& request,
                                         const primary::StatementLimits& limits, v1::CallResponse* response) {
  Attempt attempt;
  const auto channel = connect(target);
  if (!channel.ok()) {
    attempt.status = channel.status();
    return attempt;
  }
  attempt.is_sent = true;
  grpc::ClientContext context;
  if (limits.deadline_ns != 0) {
    context.set_deadline(std::chrono::system_clock::now() + milliseconds(left_ms(limits) + kGraceMs));
  }
  Waiting waiting;
  const auto stub = v1::Transactions::NewStub(*channel);
  stub->async()->Call(&context, &request, response, [&waiting](grpc::Status status) { waiting.end(status); });
  const grpc::Status ended = waiting.wait(&context, limits);
  v1::Error error;
  attempt.has_word = ended.ok() || find_error(ended, &error);
  if (ended.ok()) return attempt;
  attempt.status = attempt.has_word ? status_of(error)
                                    : sql_error("08006", "connection to the primary failed: " + ended.error_message());
  return attempt;
}

StatusOr<std::unique_ptr<primary::CopyIn>> Forwarding::open_copy(std::string_view sql,
                                                                 const primary::StatementLimits& limits) {
  forwarded_.fetch_add(1, std::memory_order_relaxed);
  std::string target = secondary_->primary();
  for (int hints = 0;; ++hints) {
    const auto channel = connect(target);
    auto copy = channel.ok() ? open_forwarded_copy(*channel, sql, limits) : channel.status();
    if (copy.ok()) return copy;
    const std::string next = next_target(target, copy.status());
    if (!is_worth_another(copy.status()) || next == target || hints == kHintsMax) return copy.status();
    target = next;
  }
}

std::unique_ptr<primary::OpenTransaction> Forwarding::make_block(primary::BlockLevel level) {
  return make_forwarded_block(this, level);
}

StatusOr<std::unique_ptr<StepStream>> Forwarding::open_block(const v1::InteractRequest& begin) {
  forwarded_.fetch_add(1, std::memory_order_relaxed);
  const auto try_at = [&](const std::string& target) -> StatusOr<std::unique_ptr<StepStream>> {
    SCYPER_ASSIGN_OR_RETURN(const auto channel, connect(target));
    auto stream = std::make_unique<StepStream>(channel);
    v1::InteractResponse last;
    const StepStream::Outcome outcome = stream->run(begin, [](const auto&) { return Status(); }, &last);
    if (outcome.status.ok()) return stream;
    return outcome.has_word ? outcome.status : no_primary(target);
  };
  std::string target = secondary_->primary();
  for (int hints = 0;; ++hints) {
    auto stream = try_at(target);
    if (stream.ok()) return stream;
    const std::string next = next_target(target, stream.status());
    if (!is_worth_another(stream.status()) || next == target || hints == kHintsMax) return stream.status();
    target = next;
  }
}

Status Forwarding::execute(std::string_view sql, std::span<const SqlType> types, std::span<const Datum> arguments,
                           const primary::StatementLimits& limits, query::ResultSet* result) {
  forwarded_.fetch_add(1, std::memory_order_relaxed);
  v1::CallRequest request;
  v1::Call& call = *request.mutable_call();
  call.set_sql(std::string(sql));
  call.set_client_id(client_id_);
  call.set_request_id(last_request_.fetch_add(1, std::memory_order_relaxed) + 1);
  if (!arguments.empty()) append_row(types, arguments.data(), call.mutable_packed_arguments());
  if (limits.settings != nullptr) encode_settings(limits.settings, call.mutable_settings());
  const auto until = Clock::now() + kOutcomeWait;
  std::string target = secondary_->primary();
  Status open;  // of the newest attempt that may have done it
  for (int hints = 0;; ++hints) {
    if (limits.deadline_ns != 0) call.set_timeout_ms(static_cast<uint32_t>(left_ms(limits)));
    v1::CallResponse response;
    const Attempt attempt = try_call(target, request, limits, &response);
    if (attempt.status.ok()) {
      read_changed_settings(response.result(), limits.changed_settings);
      return read_result(response.result(), result);
    }
    if (is_cancelled(limits) && !attempt.has_word) return cancelled_error();
    const std::string state = sqlstate_of(attempt.status);
    if (attempt.is_sent && (!attempt.has_word || state == "08007")) open = attempt.status;
    const std::string next = next_target(target, attempt.status);
    if (open.ok()) {  // nothing was done
      const bool is_refused = state != "57014" && is_worth_another(attempt.status);
      if (!is_refused || next == target || hints >= kHintsMax) return attempt.status;
    } else {
      if (attempt.has_word && is_of_execution(attempt.status)) return attempt.status;
      if (Clock::now() >= until) return unknown_outcome(open);
      std::this_thread::sleep_for(kPause);
    }
    target = next;
  }
}

}  // namespace scyper::server
