#include "page_ahead.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>

#include "storage/arena.h"

namespace scyper::storage {

namespace {
constexpr size_t kLeadBytes = size_t{64} << 20;
}

PageAhead::PageAhead(char* base, size_t limit_bytes)
    : base_(base), limit_bytes_(limit_bytes), thread_([this] { run(); }) {}

PageAhead::~PageAhead() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void PageAhead::reached(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  reached_ = bytes;
}

bool PageAhead::has_work() const {
  const size_t lead = std::clamp(reached_, kHugePageBytes, kLeadBytes);
  return ready_ + kHugePageBytes <= std::min(reached_ + lead, limit_bytes_);
}

void PageAhead::run() {
  pthread_setname_np(pthread_self(), "page-ahead");
  while (true) {
    size_t from;
    {
      absl::MutexLock lock(&mutex_);
      auto is_called = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || has_work(); };
      mutex_.Await(absl::Condition(&is_called));
      if (stopping_) return;
      ready_ = std::max(ready_, reached_ / kHugePageBytes * kHugePageBytes);  // below it they were touched already
      from = ready_;
    }
    if (madvise(base_ + from, kHugePageBytes, MADV_POPULATE_WRITE) != 0) return;
    absl::MutexLock lock(&mutex_);
    ready_ = from + kHugePageBytes;
  }
}

}  // namespace scyper::storage
