#include "jit/jit.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/bounded_work.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "base/internal_error.h"
#include "base/invariant.h"
#include "jit/code_arena.h"
#include "jit/codegen.h"
#include "jit/fatal_guard.h"
#include "jit/inline_library.h"
#include "jit/linker.h"
#include "jit/translate.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace scyper::query::jit {
namespace {

Failpoint native_breaks("native.breaks"), native_throws("native.throws"), native_fatal("native.fatal");

class StopWatch {
 public:
  // Microseconds since the last lap.
  uint32_t lap() {
    const auto now = std::chrono::steady_clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(now - last_);
    last_ = now;
    return static_cast<uint32_t>(passed.count());
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Collects what LLVM calls an error: without a handler LLVM prints it and ends the process.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext* context) {
    context->setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo* info, void* to) { static_cast<Diagnostics*>(to)->note(*info); }, this);
  }
  Status status() const {
    return errors_.empty() ? Status() : internal_error({Phase::kCompiling, "LLVM: " + errors_, ""});
  }

 private:
  void note(const llvm::DiagnosticInfo& info) {
    if (info.getSeverity() != llvm::DS_Error) return;
    llvm::raw_string_ostream stream(errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    stream << "; ";
  }

  std::string errors_;
};

// What a Jit and its code share, so that code may outlive the Jit.
struct Engine {
  ~Engine() = default;

  std::unique_ptr<CodeArena> own_arena;
  const InlineLibrary* inline_library = nullptr;
  std::unique_ptr<CodeGenerator> generators[kTierCount];
  absl::Mutex generating[kTierCount];  // the generator of the tier
  ForkPriorityMutex linking;
  std::unique_ptr<Linker> linker;  // its operations: under `linking`
  std::atomic<uint64_t> next_symbol = 0;
  std::atomic<size_t> live_code_bytes = 0;
};

class LinkedCode final : public NativeCode {
 public:
  LinkedCode(std::shared_ptr<Engine> engine, std::unique_ptr<Linker::Linked> linked)
      : engine_(std::move(engine)), linked_(std::move(linked)) {
    entry = reinterpret_cast<Entry>(linked_->entry);
    code_bytes = linked_->bytes;
    engine_->live_code_bytes += code_bytes;
  }
  ~LinkedCode() override {
    engine_->live_code_bytes -= code_bytes;
    ForkPriorityLock lock(engine_->linking);
    linked_.reset();
  }

 private:
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Linker::Linked> linked_;
};

