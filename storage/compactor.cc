#include "storage/compactor.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "evictor.h"
#include "slots.h"
#include "storage/change_log.h"
#include "storage/hot_view_learner.h"
#include "storage/hot_views.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kReturnShare = 64;  // of the tuples, lost between steps 1 and 3: it was not cold
// Of the thread. Beside workers that keep all cores busy it gets a quarter of one, which freezes more than these can
// write, so that it is never starved for long.
constexpr int kNice = 5;
constexpr uint32_t kTrialsMax = 6;   // by which the windows before the next are doubled
constexpr uint32_t kFewPages = 16;   // one in so many touched, and
constexpr uint32_t kFewWindows = 2;  // the same: then a chunk is cooling

uint32_t tuples_at_first(const TablePartition* partition, uint64_t chunk) {
  const FrozenSlot& slot = partition->frozen[chunk];
  if (slot.state == ChunkState::kCold) {
    return reinterpret_cast<const ChunkHeader*>(slot.chunk)->live + lost_tuples(partition, chunk);
  }
  return FrozenChunk(slot.image, nullptr).header().live;
}

// Of [0, kChunkTuples), those with a tuple; at most `max`.
std::vector<uint32_t> first_tuples(const FrozenSlot& slot, uint32_t max) {
  std::vector<uint32_t> offsets;
  slot.invalid.for_each_valid(0, kChunkTuples, [&](uint32_t begin, uint32_t end) {
    for (; begin < end && offsets.size() < max; ++begin) offsets.push_back(begin);
  });
  return offsets;
}

// And nobody has used it since the window ended.
bool is_quiet_cooling(const FrozenSlot& slot) {
  return slot.state == ChunkState::kCooling && slot.cooling->quiet_windows >= kQuietWindows &&
         slot.cooling->live == reinterpret_cast<const ChunkHeader*>(slot.chunk)->live;
}

uint64_t ns_since(std::chrono::steady_clock::time_point start) {
  return static_cast<uint64_t>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
}

// What cannot be forgotten is reported on, and that is ignored.
void forget(AccessObserver* observer, WatchId id) { observer->forget(id).IgnoreError(); }

}  // namespace

Compactor::Compactor(const Options& options)
    : options_(options), evictor_(options.tier == nullptr ? nullptr : std::make_unique<Evictor>(options.tier)) {}

