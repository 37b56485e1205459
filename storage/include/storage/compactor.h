#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/status.h"
#include "storage/access_observer.h"
#include "storage/frozen_slot.h"

namespace scyper::storage {

class Evictor;

// Turns cold chunks of tables (Table::allow_freezing()) into frozen ones, in steps between transactions:
//   1. take_step(): a full chunk becomes cold;
//   2. the compactor's thread makes its image and puts it into frozen memory;
//   3. take_step(): the chunk becomes frozen, or hot again when more than 1/64 of its tuples have gone meanwhile.
// Besides, it empties frozen chunks that have lost a quarter of their tuples (3.5: TIDs of the others change), and
// brings data of frozen chunks to the tier (evictor.h), and places frozen chunks by the table's hot data views
// (hot_views.h): one of which few tuples are relevant loses these to hot chunks.
//
// Which chunks are cold: full ones behind the newest of their partition that nobody has touched in two windows of the
// observer. Where it sees writes only, they are cooling for one window more, which counts the tuples that transactions
// read: a sixteenth, and the chunk is hot again, and has to be quiet for twice as long before the next trial. Those of
// which in two windows the same few pages were touched, a sixteenth at most, become cooling: tuples that transactions
// change there move to hot chunks at once, those that they read with the next step. A cooling chunk that nobody touches
// in two windows becomes cold; one of which a sixteenth of the tuples was used in one window is hot again.
//
// Source: Funke et al., VLDB 2012, section 3.3. We differ: a chunk that is being compressed is not written in place, so
// that nothing has to be compressed again; what was read of a cooling chunk moves after the transaction, which may hold
// its place; whole scans do not count there.
//
// Threads: observe() one, start()'s where that was called; take_step() by whoever the partitions belong to; any number
// of threads for different partitions. take_step() never waits for the observer. Fork: the child must not call it.
class Compactor {
 public:
  struct Options {
    // For tests: every chunk, those that are not full as if they were.
    bool is_forced = false;
    bool cools_first = false;         // with is_forced: chunks become cooling, and cold when nobody touches them
    uint32_t moved_tuples_max = 256;  // per step: some 0.2 ms
    uint32_t jobs_max = 4;            // chunks between steps 1 and 3
    uint32_t reheat_share = 16;       // one tuple in so many of a cooling chunk, used in one window: it is hot again
    // Outlives the compactor; null: only `is_forced` makes chunks cold. Where it is kCounters, steps count for it: of
    // each window which chunks had committed changes (kChangedForObserver), and no reads.
    AccessObserver* observer = nullptr;
    FrozenTier* tier = nullptr;  // of the tables; null: they have none
    // Called by start()'s thread when a window has ended, before steps are due. Empty: nobody.
    std::function<void()> at_window_end = {};
  };

  explicit Compactor(const Options& options);
  ~Compactor();  // before the memory of its tables
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  // Ends a window of the observer. `read_by_queries`: AccessObserver::collect().
  Status observe(const std::set<TableId>& read_by_queries);

  // Called by the compactor's thread when take_step() may have something to do: a window has ended (all), or an image
  // of a shared table, or of a partition, is made.
  enum class Due : uint8_t { kAll, kShared, kPartition };
  using WhenDue = std::function<void(Due)>;
  // Step 2 from now on by a thread, which also ends a window so often (0: never).
  void start(uint64_t window_us = 0, WhenDue when_due = {});
  // Step 2 once, by the caller, of a chunk or an eviction; false: nothing waits.
  bool freeze_one();

  // One step for one of these partitions, which belong to the caller, who is between transactions: `log` is empty.
  // False: there was nothing to do.
  bool take_step(std::span<TablePartition* const> partitions, ChangeLog* log);

  struct Counts {
    uint64_t cooled = 0;          // chunks that became cold
    uint64_t frozen = 0;          // of these, frozen
    uint64_t returned = 0;        // of these, hot again
    uint64_t emptied = 0;         // frozen ones
    uint64_t moved = 0;           // tuples, to empty frozen chunks
    uint64_t without_memory = 0;  // images for which there was none
    uint64_t windows = 0;         // of the observer that have ended
    uint64_t failed_windows = 0;  // of which it could not tell
    uint64_t freeze_ns = 0;       // in step 2
    uint64_t observe_ns = 0;      // in ending windows
    uint64_t waiting = 0;         // chunks between steps 1 and 3 now
    uint64_t watched = 0;         // by the observer now
    uint64_t cooling = 0;         // chunks that became cooling
    uint64_t reheated = 0;        // of these, hot again
    uint64_t relocated = 0;       // tuples that were read in cooling chunks, moved to hot ones
    uint64_t placed = 0;          // frozen chunks of which it became known to which hot data views they matter
    uint64_t irrelevant = 0;      // of these, to none
    uint64_t relevant_moved = 0;  // tuples, from these to hot chunks
  };
  Counts counts() const;
  // Of the tables that have had frozen chunks since the start.
  struct TableCounts {
    uint64_t frozen = 0;       // chunks
    uint64_t returned = 0;     // cold ones that became hot again before they were frozen
    uint64_t emptied = 0;      // frozen ones
    uint64_t moved = 0;        // tuples, to empty frozen chunks
    uint64_t image_bytes = 0;  // of the chunks that were frozen
  };
  std::map<TableId, TableCounts> table_counts() const;

