#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/catalog.h"
#include "storage/hot_view_learner.h"

// Hot data views that a node has learned of what statements ask (docs/tiering.md).
namespace scyper::query {

// At the end of a window of compaction: the next step of making views for each table; how many came into use, and
// went. Threads: one at a time.
struct LearningChanges {
  uint64_t adopted = 0;
  uint64_t given_up = 0;
};
LearningChanges learn_hot_views(const Catalog& catalog);

struct LearnedViewInfo {
  std::string name;
  std::string workload;              // "transactions", "analytics"
  std::string condition;             // as SQL
  std::vector<std::string> columns;  // that matter
  double statements = 0;             // share of the workload's sampled ones that ask for rows of it alone
  double rows_left_out = 0;          // share of the rows in chunks that those need not read
};
std::vector<LearnedViewInfo> learned_views(const storage::Table& table);

// Of all tables and one workload. Threads: any.
struct LearningState {
  uint64_t views = 0;
  uint64_t samples = 0;
};
LearningState learning_state(const Catalog& catalog, storage::Workload workload);

}  // namespace scyper::query
