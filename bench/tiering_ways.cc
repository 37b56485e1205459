#include "tiering_ways.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace scyper::bench {
namespace {

// Memory that the kernel pages: a file's, or anonymous.
class Paged final : public Way {
 public:
  Paged(char* data, size_t bytes) : data_(data), bytes_(bytes) {}
  ~Paged() override { munmap(data_, bytes_); }
  uint64_t scan(uint64_t offset, uint64_t bytes) override { return sum_of(data_ + offset, bytes); }
  uint64_t look_up(uint64_t offset) override { return sum_of(data_ + offset, kLookupBytes); }
  uint64_t faults() const override {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_majflt);
  }

 private:
  char* const data_;
  const size_t bytes_;
};

class Tiered final : public Way {
 public:
  Tiered(std::unique_ptr<storage::PageCache> cache, std::shared_ptr<const storage::TierFile> file,
         std::unique_ptr<storage::PageReader> reader, std::vector<char> hot)
      : cache_(std::move(cache)),
        file_(std::move(file)),
        reader_(std::move(reader)),
        hot_(std::move(hot)),
        page_bytes_(cache_->options().page_bytes) {}

  uint64_t scan(uint64_t offset, uint64_t bytes) override {
    uint64_t sum = 0;
    const uint64_t end = offset + bytes;
    if (offset < hot_.size()) {
      sum += sum_of(hot_.data() + offset, std::min<uint64_t>(end, hot_.size()) - offset);
      offset = hot_.size();
    }
    for (; offset < end; offset += page_bytes_) sum += sum_of(page(offset), page_bytes_);
    return sum;
  }
  uint64_t look_up(uint64_t offset) override {
    if (offset < hot_.size()) return sum_of(hot_.data() + offset, kLookupBytes);
    return sum_of(page(offset) + offset % page_bytes_, kLookupBytes);
  }
  uint64_t faults() const override { return cache_->statistics().faults; }

 private:
  const char* page(uint64_t offset) {
    const auto page = reader_->pin(*file_, offset / page_bytes_);
    if (page.ok()) return *page;
    std::fprintf(stderr, "bench_tiering: %s\n", std::string(page.status().message()).c_str());
    _exit(1);
  }

  const std::unique_ptr<storage::PageCache> cache_;
  const std::shared_ptr<const storage::TierFile> file_;
  const std::unique_ptr<storage::PageReader> reader_;
  const std::vector<char> hot_;
  const size_t page_bytes_;
};

bool read_file(const std::string& path, char* out, uint64_t bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (file < 0) return false;
  constexpr size_t kPiece = size_t{1} << 20;
  char* piece = static_cast<char*>(std::aligned_alloc(4096, kPiece));
  uint64_t at = 0;
  while (at < bytes) {
    const ssize_t got = pread(file, piece, kPiece, static_cast<off_t>(at));
    if (got <= 0) break;
    const uint64_t used = std::min<uint64_t>(static_cast<uint64_t>(got), bytes - at);
    std::memcpy(out + at, piece, used);
    at += used;
  }
  std::free(piece);
  close(file);
  return at == bytes;
}

}  // namespace

uint64_t sum_of(const char* numbers, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    uint64_t number;
    std::memcpy(&number, numbers + i, sizeof number);
    sum += number;
  }
  return sum;
}

std::unique_ptr<Way> make_mapped(const WayFlags& flags, Advice advice, std::string* why) {
  const int file = open(flags.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    *why = std::strerror(errno);
    return nullptr;
  }
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);  // so that its pages count for who touches them
  void* data = mmap(nullptr, flags.bytes, PROT_READ, MAP_SHARED, file, 0);
  *why = std::strerror(errno);
  close(file);
  if (data == MAP_FAILED) return nullptr;
  if (advice != Advice::kNone) {
    madvise(data, flags.bytes, advice == Advice::kSequential ? MADV_SEQUENTIAL : MADV_RANDOM);
  }
  return std::make_unique<Paged>(static_cast<char*>(data), flags.bytes);
}

std::unique_ptr<Way> make_anonymous(const WayFlags& flags, std::string* why) {
  void* data = mmap(nullptr, flags.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED || !read_file(flags.path, static_cast<char*>(data), flags.bytes)) {
    *why = std::strerror(errno);
    return nullptr;
  }
  return std::make_unique<Paged>(static_cast<char*>(data), flags.bytes);
}

// A cache grows beside what else a start does; a system that grants no more leaves it as it is.
void wait_until_grown(storage::PageCache& cache) {
  for (int without = 0; without < 100; ++without) {
    const uint64_t before = cache.statistics().pages;
    if (before * cache.options().page_bytes >= cache.options().bytes) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (cache.statistics().pages != before) without = 0;
  }
}

std::unique_ptr<Way> make_tiered(const WayFlags& flags, std::string* why) {
  storage::PageCacheOptions options;
  options.bytes = flags.cache_bytes;
  options.page_bytes = flags.page_bytes;
  options.policy = flags.policy;
  options.processes_max = 1;
  auto cache = storage::PageCache::create(options);
  if (!cache.ok()) {
    *why = std::string(cache.status().message());
    return nullptr;
  }
  wait_until_grown(**cache);
  auto file = (*cache)->open(flags.path);
  auto reader = storage::PageReader::create(cache->get());
  std::vector<char> hot(flags.hot_bytes);
  if (!file.ok() || !reader.ok() || !read_file(flags.path, hot.data(), hot.size())) {
    *why = file.ok() ? std::strerror(errno) : std::string(file.status().message());
    return nullptr;
  }
  if (flags.warm_bytes != 0) {
    (*cache)->set_color(**file, flags.hot_bytes / flags.page_bytes, flags.warm_bytes / flags.page_bytes, 512);
  }
  return std::make_unique<Tiered>(*std::move(cache), *std::move(file), *std::move(reader), std::move(hot));
}

}  // namespace scyper::bench