 private:
  struct Job {
    std::shared_ptr<FreezeGate> gate;
    TablePartition* partition;
    uint64_t chunk;
    const char* cells;
    const char* live;
    FrozenMemory* memory;
    Due owner;
    const char* image = nullptr;
    size_t image_bytes = 0;
  };

  // A chunk that the observer watches, from the end of the window on in which it was found.
  struct Watched {
    std::shared_ptr<FreezeGate> gate;
    TableId table;
    char* start;
    size_t bytes;
    bool is_known = false;             // to the observer
    WatchId id{0};                     // there
    AccessCounter* counter = nullptr;  // there, where it is kCounters
    uint32_t quiet_windows = 0;
    uint32_t quiet_windows_min = 0;  // then it is cold, or on trial
    std::vector<bool> touched;       // units, in the last window
    uint32_t few_windows = 0;        // in a row in which few units were touched, none but in the one before

    void end_window(const RangeAccess& access);
  };
  using ChunkId = std::pair<const TablePartition*, uint64_t>;

  // Trials of a chunk: those after which it was hot again, as it was read so much, and the present one.
  struct Trials {
    std::shared_ptr<FreezeGate> gate;
    uint32_t failed = 0;
    std::chrono::steady_clock::time_point begun;
  };

  void run();
  bool freeze_next();
  bool is_trial_short(const ChunkId& chunk) const ABSL_LOCKS_EXCLUDED(mutex_);
  void end_trial(const ChunkId& chunk, bool has_failed) ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_evicting() const;
  bool evict_some(std::span<TablePartition* const> partitions);
  void end_window();
  Status tell_observer();
  bool finish_one(std::span<TablePartition* const> partitions);
  bool cool_one(TablePartition* partition, ChangeLog* log);
  bool force_one(TablePartition* partition);
  bool begin_cooling(TablePartition* partition, uint64_t chunk);
  bool begin_trial(TablePartition* partition, uint64_t chunk);
  bool cool(TablePartition* partition, uint64_t chunk);
  bool take_watched(const TablePartition* partition, bool (*is_wanted)(const Watched&), uint64_t* chunk);
  void begin_window(TablePartition* partition);
  void watch_more(TablePartition* partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_counting() const;
  bool sees_reads() const;
  void count_writes(TablePartition* partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void judge_cooling(TablePartition* partition);
  bool move_touched(TablePartition* partition, ChangeLog* log);
  void return_chunk(TablePartition* partition, uint64_t chunk);
  void stop_watching(Watched* watched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void forget_closed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool empty_one(TablePartition* partition, ChangeLog* log);
  bool is_coming_back(TablePartition* partition, uint64_t chunk);
  void wake() ABSL_LOCKS_EXCLUDED(mutex_);
  bool place_one(TablePartition* partition, ChangeLog* log);
  static bool measure_one(TablePartition* partition);
  void place(FrozenSlot* slot, std::shared_ptr<const HotViews> views, uint64_t relevant_to);
  void finish(const Job& job);
  bool has_room() const ABSL_LOCKS_EXCLUDED(mutex_);
  static void drop(const Job& job);

  const Options options_;
  uint64_t window_us_ = 0;  // start()'s, as the next
  WhenDue when_due_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> waiting_ ABSL_GUARDED_BY(mutex_);  // for step 2
  std::deque<Job> done_ ABSL_GUARDED_BY(mutex_);     // for step 3
  uint32_t in_work_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<ChunkId, Watched> watched_ ABSL_GUARDED_BY(mutex_);
  std::map<ChunkId, Trials> trials_ ABSL_GUARDED_BY(mutex_);
  std::vector<WatchId> unwatched_ ABSL_GUARDED_BY(mutex_);                       // that the observer is still to forget
  uint64_t windows_ ABSL_GUARDED_BY(mutex_) = 1;                                 // that observe() has begun
  std::map<const TablePartition*, uint64_t> looked_at_ ABSL_GUARDED_BY(mutex_);  // begin_window(): in which window
  std::map<TableId, TableCounts> by_table_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  const std::unique_ptr<Evictor> evictor_;  // null: there is no tier
  std::thread thread_;

  struct {
    std::atomic<uint64_t> cooled{0}, frozen{0}, returned{0}, emptied{0}, moved{0}, without_memory{0};
    std::atomic<uint64_t> windows{0}, failed_windows{0}, freeze_ns{0}, observe_ns{0};
    std::atomic<uint64_t> cooling{0}, reheated{0}, relocated{0}, placed{0}, irrelevant{0}, relevant_moved{0};
  } counts_;
};

}  // namespace scyper::storage
