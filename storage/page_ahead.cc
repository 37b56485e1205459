#include "page_ahead.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/check.h"
#include "storage/arena.h"

namespace scyper::storage {

namespace {
constexpr size_t kLeadBytes = size_t{64} << 20;
}

PageAhead::PageAhead(char* base, size_t limit_bytes) : base_(base), limit_bytes_(limit_bytes) {
  CHECK(sem_init(&wake_, 0, 0) == 0);
  thread_ = std::thread([this] { run(); });
}

PageAhead::~PageAhead() {
  stopping_ = true;
  sem_post(&wake_);
  thread_.join();
  sem_destroy(&wake_);
}

void PageAhead::reached(size_t bytes) {
  reached_ = bytes;
  if (has_work() && !woken_.exchange(true)) sem_post(&wake_);
}

bool PageAhead::has_work() const {
  const size_t reached = reached_;
  const size_t lead = std::clamp(reached, kHugePageBytes, kLeadBytes);
  return ready_ + kHugePageBytes <= std::min(reached + lead, limit_bytes_);
}

void PageAhead::run() {
  pthread_setname_np(pthread_self(), "page-ahead");
  while (!stopping_) {
    while (sem_wait(&wake_) != 0) {  // a signal came
    }
    woken_ = false;  // before the look: what is reached after it posts again
    while (!stopping_ && has_work()) {
      const size_t from = std::max<size_t>(ready_, reached_ / kHugePageBytes * kHugePageBytes);  // below it: touched
      if (from + kHugePageBytes > limit_bytes_) break;
      if (madvise(base_ + from, kHugePageBytes, MADV_POPULATE_WRITE) != 0) return;
      ready_ = from + kHugePageBytes;
    }
  }
}

}  // namespace scyper::storage
