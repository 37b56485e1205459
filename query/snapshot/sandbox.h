#pragma once

namespace scyper::query {

// Takes from this process, for good, what a snapshot's child does not need: new privileges, and by a seccomp filter all
// system calls but those for memory, threads, clocks, signals, and reads and writes of open descriptors. Refused, with
// EPERM: sockets, programs, processes, tracing, mapping memory as code, and opening files; temporary files without a
// name (O_TMPFILE) can be made, which open nothing that is there. False: this kernel has no filters.
// Fork: for the child only, while it has one thread. Sanitized builds keep all: their runtimes open files.
bool enter_sandbox() noexcept;

// Whether this kernel has such filters.
bool has_sandbox() noexcept;

}  // namespace scyper::query
