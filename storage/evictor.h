#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "storage/frozen_slot.h"

namespace scyper::storage {

// A vector whose data may go to the tier, or come back.
struct EvictionCandidate {
  const TablePartition* partition;
  uint64_t chunk;
  uint32_t column;
  uint32_t bytes;     // that its eviction frees
  uint32_t last_use;  // FrozenTier::now()
  bool is_relevant;   // to a hot data view (hot_views.h)
  uint32_t cost = 0;  // VectorMark's, now
};
// Which goes first: the one with the higher rank. What is relevant stays until all else is gone. Of the others first
// those that have not been used lately, by the time since (ADMS 2015, 4.1), then those whose use saves least per byte.
// Whoever reads one value reads a page for it, however small the vector is: below a page, what an eviction frees
// counts, too (as in GreedyDual-Size: Cao and Irani, USITS 1997), and below an eighth of one a vector goes last of all.
uint64_t eviction_rank(const EvictionCandidate& candidate, uint32_t now);
// Ranks that are alike: within a factor of two.
constexpr size_t kRankClasses = 512;
size_t rank_class(uint64_t rank);
// What becomes of it in so many windows without use: costs halve with each (VectorMark::cost).
size_t aged_class(size_t rank_class, uint32_t windows);
EvictionCandidate candidate_of(const TablePartition* partition, uint64_t chunk, uint32_t column, uint32_t bytes,
                               uint32_t now);

// Brings data of frozen vectors to the tier when there is more of it in memory than FrozenTierOptions::memory_bytes, in
// steps as the compactor's:
//   1. claim(): the coldest vectors of some partitions are noted;
//   2. write_one(): all that is noted is written to one new file per page cache (FrozenStore::tier_cache), column by
//      column; each chunk gets an image without;
//   3. finish_one(): slots get these images and the places, the old ones are retired.
// An error of the disk, or no memory for the new image: the vectors stay in memory.
// While there is no excess, vectors whose use costs more than their way come back the same way (promotion.cc), once per
// window: as long as the budget has room, else once vectors have gone that would go long before them. They keep their
// places in files (FrozenSlot::copies), so that they go again without a write. After a restart first those come that
// were in memory before. Once all that is there, vectors in memory are written, too (tier_copies.cc): so a restart need
// not read them, and their eviction need not write them.
// A chunk that is to be emptied comes back whole, the same way but at once, beside what the budget allows; it does not
// go again before (bring_back()). One that loses many rows comes, too, so that the rest is moved in memory.
// Chunks of which pages were found damaged (FrozenTier::damage()) go the same way in the other direction: their image
// is made anew of rows that an archive has, and comes to their place, whole. What cannot be repaired is tried again in
// each window. Threads: claim() and finish_one() by whoever the partitions belong to, between transactions; write_one()
// one at a time, any. Fork: the child must not call it.
class Evictor {
 public:
  explicit Evictor(FrozenTier* tier) : tier_(tier) {}
  ~Evictor();  // before the memory of its tables
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  bool claim(std::span<TablePartition* const> partitions);
  // Step 1 of a chunk that is to be emptied, or of which many rows leave now; true: it is on its way, or others are,
  // and it is to wait. False: nothing of it is in the tier, it has no tuples left, or it could not be brought in this
  // window.
  bool bring_back(TablePartition* partition, uint64_t chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  // It has been emptied, wherever it was.
  void end_return(const TablePartition* partition, uint64_t chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_waiting() const ABSL_LOCKS_EXCLUDED(mutex_);
  // One that comes back as it loses rows, or all that is to go, or else one of the others. False: nothing waits.
  bool write_one();
  bool finish_one(std::span<TablePartition* const> partitions);

 private:
  enum class JobKind : uint8_t { kEviction, kPromotion, kCopy, kReturn };
  static bool comes_to_memory(JobKind kind) { return kind == JobKind::kPromotion || kind == JobKind::kReturn; }
  // A chunk on its way.
  struct Piece {
    std::shared_ptr<FreezeGate> gate;
    TablePartition* partition;
    uint64_t chunk;
    const char* image;  // pinned
    std::shared_ptr<const TieredColumns> before;
    std::vector<bool> columns;                      // that go, or come
    uint32_t cache;                                 // of files that are written for it
    uint64_t unwritten_bytes = 0;                   // of those that go, what is in a file already
    std::shared_ptr<TieredColumns> places;          // then
    std::shared_ptr<const TieredColumns> copies;    // the slot's; then those that it is to have
    std::shared_ptr<TieredColumns> left = nullptr;  // the same of those that go, to be changed
    const char* next = nullptr;  // the image without the columns' data, or with it; null: there is none
    uint32_t next_bytes = 0;
  };
  // A damaged chunk, and the image in its place; null: there is none.
  struct Repair {
    std::shared_ptr<FreezeGate> gate;
    TablePartition* partition;
    uint64_t chunk;
    const char* image;  // pinned
    FrozenMemory* memory;
    FrozenPin pin;
    const char* next = nullptr;
    uint32_t next_bytes = 0;
  };
  // What one claim() found, all of partitions of one owner.
  struct Job {
    FrozenMemory* memory = nullptr;
    FrozenPin pin = 0;
    uint64_t bytes = 0;  // of the columns
    size_t count = 0;    // promotions: of these
    JobKind kind = JobKind::kEviction;
    std::vector<Piece> pieces;
  };

  // A chunk that comes back to be emptied, until it is; or that loses rows, until it is there.
  struct Return {
    std::shared_ptr<FreezeGate> gate;
    uint64_t bytes = 0;  // beside the budget
    bool is_on_way = false;
    uint32_t failed_at = 0;  // in which window; 0: in none
  };

  // What is remembered of a partition, and of an owner by its first one.
  struct Known {
    std::shared_ptr<FreezeGate> gate;  // may be null
    // While something is damaged: the window in which the chunks were looked at last, and where to go on, so that one
    // which cannot be repaired does not keep others from it.
    uint32_t looked_at = 0;
    uint64_t next_look = 0;
    // Windows in which the owner's partitions were looked at last for what is to come, and for what has no copies.
    uint32_t promoted_at = 0;
    uint32_t copied_at = 0;
    // Bytes in memory of the owner's vectors by rank_class(), as they were in which window.
    std::vector<uint64_t> ranked_bytes;
    uint32_t ranked_at = 0;
    uint64_t resident_in_vain = 0;  // of all owners, when others' were to go
    uint64_t returned = 0;          // chunks before this one have come back since the restart, as far as they are to
  };

  std::vector<EvictionCandidate> find_candidates(std::span<TablePartition* const> partitions,
                                                 uint64_t* resident = nullptr);
  void forget_returns_of_closed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_losing_rows(const TablePartition* partition, uint64_t chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  void note_returned(const Piece& piece) ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes by rank_class().
  void note_ranks(const TablePartition* first, const std::vector<uint64_t>& bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<uint64_t> ranks_of_all() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_looked_in_vain(const TablePartition* first) ABSL_LOCKS_EXCLUDED(mutex_);
  void note_in_vain(const TablePartition* first) ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t share_of(const std::vector<uint64_t>& own, uint64_t wanted) const ABSL_LOCKS_EXCLUDED(mutex_);
  static void add_piece(Job* job, const EvictionCandidate& candidate);
  void start(Job job);
  void start_eviction(std::span<const EvictionCandidate> candidates);
  static bool use_copy(Piece* piece, uint32_t column, std::span<const FrozenTier::DamagedPage> damage);
  bool write_files(std::span<Job> jobs);
  Status write_file(std::span<const std::pair<Piece*, uint32_t>> vectors);
  void make_images(Job* job);
  void begin_places(Piece* piece, JobKind kind) const;
  bool drop_copies(std::span<TablePartition* const> partitions);
  void finish(Piece* piece, JobKind kind);
  void drop(Job* job) noexcept;
  bool claim_damaged(std::span<TablePartition* const> partitions);
  bool repair_one();
  bool finish_repair(std::span<TablePartition* const> partitions);
  bool is_in_work(const TablePartition* partition) const;
  bool claim_without_excess(std::span<TablePartition* const> partitions);
  bool claim_promotion(std::span<TablePartition* const> partitions);
  bool claim_return(std::span<TablePartition* const> partitions);
  void find_returning(TablePartition* partition, uint64_t bytes_max, std::vector<EvictionCandidate>* returning);
  bool claim_copies(std::span<TablePartition* const> partitions);
  bool begin_window(const TablePartition* first, uint32_t Known::* at) ABSL_LOCKS_EXCLUDED(mutex_);
  Known& known(const TablePartition* partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<EvictionCandidate> find_used(std::span<TablePartition* const> partitions) const;
  uint64_t take_what_fits(std::span<const EvictionCandidate> used, uint64_t bytes_max, uint64_t freed, Job* job) const;
  std::span<const EvictionCandidate> find_worth_more(std::span<const EvictionCandidate> used, uint64_t bytes_max) const;
  uint64_t bytes_left_in_window() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<EvictionCandidate> find_replaced(std::span<TablePartition* const> partitions,
                                               std::span<const EvictionCandidate> used, uint64_t room,
                                               uint64_t bytes_max);
  void bring(Job* job);
  void bring(Piece* piece, FrozenMemory* memory, bool is_whole);
  void ask(const Piece& piece);

  FrozenTier* const tier_;
  mutable Mutex mutex_;
  Mutex claiming_;  // before mutex_: held from the look at the room for what comes to memory until it is taken
  std::deque<Job> waiting_ ABSL_GUARDED_BY(mutex_);
  std::deque<Job> done_ ABSL_GUARDED_BY(mutex_);
  std::set<const TablePartition*> in_work_ ABSL_GUARDED_BY(mutex_);  // of any job
  std::map<std::pair<const TablePartition*, uint64_t>, Return> returns_ ABSL_GUARDED_BY(mutex_);
  // Rows that chunks had lost when they were seen first since this window: of those of which rows are read.
  std::map<std::pair<const TablePartition*, uint64_t>, uint32_t> losing_ ABSL_GUARDED_BY(mutex_);
  uint32_t losing_since_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Repair> damaged_ ABSL_GUARDED_BY(mutex_);
  std::deque<Repair> repaired_ ABSL_GUARDED_BY(mutex_);
  std::map<const TablePartition*, Known> known_ ABSL_GUARDED_BY(mutex_);
  // Promotions: what has been claimed in this window, and what is under way.
  uint32_t promotion_window_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_in_window_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t promoting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint32_t> copies_failed_at_{0};  // in which window; 0: in none
};

}  // namespace scyper::storage
