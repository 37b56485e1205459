#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

#include "oltp.h"

namespace scyper::client {

namespace {

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// A driver thread sleeps here while its workers are busy. Wake-ups may be missed; sleep() ends by itself after a
// millisecond.
class Doorbell {
 public:
  void sleep() {
    is_sleeping_.store(1, std::memory_order_seq_cst);
    timespec timeout{0, 1'000'000};
    syscall(SYS_futex, &is_sleeping_, FUTEX_WAIT_PRIVATE, 1, &timeout, nullptr, 0);
    is_sleeping_.store(0, std::memory_order_relaxed);
  }
  void ring() {
    if (is_sleeping_.load(std::memory_order_relaxed) == 0 || is_sleeping_.exchange(0) == 0) return;
    syscall(SYS_futex, &is_sleeping_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  std::atomic<int> is_sleeping_{0};
};

// One call on its way; reused, so that a running benchmark allocates nothing.
struct Slot : primary::Transaction {
  ch::Call call;
  int64_t submitted_at_ns = 0;
  std::atomic<bool> is_finished{false};  // released by the worker after the result
  Doorbell* doorbell = nullptr;          // of the slots that end a batch
};

void on_done(primary::Transaction* transaction) {
  auto* slot = static_cast<Slot*>(transaction);
  Doorbell* doorbell = slot->doorbell;  // the slot may be reused as soon as it is finished
  slot->is_finished.store(true, std::memory_order_release);
  if (doorbell != nullptr) doorbell->ring();
}

using Statements = std::array<std::shared_ptr<const primary::Statement>, ch::kProcedureCount>;

// The calls of one worker: a ring of slots, submitted and answered in order. Threads: its driver's.
class Lane {
 public:
  Lane(primary::Engine* engine, OltpRun* run, const ch::MixOptions& mix, const Statements& statements,
       Doorbell* doorbell)
      : engine_(engine),
        run_(run),
        statements_(statements),
        inputs_(run->generator, mix),
        log_(run->options),
        counter_(run),
        batch_(run->options.batch),
        window_(uint64_t{run->options.batch} * run->options.outstanding),
        slots_(new Slot[window_]) {
    for (uint64_t i = 0; i < window_; ++i) {
      slots_[i].done = on_done;
      if (i % batch_ == batch_ - 1) slots_[i].doorbell = doorbell;
    }
    group_.reserve(batch_);
  }

  // Takes what is answered and submits new calls in its place. False: nothing to do now.
  bool step() {
    uint64_t taken = 0;
    // One reading for all that has come since: the worker reads no clock, which would make it wait, after each
    // transaction, for all memory that it has asked for.
    const int64_t now = now_ns();
    counter_.tick(now);
    while (tail_ < head_ && slots_[tail_ % window_].is_finished.load(std::memory_order_acquire)) {
      take(slots_[tail_ % window_], now);
      ++tail_;
      if (++taken == batch_) break;
    }
    bool has_room = head_ - tail_ + batch_ <= window_;
    return submit(has_room ? batch_ : 0) || taken > 0;
  }
  bool is_done() const { return is_over_ && head_ == tail_; }
  void finish() { counter_.finish(); }
  std::string digest() const { return log_.digest(); }

 private:
  void take(Slot& slot, int64_t now) {
    auto& stats = counter_.of(slot.call.procedure);
    if (slot.status.ok() || is_wanted_rollback(slot.status)) {
      ++stats.completed;
      stats.rolled_back += slot.status.ok() ? 0 : 1;
      stats.latency.record(static_cast<uint64_t>(now - slot.submitted_at_ns));
    } else {
      run_->fail(slot.status);
    }
    if (log_.is_on()) log_.add(slot.call.procedure, slot.status, slot.result);
    slot.result.clear();
  }

  bool submit(uint32_t wanted) {
    if (wanted == 0 || is_over_) return false;
    uint32_t count = run_->claim(wanted);
    if (count < wanted) is_over_ = true;
    if (count == 0) return false;
    group_.clear();
    for (uint32_t i = 0; i < count; ++i) {
      Slot& slot = slots_[head_++ % window_];
      inputs_.next(slot.call);
      const auto& statement = statements_[static_cast<size_t>(slot.call.procedure)];
      if (slot.statement != statement) slot.statement = statement;
      auto arguments = slot.call.args();
      slot.arguments.assign(arguments.begin(), arguments.end());
      slot.status = Status();
      slot.is_finished.store(false, std::memory_order_relaxed);
      group_.push_back(&slot);
    }
    int64_t now = now_ns();
    for (primary::Transaction* t : group_) static_cast<Slot*>(t)->submitted_at_ns = now;
    engine_->submit(group_);
    return true;
  }

  primary::Engine* const engine_;
  OltpRun* const run_;
  const Statements& statements_;
  ch::InputStream inputs_;
  OutcomeLog log_;
  OltpCounter counter_;
  const uint32_t batch_;
  const uint64_t window_;
  std::unique_ptr<Slot[]> slots_;
  uint64_t head_ = 0, tail_ = 0;  // slots [tail, head) are out
  bool is_over_ = false;
  std::vector<primary::Transaction*> group_;
};

// Drives its lanes until the run is over. While all lanes are busy it spins a little where a core is free, then sleeps.
void drive_lanes(const std::vector<Lane*>& lanes, Doorbell* doorbell, int64_t spin_ns) {
  int64_t idle_since = 0;
  while (true) {
    bool is_any_done = false, are_all_done = true;
    for (Lane* lane : lanes) {
      is_any_done |= lane->step();
      are_all_done &= lane->is_done();
    }
    if (are_all_done) break;
    if (is_any_done) {
      idle_since = 0;
      continue;
    }
    if (idle_since == 0) idle_since = now_ns();
    if (now_ns() - idle_since < spin_ns) {
      __builtin_ia32_pause();
    } else {
      doorbell->sleep();
    }
  }
  for (Lane* lane : lanes) lane->finish();
}

// The warehouses of each worker: so each lane keeps one worker busy, whatever the hashing.
std::vector<std::vector<int32_t>> homes_of_workers(const primary::EngineOptions& engine, int32_t warehouses) {
  std::vector<std::vector<int32_t>> homes(engine.workers);
  for (int32_t w = 1; w <= warehouses; ++w) {
    homes[storage::partition_of(w, engine.partitions) % engine.workers].push_back(w);
  }
  std::erase_if(homes, [](const auto& list) { return list.empty(); });
  return homes;
}

}  // namespace

StatusOr<OltpResult> run_oltp_in_process(primary::Engine* engine, const ch::Generator& generator,
                                         const OltpOptions& options, uint32_t drivers, const OltpRun::Live& live) {
  Statements statements;
  for (int p = 0; p < ch::kProcedureCount; ++p) {
    SCYPER_ASSIGN_OR_RETURN(statements[static_cast<size_t>(p)],
                            engine->prepare(call_sql(static_cast<ch::Procedure>(p))));
  }
  OltpRun run(options, generator);
  auto homes = homes_of_workers(engine->options(), generator.scale().warehouses);
  if (options.wants_digest || homes.size() == 1) homes = {{}};  // one lane over all warehouses
  drivers = std::max<uint32_t>(1, std::min<uint32_t>(drivers, static_cast<uint32_t>(homes.size())));
  const uint32_t busy = engine->options().workers + options.busy_cores;
  const bool has_free_core = std::thread::hardware_concurrency() > busy;
  int64_t spin_ns = has_free_core ? 50'000 : 0;

  std::vector<std::unique_ptr<Doorbell>> doorbells;
  for (uint32_t d = 0; d < drivers; ++d) doorbells.push_back(std::make_unique<Doorbell>());
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::vector<Lane*>> of_driver(drivers);
  for (size_t i = 0; i < homes.size(); ++i) {
    ch::MixOptions mix = options.mix;
    mix.homes = homes[i];
    mix.seed += i;
    lanes.push_back(std::make_unique<Lane>(engine, &run, mix, statements, doorbells[i % drivers].get()));
    of_driver[i % drivers].push_back(lanes.back().get());
  }
  std::vector<std::function<void()>> threads;
  for (uint32_t d = 0; d < drivers; ++d) {
    threads.push_back([&, d] { drive_lanes(of_driver[d], doorbells[d].get(), spin_ns); });
  }
  SCYPER_ASSIGN_OR_RETURN(OltpResult result, run.drive(std::move(threads), live));
  result.digest = lanes[0]->digest();
  return result;
}

}  // namespace scyper::client
