#include "tier/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "storage/arena.h"

namespace scyper::storage {
namespace {

// Aligned to huge pages where it has some: reserves more, cuts, and maps over the rest.
char* map_shared(int fd, size_t bytes, int protection) {
  char* at = nullptr;
  if (bytes >= kHugePageBytes) {
    const size_t wide = bytes + kHugePageBytes;
    void* space = mmap(nullptr, wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return nullptr;
    char* start = static_cast<char*>(space);
    const size_t before = -reinterpret_cast<size_t>(space) % kHugePageBytes;
    at = start + before;
    if (before > 0) munmap(start, before);
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t mapped = (bytes + page - 1) / page * page;
    if (wide - before > mapped) munmap(at + mapped, wide - before - mapped);
  }
  void* mapped = mmap(at, bytes, protection, MAP_SHARED | (at != nullptr ? MAP_FIXED : 0), fd, 0);
  if (mapped == MAP_FAILED) {
    if (at != nullptr) munmap(at, bytes);
    return nullptr;
  }
  // huge pages where the system has them to spare: only advice
  madvise(mapped, bytes, MADV_HUGEPAGE);
  return static_cast<char*>(mapped);
}

Status refused(size_t bytes) {
  return sql_error("53200", absl::StrCat("the system does not give ", bytes,
                                         " bytes of shared memory for a page cache: ", std::strerror(errno)));
}

}  // namespace

bool grant_huge_pages(int fd, char* mapped, size_t offset, size_t bytes) {
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
  for (size_t at = offset; at < offset + bytes; at += kHugePageBytes) {
    if (fallocate(fd, 0, static_cast<off_t>(at), 1) != 0) return false;  // of nothing none is made
  }
  return madvise(mapped + offset, bytes, MADV_COLLAPSE) == 0;
}

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
  const bool is_huge = offset % kHugePageBytes == 0 && bytes % kHugePageBytes == 0;
  if (is_huge && grant_huge_pages(descriptor_, write_, offset, bytes)) return Status();
  const bool is_granted = fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
  return is_granted ? Status() : refused(bytes);
}

SharedMemory::~SharedMemory() {
  if (descriptor_ >= 0) close(descriptor_);
  if (write_ != nullptr && write_ != read_) munmap(write_, bytes_);
  if (read_ != nullptr) munmap(read_, bytes_);
}

}  // namespace scyper::storage
