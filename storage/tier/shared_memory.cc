#include "tier/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared_huge_pages.h"
#include "storage/arena.h"

namespace scyper::storage {
namespace {

// Aligned to huge pages: reserves more, maps over a part of it, and gives the rest back.
char* map_shared(int fd, size_t bytes, int protection) {
  const size_t wide = bytes + kHugePageBytes;
  void* space = mmap(nullptr, wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(space);
  const size_t lead = (kHugePageBytes - start % kHugePageBytes) % kHugePageBytes;
  char* const begin = static_cast<char*>(space) + lead;
  if (mmap(begin, bytes, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    munmap(space, wide);
    return nullptr;
  }
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t mapped = (bytes + page - 1) / page * page;
  if (lead != 0) munmap(space, lead);
  munmap(begin + mapped, wide - lead - mapped);
  return begin;
}

// Grants what lies between borders of huge pages as such, as far as the system has some to spare: a read into them has
// few segments, and a virtual disk reads 512 KB into 4 KB pages at less than half the rate (docs/tiering.md). `view`
// begins at a border.
void prefer_huge_pages(int fd, char* view, size_t offset, size_t bytes) {
  madvise(view + offset, bytes, MADV_HUGEPAGE);
  const size_t begin = (offset + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const size_t end = (offset + bytes) / kHugePageBytes * kHugePageBytes;
  if (begin < end) grant_huge_pages(fd, view, begin, end - begin);
}

Status refused(size_t bytes) {
  return sql_error("53200", absl::StrCat("the system does not give ", bytes,
                                         " bytes of shared memory for a page cache: ", std::strerror(errno)));
}

}  // namespace

StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::create(const char* name, size_t bytes, bool children_write,
                                                             size_t granted_bytes) {
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
  if (is_made) prefer_huge_pages(fd, memory->write_, 0, granted_bytes);
  is_made = is_made && fallocate(fd, 0, 0, static_cast<off_t>(granted_bytes)) == 0;
  Status status = is_made ? Status() : refused(bytes);
  if (is_made && granted_bytes < bytes) {
    memory->descriptor_ = fd;
  } else {
    close(fd);
  }
  SCYPER_RETURN_IF_ERROR(status);
  return memory;
}

Status SharedMemory::grant(size_t offset, size_t bytes) {
  prefer_huge_pages(descriptor_, write_, offset, bytes);
  const bool is_granted = fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
  return is_granted ? Status() : refused(bytes);
}

SharedMemory::~SharedMemory() {
  if (descriptor_ >= 0) close(descriptor_);
  if (write_ != nullptr && write_ != read_) munmap(write_, bytes_);
  if (read_ != nullptr) munmap(read_, bytes_);
}

}  // namespace scyper::storage
