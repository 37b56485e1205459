#include "codegen/join_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "bind/relation_walk.h"

namespace scyper::query {

bool calls_routine(const BoundExpr& e) {
  return e.kind == BoundKind::kUserCall ||
         std::any_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return calls_routine(*arg); });
}

namespace {

std::set<uint32_t> own_relations(const BoundQuery& query) {
  std::set<uint32_t> own;
  for (const auto& entry : query.from) own.insert(entry.relation->id);
  return own;
}

std::set<uint32_t> used_of(const BoundExpr& expr, const std::set<uint32_t>& own) {
  std::set<uint32_t> used;
  collect_relations(expr, &used);
  std::set<uint32_t> both;
  std::set_intersection(used.begin(), used.end(), own.begin(), own.end(), std::inserter(both, both.begin()));
  return both;
}

bool is_subset(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

// The leading items of ORDER BY that are columns of one relation in one direction, NULLs, if there are any, where
// indexes have them.
bool wanted_order(const BoundQuery& query, uint32_t* relation, WantedOrder* order) {
  if (query.order.empty() || query.aggregated || query.distinct || query.set != SetOp::kNone) return false;
  for (const auto& item : query.order) {
    const BoundExpr& expr = *query.outputs[item.output].expr;
    if (expr.kind != BoundKind::kColumn || (item.nulls_first != item.descending && expr.nullable)) break;
    if (order->columns.empty()) *relation = expr.relation, order->descending = item.descending;
    if (expr.relation != *relation || item.descending != order->descending) break;
    order->columns.push_back(expr.index);
  }
  return !order->columns.empty();
}

// Conditions that call routines come behind the others, as PostgreSQL orders conditions by their costs.
void order_filters(std::vector<const BoundExpr*>* filters) {
  std::vector<const BoundExpr*> last;
  std::erase_if(*filters, [&](const BoundExpr* filter) {
    const bool is_last = calls_routine(*filter);
    if (is_last) last.push_back(filter);
    return is_last;
  });
  filters->insert(filters->end(), last.begin(), last.end());
}

// Is it another value each time that it is computed? PostgreSQL computes such a condition for each row. A subquery that
// nothing around it decides is computed once.
bool differs_by_row(const BoundExpr& e) {
  // stable, though no snapshot knows its value
  const bool is_setting = e.builtin != nullptr && e.builtin->name == "current_setting";
  const bool is_volatile = e.kind == BoundKind::kUserCall ? e.routine != nullptr && e.routine->is_volatile
                                                          : e.builtin != nullptr && e.builtin->is_volatile;
  return (is_volatile && !is_setting) ||
         std::any_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return differs_by_row(*arg); });
}

constexpr int kGoodScore = 10;  // AccessPath::score of an equality on an index's first column

class Planner {
 public:
  Planner(const BoundQuery& query, const std::set<uint32_t>& outer, uint32_t target)
      : query_(query), own_(own_relations(query)), known_(outer), target_(target) {
    has_order_ = wanted_order(query, &order_relation_, &order_);
    for (const auto& conjunct : query.where) {
      pending_.push_back(conjunct.get());
      note_fixed(*conjunct);
    }
  }

