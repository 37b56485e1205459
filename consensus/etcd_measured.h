#pragma once

#include <memory>

#include "base/metrics.h"
#include "consensus/etcd.h"

namespace scyper::consensus {

// Counts what `etcd` answers, and times it. The registry must outlive it.
std::unique_ptr<Etcd> measure_etcd(std::unique_ptr<Etcd> etcd, MetricsRegistry* metrics);

}  // namespace scyper::consensus
