#include "copy_in.h"

#include <atomic>
#include <memory>
#include <string>

#include "caller.h"
#include "deadline.h"
#include "errors.h"
#include "forwarding.h"
#include "primary/copy_in.h"
#include "server/packed.h"

namespace scyper::server {

namespace {

// Reads a message, takes it on a pool thread, answers where there is something to say, reads the next. Only a message
// that says so ends the text: a client that goes away has copied nothing.
// Threads: on_cancel() beside the others; all else one after the other.
class CopyInCall final : public StreamRpc<v1::CopyInRequest, v1::CopyInResponse> {
 public:
  explicit CopyInCall(NodeParts* node) : node_(node) {}
  ~CopyInCall() override {
    if (is_begun_) begin(false);
  }

 private:
  void start() override {
    limits_.deadline_ns = deadline_ns_of(context(), 0);
    mark_ = caller_of(*node_, context()).mark;
    limits_.cancelled = &is_cancelled_;
    read(&request_);
  }
  void on_read(bool ok) override {
    if (!ok) return finish(grpc_status_of(sql_error("57014", "COPY from stdin failed: its text was not ended")));
    auto step = [this] { answer(take()); };
    if (is_begun_) {  // a node that stops waits for it
      if (!node_->pool.run_next(step)) finish(grpc_status_of(stopping_error()));
      return;
    }
    if (node_->stopping) return finish(grpc_status_of(stopping_error()));
    begin(true);  // before another thread reads on
    if (node_->pool.try_run(step)) return;
    begin(false);
    finish(grpc_status_of(pool_full_error()));
  }
  void on_written(bool ok) override {
    if (is_done_) return finish(grpc::Status::OK);
    if (!ok) return finish(grpc::Status::CANCELLED);
    read(&request_);
  }
  void on_cancel() override { is_cancelled_ = true; }

  void begin(bool is_begun) {
    is_begun_ = is_begun;
    node_->counters.calls_open.add(is_begun ? 1 : -1);
  }

  void answer(const Status& status) {
    if (!status.ok()) {
      copy_.reset();
      return finish(grpc_status_of(status));
    }
    if (response_.has_header() || response_.has_complete()) return write(response_);
    read(&request_);
  }

  Status take() {
    response_.Clear();
    if (copy_ == nullptr) {
      node_->counters.statements.add(1);
      SCYPER_RETURN_IF_ERROR(check_text(request_.sql()));
      if (request_.has_settings()) {
        settings_ = settings_of(request_.settings());
        limits_.settings = &settings_;
      }
      SCYPER_ASSIGN_OR_RETURN(copy_, node_->engine->open_copy(mark_ + request_.sql()));
      response_.mutable_header()->set_column_count(static_cast<uint32_t>(copy_->column_count()));
      response_.mutable_header()->set_binary(copy_->is_binary());
    }
    SCYPER_RETURN_IF_ERROR(copy_->add(request_.text()));
    if (!request_.done()) return {};
    query::ResultSet result;
    SCYPER_RETURN_IF_ERROR(copy_->finish(limits_, &result));
    copy_.reset();
    is_done_ = true;
    auto* complete = response_.mutable_complete();
    complete->set_command_tag(result.command_tag);
    complete->set_affected_rows(result.affected_rows);
    for (const std::string& notice : result.notices) complete->add_notices(notice);
    return {};
  }

  NodeParts* const node_;
  std::string mark_;  // of its caller's texts
  v1::CopyInRequest request_;
  v1::CopyInResponse response_;
  std::unique_ptr<primary::CopyIn> copy_;
  query::SettingValues settings_;
  primary::StatementLimits limits_;
  std::atomic<bool> is_cancelled_{false};
  bool is_begun_ = false;  // it was taken
  bool is_done_ = false;
};

}  // namespace

StreamRpc<v1::CopyInRequest, v1::CopyInResponse>* make_copy_in(NodeParts* node) { return new CopyInCall(node); }

}  // namespace scyper::server
