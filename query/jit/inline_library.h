#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace scyper::query::jit {

// Runtime functions as LLVM bitcode (inline_bitcode.cmake), so that the better tier can inline them into generated
// code. A call that is not inlined goes to the native function as ever. Rules for such functions: the External's name
// is the function's (extern "C"); no variables with static storage that change,
//   no exceptions, no thread_local. What they call must be in `symbols`, in the bitcode, or in a shared library (libc).
// Threads: constant after create().
class InlineLibrary {
 public:
  struct Symbol {
    std::string_view name;  // static storage
    void* address;
  };

  // Reads and checks the bitcode, which must outlive the library. `symbols`: native functions that it may call, and its
  // own.
  static StatusOr<std::unique_ptr<InlineLibrary>> create(std::string_view bitcode, std::span<const Symbol> symbols);

  bool contains(std::string_view name) const { return functions_.contains(name); }
  // Functions that cannot be inlined, with the reason: for tests and logs.
  const std::vector<std::string>& refused() const { return refused_; }
  // All that the bitcode may call: the given ones and those of shared libraries.
  const std::map<std::string, void*, std::less<>>& symbols() const { return symbols_; }

  // For the Jit. declare(): gives `module` the declarations of those `names` (externals of generated code) that the
  // library has, before translate(); returns the opened bitcode (nullptr: none of them), which insert() takes their
  // bodies from afterwards.
  std::unique_ptr<llvm::Module> declare(std::span<const std::string_view> names, llvm::Module& module) const;
  Status insert(std::unique_ptr<llvm::Module> library, std::span<const std::string_view> names,
                llvm::Module& module) const;

 private:
  InlineLibrary() = default;
  StatusOr<std::unique_ptr<llvm::Module>> open(llvm::LLVMContext& context, bool lazily) const;

  std::string_view bitcode_;
  std::map<std::string, void*, std::less<>> symbols_;
  std::set<std::string, std::less<>> functions_;
  std::vector<std::string> refused_;
};

}  // namespace scyper::query::jit
