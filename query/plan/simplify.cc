#include "plan/simplify.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "bind/make.h"
#include "plan/expressions.h"
#include "plan/unnest.h"

namespace scyper::query {

namespace {

class Simplifier {
 public:
  explicit Simplifier(Plan* plan) : plan_(*plan) {}

  void run() {
    for (auto& shared : plan_.shared) fold(shared->plan.get());
    fold(plan_.root.get());
    for (auto& output : plan_.outputs) fold_nulls(&output);
    visit(&plan_.root);
    // what reads a shared plan stands behind it, and may have given it conjuncts
    for (size_t i = plan_.shared.size(); i-- > 0;) visit_shared(&plan_.shared[i]->plan);
    if (names_.empty()) return;
    for (auto& shared : plan_.shared) rename(shared->plan.get());
    rename(plan_.root.get());
    for (auto& output : plan_.outputs) rename(&output);
  }

 private:
  using Names = std::map<ColumnId, BoundPtr>;

  // Readers of a shared plan name its columns: a projection on top stays, unless what it names are columns after all
  // else was done.
  void visit_shared(PlanPtr* node) {
    if ((*node)->kind != PlanKind::kMap) return visit(node);
    visit_inputs(node->get());
    for (auto& e : (*node)->exprs) rename(&e);
    if (is_renaming(**node)) drop_renaming(node);
  }

  void drop_renaming(PlanPtr* node) {
    for (size_t i = 0; i < (*node)->exprs.size(); i++)
      names_[{(*node)->relation, static_cast<uint32_t>(i)}] = std::move((*node)->exprs[i]);
    PlanPtr input = std::move((*node)->inputs[0]);
    *node = std::move(input);
  }

  void visit(PlanPtr* node) {
    check_stack();
    poll_work();
    switch ((*node)->kind) {
      case PlanKind::kFilter: {
        std::vector<BoundPtr> conjuncts = std::move((*node)->conjuncts);
        PlanPtr input = std::move((*node)->inputs[0]);
        *node = std::move(input);
        derive_conjuncts(&conjuncts);
        for (auto& e : conjuncts) push(node, std::move(e));
        // what could not go down stands here as a filter: visited would be the same again
        if ((*node)->kind == PlanKind::kFilter) return visit_inputs(node->get());
        return visit(node);
      }
      case PlanKind::kInner:
        return visit_inner(node);
      case PlanKind::kJoin:
        push_on(node->get());
        if (push_semi(node)) return visit(node);
        break;
      case PlanKind::kMap:
        if (is_renaming(**node)) {
          drop_renaming(node);
          return visit(node);
        }
        break;
      default:
        break;
    }
    visit_inputs(node->get());
  }

  void visit_inputs(PlanNode* node) {
    for (auto& input : node->inputs) visit(&input);
  }

  static void fold(PlanNode* node) {
    for_each_own(node, [](BoundPtr& e) { fold_nulls(&e); });
    for (auto& input : node->inputs) fold(input.get());
  }

  // Gives columns of its input other names. A column of the row around the query is none: outer joins above fill it
  // with NULL, and readers of a shared plan ask for it.
  static bool is_renaming(const PlanNode& node) {
    const std::set<uint32_t> below = produced_by(*node.inputs[0]);
    return std::all_of(node.exprs.begin(), node.exprs.end(), [&](const BoundPtr& e) {
      return e->kind == BoundKind::kColumn && below.count(e->relation) != 0;
    });
  }

  // May a map's expressions be computed above the inner join that it is an input of?
  bool is_inlinable(const PlanNode& node) const {
    for (const auto& shared : plan_.shared)
      if (shared->is_domain) return false;  // its readers name columns
    std::set<uint32_t> below = produced_by(*node.inputs[0]);
    PlanKind kind = node.inputs[0]->kind;
    if (kind != PlanKind::kInner && kind != PlanKind::kGet && kind != PlanKind::kFilter) return false;
    return std::all_of(node.exprs.begin(), node.exprs.end(), [&](const BoundPtr& e) {
      return is_strict(*e, below) && !is_volatile(*e) && !has_subquery(*e);
    });
  }

