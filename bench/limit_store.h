#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"

namespace scyper::bench {

// Objects of one type, one after the other in one reserved range on huge pages: an index never moves.
// Owner: one database. Threads: none.
template <typename T>
class Store {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  Store() = default;
  ~Store() {
    if (base_ != nullptr) munmap(base_, kReservedBytes);
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // huge: ask for transparent huge pages. Before the first append.
  void reserve(bool huge) {
    void* range =
        mmap(nullptr, kReservedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(range != MAP_FAILED);
    if (huge) madvise(range, kReservedBytes, MADV_HUGEPAGE);
    base_ = static_cast<T*>(range);
  }

  // Makes the pages of the next `count` objects present, so that a measured run does not pay for first touches.
  void prefault(size_t count) {
    constexpr size_t kHugePage = size_t{2} << 20;
    char* const begin = reinterpret_cast<char*>(base_);
    for (size_t at = size_ * sizeof(T); at < (size_ + count) * sizeof(T); at += kHugePage) {
      (void)madvise(begin + at / kHugePage * kHugePage, kHugePage, MADV_POPULATE_WRITE);
    }
  }

  uint32_t append() {
    DCHECK((size_ + 1) * sizeof(T) <= kReservedBytes);
    return static_cast<uint32_t>(size_++);
  }
  void pop() { --size_; }

  T& operator[](uint32_t index) { return base_[index]; }
  const T& operator[](uint32_t index) const { return base_[index]; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kReservedBytes = size_t{64} << 30;  // of address space, not of memory

  T* base_ = nullptr;
  size_t size_ = 0;
};

}  // namespace scyper::bench
