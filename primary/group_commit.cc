#include "group_commit.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "primary/engine.h"

namespace scyper::primary {

namespace {

Failpoint before_build("log.before_build");
Failpoint after_build("log.after_build");
Failpoint before_acknowledge("log.before_acknowledge");
Failpoint in_acknowledge("log.in_acknowledge");
Failpoint after_acknowledge("log.after_acknowledge");

// Bounds a group, and with it how long the next one waits: far more than one flush lets gather.
constexpr uint64_t kGroupLsnsMax = 1 << 14;
constexpr size_t kSentMax = 4096;  // groups that are timed until the quorum has them; while more wait, others are not
constexpr auto kFullRetry = std::chrono::milliseconds(100);
// The writer looks by itself this often, to make up for a nudge that was lost; after a hundred looks in vain less
// often.
constexpr int64_t kLookNs = 1'000'000;
constexpr int64_t kIdleLookNs = 10'000'000;
constexpr int kLooks = 100;
constexpr int kExitLogFailed = 74;  // EX_IOERR

Status failed_error() {
  return with_hint(sql_error("58030", "the log cannot be written: the node has stopped accepting transactions"),
                   "See the node's messages; restart it when its disk is well.");
}

Status no_primary_error(bool has_logged) {
  if (has_logged) {
    return sql_error("08007",
                     "the node's lease ended before the transaction was answered: it may have committed or not");
  }
  return with_hint(sql_error("57P03", "the node is not primary any more: its lease has ended"),
                   "Retry, at another node of the cluster, too.");
}

}  // namespace

GroupCommit::GroupCommit(const LogOptions& options, Start start, LsnCounter* lsns, uint32_t workers, const Clock* clock)
    : mode_(options.mode),
      nudges_(options.mode != CommitMode::kAsync),
      delay_us_(options.mode == CommitMode::kAsync ? options.async_delay_us : options.commit_delay_us),
      batch_bytes_(options.batch_bytes),
      on_failure_(options.on_failure),
      appender_(std::move(start.appender)),
      streams_(start.streams),
      lsns_(lsns),
      clock_(clock),
      outbox_(start.outbox),
      members_(start.members),
      markers_(start.markers),
      shadow_(start.shadow),
      copies_(start.copies),
      start_copies_(start.start_copies),
      write_time_(options.metrics == nullptr ? nullptr
                                             : &options.metrics->timer("scyper_log_write_duration_seconds",
                                                                       "Writing one group of the log to the disk.")),
      quorum_time_(options.metrics == nullptr || copies_ == 0
                       ? nullptr
                       : &options.metrics->timer("scyper_log_quorum_duration_seconds",
                                                 "Quorum modes: from the making of a group of the log until it was on "
                                                 "this node's disk and enough secondaries had acknowledged it.")),
      leads_(std::move(start.leads)),
      start_lsn_(start.is_elected ? start.durable_lsn + 1 : 0),
      builder_({start.cluster, start.term, options.batch_bytes, options.compresses,
                start.markers == nullptr ? nullptr : start.markers->buffer()},
               start.streams, std::move(start.positions)),
      durable_lsn_(start.durable_lsn),
      confirmed_lsn_(start.confirmed_lsn.value_or(start.durable_lsn)) {
  for (uint32_t i = 0; i < workers; ++i) waiting_.push_back(std::make_unique<Acknowledgements>());
}

void GroupCommit::start() {
  writer_ = std::thread([this] { run(); });
  pthread_setname_np(writer_.native_handle(), "log");
  maker_ = std::thread([this] { make_segments(); });
  pthread_setname_np(maker_.native_handle(), "segments");
}

GroupCommit::~GroupCommit() {
  if (writer_.joinable()) {
    {
      std::lock_guard<std::mutex> lock(wake_mutex_);
      is_stopping_.store(true);
    }
    idle();
    wake_.notify_all();
    writer_.join();
    maker_.join();
  }
  answer_failed();
}

// --- workers ---

void GroupCommit::acknowledge(uint32_t worker, Transaction* transaction, uint64_t lsn) {
#ifdef SCYPER_PLANT_EARLY_ACKNOWLEDGEMENT
  return transaction->done(transaction);
#endif
  if (mode_ == CommitMode::kAsync || lsn <= confirmed_lsn_.load(std::memory_order_acquire)) {
    return answer(transaction);
  }
  while (!waiting_[worker]->push(transaction, lsn)) {
    if (is_full()) return answer_unconfirmed(transaction);  // the worker is needed
    idle();
    ::usleep(50);
  }
  nudge();
}

void GroupCommit::idle() {
  signals_.fetch_add(1, std::memory_order_seq_cst);
  if (nudges_ || is_stopping_.load(std::memory_order_relaxed)) sleeper_.wake();
}

// --- any thread ---

Status GroupCommit::refusal() const {
  if (is_failed()) return failed_error();
  if (!is_full()) return Status();
  return with_hint(sql_error("53100", "the disk of the log is full: the database is read-only"),
                   "Make space; writing goes on by itself.");
}

Status GroupCommit::wait_confirmed(uint64_t lsn, const std::function<Status()>& interruption) {
  confirmed_waiters_.fetch_add(1);
  idle();
  std::unique_lock<std::mutex> lock(wake_mutex_);
  Status status;
  while (confirmed_lsn() < lsn && !is_failed() && !is_stopping_.load() && !is_released_.load() && status.ok()) {
    confirmed_changed_.wait_for(lock, std::chrono::milliseconds(5));
    if (interruption) status = interruption();
  }
  confirmed_waiters_.fetch_sub(1);
  if (confirmed_lsn() >= lsn) return Status();
  SCYPER_RETURN_IF_ERROR(status);
  return is_failed() ? failed_error() : sql_error("57P01", "the node stops, and the log is not confirmed that far");
}

void GroupCommit::release() {
  is_released_.store(true);
  confirmed_changed_.notify_all();
}

void GroupCommit::give_up() {
  release();
  gives_up_.store(true);
  wake();
}

void GroupCommit::drop_before(uint64_t lsn) {
  droppable_lsn_.store(lsn);
  idle();
}

// --- the writer ---

// Every record up to there is published (LogBuffer, invariant 2).
uint64_t GroupCommit::complete_point() const {
  uint64_t complete = lsns_->last.load(std::memory_order_acquire);
  for (const LogBuffer* stream : streams_) {
    const uint64_t drawing = stream->drawing();
    if (drawing != LogBuffer::kNothing) complete = std::min(complete, drawing - 1);
  }
  if (markers_ != nullptr) {
    const uint64_t drawing = markers_->buffer()->drawing();
    if (drawing != LogBuffer::kNothing) complete = std::min(complete, drawing - 1);
  }
  return complete;
}

bool GroupCommit::run_once() {
  if (is_failed()) return false;
  if (!has_group_) {
    if (begins_segment_.load()) begin_next_segment();
    if (is_failed()) return false;
    const uint64_t durable = durable_lsn();
    uint64_t complete = std::min(complete_point(), durable + kGroupLsnsMax);
    if (complete <= durable) {
      const bool any = advance_commit_point();
      if (outbox_ != nullptr) outbox_->beat(clock_->monotonic_ns(), clock_->now_us());
      return any;
    }
    if (before_build.fires()) return false;
    Marker marker;
    if (markers_ != nullptr && markers_->next(durable, complete, &marker)) complete = marker.lsn;
    const bool built = builder_.build(complete, confirmed_lsn(), clock_->now_us(), marker.snapshot,
                                      marker.is_digested ? replication::kGroupDigest : uint16_t{0});
    CHECK(built);  // each LSN is in exactly one record
    if (const Status shadowed = shadow_ == nullptr ? Status() : shadow_->apply(builder_.batches(), complete);
        !shadowed.ok()) {
      fail(shadowed);
      return false;
    }
    after_build.fires();
    has_group_ = true;
    group_complete_ = complete;
    note_sent(complete);
    // beside the disk: who receives it applies it when it is confirmed
    if (outbox_ != nullptr) outbox_->send(builder_.batches(), complete, marker.snapshot, clock_->now_us());
    if (marker.snapshot != 0) markers_->sent(marker);
  }
  const bool is_written = write_group(group_complete_);
  advance_commit_point();  // in any case: what is confirmed does not wait for space on the disk
  if (!is_written) {       // who follows must know that this node lives
    if (outbox_ != nullptr) outbox_->beat(clock_->monotonic_ns(), clock_->now_us());
    return false;
  }
  drop_segments();
  return true;
}

// Only what begins in it is behind it, so without a group that waits. Not before it has been made, as nobody is to wait
// for that; without room the log goes on where it is.
void GroupCommit::begin_next_segment() {
  if (maker_.joinable() && !appender_->has_next()) return;
  begins_segment_.store(false);
  const uint64_t segment = appender_->segment_number();
  const Status begun = appender_->begin_next(durable_lsn(), builder_.positions(), clock_->now_us());
  if (!begun.ok() && !is_disk_full(begun)) return fail(begun);
  note_segment(segment);
}

// The one after it is made ahead.
void GroupCommit::note_segment(uint64_t before) {
  if (appender_->segment_number() == before || !maker_.joinable()) return;
  std::lock_guard<std::mutex> lock(wake_mutex_);
  wants_segment_ = true;
  wake_.notify_all();
}

bool GroupCommit::write_group(uint64_t complete_lsn) {
  const uint64_t segment = appender_->segment_number();
  const int64_t begin_ns = clock_->monotonic_ns();
  Status status = appender_->append(builder_.group(), durable_lsn(), builder_.positions_before(), clock_->now_us());
#ifdef SCYPER_PLANT_IGNORED_SYNC
  status = Status();
#endif
  if (is_disk_full(status)) {
    set_full(true);
    return false;
  }
  if (!status.ok()) {
    fail(status);
    return false;
  }
  if (write_time_ != nullptr) write_time_->record_ns(static_cast<uint64_t>(clock_->monotonic_ns() - begin_ns));
  has_group_ = false;
  groups_.fetch_add(1, std::memory_order_relaxed);
  bytes_written_.store(appender_->bytes_written(), std::memory_order_relaxed);
  durable_lsn_.store(complete_lsn, std::memory_order_release);
  note_segment(segment);
  return true;
}

// Batches of earlier terms are confirmed by the first of this one only: without it another node could still be elected
// that lacks them (Raft, 5.4.2).
bool GroupCommit::has_start() {
  if (start_lsn_ == 0 || has_start_) return true;
  has_start_ = durable_lsn() >= start_lsn_ &&
               members_->confirmed_lsn(start_copies_, mode_ == CommitMode::kQuorumDurable) >= start_lsn_;
  return has_start_;
}

// True: it has risen, or something was answered.
bool GroupCommit::advance_commit_point() {
  if (!has_start()) return false;
  uint64_t lsn = durable_lsn();
  if (copies_ > 0) lsn = std::min(lsn, members_->confirmed_lsn(copies_, mode_ == CommitMode::kQuorumDurable));
  if (lsn > confirmed_lsn()) {
    confirmed_lsn_.store(lsn, std::memory_order_release);
    note_confirmed(lsn);
    if (outbox_ != nullptr) outbox_->confirm(lsn);
    if (confirmed_waiters_.load() > 0) confirmed_changed_.notify_all();
  } else if (!owes_answers()) {
    return false;
  }
  answer_confirmed();
  return true;
}

void GroupCommit::note_sent(uint64_t complete_lsn) {
  if (quorum_time_ == nullptr || sent_.size() >= kSentMax) return;
  sent_.push_back({complete_lsn, clock_->monotonic_ns()});
}

void GroupCommit::note_confirmed(uint64_t lsn) {
  for (; !sent_.empty() && sent_.front().complete_lsn <= lsn; sent_.pop_front()) {
    quorum_time_->record_ns(static_cast<uint64_t>(clock_->monotonic_ns() - sent_.front().made_ns));
  }
}

// A worker looks at the commit point before it hands a transaction over: meanwhile the point may have passed it, and
// without further transactions it does not rise again.
bool GroupCommit::owes_answers() const {
  const uint64_t confirmed = confirmed_lsn();
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& waiting) {
    uint64_t lsn;
    return waiting->peek(&lsn) && lsn <= confirmed;
  });
}

