#include "storage/page_cache.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/tier_file.h"
#include "tier/cache_state.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kFramesMin = 16;
// At once; each is at most kReadBytesMax long.
constexpr uint32_t kReadsMax = 64;
// What a scan asks for ahead at once, in default options: two such windows are on their way, and 512 KB x 8 reach the
// rate of the disk that was measured.
constexpr size_t kReadAheadBytes = size_t{2} << 20;
// Of a cache's pages, in default options, free and evicted at once: what is free holds nothing.
constexpr uint32_t kFreeShare = 512;
// Pages that a sample of kLirs takes together: one read.
constexpr size_t kSampleBytes = size_t{512} << 10;

// What a cache has when it is made; the rest comes at once, but is not waited for: the system clears 4 GB in a second.
constexpr size_t kFirstBytes = size_t{8} << 20;
// Of the rest at a time, in huge pages where the system has them: a cache that ends waits for one piece.
constexpr size_t kGrowthBytes = size_t{2} << 20;
// While all processors are busy, what the node has to do goes first.
constexpr int kGrowthNice = 10;

size_t directory_bytes(uint32_t frames, uint32_t buckets) {
  return sizeof(DirectoryHeader) + buckets * sizeof(std::atomic<uint32_t>) + frames * sizeof(Frame);
}
size_t traffic_bytes(uint32_t frames, uint32_t processes) {
  return sizeof(TrafficHeader) + processes * sizeof(ProcessSlot) + frames * sizeof(FrameUse);
}

Status check_options(const PageCacheOptions& options) {
  const size_t page = options.page_bytes;
  if (page < kTierPageBytesMin || page > kTierPageBytesMax || !std::has_single_bit(page)) {
    return sql_error("22023", absl::StrCat("a page cache cannot have pages of ", page, " bytes"));
  }
  if (options.bytes / page < kFramesMin || options.bytes / page >= kNoFrame - 1) {
    return sql_error("22023", absl::StrCat("a page cache cannot have ", options.bytes / page, " pages"));
  }
  if (options.processes_max == 0 || options.read_ahead_pages_min == 0) {
    return sql_error("22023", "a page cache needs a process and a page to read");
  }
  return Status();
}

PageCacheOptions complete(PageCacheOptions options) {
  const auto frames = static_cast<uint32_t>(options.bytes / options.page_bytes);
  const auto limit = [&](uint32_t value, uint32_t share) {
    return std::clamp(value, 1u, std::max(1u, frames / share));
  };
  if (options.low_water_pages == 0) options.low_water_pages = frames / kFreeShare;
  if (options.eviction_pages == 0) options.eviction_pages = frames / kFreeShare;
  if (options.read_ahead_pages_max == 0) {
    options.read_ahead_pages_max = static_cast<uint32_t>(kReadAheadBytes / options.page_bytes);
  }
  options.low_water_pages = limit(options.low_water_pages, 4);
  options.eviction_pages = limit(options.eviction_pages, 4);
  options.read_ahead_pages_max = limit(options.read_ahead_pages_max, 16);
  options.read_ahead_pages_min = std::min(options.read_ahead_pages_min, options.read_ahead_pages_max);
  return options;
}

}  // namespace

const char* policy_name(EvictionPolicy policy) {
  static constexpr const char* kNames[] = {"fifo", "lru", "lirs"};
  return kNames[static_cast<uint32_t>(policy)];
}

PageCache::State::OpenFile::~OpenFile() {
  if (descriptor >= 0) close(descriptor);
}

PageCache::State::State(const PageCacheOptions& options)
    : options_(complete(options)),
      frame_count_(static_cast<uint32_t>(options.bytes / options.page_bytes)),
      bucket_mask_(std::bit_ceil(frame_count_) - 1) {}

