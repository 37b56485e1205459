#include "base/metrics.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace scyper {

size_t metric_cell() noexcept {
  static std::atomic<size_t> threads{0};
  thread_local const size_t cell = threads.fetch_add(1, std::memory_order_relaxed) % kMetricCells;
  return cell;
}

uint64_t Counter::value() const noexcept {
  uint64_t sum = 0;
  for (const Cell& cell : cells_) sum += cell.value.load(std::memory_order_relaxed);
  return sum;
}

void Timer::record_ns(uint64_t ns) noexcept {
  const auto bound = std::lower_bound(kBoundsNs.begin(), kBoundsNs.end(), ns);
  Cell& cell = cells_[metric_cell()];
  cell.counts[static_cast<size_t>(bound - kBoundsNs.begin())].fetch_add(1, std::memory_order_relaxed);
  cell.sum_ns.fetch_add(ns, std::memory_order_relaxed);
}

Timer::Reading Timer::read() const noexcept {
  Reading reading;
  for (const Cell& cell : cells_) {
    for (size_t i = 0; i < reading.counts.size(); ++i) {
      reading.counts[i] += cell.counts[i].load(std::memory_order_relaxed);
    }
    reading.sum_ns += cell.sum_ns.load(std::memory_order_relaxed);
  }
  for (uint64_t count : reading.counts) reading.count += count;
  return reading;
}

// One metric: exactly one of counter, gauge, timer, read is set.
struct MetricsRegistry::Metric {
  std::string name;
  std::string help;
  MetricType type = MetricType::kCounter;
  MetricLabels labels;
  std::unique_ptr<Counter> counter;
  std::unique_ptr<Gauge> gauge;
  std::unique_ptr<Timer> timer;
  std::function<double()> read;
  uint64_t id = 0;  // of the Registration; 0 = none

  MetricSample sample() const {
    MetricSample sample;
    sample.labels = labels;
    if (counter) sample.value = static_cast<double>(counter->value());
    if (gauge) sample.value = static_cast<double>(gauge->value());
    if (timer) sample.timer = timer->read();
    if (read) sample.value = read();
    return sample;
  }
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() {
  absl::MutexLock lock(&mutex_);
  for (const Metric& metric : metrics_) CHECK(metric.id == 0);
}

void MetricsRegistry::check_family(std::string_view name, std::string_view help, MetricType type) const {
  for (const Metric& metric : metrics_) {
    if (metric.name != name) continue;
    CHECK(metric.type == type);
    CHECK(metric.help == help);
    return;
  }
}

MetricsRegistry::Metric& MetricsRegistry::find_or_add(std::string_view name, std::string_view help, MetricType type,
                                                      MetricLabels labels) {
  std::sort(labels.begin(), labels.end());
  check_family(name, help, type);
  for (Metric& metric : metrics_) {
    if (metric.name == name && metric.labels == labels) {
      CHECK(!metric.read);
      return metric;
    }
  }
  Metric& metric = metrics_.emplace_back();
  metric.name = name;
  metric.help = help;
  metric.type = type;
  metric.labels = std::move(labels);
  if (type == MetricType::kCounter) metric.counter = std::make_unique<Counter>();
  if (type == MetricType::kGauge) metric.gauge = std::make_unique<Gauge>();
  if (type == MetricType::kTimer) metric.timer = std::make_unique<Timer>();
  return metric;
}

Counter& MetricsRegistry::counter(std::string_view name, std::string_view help, MetricLabels labels) {
  absl::MutexLock lock(&mutex_);
  return *find_or_add(name, help, MetricType::kCounter, std::move(labels)).counter;
}

Gauge& MetricsRegistry::gauge(std::string_view name, std::string_view help, MetricLabels labels) {
  absl::MutexLock lock(&mutex_);
  return *find_or_add(name, help, MetricType::kGauge, std::move(labels)).gauge;
}

Timer& MetricsRegistry::timer(std::string_view name, std::string_view help, MetricLabels labels) {
  absl::MutexLock lock(&mutex_);
  return *find_or_add(name, help, MetricType::kTimer, std::move(labels)).timer;
}

MetricsRegistry::Registration MetricsRegistry::observe(std::string_view name, std::string_view help, MetricType type,
                                                       MetricLabels labels, std::function<double()> read) {
  CHECK(type != MetricType::kTimer);
  std::sort(labels.begin(), labels.end());
  absl::MutexLock lock(&mutex_);
  check_family(name, help, type);
  for (const Metric& metric : metrics_) CHECK(metric.name != name || metric.labels != labels);
  Metric& metric = metrics_.emplace_back();
  metric.name = name;
  metric.help = help;
  metric.type = type;
  metric.labels = std::move(labels);
  metric.read = std::move(read);
  metric.id = next_id_++;
  Registration registration;
  registration.registry_ = this;
  registration.id_ = metric.id;
  return registration;
}

MetricsRegistry::Registration::~Registration() {
  if (registry_ != nullptr) registry_->forget(id_);
}

// The other metrics keep their address: their values are behind pointers.
void MetricsRegistry::forget(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  auto found = std::find_if(metrics_.begin(), metrics_.end(), [id](const Metric& metric) { return metric.id == id; });
  CHECK(found != metrics_.end());
  metrics_.erase(found);
}

std::vector<MetricFamily> MetricsRegistry::collect() const {
  std::map<std::string_view, MetricFamily> families;
  absl::MutexLock lock(&mutex_);
  for (const Metric& metric : metrics_) {
    MetricFamily& family = families[metric.name];
    family.name = metric.name;
    family.help = metric.help;
    family.type = metric.type;
    family.samples.push_back(metric.sample());
  }
  std::vector<MetricFamily> result;
  result.reserve(families.size());
  for (auto& [name, family] : families) result.push_back(std::move(family));
  return result;
}

}  // namespace scyper
