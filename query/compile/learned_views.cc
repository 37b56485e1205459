#include "query/learned_views.h"

#include <algorithm>

#include "plan/hot_view.h"
#include "storage/frozen_slot.h"
#include "storage/hot_view_learner.h"

namespace scyper::query {

namespace {
storage::HotViewLearner* learner_of(const storage::Table& table) {
  return table.frozen_store() == nullptr ? nullptr : table.frozen_store()->learner.get();
}
}  // namespace

LearningChanges learn_hot_views(const Catalog& catalog) {
  LearningChanges sum;
  for (const auto& [name, table] : catalog.tables) {
    storage::HotViewLearner* learner = learner_of(*table);
    if (learner == nullptr) continue;
    const storage::HotViewLearner::Changes changes = learner->evaluate(table->frozen_store());
    sum.adopted += changes.adopted;
    sum.given_up += changes.given_up;
  }
  return sum;
}

std::vector<LearnedViewInfo> learned_views(const storage::Table& table) {
  std::vector<LearnedViewInfo> all;
  storage::HotViewLearner* learner = learner_of(table);
  if (learner == nullptr) return all;
  for (const storage::LearnedView& one : learner->views()) {
    LearnedViewInfo& info = all.emplace_back();
    info.name = one.view->name;
    info.workload = storage::workload_name(one.workload);
    info.condition = show_conditions(table.schema(), one.view->conditions);
    for (const uint32_t column : one.view->columns) info.columns.push_back(table.schema().columns[column].name);
    info.statements = one.statements;
    info.rows_left_out = one.left_out;
  }
  return all;
}

LearningState learning_state(const Catalog& catalog, storage::Workload workload) {
  LearningState sum;
  for (const auto& [name, table] : catalog.tables) {
    const storage::HotViewLearner* learner = learner_of(*table);
    if (learner == nullptr) continue;
    const std::vector<storage::LearnedView> views = learner->views();
    sum.views += static_cast<uint64_t>(
        std::count_if(views.begin(), views.end(), [&](const auto& view) { return view.workload == workload; }));
    sum.samples += learner->samples(workload);
  }
  return sum;
}

}  // namespace scyper::query