Compactor::~Compactor() {
  {
    MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(&mutex_);
  for (const Job& job : done_) drop(job);
  for (auto& [chunk, watched] : watched_) stop_watching(&watched);
  for (const WatchId id : unwatched_) forget(options_.observer, id);
}

Status Compactor::observe(const std::set<TableId>& read_by_queries) {
  std::vector<RangeAccess> accesses;
  if (options_.observer != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(accesses, options_.observer->collect(read_by_queries));
  }
  std::unordered_map<uint64_t, const RangeAccess*> by_id;
  for (const RangeAccess& access : accesses) by_id[access.id.value()] = &access;
  {
    MutexLock lock(&mutex_);
    const uint64_t window = windows_++;
    forget_closed();
    for (auto& [chunk, watched] : watched_) {
      if (is_counting() && looked_at_[chunk.first] != window) continue;  // nobody has counted
      const auto found = watched.is_known ? by_id.find(watched.id.value()) : by_id.end();
      if (found != by_id.end()) watched.end_window(*found->second);  // else watched since
    }
  }
  return tell_observer();
}

void Compactor::Watched::end_window(const RangeAccess& access) {
  const bool is_touched = access.written_units > 0 || (access.knows_reads && access.read_units > 0);
  quiet_windows = is_touched ? 0 : quiet_windows + 1;
  const uint8_t counted = access.knows_reads ? kAccessRead | kAccessWritten : kAccessWritten;
  const std::vector<bool> before = std::exchange(touched, std::vector<bool>(access.units.size()));
  size_t units = 0;
  bool is_new = false;  // was not touched in the window before
  for (size_t i = 0; i < access.units.size(); ++i) {
    if ((access.units[i] & counted) == 0) continue;
    touched[i] = true;
    ++units;
    is_new |= i >= before.size() || !before[i];
  }
  const bool is_few = units > 0 && units * kFewPages <= access.units.size();
  few_windows = !is_few ? 0 : is_new ? 1 : few_windows + 1;
}

// Of what to forget and what else to watch. Without the lock, which owners of partitions take: it waits for the system.
Status Compactor::tell_observer() {
  std::vector<WatchId> unwatched;
  std::vector<std::pair<ChunkId, Watched>> found;
  {
    MutexLock lock(&mutex_);
    unwatched.swap(unwatched_);
    for (const auto& [chunk, watched] : watched_) {
      if (!watched.is_known) found.emplace_back(chunk, watched);
    }
  }
  for (const WatchId id : unwatched) forget(options_.observer, id);
  Status first;
  for (const auto& [chunk, watched] : found) {
    const StatusOr<WatchId> id = options_.observer->watch(watched.table, watched.start, watched.bytes);
    if (!id.ok()) {  // in the next window
      if (first.ok()) first = id.status();
      continue;
    }
    MutexLock lock(&mutex_);
    const auto known = watched_.find(chunk);
    if (known != watched_.end() && known->second.gate == watched.gate && known->second.start == watched.start) {
      known->second.id = *id;
      known->second.is_known = true;
      known->second.counter = options_.observer->counter_of(*id);
    } else {
      unwatched_.push_back(*id);
    }
  }
  return first;
}

// What was found so, if it is still watched.
bool Compactor::take_watched(const TablePartition* partition, bool (*is_wanted)(const Watched&), uint64_t* chunk) {
  MutexLock lock(&mutex_);
  const auto end = watched_.upper_bound({partition, UINT64_MAX});
  for (auto it = watched_.lower_bound({partition, 0}); it != end; ++it) {
    if (!is_wanted(it->second)) continue;
    *chunk = it->first.second;
    stop_watching(&it->second);
    watched_.erase(it);
    return true;
  }
  return false;
}

// What is done once a window.
void Compactor::begin_window(TablePartition* partition) {
  {
    MutexLock lock(&mutex_);
    uint64_t& window = looked_at_[partition];
    if (window == windows_) return;
    window = windows_;
    if (options_.observer != nullptr) watch_more(partition);
    if (is_counting()) count_writes(partition);
  }
  if (partition->frozen != nullptr) judge_cooling(partition);
}

// The full chunks behind the newest.
void Compactor::watch_more(TablePartition* partition) {
  for (uint64_t chunk = 0; chunk + 1 < partition->chunk_count; ++chunk) {
    if (!can_cool(partition, chunk) || watched_.contains({partition, chunk})) continue;
    Watched& watched = watched_[{partition, chunk}];
    watched.gate = partition->table->frozen_store()->gate;
    watched.table = partition->plan->schema->id;
    watched.start = partition->chunks[chunk];
    watched.bytes = partition->plan->chunk_bytes;
    if (is_counting()) take_changed(partition, chunk, kChangedForObserver);  // before it is watched
    const auto trials = trials_.find({partition, chunk});
    const uint32_t failed = trials == trials_.end() ? 0 : std::min(trials->second.failed, kTrialsMax);
    watched.quiet_windows_min = kQuietWindows << failed;
  }
}

bool Compactor::is_counting() const {
  return options_.observer != nullptr && options_.observer->kind() == ObserverKind::kCounters;
}

// Of chunks that are hot.
bool Compactor::sees_reads() const { return options_.observer->sees_reads() && !is_counting(); }

// What the window before had is known in this one, and counts at once against being cold.
void Compactor::count_writes(TablePartition* partition) {
  const auto end = watched_.upper_bound({partition, UINT64_MAX});
  for (auto it = watched_.lower_bound({partition, 0}); it != end; ++it) {
    const uint64_t chunk = it->first.second;
    // of a table that is gone, whose partition lay there
    if (it->second.gate != partition->table->frozen_store()->gate || chunk >= partition->chunk_count) continue;
    if (!take_changed(partition, chunk, kChangedForObserver)) continue;
    it->second.quiet_windows = 0;
    if (it->second.counter != nullptr) it->second.counter->count_write();
  }
}

void Compactor::stop_watching(Watched* watched) {
  if (watched->is_known) unwatched_.push_back(watched->id);
}

// Their memory may be other chunks' by now.
void Compactor::forget_closed() {
  for (auto it = watched_.begin(); it != watched_.end();) {
    if (!it->second.gate->is_closed()) {
      ++it;
      continue;
    }
    stop_watching(&it->second);
    looked_at_.erase(it->first.first);
    it = watched_.erase(it);
  }
  std::erase_if(trials_, [](const auto& trials) { return trials.second.gate->is_closed(); });
}

void Compactor::start(uint64_t window_us, WhenDue when_due) {
  CHECK(!thread_.joinable());
  window_us_ = window_us;
  when_due_ = std::move(when_due);
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "compactor");
}

