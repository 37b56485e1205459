#include "testing/compacting.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "storage/frozen_tier.h"
#include "storage/page_cache.h"

namespace scyper::primary {
namespace {

// Removed when the process ends: archives may have kept files there.
class Directories {
 public:
  ~Directories() {
    for (const std::string& name : names_) std::filesystem::remove_all(name);
  }
  std::string make() {
    std::string name = "/tmp/engine_tier_XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr);
    MutexLock lock(&mutex_);
    names_.push_back(name);
    return name;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

EngineOptions tiered(EngineOptions options) {
  static Directories directories;
  constexpr size_t kCacheBytes = 16 * storage::FrozenTier::kPageBytes;
  storage::PageCacheOptions smallest;
  smallest.bytes = kCacheBytes;
  if (sqlstate_of(storage::PageCache::create(smallest).status()) == "0A000") return options;
  options.compaction.tier.directory = directories.make();
  options.compaction.tier.cache_bytes = kCacheBytes;
  options.compaction.tier.memory_bytes = 0;
  return options;
}

}  // namespace scyper::primary
