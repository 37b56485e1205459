#pragma once

#include <functional>
#include <string>
#include <vector>

#include "query/catalog.h"

namespace scyper::bench {

// Queries of CH-benCHmark as somebody would write them by hand for these tables, over the same storage: what compiled
// plans are held against (findings: within 2 times). Column layout. Source: Kersten et al., VLDB 2018 (hand-written
// pipelines as a baseline).
struct LimitQuery {
  int number;
  // Runs it; the rows it found, as `check` gives them.
  std::function<std::string(const query::Catalog&)> run;
  std::string check;  // wraps the query's text (%s) into a statement with the same answer
};
const std::vector<LimitQuery>& limit_queries();

}  // namespace scyper::bench