void Compactor::run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);  // of this thread
  using Clock = std::chrono::steady_clock;
  const auto window = std::chrono::microseconds(window_us_);
  Clock::time_point end = Clock::now() + window;
  for (;;) {
    bool is_over = false;
    {
      MutexLock lock(&mutex_);
      while (!is_stopping_ && waiting_.empty() && !is_over && !is_evicting()) {
        if (window_us_ == 0) {
          wake_.wait(mutex_);
        } else {
          wake_.wait_until(mutex_, end);
          is_over = Clock::now() >= end;
        }
      }
      if (is_stopping_) return;
      is_over = window_us_ != 0 && Clock::now() >= end;
    }
    if (is_over) {
      end_window();
      end = Clock::now() + window;
    }
    freeze_one();
  }
}

void Compactor::end_window() {
  counts_.windows.fetch_add(1, std::memory_order_relaxed);
  // no query is to be left out: they run in children, whose accesses the observer does not see
  const auto start = std::chrono::steady_clock::now();
  if (!observe({}).ok()) counts_.failed_windows.fetch_add(1, std::memory_order_relaxed);
  counts_.observe_ns.fetch_add(ns_since(start), std::memory_order_relaxed);
  if (options_.tier != nullptr) {
    options_.tier->begin_window();
    options_.tier->remove_unused();
  }
  if (options_.at_window_end) options_.at_window_end();
  if (when_due_) when_due_(Due::kAll);
}

bool Compactor::is_evicting() const { return evictor_ != nullptr && evictor_->has_waiting(); }

// In turns: what goes to the tier or comes from there, and what is to be frozen.
bool Compactor::freeze_one() {
  const bool has_written = evictor_ != nullptr && evictor_->write_one();
  if (has_written && when_due_) when_due_(Due::kAll);
  return freeze_next() || has_written;
}

bool Compactor::freeze_next() {
  Job job;
  {
    MutexLock lock(&mutex_);
    if (waiting_.empty()) return false;
    job = std::move(waiting_.front());
    waiting_.pop_front();
    ++in_work_;
  }
  const bool is_open = job.gate->enter();
  const auto start = std::chrono::steady_clock::now();
  if (is_open) {
    FrozenStore* store = job.partition->table->frozen_store();
    const FrozenImage image = freeze_chunk(*job.partition->table, job.cells, job.live, store->dictionaries);
    job.image = publish_image(image, store->memory);
    job.image_bytes = image.bytes.size();
    if (job.image == nullptr) {
      release_image(image.bytes.data(), store->dictionaries);
      counts_.without_memory.fetch_add(1, std::memory_order_relaxed);
    }
  }
  {
    MutexLock lock(&mutex_);
    --in_work_;
    if (is_open) done_.push_back(job);
  }
  if (is_open) job.gate->leave();
  counts_.freeze_ns.fetch_add(ns_since(start), std::memory_order_relaxed);
  if (when_due_) when_due_(job.owner);
  return true;
}

// The table has gone, and its dictionaries with it.
void Compactor::drop(const Job& job) {
  if (job.image != nullptr) job.memory->retire(job.image, job.image_bytes);
}

bool Compactor::take_step(std::span<TablePartition* const> partitions, ChangeLog* log) {
  CHECK(log->empty());
  if (finish_one(partitions) || (evictor_ != nullptr && evictor_->finish_one(partitions))) return true;
  if (evict_some(partitions)) return true;  // before more is frozen: the budget holds while others have work for ever
  for (TablePartition* partition : partitions) {
    if (partition->table->frozen_store() == nullptr) continue;
    if (empty_one(partition, log) || place_one(partition, log) || measure_one(partition) || cool_one(partition, log))
      return true;
  }
  return false;
}

bool Compactor::evict_some(std::span<TablePartition* const> partitions) {
  if (evictor_ == nullptr || !evictor_->claim(partitions)) return false;
  wake();
  return true;
}

bool Compactor::finish_one(std::span<TablePartition* const> partitions) {
  Job job;
  {
    MutexLock lock(&mutex_);
    std::erase_if(done_, [](const Job& one) {
      if (!one.gate->is_closed()) return false;
      drop(one);
      return true;
    });
    const auto found = std::find_if(done_.begin(), done_.end(), [&](const Job& one) {
      return std::find(partitions.begin(), partitions.end(), one.partition) != partitions.end();
    });
    if (found == done_.end()) return false;
    job = std::move(*found);
    done_.erase(found);
  }
  finish(job);
  return true;
}

