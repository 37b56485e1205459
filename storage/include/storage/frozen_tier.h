#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/disk.h"
#include "base/mutex.h"
#include "base/status.h"
#include "storage/page_cache.h"
#include "storage/tier_caches.h"
#include "storage/tier_options.h"

// Where the data of frozen vectors lies that is not in memory (docs/tiering.md).
namespace scyper::storage {

class SharedMemory;
class Table;

// Where the data of one vector lies in the tier.
struct TierPlace {
  std::shared_ptr<const TierFile> file;  // null: it is in the chunk's image
  uint64_t offset = 0;
  uint32_t bytes = 0;      // of the vector's image
  uint32_t values_at = 0;  // of the header there; the one in memory has its values elsewhere
  bool returns = false;    // was in memory before the restart, and is to come back
};

// How much a vector of a frozen chunk is used. In memory that children write, too; updates may get lost.
struct VectorMark {
  std::atomic<uint32_t> window{0};  // FrozenTier::now() at its last use
  // What its uses cost where its data is in the tier, in reads of single values; halved with each window that ends. As
  // it was in `window`.
  std::atomic<uint32_t> cost{0};

  uint32_t cost_at(uint32_t now) const noexcept {
    const uint32_t windows = now - window.load(std::memory_order_relaxed);
    return windows < 32 ? cost.load(std::memory_order_relaxed) >> windows : 0;
  }
};

// Of reading a vector whole (VectorMark::cost).
constexpr uint32_t read_cost(uint32_t bytes) { return 1 + bytes / 4096; }

// Of one frozen chunk. Never changes.
struct TieredColumns {
  uint64_t id = 0;                // no other has it
  std::vector<TierPlace> places;  // by column
  uint32_t made = 0;              // of copies: FrozenTier::now() when the last of them came to memory
};

// The files of a node's frozen vectors, the caches that they are read through, and how much stays in memory.
// Files are immutable and written whole, one per eviction and cache (storage/evictor.h), and known by their stamps. One
// is removed when no slot refers to it and no archive names it; children that read it are served until they are gone
// (PageCache::retire()). What the directory has at the start can be opened again; what nobody has opened, and no
// archive names, goes with the first remove_unused(). Owner: query::Database; outlives its tables. Threads: any.
// Fork: the child reads, and marks; nothing else.
class FrozenTier {
 public:
  static constexpr size_t kPageBytes = 16384;

  // 55006: another process uses the directory; 0A000: no io_uring; 53200; errors of the disk.
  static StatusOr<std::unique_ptr<FrozenTier>> create(const FrozenTierOptions& options);
  ~FrozenTier();
  FrozenTier(const FrozenTier&) = delete;
  FrozenTier& operator=(const FrozenTier&) = delete;

  // Copies a piece of a file. XX001: it is damaged; 53200: all pages have been in use for a second.
  Status read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept;
  // Before several of these: has what is missing read at once (PageReader::ask()).
  size_t ask(std::span<const PageReader::Range> ranges) noexcept;
  TierCaches& caches() { return *caches_; }
  PageCache* cache() { return caches_->cache(0); }  // the default one

  // Reads of what the cache has, one after the other: of the values of a row, which share pages. Holds one of the
  // tier's readers and some pages, so nothing else is read meanwhile. Owner: one thread.
  class CachedReads {
   public:
    explicit CachedReads(FrozenTier* tier) : tier_(tier) {}
    ~CachedReads() { end(); }
    CachedReads(const CachedReads&) = delete;
    CachedReads& operator=(const CachedReads&) = delete;

    // Copies a piece of a file; false: the cache has not all of it.
    bool read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept;
    // Until the next read.
    void end() noexcept;

   private:
    const char* find(const TierFile& file, uint64_t page) noexcept;

    struct Page {
      const TierFile* file = nullptr;
      uint64_t number = 0;
      const char* bytes = nullptr;
    };
    FrozenTier* const tier_;
    uint32_t cache_ = 0;  // that the reader is of
    PageReader* reader_ = nullptr;
    std::array<Page, PageReader::kPins> pages_;  // by pin
  };

