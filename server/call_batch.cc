#include "call_batch.h"

#include <utility>

#include "errors.h"
#include "server/messages.h"
#include "typed_values.h"

namespace scyper::server {

namespace {

// Statements kept per stream; a stream that uses more asks the registry each time.
constexpr size_t kCacheMax = 1024;
// A message beyond 2 GB cannot be sent at all; well below it a result belongs into Queries.Execute, which streams.
constexpr size_t kResultBytesMax = size_t{256} << 20;

Statements::Pointer find_statement(NodeParts* node, StatementCache* cache, uint64_t id, std::string_view mark) {
  if (auto found = cache->find(id); found != cache->end()) return found->second;
  Statements::Pointer statement = node->statements.find(id, mark);
  if (statement != nullptr && cache->size() < kCacheMax) cache->emplace(id, statement);
  return statement;
}

// A client decodes packed rows by what Prepare told it; a routine replaced since may return others.
bool has_prepared_columns(const primary::Transaction& call) {
  const auto& prepared = call.statement->columns();
  const auto& made = call.result.columns;
  if (prepared.size() != made.size()) return false;
  for (size_t i = 0; i < made.size(); ++i) {
    if (prepared[i].type.id != made[i].type.id || prepared[i].type.element != made[i].type.element) return false;
  }
  return true;
}

// Shared by both forms: too large results fail, though the transaction has been committed.
Status check_result_size(const primary::Transaction& call) {
  if (!call.status.ok() || call.result.bytes() <= kResultBytesMax) return call.status;
  return with_detail(sql_error("54000", "the result of a call is too large to be sent in one message"),
                     "The transaction was committed.");
}

void append_packed_result(const primary::Transaction& call, std::string* out) {
  size_t start = out->size();
  PackedResultHeader header{call.request_id, call.retried_as_crossing ? kResultRetriedAsCrossing : 0, 0};
  out->append(sizeof(header), '\0');
  Status status = check_result_size(call);
  if (status.ok() && call.result.row_count() > 0 && !has_prepared_columns(call)) {
    status =
        with_detail(sql_error("0A000", "cached plan must not change result type"), "The transaction was committed.");
  }
  if (!status.ok()) {
    v1::Error error;
    encode_error(status, &error);
    error.AppendToString(out);
    header.flags |= kResultFailed;
  } else {
    const auto& columns = call.result.columns;
    size_t rows = call.result.row_count();
    put(out, PackedRowsHeader{call.result.affected_rows, static_cast<uint32_t>(rows)});
    thread_local std::vector<SqlType> types;
    types.clear();
    for (const query::ResultColumn& column : columns) types.push_back(column.type);
    for (size_t row = 0; row < rows; ++row) append_row(types, &call.result.value(row, 0), out);
  }
  header.body_bytes = static_cast<uint32_t>(out->size() - start - sizeof(header));
  std::memcpy(out->data() + start, &header, sizeof(header));
}

}  // namespace

void encode_typed_result(const primary::Transaction& call, v1::CallResult* out) {
  out->set_request_id(call.request_id);
  out->set_retried_as_crossing(call.retried_as_crossing);
  if (Status status = check_result_size(call); !status.ok()) {
    encode_error(status, out->mutable_error());
    encode_notices(status, out->mutable_error());
    return;
  }
  const query::ResultSet& result = call.result;
  encode_columns(result.columns, out->mutable_columns());
  for (size_t row = 0; row < result.row_count(); ++row)
    encode_row(result.columns, &result.value(row, 0), out->add_rows());
  out->set_affected_rows(result.affected_rows);
  out->set_command_tag(result.command_tag);
  for (const std::string& notice : result.notices) out->add_notices(notice);
}

CallSlot& CallBatch::next_slot() {
  if (count_ == slots_.size()) slots_.emplace_back();
  return slots_[count_++];
}

void CallBatch::clear() {
  for (uint32_t i = 0; i < count_; ++i) slots_[i].result.clear();
  count_ = 0;
  has_failures_ = false;
  malformed_ = Status();
  submitted_.clear();
  arena_.clear();
  request.Clear();
}

void CallBatch::prepare_slot(CallSlot* slot, uint64_t request_id, uint32_t timeout_ms) {
  slot->batch = this;
  slot->owner = this;
  slot->done = on_done;
  slot->request_id = request_id;
  slot->client_id = 0;
  slot->was_repeated = false;
  slot->deadline_ns = timeout_ms == 0 ? 0 : received_ns + int64_t{timeout_ms} * 1'000'000;
  slot->status = Status();
  slot->retried_as_crossing = false;
  slot->sent = false;
  slot->answered.store(false, std::memory_order_relaxed);
}

void CallBatch::fail_slot(CallSlot* slot, Status status) {
  slot->status = std::move(status);
  slot->answered.store(true, std::memory_order_relaxed);
}

DecodeResult CallBatch::decode(StatementCache* cache, UnknownText unknown) {
  count_ = 0;
  submitted_.clear();
  packed_ = !request.packed_calls().empty();
  if (packed_ && request.calls_size() > 0) {
    malformed_ = sql_error("08P01", "a batch has either calls or packed calls, not both");
    return DecodeResult::kMalformed;
  }
  return packed_ ? decode_packed(cache) : decode_typed(cache, unknown);
}

Status CallBatch::decode_packed_row(std::string_view row, CallSlot* slot) {
  const std::vector<SqlType>& types = slot->statement->parameter_types();
  slot->arguments.resize(types.size());
  SCYPER_RETURN_IF_ERROR(decode_row(types, &row, slot->arguments.data(), &arena_));
  return row.empty() ? Status() : sql_error("08P01", "malformed packed row: bytes are left after its last value");
}

DecodeResult CallBatch::decode_packed(StatementCache* cache) {
  std::string_view bytes = request.packed_calls();
  uint64_t last_id = 0;
  Statements::Pointer statement;
  while (!bytes.empty()) {
    PackedCallHeader header;
    if (!take(&bytes, &header) || bytes.size() < header.row_bytes) {
      malformed_ = sql_error("08P01", "malformed packed calls: a record is longer than the message");
      return DecodeResult::kMalformed;
    }
    if (count_ == node_->options.batch_calls_max) {
      malformed_ = sql_error("54000", "too many calls in one message");
      return DecodeResult::kMalformed;
    }
    if (header.statement_id != last_id || statement == nullptr) {
      statement = find_statement(node_, cache, header.statement_id, mark);
      last_id = header.statement_id;
    }
    CallSlot& slot = next_slot();
    prepare_slot(&slot, header.request_id, header.timeout_ms);
    if (slot.statement != statement) slot.statement = statement;
    Status status = statement == nullptr ? unknown_statement(header.statement_id)
                                         : decode_packed_row(bytes.substr(0, header.row_bytes), &slot);
    bytes.remove_prefix(header.row_bytes);
    if (status.ok()) {
      submitted_.push_back(&slot);
    } else {
      fail_slot(&slot, std::move(status));
    }
  }
  return DecodeResult::kOk;
}

Status CallBatch::decode_call(const v1::Call& call, CallSlot* slot) {
  if (!call.packed_arguments().empty()) return decode_packed_row(call.packed_arguments(), slot);
  const std::vector<SqlType>& types = slot->statement->parameter_types();
  slot->arguments.resize(types.size());
  return decode_arguments(types, call.arguments(), slot->arguments.data(), &arena_);
}

DecodeResult CallBatch::decode_typed(StatementCache* cache, UnknownText unknown) {
  if (static_cast<uint32_t>(request.calls_size()) > node_->options.batch_calls_max) {
    malformed_ = sql_error("54000", "too many calls in one message");
    return DecodeResult::kMalformed;
  }
  for (const v1::Call& call : request.calls()) {
    bool is_text = call.statement_id() == 0;
    uint64_t id = is_text ? Statements::id_of(call.sql()) : call.statement_id();
    Statements::Pointer statement = find_statement(node_, cache, id, mark);
    Status status;
    if (is_text && (statement == nullptr || !is_of(*statement, mark, call.sql()))) {
      if (unknown == UnknownText::kReport) return DecodeResult::kNeedsCompilation;
      auto compiled =
          unknown == UnknownText::kCompile ? node_->statements.prepare(call.sql(), mark) : pool_full_error();
      status = compiled.status();
      statement = compiled.ok() ? *compiled : nullptr;
    } else if (statement == nullptr) {
      status = unknown_statement(id);
    }
    CallSlot& slot = next_slot();
    prepare_slot(&slot, call.request_id(), call.timeout_ms());
    slot.client_id = call.client_id();
    slot.statement = std::move(statement);
    if (status.ok()) status = decode_call(call, &slot);
    if (status.ok()) {
      submitted_.push_back(&slot);
    } else {
      fail_slot(&slot, std::move(status));
    }
  }
  return DecodeResult::kOk;
}

bool CallBatch::submit() {
  // One more than is submitted: the loop's own share, so that nothing is posted while submit() still runs.
  remaining_.store(static_cast<uint32_t>(submitted_.size()) + 1, std::memory_order_relaxed);
  if (!submitted_.empty()) node_->engine->submit(submitted_);
  return remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void CallBatch::on_done(primary::Transaction* transaction) {
  auto* slot = static_cast<CallSlot*>(transaction);
  CallBatch* batch = slot->batch;
  slot->answered.store(true, std::memory_order_release);
  if (batch->remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) batch->loop->post(batch);
}

uint32_t CallBatch::encode_answered(v1::ResultBatch* out) {
  uint32_t encoded = 0;
  uint64_t failed = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    CallSlot& slot = slots_[i];
    if (slot.sent || !slot.answered.load(std::memory_order_acquire)) continue;
    if (packed_) {
      append_packed_result(slot, out->mutable_packed_results());
    } else {
      encode_typed_result(slot, out->add_results());
    }
    slot.sent = true;
    failed += slot.status.ok() ? 0 : 1;
    ++encoded;
  }
  has_failures_ |= failed > 0;
  node_->counters.calls_failed.add(failed);
  node_->counters.calls_ok.add(encoded - failed);
  return encoded;
}

}  // namespace scyper::server