Status PageCache::State::start() {
  const uint32_t buckets = bucket_mask_ + 1;
  const auto first = static_cast<uint32_t>(
      std::min<size_t>(frame_count_, std::max<size_t>(kFirstBytes / options_.page_bytes, kFramesMin)));
  SCYPER_ASSIGN_OR_RETURN(pages_, SharedMemory::create("scyper-pages", frame_count_ * options_.page_bytes, false,
                                                       first * options_.page_bytes));
  SCYPER_ASSIGN_OR_RETURN(directory_,
                          SharedMemory::create("scyper-page-table", directory_bytes(frame_count_, buckets), false));
  SCYPER_ASSIGN_OR_RETURN(
      traffic_, SharedMemory::create("scyper-page-wishes", traffic_bytes(frame_count_, options_.processes_max), true));
  SCYPER_ASSIGN_OR_RETURN(ring_, ReadRing::create(kReadsMax));
  loads_read_ = &reinterpret_cast<const DirectoryHeader*>(directory_->read())->loads;
  buckets_read_ = reinterpret_cast<const std::atomic<uint32_t>*>(directory_->read() + sizeof(DirectoryHeader));
  frames_read_ = reinterpret_cast<const Frame*>(buckets_read_ + buckets);
  bell_ = reinterpret_cast<TrafficHeader*>(traffic_->write());
  slots_ = reinterpret_cast<ProcessSlot*>(bell_ + 1);
  uses_ = reinterpret_cast<FrameUse*>(slots_ + options_.processes_max);
  const uint32_t ahead = options_.read_ahead_pages_max;
  // a scan's windows pass through it: the one that is used, and two on their way
  const uint32_t free_max = options_.low_water_pages + options_.eviction_pages;
  const uint32_t small = std::clamp(std::max(frame_count_ / 64, 3 * ahead) + free_max, 1u, frame_count_ / 2);
  const auto sample = static_cast<uint32_t>(
      std::clamp<size_t>(kSampleBytes / options_.page_bytes, 1, std::max<size_t>(1, frame_count_ / 32)));
  MutexLock lock(&mutex_);
  loads_ = &reinterpret_cast<DirectoryHeader*>(directory_->write())->loads;
  buckets_ = reinterpret_cast<std::atomic<uint32_t>*>(directory_->write() + sizeof(DirectoryHeader));
  frames_ = reinterpret_cast<Frame*>(buckets_ + buckets);
  for (uint32_t i = 0; i < buckets; ++i) buckets_[i].store(kNoFrame, std::memory_order_relaxed);
  for (uint32_t i = 0; i < frame_count_; ++i) frames_[i].page.store(kNoPage, std::memory_order_relaxed);
  order_ =
      std::make_unique<EvictionOrder>(options_.policy, frame_count_, small, sample, options_.adjusts_colors, uses_);
  states_.resize(frame_count_);
  is_pinned_.resize(frame_count_);
  add_frames(first);
  reads_.resize(kReadsMax);
  for (uint32_t i = kReadsMax; i > 0; --i) free_reads_.push_back(i - 1);
  processes_.resize(options_.processes_max);
  processes_[0] = {true, next_birth_++};
  for (uint32_t i = 0; i < options_.service_threads; ++i) service_.emplace_back([this] { serve(); });
  if (first < frame_count_) growth_ = std::thread([this] { grow(); });
  return Status();
}

void PageCache::State::add_frames(uint32_t frames) {
  // the first to be taken is the last
  for (uint32_t i = frames; i > 0; --i) free_.push_back(granted_ + i - 1);
  granted_ += frames;
}

// A system that has no more leaves the cache as large as it is by then.
void PageCache::State::grow() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kGrowthNice);  // of this thread
  const auto piece = static_cast<uint32_t>(std::max<size_t>(kGrowthBytes / options_.page_bytes, 1));
  uint32_t granted;
  {
    MutexLock lock(&mutex_);
    granted = granted_;
  }
  while (granted < frame_count_ && !stops_.load(std::memory_order_relaxed)) {
    const uint32_t frames = std::min(piece, frame_count_ - granted);
    if (!pages_->grant(granted * options_.page_bytes, frames * options_.page_bytes).ok()) return;
    granted += frames;
    MutexLock lock(&mutex_);
    add_frames(frames);
  }
}

PageCache::State::~State() {
  stops_.store(true);
  if (bell_ != nullptr) {
    bell_->bell.fetch_add(1);
    futex_wake(&bell_->bell, INT32_MAX);
  }
  for (std::thread& thread : service_) thread.join();
  if (growth_.joinable()) growth_.join();
  while (ring_ != nullptr && reap()) {
  }
}

PageCache::State::OpenFile* PageCache::State::file_at(uint32_t number) {
  const auto file = files_.find(number);
  return file == files_.end() ? nullptr : file->second.get();
}

StatusOr<std::shared_ptr<const TierFile>> PageCache::State::open(const std::string& path) {
  SCYPER_ASSIGN_OR_RETURN(TierFileInfo info, read_tier_file_info(make_real_disk().get(), path));
  if (info.page_bytes != options_.page_bytes) {
    return sql_error("22023", absl::StrCat(path, ": has pages of ", info.page_bytes, " bytes, the page cache of ",
                                           options_.page_bytes));
  }
  auto file = std::make_unique<OpenFile>();
  file->path = path;
  file->descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  // a file system that cannot (some tmpfs)
  if (file->descriptor < 0 && errno == EINVAL) file->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file->descriptor < 0) return sql_error("58030", absl::StrCat(path, ": open: ", std::strerror(errno)));
  file->stamp = info.stamp;
  file->checksums = std::move(info.checksums);
  file->colors.resize(file->checksums.size());
  file->gains.resize(file->checksums.size());
  MutexLock lock(&mutex_);
  const uint32_t number = next_file_++;
  auto handle = std::make_shared<const TierFile>(options_.number, number, path, info.stamp, file->checksums.size(),
                                                 info.data_bytes);
  files_.emplace(number, std::move(file));
  count_pages();
  return handle;
}

void PageCache::State::count_pages() {
  uint64_t pages = 0;
  for (const auto& [number, file] : files_) {
    if (file->retired_at == 0) pages += file->checksums.size();
  }
  order_->set_page_total(pages);
}

void PageCache::State::retire(uint32_t number) {
  MutexLock lock(&mutex_);
  OpenFile* file = file_at(number);
  CHECK(file != nullptr && file->retired_at == 0);
  file->retired_at = next_birth_++;
  count_pages();
  close_retired();
}

