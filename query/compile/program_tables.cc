#include "query/program_tables.h"

#include "compile/program_parts.h"

namespace scyper::query {

bool add_tables(const Program& program, std::vector<const storage::Table*>* tables) {
  std::vector<const Program*> all;
  visit_programs(program, &all);
  bool is_complete = true;
  for (const Program* one : all) {
    // rows of temporary tables that a commit deletes: it makes another catalog
    is_complete = is_complete && !one->parts().is_dynamic && !one->parts().has_temporary_rows;
    for (const auto& table : one->parts().resources.tables) tables->push_back(table.get());
  }
  return is_complete;
}

bool shows_plan(const Program& program) { return program.parts().resources.explains; }

}  // namespace scyper::query
