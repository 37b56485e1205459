#include "query/program_tables.h"

#include "compile/program_parts.h"

namespace scyper::query {

bool add_tables(const Program& program, std::vector<const storage::Table*>* tables) {
  std::vector<const Program*> all;
  visit_programs(program, &all);
  bool is_complete = true;
  for (const Program* one : all) {
    // as the compiler marks programs with dynamic SQL (Compiler::generate())
    const Footprint& footprint = one->footprint();
    is_complete = is_complete && !(footprint.writes && footprint.is_long && footprint.all_partitions);
    for (const auto& table : one->parts().resources.tables) tables->push_back(table.get());
  }
  return is_complete;
}

bool shows_plan(const Program& program) { return program.parts().resources.explains; }

}  // namespace scyper::query
