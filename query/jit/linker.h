#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "ir/ir.h"

namespace llvm {
class MemoryBuffer;
}  // namespace llvm

namespace scyper::query::jit {

class CodeArena;

// ORC's side: links object files against the externals' addresses into the arena. Externally synchronised (the Jit's
// fork priority mutex): one thread in link() or in a Linked's destructor at a time.
class Linker {
 public:
  // Code in memory; the destructor takes it out.
  class Linked {
   public:
    virtual ~Linked() = default;
    void* entry = nullptr;
    size_t bytes = 0;
  };

  static StatusOr<std::unique_ptr<Linker>> create(CodeArena& arena);
  virtual ~Linker() = default;

  // Gives `name` an address for code linked from now on. A second address for a name is an error.
  virtual Status define(std::string_view name, void* address) = 0;
  virtual bool is_defined(std::string_view name) const = 0;
  // `entry` is the symbol to find in `object`.
  virtual StatusOr<std::unique_ptr<Linked>> link(std::unique_ptr<llvm::MemoryBuffer> object,
                                                 const std::string& entry) = 0;
};

}  // namespace scyper::query::jit
