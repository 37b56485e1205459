#include "plan/explain.h"

// How a plan falls into pipelines.
namespace scyper::query {

// Are the rows of that input kept before the node gives any?
bool keeps_input(const PlanNode& node, size_t input) {
  switch (node.kind) {
    case PlanKind::kGroup:
      return !node.aggregates.empty();
    case PlanKind::kSort:
      return !node.order.empty();
    case PlanKind::kWindow:
    case PlanKind::kSetOp:
    case PlanKind::kRecursive:
      return true;
    case PlanKind::kJoin:
      if (node.join == JoinKind::kFull) return true;
      if (node.method == JoinMethod::kHashSwapped) return input == 0;
      return input == 1 && node.method != JoinMethod::kLookup;
    default:
      return false;
  }
}

namespace {

class Finder {
 public:
  std::vector<PlanPipeline> run(const PlanNode& root) {
    add(root, nullptr);
    return std::move(pipelines_);
  }

 private:
  void add(const PlanNode& top, const PlanNode* into) {
    PlanPipeline pipeline;
    pipeline.top = &top;
    pipeline.into = into;
    follow(top, &pipeline);
    pipelines_.push_back(std::move(pipeline));
  }

  void follow(const PlanNode& node, PlanPipeline* pipeline) {
    const PlanNode* source = nullptr;
    for (size_t i = 0; i < node.inputs.size(); i++) {
      if (!keeps_input(node, i)) {
        bool lookup = node.kind == PlanKind::kJoin && node.method == JoinMethod::kLookup && i == 1;
        if (!lookup) source = node.inputs[i].get();
        continue;
      }
      add(*node.inputs[i], &node);
      pipeline->inside.push_back(node.inputs[i].get());
    }
    if (source != nullptr) follow(*source, pipeline);
    pipeline->operators.push_back(&node);
  }

  std::vector<PlanPipeline> pipelines_;
};

}  // namespace

std::vector<PlanPipeline> pipelines_of(const PlanNode& root) { return Finder().run(root); }

}  // namespace scyper::query