// In LSN order over all workers. Few workers: the smallest is found by looking at each.
void GroupCommit::answer_confirmed() {
  before_acknowledge.fires();
  const uint64_t confirmed = confirmed_lsn();
  while (true) {
    Acknowledgements* first = nullptr;
    uint64_t first_lsn = ~uint64_t{0};
    for (const auto& waiting : waiting_) {
      uint64_t lsn;
      if (waiting->peek(&lsn) && lsn < first_lsn) {
        first = waiting.get();
        first_lsn = lsn;
      }
    }
    if (first == nullptr || first_lsn > confirmed) break;
    answer(first->pop());
    in_acknowledge.fires();
  }
  after_acknowledge.fires();
}

// A process that has stood still may wake when another node is primary: what it has read is old then, and what has no
// copies elsewhere may be lost. What has them is proven by them.
void GroupCommit::answer(Transaction* transaction) const {
  if (leads_) [[unlikely]] {
    const bool has_logged = transaction->has_logged;
    const bool is_inner = transaction->statement == nullptr && !has_logged;  // for this node only
    if (!(has_logged && copies_ > 0) && !is_inner && !leads_()) {
      transaction->status = no_primary_error(has_logged);
      transaction->result.clear_rows();
      transaction->result.command_tag.clear();
    }
  }
  transaction->done(transaction);
}

