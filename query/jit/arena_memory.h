#pragma once

#include <memory>

#include "base/status.h"
#include "jit/code_arena.h"

namespace llvm::jitlink {
class JITLinkMemoryManager;
}  // namespace llvm::jitlink

namespace scyper::query::jit {

// What the memory manager tells its Linker about the last link (JITLink passes errors on as text only).
struct ArenaUse {
  Status status;     // why the last allocation failed
  size_t bytes = 0;  // allocated by the last link
  size_t live_bytes = 0;
};

// JITLink's memory manager on a CodeArena: writes through the parent's alias, at addresses of the executable view.
// Refuses writable segments: they would be shared by all processes.
std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> make_arena_memory(CodeArena& arena, ArenaUse& use);

}  // namespace scyper::query::jit