class OrcJit final : public Jit {
 public:
  explicit OrcJit(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  StatusOr<std::shared_ptr<const NativeCode>> compile(const ir::Function& given, Tier tier) override {
    const BoundedWork::Pause pause;  // LLVM is not to be left by an exception
    DCHECK(ir::verify(given).empty());
    ir::Function swapped;
    if (ir::needs_swaps(given)) {
      swapped = ir::with_swaps(given, form_of(tier));
      const std::string broken = ir::verify(swapped);
      if (!broken.empty()) return internal_error({Phase::kCompiling, "code with swap points is wrong: " + broken, ""});
    }
    const ir::Function& function = ir::needs_swaps(given) ? swapped : given;
    INVARIANT(!native_breaks.fires());
    if (native_throws.fires()) throw std::out_of_range("failpoint native.throws");
    CompileTimes times;
    const std::string symbol = function.name + "." + std::to_string(engine_->next_symbol++);
    SCYPER_ASSIGN_OR_RETURN(auto object, generate(function, symbol, tier, times));
    StopWatch watch;
    std::unique_ptr<Linker::Linked> linked;
    {
      ForkPriorityLock lock(engine_->linking);
      for (const ir::External* external : function.externals) {
        SCYPER_RETURN_IF_ERROR(engine_->linker->define(external->name, external->address));
      }
      SCYPER_ASSIGN_OR_RETURN(linked, engine_->linker->link(std::move(object), symbol));
    }
    times.link_us = watch.lap();
    auto code = std::make_shared<LinkedCode>(engine_, std::move(linked));
    code->tier = tier;
    code->times = times;
    return code;
  }

  StatusOr<std::string> assembly(const ir::Function& given, Tier tier) override {
    const BoundedWork::Pause pause;
    const ir::Function function = ir::with_swaps(given, form_of(tier));
    std::string text;
    SCYPER_RETURN_IF_ERROR(with_generator(tier, [&](CodeGenerator& generator) -> Status {
      llvm::LLVMContext context;
      const Diagnostics diagnostics(&context);
      llvm::Module module(function.name, context);
      generator.prepare(module);
      SCYPER_RETURN_IF_ERROR(fill(function, function.name, tier, module));
      generator.optimize(module);
      SCYPER_ASSIGN_OR_RETURN(text, generator.assembly(module));
      return diagnostics.status();
    }));
    return text;
  }

  ForkHold hold_for_fork() override { return ForkHold(engine_->linking); }
  size_t live_code_bytes() const override { return engine_->live_code_bytes; }

 private:
  static ir::CodeForm form_of(Tier tier) { return tier == Tier::kQuick ? ir::CodeForm::kQuick : ir::CodeForm::kBetter; }

  // The tier's generator is used by one thread at a time. After an error that LLVM calls fatal its state is unknown, so
  // it is left as it is and another one takes its place.
  Status with_generator(Tier tier, const std::function<Status(CodeGenerator&)>& work) {
    std::unique_ptr<CodeGenerator>& generator = engine_->generators[static_cast<size_t>(tier)];
    absl::MutexLock lock(&engine_->generating[static_cast<size_t>(tier)]);
    bool has_ended = false;
    const Status status = guard_fatal([&] {
      const Status worked = work(*generator);
      has_ended = true;
      return worked;
    });
    if (has_ended) return status;
    static_cast<void>(generator.release());
    SCYPER_ASSIGN_OR_RETURN(generator, CodeGenerator::create(tier));
    return status;
  }

  StatusOr<std::unique_ptr<llvm::MemoryBuffer>> generate(const ir::Function& function, const std::string& symbol,
                                                         Tier tier, CompileTimes& times) {
    std::unique_ptr<llvm::MemoryBuffer> object;
    SCYPER_RETURN_IF_ERROR(with_generator(tier, [&](CodeGenerator& generator) -> Status {
      StopWatch watch;
      llvm::LLVMContext context;
      const Diagnostics diagnostics(&context);
      llvm::Module module(symbol, context);
      generator.prepare(module);
      SCYPER_RETURN_IF_ERROR(fill(function, symbol, tier, module));
      if (native_fatal.fires()) llvm::report_fatal_error("failpoint native.fatal");
      times.translate_us = watch.lap();
      generator.optimize(module);
      times.optimize_us = watch.lap();
      SCYPER_ASSIGN_OR_RETURN(object, generator.generate(module));
      times.generate_us = watch.lap();
      return diagnostics.status();
    }));
    return object;
  }

  // LLVM IR of the function and, for the better tier, of what it may inline.
  Status fill(const ir::Function& function, const std::string& symbol, Tier tier, llvm::Module& module) {
    const InlineLibrary* library = tier == Tier::kBetter ? engine_->inline_library : nullptr;
    const WideIntegers wide = tier == Tier::kQuick ? WideIntegers::kAsPairs : WideIntegers::kWhole;
    if (library == nullptr) {
      translate(function, symbol, wide, module);
      return absl::OkStatus();
    }
    std::vector<std::string_view> names;
    for (const ir::External* external : function.externals) names.push_back(external->name);
    auto bodies = library->declare(names, module);
    translate(function, symbol, wide, module);
    return bodies == nullptr ? absl::OkStatus() : library->insert(std::move(bodies), names, module);
  }

  std::shared_ptr<Engine> engine_;
};

}  // namespace

std::string_view name_of(Tier tier) { return tier == Tier::kQuick ? "quick" : "better"; }

StatusOr<std::unique_ptr<Jit>> Jit::create(const JitOptions& options) {
  auto engine = std::make_shared<Engine>();
  CodeArena* arena = options.arena;
  if (arena == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(engine->own_arena, CodeArena::create(options.arena_bytes));
    arena = engine->own_arena.get();
  }
  for (Tier tier : {Tier::kQuick, Tier::kBetter}) {
    SCYPER_ASSIGN_OR_RETURN(engine->generators[static_cast<size_t>(tier)], CodeGenerator::create(tier));
  }
  SCYPER_ASSIGN_OR_RETURN(engine->linker, Linker::create(*arena));
  engine->inline_library = options.inline_library;
  if (options.inline_library != nullptr) {
    for (const auto& [name, address] : options.inline_library->symbols()) {
      if (engine->linker->is_defined(name)) continue;  // memcpy and the like
      SCYPER_RETURN_IF_ERROR(engine->linker->define(name, address));
    }
  }
  return std::unique_ptr<Jit>(new OrcJit(std::move(engine)));
}

}  // namespace scyper::query::jit
