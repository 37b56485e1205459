#include "replay/data_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace scyper::replay {

StatusOr<DataLock> DataLock::take(const std::string& directory) {
  const std::string path = directory + "/lock";
  DataLock lock;
  lock.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (lock.file_ < 0) return absl::UnavailableError(absl::StrCat(path, ": cannot be opened"));
  if (::flock(lock.file_, LOCK_EX | LOCK_NB) == 0) return lock;
  return sql_error("55006", absl::StrCat("another process uses the database in ", directory));
}

DataLock::~DataLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace scyper::replay
