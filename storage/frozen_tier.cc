#include "storage/frozen_tier.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "storage/tier_file.h"
#include "tier/shared_memory.h"

namespace scyper::storage {
namespace {

Failpoint before_tier_remove("tier.before_remove");

constexpr std::string_view kTierSuffix = ".tier";
// Files that are open at once: each takes a descriptor.
constexpr uint64_t kTierFilesMax = 512;
// Vectors whose use is marked: 8 MB.
constexpr size_t kMarksMax = size_t{1} << 20;
// VectorMark::cost of a new vector: it is to stay for some windows, until its use is known.
constexpr uint32_t kNewCost = 16;
constexpr int kLockRetries = 100;
constexpr useconds_t kLockWaitUs = 10'000;

// Of a file's name: its stamp.
std::optional<uint64_t> stamp_of(std::string_view name) {
  if (!name.ends_with(kTierSuffix) || name.size() != 16 + kTierSuffix.size()) return std::nullopt;
  uint64_t stamp = 0;
  const char* end = name.data() + name.size() - kTierSuffix.size();
  const auto [behind, error] = std::from_chars(name.data(), end, stamp, 16);
  return error == std::errc() && behind == end ? std::optional(stamp) : std::nullopt;
}

std::string name_of_file(uint64_t stamp) { return absl::StrFormat("%016x%s", stamp, kTierSuffix); }

}  // namespace

FrozenTier::FrozenTier(const FrozenTierOptions& options)
    : options_(options),
      disk_(make_real_disk()),
      stamp_((uint64_t{std::random_device()()} << 32 | std::random_device()()) & ~uint64_t{0xffff}) {}

StatusOr<std::unique_ptr<FrozenTier>> FrozenTier::create(const FrozenTierOptions& options) {
  std::unique_ptr<FrozenTier> tier(new FrozenTier(options));
  SCYPER_RETURN_IF_ERROR(tier->start());
  return tier;
}

Status FrozenTier::start() {
  constexpr size_t kHeadBytes = 4096;  // before the marks
  static_assert((2 + kDamageWords * kDamageMax) * sizeof(uint32_t) <= kHeadBytes);
  if (!disk_->exists(options_.directory)) SCYPER_RETURN_IF_ERROR(disk_->make_directory(options_.directory));
  directory_ = open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0) {
    return sql_error("58030", absl::StrCat(options_.directory, ": open: ", std::strerror(errno)));
  }
  // children of a process that was killed may have it for a moment
  for (int tries = 0; flock(directory_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    usleep(kLockWaitUs);
    if (tries < kLockRetries) continue;
    return sql_error("55006", absl::StrCat("another process uses the tier's directory ", options_.directory));
  }
  SCYPER_RETURN_IF_ERROR(find_files());
  SCYPER_ASSIGN_OR_RETURN(caches_, TierCaches::create(options_, kPageBytes));
  SCYPER_ASSIGN_OR_RETURN(marks_memory_,
                          SharedMemory::create("scyper-tier-marks", kHeadBytes + kMarksMax * sizeof(VectorMark), true));
  now_ = reinterpret_cast<std::atomic<uint32_t>*>(marks_memory_->write());
  marks_ = reinterpret_cast<VectorMark*>(marks_memory_->write() + kHeadBytes);
  now_->store(1);
  damage_ = now_ + 1;
  return Status();
}

FrozenTier::~FrozenTier() {
  remove_closed();  // what was found may be wanted by the next process, if this one has never served
  caches_.reset();
  if (directory_ >= 0) close(directory_);
}

// Only those that have their name are whole.
Status FrozenTier::find_files() {
  SCYPER_RETURN_IF_ERROR(remove_unsealed_tier_files(disk_.get(), options_.directory));
  SCYPER_ASSIGN_OR_RETURN(const std::vector<std::string> names, disk_->list(options_.directory));
  MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    if (const auto stamp = stamp_of(name); stamp.has_value()) found_.insert(*stamp);
  }
  return Status();
}

Status FrozenTier::read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept {
  Status status = caches_->read(file, offset, bytes, out);
  if (sqlstate_of(status) == "XX001") note_damage(file, offset, bytes);
  return status;
}

const char* FrozenTier::CachedReads::find(const TierFile& file, uint64_t page) noexcept {
  const auto pin = static_cast<uint32_t>(page % pages_.size());
  Page& held = pages_[pin];
  if (held.file == &file && held.number == page) return held.bytes;
  if (reader_ != nullptr && cache_ != file.cache()) end();
  if (reader_ == nullptr) {
    cache_ = file.cache();
    const auto taken = tier_->caches().take_reader(cache_);
    if (!taken.ok()) return nullptr;
    reader_ = *taken;
  }
  const char* bytes = reader_->find(file, page, pin);
  held = bytes == nullptr ? Page() : Page{&file, page, bytes};
  return bytes;
}

