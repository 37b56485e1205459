#include "exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>

namespace scyper::server {

namespace {

prometheus::MetricType type_of(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kTimer:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

void fill_histogram(const Timer::Reading& timer, prometheus::ClientMetric::Histogram* out) {
  out->sample_count = timer.count;
  out->sample_sum = static_cast<double>(timer.sum_ns) * 1e-9;
  uint64_t cumulative = 0;
  for (size_t i = 0; i < Timer::kBoundsNs.size(); ++i) {
    cumulative += timer.counts[i];
    out->bucket.push_back({cumulative, static_cast<double>(Timer::kBoundsNs[i]) * 1e-9});
  }
}

}  // namespace

std::string render_metrics(const std::vector<MetricFamily>& families) {
  std::vector<prometheus::MetricFamily> made;
  for (const MetricFamily& family : families) {
    made.push_back({family.name, family.help, type_of(family.type), {}});
    for (const MetricSample& sample : family.samples) {
      prometheus::ClientMetric& metric = made.back().metric.emplace_back();
      for (const auto& [key, value] : sample.labels) metric.label.push_back({key, value});
      if (family.type == MetricType::kCounter) metric.counter.value = sample.value;
      if (family.type == MetricType::kGauge) metric.gauge.value = sample.value;
      if (family.type == MetricType::kTimer) fill_histogram(sample.timer, &metric.histogram);
    }
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, made);
  return out.str();
}

}  // namespace scyper::server
