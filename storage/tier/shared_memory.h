#pragma once

#include <cstddef>
#include <memory>

#include "base/status.h"

namespace scyper::storage {

// Memory that this process and the children that it forks share. What the system has granted, which is all of it unless
// asked for less at first, can be touched without fail. Zero at first.
// read() is the view that everybody has; write() the same view where children may write, else another one that only
// this process has (as FrozenMemory's), so that a child cannot damage what others read.
// Threads, fork: a plain owner of addresses. grant(): any thread, of the process that made it.
class SharedMemory {
 public:
  // 53200: not granted.
  static StatusOr<std::unique_ptr<SharedMemory>> create(const char* name, size_t bytes, bool children_write) {
    return create(name, bytes, children_write, bytes);
  }
  // As far as `granted_bytes`; nobody touches what is behind before grant().
  static StatusOr<std::unique_ptr<SharedMemory>> create(const char* name, size_t bytes, bool children_write,
                                                        size_t granted_bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const char* read() const { return read_; }
  char* write() const { return write_; }
  Status grant(size_t offset, size_t bytes);  // 53200
  size_t bytes() const { return bytes_; }

 private:
  explicit SharedMemory(size_t bytes) : bytes_(bytes) {}
  const size_t bytes_;
  int descriptor_ = -1;  // while not all is granted
  char* read_ = nullptr;
  char* write_ = nullptr;
};

}  // namespace scyper::storage
