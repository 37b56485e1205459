#include "large_transactions.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "claim.h"
#include "query/stopping.h"
#include "storage/pauses.h"
#include "worker.h"

namespace scyper::primary {

namespace {
constexpr uint64_t kLargeTableRows = 10'000;
}  // namespace

LargeTransactions::LargeTransactions(ExecutorEnvironment* environment, Rendezvous* rendezvous, Host host)
    : environment_(environment), rendezvous_(rendezvous), host_(std::move(host)) {
  slice_.run_on = [this](Worker* leader) { return serve(leader); };
  slice_.is_slice = true;
}

LargeTransactions::~LargeTransactions() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Status LargeTransactions::start() {
  SCYPER_ASSIGN_OR_RETURN(executor_, Executor::create_large(environment_->options->workers, environment_));
  executor_->set_safepoint(&LargeTransactions::pass_now, this);
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "large");
  return {};
}

// --- any thread ---

void LargeTransactions::add(Task* task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(task);
  changed_.notify_all();
}

void LargeTransactions::submit(Transaction* transaction) {
  queue_claim(transaction);
  auto* task = new Task();  // its thread frees it
  task->transaction = transaction;
  add(task);
}

bool LargeTransactions::takes_definition(Transaction* transaction) {
  const auto catalog = environment_->database->catalog();
  const auto tables = query::tables_made_anew(transaction->statement->text(), *catalog);
  if (!tables.has_value()) return false;
  const auto is_large = [&](TableId id) {
    const auto table = catalog->find_table(id);
    return table != nullptr && table->live_tuples() >= kLargeTableRows;
  };
  if (std::none_of(tables->ids.begin(), tables->ids.end(), is_large)) return false;
  auto* task = new Task();  // its thread frees it
  task->transaction = transaction;
  task->is_definition = true;
  add(task);
  return true;
}

Status LargeTransactions::copy(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result) {
  const auto task = std::make_shared<Task>();
  Status status;
  task->answered.done = &signal_kept<ExclusiveWork>;
  task->answered.claim = &task->claim;
  task->claim.keep(task);
  task->refused = &status;
  task->pid = query::session_number_of(limits.settings);
  task->run = [&, work = &task->answered] {
    const uint64_t before_lsn = executor_->last_alone_lsn();
    status = executor_->copy_large(rows, limits, result);
    work->has_logged = executor_->last_alone_lsn() != before_lsn;
  };
  add(task.get());
  SCYPER_RETURN_IF_ERROR(wait_or_leave(&task->answered.completion, &task->claim, limits.cancelled, limits.deadline_ns));
  return status.ok() ? task->answered.status : status;
}

void LargeTransactions::refuse_over(int64_t now_ns) {
  std::vector<std::pair<Task*, Status>> over;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(waiting_, [&](Task* task) {
      const Transaction* transaction = task->transaction;
      if (transaction == nullptr || transaction->claim != nullptr) return false;  // its caller looks itself
      Status why = why_over(transaction->cancelled, transaction->deadline_ns, now_ns);
      if (why.ok()) return false;
      over.emplace_back(task, std::move(why));
      return true;
    });
  }
  for (auto& [task, why] : over) answer(task, std::move(why));
}

// One that has not run.
void LargeTransactions::answer(Task* task, Status why) {
  if (task->transaction == nullptr) {
    if (task->claim.take()) *task->refused = std::move(why);
    return task->answered.done(&task->answered);
  }
  Transaction* const transaction = task->transaction;
  delete task;
  if (!take_claim(transaction)) return transaction->done(transaction);
  host_.refuse(transaction, why);
}

// --- who leads ---

// The slice is not in the queue while it runs, so nobody else serves it.
Status LargeTransactions::serve(Worker* leader) {
  Transaction* answered = nullptr;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    has_turn_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !has_turn_; });
    if (!is_over_) return {};
    is_over_ = false;
    answered = std::exchange(answered_, nullptr);
  }
  changed_.notify_all();
  leader->executor().take_news_of(executor_.get());
  if (answered != nullptr) leader->executor().answer(answered);
  return {};
}

// --- its own thread ---

void LargeTransactions::run() {
  const storage::Pauses pauses(&LargeTransactions::pass_now, this);
  while (true) {
    Task* task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      task = waiting_.front();
      waiting_.pop_front();
    }
    run_task(task);
  }
}

void LargeTransactions::run_task(Task* task) {
  if (!begin()) return answer(task, query::stopping_error());
  Transaction* transaction = task->transaction != nullptr ? task->transaction : &task->answered;
  const std::unique_ptr<Task> owned(task->transaction != nullptr ? task : nullptr);
  wait_for_turn();
  if (!take_claim(transaction)) {
    end_turn(nullptr);
    return transaction->done(transaction);
  }
  pid_ = task->transaction != nullptr ? query::session_number_of(transaction->settings) : task->pid;
  bool is_answered = true;
  if (task->is_definition) {
    executor_->define_large(task->transaction);
  } else if (task->transaction != nullptr) {
    is_answered = executor_->execute_large(task->transaction);
  } else {
    task->run();
  }
  close();
  end_turn(is_answered ? transaction : nullptr);
}

// False: the engine stops.
bool LargeTransactions::begin() {
  if (rendezvous_->is_closing()) return false;
  Chain chain;
  chain.add(&slice_);
  rendezvous_->queue().reserve_always(1);
  if (rendezvous_->push(chain)) return true;
  rendezvous_->queue().cancel(1);
  return false;
}

void LargeTransactions::wait_for_turn() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return has_turn_; });
  note_turn();
}

// Every poll of generated code asks whether the turn is over: a timer of another thread would come late where the
// processors are busy.
void LargeTransactions::note_turn() {
  turn_ends_ns_ = environment_->clock.monotonic_ns() + kSliceNs;
  executor_->raise_safepoint();
}

void LargeTransactions::open(query::TouchedTables tables) {
  held_ = std::move(tables);
  if (is_open()) return;
  const BlockId id = host_.next_id();
  environment_->waits->open(id);
  environment_->waits->note_session(id, pid_, held_.ids);
  open_id_.store(id, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
}

// Who has waited goes on, now that nothing uncommitted is left.
void LargeTransactions::close() {
  const BlockId id = open_id_.load(std::memory_order_relaxed);
  if (id == 0) return;
  CHECK(executor_->log()->empty());
  open_id_.store(0, std::memory_order_relaxed);
  held_ = {};
  for (Transaction* work : std::exchange(held_back_, {})) rendezvous_->push_again(work);
  environment_->waits->end(id);
  host_.ended();
}

void LargeTransactions::end_turn(Transaction* answered) {
  std::unique_lock<std::mutex> lock(mutex_);
  is_over_ = true;
  answered_ = answered;
  has_turn_ = false;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !is_over_; });
}

// The next slice is queued when the memory for it is there: its first touch may take long, and would stop everybody.
void LargeTransactions::give_turn_back() noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_turn_ = false;
    changed_.notify_all();
  }
  storage::Pauses::current->touch_ahead(environment_->database->arena());
  rendezvous_->push_again(&slice_);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return has_turn_; });
}

void LargeTransactions::pass() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (environment_->clock.monotonic_ns() < turn_ends_ns_ && !rendezvous_->is_pausing()) {
    executor_->raise_safepoint();
    return;
  }
  if (is_defining_) environment_->definition_mutex.unlock();
  give_turn_back();
  if (is_defining_) environment_->definition_mutex.lock();
  note_turn();
  if (rendezvous_->is_closing()) executor_->stop_run();
}

}  // namespace scyper::primary
