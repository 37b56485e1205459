#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/status.h"
#include "storage/page_cache.h"
#include "storage/tier_options.h"

namespace scyper::storage {

// The page caches of a node's tier by number and name. Number 0 is called `default`: it is there always, and serves
// whoever names a cache that this node does not have. Files carry the number of the cache that has opened them.
// Owner: FrozenTier. Threads: any. Fork: the child reads, once it has entered all caches; nothing else.
class TierCaches {
 public:
  // Errors of PageCache::create().
  static StatusOr<std::unique_ptr<TierCaches>> create(const FrozenTierOptions& options, size_t page_bytes);
  ~TierCaches();
  TierCaches(const TierCaches&) = delete;
  TierCaches& operator=(const TierCaches&) = delete;

  uint32_t count() const { return static_cast<uint32_t>(caches_.size()); }
  const std::string& name(uint32_t number) const { return caches_[number]->name; }
  PageCache* cache(uint32_t number) const { return caches_[number]->pages.get(); }
  // Of all, for ChildOptions::pages.
  std::vector<PageCache*> all() const;
  // 0 for an empty name, and for one that no cache has: the first time it is asked for, a line on standard error.
  uint32_t number_of(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);

  // Copies a piece of a file, by the cache that it belongs to. XX001: it is damaged; 53200: all pages have been in use
  // for a second.
  Status read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept;
  // Has what is missing read at once (PageReader::ask()), by the caches that the files belong to.
  size_t ask(std::span<const PageReader::Range> ranges) noexcept;
  // A reader of a cache for as long as a few reads take, for the calling thread. 53400: there are too many for a
  // second.
  StatusOr<PageReader*> take_reader(uint32_t number);
  void give_back(uint32_t number, PageReader* reader);

 private:
  using Readers = std::array<std::atomic<PageReader*>, 64>;
  struct Named {
    std::string name;
    std::unique_ptr<PageCache> pages;
    // Of this process; a child has not those of its parent.
    Readers readers{};
    Readers child_readers{};
  };

  TierCaches() = default;
  Status add(std::string name, const PageCacheOptions& options);
  static Readers& readers_of(Named* cache);

  std::vector<std::unique_ptr<Named>> caches_;
  Mutex mutex_;
  std::set<std::string, std::less<>> unknown_ ABSL_GUARDED_BY(mutex_);  // names that were asked for
};

}  // namespace scyper::storage
