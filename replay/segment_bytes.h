#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/disk.h"
#include "base/status.h"

namespace scyper::replay {

// The bytes of a segment, read as far as they are asked for: behind its last group a segment is zeros, which nobody
// needs in memory. Views stay valid until the next open(), whose segment takes the same memory. Threads: one.
class SegmentBytes {
 public:
  // DataLoss: it is larger than that.
  Status open(Disk* disk, const std::string& path, uint64_t bytes_max);
  uint64_t file_bytes() const { return file_bytes_; }

  // From `offset` on at least `wanted` bytes, where the file has as many and they can be read: see failure().
  std::string_view from(uint64_t offset, uint64_t wanted);
  std::string_view all() { return from(0, file_bytes_); }
  // Whether there is nothing but zeros from `offset` on. Passes over them.
  bool is_zero_from(uint64_t offset);
  // What the disk could not give back; OK: nothing.
  const Status& failure() const { return failure_; }

 private:
  std::unique_ptr<File> file_;
  uint64_t file_bytes_ = 0;
  uint64_t read_bytes_ = 0;  // of them are here
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<char[], Free> bytes_;  // only what was read has been touched
  uint64_t capacity_ = 0;
  std::unique_ptr<char[]> passed_;  // for what is not kept
  Status failure_;
};

bool is_zero(std::string_view bytes);

}  // namespace scyper::replay
