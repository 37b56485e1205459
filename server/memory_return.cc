#include "memory_return.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/time/time.h"

namespace scyper::server {

namespace {
constexpr absl::Duration kPeriod = absl::Seconds(5);
// So much is kept, because memory that comes from the system again costs more than what is done with it.
constexpr size_t kKeptBytes = size_t{256} << 20;
}  // namespace

MemoryReturn::MemoryReturn() : thread_([this] { run(); }) {}

MemoryReturn::~MemoryReturn() {
  {
    absl::MutexLock lock(&mutex_);
    is_over_ = true;
  }
  thread_.join();
}

// Only what was free the last time, too: what comes and goes stays.
void MemoryReturn::run() {
  size_t before = 0;
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&is_over_), kPeriod)) {
    const size_t free_bytes = ::mallinfo2().fordblks;
    const size_t spare = std::min(free_bytes, std::exchange(before, free_bytes));
    if (spare <= kKeptBytes) continue;
    ::malloc_trim(0);
    before = 0;
  }
}

}  // namespace scyper::server
