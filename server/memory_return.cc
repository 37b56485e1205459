#include "memory_return.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

namespace scyper::server {

namespace {
constexpr int kPeriodMs = 5'000;
// So much is kept, because memory that comes from the system again costs more than what is done with it.
constexpr size_t kKeptBytes = size_t{256} << 20;
}  // namespace

MemoryReturn::MemoryReturn() : ticker_("memory", kPeriodMs, [this] { look(); }) {}

// Only what was free the last time, too: what comes and goes stays.
void MemoryReturn::look() {
  const size_t free_bytes = ::mallinfo2().fordblks;
  const size_t spare_bytes = std::min(free_bytes, std::exchange(before_bytes_, free_bytes));
  if (spare_bytes <= kKeptBytes) return;
  ::malloc_trim(0);
  before_bytes_ = 0;
}

}  // namespace scyper::server