void Compactor::finish(const Job& job) {
  TablePartition* partition = job.partition;
  const bool was_cold = lost_tuples(partition, job.chunk) * kReturnShare <= tuples_at_first(partition, job.chunk);
  if (job.image != nullptr && was_cold) {
    make_frozen(partition, job.chunk, job.image);
    counts_.frozen.fetch_add(1, std::memory_order_relaxed);
    MutexLock lock(&mutex_);
    TableCounts& table = by_table_[partition->plan->schema->id];
    ++table.frozen;
    table.image_bytes += job.image_bytes;
    return;
  }
  if (job.image != nullptr) {
    release_image(job.image, partition->table->frozen_store()->dictionaries);
    job.memory->retire(job.image, job.image_bytes);
  }
  return_chunk(partition, job.chunk);
}

void Compactor::return_chunk(TablePartition* partition, uint64_t chunk) {
  return_to_hot(partition, chunk);
  counts_.returned.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(&mutex_);
  ++by_table_[partition->plan->schema->id].returned;
}

bool Compactor::has_room() const {
  MutexLock lock(&mutex_);
  return waiting_.size() + done_.size() + in_work_ < options_.jobs_max;
}

bool Compactor::cool_one(TablePartition* partition, ChangeLog* log) {
  begin_window(partition);
  if (move_touched(partition, log)) return true;
  if (!has_room()) return false;
  for (uint64_t chunk = 0; partition->frozen != nullptr && chunk < partition->chunk_count; ++chunk) {
    if (is_quiet_cooling(partition->frozen[chunk])) return cool(partition, chunk);
  }
  if (options_.is_forced) return force_one(partition);
  const auto is_quiet = [](const Watched& watched) { return watched.quiet_windows >= watched.quiet_windows_min; };
  const auto is_used_by_few = [](const Watched& watched) { return watched.few_windows >= kFewWindows; };
  uint64_t chunk = 0;
  if (take_watched(partition, is_quiet, &chunk)) {
    if (!can_cool(partition, chunk)) return false;
    return sees_reads() ? cool(partition, chunk) : begin_trial(partition, chunk);
  }
  return take_watched(partition, is_used_by_few, &chunk) && can_cool(partition, chunk) &&
         begin_cooling(partition, chunk);
}

bool Compactor::force_one(TablePartition* partition) {
  for (uint64_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
    if (partition->chunks[chunk] == nullptr) continue;
    if (!seal(partition, chunk) || !can_cool(partition, chunk)) continue;
    return options_.cools_first ? begin_cooling(partition, chunk) : cool(partition, chunk);
  }
  return false;
}

bool Compactor::cool(TablePartition* partition, uint64_t chunk) {
  if (!make_cold(partition, chunk)) return false;
  counts_.cooled.fetch_add(1, std::memory_order_relaxed);
  const FrozenSlot& slot = partition->frozen[chunk];
  FrozenStore* store = partition->table->frozen_store();
  {
    MutexLock lock(&mutex_);
    waiting_.push_back({store->gate, partition, chunk, slot.chunk, slot.live_before.get(), store->memory,
                        partition->plan->schema->scheme == PartitionScheme::kShared ? Due::kShared : Due::kPartition});
  }
  wake_.notify_one();
  return true;
}

// Before its rows leave: so they are not read one by one in the tier, by whom the partition belongs to.
bool Compactor::is_coming_back(TablePartition* partition, uint64_t chunk) {
  if (evictor_ == nullptr || !evictor_->bring_back(partition, chunk)) return false;
  wake();
  return true;
}

// What waits for the thread has been noted.
void Compactor::wake() {
  {
    MutexLock lock(&mutex_);  // else the thread could be about to wait
  }
  wake_.notify_one();
}

