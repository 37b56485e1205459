#include "tier/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace scyper::storage {
namespace {

char* map_shared(int fd, size_t bytes, int protection) {
  void* mapped = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // huge pages where the system has them to spare: only advice
  madvise(mapped, bytes, MADV_HUGEPAGE);
  return static_cast<char*>(mapped);
}

Status refused(size_t bytes) {
  return sql_error("53200", absl::StrCat("the system does not give ", bytes,
                                         " bytes of shared memory for a page cache: ", std::strerror(errno)));
}

}  // namespace

StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::create(const char* name, size_t bytes, bool children_write) {
  // the kernel would take all that there is before it said no
  const auto memory_pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
  if (bytes / static_cast<size_t>(sysconf(_SC_PAGESIZE)) > memory_pages) {
    errno = ENOMEM;
    return refused(bytes);
  }
  auto memory = std::unique_ptr<SharedMemory>(new SharedMemory(bytes));
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return refused(bytes);
  const auto size = static_cast<off_t>(bytes);
  bool is_made = ftruncate(fd, size) == 0;
  if (is_made && children_write) {
    memory->read_ = memory->write_ = map_shared(fd, bytes, PROT_READ | PROT_WRITE);
    is_made = memory->read_ != nullptr;
  } else if (is_made) {
    memory->read_ = map_shared(fd, bytes, PROT_READ);
    memory->write_ = map_shared(fd, bytes, PROT_READ | PROT_WRITE);
    is_made =
        memory->read_ != nullptr && memory->write_ != nullptr && madvise(memory->write_, bytes, MADV_DONTFORK) == 0;
  }
  is_made = is_made && fallocate(fd, 0, 0, size) == 0;
  Status status = is_made ? Status() : refused(bytes);
  close(fd);
  SCYPER_RETURN_IF_ERROR(status);
  return memory;
}

SharedMemory::~SharedMemory() {
  if (write_ != nullptr && write_ != read_) munmap(write_, bytes_);
  if (read_ != nullptr) munmap(read_, bytes_);
}

}  // namespace scyper::storage
