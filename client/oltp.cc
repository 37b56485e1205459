#include "oltp.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "client/ch/outcome.h"

namespace scyper::client {

using Clock = std::chrono::steady_clock;

void OltpStats::merge(const OltpStats& other) {
  for (size_t p = 0; p < procedures.size(); ++p) {
    procedures[p].completed += other.procedures[p].completed;
    procedures[p].rolled_back += other.procedures[p].rolled_back;
    procedures[p].latency.merge(other.procedures[p].latency);
  }
  refused += other.refused;
}

uint64_t OltpStats::completed() const {
  uint64_t sum = 0;
  for (const PerProcedure& p : procedures) sum += p.completed;
  return sum;
}
uint64_t OltpStats::rolled_back() const {
  uint64_t sum = 0;
  for (const PerProcedure& p : procedures) sum += p.rolled_back;
  return sum;
}
Histogram OltpStats::latency() const {
  Histogram all;
  for (const PerProcedure& p : procedures) all.merge(p.latency);
  return all;
}

void OltpRun::fail(Status status) {
  absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = std::move(status);
  phase_ = Phase::kStop;
}

Status OltpRun::status() {
  absl::MutexLock lock(&mutex_);
  return status_;
}

void OltpRun::add(const OltpStats& stats) {
  absl::MutexLock lock(&mutex_);
  total_.merge(stats);
  interval_.merge(stats);
}

void OltpCounter::hand_over() {
  if (!is_closed_ && phase_ != OltpRun::Phase::kWarmUp) run_->add(stats_);
  stats_ = OltpStats();
}

void OltpCounter::tick(int64_t now_ns) {
  constexpr int64_t kHandOverNs = 100'000'000;
  OltpRun::Phase phase = run_->phase();
  if (phase != phase_) {
    hand_over();
    phase_ = phase;
    is_closed_ = phase == OltpRun::Phase::kStop;
    handed_over_ns_ = now_ns;
  } else if (now_ns - handed_over_ns_ > kHandOverNs) {
    hand_over();
    handed_over_ns_ = now_ns;
  }
}

void OltpCounter::finish() { hand_over(); }

uint32_t OltpRun::claim(uint32_t wanted) {
  if (phase() == Phase::kStop) return 0;
  if (options.transactions == 0) return wanted;
  uint64_t before = claimed_.fetch_add(wanted);
  return before >= options.transactions
             ? 0
             : static_cast<uint32_t>(std::min<uint64_t>(wanted, options.transactions - before));
}

// Until the measured time is over, an error, or the threads have made all their calls.
void OltpRun::wait(const Live& live, std::atomic<size_t>* running) {
  auto start = Clock::now();
  auto last = start;
  bool is_counted = options.transactions > 0;
  auto end = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  while (phase() == Phase::kMeasure && (is_counted ? *running > 0 : Clock::now() < end)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(is_counted ? 1 : 10));
    auto now = Clock::now();
    if (!live || now - last < std::chrono::seconds(1)) continue;
    OltpStats interval;
    {
      absl::MutexLock lock(&mutex_);
      std::swap(interval, interval_);
    }
    live(std::chrono::duration<double>(now - last).count(), interval);
    last = now;
  }
}

StatusOr<OltpResult> OltpRun::drive(std::vector<std::function<void()>> threads, const Live& live) {
  std::atomic<size_t> running{threads.size()};
  if (options.transactions > 0) phase_ = Phase::kMeasure;
  auto start = Clock::now();
  std::vector<std::thread> started;
  for (auto& body : threads) {
    started.emplace_back([&running, &body] {
      body();
      --running;
    });
  }
  if (options.transactions == 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.warmup_seconds));
    Phase warm_up = Phase::kWarmUp;
    phase_.compare_exchange_strong(warm_up, Phase::kMeasure);
    start = Clock::now();
  }
  wait(live, &running);
  OltpResult result;
  if (options.transactions == 0) {
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    phase_ = Phase::kStop;
  }
  for (std::thread& thread : started) thread.join();
  if (options.transactions > 0) result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  SCYPER_RETURN_IF_ERROR(status());
  absl::MutexLock lock(&mutex_);
  result.stats = total_;
  return result;
}

OutcomeLog::OutcomeLog(const OltpOptions& options) : is_on_(options.wants_digest || !options.dump_path.empty()) {
  if (!options.dump_path.empty()) file_.open(options.dump_path, std::ios::trunc);
}

void OutcomeLog::add(ch::Procedure procedure, const Status& status, const query::ResultSet& result) {
  line_.clear();
  if (status.ok()) {
    ch::append_outcome(line_, procedure, std::span<const Datum>(result.values()));
  } else {
    ch::append_failure(line_, procedure, sqlstate_of(status));
  }
  digest_ = ch::extend_digest(digest_, line_);
  if (file_.is_open()) file_ << line_ << '\n';
}

std::string OutcomeLog::digest() const { return is_on_ ? ch::digest_text(digest_) : ""; }

std::string call_sql(ch::Procedure procedure) {
  std::string sql = "CALL " + std::string(ch::procedure_name(procedure)) + "(";
  for (size_t i = 1; i <= ch::parameter_types(procedure).size(); ++i) {
    sql += (i == 1 ? "$" : ", $") + std::to_string(i);
  }
  return sql + ")";
}

bool is_wanted_rollback(const Status& status) { return sqlstate_of(status) == "TPCC1"; }

}  // namespace scyper::client