bool FrozenTier::CachedReads::read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept {
  while (bytes > 0) {
    const char* page = find(file, offset / kPageBytes);
    if (page == nullptr) return false;
    const size_t begin = offset % kPageBytes;
    const size_t piece = std::min(bytes, kPageBytes - begin);
    std::memcpy(out, page + begin, piece);
    offset += piece;
    out += piece;
    bytes -= piece;
  }
  return true;
}

void FrozenTier::CachedReads::end() noexcept {
  if (reader_ == nullptr) return;
  for (uint32_t pin = 0; pin < pages_.size(); ++pin) {
    if (pages_[pin].file != nullptr) reader_->unpin(pin);
    pages_[pin] = Page();
  }
  tier_->caches().give_back(cache_, std::exchange(reader_, nullptr));
}

size_t FrozenTier::ask(std::span<const PageReader::Range> ranges) noexcept { return caches_->ask(ranges); }

void FrozenTier::note_damage(const TierFile& file, uint64_t offset, size_t bytes) noexcept {
  const std::array<uint32_t, kDamageWords> page = {
      static_cast<uint32_t>(file.stamp()), static_cast<uint32_t>(file.stamp() >> 32),
      static_cast<uint32_t>(offset / kPageBytes), static_cast<uint32_t>((offset + bytes - 1) / kPageBytes)};
  const auto is_noted = [&](const std::atomic<uint32_t>* entry) {
    return std::equal(page.begin(), page.end(), entry, [](uint32_t word, const std::atomic<uint32_t>& noted) {
      return noted.load(std::memory_order_relaxed) == word;
    });
  };
  for (size_t i = 0; i < kDamageMax; ++i) {  // one that is read again and again leaves room for others
    if (is_noted(damage_ + 1 + i * kDamageWords)) return;
  }
  const uint32_t number = damage_->fetch_add(1, std::memory_order_relaxed) % kDamageMax;
  std::atomic<uint32_t>* entry = damage_ + 1 + size_t{number} * kDamageWords;
  for (size_t i = kDamageWords; i > 0; --i) entry[i - 1].store(page[i - 1], std::memory_order_relaxed);
}

std::vector<FrozenTier::DamagedPage> FrozenTier::damage() const {
  std::vector<DamagedPage> pages;
  if (damage_->load(std::memory_order_relaxed) == 0) return pages;
  for (size_t i = 0; i < kDamageMax; ++i) {
    const std::atomic<uint32_t>* entry = damage_ + 1 + i * kDamageWords;
    const auto word = [&](size_t at) { return entry[at].load(std::memory_order_relaxed); };
    const uint64_t stamp = uint64_t{word(1)} << 32 | word(0);
    if (stamp != 0) pages.push_back({stamp, word(2), word(3)});
  }
  return pages;
}

void FrozenTier::set_chunk_source(ChunkSource source) {
  MutexLock lock(&source_mutex_);
  source_ = std::move(source);
}

StatusOr<std::string> FrozenTier::make_again(const Table& table, uint32_t partition, uint32_t chunk) {
  MutexLock lock(&source_mutex_);
  if (source_ == nullptr) return sql_error("55000", "nothing has the rows of the chunk");
  return source_(table, partition, chunk);
}

std::string FrozenTier::path_of(uint64_t stamp) const {
  return absl::StrCat(options_.directory, "/", name_of_file(stamp));
}

bool FrozenTier::has_file(uint64_t stamp) const {
  return found_.contains(stamp) || closed_.contains(stamp) || is_open(stamp);
}

std::string FrozenTier::new_path(uint64_t* stamp) {
  MutexLock lock(&mutex_);
  do {
    *stamp = ++stamp_;
  } while (has_file(*stamp));
  return path_of(*stamp);
}

bool FrozenTier::is_open(uint64_t stamp) const {
  const auto open = open_.lower_bound({stamp, 0});
  return open != open_.end() && open->first.first == stamp;
}

StatusOr<std::shared_ptr<const TierFile>> FrozenTier::adopt(const std::string& path, uint32_t cache) {
  auto opened = caches_->cache(cache)->open(path);
  if (!opened.ok()) {
    disk_->remove(path).IgnoreError();  // else the next start does
    return opened.status();
  }
  MutexLock lock(&mutex_);
  return take_up(*std::move(opened));
}

