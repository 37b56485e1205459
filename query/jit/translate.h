#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ir/ir.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace scyper::query::jit {

// kAsPairs: integers of 128 bits as two of 64 wherever that can be, for a code generator that knows no more.
enum class WideIntegers : uint8_t { kWhole, kAsPairs };

// Adds `function` to `module` as one external function `symbol`. Functions that the module already declares or defines
// (those of an InlineLibrary) are called with their own signature; other externals are declared with 64-bit integers
// for all words.
void translate(const ir::Function& function, const std::string& symbol, WideIntegers wide, llvm::Module& module);

}  // namespace scyper::query::jit