bool Compactor::empty_one(TablePartition* partition, ChangeLog* log) {
  for (uint64_t chunk = 0; partition->frozen != nullptr && chunk < partition->chunk_count; ++chunk) {
    if (is_coming_back(partition, chunk) || !is_to_be_emptied(partition, chunk)) continue;
    const std::vector<uint32_t> offsets = first_tuples(partition->frozen[chunk], options_.moved_tuples_max);
    bool is_readable = true;
    for (const uint32_t offset : offsets) {
      const Tid tid = (chunk << kChunkShift) + offset;
      is_readable = bring_tuple(partition, tid).ok();
      if (is_readable && make_hot(partition, tid, log) != kNoTid) continue;
      log->rollback_all();
      if (is_readable) return false;
      break;
    }
    if (!is_readable) continue;
    log->commit();
    counts_.moved.fetch_add(offsets.size(), std::memory_order_relaxed);
    const bool is_empty = partition->frozen[chunk].invalid.positions() == kChunkTuples;
    if (is_empty) {
      make_empty(partition, chunk);
      if (evictor_ != nullptr) evictor_->end_return(partition, chunk);
      counts_.emptied.fetch_add(1, std::memory_order_relaxed);
    }
    MutexLock lock(&mutex_);
    TableCounts& table = by_table_[partition->plan->schema->id];
    table.moved += offsets.size();
    table.emptied += is_empty ? 1 : 0;
    return true;
  }
  return false;
}

void Compactor::place(FrozenSlot* slot, std::shared_ptr<const HotViews> views, uint64_t relevant_to) {
  slot->views = std::move(views);
  slot->relevant_to = relevant_to;
  counts_.placed.fetch_add(1, std::memory_order_relaxed);
  if (relevant_to == 0) counts_.irrelevant.fetch_add(1, std::memory_order_relaxed);
}

// The tiering run (ADMS 2015, 4.2) of one chunk, or of a part of what moves away from it.
bool Compactor::place_one(TablePartition* partition, ChangeLog* log) {
  if (partition->frozen == nullptr) return false;
  const FrozenStore* store = partition->table->frozen_store();
  const std::shared_ptr<const HotViews> views = store->hot_views();
  const auto is_old = [&](const FrozenSlot& slot) { return slot.state == ChunkState::kFrozen && slot.views != views; };
  FrozenSlot* const end = partition->frozen + partition->chunk_count;
  FrozenSlot* const slot = std::find_if(partition->frozen, end, is_old);
  if (slot == end) return false;
  if (views == nullptr) {
    slot->views = nullptr;
    return true;
  }
  VectorReader vectors;
  vectors.open(partition, *slot);
  const uint32_t most = (kChunkTuples - slot->invalid.positions()) / kFewRelevant;
  const std::optional<Relevance> read = find_relevant(&vectors, *slot, *views, most);
  if (!read.has_value()) {  // nothing is promised of what cannot be read
    place(slot, views, ~uint64_t{0});
    return true;
  }
  const Relevance& found = *read;
  const Tid first = static_cast<Tid>(slot - partition->frozen) << kChunkShift;
  uint32_t moved = 0;
  for (uint32_t position = 0; position < kChunkTuples && moved < options_.moved_tuples_max; ++position) {
    if (((found.tuples[position / 64] >> (position % 64)) & 1) == 0) continue;
    // no memory, or not to be read: they stay where they are
    if (!bring_tuple(partition, first + position).ok() || make_hot(partition, first + position, log) == kNoTid) {
      log->rollback_all();
      place(&partition->frozen[first >> kChunkShift], views, ~uint64_t{0});
      return true;
    }
    ++moved;
  }
  log->commit();
  counts_.relevant_moved.fetch_add(moved, std::memory_order_relaxed);
  // the directory may have moved
  if (moved == found.count) place(&partition->frozen[first >> kChunkShift], views, found.views);
  return true;
}

// One chunk for views that may be learned.
bool Compactor::measure_one(TablePartition* partition) {
  HotViewLearner* learner = partition->table->frozen_store()->learner.get();
  return learner != nullptr && learner->measure_one(partition);
}

std::map<TableId, Compactor::TableCounts> Compactor::table_counts() const {
  MutexLock lock(&mutex_);
  return by_table_;
}

Compactor::Counts Compactor::counts() const {
  auto get = [](const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  Counts counts = {get(counts_.cooled),    get(counts_.frozen),         get(counts_.returned),
                   get(counts_.emptied),   get(counts_.moved),          get(counts_.without_memory),
                   get(counts_.windows),   get(counts_.failed_windows), get(counts_.freeze_ns),
                   get(counts_.observe_ns)};
  MutexLock lock(&mutex_);
  counts.waiting = waiting_.size() + done_.size() + in_work_;
  counts.watched = watched_.size();
  counts.cooling = get(counts_.cooling);
  counts.reheated = get(counts_.reheated);
  counts.relocated = get(counts_.relocated);
  counts.placed = get(counts_.placed);
  counts.irrelevant = get(counts_.irrelevant);
  counts.relevant_moved = get(counts_.relevant_moved);
  return counts;
}

}  // namespace scyper::storage