// Files that no living process could know.
void PageCache::State::close_retired() {
  uint64_t oldest = ~uint64_t{0};
  for (size_t i = 1; i < processes_.size(); ++i) {
    if (processes_[i].is_used) oldest = std::min(oldest, processes_[i].birth);
  }
  absl::erase_if(files_, [&](const auto& entry) {
    return entry.second->retired_at != 0 && entry.second->reads == 0 && entry.second->retired_at < oldest;
  });
}

void PageCache::State::set_color(uint32_t number, uint64_t first_page, uint64_t pages, uint16_t color) {
  MutexLock lock(&mutex_);
  OpenFile* file = file_at(number);
  CHECK(file != nullptr && first_page <= file->colors.size() && pages <= file->colors.size() - first_page);
  for (uint64_t page = first_page; page < first_page + pages; ++page) {
    file->colors[page] = color;
    file->gains[page] = 0;
    const uint32_t frame = find(page_id(number, page), frame_count_);
    if (frame != kNoFrame) order_->set_color(frame, color);
  }
  order_->rebuild();
}

uint16_t PageCache::State::color(uint64_t id) {
  MutexLock lock(&mutex_);
  const uint32_t frame = find(id, frame_count_);
  if (frame != kNoFrame) return order_->color(frame);
  OpenFile* file = file_at(file_of(id));
  CHECK(file != nullptr && number_of(id) < file->colors.size());
  return static_cast<uint16_t>(
      std::min<uint32_t>(file->colors[number_of(id)] + file->gains[number_of(id)], UINT16_MAX));
}

StatusOr<uint32_t> PageCache::State::add_process() {
  MutexLock lock(&mutex_);
  for (uint32_t i = 1; i < processes_.size(); ++i) {
    if (processes_[i].is_used) continue;
    processes_[i] = {true, next_birth_++};
    return i;
  }
  return sql_error("53400", absl::StrCat("a page cache serves ", options_.processes_max, " processes at most"));
}

void PageCache::State::remove_process(uint32_t process) {
  MutexLock lock(&mutex_);
  CHECK(process > 0 && process < processes_.size() && processes_[process].is_used);
  ProcessSlot& slot = slots_[process];
  for (Reader& reader : slot.all) {
    counts_.hits += reader.hits.exchange(0);
    for (std::atomic<uint32_t>& pin : reader.pins) pin.store(0);
    reader.demand.state.store(kIdle);
    reader.ahead.state.store(kIdle);
  }
  slot.posted.store(0);
  slot.readers.store(0);
  processes_[process].is_used = false;  // what is read for it finds another birth, or none
  close_retired();
}

PageCacheStatistics PageCache::State::statistics() {
  MutexLock lock(&mutex_);
  PageCacheStatistics result = counts_;
  result.pages = granted_;
  find_pinned();
  for (uint32_t frame = 0; frame < frame_count_; ++frame) {
    const bool is_there = states_[frame].page != kNoPage && !loading_.contains(states_[frame].page);
    result.resident_pages += is_there ? 1 : 0;
    result.pinned_pages += is_pinned_[frame] ? 1 : 0;
    if (is_there && states_[frame].is_ahead && uses_[frame].stamp.load() != 0) ++result.read_ahead_used_pages;
  }
  for (uint32_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].is_used) continue;
    ++result.processes;
    for (Reader& reader : slots_[i].all) {
      result.hits += reader.hits.load(std::memory_order_relaxed);
      if (reader.demand.state.load(std::memory_order_relaxed) == kPosted) ++result.waiting;
    }
  }
  return result;
}

PageCache::PageCache(std::unique_ptr<State> state) : state_(std::move(state)) {}
PageCache::~PageCache() = default;

StatusOr<std::unique_ptr<PageCache>> PageCache::create(const PageCacheOptions& options) {
  SCYPER_RETURN_IF_ERROR(check_options(options));
  auto state = std::make_unique<State>(options);
  SCYPER_RETURN_IF_ERROR(state->start());
  return std::unique_ptr<PageCache>(new PageCache(std::move(state)));
}

StatusOr<std::shared_ptr<const TierFile>> PageCache::open(const std::string& path) { return state_->open(path); }
void PageCache::retire(const TierFile& file) { state_->retire(file.number()); }
void PageCache::set_color(const TierFile& file, uint64_t first_page, uint64_t pages, uint16_t color) {
  state_->set_color(file.number(), first_page, pages, color);
}
uint16_t PageCache::color(const TierFile& file, uint64_t page) { return state_->color(page_id(file.number(), page)); }
StatusOr<uint32_t> PageCache::add_process() { return state_->add_process(); }
void PageCache::enter_process(uint32_t process) noexcept { state_->enter_process(process); }
void PageCache::remove_process(uint32_t process) noexcept { state_->remove_process(process); }
bool PageCache::is_child() const noexcept { return state_->is_child(); }
PageCacheStatistics PageCache::statistics() { return state_->statistics(); }
const PageCacheOptions& PageCache::options() const { return state_->options(); }

}  // namespace scyper::storage
