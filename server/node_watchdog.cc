#include "node_watchdog.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "service_manager.h"

namespace scyper::server {

namespace {

constexpr int64_t kNsPerUs = 1000;
constexpr int kPingsPerTime = 4;       // sd_watchdog_enabled(3) wants two at least
constexpr int64_t kComputesOneIn = 5;  // of the time: a definition that scans a table, say, is no standstill

int64_t processor_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto ns = [](const timeval& time) { return (time.tv_sec * int64_t{1'000'000} + time.tv_usec) * kNsPerUs; };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

CommitSample sample_of(const primary::Engine& engine) {
  const primary::EngineCounters& counters = engine.counters();
  const primary::Engine::LogInfo log = engine.log_info();
  CommitSample sample;
  sample.waiting = engine.queue_depth();
  sample.finished = counters.committed + counters.rolled_back;
  sample.last_lsn = log.is_on ? log.last_lsn : 0;
  sample.durable_lsn = log.is_on ? log.durable_lsn : 0;
  sample.confirmed_lsn = log.is_on ? log.confirmed_lsn : 0;
  sample.waits_for_room = log.is_full;
  sample.processor_ns = processor_ns();
  sample.time_ns = RealClock().monotonic_ns();
  return sample;
}

// What systemd asks for; 0: nothing.
int64_t time_asked_ns() {
  const char* const pid = std::getenv("WATCHDOG_PID");
  const char* const time = std::getenv("WATCHDOG_USEC");
  int64_t number = 0;
  if (time == nullptr || !absl::SimpleAtoi(time, &number) || number <= 0) return 0;
  const int64_t us = number;
  if (pid != nullptr && (!absl::SimpleAtoi(pid, &number) || number != ::getpid())) return 0;
  return us * kNsPerUs;
}

}  // namespace

bool is_stuck(const CommitSample& before, const CommitSample& now) {
  if (now.waits_for_room) return false;
  if (now.durable_lsn < before.last_lsn && now.durable_lsn == before.durable_lsn) return true;
  if (before.waiting == 0 || now.waiting == 0 || now.finished != before.finished) return false;
  if (now.confirmed_lsn < now.durable_lsn) return false;
  return (now.processor_ns - before.processor_ns) * kComputesOneIn < now.time_ns - before.time_ns;
}

void NodeWatchdog::start() {
  if (const int64_t asked_ns = time_asked_ns(); asked_ns > 0) {
    thread_ = std::thread([this, asked_ns] { run(std::max<int64_t>(asked_ns / kPingsPerTime, 1)); });
  }
}

NodeWatchdog::~NodeWatchdog() {
  {
    absl::MutexLock lock(&mutex_);
    is_over_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void NodeWatchdog::watch(const primary::Engine* engine) {
  absl::MutexLock lock(&mutex_);
  engine_ = engine;
  before_ = {};
}

void NodeWatchdog::run(int64_t period_ns) {
  absl::MutexLock lock(&mutex_);
  while (!is_over_) {
    if (works()) tell_service_manager("WATCHDOG=1");
    mutex_.AwaitWithTimeout(absl::Condition(&is_over_), absl::Nanoseconds(period_ns));
  }
}

bool NodeWatchdog::works() {
  if (engine_ == nullptr) return true;
  const CommitSample now = sample_of(*engine_);
  const bool was_sampled = before_.time_ns != 0;
  const bool stuck = was_sampled && is_stuck(before_, now);
  before_ = now;
  return !stuck;
}

}  // namespace scyper::server
