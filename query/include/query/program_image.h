#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/program.h"

namespace scyper::query {

// A program as bytes, for children forked before it was compiled. Good between a process and its forked children only:
// it holds addresses of tables, of code in the shared arena and of runtime functions. The tables must have existed at
// the fork and live on in the parent.
struct ProgramImage {
  std::string bytes;
  std::vector<std::shared_ptr<const void>> pins;  // keep the code that the bytes name; dropped when no child runs it
  uint64_t form = 0;                              // changes when better code has been made since
};

// Parent. Statements and the routines that they call, each in its best form: native code, else IR for the interpreter.
ProgramImage export_program(const Program& program);
// Which form export_program() would take now.
uint64_t form_of_program(const Program& program);

// Child. What is made reads tables only. Owns its callees.
std::shared_ptr<const Program> import_program(std::string_view bytes);

}  // namespace scyper::query
