#pragma once

#include <cstddef>

// Free memory inside our own blocks is marked for AddressSanitizer, so that a use after free is seen as with malloc.
#if defined(__SANITIZE_ADDRESS__)
#define SCYPER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SCYPER_ASAN 1
#endif
#endif

#ifdef SCYPER_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace scyper::storage {

inline void poison([[maybe_unused]] const void* address, [[maybe_unused]] size_t bytes) {
#ifdef SCYPER_ASAN
  __asan_poison_memory_region(address, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* address, [[maybe_unused]] size_t bytes) {
#ifdef SCYPER_ASAN
  __asan_unpoison_memory_region(address, bytes);
#endif
}

}  // namespace scyper::storage