  // Merges inner joins, filters and projections below an inner join into it.
  void flatten(PlanNode* inner) {
    for (size_t i = 0; i < inner->inputs.size();) {
      PlanPtr& input = inner->inputs[i];
      if (input->kind == PlanKind::kMap && (is_renaming(*input) || is_inlinable(*input))) {
        for (size_t k = 0; k < input->exprs.size(); k++)
          names_[{input->relation, static_cast<uint32_t>(k)}] = std::move(input->exprs[k]);
        PlanPtr below = std::move(input->inputs[0]);
        input = std::move(below);
        continue;
      }
      if (input->kind == PlanKind::kSort && input->limit == nullptr && input->offset == nullptr) {
        PlanPtr below = std::move(input->inputs[0]);
        input = std::move(below);
        continue;
      }
      if (input->kind == PlanKind::kInner || input->kind == PlanKind::kFilter) {
        PlanPtr merged = std::move(input);
        inner->inputs.erase(inner->inputs.begin() + static_cast<ptrdiff_t>(i));
        for (auto& e : merged->conjuncts) inner->conjuncts.push_back(std::move(e));
        for (auto& below : merged->inputs) inner->inputs.push_back(std::move(below));
        continue;
      }
      if (input->kind == PlanKind::kOneRow && inner->inputs.size() > 1) {
        inner->inputs.erase(inner->inputs.begin() + static_cast<ptrdiff_t>(i));
        continue;
      }
      i++;
    }
  }

  void visit_inner(PlanPtr* node) {
    PlanNode* inner = node->get();
    flatten(inner);
    for (auto& e : inner->conjuncts) rename(&e);
    derive_conjuncts(&inner->conjuncts);
    std::vector<BoundPtr> kept;
    std::vector<std::set<uint32_t>> produced;
    for (const auto& input : inner->inputs) produced.push_back(produced_by(*input));
    std::set<uint32_t> all = produced_by(*inner);
    bool grew = false;
    for (auto& e : inner->conjuncts) {
      std::set<uint32_t> used;
      for (uint32_t relation : relations_of(*e))
        if (all.count(relation) != 0) used.insert(relation);
      size_t target = inner->inputs.size();
      if (!used.empty() && !is_volatile(*e))
        for (size_t i = 0; i < inner->inputs.size(); i++)
          if (is_subset(used, produced[i])) target = i;
      if (target == inner->inputs.size()) {
        kept.push_back(std::move(e));
        continue;
      }
      push(&inner->inputs[target], std::move(e));
      PlanKind kind = inner->inputs[target]->kind;
      grew |= kind == PlanKind::kInner;  // an outer join became an inner one
    }
    inner->conjuncts = std::move(kept);
    if (grew) return visit_inner(node);
    if (inner->inputs.size() == 1) {
      PlanPtr only = make_filter(std::move(inner->inputs[0]), std::move(inner->conjuncts));
      *node = std::move(only);
      if ((*node)->kind == PlanKind::kFilter) return visit_inputs(node->get());
      return visit(node);
    }
    visit_inputs(inner);
  }

  // ON: what one side alone decides is decided there.
  void push_on(PlanNode* join) {
    for (auto& e : join->conjuncts) rename(&e);
    if (join->join == JoinKind::kFull) return;
    std::set<uint32_t> left = produced_by(*join->inputs[0]), right = produced_by(*join->inputs[1]);
    std::vector<BoundPtr> kept;
    if (join->join == JoinKind::kInner || join->join == JoinKind::kSemi) derive_conjuncts(&join->conjuncts);
    for (auto& e : join->conjuncts) {
      std::set<uint32_t> used = relations_of(*e);
      bool uses_left = intersects(used, left), uses_right = intersects(used, right);
      if (uses_right && !uses_left && !is_volatile(*e) && join->join != JoinKind::kSingle) {
        push(&join->inputs[1], std::move(e));
      } else if (uses_left && !uses_right && join->join == JoinKind::kSemi) {
        push(&join->inputs[0], std::move(e));
      } else {
        kept.push_back(std::move(e));
      }
    }
    join->conjuncts = std::move(kept);
  }

