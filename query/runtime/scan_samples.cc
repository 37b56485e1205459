#include "runtime/scan_samples.h"

namespace scyper::query {

bool ScanSamples::wants(const ChunkOpening* opening) {
  std::lock_guard<std::mutex> lock(mutex_);
  return noted_.size() < kMax && noted_.insert(opening).second;
}

void ScanSamples::add(const storage::Table* table, storage::HotView asked) {
  std::lock_guard<std::mutex> lock(mutex_);
  all_.emplace_back(table, std::move(asked));
}

}  // namespace scyper::query