  // What read() has found damaged lately, here and in children: pages [first, last] of a file.
  struct DamagedPage {
    uint64_t stamp;
    uint32_t first;
    uint32_t last;
  };
  std::vector<DamagedPage> damage() const;
  // Makes the whole image of a chunk anew that has only lost tuples since: of what else has its rows. Empty: nothing
  // does. When it returns, nothing runs in the one before.
  using ChunkSource = std::function<StatusOr<std::string>(const Table&, uint32_t partition, uint32_t chunk)>;
  void set_chunk_source(ChunkSource source) ABSL_LOCKS_EXCLUDED(source_mutex_);
  // 55000: nothing has it.
  StatusOr<std::string> make_again(const Table& table, uint32_t partition, uint32_t chunk)
      ABSL_LOCKS_EXCLUDED(source_mutex_);
  void note_repair() { repaired_chunks_.fetch_add(1, std::memory_order_relaxed); }

  // A new file's path and stamp, and the file once it is sealed, in a cache of this number: it goes when the last copy
  // of the pointer does and no archive names it.
  Disk* disk() { return disk_.get(); }
  std::string new_path(uint64_t* stamp);
  StatusOr<std::shared_ptr<const TierFile>> adopt(const std::string& path, uint32_t cache = 0);
  // Removes files that nothing refers to any more, those that were there at the start, too: recovery is over. Takes as
  // long as the disk likes.
  void remove_unused();

  // A file that was there at the start; it may be opened several times, in several caches, too. XX001: it is missing,
  // damaged, or another one.
  StatusOr<std::shared_ptr<const TierFile>> open_again(uint64_t stamp, uint64_t data_bytes, uint32_t cache = 0);

