#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "plan/expressions.h"
#include "plan/physical.h"

namespace scyper::query {

namespace {

using Set = uint64_t;  // of inputs
constexpr size_t kInputsMax = std::numeric_limits<Set>::digits;
constexpr size_t kExactInputsMax = 12;
constexpr size_t kExactPairsMax = 20000;  // of the enumeration: a clique of 9 has 9330

struct Predicate {
  BoundPtr expr;
  Set inputs = 0;
  bool is_equality = false;
};

struct Candidate {
  double rows = 0;
  double cost = std::numeric_limits<double>::infinity();
  Set left = 0, right = 0;
};

class JoinOrder {
 public:
  JoinOrder(PhysicalPlanner* planner, std::vector<PlanPtr> inputs, std::vector<BoundPtr> conjuncts)
      : planner_(*planner), inputs_(std::move(inputs)), neighbours_(inputs_.size()) {
    for (const auto& input : inputs_) produced_.push_back(produced_by(*input));
    for (auto& e : conjuncts) add_predicate(std::move(e));
    for (size_t i = 0; i < inputs_.size(); i++) {
      Candidate& single = best_[bit(i)];
      single.rows = inputs_[i]->rows;
      single.cost = inputs_[i]->cost;
    }
  }

  PlanPtr run() {
    Set all = inputs_.size() == kInputsMax ? ~Set{0} : bit(inputs_.size()) - 1;
    connect(all);
    if (inputs_.size() > kExactInputsMax || !enumerate()) greedy();
    return build(all);
  }

 private:
  static Set bit(size_t i) { return Set{1} << i; }

  void add_predicate(BoundPtr expr) {
    Predicate predicate;
    std::set<uint32_t> used = relations_of(*expr);
    for (size_t i = 0; i < inputs_.size(); i++)
      if (intersects(used, produced_[i])) predicate.inputs |= bit(i);
    const BoundExpr *a = nullptr, *b = nullptr;
    bool null_safe = false;
    predicate.is_equality = is_equality(*expr, &a, &b, &null_safe);
    predicate.expr = std::move(expr);
    for (size_t i = 0; i < inputs_.size(); i++)
      if (predicate.inputs & bit(i)) neighbours_[i] |= predicate.inputs & ~bit(i);
    predicates_.push_back(std::move(predicate));
  }

  // Cross products where the graph falls apart: each further part's smallest input joins the smallest one so far.
  void connect(Set all) {
    Set reached = bit(0);
    for (;;) {
      for (Set before = 0; before != reached;) {
        before = reached;
        for (size_t i = 0; i < inputs_.size(); i++)
          if (reached & bit(i)) reached |= neighbours_[i];
      }
      Set rest = all & ~reached;
      if (rest == 0) return;
      auto smallest = [&](Set set) {
        size_t best = static_cast<size_t>(std::countr_zero(set));
        for (size_t i = 0; i < inputs_.size(); i++)
          if ((set & bit(i)) && inputs_[i]->rows < inputs_[best]->rows) best = i;
        return best;
      };
      size_t a = smallest(reached), b = smallest(rest);
      neighbours_[a] |= bit(b);
      neighbours_[b] |= bit(a);
      reached |= bit(b);
    }
  }

  Set neighbourhood(Set set) const {
    Set result = 0;
    for (Set rest = set; rest != 0; rest &= rest - 1)
      result |= neighbours_[static_cast<size_t>(std::countr_zero(rest))];
    return result & ~set;
  }

  // --- DPccp ---

  bool enumerate() {
    for (size_t i = inputs_.size(); i-- > 0;) {
      complements(bit(i));
      subgraphs(bit(i), (bit(i) << 1) - 1, [&](Set s) { complements(s); });
      if (pairs_ > kExactPairsMax) return false;
    }
    return true;
  }

  template <class F>
  void subgraphs(Set set, Set excluded, const F& emit) {
    Set around = neighbourhood(set) & ~excluded;
    if (around == 0 || pairs_ > kExactPairsMax) return;
    for (Set sub = around & -around; sub != 0; sub = (sub - around) & around) emit(set | sub);
    for (Set sub = around & -around; sub != 0; sub = (sub - around) & around)
      subgraphs(set | sub, excluded | around, emit);
  }

