#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"

// Page caches of the paged tier: cold data on disk under a fixed amount of memory (docs/tiering.md).
namespace scyper::storage {

// Which page goes when room is needed (tier/eviction_order.h says how).
enum class EvictionPolicy : uint8_t {
  kFifo,  // the one that was loaded first
  kLru,   // the one whose last use is the longest ago
  kLirs,  // by reuse distance: neither a scan nor a repeated one larger than the cache drives out what is used
};
const char* policy_name(EvictionPolicy policy);

struct PageCacheOptions {
  size_t bytes = 0;           // of pages; at least 16 of them
  size_t page_bytes = 16384;  // of all files that are read through it
  EvictionPolicy policy = EvictionPolicy::kLirs;
  bool adjusts_colors = true;  // by statistics of accesses
  // 0: a share of the pages
  uint32_t low_water_pages = 0;  // with fewer free pages,
  uint32_t eviction_pages = 0;   // so many are evicted at once
  uint32_t read_ahead_pages_min = 1;
  uint32_t read_ahead_pages_max = 0;  // of missing pages; 0: 2 MB, or 1/16 of the cache
  uint32_t processes_max = 32;        // this one and children
  uint32_t service_threads = 2;       // which read for children; 0: for tests, nobody does
  uint32_t number = 0;                // that its files carry (TierFile::cache())
};

struct PageCacheStatistics {
  uint64_t pages = 0;  // of the cache, as far as it has grown
  uint64_t resident_pages = 0;
  uint64_t hits = 0;    // pages found in the cache; those of living readers included
  uint64_t faults = 0;  // pages waited for
  uint64_t reads = 0;   // of the disk
  uint64_t pages_read = 0;
  uint64_t evictions = 0;
  uint64_t read_ahead_pages = 0;         // read before they were asked for;
  uint64_t read_ahead_used_pages = 0;    // of these: asked for since,
  uint64_t read_ahead_wasted_pages = 0;  // evicted unused
  uint64_t read_errors = 0;
  uint64_t short_reads = 0;
  uint64_t checksum_errors = 0;
  uint64_t pinned_pages = 0;
  uint64_t waiting = 0;  // wishes of children that nobody has looked at
  uint64_t processes = 0;
};

// A file of the tier that is open. Never changes. Fork: the child may read it.
class TierFile {
 public:
  TierFile(uint32_t cache, uint32_t number, std::string path, uint64_t stamp, uint64_t pages, uint64_t data_bytes)
      : cache_(cache), number_(number), path_(std::move(path)), stamp_(stamp), pages_(pages), data_bytes_(data_bytes) {}
  uint32_t cache() const { return cache_; }    // PageCacheOptions::number of the one that it belongs to
  uint32_t number() const { return number_; }  // there; never used again
  const std::string& path() const { return path_; }
  uint64_t stamp() const { return stamp_; }  // TierFileInfo's
  uint64_t pages() const { return pages_; }
  uint64_t data_bytes() const { return data_bytes_; }

 private:
  const uint32_t cache_;
  const uint32_t number_;
  const std::string path_;
  const uint64_t stamp_;
  const uint64_t pages_;
  const uint64_t data_bytes_;
};

// A fixed-size cache of pages of immutable files, in memory that this process and its children share. Files are read
// past the operating system's cache (O_DIRECT, where the file system can) by io_uring; no file is mapped.
//
// What is found is pinned without a lock: a pin is a word that its reader owns, eviction takes a page's name away first
// and looks at all pins then. What is missing is read by this process: its own threads do so where they are, a child
// leaves a wish in shared memory and sleeps until a service thread has fulfilled it. A child takes no lock, so it may
// be killed at any instruction; remove_process() forgets its pins and wishes.
//
// Invariants: (1) a page has a name in the shared table only while its bytes are whole and their checksum is right; (2)
// a frame whose pin was set before its name was taken keeps page and name; (3) children write pins, wishes and
// statistics of use only, and what they are to write decides nothing but what is evicted and which pages are read for
// them (a child that writes into others' slots can have pages taken from under their readers).
// Threads: any, unless said otherwise. Fork: readers of the child's own, after enter_process(); nothing else.
// Source: Meyer et al., ADMS 2015, 2.2 (fixed caches, low water, eviction size, colours, read-ahead); the order of pin
// and look: Michael, Hazard Pointers, TPDS 2004.
class PageCache {
 public:
  // 53200: no memory; 0A000: no io_uring. 22023: options that make no sense.
  static StatusOr<std::unique_ptr<PageCache>> create(const PageCacheOptions& options);
  ~PageCache();  // no reader and no process is left
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;

