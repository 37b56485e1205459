#include "plan/bounds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/invariant.h"
#include "plan/access_path.h"
#include "plan/expressions.h"

namespace scyper::query {

namespace {

using Tests = std::vector<BoundsTest>;

constexpr double kReadValue = 0.8;  // nanoseconds, measured on this code
constexpr double kWorkPerRead = 4;  // a test is worth this share of the work that it may save
constexpr size_t kTestsMax = 4;     // of one node

bool is_ordinal(const SqlType& type) { return is_integer(type.id) || is_moment(type.id) || type.id == TypeId::kTime; }

// Do equal numbers stand for equal values of both?
bool are_alike(const SqlType& a, const SqlType& b) {
  if (a.id == TypeId::kNumeric)
    return b.id == TypeId::kNumeric && a.precision != 0 && b.precision != 0 && a.scale == b.scale;
  return is_ordinal(a) && is_ordinal(b) && (a.id == b.id || (is_integer(a.id) && is_integer(b.id)));
}

const BoundExpr& without_integer_widening(const BoundExpr& expr) {
  const BoundExpr* e = &expr;
  while (widens_integer(*e)) e = e->args[0].get();
  return *e;
}

bool gives_nothing_without(const PlanNode& node, size_t input) {
  switch (node.kind) {
    case PlanKind::kFilter:
    case PlanKind::kMap:
    case PlanKind::kUnique:
    case PlanKind::kWindow:
      return true;
    case PlanKind::kSort:
      return node.limit == nullptr && node.offset == nullptr;  // they may be wrong, and then have to say so
    case PlanKind::kGroup:
      return !node.exprs.empty();
    case PlanKind::kJoin:
      if (node.join == JoinKind::kInner || node.join == JoinKind::kSemi) return true;
      return node.join != JoinKind::kFull && input == 0;
    default:
      return false;
  }
}

class BoundsArranger {
 public:
  BoundsArranger(const Estimator& estimator, bool always) : estimator_(estimator), always_(always) {}

  void run(PlanNode* root) {
    collect(*root);
    place(root, visit(root));
  }

 private:
  void collect(const PlanNode& node) {
    if (node.kind == PlanKind::kGet) tables_[node.relation] = &node;
    for (const auto& input : node.inputs) collect(*input);
  }

  // The tests without which the node gives no row.
  Tests visit(PlanNode* node) {
    Tests tests;
    const bool can_be_left_out = !has_effects(*node);
    for (size_t i = 0; i < node->inputs.size(); i++) {
      PlanNode* input = node->inputs[i].get();
      Tests below = visit(input);
      if (can_be_left_out && gives_nothing_without(*node, i))
        std::move(below.begin(), below.end(), std::back_inserter(tests));
      else
        place(input, std::move(below));
    }
    if (can_be_left_out) add_own(*node, &tests);
    return tests;
  }

  void place(PlanNode* node, Tests tests) const {
    std::sort(tests.begin(), tests.end(),
              [&](const BoundsTest& a, const BoundsTest& b) { return read_ns(a) < read_ns(b); });
    double read = 0;
    for (auto& test : tests) {
      read += read_ns(test);
      if (node->tests.size() == kTestsMax || (!always_ && read * kWorkPerRead > node->cost)) return;
      node->tests.push_back(std::move(test));
    }
  }

  double read_ns(const BoundsTest& test) const {
    double rows = 0;
    for (const auto* side : {&test.left, &test.right})
      if ((*side)->kind == BoundKind::kColumn) rows += estimator_.table_rows(*found_in(tables_, (*side)->relation));
    return rows * kReadValue;
  }

  void add_own(const PlanNode& node, Tests* tests) const {
    const bool is_scan = node.kind == PlanKind::kGet && node.path.kind == AccessKind::kFullScan;
    const bool is_join =
        node.kind == PlanKind::kJoin && (node.join == JoinKind::kInner || node.join == JoinKind::kSemi);
    if (!is_scan && !is_join && node.kind != PlanKind::kFilter) return;
    for (const auto& e : node.conjuncts)
      if (e->kind == BoundKind::kBuiltin && e->args.size() == 2) add(e->builtin->op, *e->args[0], *e->args[1], tests);
    for (const auto& key : node.keys)
      if (!key.null_safe) add(BuiltinOp::kEqual, *key.left, *key.right, tests);
  }

  void add(BuiltinOp op, const BoundExpr& left, const BoundExpr& right, Tests* tests) const {
    if (op != BuiltinOp::kEqual && (op < BuiltinOp::kLess || op > BuiltinOp::kGreaterEqual)) return;
    const BoundExpr *a = &without_integer_widening(left), *b = &without_integer_widening(right);
    if (a->kind == BoundKind::kConst) {
      std::swap(a, b);
      op = mirrored(op);
    }
    if (!is_readable(*a) || !are_alike(a->type, b->type)) return;
    const bool is_constant = b->kind == BoundKind::kConst && !b->value.null && is_ordinal(b->type);
    if (!is_constant && (!is_readable(*b) || a->relation == b->relation)) return;
    if (!always_ && !is_expected_to_exclude(op, *a, *b)) return;
    tests->push_back({op, clone(*a), clone(*b), found_in(tables_, a->relation)->source,
                      is_constant ? nullptr : found_in(tables_, b->relation)->source});
  }

  // A column of a table of this plan whose cells are integers.
  bool is_readable(const BoundExpr& e) const {
    if (e.kind != BoundKind::kColumn) return false;
    auto get = tables_.find(e.relation);
    if (get == tables_.end()) return false;
    const auto& columns = get->second->source->table->layout().columns;
    if (e.index >= columns.size()) return false;
    const storage::CellKind kind = columns[e.index].kind;
    return kind == storage::CellKind::kInt16 || kind == storage::CellKind::kInt32 || kind == storage::CellKind::kInt64;
  }

  bool is_expected_to_exclude(BuiltinOp op, const BoundExpr& a, const BoundExpr& b) const {
    const auto x = estimator_.range(a), y = estimator_.range(b);
    if (!x.has_value() || !y.has_value()) return false;
    switch (op) {
      case BuiltinOp::kLess:
        return x->first >= y->second;
      case BuiltinOp::kLessEqual:
        return x->first > y->second;
      case BuiltinOp::kGreater:
        return x->second <= y->first;
      case BuiltinOp::kGreaterEqual:
        return x->second < y->first;
      default:
        return x->second < y->first || y->second < x->first;
    }
  }

  const Estimator& estimator_;
  const bool always_;
  std::map<uint32_t, const PlanNode*> tables_;  // by relation
};

}  // namespace

void arrange_bounds(Plan* plan, const Estimator& estimator, bool always) {
  for (auto& shared : plan->shared) BoundsArranger(estimator, always).run(shared->plan.get());
  BoundsArranger(estimator, always).run(plan->root.get());
}

}  // namespace scyper::query