  void complements(Set set) {
    Set lowest = set & -set;
    Set excluded = ((lowest << 1) - 1) | set;
    Set around = neighbourhood(set) & ~excluded;
    for (size_t i = inputs_.size(); i-- > 0;) {
      if (!(around & bit(i))) continue;
      consider(set, bit(i));
      subgraphs(bit(i), excluded | (((bit(i) << 1) - 1) & around), [&](Set other) { consider(set, other); });
    }
  }

  void consider(Set a, Set b) {
    poll_work();
    pairs_++;
    auto left = best_.find(a), right = best_.find(b);
    if (left == best_.end() || right == best_.end()) return;
    Candidate result = join(a, left->second, b, right->second);
    Candidate& best = best_[a | b];
    if (result.cost < best.cost) best = result;
  }

  std::vector<const BoundExpr*> between(Set a, Set b, bool* has_equality) const {
    std::vector<const BoundExpr*> result;
    *has_equality = false;
    for (const auto& predicate : predicates_) {
      if ((predicate.inputs & ~(a | b)) != 0 || !(predicate.inputs & a) || !(predicate.inputs & b)) continue;
      result.push_back(predicate.expr.get());
      *has_equality |= predicate.is_equality;
    }
    return result;
  }

  std::set<uint32_t> relations(Set set) const {
    std::set<uint32_t> result;
    for (Set rest = set; rest != 0; rest &= rest - 1) {
      const auto& one = produced_[static_cast<size_t>(std::countr_zero(rest))];
      result.insert(one.begin(), one.end());
    }
    return result;
  }

  double rows_of(Set a, double a_rows, Set b, double b_rows) {
    auto known = rows_.find(a | b);
    if (known != rows_.end()) return known->second;
    poll_work();
    bool ignored = false;
    double s = planner_.estimator().join_selectivity(between(a, b, &ignored), relations(a), a_rows, b_rows);
    return rows_[a | b] = std::max(1.0, a_rows * b_rows * s);
  }

  Candidate join(Set a, const Candidate& left, Set b, const Candidate& right) {
    bool equality = false;
    std::vector<const BoundExpr*> conjuncts = between(a, b, &equality);
    Candidate result;
    result.left = a;
    result.right = b;
    result.rows = rows_of(a, left.rows, b, right.rows);
    bool a_single = std::has_single_bit(a), b_single = std::has_single_bit(b);
    const PlanNode& x = *inputs_[static_cast<size_t>(std::countr_zero(a))];
    const PlanNode& y = *inputs_[static_cast<size_t>(std::countr_zero(b))];
    auto choice = planner_.choose_inner(x, left.rows, left.cost, y, right.rows, right.cost, equality,
                                        a_single && x.kind == PlanKind::kGet, b_single && y.kind == PlanKind::kGet,
                                        conjuncts, result.rows);
    result.cost = choice.cost;
    if (choice.swapped) std::swap(result.left, result.right);
    return result;
  }

  // --- greedy: always the pair whose join is smallest ---

  void greedy() {
    std::vector<Set> parts;
    for (size_t i = 0; i < inputs_.size(); i++) parts.push_back(bit(i));
    while (parts.size() > 1) {
      size_t best_i = 0, best_j = 1;
      double best_rows = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < parts.size(); i++)
        for (size_t j = i + 1; j < parts.size(); j++) {
          if (!(neighbourhood(parts[i]) & parts[j])) continue;
          double rows = rows_of(parts[i], best_[parts[i]].rows, parts[j], best_[parts[j]].rows);
          if (rows < best_rows) best_rows = rows, best_i = i, best_j = j;
        }
      Candidate result = join(parts[best_i], best_[parts[best_i]], parts[best_j], best_[parts[best_j]]);
      parts[best_i] |= parts[best_j];
      best_[parts[best_i]] = result;
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(best_j));
    }
  }

