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
    MetricFamily* family = nullptr;
    for (MetricFamily& known : *out_) {
      if (known.name == name) family = &known;
    }
    if (family == nullptr) family = &out_->emplace_back(MetricFamily{name, help, type, {}});
    family->samples.push_back({std::move(labels), value, {}});
  }

 private:
  std::vector<MetricFamily>* const out_;
};

}  // namespace scyper::server
