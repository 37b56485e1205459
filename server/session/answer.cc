#include "session/answer.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "base/bounded_work.h"
#include "errors.h"
#include "query/column_batch.h"
#include "scyper.grpc.pb.h"
#include "server/messages.h"
#include "server/packed.h"

namespace scyper::server {

namespace {

std::vector<SqlType> types_of(const std::vector<query::ResultColumn>& columns) {
  std::vector<SqlType> types;
  for (const query::ResultColumn& column : columns) types.push_back(column.type);
  return types;
}

class ReadyAnswer final : public Answer {
 public:
  ReadyAnswer(query::ResultSet result, std::optional<query::Receipt> receipt) : result_(std::move(result)) {
    receipt_ = std::move(receipt);
    columns_ = result_.columns;
    tag_ = result_.command_tag;
    affected_rows_ = result_.affected_rows;
    notices_ = std::move(result_.notices);
  }
  StatusOr<bool> next(query::ResultSet* rows) override {
    if (std::exchange(is_taken_, true) || result_.row_count() == 0) return false;
    if (rows->row_count() == 0) {
      *rows = std::move(result_);
      return true;
    }
    for (size_t i = 0; i < result_.values().size(); ++i) {
      rows->append(columns_[i % columns_.size()].type, result_.values()[i]);
    }
    return true;
  }

 private:
  query::ResultSet result_;
  bool is_taken_ = false;
};

// Of a query on a snapshot; timed to its last row.
class QueryAnswer : public Answer {
 public:
  StatusOr<bool> next(query::ResultSet* rows) final {
    StatusOr<bool> has_rows = read(rows);
    if (!has_rows.ok() || !*has_rows) note(has_rows.ok());
    return has_rows;
  }
  // From here on; before it nothing is noted.
  void begin(const RequestTimes* times, RequestProtocol protocol, int64_t began_ns) {
    times_ = times;
    protocol_ = protocol;
    began_ns_ = began_ns;
  }

 protected:
  virtual StatusOr<bool> read(query::ResultSet* rows) = 0;

 private:
  void note(bool is_ok) {
    const RequestTimes* times = std::exchange(times_, nullptr);
    if (times != nullptr) times->note(protocol_, RequestKind::kQuery, is_ok, began_ns_);
  }

  const RequestTimes* times_ = nullptr;
  RequestProtocol protocol_ = RequestProtocol::kPostgres;
  int64_t began_ns_ = 0;
};

class LocalAnswer final : public QueryAnswer {
 public:
  // notice: besides its own; may be empty.
  LocalAnswer(std::unique_ptr<query::QueryStream> stream, std::string notice)
      : stream_(std::move(stream)), notice_(std::move(notice)) {
    columns_ = stream_->columns();
    types_ = types_of(columns_);
  }
  StatusOr<bool> read(query::ResultSet* rows) override {
    SCYPER_ASSIGN_OR_RETURN(const bool has_rows, stream_->next(&batch_));
    if (has_rows) {
      SCYPER_RETURN_IF_ERROR(query::decode_columns(types_, batch_, rows));
      return true;
    }
    tag_ = stream_->command_tag();
    affected_rows_ = stream_->rows();
    notices_ = stream_->notices();
    if (!notice_.empty()) notices_.push_back(notice_);
    receipt_ = stream_->receipt();
    return false;
  }
  void cancel() override { stream_->cancel(); }

 private:
  const std::unique_ptr<query::QueryStream> stream_;
  const std::string notice_;
  std::vector<SqlType> types_;
  std::string batch_;
};

// From another node, which a ticket named.
class RemoteAnswer final : public QueryAnswer {
 public:
  RemoteAnswer(NodeParts* node, const QueryRouter::Route& route) : node_(node), route_(route) {
    node_->router.note(route_, 1);
  }
  ~RemoteAnswer() override {
    context_.TryCancel();
    if (reader_ != nullptr && !is_finished_) {
      while (reader_->Read(&message_)) continue;
      static_cast<void>(reader_->Finish());
    }
    node_->router.note(route_, -1);
  }