  JoinPlan plan() {
    plan_.query = &query_;
    take_filters(&plan_.constant_filters, /*constant=*/!query_.from.empty());
    std::vector<const FromEntry*> rest;
    for (const auto& entry : query_.from)
      if (entry.join == JoinType::kInner) rest.push_back(&entry);
    while (!rest.empty()) {
      size_t best = pick(rest);
      add(*rest[best]);
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(best));
    }
    for (const auto& entry : query_.from)
      if (entry.join == JoinType::kLeft) add(entry);
    return std::move(plan_);
  }

 private:
  // constant: those that decide once for all rows.
  void take_filters(std::vector<const BoundExpr*>* out, bool constant = false) {
    for (auto it = pending_.begin(); it != pending_.end();) {
      std::set<uint32_t> used = used_of(**it, own_);
      if (is_subset(used, known_) && !(constant && differs_by_row(**it))) {
        out->push_back(*it);
        it = pending_.erase(it);
      } else {
        ++it;
      }
    }
    order_filters(out);
  }

  // Subqueries and functions in FROM may need relations before them (LATERAL).
  bool ready(const FromEntry& entry) const {
    std::set<uint32_t> used;
    if (entry.relation->query != nullptr) collect_relations(*entry.relation->query, &used);
    for (const auto& argument : entry.relation->arguments) collect_relations(*argument, &used);
    for (uint32_t id : used)
      if (own_.count(id) != 0 && known_.count(id) == 0) return false;
    return true;
  }

  // ordered_items: of ORDER BY, in whose order the rows come then.
  AccessPath access(const FromEntry& entry, const std::vector<const BoundExpr*>& conjuncts,
                    size_t* ordered_items = nullptr) const {
    WantedOrder order;
    if (has_order_ && plan_.steps.empty() && entry.relation->id == order_relation_) order = order_;
    AccessPath path = choose_access(*entry.relation, conjuncts, known_, order, PrefixUse::kRanges);
    while (!path.ordered && order.columns.size() > 1) {
      order.columns.pop_back();
      path = choose_access(*entry.relation, conjuncts, known_, order, PrefixUse::kRanges);
    }
    if (ordered_items != nullptr) *ordered_items = path.ordered ? order.columns.size() : 0;
    // a column's value that WHERE has settled is known before the statement runs: it tells where that has to run
    if (path.route != nullptr && path.route->kind == BoundKind::kColumn) {
      auto fixed = fixed_.find({path.route->relation, path.route->index});
      if (fixed != fixed_.end()) path.route = fixed->second;
    }
    return path;
  }

  // column = value, of integers, in WHERE.
  void note_fixed(const BoundExpr& conjunct) {
    if (conjunct.kind != BoundKind::kBuiltin || conjunct.builtin->op != BuiltinOp::kEqual) return;
    for (size_t side = 0; side < 2; side++) {
      const BoundExpr* column = conjunct.args[side].get();
      while (widens_integer(*column)) column = column->args[0].get();
      const BoundExpr& value = *conjunct.args[1 - side];
      const bool is_settled =
          value.kind == BoundKind::kVariable || (value.kind == BoundKind::kConst && !value.value.null);
      if (column->kind == BoundKind::kColumn && is_integer(column->type.id) && is_settled && is_integer(value.type.id))
        fixed_.emplace(std::pair(column->relation, column->index), &value);
    }
  }

  // The rows of the target are needed where they lie. If no index finds them for a row of the others, it comes first.
  bool goes_first(const FromEntry& entry) const {
    if (entry.relation->id != target_) return false;
    std::set<uint32_t> others = known_;
    for (const auto& other : query_.from)
      if (other.relation->id != target_) others.insert(other.relation->id);
    return choose_access(*entry.relation, pending_, others, WantedOrder{}, PrefixUse::kRanges).score < kGoodScore;
  }

  size_t pick(const std::vector<const FromEntry*>& rest) const {
    for (size_t i = 0; i < rest.size(); i++)
      if (goes_first(*rest[i])) return i;
    size_t best = 0;
    int best_score = -1;
    for (size_t i = 0; i < rest.size(); i++) {
      if (!ready(*rest[i])) continue;
      int score = 1;
      if (rest[i]->relation->kind == RelationKind::kTable)
        score = access(*rest[i], pending_).score;
      else if (rest[i]->relation->kind != RelationKind::kQuery)
        score = 4;
      if (score > best_score) best = i, best_score = score;
    }
    return best;
  }

  void add(const FromEntry& entry) {
    JoinStep step;
    step.entry = &entry;
    bool left = entry.join == JoinType::kLeft;
    std::vector<const BoundExpr*> on;
    for (const auto& e : entry.on) on.push_back(e.get());
    std::vector<const BoundExpr*>& source = left ? on : pending_;
    const Relation& relation = *entry.relation;
    bool first = plan_.steps.empty();
    switch (relation.kind) {
      case RelationKind::kTable: {
        size_t items = 0;
        step.path = access(entry, source, &items);
        if (first && !left && has_order_ && relation.id == order_relation_) {
          plan_.ordered_items = items;
          plan_.ordered = items == query_.order.size();
        }
        if (step.path.score < kGoodScore && !first && relation.id != target_) materialise(&step, &source);
        if (step.kind == JoinStep::Kind::kTable) drop_covered(step.path, relation, &source);
        break;
      }
      case RelationKind::kQuery:
        if (relation.query->correlated || (first && !left))
          step.kind = JoinStep::Kind::kStream;
        else
          materialise(&step, &source);
        break;
      case RelationKind::kCommon:
        materialise(&step, &source);
        break;
      case RelationKind::kValues:
        if (relation.rows.size() == 1 || (first && has_late_rows(relation)))
          step.kind = JoinStep::Kind::kValues;
        else
          materialise(&step, &source);
        break;
      case RelationKind::kSeries:
        step.kind = JoinStep::Kind::kSeries;
        break;
      case RelationKind::kUnnest:
        step.kind = JoinStep::Kind::kUnnest;
        break;
      case RelationKind::kFeed:
        step.kind = JoinStep::Kind::kFeed;
        break;
      case RelationKind::kForeign:
        step.kind = JoinStep::Kind::kForeign;
        if (!first || left) materialise(&step, &source);  // a file is read once
        break;
      case RelationKind::kFunction:
        step.kind = JoinStep::Kind::kFunction;
        if (relation.common != nullptr && (!first || left)) materialise(&step, &source);
        break;
    }
    if (left) step.on = on;
    known_.insert(relation.id);
    take_filters(&step.filters);
    plan_.steps.push_back(std::move(step));
  }

  // Conjuncts that the index already guarantees.
  void drop_covered(const AccessPath& path, const Relation& relation, std::vector<const BoundExpr*>* conjuncts) {
    std::set<size_t> covered;
    for (const auto& part : path.equal) covered.insert(part.conjunct);
    for (const auto& part : path.bounds)
      if (part.made == nullptr && relation.table->schema().columns[part.column].not_null) covered.insert(part.conjunct);
    if (path.kind == AccessKind::kFullScan) return;
    std::vector<const BoundExpr*> left;
    for (size_t i = 0; i < conjuncts->size(); i++)
      if (covered.count(i) == 0) left.push_back((*conjuncts)[i]);
    *conjuncts = std::move(left);
  }

  void materialise(JoinStep* step, std::vector<const BoundExpr*>* conjuncts) {
    const Relation& relation = *step->entry->relation;
    std::vector<const BoundExpr*> rest;
    for (const BoundExpr* conjunct : *conjuncts) {
      std::set<uint32_t> used = used_of(*conjunct, own_);
      bool own_only = used.size() == 1 && used.count(relation.id) == 1;
      bool equality = conjunct->kind == BoundKind::kBuiltin && conjunct->builtin->op == BuiltinOp::kEqual;
      bool taken = false;
      if (own_only) {
        step->local.push_back(conjunct);
        taken = true;
      } else if (equality) {
        for (size_t side = 0; side < 2 && !taken; side++) {
          std::set<uint32_t> mine = used_of(*conjunct->args[side], own_);
          std::set<uint32_t> other = used_of(*conjunct->args[1 - side], own_);
          if (mine.size() != 1 || mine.count(relation.id) == 0 || other.count(relation.id) != 0 ||
              !is_subset(other, known_))
            continue;
          step->keys.emplace_back(conjunct->args[side].get(), conjunct->args[1 - side].get());
          taken = true;
        }
      }
      if (!taken) rest.push_back(conjunct);
    }
    *conjuncts = std::move(rest);
    step->kind = step->keys.empty() ? JoinStep::Kind::kBuffer : JoinStep::Kind::kHash;
    // the relation is read before the pipeline: a path for its own conjuncts
    if (relation.kind == RelationKind::kTable) {
      std::set<uint32_t> none = known_;
      for (uint32_t id : own_) none.erase(id);
      step->path = choose_access(relation, step->local, none, WantedOrder{}, PrefixUse::kRanges);
    }
    std::set<uint32_t> columns;
    collect_columns(query_, relation.id, &columns);
    step->columns.assign(columns.begin(), columns.end());
    step->slots.assign(relation.columns.size(), -1);
    for (size_t i = 0; i < step->columns.size(); i++) step->slots[step->columns[i]] = static_cast<int>(i);
  }

  const BoundQuery& query_;
  const std::set<uint32_t> own_;
  std::set<uint32_t> known_;
  const uint32_t target_;
  std::vector<const BoundExpr*> pending_;
  std::map<std::pair<uint32_t, uint32_t>, const BoundExpr*> fixed_;  // (relation, column): its value in all rows
  bool has_order_ = false;
  uint32_t order_relation_ = 0;
  WantedOrder order_;
  JoinPlan plan_;
};

}  // namespace

JoinPlan plan_joins(const BoundQuery& query, const std::set<uint32_t>& outer, uint32_t target) {
  return Planner(query, outer, target).plan();
}

}  // namespace scyper::query
