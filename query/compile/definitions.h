#pragma once

#include <functional>
#include <memory>

#include "compile/compiler.h"
#include "compile/definition.h"
#include "query/definitions.h"

namespace scyper::query {

// What definitions inside of transactions need of their database. Outlives them.
struct DefinitionServices {
  const DatabaseOptions* options = nullptr;
  storage::Arena* arena = nullptr;
  storage::FrozenMemory* frozen = nullptr;  // null: no chunk is ever frozen
  storage::FrozenTier* tier = nullptr;      // null: frozen chunks stay in memory
  Compiler* compiler = nullptr;
  std::function<std::shared_ptr<const Catalog>()> published;
  std::function<void(std::shared_ptr<const Catalog>)> publish;
  // Definer::Runner, with now().
  std::function<StatusOr<ResultSet>(const std::string& sql, std::shared_ptr<const Catalog> catalog, int64_t time_us,
                                    Definer::QueryFacts* facts)>
      run_query;
};

// A transaction's own catalog versions. Each definition makes the next one and a note in the change log, which takes it
// back; tables that other versions have are never changed, so that all of them stay true until the transaction ends.
std::unique_ptr<Definitions> make_definitions(DefinitionServices services);

// What a definition has changed for programs that were compiled before it.
bool is_harmed(const Program& program, const Catalog& before, const Catalog& after);

}  // namespace scyper::query
