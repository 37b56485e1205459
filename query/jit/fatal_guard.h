#pragma once

#include <functional>

#include "base/status.h"

namespace scyper::query::jit {

// Runs work that calls LLVM. An error that LLVM calls fatal becomes the work's error (XX000) instead of the process's
// end. LLVM cannot unwind: the guard jumps out of the work, and all that the work had made stays allocated, as with
// LLVM's own CrashRecoveryContext. The work must hold no lock, and nothing that it used may be used again.
// Threads: any, one call at a time per thread.
Status guard_fatal(const std::function<Status()>& work);

}  // namespace scyper::query::jit
