#pragma once

#include <utility>
#include <vector>

#include "base/metrics.h"

namespace scyper::server {

// Adds samples to the families that a page shows; one name, one family. Threads: one.
class MetricFamilies {
 public:
  explicit MetricFamilies(std::vector<MetricFamily>* out) : out_(out) {}
  void add(const char* name, const char* help, MetricType type, MetricLabels labels, double value) {
    family(name, help, type)->samples.push_back({std::move(labels), value, {}});
  }
  void add(const char* name, const char* help, MetricLabels labels, const Timer::Reading& timer) {
    family(name, help, MetricType::kTimer)->samples.push_back({std::move(labels), 0, timer});
  }

 private:
  MetricFamily* family(const char* name, const char* help, MetricType type) {
    for (MetricFamily& known : *out_) {
      if (known.name == name) return &known;
    }
    return &out_->emplace_back(MetricFamily{name, help, type, {}});
  }

  std::vector<MetricFamily>* const out_;
};

}  // namespace scyper::server