  // A semi join that looks at one input of an inner join reduces that input.
  bool push_semi(PlanPtr* node) {
    PlanNode* join = node->get();
    if (join->join != JoinKind::kSemi || join->inputs[0]->kind != PlanKind::kInner) return false;
    PlanNode* inner = join->inputs[0].get();
    std::set<uint32_t> all = produced_by(*inner), used;
    for (const auto& e : join->conjuncts)
      for (uint32_t relation : relations_of(*e))
        if (all.count(relation) != 0) used.insert(relation);
    if (used.empty()) return false;
    for (auto& input : inner->inputs) {
      if (!is_subset(used, produced_by(*input))) continue;
      PlanPtr whole = std::move(join->inputs[0]);
      join->inputs[0] = std::move(input);
      input = std::move(*node);
      *node = std::move(whole);
      return true;
    }
    return false;
  }

  void stop(PlanPtr* node, BoundPtr conjunct) {
    if ((*node)->kind == PlanKind::kFilter || (*node)->kind == PlanKind::kInner || (*node)->kind == PlanKind::kGet) {
      (*node)->conjuncts.push_back(std::move(conjunct));
      return;
    }
    std::vector<BoundPtr> one;
    one.push_back(std::move(conjunct));
    *node = make_filter(std::move(*node), std::move(one));
  }

  // Puts a conjunct as low as it can go.
  void push(PlanPtr* node, BoundPtr e) {
    if (!names_.empty()) rename(&e);
    if (is_volatile(*e)) return stop(node, std::move(e));
    switch ((*node)->kind) {
      case PlanKind::kJoin:
        return push_join(node, std::move(e));
      case PlanKind::kMap:
        return push_map(node, std::move(e));
      case PlanKind::kGroup:
        return push_group(node, std::move(e));
      case PlanKind::kSetOp:
        return push_set(node, std::move(e));
      case PlanKind::kSort:
        if ((*node)->limit != nullptr || (*node)->offset != nullptr) break;
        return push(&(*node)->inputs[0], std::move(e));
      case PlanKind::kWindow:
        return push_window(node, std::move(e));
      // The other readers take values from its rows that are joined with these rows again: of rows that are left out
      // here nobody needs any.
      case PlanKind::kShared:
        if (offers_domain(**node)) return push(&(*node)->shared->plan, std::move(e));
        break;
      case PlanKind::kValues:
      case PlanKind::kFunction:
      case PlanKind::kSubquery: {
        std::set<uint32_t> used = relations_of(*e), below = produced_by(*(*node)->inputs[0]);
        if (used.count((*node)->relation) == 0 && intersects(used, below))
          return push(&(*node)->inputs[0], std::move(e));
        break;
      }
      default:
        break;
    }
    stop(node, std::move(e));
  }

  void push_join(PlanPtr* node, BoundPtr e) {
    PlanNode* join = node->get();
    std::set<uint32_t> used = relations_of(*e);
    std::set<uint32_t> left = produced_by(*join->inputs[0]), right = produced_by(*join->inputs[1]);
    if (join->join == JoinKind::kMark) right = {join->relation};
    bool uses_left = intersects(used, left), uses_right = intersects(used, right);
    if (join->join == JoinKind::kFull) {
      bool keeps_left = !rejects_null(*e, right), keeps_right = !rejects_null(*e, left);
      if (keeps_left && keeps_right) return stop(node, std::move(e));
      if (keeps_left) {
        join->join = JoinKind::kLeft;  // rows without a left partner fail
      } else if (keeps_right) {
        join->join = JoinKind::kLeft;
        std::swap(join->inputs[0], join->inputs[1]);
      } else {
        join->join = JoinKind::kInner;
      }
      return push_join(node, std::move(e));
    }
    if (uses_left && !uses_right) return push(&join->inputs[0], std::move(e));
    if (join->join == JoinKind::kInner && uses_right && !uses_left) return push(&join->inputs[1], std::move(e));
    if (join->join == JoinKind::kLeft && uses_right && rejects_null(*e, right)) join->join = JoinKind::kInner;
    if (join->join == JoinKind::kInner) {
      join->kind = PlanKind::kInner;
      join->conjuncts.push_back(std::move(e));
      return;
    }
    stop(node, std::move(e));
  }

  void push_map(PlanPtr* node, BoundPtr e) {
    PlanNode* map = node->get();
    bool can = true;
    scyper::query::visit(*e, [&](const BoundExpr& x) {
      if (x.kind != BoundKind::kColumn || x.relation != map->relation) return;
      const BoundExpr& source = *map->exprs[x.index];
      can &= !is_volatile(source) && !has_subquery(source);
    });
    if (!can) return stop(node, std::move(e));
    replace(&e, map->relation, map->exprs);
    if (relations_of(*e).empty()) return stop(node, std::move(e));
    push(&map->inputs[0], std::move(e));
  }

