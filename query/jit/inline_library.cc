#include "jit/inline_library.h"

#include <dlfcn.h>

#include <utility>

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

namespace scyper::query::jit {
namespace {

Status to_status(llvm::Error error) {
  return sql_error("XX000", "inline library: " + llvm::toString(std::move(error)));
}

std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

// Why a function of the bitcode cannot be inlined: looks at everything it reaches. Empty: it can. Adds the functions of
// shared libraries that it meets to `symbols`.
class Checker {
 public:
  explicit Checker(std::map<std::string, void*, std::less<>>& symbols) : symbols_(symbols) {}

  std::string problem_of(const llvm::Function& function) {
    seen_.clear();
    return visit(function);
  }

 private:
  std::string visit(const llvm::GlobalValue& value) {
    if (!seen_.insert(&value).second) return "";
    if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value)) {
      if (variable->isThreadLocal()) return "thread-local " + value.getName().str();
      if (variable->isDeclaration()) return "variable " + value.getName().str() + " of another file";
      if (!variable->isConstant()) return "changing variable " + value.getName().str();
      return visit_operands(*variable);
    }
    const auto* function = llvm::dyn_cast<llvm::Function>(&value);
    if (function == nullptr) return "alias " + value.getName().str();
    if (function->isIntrinsic()) return "";
    if (function->isDeclaration()) {
      const std::string name = function->getName().str();
      if (symbols_.contains(name)) return "";
      void* address = dlsym(RTLD_DEFAULT, name.c_str());
      if (address == nullptr) return "unknown function " + name;
      symbols_.emplace(name, address);
      return "";
    }
    for (const llvm::BasicBlock& block : *function) {
      for (const llvm::Instruction& inst : block) {
        if (std::string problem = visit_operands(inst); !problem.empty()) return problem;
      }
    }
    return "";
  }

  std::string visit_operands(const llvm::User& user) {
    for (const llvm::Value* operand : user.operand_values()) {
      std::string problem;
      if (const auto* global = llvm::dyn_cast<llvm::GlobalValue>(operand)) {
        problem = visit(*global);
      } else if (const auto* constant = llvm::dyn_cast<llvm::Constant>(operand)) {
        problem = visit_operands(*constant);
      }
      if (!problem.empty()) return problem;
    }
    return "";
  }

  std::map<std::string, void*, std::less<>>& symbols_;
  std::set<const llvm::GlobalValue*> seen_;
};

// Code generation is for the host, whatever the bitcode was made for.
void drop_target(llvm::Function& function) {
  for (const char* name : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width"}) {
    function.removeFnAttr(name);
  }
}

}  // namespace

StatusOr<std::unique_ptr<llvm::Module>> InlineLibrary::open(llvm::LLVMContext& context, bool lazily) const {
  auto buffer = llvm::MemoryBuffer::getMemBuffer({bitcode_.data(), bitcode_.size()}, "inline library",
                                                 /*RequiresNullTerminator=*/false);
  auto module = lazily ? llvm::getOwningLazyBitcodeModule(std::move(buffer), context)
                       : llvm::parseBitcodeFile(buffer->getMemBufferRef(), context);
  if (!module) return to_status(module.takeError());
  return std::move(*module);
}

StatusOr<std::unique_ptr<InlineLibrary>> InlineLibrary::create(std::string_view bitcode,
                                                               std::span<const Symbol> symbols) {
  std::unique_ptr<InlineLibrary> library(new InlineLibrary);
  library->bitcode_ = bitcode;
  llvm::LLVMContext context;
  SCYPER_ASSIGN_OR_RETURN(auto module, library->open(context, /*lazily=*/false));
  for (const Symbol& symbol : symbols) library->symbols_.emplace(symbol.name, symbol.address);
  Checker checker(library->symbols_);
  for (const llvm::Function& function : *module) {
    if (function.isDeclaration() || !function.hasExternalLinkage()) continue;
    const std::string problem = checker.problem_of(function);
    if (problem.empty()) {
      library->functions_.insert(function.getName().str());
    } else {
      library->refused_.push_back(function.getName().str() + ": " + problem);
    }
  }
  return library;
}

std::unique_ptr<llvm::Module> InlineLibrary::declare(std::span<const std::string_view> names,
                                                     llvm::Module& module) const {
  std::unique_ptr<llvm::Module> library;
  for (std::string_view name : names) {
    if (!contains(name)) continue;
    if (library == nullptr) {
      auto opened = open(module.getContext(), /*lazily=*/true);
      if (!opened.ok()) return nullptr;  // create() has read it before
      library = *std::move(opened);
    }
    const llvm::Function* definition = library->getFunction({name.data(), name.size()});
    auto* declaration = llvm::Function::Create(definition->getFunctionType(), llvm::Function::ExternalLinkage,
                                               definition->getName(), module);
    declaration->setAttributes(definition->getAttributes());
    drop_target(*declaration);
  }
  return library;
}

Status InlineLibrary::insert(std::unique_ptr<llvm::Module> library, std::span<const std::string_view> names,
                             llvm::Module& module) const {
  std::set<std::string> own;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) own.insert(function.getName().str());
  }
  // the linker goes by name: refused functions must not match
  for (std::string_view name : names) {
    llvm::Function* refused = contains(name) ? nullptr : library->getFunction({name.data(), name.size()});
    if (refused != nullptr) refused->setName("refused." + refused->getName());
  }
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded)) {
    return sql_error("XX000", "inline library: cannot link");
  }
  const std::set<std::string_view> externals(names.begin(), names.end());
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || own.contains(function.getName().str())) continue;
    drop_target(function);
    function.setDoesNotThrow();
    function.setComdat(nullptr);
    // with an address: the body is only for inlining. Without: a copy of our own.
    const bool has_address =
        externals.contains(view(function.getName())) || symbols_.contains(view(function.getName()));
    function.setLinkage(has_address ? llvm::GlobalValue::AvailableExternallyLinkage
                                    : llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclaration() || variable.hasLocalLinkage()) continue;
    variable.setComdat(nullptr);
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return absl::OkStatus();
}

}  // namespace scyper::query::jit
