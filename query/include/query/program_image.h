#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/foreign_table.h"
#include "query/program.h"

namespace scyper::query {

// A program as bytes, for children forked before it was compiled. Good between a process and its forked children only:
// it holds addresses of tables, of code in the shared arena and of runtime functions. The tables must have existed at
// the fork and live on in the parent.
struct ProgramImage {
  std::string bytes;
  std::vector<std::shared_ptr<const void>> pins;  // keep the code that the bytes name; dropped when no child runs it
  uint64_t form = 0;                              // changes when better code has been made since
  std::vector<const void*> codes;                 // where each program's native code begins; nullptr: interpreted
};

// Parent. Statements and the routines that they call, each in its best form: native code, else IR for the interpreter.
ProgramImage export_program(const Program& program);
// The foreign tables that the program and what it calls read: in the same order in parent and child.
std::vector<const ForeignTable*> foreign_tables_of(const Program& program);
// Which form export_program() would take now.
uint64_t form_of_program(const Program& program);

// Better code of programs that a child has: as bytes for improve_program(). image: what was exported, and becomes what
// is known by then; its `pins` grow by those of the new code. Empty: nothing new.
std::string export_better(const Program& program, ProgramImage* image);
// `then` is called, from any thread and without locks, when better code comes of the program or of what it calls while
// the result is held; empty: none will come.
std::vector<std::shared_ptr<const void>> when_better(const Program& program, const std::function<void()>& then);

// Child. What is made reads tables only. Owns its callees.
std::shared_ptr<const Program> import_program(std::string_view bytes);
// Runs under way change to it at their next swap point, if their code has such. starts: others begin in it, those of
// routines that running programs call included.
void improve_program(const Program& program, std::string_view bytes, bool starts);

}  // namespace scyper::query
