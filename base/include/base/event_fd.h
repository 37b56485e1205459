#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

// Eventfds by which threads and processes wake each other, or a poll(). Threads: any.
namespace scyper {

// Does not block, closed by exec; -1: none is left (errno).
inline int make_event() { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

// Readable from here on.
inline void signal_event(int event) {
  const uint64_t one = 1;
  static_cast<void>(!::write(event, &one, sizeof(one)));
}

// Not readable until it is signalled again.
inline void drain_event(int event) {
  uint64_t value;
  static_cast<void>(!::read(event, &value, sizeof(value)));
}

}  // namespace scyper
