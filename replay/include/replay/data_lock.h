#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace scyper::replay {

// A data directory belongs to one process: two would overwrite each other's log. Given back when it goes, and when the
// process ends or becomes another program.
class DataLock {
 public:
  // 55006: another process has it. The directory is there.
  static StatusOr<DataLock> take(const std::string& directory);
  DataLock() = default;
  DataLock(DataLock&& other) noexcept { std::swap(file_, other.file_); }
  DataLock& operator=(DataLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~DataLock();

 private:
  int file_ = -1;
};

}  // namespace scyper::replay
