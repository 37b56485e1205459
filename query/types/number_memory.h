#pragma once

#include <deque>
#include <memory>

#include "base/bounded_work.h"
#include "types/big_number.h"

namespace scyper::query {

// Memory for long numbers of a computation that leaves texts, not numbers, behind.
class LocalNumbers {
 public:
  LocalNumbers() : memory_(TextArena{take, &blocks_}) {}

 private:
  static void* take(void* blocks, size_t size) noexcept {
    auto* all = static_cast<std::deque<std::unique_ptr<uint64_t[]>>*>(blocks);
    const BoundedWork::Pause pause;  // numbers are small, and this may not throw
    return all->emplace_back(std::make_unique<uint64_t[]>(size / sizeof(uint64_t) + 1)).get();
  }

  std::deque<std::unique_ptr<uint64_t[]>> blocks_;
  const NumberMemory memory_;
};

}  // namespace scyper::query
