#include "health_service.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace scyper::server {

namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Probes ask for the node or for one of these.
constexpr std::array<std::string_view, 4> kNames = {"", "scyper.v1.Transactions", "scyper.v1.Queries",
                                                    "scyper.v1.Admin"};

bool is_known(std::string_view name) { return std::find(kNames.begin(), kNames.end(), name) != kNames.end(); }

}  // namespace

// One who waits for changes. Its state is the service's, under its lock.
class HealthService::Watch final : public WritingRpc<HealthCheckRequest, HealthCheckResponse> {
 public:
  explicit Watch(HealthService* service) : service_(service) {}

 private:
  friend class HealthService;
  void start() override { service_->note(this, Event::kStarted); }
  void on_written(bool ok) override { service_->note(this, ok ? Event::kWritten : Event::kNotWritten); }
  void on_cancel() override { service_->note(this, Event::kGone); }

  HealthService* const service_;
  std::optional<HealthCheckResponse::ServingStatus> said_;
  bool is_writing_ = false;
  bool is_gone_ = false;  // its client
  bool is_over_ = false;
};

void HealthService::serve(CompletionLoop* loop) {
  methods_.serve_unary<HealthCheckRequest, HealthCheckResponse>(
      loop, [this](auto... call) { RequestCheck(call...); }, [this](CheckRpc* rpc) { check(rpc); });
  methods_.serve(loop, [this](auto... call) { RequestWatch(call...); }, [this] { return new Watch(this); });
}

void HealthService::check(CheckRpc* rpc) {
  if (!is_known(rpc->request().service()))
    return rpc->finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "service name unknown"));
  absl::MutexLock lock(&mutex_);
  rpc->response().set_status(state_ == State::kServing ? HealthCheckResponse::SERVING
                                                       : HealthCheckResponse::NOT_SERVING);
  rpc->finish(grpc::Status::OK);
}

void HealthService::set_serving() { change(State::kServing); }
void HealthService::stop() { change(State::kStopping); }

void HealthService::change(State state) {
  absl::MutexLock lock(&mutex_);
  state_ = state;
  const auto watches = watches_;  // those that end leave it
  for (Watch* watch : watches) advance(watch);
}

void HealthService::note(Watch* watch, Event event) {
  absl::MutexLock lock(&mutex_);
  if (event == Event::kStarted) {
    watches_.insert(watch);
  } else if (event != Event::kGone) {
    watch->is_writing_ = false;
  }
  if (event == Event::kGone || event == Event::kNotWritten) watch->is_gone_ = true;
  advance(watch);
}

// Says what it has not said yet, and ends what is to end.
void HealthService::advance(Watch* watch) {
  if (watch->is_writing_ || watch->is_over_) return;
  const auto state = !is_known(watch->request().service()) ? HealthCheckResponse::SERVICE_UNKNOWN
                     : state_ == State::kServing           ? HealthCheckResponse::SERVING
                                                           : HealthCheckResponse::NOT_SERVING;
  if (!watch->is_gone_ && state != watch->said_) {
    watch->said_ = state;
    watch->is_writing_ = true;
    HealthCheckResponse message;
    message.set_status(state);
    return watch->write(message);
  }
  if (!watch->is_gone_ && state_ != State::kStopping) return;
  watch->is_over_ = true;
  watches_.erase(watch);
  watch->finish(watch->is_gone_ ? grpc::Status::CANCELLED
                                : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the node is stopping"));
}

}  // namespace scyper::server