  // Files of another node's tier that come with its archive: the names of those that are here (what is no whole file is
  // removed); where to write one (empty: it is here, or the name is none); and one that has been written, and synced:
  // XX001 if it is not whole. They are as if the start had found them.
  std::vector<std::string> file_names() ABSL_LOCKS_EXCLUDED(mutex_);
  std::string receiving_path(std::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  Status receive(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  // The other way around: where those files lie that an archive of this node names, by their names.
  std::map<std::string, std::string> paths_of(const std::set<uint64_t>& stamps) const;

  // The node's own archive of this LSN names these files, or all that slots may refer to now: they stay until
  // keep_only() leaves it out.
  void keep(uint64_t archive_lsn, std::set<uint64_t> stamps);
  void keep_all(uint64_t archive_lsn);
  void keep_only(const std::set<uint64_t>& archive_lsns);

  uint64_t new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  // Vectors in memory may keep their places in files, so that their eviction writes nothing: there are few files.
  bool keeps_copies() const;
  // Images that are in memory; by how much they exceed the budget, less what is on its way to the tier. 0 until the
  // next window when an eviction has failed, and while there are as many files as there may be.
  void add_resident(int64_t bytes) { resident_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t excess_bytes() const;
  bool may_evict() const;
  bool has_room_for_files() const;
  uint64_t resident_bytes() const { return static_cast<uint64_t>(resident_bytes_.load(std::memory_order_relaxed)); }
  void claim(uint64_t bytes) { claimed_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void unclaim(uint64_t bytes) { claimed_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  void note_failure();
  size_t memory_budget_bytes() const { return options_.memory_bytes; }
  bool learns() const { return options_.learns; }

  uint32_t now() const { return now_->load(std::memory_order_relaxed); }
  void begin_window() { now_->fetch_add(1, std::memory_order_relaxed); }
  // Null: there is no room for more; then nothing is known of the chunk's use.
  VectorMark* new_marks(uint32_t columns);
  void free_marks(VectorMark* marks, uint32_t columns);

  struct Counts {
    uint64_t files = 0;
    uint64_t file_bytes = 0;       // of their images
    uint64_t archived_files = 0;   // besides: only archives name them, or nobody, until they are removed
    uint64_t tiered_vectors = 0;   // now
    uint64_t tiered_bytes = 0;     // of these
    uint64_t evicted_vectors = 0;  // since the start
    uint64_t evicted_bytes = 0;
    uint64_t evictions = 0;  // files written
    uint64_t repaired_chunks = 0;
    uint64_t failed_evictions = 0;  // that the disk did not take, or for which there was no memory
    uint64_t promoted_vectors = 0;  // since the start, back in memory (storage/promotion.cc)
    uint64_t promoted_bytes = 0;
    uint64_t failed_promotions = 0;  // vectors that could not be read, or for which there was no memory
    uint64_t unwritten_bytes = 0;    // of evicted ones, what was in a file already
    uint64_t copied_bytes = 0;       // written to files while the vectors stay in memory
  };
  Counts counts() const;
  void note_eviction() { evictions_.fetch_add(1, std::memory_order_relaxed); }
  void note_promotion(uint64_t vectors, uint64_t bytes);
  void note_failed_promotions(uint64_t vectors) { failed_promotions_.fetch_add(vectors, std::memory_order_relaxed); }
  void note_copied(uint64_t bytes) { copied_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  // Of vectors whose data comes into the tier, and leaves it.
  void add_tiered(uint64_t vectors, uint64_t bytes);
  void note_evicted(uint64_t vectors, uint64_t bytes, uint64_t unwritten_bytes);
  void remove_tiered(uint64_t vectors, uint64_t bytes);

 private:
  explicit FrozenTier(const FrozenTierOptions& options);
  Status start();
  Status find_files();
  std::string path_of(uint64_t stamp) const;
  bool is_whole(const std::string& path, uint64_t stamp) const;
  bool has_file(uint64_t stamp) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const TierFile> take_up(std::shared_ptr<const TierFile> file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_open(uint64_t stamp) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // in any cache
  void retire_unused();
  void remove_closed();

  const FrozenTierOptions options_;
  const std::unique_ptr<Disk> disk_;
  int directory_ = -1;  // locked
  std::unique_ptr<TierCaches> caches_;

  static constexpr size_t kDamageMax = 32, kDamageWords = 4;
  void note_damage(const TierFile& file, uint64_t offset, size_t bytes) noexcept;

  std::unique_ptr<SharedMemory> marks_memory_;
  std::atomic<uint32_t>* now_ = nullptr;
  std::atomic<uint32_t>* damage_ =
      nullptr;  // a number of reads, then stamp (two), first and last page of the last ones
  Mutex source_mutex_;
  ChunkSource source_ ABSL_GUARDED_BY(source_mutex_);

  std::atomic<int64_t> resident_bytes_{0};
  std::atomic<uint64_t> claimed_bytes_{0};
  std::atomic<uint32_t> failed_at_{0};
  std::atomic<uint64_t> next_id_{1};
  std::atomic<uint64_t> tiered_vectors_{0}, tiered_bytes_{0}, evicted_vectors_{0}, evicted_bytes_{0};
  std::atomic<uint64_t> evictions_{0}, failed_evictions_{0}, repaired_chunks_{0}, files_{0}, file_bytes_{0};
  std::atomic<uint64_t> promoted_vectors_{0}, promoted_bytes_{0}, failed_promotions_{0}, unwritten_bytes_{0};
  std::atomic<uint64_t> copied_bytes_{0};

  mutable Mutex mutex_;
  uint64_t stamp_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<uint64_t, uint32_t>, std::weak_ptr<const TierFile>> open_ ABSL_GUARDED_BY(mutex_);  // stamp, cache
  std::vector<std::shared_ptr<const TierFile>> unused_ ABSL_GUARDED_BY(mutex_);  // no slot has them any more
  std::set<uint64_t> found_ ABSL_GUARDED_BY(mutex_);                             // at the start, not opened since
  std::set<uint64_t> closed_ ABSL_GUARDED_BY(mutex_);                            // on the disk, were open
  std::map<uint64_t, std::set<uint64_t>> archived_ ABSL_GUARDED_BY(mutex_);      // stamps by archives' LSNs
  VectorMark* marks_ = nullptr;
  size_t used_marks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, std::vector<VectorMark*>> free_marks_ ABSL_GUARDED_BY(mutex_);  // by columns
};

}  // namespace scyper::storage