  PlanPtr build(Set set) {
    if (std::has_single_bit(set)) return std::move(inputs_[static_cast<size_t>(std::countr_zero(set))]);
    const Candidate candidate = found_in(best_, set);
    PlanPtr left = build(candidate.left);
    PlanPtr right = build(candidate.right);
    std::vector<BoundPtr> conjuncts;
    for (auto& predicate : predicates_)
      if (predicate.expr != nullptr && (predicate.inputs & ~set) == 0) conjuncts.push_back(std::move(predicate.expr));
    PlanPtr join = planner_.make_inner(std::move(left), std::move(right), std::move(conjuncts));
    join->rows = candidate.rows;
    return join;
  }

  PhysicalPlanner& planner_;
  std::vector<PlanPtr> inputs_;
  std::vector<Set> neighbours_;
  std::vector<std::set<uint32_t>> produced_;
  std::vector<Predicate> predicates_;
  std::unordered_map<Set, Candidate> best_;
  std::unordered_map<Set, double> rows_;
  size_t pairs_ = 0;
};

// At most kInputsMax of the inputs, connected by conjuncts as long as any two are; true: is one of them. inputs_of: by
// conjunct.
std::vector<bool> connected_part(size_t count, const std::vector<std::vector<size_t>>& inputs_of) {
  std::vector<bool> is_part(count);
  const auto begin = std::find_if(inputs_of.begin(), inputs_of.end(), [](const auto& each) { return each.size() > 1; });
  if (begin == inputs_of.end()) {
    std::fill_n(is_part.begin(), std::min(count, kInputsMax), true);
    return is_part;
  }
  is_part[begin->front()] = true;
  size_t size = 1;
  for (size_t before = 0; before != size;) {
    before = size;
    for (const auto& inputs : inputs_of) {
      if (std::none_of(inputs.begin(), inputs.end(), [&](size_t i) { return is_part[i]; })) continue;
      for (size_t i : inputs) {
        if (is_part[i] || size == kInputsMax) continue;
        is_part[i] = true;
        ++size;
      }
    }
  }
  return is_part;
}

// Some of the inputs become one, with the conjuncts that are on them only.
void join_part(PhysicalPlanner* planner, std::vector<PlanPtr>* inputs, std::vector<BoundPtr>* conjuncts) {
  std::vector<std::set<uint32_t>> produced;
  for (const auto& input : *inputs) produced.push_back(produced_by(*input));
  std::vector<std::vector<size_t>> inputs_of(conjuncts->size());
  for (size_t c = 0; c < conjuncts->size(); ++c) {
    const std::set<uint32_t> used = relations_of(*(*conjuncts)[c]);
    for (size_t i = 0; i < inputs->size(); ++i) {
      if (intersects(used, produced[i])) inputs_of[c].push_back(i);
    }
  }
  const std::vector<bool> is_part = connected_part(inputs->size(), inputs_of);
  std::vector<PlanPtr> part, rest;
  for (size_t i = 0; i < inputs->size(); ++i) (is_part[i] ? part : rest).push_back(std::move((*inputs)[i]));
  std::vector<BoundPtr> part_conjuncts, rest_conjuncts;
  for (size_t c = 0; c < conjuncts->size(); ++c) {
    const auto& on = inputs_of[c];
    const bool is_within = std::all_of(on.begin(), on.end(), [&](size_t i) { return is_part[i]; });
    (is_within ? part_conjuncts : rest_conjuncts).push_back(std::move((*conjuncts)[c]));
  }
  rest.insert(rest.begin(), JoinOrder(planner, std::move(part), std::move(part_conjuncts)).run());
  *inputs = std::move(rest);
  *conjuncts = std::move(rest_conjuncts);
}

}  // namespace

PlanPtr order_joins(PhysicalPlanner* planner, std::vector<PlanPtr> inputs, std::vector<BoundPtr> conjuncts) {
  INVARIANT(!inputs.empty());
  while (inputs.size() > kInputsMax) join_part(planner, &inputs, &conjuncts);
  return JoinOrder(planner, std::move(inputs), std::move(conjuncts)).run();
}

}  // namespace scyper::query