  // The file's pages have the cache's size (else 22023). Errors of read_tier_file_info().
  StatusOr<std::shared_ptr<const TierFile>> open(const std::string& path);
  // Nobody in this process reads it any more; it is closed when the children are gone that could.
  void retire(const TierFile& file);
  // How much pages are worth: eviction takes lower colours first, within a colour the policy decides. Statistics add up
  // to 254 to it and take that back when a page is not used, so classes that shall never mix lie 256 apart. All pages
  // begin with 0.
  void set_color(const TierFile& file, uint64_t first_page, uint64_t pages, uint16_t color);
  uint16_t color(const TierFile& file, uint64_t page);  // with what statistics have added

  // Before a fork: the number of the child. 53400: processes_max are there.
  StatusOr<uint32_t> add_process();
  void enter_process(uint32_t process) noexcept;   // first thing in the child
  void remove_process(uint32_t process) noexcept;  // the child is reaped, or was never made
  bool is_child() const noexcept;                  // after enter_process()

  PageCacheStatistics statistics();
  const PageCacheOptions& options() const;  // as they were completed

 private:
  friend class PageReader;
  class State;
  explicit PageCache(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

// One thread's way through files: its pins and its read-ahead, which doubles with every page that is missing in
// sequence and falls back with the first jump. A scan and lookups beside it are two readers.
// Threads: one at a time. Fork: of the process that made it.
class PageReader {
 public:
  static constexpr uint32_t kPins = 4;

  // Of all readers, what they did for the calling thread: for who asks before and after.
  struct Uses {
    uint64_t pages = 0;  // that were asked for
    uint64_t read = 0;   // of the disk, because of that: ahead, too
    uint64_t waits = 0;  // for the disk
  };
  static Uses uses_of_thread() noexcept;

  // 53400: too many readers in this process (64).
  static StatusOr<std::unique_ptr<PageReader>> create(PageCache* cache);
  ~PageReader();
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  // The page's bytes, which stay until the same pin is used again. XX001: the disk cannot give them back (an error, a
  // short read, a checksum that does not match); 53200: all pages of the cache are pinned or under way.
  StatusOr<const char*> pin(const TierFile& file, uint64_t page, uint32_t pin = 0) noexcept;
  // The same if the cache has the page, else null.
  const char* find(const TierFile& file, uint64_t page, uint32_t pin = 0) noexcept;
  void unpin(uint32_t pin = 0) noexcept;
  // Copies a piece of the file; uses pin 0. What is missing of it is read at once, as far as pages are read ahead.
  Status read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept;

  // Pages of a file from `first` on.
  struct Range {
    const TierFile* file;
    uint64_t first;
    uint64_t pages;
  };
  static constexpr size_t kRangesMax = 32;
  // Whoever will read these pages one after the other has what is missing of them read at once, and waits for none.
  // Of how many of the ranges, from the first on, that is so: none beyond kRangesMax, nor beyond as many pages as are
  // read ahead; a child: none while it has asked before and nobody has looked.
  size_t ask(std::span<const Range> ranges) noexcept;

 private:
  class Way;
  explicit PageReader(std::unique_ptr<Way> way);
  const std::unique_ptr<Way> way_;
};

}  // namespace scyper::storage
