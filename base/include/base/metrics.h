#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace scyper {

// Metrics of one process, in Prometheus' model but without its library: code counts here, server/ exposes what
// collect() returns. main() owns the registry and hands it (or single metrics) to the parts; metrics live as long as
// the registry. Names: scyper_<area>_<what>_<unit>[_total], with the unit in base units (seconds, bytes) as Prometheus
// wants it. Fork: in a child, add() and record() change the child's copy only, and nothing else may be called.

// Sixteen cells, so that as many threads count without sharing a cache line; more threads share cells.
inline constexpr size_t kMetricCells = 16;
// The cell of the calling thread.
size_t metric_cell() noexcept;

// Only grows. Threads: any.
class Counter {
 public:
  void add(uint64_t n = 1) noexcept { cells_[metric_cell()].value.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const noexcept;

 private:
  struct alignas(64) Cell {
    std::atomic<uint64_t> value{0};
  };
  std::array<Cell, kMetricCells> cells_;
};

// Goes up and down. Threads: any; set() from two threads keeps either value.
class Gauge {
 public:
  void set(int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Durations in fixed buckets, for exposition; percentiles of a benchmark come from Histogram. Threads: any.
class Timer {
 public:
  // Upper bounds in ns, 1 us to 10 s; the last bucket (+Inf) has none.
  static constexpr std::array<uint64_t, 19> kBoundsNs = {
      1'000,       2'500,       5'000,         10'000,        25'000,        50'000,     100'000,
      250'000,     1'000'000,   2'500'000,     10'000'000,    25'000'000,    50'000'000, 100'000'000,
      250'000'000, 500'000'000, 1'000'000'000, 2'500'000'000, 10'000'000'000};
  struct Reading {
    std::array<uint64_t, kBoundsNs.size() + 1> counts{};  // per bucket, not cumulative
    uint64_t sum_ns = 0;
    uint64_t count = 0;
  };
  void record_ns(uint64_t ns) noexcept;
  Reading read() const noexcept;

 private:
  struct alignas(64) Cell {
    std::array<std::atomic<uint64_t>, kBoundsNs.size() + 1> counts{};
    std::atomic<uint64_t> sum_ns{0};
  };
  std::array<Cell, kMetricCells> cells_;
};

enum class MetricType : uint8_t { kCounter, kGauge, kTimer };
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

struct MetricSample {
  MetricLabels labels;
  double value = 0;      // counter, gauge
  Timer::Reading timer;  // timer
};
struct MetricFamily {
  std::string name;
  std::string help;
  MetricType type = MetricType::kCounter;
  std::vector<MetricSample> samples;
};

// Threads: every function from any thread; the metrics it returns are used without its lock.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  // The metric of that name and labels, made at the first call. One name has one type and help (CHECK).
  Counter& counter(std::string_view name, std::string_view help, MetricLabels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  Timer& timer(std::string_view name, std::string_view help, MetricLabels labels = {});

  // A gauge or counter that is read when somebody looks: `read` runs in collect(), must be quick, must not call the
  // registry. It is not called any more once the Registration is gone; the Registration must go before the registry.
  class [[nodiscard]] Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept { *this = std::move(other); }
    Registration& operator=(Registration&& other) noexcept {
      std::swap(registry_, other.registry_);
      std::swap(id_, other.id_);
      return *this;
    }
    ~Registration();

   private:
    friend class MetricsRegistry;
    MetricsRegistry* registry_ = nullptr;
    uint64_t id_ = 0;
  };
  Registration observe(std::string_view name, std::string_view help, MetricType type, MetricLabels labels,
                       std::function<double()> read);

  // All families by name, with their current values.
  std::vector<MetricFamily> collect() const;

 private:
  struct Metric;
  Metric& find_or_add(std::string_view name, std::string_view help, MetricType type, MetricLabels labels)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void check_family(std::string_view name, std::string_view help, MetricType type) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void forget(uint64_t id);

  mutable absl::Mutex mutex_;
  std::vector<Metric> metrics_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace scyper
