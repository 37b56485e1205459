#include "forwarded_block.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/bounded_work.h"
#include "base/check.h"
#include "changed_settings.h"
#include "forwarding.h"
#include "node_parts.h"
#include "query/column_batch.h"
#include "scyper.pb.h"
#include "server/messages.h"
#include "server/packed.h"
#include "server/step_stream.h"

namespace scyper::server {

namespace {

constexpr std::chrono::milliseconds kLookAtCancel{10};  // between looks at whether the client cancels
constexpr int64_t kNsPerMillisecond = 1'000'000;
// Beyond a statement's deadline the primary, which keeps it itself, has gone.
constexpr int64_t kSilenceNs = 2000 * kNsPerMillisecond;

// While it lives it tells the primary when the statement is cancelled, and gives the primary up when it is silent.
class CancelWatch {
 public:
  CancelWatch(StepStream* stream, const primary::StatementLimits& limits)
      : stream_(stream), limits_(limits), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

 private:
  void watch(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock<std::mutex> lock(mutex);
    bool is_told = false;
    while (!never.wait_for(lock, stop, kLookAtCancel, [&] { return stop.stop_requested(); })) {
      if (limits_.deadline_ns != 0 && monotonic_ns() >= limits_.deadline_ns + kSilenceNs) stream_->break_off();
      if (is_told || limits_.cancelled == nullptr || !limits_.cancelled->load(std::memory_order_relaxed)) continue;
      stream_->cancel();
      is_told = true;
    }
  }

  StepStream* const stream_;
  const primary::StatementLimits limits_;
  const std::jthread thread_;
};

class ForwardedBlock final : public primary::OpenTransaction {
 public:
  ForwardedBlock(Forwarding* forwarding, primary::BlockLevel level) : forwarding_(forwarding), level_(level) {}
  // ROLLBACK: what it held is free when its client is answered. A primary that is silent is given up after a while.
  ~ForwardedBlock() override {
    if (stream_ == nullptr || stream_->is_over() || is_committed_) return;
    primary::StatementLimits limits;
    limits.deadline_ns = monotonic_ns();
    const CancelWatch watch(stream_.get(), limits);
    v1::InteractRequest step;
    step.mutable_rollback();
    static_cast<void>(run(step, nullptr));
  }

  uint64_t lsn() const override { return 0; }  // the primary's own
  Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                 const primary::StatementLimits& limits) override;
  StatusOr<std::unique_ptr<primary::CopyIn>> open_copy(std::string_view sql,
                                                       const primary::StatementLimits& limits) override;
  Status describe(std::string_view sql, const primary::StatementLimits& limits, std::vector<SqlType>* parameters,
                  std::vector<query::ResultColumn>* columns) override;
  void add_read(std::shared_ptr<const primary::SnapshotRead> read) override { reads_.push_back(std::move(read)); }
  Status set_savepoint() override { return change_savepoint(v1::InteractRequest::Savepoint::SET, 0); }
  Status roll_back_to(size_t savepoint) override {
    return change_savepoint(v1::InteractRequest::Savepoint::ROLL_BACK_TO, savepoint);
  }
  Status release(size_t savepoint) override {
    return change_savepoint(v1::InteractRequest::Savepoint::RELEASE, savepoint);
  }
  Status commit(const primary::StatementLimits&) override {
    if (stream_ == nullptr) return {};  // there was nothing to change
    is_committed_ = true;
    v1::InteractRequest step;
    step.mutable_commit();
    return outcome_of_commit(run(step, nullptr));
  }
  std::vector<query::OpenCursor> take_cursors() override { return {}; }  // they stay on the primary

  // One piece of a COPY's text, or its end.
  Status run_copy(const v1::InteractRequest& step, const primary::StatementLimits& limits) {
    const CancelWatch watch(stream_.get(), limits);
    return status_of_step(run(step, nullptr));
  }
  const v1::InteractResponse& last() const { return last_; }

