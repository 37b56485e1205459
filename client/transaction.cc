#include "client/transaction.h"

#include <utility>

#include "answer_reader.h"
#include "client_parts.h"
#include "query/session_command.h"
#include "row_collector.h"
#include "server/call_outcome.h"
#include "server/packed.h"
#include "server/step_stream.h"

namespace scyper::client {

namespace {

v1::InteractRequest::Isolation isolation_of(Isolation isolation) {
  switch (isolation) {
    case Isolation::kReadCommitted:
      return v1::InteractRequest::READ_COMMITTED;
    case Isolation::kRepeatableRead:
      return v1::InteractRequest::REPEATABLE_READ;
    case Isolation::kSerializable:
      return v1::InteractRequest::SERIALIZABLE;
    case Isolation::kDefault:
      break;
  }
  return v1::InteractRequest::DEFAULT;
}

Transaction::State state_of(v1::InteractResponse::State state) {
  if (state == v1::InteractResponse::NONE) return Transaction::State::kNone;
  return state == v1::InteractResponse::OPEN ? Transaction::State::kOpen : Transaction::State::kFailed;
}

bool is_commit(const v1::InteractRequest& step) {
  if (step.has_commit()) return true;
  if (!step.has_statement()) return false;
  const auto commands = query::read_commands(step.statement().sql());
  return commands.ok() && commands->size() == 1 && commands->front().kind == query::CommandKind::kCommit;
}

v1::InteractRequest statement_step(std::string_view sql, uint32_t timeout_ms) {
  v1::InteractRequest step;
  step.mutable_statement()->set_sql(std::string(sql));
  step.mutable_statement()->set_columnar_rows(true);
  step.mutable_statement()->set_timeout_ms(timeout_ms);
  return step;
}

}  // namespace

struct Transaction::Parts {
  explicit Parts(const std::shared_ptr<grpc::Channel>& channel) : stream(channel) {}
  server::StepStream stream;
  v1::InteractResponse last;
};

Transaction::Transaction(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Transaction::~Transaction() = default;

Status Transaction::run(const v1::InteractRequest& step, QueryHandler* handler) {
  AnswerReader reader(handler);
  const server::StepStream::Outcome outcome =
      parts_->stream.run(step, [&](const v1::InteractResponse& answer) { return reader.take(answer); }, &parts_->last);
  state_ = parts_->stream.is_over() ? State::kNone : state_of(parts_->last.state());
  // only where it has failed does it matter what it was
  if (!outcome.status.ok()) return is_commit(step) ? server::outcome_of_commit(outcome) : outcome.status;
  return reader.take(parts_->last);
}

Status Transaction::begin(const TransactionOptions& options) {
  v1::InteractRequest step;
  auto* begin = step.mutable_begin();
  begin->set_isolation(isolation_of(options.isolation));
  begin->set_read_only(options.is_read_only);
  begin->set_deferrable(options.is_deferrable);
  for (const auto& [name, value] : options.settings) (*begin->mutable_settings()->mutable_values())[name] = value;
  RowCollector nothing;
  return run(step, &nothing);
}

Status Transaction::execute(std::string_view sql, QueryHandler* handler, uint32_t timeout_ms) {
  return run(statement_step(sql, timeout_ms), handler);
}

Status Transaction::execute(std::string_view sql, query::ResultSet* result, uint32_t timeout_ms) {
  RowCollector collector;
  SCYPER_RETURN_IF_ERROR(execute(sql, &collector, timeout_ms));
  *result = std::move(collector.all());
  return {};
}

Status Transaction::execute(const Prepared& statement, std::span<const Datum> arguments, query::ResultSet* result,
                            uint32_t timeout_ms) {
  SCYPER_RETURN_IF_ERROR(check_argument_count("statement", statement, arguments.size()));
  v1::InteractRequest step = statement_step(statement.sql, timeout_ms);
  if (!arguments.empty())
    server::append_row(statement.parameters, arguments.data(), step.mutable_statement()->mutable_packed_arguments());
  RowCollector collector;
  SCYPER_RETURN_IF_ERROR(run(step, &collector));
  *result = std::move(collector.all());
  return {};
}

StatusOr<std::shared_ptr<const Prepared>> Transaction::describe(std::string_view sql) {
  v1::InteractRequest step;
  step.mutable_describe()->set_sql(std::string(sql));
  RowCollector nothing;
  SCYPER_RETURN_IF_ERROR(run(step, &nothing));
  return prepared_of(sql, parts_->last.description());
}

Status Transaction::commit() {
  v1::InteractRequest step;
  step.mutable_commit();
  RowCollector collector;
  SCYPER_RETURN_IF_ERROR(run(step, &collector));
  if (collector.all().command_tag == "COMMIT") return {};
  return sql_error("40000", "the transaction had failed before, and was taken back");
}

Status Transaction::rollback() {
  v1::InteractRequest step;
  step.mutable_rollback();
  RowCollector nothing;
  return run(step, &nothing);
}

void Transaction::cancel() { parts_->stream.cancel(); }

StatusOr<std::unique_ptr<TransactionCopying>> Transaction::open_copy(std::string_view sql) {
  v1::InteractRequest step;
  step.mutable_copy()->set_sql(std::string(sql));
  RowCollector nothing;
  SCYPER_RETURN_IF_ERROR(run(step, &nothing));
  return std::unique_ptr<TransactionCopying>(new TransactionCopying(this, parts_->last.copy_header().column_count()));
}

TransactionCopying::~TransactionCopying() = default;

Status TransactionCopying::write(std::string_view text) {
  return send_pieces(text, &pending_, [&] {
    query::ResultSet nothing;
    return send(/*is_done=*/false, &nothing);
  });
}

Status TransactionCopying::finish(query::ResultSet* tag_and_notices) { return send(/*is_done=*/true, tag_and_notices); }

Status TransactionCopying::send(bool is_done, query::ResultSet* result) {
  v1::InteractRequest step;
  step.mutable_copy()->set_text(std::exchange(pending_, {}));
  step.mutable_copy()->set_done(is_done);
  RowCollector collector;
  SCYPER_RETURN_IF_ERROR(transaction_->run(step, &collector));
  *result = std::move(collector.all());
  return {};
}

StatusOr<std::unique_ptr<Transaction>> Client::begin(const TransactionOptions& options) {
  std::unique_ptr<Transaction> transaction(new Transaction(std::make_unique<Transaction::Parts>(parts_->channel)));
  SCYPER_RETURN_IF_ERROR(transaction->begin(options));
  return transaction;
}

}  // namespace scyper::client
