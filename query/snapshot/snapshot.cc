#include "snapshot/snapshot.h"

#include <pthread.h>
#include <sys/socket.h>

#include <utility>

#include "base/check.h"
#include "query/column_batch.h"
#include "snapshot/messages.h"

namespace scyper::query {

namespace {

// Programs that a child keeps; a session seldom uses more.
constexpr size_t kProgramsMax = 128;

Status lost_error(const std::string& reason) {
  return with_hint(sql_error("57P02", "the snapshot of this query has been lost: " + reason),
                   "Retry: the query then runs on another snapshot.");
}
Status cancelled_error() { return sql_error("57014", "canceling statement due to user request"); }

std::string_view bytes_of(const uint64_t& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

}  // namespace

// --- SnapshotQuery ---

SnapshotQuery::~SnapshotQuery() {
  snapshot_->forget(*this);  // from here on nobody else knows it
  if (!is_done_) snapshot_->channel_.send(static_cast<uint32_t>(ToChild::kCancel), id_);
}

StatusOr<bool> SnapshotQuery::next(std::string* columns) {
  std::unique_lock<std::mutex> lock(mutex_);
  came_.wait(lock, [this] { return is_cancelled_ || is_done_ || !batches_.empty(); });
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
  return snapshot;
}

Snapshot::Snapshot(Forked forked)
    : point_(std::move(forked.point)), child_(std::move(forked.child)), channel_(child_->socket()) {}

Snapshot::~Snapshot() {
  child_->kill();
  receiver_.join();
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
  CHECK(!program->footprint().writes && arguments.size() == program->parameter_types().size());
  RunHeader header;
  header.time_us = options.time_us;
  header.deadline_ns = options.deadline_ns;
  header.memory_bytes = options.memory_bytes;
  header.window_bytes = kWindowBytes;
  header.threads = options.threads;
  std::lock_guard<std::mutex> shipping(shipping_);
  const bool is_shipped = ship(program, &header.program);
  std::string body(reinterpret_cast<const char*>(&header), sizeof header);
  if (!arguments.empty()) encode_columns(program->parameter_types(), arguments.data(), 1, &body);
  std::shared_ptr<SnapshotQuery> query;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    query.reset(new SnapshotQuery(shared_from_this(), ++last_query_, std::move(program)));
    queries_[query->id_] = query.get();
  }
  ++running_;
  ++programs_[query->program_.get()].running;
  // A child that is gone is noticed by the receiver, which ends the query; unless it has done so before.
  const bool is_sent = is_shipped && channel_.send(static_cast<uint32_t>(ToChild::kRun), query->id_, body);
  if (!is_sent || !is_alive()) {
    is_lost_.store(true, std::memory_order_release);  // the receiver may not know yet
    std::unique_lock<std::mutex> lock(mutex_);
    const std::string reason = loss_.empty() ? "its process has ended" : loss_;
    lock.unlock();
    query->finish(lost_error(reason));
  }
  return query;
}

bool Snapshot::give_spill_files(const std::vector<int>& files) {
  return channel_.send(static_cast<uint32_t>(ToChild::kSpill), 0, {}, files);
}

// Under shipping_. The child gets better code of a program that it has when there is some by now.
bool Snapshot::ship(const std::shared_ptr<const Program>& program, uint64_t* number) {
  Shipped& shipped = programs_[program.get()];
  shipped.last_use = ++uses_;
  const bool is_new = shipped.number == 0;
  if (is_new) {
    shipped.number = ++last_program_;
    shipped.program = program;
  }
  *number = shipped.number;
  if (!is_new && shipped.form == form_of_program(*program)) return true;
  ProgramImage image = export_program(*program);
  shipped.form = image.form;
  // what was shipped before may still run: its pins stay
  for (auto& pin : image.pins) shipped.pins.push_back(std::move(pin));
  const bool is_sent = channel_.send(static_cast<uint32_t>(ToChild::kProgram), *number, image.bytes);
  if (programs_.size() > kProgramsMax) drop_oldest();
  return is_sent;
}

void Snapshot::drop_oldest() {
  auto oldest = programs_.end();
  for (auto it = programs_.begin(); it != programs_.end(); ++it) {
    if (it->second.running > 0 || it->second.last_use == uses_) continue;
    if (oldest == programs_.end() || it->second.last_use < oldest->second.last_use) oldest = it;
  }
  if (oldest == programs_.end()) return;
  Shipped& shipped = oldest->second;
  shipped.pins.push_back(shipped.program);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    dropping_[shipped.number] = std::move(shipped.pins);
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
    case ToParent::kDropped:
      freed = std::move(dropping_[frame.id]);
      dropping_.erase(frame.id);
      break;
  }
}

void Snapshot::finish_query(SnapshotQuery* query, std::string_view body) {
  DoneHeader done;
  CHECK(take_bytes(&body, &done, sizeof done));
  Status status;
  if (done.is_ok == 0) {
    std::string state, message, detail, hint;
    CHECK(take_text(&body, &state) && take_text(&body, &message) && take_text(&body, &detail) &&
          take_text(&body, &hint));
    status = sql_error(state, message);
    if (!detail.empty()) status = with_detail(std::move(status), detail);
    if (!hint.empty()) status = with_hint(std::move(status), hint);
  }
  query->costs_ = {done.rows, done.scratch_bytes, done.run_ns};
  for (uint32_t i = 0; i < done.notices; ++i) {
    query->notices_.emplace_back();
    CHECK(take_text(&body, &query->notices_.back()));
  }
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
