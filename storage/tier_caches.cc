#include "storage/tier_caches.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"

namespace scyper::storage {
namespace {

// Children that read: snapshots, archives, digests.
constexpr uint32_t kProcessesMax = 256;
// While all pages are pinned or under way, others let go of theirs soon.
constexpr int kFullRetries = 1000;
constexpr useconds_t kFullWaitUs = 1000;

// Threads go back to the reader that they had, which knows where they were.
size_t own_reader_place() {
  static std::atomic<uint32_t> next{0};
  thread_local const uint32_t place = next.fetch_add(1, std::memory_order_relaxed);
  return place;
}

}  // namespace

bool is_cache_name(std::string_view name) {
  if (name.empty() || name.size() > kCacheNameBytesMax) return false;
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '-') return false;
  }
  return true;
}

bool has_cache(const FrozenTierOptions& options, std::string_view name) {
  if (name.empty() || name == kDefaultCache) return true;
  for (const TierCacheOptions& cache : options.caches) {
    if (cache.name == name) return true;
  }
  return false;
}

StatusOr<std::unique_ptr<TierCaches>> TierCaches::create(const FrozenTierOptions& options, size_t page_bytes) {
  // what is refused of one (SharedMemory) is of all
  uint64_t bytes = options.cache_bytes;
  for (const TierCacheOptions& one : options.caches) bytes += one.bytes;
  const auto memory_pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  if (bytes / static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) > memory_pages) {
    return sql_error(
        "53200", absl::StrCat("tier_cache and tier_caches are ", bytes, " bytes together, more than the machine has"));
  }
  std::unique_ptr<TierCaches> made(new TierCaches());
  PageCacheOptions cache;
  cache.page_bytes = page_bytes;
  cache.processes_max = kProcessesMax;
  cache.bytes = options.cache_bytes;
  cache.policy = options.cache_policy;
  SCYPER_RETURN_IF_ERROR(made->add(std::string(kDefaultCache), cache));
  for (const TierCacheOptions& one : options.caches) {
    cache.number = made->count();
    cache.bytes = one.bytes;
    cache.policy = one.policy;
    SCYPER_RETURN_IF_ERROR(made->add(one.name, cache));
  }
  return made;
}

Status TierCaches::add(std::string name, const PageCacheOptions& options) {
  auto cache = std::make_unique<Named>();
  cache->name = std::move(name);
  SCYPER_ASSIGN_OR_RETURN(cache->pages, PageCache::create(options));
  caches_.push_back(std::move(cache));
  return Status();
}

TierCaches::~TierCaches() {
  for (const auto& cache : caches_) {
    for (std::atomic<PageReader*>& reader : cache->readers) delete reader.load();
  }
}

std::vector<PageCache*> TierCaches::all() const {
  std::vector<PageCache*> caches;
  for (const auto& cache : caches_) caches.push_back(cache->pages.get());
  return caches;
}

uint32_t TierCaches::number_of(std::string_view name) {
  if (name.empty()) return 0;
  for (uint32_t i = 0; i < count(); ++i) {
    if (caches_[i]->name == name) return i;
  }
  MutexLock lock(&mutex_);
  if (unknown_.emplace(name).second) {
    std::fprintf(stderr, "scyper: tier_caches has no cache \"%s\": tables that name it use the cache %s\n",
                 std::string(name).c_str(), caches_[0]->name.c_str());
  }
  return 0;
}

TierCaches::Readers& TierCaches::readers_of(Named* cache) {
  return cache->pages->is_child() ? cache->child_readers : cache->readers;
}

StatusOr<PageReader*> TierCaches::take_reader(uint32_t number) {
  Named* cache = caches_[number].get();
  Readers& readers = readers_of(cache);
  const size_t own = own_reader_place();
  for (int tries = 0;; ++tries) {
    for (size_t i = 0; i < readers.size(); ++i) {
      std::atomic<PageReader*>& place = readers[(own + i) % readers.size()];
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      PageReader* reader = place.exchange(nullptr, std::memory_order_acquire);
      if (reader != nullptr) return reader;
    }
    auto made = PageReader::create(cache->pages.get());
    if (made.ok()) return made->release();
    // more threads than readers: each has one for as long as one read takes
    if (tries == kFullRetries) return made.status();
    usleep(kFullWaitUs);
  }
}

void TierCaches::give_back(uint32_t number, PageReader* reader) {
  Readers& readers = readers_of(caches_[number].get());
  const size_t own = own_reader_place();
  for (size_t i = 0;; ++i) {  // there are as many places as readers
    PageReader* empty = nullptr;
    if (readers[(own + i) % readers.size()].compare_exchange_strong(empty, reader, std::memory_order_release)) return;
  }
}

Status TierCaches::read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept {
  SCYPER_ASSIGN_OR_RETURN(PageReader * reader, take_reader(file.cache()));
  Status status = reader->read(file, offset, bytes, out);
  for (int tries = 0; sqlstate_of(status) == "53200" && tries < kFullRetries; ++tries) {
    usleep(kFullWaitUs);
    status = reader->read(file, offset, bytes, out);
  }
  if (!status.ok()) reader->unpin();
  give_back(file.cache(), reader);
  return status;
}

// Each cache is asked for the ranges that follow each other in it.
size_t TierCaches::ask(std::span<const PageReader::Range> ranges) noexcept {
  size_t taken = 0;
  while (taken < ranges.size()) {
    const uint32_t number = ranges[taken].file->cache();
    size_t end = taken + 1;
    while (end < ranges.size() && ranges[end].file->cache() == number) ++end;
    const auto reader = take_reader(number);
    if (!reader.ok()) break;
    const size_t of_cache = (*reader)->ask(ranges.subspan(taken, end - taken));
    give_back(number, *reader);
    taken += of_cache;
    if (taken < end) break;
  }
  return taken;
}

}  // namespace scyper::storage