 private:
  StepStream::Outcome run(const v1::InteractRequest& step, query::ResultSet* result) {
    const BoundedWork::Pause pause;  // a call to another node
    types_.clear();
    return stream_->run(step, [&](const v1::InteractResponse& answer) { return take(answer, result); }, &last_);
  }

  Status take(const v1::InteractResponse& answer, query::ResultSet* result) {
    if (result == nullptr) return {};
    if (answer.has_header()) {
      result->columns = columns_of(answer.header().columns());
      for (const query::ResultColumn& column : result->columns) types_.push_back(column.type);
      return {};
    }
    return query::decode_columns(types_, answer.rows().columns(), result);
  }

  // Of a step that is no COMMIT: without it nothing of the transaction is there.
  static Status status_of_step(const StepStream::Outcome& outcome) {
    const std::string state = sqlstate_of(outcome.status);
    const bool is_lost = !outcome.status.ok() && (!outcome.has_word || state == "57P01" || state == "25006");
    if (!is_lost) return outcome.status;
    return with_hint(sql_error("40001", "the transaction was taken back: the primary has gone: " +
                                            std::string(outcome.status.message())),
                     "The transaction might succeed if retried.");
  }

  // Opens the stream, unless it is.
  Status connect();
  void encode_reads(v1::InteractRequest::Begin* begin) const;

  Status change_savepoint(v1::InteractRequest::Savepoint::Act act, size_t number) {
    SCYPER_RETURN_IF_ERROR(connect());
    v1::InteractRequest step;
    step.mutable_savepoint()->set_act(act);
    step.mutable_savepoint()->set_number(number);
    return status_of_step(run(step, nullptr));
  }

  Forwarding* const forwarding_;
  const primary::BlockLevel level_;
  std::vector<std::shared_ptr<const primary::SnapshotRead>> reads_;  // before the stream is open
  std::unique_ptr<StepStream> stream_;                               // null: nothing was sent
  bool is_committed_ = false;                                        // or its COMMIT has failed
  v1::InteractResponse last_;
  std::vector<SqlType> types_;  // of the rows of the step that runs
};

// A COPY of the block, whose text goes to the primary in pieces. The block outlives it.
class CopyOfBlock final : public primary::CopyIn {
 public:
  CopyOfBlock(ForwardedBlock* block, const primary::StatementLimits& limits)
      : block_(block),
        limits_{.deadline_ns = limits.deadline_ns, .cancelled = limits.cancelled},
        column_count_(block->last().copy_header().column_count()),
        is_binary_(block->last().copy_header().binary()) {}

  size_t column_count() const override { return column_count_; }
  bool is_binary() const override { return is_binary_; }
  Status add(std::string_view text) override {
    while (!text.empty()) {
      const size_t size = std::min(kPieceBytes - pending_.size(), text.size());
      pending_.append(text.substr(0, size));
      text.remove_prefix(size);
      if (pending_.size() == kPieceBytes) SCYPER_RETURN_IF_ERROR(send(limits_, /*is_last=*/false));
    }
    return {};
  }
  Status finish(const primary::StatementLimits& limits, query::ResultSet* result) override {
    SCYPER_RETURN_IF_ERROR(send(limits, /*is_last=*/true));
    result->clear();
    read_end(block_->last().complete(), result);
    return {};
  }
  Status at_line(Status status) const override { return status; }  // the primary counts them

 private:
  static constexpr size_t kPieceBytes = 256 << 10;

  Status send(const primary::StatementLimits& limits, bool is_last) {
    v1::InteractRequest step;
    step.mutable_copy()->set_text(std::exchange(pending_, {}));
    step.mutable_copy()->set_done(is_last);
    return block_->run_copy(step, limits);
  }

