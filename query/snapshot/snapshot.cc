#include "snapshot/snapshot.h"

#include <pthread.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/internal_error.h"
#include "base/invariant.h"
#include "query/column_batch.h"
#include "query/error_status.h"
#include "snapshot/messages.h"
#include "snapshot/sample_message.h"
#include "snapshot/statistics_message.h"
#include "storage/frozen_slot.h"
#include "storage/hot_view_learner.h"

namespace scyper::query {

namespace {

Failpoint ship_breaks("ship.breaks");

// Programs that a child keeps; a session seldom uses more.
constexpr size_t kProgramsMax = 128;
constexpr int64_t kNsPerUs = 1000;

Status lost_error(const std::string& reason) {
  return with_hint(sql_error("57P02", "the snapshot of this query has been lost: " + reason),
                   "Retry: the query then runs on another snapshot.");
}
Status cancelled_error() { return sql_error("57014", "canceling statement due to user request"); }

std::string_view bytes_of(const uint64_t& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

}  // namespace

// --- SnapshotQuery ---

SnapshotQuery::~SnapshotQuery() {
  if (listener_ != nullptr) {
    std::lock_guard<std::mutex> lock(listener_->mutex);
    listener_->query = nullptr;
  }
  snapshot_->forget(*this);  // from here on nobody else knows it
  if (!is_done_) snapshot_->channel_.send(static_cast<uint32_t>(ToChild::kCancel), id_);
}

// Before its program is shipped: what comes later is sent by who waits for the rows.
void SnapshotQuery::listen() {
  listener_ = std::make_shared<Listener>();
  listener_->query = this;
  listening_ = when_better(*program_, [listener = listener_] {
    std::lock_guard<std::mutex> lock(listener->mutex);
    if (listener->query == nullptr) return;
    {
      std::lock_guard<std::mutex> its_lock(listener->query->mutex_);
      listener->query->has_better_ = true;
    }
    listener->query->came_.notify_all();
  });
}

// For rows, the end, or better code. False: the child should have ended the query long ago.
bool SnapshotQuery::wait(std::unique_lock<std::mutex>* lock) {
  const auto has_come = [this] { return is_cancelled_ || is_done_ || !batches_.empty() || has_better_ || wants_code_; };
  if (patience_ns_ == 0) {
    came_.wait(*lock, has_come);
    return true;
  }
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(patience_ns_)};
  return came_.wait_until(*lock, until, has_come);
}

StatusOr<bool> SnapshotQuery::next(std::string* columns) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_cancelled_ && !is_done_ && batches_.empty()) {
    if (!wait(&lock)) {
      lock.unlock();
      snapshot_->kill("its process did not answer");
      return lost_error("its process did not answer");
    }
    const bool wants_code = std::exchange(wants_code_, false);
    if (!std::exchange(has_better_, false) && !wants_code) continue;
    lock.unlock();
    if (wants_code)
      send_code();
    else
      snapshot_->improve(*program_);
    lock.lock();
  }
  if (is_cancelled_ && !(is_done_ && batches_.empty())) return cancelled_error();
  if (!batches_.empty()) {
    *columns = std::move(batches_.front());
    batches_.pop_front();
    const bool is_over = is_done_;
    lock.unlock();
    const uint64_t bytes = columns->size();
    if (!is_over) snapshot_->channel_.send(static_cast<uint32_t>(ToChild::kCredit), id_, bytes_of(bytes));
    return true;
  }
  SCYPER_RETURN_IF_ERROR(status_);
  return false;
}

void SnapshotQuery::cancel() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_cancelled_ = true;
    if (is_done_) return;
  }
  came_.notify_all();
  snapshot_->channel_.send(static_cast<uint32_t>(ToChild::kCancel), id_);
}

void SnapshotQuery::take_rows(std::string columns) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    batches_.push_back(std::move(columns));  // bounded by the window
  }
  came_.notify_one();
}

void SnapshotQuery::ask_for_code() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    wants_code_ = true;
  }
  came_.notify_all();
}

// By who waits for the rows: nobody else has time for it.
void SnapshotQuery::send_code() {
  const int64_t start_ns = RealClock().monotonic_ns();
  const Status status = make_code_ != nullptr ? make_code_(*program_) : sql_error("0A000", "nobody makes code");
  code_ns_ += RealClock().monotonic_ns() - start_ns;
  if (status.ok())
    snapshot_->improve(*program_);
  else
    snapshot_->channel_.send(static_cast<uint32_t>(ToChild::kNoCode), id_);
}

void SnapshotQuery::finish(Status status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_done_) return;
    is_done_ = true;
    status_ = std::move(status);
  }
  came_.notify_all();
}

// --- Snapshot ---

