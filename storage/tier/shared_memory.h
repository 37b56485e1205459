#pragma once

#include <cstddef>
#include <memory>

#include "base/status.h"

namespace scyper::storage {

// Memory that this process and the children that it forks share, granted whole by the system when it is made, so that
// no touch can fail. Zero at first.
// read() is the view that everybody has; write() the same view where children may write, else another one that only
// this process has (as FrozenMemory's), so that a child cannot damage what others read.
// Threads, fork: a plain owner of addresses.
class SharedMemory {
 public:
  // 53200: not granted.
  static StatusOr<std::unique_ptr<SharedMemory>> create(const char* name, size_t bytes, bool children_write);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const char* read() const { return read_; }
  char* write() const { return write_; }
  size_t bytes() const { return bytes_; }

 private:
  explicit SharedMemory(size_t bytes) : bytes_(bytes) {}
  const size_t bytes_;
  char* read_ = nullptr;
  char* write_ = nullptr;
};

}  // namespace scyper::storage
