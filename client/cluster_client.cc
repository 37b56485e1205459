#include "client/cluster_client.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_split.h"
#include "server/call_outcome.h"

namespace scyper::client {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{10};
constexpr int kConnectMs = 250;
}  // namespace

std::vector<std::string> split_targets(const std::string& targets) {
  return absl::StrSplit(targets, ',', absl::SkipEmpty());
}

ClusterClient::ClusterClient(ConnectOptions options, std::vector<std::string> targets, int timeout_ms, int attempt_ms)
    : options_(std::move(options)),
      targets_(std::move(targets)),
      timeout_ms_(timeout_ms),
      attempt_ms_(attempt_ms),
      client_id_(server::draw_client_id()) {}

Status ClusterClient::call(const std::string& sql, std::span<const Datum> arguments, query::ResultSet* result) {
  const CallIdentity identity{client_id_, ++last_request_};
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms_);
  Status open;  // of the newest attempt that may have been done
  while (true) {
    bool is_sent = false;
    const Status status = try_call(sql, arguments, result, identity, &is_sent);
    if (status.ok() || sqlstate_of(status) == "40003") return status;
    if (is_sent && server::is_open_question(status)) open = status;
    if (open.ok() ? !server::is_worth_another(status) : is_sent && server::is_of_execution(status)) return status;
    forget(status);
    if (Clock::now() >= until) return open.ok() ? status : server::unknown_outcome(open);
    if (hinted_.empty()) std::this_thread::sleep_for(kPause);
  }
}

Status ClusterClient::try_call(const std::string& sql, std::span<const Datum> arguments, query::ResultSet* result,
                               const CallIdentity& identity, bool* is_sent) {
  if (!std::exchange(has_target_, true)) {
    if (targets_.empty()) return sql_error("08001", "no node is given");
    target_ = hinted_.empty() ? targets_[next_++ % targets_.size()] : std::exchange(hinted_, "");
  }
  Connection& to = connections_[target_];
  if (to.client != nullptr && !to.client->is_connected()) to = Connection();
  if (to.client == nullptr) {
    ConnectOptions options = options_;
    options.target = target_;
    options.connect_timeout_ms = std::min(options_.connect_timeout_ms, kConnectMs);
    options.fails_when_refused = true;
    options.call_timeout_ms = attempt_ms_;
    SCYPER_ASSIGN_OR_RETURN(to.client, Client::connect(options));
  }
  auto& prepared = to.prepared[sql];
  if (prepared == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(prepared, to.client->prepare(sql));
  }
  *is_sent = true;
  return to.client->call(*prepared, arguments, result, 0, identity);
}

void ClusterClient::forget(const Status& why) {
  const std::string state = sqlstate_of(why);
  // what is only busy stays
  if (state == "53300") return;
  has_target_ = false;
  // who is not primary now may be asked again soon, and often
  if (state != "25006" && state != "57P03") connections_.erase(target_);
  hinted_ = server::primary_in(hint_of(why));
  if (hinted_ == target_) hinted_.clear();
}

}  // namespace scyper::client
