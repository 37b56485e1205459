#pragma once

#include <memory>
#include <string>

#include "ir/ir.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace scyper::query::jit {

// Adds `function` to `module` as one external function `symbol`. Functions that the module already declares or defines
// (those of an InlineLibrary) are called with their own signature; other externals are declared with 64-bit integers
// for all words.
void translate(const ir::Function& function, const std::string& symbol, llvm::Module& module);

}  // namespace scyper::query::jit