std::shared_ptr<const TierFile> FrozenTier::take_up(std::shared_ptr<const TierFile> file) {
  files_.fetch_add(1, std::memory_order_relaxed);
  file_bytes_.fetch_add(file->data_bytes(), std::memory_order_relaxed);
  const TierFile* raw = file.get();
  std::shared_ptr<const TierFile> handle(raw, [this, held = std::move(file)](const TierFile*) {
    MutexLock lock(&mutex_);
    unused_.push_back(held);
  });
  found_.erase(raw->stamp());
  closed_.erase(raw->stamp());
  open_[{raw->stamp(), raw->cache()}] = handle;
  return handle;
}

StatusOr<std::shared_ptr<const TierFile>> FrozenTier::open_again(uint64_t stamp, uint64_t data_bytes, uint32_t cache) {
  const std::string path = path_of(stamp);
  std::shared_ptr<const TierFile> file;  // its end takes the lock
  MutexLock lock(&mutex_);
  if (const auto open = open_.find({stamp, cache}); open != open_.end()) {
    file = open->second.lock();
    if (file != nullptr && file->data_bytes() == data_bytes) return file;
  }
  if (!disk_->exists(path)) return sql_error("XX001", absl::StrCat(path, ": the file is missing"));
  SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<const TierFile> opened, caches_->cache(cache)->open(path));
  if (opened->stamp() == stamp && opened->data_bytes() == data_bytes) return take_up(std::move(opened));
  caches_->cache(cache)->retire(*opened);
  return sql_error("XX001", absl::StrCat(path, ": is another file of the tier"));
}

bool FrozenTier::is_whole(const std::string& path, uint64_t stamp) const {
  const auto info = read_tier_file_info(disk_.get(), path);
  return info.ok() && info->stamp == stamp && info->page_bytes == kPageBytes;
}

// Not what is to be removed.
std::vector<std::string> FrozenTier::file_names() {
  MutexLock lock(&mutex_);
  for (auto stamp = found_.begin(); stamp != found_.end();) {
    const std::string path = path_of(*stamp);
    const bool stays = is_whole(path, *stamp) || !disk_->remove(path).ok();
    stamp = stays ? std::next(stamp) : found_.erase(stamp);
  }
  std::set<uint64_t> stamps = found_;
  for (const auto& [key, file] : open_) stamps.insert(key.first);
  std::vector<std::string> names;
  names.reserve(stamps.size());
  for (const uint64_t stamp : stamps) names.push_back(name_of_file(stamp));
  return names;
}

std::string FrozenTier::receiving_path(std::string_view name) const {
  const auto stamp = stamp_of(name);
  MutexLock lock(&mutex_);
  if (!stamp.has_value() || name != name_of_file(*stamp) || has_file(*stamp)) return "";
  return unsealed_tier_path(path_of(*stamp));
}

Status FrozenTier::receive(std::string_view name) {
  const std::string from = receiving_path(name);
  if (from.empty()) return sql_error("55000", absl::StrCat("no file of the tier is called ", std::string(name)));
  const uint64_t stamp = *stamp_of(name);
  if (!is_whole(from, stamp)) return sql_error("XX001", absl::StrCat(from, ": is not the file of its name"));
  SCYPER_RETURN_IF_ERROR(disk_->rename(from, path_of(stamp)));
  SCYPER_RETURN_IF_ERROR(disk_->sync_directory(options_.directory));
  MutexLock lock(&mutex_);
  found_.insert(stamp);
  return Status();
}

std::map<std::string, std::string> FrozenTier::paths_of(const std::set<uint64_t>& stamps) const {
  std::map<std::string, std::string> paths;
  for (const uint64_t stamp : stamps) paths.emplace(name_of_file(stamp), path_of(stamp));
  return paths;
}

void FrozenTier::keep(uint64_t archive_lsn, std::set<uint64_t> stamps) {
  MutexLock lock(&mutex_);
  archived_[archive_lsn].merge(stamps);
}

void FrozenTier::keep_all(uint64_t archive_lsn) {
  MutexLock lock(&mutex_);
  for (const auto& [key, file] : open_) archived_[archive_lsn].insert(key.first);
}

void FrozenTier::keep_only(const std::set<uint64_t>& archive_lsns) {
  MutexLock lock(&mutex_);
  std::erase_if(archived_, [&](const auto& archive) { return !archive_lsns.contains(archive.first); });
}

