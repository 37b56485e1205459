#include "copy_ahead.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "storage/arena.h"

namespace scyper::storage {

namespace {

// Of this thread, those that huge pages cause included.
long count_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

std::atomic<int> reserved_mappings{0};

bool read_number(const char* name, uint64_t* out) {
  std::ifstream file(std::string("/sys/kernel/mm/hugepages/hugepages-2048kB/") + name);
  return static_cast<bool>(file >> *out);
}

}  // namespace

HugePagePool read_huge_page_pool() {
  HugePagePool pool;
  pool.is_known = read_number("nr_hugepages", &pool.total) && read_number("free_hugepages", &pool.free) &&
                  read_number("resv_hugepages", &pool.promised);
  return pool;
}

bool has_reserved_pages() { return reserved_mappings.load(std::memory_order_relaxed) > 0; }
void count_reserved_mapping(int change) { reserved_mappings.fetch_add(change, std::memory_order_relaxed); }

CopyAhead::CopyAhead(char* base, size_t mapped_bytes, uint64_t bytes_per_second)
    : base_(base), mapped_bytes_(mapped_bytes), bytes_per_second_(bytes_per_second) {
  thread_ = std::thread([this] { run(); });
}

CopyAhead::~CopyAhead() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (int child : children_) close(child);
  for (int child : new_children_) close(child);
}

void CopyAhead::forked(pid_t child, size_t bytes) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (descriptor < 0) return;  // pages are then copied on touch
  {
    std::lock_guard<std::mutex> lock(mutex_);
    new_children_.push_back(descriptor);
    bytes_ = bytes;
  }
  changed_.notify_all();
}

void CopyAhead::run() {
  pthread_setname_np(pthread_self(), "copy-ahead");
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !new_children_.empty(); });
    if (is_stopping_) return;
    children_.insert(children_.end(), new_children_.begin(), new_children_.end());
    new_children_.clear();
    const size_t bytes = bytes_;
    lock.unlock();
    copy_all(bytes);
    lock.lock();
  }
}

// Ends early when there is a new fork: all pages are shared again then.
void CopyAhead::copy_all(size_t bytes) {
  const HugePagePool pool = read_huge_page_pool();
  if (!has_child() || !pool.is_known) return;
  // of the whole rest, not of what earlier children have left of it: else each fork would take its share again
  const uint64_t mapped = mapped_bytes_ / kHugePageBytes;
  const uint64_t left_over = (pool.total > mapped ? pool.total - mapped : 0) / 4 + 1;
  const auto pause =
      std::chrono::nanoseconds(kHugePageBytes * 1'000'000'000 / std::max<uint64_t>(bytes_per_second_, 1));
  auto next = std::chrono::steady_clock::now();
  for (size_t offset = bytes / kHugePageBytes * kHugePageBytes; offset > 0; offset -= kHugePageBytes) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (changed_.wait_until(lock, next, [this] { return is_stopping_ || !new_children_.empty(); })) return;
    }
    if (!has_child()) return;
    const uint64_t available = read_huge_page_pool().available();
    if (available <= left_over) return;
    const long faults = count_faults();
    if (madvise(base_ + offset - kHugePageBytes, kHugePageBytes, MADV_POPULATE_WRITE) != 0) return;
    next = std::max(next + pause, std::chrono::steady_clock::now() - pause);  // what is late is not caught up with
    // kernels before 6.6 count no faults here: then the pool tells whether a transaction was faster
    if (count_faults() == faults && read_huge_page_pool().available() >= available) continue;
    pages_copied_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool CopyAhead::has_child() {
  const auto is_over = [](int child) {
    pollfd entry{child, POLLIN, 0};
    const bool is_readable = poll(&entry, 1, 0) > 0;
    if (is_readable) close(child);
    return is_readable;
  };
  children_.erase(std::remove_if(children_.begin(), children_.end(), is_over), children_.end());
  return !children_.empty();
}

}  // namespace scyper::storage
