#include "jit/codegen.h"

#include <mutex>

#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/ElimAvailExtern.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace scyper::query::jit {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::string host_features() {
  std::string text;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!text.empty()) text += ',';
    text += feature.second ? '+' : '-';
    text += feature.first();
  }
  return text;
}

// LLVM's at -O2: what an InlineLibrary holds is made for inlining.
constexpr int kInlineThreshold = 225;

bool has_inline_bodies(const llvm::Module& module) {
  int bodies = 0;
  for (const llvm::Function& function : module) bodies += !function.isDeclaration();
  return bodies > 1;
}

llvm::FunctionPassManager better_passes() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass(/*EnableHeaderDuplication=*/true, /*PrepareForLTO=*/false));
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::JumpThreadingPass());  // NULL flags: what one block sets, the next one asks
  passes.addPass(llvm::DSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

}  // namespace

CodeGenerator::CodeGenerator(Tier tier, std::unique_ptr<llvm::TargetMachine> machine)
    : tier_(tier), machine_(std::move(machine)) {}
CodeGenerator::~CodeGenerator() = default;

StatusOr<std::unique_ptr<CodeGenerator>> CodeGenerator::create(Tier tier) {
  initialize_llvm();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return sql_error("XX000", "no code generator for " + triple + ": " + error);
  llvm::TargetOptions options;
  options.EnableFastISel = tier == Tier::kQuick;
  options.EnableGlobalISel = false;
  options.MCOptions.AsmVerbose = false;
  // position independent and small: the code is right anywhere, JITLink shortens calls where it can
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, llvm::sys::getHostCPUName(), host_features(), options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      tier == Tier::kQuick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less, /*JIT=*/true));
  if (machine == nullptr) return sql_error("XX000", "no code generator for " + triple);
  return std::unique_ptr<CodeGenerator>(new CodeGenerator(tier, std::move(machine)));
}

void CodeGenerator::prepare(llvm::Module& module) const {
  module.setTargetTriple(machine_->getTargetTriple().str());
  module.setDataLayout(machine_->createDataLayout());
}

void CodeGenerator::optimize(llvm::Module& module) {
  if (tier_ == Tier::kQuick) return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (has_inline_bodies(module)) {
    passes.addPass(llvm::ModuleInlinerWrapperPass(llvm::getInlineParams(kInlineThreshold)));
    passes.addPass(llvm::EliminateAvailableExternallyPass());
    passes.addPass(llvm::GlobalDCEPass());
  }
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(better_passes()));
  passes.run(module, modules);
}

StatusOr<std::unique_ptr<llvm::MemoryBuffer>> CodeGenerator::generate(llvm::Module& module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if (machine_->addPassesToEmitMC(passes, context, stream, /*DisableVerify=*/true)) {
    return sql_error("XX000", "the target cannot emit object code");
  }
  passes.run(module);
  return std::unique_ptr<llvm::MemoryBuffer>(
      new llvm::SmallVectorMemoryBuffer(std::move(bytes), module.getName(), /*RequiresNullTerminator=*/false));
}

StatusOr<std::string> CodeGenerator::assembly(llvm::Module& module) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine_->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                    /*DisableVerify=*/true)) {
    return sql_error("XX000", "the target cannot print code");
  }
  passes.run(module);
  return std::string(text.begin(), text.end());
}

}  // namespace scyper::query::jit
