#include "copy_in.h"

#include <atomic>
#include <memory>
#include <string>

#include "caller.h"
#include "deadline.h"
#include "errors.h"
#include "primary/copy_in.h"
#include "query/search_path.h"
#include "server/packed.h"

namespace scyper::server {

namespace {

// Reads a message, takes it on a pool thread, answers where there is something to say, reads the next. Only a message
// that says so ends the text: a client that goes away has copied nothing.
// Threads: OnCancel() any; all else one after the other.
class CopyInCall final : public grpc::ServerBidiReactor<v1::CopyInRequest, v1::CopyInResponse> {
 public:
  CopyInCall(NodeParts* node, grpc::CallbackServerContext* context) : node_(node) {
    limits_.deadline_ns = deadline_ns_of(*context, 0);
    mark_ = caller_of(*node, *context).mark;
    limits_.cancelled = &is_cancelled_;
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc_status_of(sql_error("57014", "COPY from stdin failed: its text was not ended")));
    auto step = [this] { answer(take()); };
    if (is_begun_) {  // a node that stops waits for it
      if (!node_->pool.run_next(step)) Finish(grpc_status_of(stopping_error()));
      return;
    }
    if (node_->stopping) return Finish(grpc_status_of(stopping_error()));
    begin(true);  // before another thread reads on
    if (node_->pool.try_run(step)) return;
    begin(false);
    Finish(grpc_status_of(pool_full_error()));
  }
  void OnWriteDone(bool ok) override {
    if (is_done_) return Finish(grpc::Status::OK);
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnCancel() override { is_cancelled_ = true; }
  void OnDone() override {
    if (is_begun_) begin(false);
    delete this;
  }

 private:
  void begin(bool is_begun) {
    is_begun_ = is_begun;
    node_->counters.calls_open.add(is_begun ? 1 : -1);
  }

  void answer(const Status& status) {
    if (!status.ok()) {
      copy_.reset();
      return Finish(grpc_status_of(status));
    }
    if (response_.has_header() || response_.has_complete()) return StartWrite(&response_);
    StartRead(&request_);
  }

  Status take() {
    response_.Clear();
    if (copy_ == nullptr) {
      node_->counters.statements.add(1);
      SCYPER_RETURN_IF_ERROR(check_text(request_.sql()));
      if (request_.has_settings()) {
        settings_.insert(request_.settings().values().begin(), request_.settings().values().end());
        settings_.erase(std::string(query::kTemporarySchemaSetting));  // a node's own
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

grpc::ServerBidiReactor<v1::CopyInRequest, v1::CopyInResponse>* serve_copy_in(NodeParts* node,
                                                                              grpc::CallbackServerContext* context) {
  return new CopyInCall(node, context);
}

}  // namespace scyper::server
