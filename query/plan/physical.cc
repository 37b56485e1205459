#include "plan/physical.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "bind/make.h"
#include "plan/distinct_rows.h"
#include "plan/equalities.h"
#include "plan/expressions.h"
#include "plan/unique.h"

namespace scyper::query {

namespace {
constexpr double kFunctionRows = 100;
constexpr double kForeignRowNs = 100;  // to parse a row of a file, about
constexpr double kPatternNs = 12;      // to compare a text with a pattern
constexpr double kCaseNs = 4;          // which branch is taken is often guessed wrong

// Nanoseconds of an aggregate's input beyond those of adding a column up.
double input_work(const Aggregate& aggregate) {
  double ns = 0;
  for (const auto& arg : aggregate.args)
    visit(*arg, [&](const BoundExpr& e) {
      if (e.kind == BoundKind::kBuiltin && e.builtin->name == "like") ns += kPatternNs;
      if (e.kind == BoundKind::kCase) ns += kCaseNs;
    });
  return ns;
}
}  // namespace

void PhysicalPlanner::run(Plan* plan) {
  for (auto& shared : plan->shared) {
    visit(&shared->plan);
    shared->rows = shared->plan->rows;
  }
  visit(&plan->root);
}

void PhysicalPlanner::visit(PlanPtr* node) {
  PlanNode& n = **node;
  if (n.kind != PlanKind::kInner)
    for (auto& input : n.inputs) visit(&input);
  auto take = [&](double factor) {
    n.rows = std::max(1.0, n.inputs[0]->rows * factor);
    n.cost = n.inputs[0]->cost + n.inputs[0]->rows * costs_.filter;
  };
  switch (n.kind) {
    case PlanKind::kOneRow:
      n.rows = 1;
      return;
    case PlanKind::kGet:
      return visit_get(&n);
    case PlanKind::kFilter: {
      double s = 1;
      for (const auto& e : n.conjuncts) s *= estimator_.selectivity(*e);
      return take(s);
    }
    case PlanKind::kInner:
      return visit_inner(node);
    case PlanKind::kJoin:
      return visit_join(&n);
    case PlanKind::kGroup:
      return visit_group(&n);
    case PlanKind::kShared:
      n.rows = n.shared->rows;
      n.cost = n.rows;
      return;
    case PlanKind::kValues:
      return take(static_cast<double>(n.outputs.size()));
    case PlanKind::kFunction:
      if (n.source->kind != RelationKind::kForeign)
        return take(n.source->estimated_rows > 0 ? n.source->estimated_rows : kFunctionRows);
      take(n.source->estimated_rows);
      n.cost += n.rows * kForeignRowNs;
      return;
    case PlanKind::kSubquery:
      return take(10);
    case PlanKind::kUnique: {
      take(1);
      n.rows = DistinctRows(estimator_, *n.inputs[0]).of(views_of(n.exprs));
      return;
    }
    case PlanKind::kWorking:
      n.rows = 1000;
      return;
    case PlanKind::kRecursive:
      n.rows = n.inputs[0]->rows + 10 * n.inputs[1]->rows;
      n.cost = n.inputs[0]->cost + 10 * n.inputs[1]->cost;
      return;
    case PlanKind::kSetOp:
      return visit_set(&n);
    case PlanKind::kMap:
      return take(1);
    case PlanKind::kWindow:
      take(1);
      n.cost +=
          n.rows * (n.is_sorted ? 1 : std::log2(n.rows + 2) * 4) + n.rows * 10 * static_cast<double>(n.windows.size());
      return;
    case PlanKind::kSort: {
      take(1);
      n.cost += n.rows * std::log2(n.rows + 2) * 4;
      if (n.limit != nullptr && n.limit->kind == BoundKind::kConst && !n.limit->value.null)
        n.rows = std::min(n.rows, static_cast<double>(std::max<int64_t>(1, n.limit->value.lo)));
      return;
    }
  }
}

void PhysicalPlanner::visit_set(PlanNode* node) {
  for (const auto& input : node->inputs) {
    node->rows = std::max(0.0, node->rows) + input->rows;
    node->cost += input->cost + costs_.build(input->rows);
  }
  if (node->set == SetOp::kIntersect) node->rows = std::min(node->inputs[0]->rows, node->inputs[1]->rows);
  if (node->set == SetOp::kExcept) node->rows = node->inputs[0]->rows;
}

void PhysicalPlanner::visit_get(PlanNode* node) {
  std::vector<const BoundExpr*> conjuncts;
  for (const auto& e : node->conjuncts) conjuncts.push_back(e.get());
  double rows = estimator_.table_rows(*node);
  node->rows = std::max(1.0, rows * estimator_.selectivity_of_all(conjuncts));
  node->cost = rows * (costs_.scan + costs_.filter * static_cast<double>(conjuncts.size()));
  // a range only where it leaves out enough; one of a LIKE may leave out less than another
  for (const PrefixUse prefixes : {PrefixUse::kRanges, PrefixUse::kNone}) {
    AccessPath path = choose_access(*node->source, conjuncts, outer_, WantedOrder{}, prefixes);
    const bool is_prefix = !path.bounds.empty() && path.bounds[0].made != nullptr;
    node->path.route = path.route;
    const double cost = path_cost(path, conjuncts, rows);
    if (cost >= 0 && (cost < node->cost || path.kind == AccessKind::kPoint)) {
      node->cost = cost;
      node->path = std::move(path);
    }
    if (!is_prefix) return;
  }
}

// Cost of reading what an index gives; below 0: there is none.
double PhysicalPlanner::path_cost(const AccessPath& path, const std::vector<const BoundExpr*>& conjuncts,
                                  double rows) const {
  if (path.kind == AccessKind::kFullScan) return -1;
  if (path.kind == AccessKind::kPoint) return costs_.lookup;
  std::set<size_t> used;
  double part = 1;
  for (const auto* keys : {&path.equal, &path.bounds}) {
    for (const KeyPart& key : *keys) {
      if (key.conjunct != kNoConjunct && key.made == nullptr) used.insert(key.conjunct);
    }
  }
  // all texts that begin so are read, of which the pattern may let few through
  if (!path.bounds.empty() && path.bounds[0].made != nullptr) {
    part = estimator_.prefix_selectivity(*conjuncts[path.bounds[0].conjunct], path.bounds);
  }
  std::vector<const BoundExpr*> others;
  for (const size_t conjunct : used) others.push_back(conjuncts[conjunct]);
  return costs_.seek + rows * part * estimator_.selectivity_of_all(others) * costs_.index_next;
}

// Cost of finding the partners of one row by an index of the table; below 0: there is none.
double PhysicalPlanner::lookup_cost(const PlanNode& get, const std::set<uint32_t>& bound,
                                    const std::vector<const BoundExpr*>& conjuncts, AccessPath* path) const {
  std::vector<const BoundExpr*> all = conjuncts;
  for (const auto& e : get.conjuncts) all.push_back(e.get());
  std::set<uint32_t> known = outer_;
  known.insert(bound.begin(), bound.end());
  *path = choose_access(*get.source, all, known, WantedOrder{});
  if (path->kind == AccessKind::kPoint) return costs_.lookup;
  if (path->kind != AccessKind::kRange || path->equal.empty()) return -1;
  std::vector<const BoundExpr*> keys;
  double values = 1;
  for (const auto& part : path->equal) {
    BoundPtr column = make_column(get.relation, part.column, get.source->columns[part.column].type, false, -1);
    values *= estimator_.distinct(*column, 1e12);
  }
  double rows = estimator_.table_rows(get);
  double partners = rows / std::min(values, rows);
  return costs_.seek + partners * costs_.index_next;
}

PhysicalPlanner::JoinChoice PhysicalPlanner::choose_inner(const PlanNode& a, double a_rows, double a_cost,
                                                          const PlanNode& b, double b_rows, double b_cost,
                                                          bool has_equality, bool a_is_get, bool b_is_get,
                                                          const std::vector<const BoundExpr*>& conjuncts,
                                                          double rows) const {
  JoinChoice best;
  best.cost = std::numeric_limits<double>::infinity();
  double output = rows * costs_.output;
  auto consider = [&](double cost, JoinMethod method, bool swapped) {
    if (cost < best.cost) best = {cost, method, swapped};
  };
  for (bool swapped : {false, true}) {
    double probe_rows = swapped ? b_rows : a_rows, build_rows = swapped ? a_rows : b_rows;
    double both = a_cost + b_cost + output;
    if (has_equality) {
      consider(both + costs_.build(build_rows) + probe_rows * costs_.probe(build_rows), JoinMethod::kHash, swapped);
    } else {
      consider(both + build_rows * 3 + probe_rows * build_rows * costs_.loop, JoinMethod::kLoop, swapped);
    }
    const PlanNode& inner = swapped ? a : b;
    if (!(swapped ? a_is_get : b_is_get)) continue;
    std::set<uint32_t> bound;
    for (const BoundExpr* e : conjuncts) collect_relations(*e, &bound);
    bound.erase(inner.relation);
    AccessPath path;
    double each = lookup_cost(inner, bound, conjuncts, &path);
    if (each >= 0) consider((swapped ? b_cost : a_cost) + output + probe_rows * each, JoinMethod::kLookup, swapped);
  }
  return best;
}

PlanPtr PhysicalPlanner::make_inner(PlanPtr a, PlanPtr b, std::vector<BoundPtr> conjuncts) {
  std::vector<const BoundExpr*> views;
  bool equality = false;
  for (const auto& e : conjuncts) {
    const BoundExpr *x = nullptr, *y = nullptr;
    bool null_safe = false;
    equality |= is_equality(*e, &x, &y, &null_safe);
    views.push_back(e.get());
  }
  double rows = estimator_.join_selectivity(views, produced_by(*a), a->rows, b->rows) * a->rows * b->rows;
  rows = std::max(1.0, rows);
  JoinChoice choice = choose_inner(*a, a->rows, a->cost, *b, b->rows, b->cost, equality, a->kind == PlanKind::kGet,
                                   b->kind == PlanKind::kGet, views, rows);
  if (choice.swapped) std::swap(a, b);
  PlanPtr join = make_join(JoinKind::kInner, std::move(a), std::move(b));
  join->conjuncts = std::move(conjuncts);
  join->rows = rows;
  join->cost = choice.cost;
  join->method = choice.method;
  if (join->method == JoinMethod::kLookup) {
    PlanNode& get = *join->inputs[1];
    std::set<uint32_t> bound = produced_by(*join->inputs[0]);
    for (auto& e : get.conjuncts) join->conjuncts.push_back(std::move(e));
    get.conjuncts.clear();
    views.clear();
    for (const auto& e : join->conjuncts) views.push_back(e.get());
    lookup_cost(get, bound, views, &get.path);
  } else {
    make_keys(join.get());
  }
  return join;
}

void PhysicalPlanner::visit_inner(PlanPtr* node) {
  PlanNode& inner = **node;
  for (auto& input : inner.inputs) visit(&input);
  // conjuncts on nothing here or on one input (volatile ones) are filters
  std::vector<BoundPtr> joins, filters;
  std::vector<std::set<uint32_t>> produced;
  for (const auto& input : inner.inputs) produced.push_back(produced_by(*input));
  for (auto& e : inner.conjuncts) {
    std::set<uint32_t> used = relations_of(*e);
    auto count = std::count_if(produced.begin(), produced.end(), [&](const auto& p) { return intersects(used, p); });
    (count >= 2 ? joins : filters).push_back(std::move(e));
  }
  PlanPtr tree = order_joins(this, std::move(inner.inputs), std::move(joins));
  double rows = tree->rows, cost = tree->cost;
  tree = make_filter(std::move(tree), std::move(filters));
  if (tree->rows < 0) tree->rows = rows, tree->cost = cost;
  *node = std::move(tree);
}

namespace {
Equalities equalities_of(const PlanNode& node) { return Equalities(inner_tables(node).joins); }
}  // namespace

namespace {
// What both sides of an equality are cast to.
SqlType key_type(const SqlType& a, const SqlType& b) {
  if (a.id == TypeId::kChar) return make_type(TypeId::kChar);
  if (is_string(a.id)) return make_type(TypeId::kText);
  if (a == b || a.id != TypeId::kNumeric) return a;
  if (a.precision == 0 || b.precision == 0) return make_numeric(0, 0);
  int scale = std::max(a.scale, b.scale);
  int digits = std::max(a.precision - a.scale, b.precision - b.scale);
  return digits + scale <= kMaxPrecision ? make_numeric(digits + scale, scale) : make_numeric(0, 0);
}
}  // namespace

// Equalities between the sides become hash keys.
void PhysicalPlanner::make_keys(PlanNode* join) {
  if (join->method == JoinMethod::kLookup) return;
  std::set<uint32_t> left = produced_by(*join->inputs[0]), right = produced_by(*join->inputs[1]);
  Equalities of_left = equalities_of(*join->inputs[0]), of_right = equalities_of(*join->inputs[1]);
  std::vector<BoundPtr> rest;
  for (auto& e : join->conjuncts) {
    const BoundExpr *a = nullptr, *b = nullptr;
    bool null_safe = false;
    bool taken = false;
    if (is_equality(*e, &a, &b, &null_safe) && !is_volatile(*e)) {
      if (!intersects(relations_of(*a), left)) std::swap(a, b);
      std::set<uint32_t> of_a = relations_of(*a), of_b = relations_of(*b);
      bool fits =
          intersects(of_a, left) && !intersects(of_a, right) && intersects(of_b, right) && !intersects(of_b, left);
      if (fits && a->type.id == b->type.id && a->type.id != TypeId::kArray) {
        SqlType type = key_type(a->type, b->type);
        // another key may say the same, because of the joins below
        bool again = std::any_of(join->keys.begin(), join->keys.end(), [&](const JoinKey& key) {
          return !null_safe && !key.null_safe && key.type == type && of_left.equal(*key.left, *a) &&
                 of_right.equal(*key.right, *b);
        });
        if (!again) join->keys.push_back({clone(*a), clone(*b), type, null_safe});
        taken = true;
      }
    }
    if (!taken) rest.push_back(std::move(e));
  }
  join->conjuncts = std::move(rest);
}

void PhysicalPlanner::visit_join(PlanNode* node) {
  const PlanNode& left = *node->inputs[0];
  const PlanNode& right = *node->inputs[1];
  std::vector<const BoundExpr*> views;
  for (const auto& e : node->conjuncts) views.push_back(e.get());
  double s = estimator_.join_selectivity(views, produced_by(left), left.rows, right.rows);
  double pairs = left.rows * right.rows * s;
  switch (node->join) {
    case JoinKind::kInner:
      node->rows = pairs;
      break;
    case JoinKind::kSemi:
      node->rows = std::min(left.rows, pairs * 0.9);
      break;
    case JoinKind::kAnti:
      node->rows = std::max(left.rows * 0.1, left.rows - pairs);
      break;
    case JoinKind::kLeft:
      node->rows = std::max(left.rows, pairs);
      break;
    case JoinKind::kFull:
      node->rows = std::max(left.rows + right.rows, pairs);
      break;
    case JoinKind::kMark:
    case JoinKind::kSingle:
      node->rows = left.rows;
      break;
  }
  node->rows = std::max(1.0, node->rows);
  make_keys(node);
  bool hashes = !node->keys.empty();
  node->method = hashes ? JoinMethod::kHash : JoinMethod::kLoop;
  double both = left.cost + right.cost + node->rows;
  if (!hashes) {
    node->cost = both + left.rows * right.rows * costs_.loop;
    return;
  }
  node->cost = both + costs_.build(right.rows) + left.rows * costs_.probe(right.rows);
  double swapped = both + costs_.build(left.rows) + right.rows * costs_.probe(left.rows);
  bool can_swap = node->join == JoinKind::kSemi || node->join == JoinKind::kAnti;
  if (can_swap && swapped < node->cost) {
    node->cost = swapped;
    node->method = JoinMethod::kHashSwapped;
  }
}

namespace {
// Are equal values of the type the same value? 1.0 = 1.00 as numerics, and functions of them differ.
bool equal_is_same(const SqlType& type) {
  const TypeId id = type.id == TypeId::kArray ? type.element : type.id;
  switch (kept_as(id)) {
    case TypeId::kBool:
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
    case TypeId::kDate:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kUuid:
    case TypeId::kBytea:
    case TypeId::kEnum:
      return true;
    case TypeId::kNumeric:
      return type.id != TypeId::kArray && type.precision != 0;  // all of one scale
    default:
      return false;
  }
}
}  // namespace

// Functional dependencies: keys that others decide need no comparison (PlanNode::hashed).
void PhysicalPlanner::visit_group(PlanNode* node) {
  const auto [gets, joins] = inner_tables(*node->inputs[0]);
  const Equalities equal(joins);
  auto closure = [&](const std::set<size_t>& keys) {
    std::set<ColumnId> known;
    std::set<uint32_t> whole;  // relations of which every column is decided
    for (size_t k : keys)
      if (node->exprs[k]->kind == BoundKind::kColumn) known.insert({node->exprs[k]->relation, node->exprs[k]->index});
    for (bool changed = true; changed;) {
      changed = false;
      auto has = [&](const ColumnId& id) { return known.count(id) != 0 || whole.count(id.relation) != 0; };
      for (const auto& [a, b] : equal.pairs()) {
        if (has(a) && !has(b)) known.insert(b), changed = true;
        if (has(b) && !has(a)) known.insert(a), changed = true;
      }
      for (const PlanNode* get : gets) {
        std::set<uint32_t> columns;
        for (const auto& id : known)
          if (id.relation == get->relation) columns.insert(id.index);
        if (whole.count(get->relation) == 0 && has_unique_key(*get->source, columns))
          whole.insert(get->relation), changed = true;
      }
    }
    return std::make_pair(known, whole);
  };
  std::set<size_t> keys;
  for (size_t i = 0; i < node->exprs.size(); i++) keys.insert(i);
  for (size_t i = node->exprs.size(); i-- > 0;) {
    std::set<size_t> without = keys;
    without.erase(i);
    auto [known, whole] = closure(without);
    std::set<uint32_t> used = relations_of(*node->exprs[i]);
    bool decided = !is_volatile(*node->exprs[i]) && !has_subquery(*node->exprs[i]);
    const bool is_column = node->exprs[i]->kind == BoundKind::kColumn;
    ::scyper::query::visit(*node->exprs[i], [&](const BoundExpr& e) {
      if (e.kind != BoundKind::kColumn) return;
      const bool is_known = known.count({e.relation, e.index}) != 0 && (is_column || equal_is_same(e.type));
      decided &= is_known || whole.count(e.relation) != 0;
    });
    if (decided) keys = without;
  }
  node->hashed.assign(node->exprs.size(), false);
  std::vector<const BoundExpr*> hashed;
  for (size_t k : keys) {
    node->hashed[k] = true;
    hashed.push_back(node->exprs[k].get());
  }
  const PlanNode& input = *node->inputs[0];
  node->rows = DistinctRows(estimator_, input).of(hashed);
  double row_ns = costs_.probe(node->rows);
  for (const Aggregate& aggregate : node->aggregates) row_ns += costs_.aggregate + input_work(aggregate);
  node->cost = input.cost + input.rows * row_ns;
}

}  // namespace scyper::query