// Nobody here reads them any more.
void FrozenTier::retire_unused() {
  std::vector<std::shared_ptr<const TierFile>> unused;
  {
    MutexLock lock(&mutex_);
    unused.swap(unused_);
    for (const auto& file : unused) {
      const auto open = open_.find({file->stamp(), file->cache()});
      if (open == open_.end() || !open->second.expired()) continue;  // it has been opened again
      open_.erase(open);
      if (!is_open(file->stamp())) closed_.insert(file->stamp());
    }
  }
  for (const auto& file : unused) {
    caches_->cache(file->cache())->retire(*file);
    files_.fetch_sub(1, std::memory_order_relaxed);
    file_bytes_.fetch_sub(file->data_bytes(), std::memory_order_relaxed);
  }
}

void FrozenTier::remove_unused() {
  {
    MutexLock lock(&mutex_);
    closed_.merge(found_);
  }
  remove_closed();
}

void FrozenTier::remove_closed() {
  retire_unused();
  std::vector<uint64_t> gone;
  {
    MutexLock lock(&mutex_);
    std::set<uint64_t> named;
    for (const auto& [archive, stamps] : archived_) named.insert(stamps.begin(), stamps.end());
    std::set_difference(closed_.begin(), closed_.end(), named.begin(), named.end(), std::back_inserter(gone));
  }
  for (const uint64_t stamp : gone) {
    if (before_tier_remove.fires()) return;
    if (!disk_->remove(path_of(stamp)).ok() && disk_->exists(path_of(stamp))) continue;  // tried again
    MutexLock lock(&mutex_);
    closed_.erase(stamp);
  }
}

bool FrozenTier::has_room_for_files() const { return files_.load(std::memory_order_relaxed) < kTierFilesMax; }

bool FrozenTier::may_evict() const {
  return failed_at_.load(std::memory_order_relaxed) != now() && has_room_for_files();
}

uint64_t FrozenTier::excess_bytes() const {
  if (!may_evict()) return 0;
  const uint64_t kept = options_.memory_bytes + claimed_bytes_.load(std::memory_order_relaxed);
  return resident_bytes() > kept ? resident_bytes() - kept : 0;
}

void FrozenTier::note_failure() {
  failed_evictions_.fetch_add(1, std::memory_order_relaxed);
  failed_at_.store(now(), std::memory_order_relaxed);
}

VectorMark* FrozenTier::new_marks(uint32_t columns) {
  VectorMark* marks = nullptr;
  {
    MutexLock lock(&mutex_);
    auto& free = free_marks_[columns];
    if (!free.empty()) {
      marks = free.back();
      free.pop_back();
    } else if (kMarksMax - used_marks_ >= columns) {
      marks = marks_ + used_marks_;
      used_marks_ += columns;
    }
  }
  if (marks == nullptr) return nullptr;
  for (uint32_t i = 0; i < columns; ++i) {
    marks[i].window.store(now(), std::memory_order_relaxed);
    marks[i].cost.store(kNewCost, std::memory_order_relaxed);
  }
  return marks;
}

void FrozenTier::free_marks(VectorMark* marks, uint32_t columns) {
  if (marks == nullptr) return;
  MutexLock lock(&mutex_);
  free_marks_[columns].push_back(marks);
}

bool FrozenTier::keeps_copies() const { return files_.load(std::memory_order_relaxed) < kTierFilesMax / 2; }

void FrozenTier::note_promotion(uint64_t vectors, uint64_t bytes) {
  promoted_vectors_.fetch_add(vectors, std::memory_order_relaxed);
  promoted_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void FrozenTier::add_tiered(uint64_t vectors, uint64_t bytes) {
  tiered_vectors_.fetch_add(vectors, std::memory_order_relaxed);
  tiered_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void FrozenTier::note_evicted(uint64_t vectors, uint64_t bytes, uint64_t unwritten_bytes) {
  unwritten_bytes_.fetch_add(unwritten_bytes, std::memory_order_relaxed);
  evicted_vectors_.fetch_add(vectors, std::memory_order_relaxed);
  evicted_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void FrozenTier::remove_tiered(uint64_t vectors, uint64_t bytes) {
  tiered_vectors_.fetch_sub(vectors, std::memory_order_relaxed);
  tiered_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

FrozenTier::Counts FrozenTier::counts() const {
  const auto get = [](const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  MutexLock lock(&mutex_);
  return {get(files_),
          get(file_bytes_),
          found_.size() + closed_.size(),
          get(tiered_vectors_),
          get(tiered_bytes_),
          get(evicted_vectors_),
          get(evicted_bytes_),
          get(evictions_),
          get(repaired_chunks_),
          get(failed_evictions_),
          get(promoted_vectors_),
          get(promoted_bytes_),
          get(failed_promotions_),
          get(unwritten_bytes_),
          get(copied_bytes_)};
}

}  // namespace scyper::storage
