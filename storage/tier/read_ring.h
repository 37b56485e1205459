#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

namespace scyper::storage {

struct ReadCompletion {
  uint32_t tag;
  int32_t result;  // bytes, or an error number below 0
};

// Reads by io_uring.
// Threads: add() and submit() by one at a time, wait() by one at a time; the two do not exclude each other. Whoever
// submits is interrupted when its reads end, so that it is best the one that waits. Fork: not in the child, which does
// not have it.
class ReadRing {
 public:
  // reads_max: at once. 0A000: this system has no io_uring for us.
  static StatusOr<std::unique_ptr<ReadRing>> create(uint32_t reads_max);
  ~ReadRing();  // nothing is under way
  ReadRing(const ReadRing&) = delete;
  ReadRing& operator=(const ReadRing&) = delete;

  // A read, which begins with the next submit(); `parts` stays until it has ended.
  void add(uint32_t tag, int fd, uint64_t offset, const iovec* parts, size_t part_count);
  // What has been added, together: of a virtual disk each submission leaves the virtual machine.
  void submit();
  // Blocks until a read has ended; how many have.
  size_t wait(ReadCompletion* completions, size_t completions_max);

 private:
  struct Ring;
  explicit ReadRing(std::unique_ptr<Ring> ring);
  const std::unique_ptr<Ring> ring_;
};

}  // namespace scyper::storage
