#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>

#include "storage/arena.h"

namespace scyper::storage {

// Grants [begin, begin + bytes) of shared memory, both multiples of kHugePageBytes, as huge pages, whatever
// shmem_enabled says (MADV_COLLAPSE, from Linux 6.1). One small page of each is taken and made huge: a third of the
// time that clearing and collapsing small ones takes. False: the system has not enough to spare; some small pages, or
// huge ones, may be there. Threads: any.
inline bool grant_huge_pages(int fd, char* view, size_t begin, size_t bytes) {
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
  for (size_t at = begin; at < begin + bytes; at += kHugePageBytes) {
    if (fallocate(fd, 0, static_cast<off_t>(at), 1) != 0) return false;
  }
  return madvise(view + begin, bytes, MADV_COLLAPSE) == 0;
}

}  // namespace scyper::storage
