#pragma once

namespace scyper::server {

// This program begins again with that command line, in the same process; returns when it cannot. Whatever other threads
// do meanwhile: one that starts a thread just then is refused (EAGAIN: the kernel allows none while it prepares an
// exec), and must not end the process by what it makes of that (std::thread throws, and nobody catches it).
void replace_process(char* const* command_line) noexcept;

}  // namespace scyper::server
