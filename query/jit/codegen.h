#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "jit/jit.h"

namespace llvm {
class DataLayout;
class MemoryBuffer;
class Module;
class TargetMachine;
}  // namespace llvm

namespace scyper::query::jit {

// LLVM's target machine and passes of one tier: a module becomes an object file. One thread at a time (a TargetMachine
// has state), which the Jit sees to.
class CodeGenerator {
 public:
  static StatusOr<std::unique_ptr<CodeGenerator>> create(Tier tier);
  ~CodeGenerator();

  // Gives the module triple and data layout; before translate(), so that alignments are the target's.
  void prepare(llvm::Module& module) const;
  void optimize(llvm::Module& module);
  StatusOr<std::unique_ptr<llvm::MemoryBuffer>> generate(llvm::Module& module);
  StatusOr<std::string> assembly(llvm::Module& module);

 private:
  CodeGenerator(Tier tier, std::unique_ptr<llvm::TargetMachine> machine);

  Tier tier_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace scyper::query::jit