  ForwardedBlock* const block_;
  const primary::StatementLimits limits_;
  const size_t column_count_;
  const bool is_binary_;
  std::string pending_;
};

StatusOr<std::unique_ptr<primary::CopyIn>> ForwardedBlock::open_copy(std::string_view sql,
                                                                     const primary::StatementLimits& limits) {
  SCYPER_RETURN_IF_ERROR(connect());
  v1::InteractRequest step;
  step.mutable_copy()->set_sql(std::string(sql));
  encode_settings(limits.settings, step.mutable_copy()->mutable_settings());
  SCYPER_RETURN_IF_ERROR(run_copy(step, limits));
  return std::unique_ptr<primary::CopyIn>(std::make_unique<CopyOfBlock>(this, limits));
}

Status ForwardedBlock::connect() {
  if (stream_ != nullptr) return {};
  const BoundedWork::Pause pause;  // a call to another node
  v1::InteractRequest step;
  step.mutable_begin()->set_passed_on(true);
  step.mutable_begin()->set_isolation(level_ == primary::BlockLevel::kReadCommitted
                                          ? v1::InteractRequest::READ_COMMITTED
                                          : v1::InteractRequest::SERIALIZABLE);
  encode_reads(step.mutable_begin());
  SCYPER_ASSIGN_OR_RETURN(stream_, forwarding_->open_block(step));
  reads_.clear();
  return {};
}

void ForwardedBlock::encode_reads(v1::InteractRequest::Begin* begin) const {
  for (const auto& read : reads_) {
    auto* out = begin->add_reads();
    out->set_sql(read->text);
    if (!read->types.empty()) append_row(read->types, read->arguments.values().data(), out->mutable_packed_arguments());
    for (const SqlType& type : read->types) encode_type(type, out->add_argument_types());
    encode_settings(read->settings.get(), out->mutable_settings());
    out->set_row_count(read->rows.count());
    out->set_row_hash(read->rows.chain());
    out->set_whole(read->is_whole);
  }
}

Status ForwardedBlock::execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                               const primary::StatementLimits& limits) {
  v1::InteractRequest step;
  auto* statement = step.mutable_statement();
  statement->set_sql(std::string(sql));
  statement->set_now_us(limits.time_us);
  encode_settings(limits.settings, statement->mutable_settings());
  if (limits.deadline_ns != 0) {
    const int64_t left_ms = (limits.deadline_ns - monotonic_ns()) / kNsPerMillisecond;
    statement->set_timeout_ms(static_cast<uint32_t>(std::clamp<int64_t>(left_ms, 1, UINT32_MAX)));
  }
  if (!parameters.empty()) {
    CHECK(limits.parameter_types != nullptr && limits.parameter_types->size() == parameters.size());
    for (const SqlType& type : *limits.parameter_types) encode_type(type, statement->add_argument_types());
    append_row(*limits.parameter_types, parameters.data(), statement->mutable_packed_arguments());
  }
  result->clear();
  SCYPER_RETURN_IF_ERROR(connect());
  const CancelWatch watch(stream_.get(), limits);
  SCYPER_RETURN_IF_ERROR(status_of_step(run(step, result)));
  read_end(last_.complete(), result);
  read_changed_settings(last_, limits.changed_settings);
  return {};
}

Status ForwardedBlock::describe(std::string_view sql, const primary::StatementLimits& limits,
                                std::vector<SqlType>* parameters, std::vector<query::ResultColumn>* columns) {
  v1::InteractRequest step;
  step.mutable_describe()->set_sql(std::string(sql));
  encode_settings(limits.settings, step.mutable_describe()->mutable_settings());
  SCYPER_RETURN_IF_ERROR(connect());
  const CancelWatch watch(stream_.get(), limits);
  SCYPER_RETURN_IF_ERROR(status_of_step(run(step, nullptr)));
  parameters->clear();
  for (const v1::Type& type : last_.description().parameters()) parameters->push_back(server::type_of(type));
  *columns = columns_of(last_.description().columns());
  return {};
}

}  // namespace

std::unique_ptr<primary::OpenTransaction> make_forwarded_block(Forwarding* forwarding, primary::BlockLevel level) {
  return std::make_unique<ForwardedBlock>(forwarding, level);
}

}  // namespace scyper::server
