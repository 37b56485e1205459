#include "forwarded_copy.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "errors.h"
#include "forwarding.h"
#include "node_parts.h"
#include "scyper.grpc.pb.h"
#include "server/call_outcome.h"
#include "server/messages.h"

namespace scyper::server {

namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr std::chrono::milliseconds kCancelLook{10};  // between looks at whether the client cancels
constexpr std::chrono::milliseconds kGrace{2000};     // beyond it the primary, which keeps the limit itself, has gone

class ForwardedCopy final : public primary::CopyIn {
 public:
  ForwardedCopy(const std::shared_ptr<grpc::Channel>& channel, const primary::StatementLimits& limits)
      : stub_(v1::Queries::NewStub(channel)) {
    if (limits.deadline_ns != 0) {
      const auto left = std::chrono::nanoseconds(std::max<int64_t>(limits.deadline_ns - monotonic_ns(), 0));
      context_.set_deadline(std::chrono::system_clock::now() + left + kGrace);
    }
    stream_ = stub_->CopyIn(&context_);
  }
  ~ForwardedCopy() override {
    if (is_ended_) return;
    context_.TryCancel();
    static_cast<void>(stream_->Finish());
  }

  Status open(std::string_view sql, const primary::StatementLimits& limits) {
    request_.set_sql(std::string(sql));
    encode_settings(limits.settings, request_.mutable_settings());
    if (!stream_->Write(request_) || !stream_->Read(&response_)) return end();
    column_count_ = response_.header().column_count();
    is_binary_ = response_.header().binary();
    return {};
  }

  size_t column_count() const override { return column_count_; }
  bool is_binary() const override { return is_binary_; }
  Status add(std::string_view text) override {
    while (!text.empty()) {
      const size_t size = std::min(kPieceBytes - pending_.size(), text.size());
      pending_.append(text.substr(0, size));
      text.remove_prefix(size);
      if (pending_.size() == kPieceBytes) SCYPER_RETURN_IF_ERROR(send(/*is_last=*/false));
    }
    return {};
  }
  Status finish(const primary::StatementLimits& limits, query::ResultSet* result) override {
    const std::jthread watch([&](const std::stop_token& stop) { watch_cancel(limits, stop); });
    SCYPER_RETURN_IF_ERROR(send(/*is_last=*/true));
    if (!stream_->Read(&response_) || !response_.has_complete()) return end();
    is_ended_ = true;
    static_cast<void>(stream_->Finish());  // it is committed, whatever comes now
    result->clear();
    read_end(response_.complete(), result);
    return {};
  }
  Status at_line(Status status) const override { return status; }  // the primary counts them

 private:
  Status send(bool is_last) {
    request_.Clear();
    request_.set_text(std::exchange(pending_, {}));
    request_.set_done(is_last);
    may_be_done_ = is_last;
    return stream_->Write(request_) ? Status() : end();
  }

  // Why the stream has ended.
  Status end() {
    is_ended_ = true;
    const grpc::Status ended = stream_->Finish();
    v1::Error error;
    if (!ended.ok() && find_error(ended, &error)) {
      const Status status = status_of(error);
      return may_be_done_ && is_open_question(status) ? unknown_outcome(status) : status;
    }
    const std::string why = "connection to the primary failed: " + ended.error_message();
    if (may_be_done_) return unknown_outcome(sql_error("08006", why));
    return with_hint(sql_error("57P03", why), "Nothing was copied. Retry.");
  }

  void watch_cancel(const primary::StatementLimits& limits, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock<std::mutex> lock(mutex);
    while (!never.wait_for(lock, stop, kCancelLook, [&] { return stop.stop_requested(); })) {
      if (limits.cancelled != nullptr && limits.cancelled->load(std::memory_order_relaxed)) context_.TryCancel();
    }
  }

  grpc::ClientContext context_;
  const std::unique_ptr<v1::Queries::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CopyInRequest, v1::CopyInResponse>> stream_;
  v1::CopyInRequest request_;
  v1::CopyInResponse response_;
  std::string pending_;
  size_t column_count_ = 0;
  bool is_binary_ = false;
  bool may_be_done_ = false;  // the end of the text was sent
  bool is_ended_ = false;
};

}  // namespace

StatusOr<std::unique_ptr<primary::CopyIn>> open_forwarded_copy(const std::shared_ptr<grpc::Channel>& channel,
                                                               std::string_view sql,
                                                               const primary::StatementLimits& limits) {
  auto copy = std::make_unique<ForwardedCopy>(channel, limits);
  SCYPER_RETURN_IF_ERROR(copy->open(sql, limits));
  return std::unique_ptr<primary::CopyIn>(std::move(copy));
}

}  // namespace scyper::server
