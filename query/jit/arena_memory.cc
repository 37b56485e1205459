#include "jit/arena_memory.h"

#include <cstring>
#include <vector>

#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"

namespace scyper::query::jit {
namespace {

using llvm::Error;
using llvm::BitmaskEnumDetail::operator&;
using llvm::jitlink::BasicLayout;
using llvm::jitlink::JITLinkDylib;
using llvm::jitlink::JITLinkMemoryManager;
using llvm::jitlink::LinkGraph;

struct Piece {
  CodeArena::Part part;
  CodeArena::Range range;
};
using DeallocActions = std::vector<llvm::orc::shared::WrapperFunctionCall>;

Error to_error(const Status& status) {
  return llvm::make_error<llvm::StringError>(std::string(status.message().data(), status.message().size()),
                                             llvm::inconvertibleErrorCode());
}

// One finalized object: its address is what JITLink keeps.
struct Finalized {
  std::vector<Piece> pieces;
  DeallocActions actions;
};

class ArenaMemory;

class InFlight final : public JITLinkMemoryManager::InFlightAlloc {
 public:
  InFlight(ArenaMemory& memory, LinkGraph& graph, std::vector<Piece> pieces)
      : memory_(memory), graph_(graph), pieces_(std::move(pieces)) {}
  void abandon(OnAbandonedFunction on_abandoned) override;
  void finalize(OnFinalizedFunction on_finalized) override;

 private:
  ArenaMemory& memory_;
  LinkGraph& graph_;
  std::vector<Piece> pieces_;
};

class ArenaMemory final : public JITLinkMemoryManager {
 public:
  ArenaMemory(CodeArena& arena, ArenaUse& use) : arena_(arena), use_(use) {}

  void allocate(const JITLinkDylib*, LinkGraph& graph, OnAllocatedFunction on_allocated) override {
    BasicLayout layout(graph);
    std::vector<Piece> pieces;
    use_.status = place(layout, pieces);
    if (use_.status.ok()) {
      if (Error error = layout.apply()) {
        free(pieces);
        return on_allocated(std::move(error));
      }
      return on_allocated(std::make_unique<InFlight>(*this, graph, std::move(pieces)));
    }
    free(pieces);
    on_allocated(to_error(use_.status));
  }

  void deallocate(std::vector<FinalizedAlloc> allocs, OnDeallocatedFunction on_deallocated) override {
    Error errors = Error::success();
    while (!allocs.empty()) {
      std::unique_ptr<Finalized> finalized(allocs.back().release().toPtr<Finalized*>());
      allocs.pop_back();
      errors = llvm::joinErrors(std::move(errors), llvm::orc::shared::runDeallocActions(finalized->actions));
      free(finalized->pieces);
    }
    on_deallocated(std::move(errors));
  }

  void free(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      use_.live_bytes -= piece.range.bytes;
      arena_.free(piece.part, piece.range.address, piece.range.bytes);
    }
  }

 private:
  Status place(BasicLayout& layout, std::vector<Piece>& pieces) {
    use_.bytes = 0;
    for (auto& [group, segment] : layout.segments()) {
      const auto protection = group.getMemProt();
      if ((protection & llvm::orc::MemProt::Write) != llvm::orc::MemProt::None) {
        return sql_error("XX000", "generated code with writable data");
      }
      const bool executable = (protection & llvm::orc::MemProt::Exec) != llvm::orc::MemProt::None;
      const auto part = executable ? CodeArena::Part::kCode : CodeArena::Part::kConstants;
      const size_t bytes = segment.ContentSize + segment.ZeroFillSize;
      if (bytes == 0) continue;
      auto range = arena_.allocate(part, bytes, segment.Alignment.value());
      if (!range.ok()) return range.status();
      pieces.push_back({.part = part, .range = *range});
      use_.bytes += range->bytes;
      use_.live_bytes += range->bytes;
      segment.Addr = llvm::orc::ExecutorAddr::fromPtr(range->address);
      segment.WorkingMem = reinterpret_cast<char*>(range->writable);
      memset(segment.WorkingMem + segment.ContentSize, 0, segment.ZeroFillSize);
    }
    return absl::OkStatus();
  }

  CodeArena& arena_;
  ArenaUse& use_;
};

void InFlight::abandon(OnAbandonedFunction on_abandoned) {
  memory_.free(pieces_);
  on_abandoned(Error::success());
}

void InFlight::finalize(OnFinalizedFunction on_finalized) {
  auto actions = llvm::orc::shared::runFinalizeActions(graph_.allocActions());
  if (!actions) {
    memory_.free(pieces_);
    return on_finalized(actions.takeError());
  }
  auto* finalized = new Finalized{.pieces = std::move(pieces_), .actions = std::move(*actions)};
  on_finalized(JITLinkMemoryManager::FinalizedAlloc(llvm::orc::ExecutorAddr::fromPtr(finalized)));
}

}  // namespace

std::unique_ptr<JITLinkMemoryManager> make_arena_memory(CodeArena& arena, ArenaUse& use) {
  return std::make_unique<ArenaMemory>(arena, use);
}

}  // namespace scyper::query::jit