// Nobody knows whether these will be found after a restart.
void GroupCommit::answer_failed() {
  for (const auto& waiting : waiting_) {
    uint64_t lsn;
    while (waiting->peek(&lsn)) answer_unconfirmed(waiting->pop());
  }
}

void GroupCommit::answer_unconfirmed(Transaction* transaction) const {
  transaction->status =
      is_full() && !gives_up_.load()
          ? sql_error("08007", "the disk of the log is full, and too many transactions wait: it may commit or not")
          : sql_error("08007", "the node ended before the transaction was confirmed: it may have committed or not");
  transaction->result.clear_rows();
  transaction->result.command_tag.clear();
  transaction->done(transaction);
}

void GroupCommit::set_full(bool is_full) {
  is_full_.store(is_full);
  for (LogBuffer* stream : streams_) stream->set_waits(!is_full && !is_failed());
  if (!is_failed()) return;  // by the other thread, meanwhile
  for (LogBuffer* stream : streams_) stream->set_waits(false);
}

void GroupCommit::fail(const Status& status) {
  is_failed_.store(true);
  for (LogBuffer* stream : streams_) stream->set_waits(false);
  if (on_failure_) return on_failure_(status);
  std::fprintf(stderr, "scyper: the log failed, the node stops: %s\n", std::string(status.message()).c_str());
  std::fflush(stderr);
  ::_exit(kExitLogFailed);
}