  static void replace(BoundPtr* e, uint32_t relation, const std::vector<BoundPtr>& exprs) {
    rewrite(e, [&](BoundPtr* x) {
      if ((*x)->kind != BoundKind::kColumn || (*x)->relation != relation) return false;
      bool nullable = (*x)->nullable;
      *x = clone(*exprs[(*x)->index]);
      (*x)->nullable |= nullable;
      return true;
    });
  }

  void push_group(PlanPtr* node, BoundPtr e) {
    PlanNode* group = node->get();
    bool keys_only = true, any = false;
    scyper::query::visit(*e, [&](const BoundExpr& x) {
      if (x.kind != BoundKind::kColumn || x.relation != group->relation) return;
      any = true;
      keys_only &= x.index < group->exprs.size() && !is_volatile(*group->exprs[x.index]) &&
                   !has_subquery(*group->exprs[x.index]);
    });
    if (!any || !keys_only) return stop(node, std::move(e));
    replace(&e, group->relation, group->exprs);
    push(&group->inputs[0], std::move(e));
  }

  // What is equal in a whole partition decides about it below as well.
  void push_window(PlanPtr* node, BoundPtr e) {
    PlanNode* window = node->get();
    for (auto& key : window->exprs) rename(&key);
    bool keys_only = true, any = false;
    std::set<uint32_t> mine = produced_by(*window);
    scyper::query::visit(*e, [&](const BoundExpr& x) {
      if (x.kind != BoundKind::kColumn || mine.count(x.relation) == 0) return;
      any = true;
      keys_only &= std::any_of(window->exprs.begin(), window->exprs.end(), [&](const BoundPtr& key) {
        return key->kind == BoundKind::kColumn && key->relation == x.relation && key->index == x.index;
      });
    });
    if (!any || !keys_only) return stop(node, std::move(e));
    push(&window->inputs[0], std::move(e));
  }

  void push_set(PlanPtr* node, BoundPtr e) {
    PlanNode* set = node->get();
    const bool computes = std::any_of(set->outputs.begin(), set->outputs.end(), [](const auto& outputs) {
      return std::any_of(outputs.begin(), outputs.end(), [](const BoundPtr& output) { return has_subquery(*output); });
    });
    if (!relations_of(*e).count(set->relation) || has_subquery(*e) || computes) return stop(node, std::move(e));
    for (size_t i = 0; i < set->inputs.size(); i++) {
      BoundPtr copy = clone(*e);
      replace(&copy, set->relation, set->outputs[i]);
      push(&set->inputs[i], std::move(copy));
    }
  }

  // --- names of columns that were projected away ---

  void rename(BoundPtr* expr) {
    rewrite(expr, [&](BoundPtr* e) {
      if ((*e)->kind != BoundKind::kColumn) return false;
      auto it = names_.find({(*e)->relation, (*e)->index});
      if (it == names_.end()) return false;
      bool nullable = (*e)->nullable;
      *e = clone(*it->second);
      (*e)->nullable |= nullable;
      rename(e);
      return true;
    });
  }

  void rename(PlanNode* node) {
    for_each_own(node, [&](BoundPtr& e) { rename(&e); });
    if (node->kind == PlanKind::kShared) {
      for (auto& column : node->columns) {
        auto it = names_.find(column.id);
        while (it != names_.end() && it->second->kind == BoundKind::kColumn) {
          column.id = {it->second->relation, it->second->index};
          it = names_.find(column.id);
        }
      }
    }
    if (node->kind == PlanKind::kSubquery)
      rewrite(node->owned->query.get(), [&](BoundPtr* e) {
        if ((*e)->kind != BoundKind::kColumn || names_.count({(*e)->relation, (*e)->index}) == 0) return false;
        rename(e);
        return true;
      });
    for (auto& input : node->inputs) rename(input.get());
  }

  Plan& plan_;
  Names names_;
};

}  // namespace

void simplify(Plan* plan) { Simplifier(plan).run(); }

}  // namespace scyper::query
