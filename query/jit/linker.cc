#include "jit/linker.h"

#include <cstring>
#include <map>

#include "jit/arena_memory.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"

// What LLVM calls for 128-bit arithmetic, from the compiler's runtime library.
extern "C" {
// NOLINTBEGIN: the runtime library's names
__int128 __divti3(__int128, __int128);
__int128 __modti3(__int128, __int128);
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
// NOLINTEND
}

namespace scyper::query::jit {
namespace {

namespace orc = llvm::orc;

// Names of removed functions are given back in batches: clearing walks the whole pool.
constexpr int kRemovalsPerSweep = 256;

Status to_status(llvm::Error error) {
  return sql_error("XX000", "cannot link generated code: " + llvm::toString(std::move(error)));
}

class OrcLinker final : public Linker {
 public:
  OrcLinker(CodeArena& arena, std::unique_ptr<orc::ExecutorProcessControl> control)
      : session_(std::move(control)),
        memory_(make_arena_memory(arena, use_)),
        layer_(session_, *memory_),
        code_(session_.createBareJITDylib("code")) {
    session_.setErrorReporter([this](llvm::Error error) {
      if (!last_error_.empty()) last_error_ += "; ";
      last_error_ += llvm::toString(std::move(error));
    });
  }

  ~OrcLinker() override { llvm::cantFail(session_.endSession()); }

  Status define(std::string_view name, void* address) override {
    const auto [it, is_new] = defined_.try_emplace(std::string(name), address);
    if (it->second != address) {
      return sql_error("XX000", "two functions called " + it->first + " for generated code");
    }
    if (!is_new) return absl::OkStatus();
    orc::SymbolMap symbols;
    symbols[session_.intern(it->first)] = {orc::ExecutorAddr::fromPtr(address),
                                           llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    if (llvm::Error error = code_.define(orc::absoluteSymbols(std::move(symbols)))) return to_status(std::move(error));
    return absl::OkStatus();
  }

  bool is_defined(std::string_view name) const override { return defined_.contains(name); }

  StatusOr<std::unique_ptr<Linked>> link(std::unique_ptr<llvm::MemoryBuffer> object,
                                         const std::string& entry) override {
    use_.status = absl::OkStatus();
    last_error_.clear();
    orc::ResourceTrackerSP tracker = code_.createResourceTracker();
    if (llvm::Error error = layer_.add(tracker, std::move(object))) return to_status(std::move(error));
    auto symbol = session_.lookup({&code_}, session_.intern(entry));
    if (!symbol) {
      Status status = to_status(symbol.takeError());
      llvm::consumeError(tracker->remove());
      if (!use_.status.ok()) return use_.status;
      return last_error_.empty() ? status : sql_error("XX000", "cannot link generated code: " + last_error_);
    }
    auto code = std::make_unique<OrcLinked>(*this, std::move(tracker));
    code->entry = symbol->getAddress().toPtr<void*>();
    code->bytes = use_.bytes;
    return code;
  }

 private:
  class OrcLinked final : public Linked {
   public:
    OrcLinked(OrcLinker& linker, orc::ResourceTrackerSP tracker) : linker_(linker), tracker_(std::move(tracker)) {}
    ~OrcLinked() override {
      llvm::cantFail(tracker_->remove());
      linker_.sweep();
    }

   private:
    OrcLinker& linker_;
    orc::ResourceTrackerSP tracker_;
  };

  void sweep() {
    if (++removals_ % kRemovalsPerSweep == 0) session_.getSymbolStringPool()->clearDeadEntries();
  }

  ArenaUse use_;
  orc::ExecutionSession session_;
  std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> memory_;
  orc::ObjectLinkingLayer layer_;
  orc::JITDylib& code_;
  std::map<std::string, void*, std::less<>> defined_;
  std::string last_error_;
  int removals_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Linker>> Linker::create(CodeArena& arena) {
  auto control = orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!control) return to_status(control.takeError());
  auto linker = std::make_unique<OrcLinker>(arena, std::move(*control));
  const std::pair<std::string_view, void*> builtins[] = {
      {"__divti3", reinterpret_cast<void*>(&__divti3)},   {"__modti3", reinterpret_cast<void*>(&__modti3)},
      {"__udivti3", reinterpret_cast<void*>(&__udivti3)}, {"__umodti3", reinterpret_cast<void*>(&__umodti3)},
      {"memcpy", reinterpret_cast<void*>(&memcpy)},       {"memmove", reinterpret_cast<void*>(&memmove)},
      {"memset", reinterpret_cast<void*>(&memset)},       {"memcmp", reinterpret_cast<void*>(&memcmp)}};
  for (const auto& [name, address] : builtins) SCYPER_RETURN_IF_ERROR(linker->define(name, address));
  return std::unique_ptr<Linker>(std::move(linker));
}

}  // namespace scyper::query::jit