void GroupCommit::drop_segments() {
  const uint64_t lsn = droppable_lsn_.exchange(0);
  if (lsn == 0) return;
  auto dropped = appender_->drop_before(std::min(lsn, durable_lsn()));
  if (!dropped.ok()) {
    std::fprintf(stderr, "scyper: old log segments stay: %s\n", std::string(dropped.status().message()).c_str());
  }
}

void GroupCommit::run() {
  int looks = 0;
  while (true) {
    const bool stops = is_stopping_.load();
    const uint64_t signals = signals_.load(std::memory_order_seq_cst);
    if (delay_us_ > 0 && !stops && durable_lsn() < lsns_->last.load(std::memory_order_relaxed)) ::usleep(delay_us_);
    const bool did_something = run_once();
    if (gives_up_.load() && !is_failed()) {
      advance_commit_point();
      answer_failed();
    }
    if (did_something) {
      looks = 0;
      continue;
    }
    if (is_failed()) {
      answer_failed();
      if (stops) return;
      ::usleep(1000);
      continue;
    }
    if (has_group_) {  // waits for space on the disk
      if (stops) return fail(absl::UnavailableError("the disk of the log is full, and the node stops"));
      std::this_thread::sleep_for(kFullRetry);
      continue;
    }
    drop_segments();
    if (stops && complete_point() <= durable_lsn()) return;
    sleeper_.prepare();
    if (signals_.load(std::memory_order_seq_cst) != signals || is_stopping_.load()) {
      sleeper_.cancel();
    } else {
      sleeper_.sleep_for(++looks > kLooks ? kIdleLookNs : kLookNs);
    }
  }
}

// --- segments ahead of use ---

void GroupCommit::make_segments() {
  std::unique_lock<std::mutex> lock(wake_mutex_);
  while (!is_stopping_.load()) {
    if (!wants_segment_) {
      wake_.wait(lock);
      continue;
    }
    lock.unlock();
    Status status = appender_->prepare_next();
    lock.lock();
    if (status.ok()) {
      wants_segment_ = false;
      set_full(false);
    } else if (is_disk_full(status)) {
      set_full(true);
      wake_.wait_for(lock, kFullRetry);
    } else {
      lock.unlock();
      fail(status);
      lock.lock();
      wants_segment_ = false;
    }
  }
}

}  // namespace scyper::primary
