#pragma once

#include <cstdint>
#include <string>

#include "base/disk.h"
#include "base/status.h"

namespace scyper::storage {

// How far a log has come: segment `number`, with that many bytes at least. A log that ends before lacks what was there.
// File `log.end` beside the log's directory, so that it outlives that: docs/log_format.md, "The end of the log".
struct LogEnd {
  uint64_t number = 0;  // 0: nothing is known
  uint64_t bytes = 0;
  friend bool operator==(const LogEnd&, const LogEnd&) = default;
};

// A file that cannot be read says nothing: the log is whole without it.
LogEnd read_log_end(Disk* disk, const std::string& log);
// On the disk when it returns. Call it before a log is shortened.
Status write_log_end(Disk* disk, const std::string& log, const LogEnd& end);
// Before a log is removed.
Status forget_log_end(Disk* disk, const std::string& log);

}  // namespace scyper::storage