std::shared_ptr<Snapshot> Snapshot::start(Forked forked) {
  std::shared_ptr<Snapshot> snapshot(new Snapshot(std::move(forked)));
  snapshot->receiver_ = std::thread([self = snapshot.get()] { self->receive(); });
  pthread_setname_np(snapshot->receiver_.native_handle(), "snapshot");
  snapshot->ask_for_statistics();
  return snapshot;
}

Snapshot::Snapshot(Forked forked)
    : point_(std::move(forked.point)), child_(std::move(forked.child)), channel_(child_->socket()) {}

Snapshot::~Snapshot() {
  child_->kill();
  receiver_.join();
}

// The child reads the tables at leisure, as they were at the cut; transactions pay nothing.
void Snapshot::ask_for_statistics() {
  std::string body;
  for (const auto& [name, table] : point_.catalog->tables) {
    const storage::Table* address = table.get();
    if (storage::needs_statistics(*table)) body.append(reinterpret_cast<const char*>(&address), sizeof address);
  }
  if (!body.empty()) channel_.send(static_cast<uint32_t>(ToChild::kSample), 0, body);
}

// Columns may have moved since.
bool Snapshot::has_schema_of_cut(const storage::Table& table) const {
  auto known = point_.catalog->schemas.find(&table);
  return known != point_.catalog->schemas.end() && known->second == &table.schema();
}

void Snapshot::publish_statistics(std::string_view body) const {
  const storage::Table* address = nullptr;
  std::shared_ptr<const storage::TableStatistics> statistics;
  while (take_statistics(&body, &address, &statistics))
    for (const auto& [name, table] : point_.catalog->tables)
      if (table.get() == address && has_schema_of_cut(*table)) table->set_statistics(statistics);
}

// What the query's scans have asked.
void Snapshot::learn_from(std::string_view samples) const {
  const storage::Table* address = nullptr;
  storage::HotView asked;
  while (take_sample(&samples, &address, &asked))
    for (const auto& [name, table] : point_.catalog->tables) {
      if (table.get() != address || !has_schema_of_cut(*table) || !fits_table(asked, *table)) continue;
      storage::HotViewLearner* learner =
          table->frozen_store() == nullptr ? nullptr : table->frozen_store()->learner.get();
      if (learner == nullptr || !learner->wants(storage::Workload::kAnalytics)) break;
      learner->note(storage::Workload::kAnalytics, std::move(asked));
      break;
    }
}

void Snapshot::kill(std::string_view reason) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (loss_.empty()) loss_ = reason;
  }
  is_lost_.store(true, std::memory_order_release);
  child_->kill();
}

StatusOr<std::shared_ptr<SnapshotQuery>> Snapshot::run(std::shared_ptr<const Program> program,
                                                       std::span<const Datum> arguments, const RunOptions& options) {
  if (program->footprint().writes || arguments.size() != program->parameter_types().size())
    return internal_error({Phase::kShipping, "a query that writes, or has other arguments", program->command()});
  RunHeader header;
  header.time_us = options.time_us;
  header.deadline_ns = options.deadline_ns;
  header.memory_bytes = options.memory_bytes;
  header.window_bytes = kWindowBytes;
  header.threads = options.threads;
  const int64_t patience_ns = options.deadline_ns == 0 ? 0 : options.deadline_ns + options.silence_us_max * kNsPerUs;
  std::shared_ptr<SnapshotQuery> query;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    query.reset(
        new SnapshotQuery(shared_from_this(), ++last_query_, std::move(program), patience_ns, options.make_code));
    queries_[query->id_] = query.get();
  }
  query->listen();
  std::lock_guard<std::mutex> shipping(shipping_);
  bool is_shipped = false;
  const Status exported = contained(Phase::kShipping, query->program_->command(), [&] {
    is_shipped = ship(query->program_, &header.program);
    return Status();
  });
  std::string body(reinterpret_cast<const char*>(&header), sizeof header);
  if (!arguments.empty()) encode_columns(query->program_->parameter_types(), arguments.data(), 1, &body);
  ++running_;
  ++programs_[query->program_.get()].running;
  if (!exported.ok()) {
    query->finish(exported);
    return query;
  }
  // A child that is gone is noticed by the receiver, which ends the query; unless it has done so before.
  const bool is_sent =
      is_shipped && channel_.send(static_cast<uint32_t>(ToChild::kRun), query->id_, body, options.files);
  if (!is_sent || !is_alive()) {
    is_lost_.store(true, std::memory_order_release);  // the receiver may not know yet
    std::unique_lock<std::mutex> lock(mutex_);
    const std::string reason = loss_.empty() ? "its process has ended" : loss_;
    lock.unlock();
    query->finish(lost_error(reason));
  }
  return query;
}

