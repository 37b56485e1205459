#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "storage/page_cache.h"
#include "tier/cache_layout.h"
#include "tier/eviction_order.h"
#include "tier/read_ring.h"
#include "tier/shared_memory.h"

namespace scyper::storage {

// The node's side of a page cache. Everything guarded is private memory, which children have no use for.
// Who waits for the disk: one thread at a time, any (`is_reaping_`): a thread that faults, until it has its page; then
// a service thread, if somebody else waits for a page. So a lone reader's page costs one system call and no wake-up
// (leader and followers).
class PageCache::State {
 public:
  explicit State(const PageCacheOptions& options);
  ~State();
  Status start();

  StatusOr<std::shared_ptr<const TierFile>> open(const std::string& path);
  void retire(uint32_t file);
  void set_color(uint32_t file, uint64_t first_page, uint64_t pages, uint16_t color);
  uint16_t color(uint64_t id);
  StatusOr<uint32_t> add_process();
  void remove_process(uint32_t process);
  PageCacheStatistics statistics();

  // Also in a child.
  void enter_process(uint32_t process) noexcept { process_ = process; }
  bool is_child() const noexcept { return process_ != 0; }
  ProcessSlot& own_slot() noexcept { return slots_[process_]; }
  // kNoFrame: not there; perhaps, for a reader, who stops after chain_max frames.
  uint32_t find(uint64_t id, uint32_t chain_max) const noexcept;
  bool has_name(uint32_t frame, uint64_t id) const noexcept {
    return frames_read_[frame].page.load(std::memory_order_seq_cst) == id;
  }
  const char* page_at(uint32_t frame) const noexcept { return pages_->read() + frame * options_.page_bytes; }
  void note_use(uint32_t frame) noexcept;
  void ring_bell() noexcept;
  // The reader's demand, filled in: back when it is kDone.
  void fault(uint32_t reader) noexcept;
  // Of the node: begins to read; whoever misses one of the pages sees to their end. No other thread has to wake up, so
  // a scan does not depend on how soon the system lets one run.
  void ask_ahead(std::span<const PageRange> ranges) noexcept;

  const PageCacheOptions& options() const { return options_; }

 private:
  struct OpenFile {
    ~OpenFile();
    std::string path;
    int descriptor = -1;
    uint64_t stamp = 0;
    std::vector<uint64_t> checksums;
    std::vector<uint16_t> colors;
    std::vector<uint8_t> gains;
    uint32_t reads = 0;       // under way
    uint64_t retired_at = 0;  // process stamp; 0 = it is not
  };
  // Whom a page is read for.
  struct Waiter {
    uint32_t process;
    uint32_t reader;
    uint64_t birth;  // of the process
    uint64_t page;
    uint32_t pin;
  };
  struct Outcome {
    PageError error;
    int32_t detail;
  };
  // One read that is under way. Threads: `waiters` under the lock; the rest is whoever's has it: who submits, then who
  // reaps.
  struct Read {
    OpenFile* file = nullptr;
    uint64_t first = 0;  // page id
    std::vector<uint32_t> frames;
    std::vector<iovec> parts;
    std::vector<Outcome> outcomes;  // by page
    std::vector<Waiter> waiters;
    bool is_to_repeat = false;
  };
  struct FrameState {
    uint64_t page = kNoPage;
    bool is_ahead = false;  // read before it was asked for, and nothing is known yet of its use
  };
  struct Process {
    bool is_used = false;
    uint64_t birth = 0;
  };
  struct Parked {
    Waiter waiter;
    uint32_t pages;
  };

  // cache_reads.cc
  void demand(const Waiter& waiter, uint32_t pages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Two windows.
  uint64_t ahead_pages_max() const { return 2 * uint64_t{options_.read_ahead_pages_max}; }
  void read_ahead(std::span<const PageRange> ranges) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool start_reads(OpenFile* file, uint64_t id, uint64_t pages, uint64_t* left, const Waiter* waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t start_read(OpenFile* file, uint64_t id, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void add_read(uint32_t read) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void answer(const Waiter& waiter, uint32_t frame, Outcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool take_wishes();
  bool reap();
  void hand_over();
  void judge(uint32_t read, int32_t result) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void finish(uint32_t read) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void finish_page(const Read& read, size_t page, std::vector<Waiter>* waiters) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void retry_parked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void serve();

  // cache_frames.cc
  uint32_t take_frame() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void find_pinned() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void publish(OpenFile* file, uint64_t id, uint32_t frame, bool is_ahead) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void drop(uint32_t frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void unlink(uint32_t frame, uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t bucket_of(uint64_t id) const noexcept;

  // page_cache.cc
  OpenFile* file_at(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void close_retired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void count_pages() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void add_frames(uint32_t frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void grow();

  PageCacheOptions options_;
  uint32_t frame_count_;
  uint32_t bucket_mask_;
  uint32_t process_ = 0;  // this one; a child has its own copy

  std::unique_ptr<SharedMemory> pages_;
  std::unique_ptr<SharedMemory> directory_;  // DirectoryHeader, buckets, frames
  std::unique_ptr<SharedMemory> traffic_;    // TrafficHeader, slots, uses
  const std::atomic<uint64_t>* loads_read_ = nullptr;
  const std::atomic<uint32_t>* buckets_read_ = nullptr;
  const Frame* frames_read_ = nullptr;
  TrafficHeader* bell_ = nullptr;
  ProcessSlot* slots_ = nullptr;
  FrameUse* uses_ = nullptr;

  Mutex mutex_;
  std::atomic<uint64_t>* loads_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<uint32_t>* buckets_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Frame* frames_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<ReadRing> ring_;
  std::unique_ptr<EvictionOrder> order_ ABSL_GUARDED_BY(mutex_);
  std::vector<FrameState> states_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  uint32_t granted_ ABSL_GUARDED_BY(mutex_) = 0;  // frames that have memory: the first ones
  std::vector<bool> is_pinned_ ABSL_GUARDED_BY(mutex_);
  std::vector<Read> reads_;  // see Read
  std::vector<uint32_t> free_reads_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, uint32_t> loading_ ABSL_GUARDED_BY(mutex_);  // page id -> read
  std::deque<Parked> parked_ ABSL_GUARDED_BY(mutex_);                        // wait for a frame or a read
  uint32_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_reaping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<uint32_t, std::unique_ptr<OpenFile>> files_ ABSL_GUARDED_BY(mutex_);
  uint32_t next_file_ ABSL_GUARDED_BY(mutex_) = 1;
  std::vector<Process> processes_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_birth_ ABSL_GUARDED_BY(mutex_) = 1;
  PageCacheStatistics counts_ ABSL_GUARDED_BY(mutex_);  // hits: of readers that are gone

  std::atomic<bool> stops_{false};
  std::vector<std::thread> service_;
  std::thread growth_;
};

}  // namespace scyper::storage