  // Up to the columns.
  Status start(const QueryRun& run) {
    const BoundedWork::Pause pause;  // a call to another node
    if (run.options.timeout_us > 0) {
      context_.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(run.options.timeout_us));
    }
    v1::ExecuteRequest request;
    request.set_sql(std::string(run.sql));
    request.set_columnar_rows(true);
    auto* query = request.mutable_query();
    query->set_threads(run.options.threads);
    query->mutable_freshness()->set_fresh(true);  // no other kind is sent elsewhere
    QueryRouter::address(route_, query);
    if (!run.arguments.empty()) append_row(run.parameters, run.arguments.data(), request.mutable_packed_arguments());
    reader_ = v1::Queries::NewStub(node_->router.channel(route_.address))->Execute(&context_, request);
    if (!reader_->Read(&message_)) return finish();
    columns_ = columns_of(message_.header().columns());
    types_ = types_of(columns_);
    return {};
  }

  StatusOr<bool> read(query::ResultSet* rows) override {
    while (reader_->Read(&message_)) {
      if (message_.has_rows()) {
        SCYPER_RETURN_IF_ERROR(query::decode_columns(types_, message_.rows().columns(), rows));
        return true;
      }
      if (!message_.has_complete()) continue;
      tag_ = message_.complete().command_tag();
      affected_rows_ = message_.complete().affected_rows();
      notices_.assign(message_.complete().notices().begin(), message_.complete().notices().end());
      receipt_ = receipt_of(message_.complete().receipt());
    }
    SCYPER_RETURN_IF_ERROR(finish());
    return false;
  }
  void cancel() override { context_.TryCancel(); }

 private:
  Status finish() {
    is_finished_ = true;
    return status_of_grpc(reader_->Finish());
  }

  NodeParts* const node_;
  const QueryRouter::Route route_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::ExecuteResponse>> reader_;
  v1::ExecuteResponse message_;
  std::vector<SqlType> types_;
  bool is_finished_ = false;
};

StatusOr<std::unique_ptr<QueryAnswer>> answer_here(NodeParts* node, const QueryRun& run,
                                                   const query::QueryOptions& options,
                                                   const QueryRouter::Route& route) {
  SCYPER_ASSIGN_OR_RETURN(auto stream, node->engine->queries()->run(run.sql, run.arguments, options));
  return std::make_unique<LocalAnswer>(std::move(stream), route.notice);
}

StatusOr<std::unique_ptr<QueryAnswer>> answer_there(NodeParts* node, const QueryRun& run,
                                                    const QueryRouter::Route& route) {
  auto remote = std::make_unique<RemoteAnswer>(node, route);
  SCYPER_RETURN_IF_ERROR(remote->start(run));
  return remote;
}

StatusOr<std::unique_ptr<QueryAnswer>> answer_routed(NodeParts* node, const QueryRun& run) {
  query::QueryOptions options = run.options;
  const auto find_route = [&] {
    const BoundedWork::Pause pause;  // it may ask another node
    return node->router.route(run.is_here, run.sql, run.arguments, &options);
  };
  SCYPER_ASSIGN_OR_RETURN(QueryRouter::Route route, find_route());
  while (true) {
    auto answer = route.address.empty() ? answer_here(node, run, options, route) : answer_there(node, run, route);
    if (answer.ok()) return answer;
    const BoundedWork::Pause pause;  // it may ask another node
    SCYPER_ASSIGN_OR_RETURN(route, node->router.instead(route, answer.status(), run.sql, run.arguments, &options));
  }
}

}  // namespace

std::unique_ptr<Answer> make_answer(query::ResultSet result, std::optional<query::Receipt> receipt) {
  return std::make_unique<ReadyAnswer>(std::move(result), std::move(receipt));
}

std::unique_ptr<Answer> make_answer(std::string tag) {
  query::ResultSet result;
  result.command_tag = std::move(tag);
  return make_answer(std::move(result));
}

std::unique_ptr<Answer> make_answer(std::string tag, const std::string& column, const std::string& value) {
  query::ResultSet result;
  result.command_tag = std::move(tag);
  result.columns = {{column, make_type(TypeId::kText)}};
  result.append(result.columns[0].type, string_datum(value.data(), value.size()));
  return make_answer(std::move(result));
}

StatusOr<std::unique_ptr<Answer>> run_query(NodeParts* node, const QueryRun& run) {
  const int64_t began_ns = monotonic_ns();
  auto answer = answer_routed(node, run);
  const RequestTimes& times = node->counters.requests;
  if (answer.ok()) {
    (*answer)->begin(&times, run.protocol, began_ns);
  } else if (!is_for_transactions(answer.status())) {
    times.note(run.protocol, RequestKind::kQuery, /*is_ok=*/false, began_ns);
  }
  return answer;
}

}  // namespace scyper::server