// Under shipping_. The child gets better code of a program that it has when there is some by now.
bool Snapshot::ship(const std::shared_ptr<const Program>& program, uint64_t* number) {
  Shipped& shipped = programs_[program.get()];
  shipped.last_use = ++uses_;
  const bool is_new = shipped.number == 0;
  if (is_new) {
    INVARIANT(!ship_breaks.fires());
    shipped.program = program;
    shipped.image = export_program(*program);
    shipped.number = ++last_program_;  // last: without a number nothing was shipped
  }
  *number = shipped.number;
  if (!is_new) return send_better(&shipped);
  const std::string bytes = std::exchange(shipped.image.bytes, {});
  const bool is_sent = channel_.send(static_cast<uint32_t>(ToChild::kProgram), *number, bytes);
  if (programs_.size() > kProgramsMax) drop_oldest();
  return is_sent;
}

// Under shipping_. What was shipped before may still run: its pins stay.
bool Snapshot::send_better(Shipped* shipped) {
  const std::string better = export_better(*shipped->program, &shipped->image);
  return better.empty() || channel_.send(static_cast<uint32_t>(ToChild::kBetter), shipped->number, better);
}

// Better code has come for a program whose queries run.
void Snapshot::improve(const Program& program) {
  std::lock_guard<std::mutex> shipping(shipping_);
  auto shipped = programs_.find(&program);
  if (shipped != programs_.end() && is_alive()) send_better(&shipped->second);
}

void Snapshot::drop_oldest() {
  auto oldest = programs_.end();
  for (auto it = programs_.begin(); it != programs_.end(); ++it) {
    if (it->second.running > 0 || it->second.last_use == uses_) continue;
    if (oldest == programs_.end() || it->second.last_use < oldest->second.last_use) oldest = it;
  }
  if (oldest == programs_.end()) return;
  Shipped& shipped = oldest->second;
  auto& pins = shipped.image.pins;
  pins.push_back(shipped.program);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    dropping_[shipped.number] = std::move(pins);
  }
  channel_.send(static_cast<uint32_t>(ToChild::kDrop), shipped.number);
  programs_.erase(oldest);
}

void Snapshot::receive() {
  Frame frame;
  while (channel_.receive(&frame, -1) == Channel::Received::kFrame) take(std::move(frame));
  lose();
}

void Snapshot::take(Frame frame) {
  std::vector<std::shared_ptr<const void>> freed;  // without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  auto query = queries_.find(frame.id);
  switch (static_cast<ToParent>(frame.type)) {
    case ToParent::kReady:
      break;
    case ToParent::kRows:
      if (query != queries_.end()) query->second->take_rows(std::move(frame.body));
      break;
    case ToParent::kDone:
      if (query != queries_.end()) finish_query(query->second, frame.body);
      break;
    case ToParent::kWantsCode:
      if (query != queries_.end()) query->second->ask_for_code();
      break;
    case ToParent::kStatistics:
      publish_statistics(frame.body);
      break;
    case ToParent::kDropped:
      freed = std::move(dropping_[frame.id]);
      dropping_.erase(frame.id);
      break;
  }
}

void Snapshot::finish_query(SnapshotQuery* query, std::string_view body) const {
  DoneHeader done;
  CHECK(take_bytes(&body, &done, sizeof done));
  Status status;
  if (done.is_ok == 0) {
    std::string state, message, detail, hint, context;
    CHECK(take_text(&body, &state) && take_text(&body, &message) && take_text(&body, &detail) &&
          take_text(&body, &hint) && take_text(&body, &context));
    status = sql_error(state, message);
    if (!detail.empty()) status = with_detail(std::move(status), detail);
    if (!hint.empty()) status = with_hint(std::move(status), hint);
    if (!context.empty()) status = with_context(std::move(status), context);
  }
  query->costs_ = {done.rows, done.scratch_bytes, done.spilled_bytes, done.run_ns, done.swaps};
  for (uint32_t i = 0; i < done.notices; ++i) {
    query->notices_.emplace_back();
    CHECK(take_text(&body, &query->notices_.back()));
  }
  learn_from(body);
  if (!status.ok()) status = with_notices(std::move(status), query->notices_);
  query->finish(std::move(status));
}

// The child has ended.
void Snapshot::lose() {
  child_->kill();
  const std::string how = storage::describe_wait_status(child_->wait());
  is_lost_.store(true, std::memory_order_release);
  std::lock_guard<std::mutex> lock(mutex_);
  if (loss_.empty()) loss_ = "its process " + how;
  for (auto& [id, query] : queries_) query->finish(lost_error(loss_));
}

void Snapshot::forget(const SnapshotQuery& query) {
  --running_;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queries_.erase(query.id_);
  }
  std::lock_guard<std::mutex> shipping(shipping_);
  auto shipped = programs_.find(query.program_.get());
  if (shipped != programs_.end() && shipped->second.running > 0) --shipped->second.running;
}

}  // namespace scyper::query
