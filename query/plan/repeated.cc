#include "plan/repeated.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "bind/make.h"
#include "plan/expressions.h"

namespace scyper::query {

namespace {

constexpr double kKeepRow = 10;       // nanoseconds to keep one and to read it again
constexpr double kSavedMin = 50e3;    // below, not worth a look
constexpr double kKeptRowsMax = 1e6;  // what is kept does not go to disk

// Whether two subtrees give the same rows. names: relations of the second by those of the first.
class Matcher {
 public:
  bool match(const PlanNode& a, const PlanNode& b) {
    if (a.kind != b.kind || a.inputs.size() != b.inputs.size() || a.join != b.join) return false;
    if (a.kind == PlanKind::kShared) return false;  // what was put there meanwhile
    for (size_t i = 0; i < a.inputs.size(); i++)
      if (!match(*a.inputs[i], *b.inputs[i])) return false;
    if (a.kind == PlanKind::kGet && a.source->table != b.source->table) return false;
    if (a.relation != kNoRelation) names_[b.relation] = a.relation;
    return match_sets(a.conjuncts, b.conjuncts) && match_sets(a.doubtful, b.doubtful) &&
           match_lists(a.exprs, b.exprs) && match_keys(a.keys, b.keys) && match_aggregates(a.aggregates, b.aggregates);
  }
  const std::map<uint32_t, uint32_t>& names() const { return names_; }

 private:
  void rename(BoundPtr* expr) const {
    rewrite(expr, [&](BoundPtr* e) {
      auto name = (*e)->kind == BoundKind::kColumn ? names_.find((*e)->relation) : names_.end();
      if (name != names_.end()) (*e)->relation = name->second;
      return false;
    });
  }
  bool match(const BoundExpr& a, const BoundExpr& b) const {
    BoundPtr copy = clone(b);
    rename(&copy);
    return same(a, *copy);
  }
  bool match_lists(const std::vector<BoundPtr>& a, const std::vector<BoundPtr>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const BoundPtr& x, const BoundPtr& y) { return match(*x, *y); });
  }
  // In any order.
  bool match_sets(const std::vector<BoundPtr>& a, const std::vector<BoundPtr>& b) const {
    return a.size() == b.size() &&
           std::is_permutation(a.begin(), a.end(), b.begin(),
                               [&](const BoundPtr& x, const BoundPtr& y) { return match(*x, *y); });
  }
  bool match_keys(const std::vector<JoinKey>& a, const std::vector<JoinKey>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const JoinKey& x, const JoinKey& y) {
      return x.type == y.type && x.null_safe == y.null_safe && match(*x.left, *y.left) && match(*x.right, *y.right);
    });
  }
  bool match_aggregates(const std::vector<Aggregate>& a, const std::vector<Aggregate>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Aggregate& x, const Aggregate& y) {
      Aggregate copy = clone(y);
      for (auto& arg : copy.args) rename(&arg);
      if (copy.filter != nullptr) rename(&copy.filter);
      return x.type == y.type && same_aggregate(x, copy);
    });
  }

  std::map<uint32_t, uint32_t> names_;
};

// Kinds whose rows Matcher can compare.
bool is_comparable(const PlanNode& node) {
  const bool is_known = node.kind == PlanKind::kGet || node.kind == PlanKind::kFilter || node.kind == PlanKind::kMap ||
                        node.kind == PlanKind::kJoin || node.kind == PlanKind::kGroup;
  return is_known && std::all_of(node.inputs.begin(), node.inputs.end(),
                                 [](const PlanPtr& input) { return is_comparable(*input); });
}

double saved_by_sharing(const PlanNode& node) { return node.cost - node.rows * kKeepRow; }

class Sharer {
 public:
  Sharer(Plan* plan, const std::set<uint32_t>& outer, bool always, uint32_t* next_relation)
      : plan_(*plan), outer_(outer), always_(always), next_relation_(next_relation) {}

  void run() {
    for (const auto& shared : plan_.shared)
      if (shared->is_domain) return;  // its readers offer its own columns
    for (auto& shared : plan_.shared) collect(&shared->plan);
    collect(&plan_.root);
    for (size_t i = 0; i < found_.size(); i++) {
      std::shared_ptr<SharedPlan> shared;
      for (size_t k = i + 1; k < found_.size() && found_[i] != nullptr; k++) {
        const PlanNode& first = shared == nullptr ? **found_[i] : *shared->plan;
        Matcher matcher;
        if (found_[k] == nullptr || !matcher.match(first, **found_[k])) continue;
        // places inside of either are gone when they are
        forget_inside(k);
        if (shared == nullptr) {
          forget_inside(i);
          shared = keep(found_[i]);
        }
        read_again(found_[k], shared, matcher.names());
        found_[k] = nullptr;
      }
    }
    if (renamed_.empty()) return;
    for (auto& shared : plan_.shared) finish(shared->plan.get());
    finish(plan_.root.get());
    for (auto& output : plan_.outputs) rename(&output);
  }

 private:
  // Whole subtrees before their parts.
  void collect(PlanPtr* place) {
    PlanNode& node = **place;
    const bool is_candidate = (node.kind == PlanKind::kJoin || node.kind == PlanKind::kGroup) &&
                              (always_ || (node.rows <= kKeptRowsMax && saved_by_sharing(node) >= kSavedMin));
    if (is_candidate && is_comparable(node) && !has_effects(node) && is_subset(free_relations(node), outer_))
      found_.push_back(place);
    // who wants the first rows only may not need all
    if (node.kind == PlanKind::kSort && node.order.empty()) return;
    for (auto& input : node.inputs) collect(&input);
  }

  void forget_inside(size_t number) {
    std::set<const PlanPtr*> inside;
    std::function<void(PlanPtr*)> walk = [&](PlanPtr* place) {
      for (auto& input : (*place)->inputs) {
        inside.insert(&input);
        walk(&input);
      }
    };
    walk(found_[number]);
    for (auto& place : found_)
      if (inside.count(place) != 0) place = nullptr;
  }

  // The first one's rows become those of a shared plan, which it reads under their names.
  std::shared_ptr<SharedPlan> keep(PlanPtr* place) {
    auto shared = std::make_shared<SharedPlan>();
    shared->number = (*next_relation_)++;
    shared->rows = (*place)->rows;
    const double cost = (*place)->cost;
    shared->plan = std::move(*place);
    *place = make_reader(shared, kNoRelation);
    replaced_[place->get()] = cost;
    plan_.shared.insert(plan_.shared.begin(), shared);  // it reads no other one
    return shared;
  }

  PlanPtr make_reader(const std::shared_ptr<SharedPlan>& shared, uint32_t relation) const {
    PlanPtr reader = make_node(PlanKind::kShared);
    reader->shared = shared;
    reader->relation = relation;
    reader->rows = shared->rows;
    reader->cost = shared->rows;
    return reader;
  }

  void read_again(PlanPtr* place, const std::shared_ptr<SharedPlan>& shared,
                  const std::map<uint32_t, uint32_t>& names) {
    PlanPtr reader = make_reader(shared, (*next_relation_)++);
    for (const auto& [theirs, ours] : names) renamed_[theirs] = {reader.get(), ours};
    replaced_[reader.get()] = (*place)->cost;
    *place = std::move(reader);
  }

  // References to what was there: each becomes a column of the reader.
  void rename(BoundPtr* expr) {
    rewrite(expr, [&](BoundPtr* e) {
      auto found = (*e)->kind == BoundKind::kColumn ? renamed_.find((*e)->relation) : renamed_.end();
      if (found == renamed_.end()) return false;
      const ColumnId id = column_of(found->second, {{(*e)->relation, (*e)->index}, (*e)->type, (*e)->nullable});
      (*e)->relation = id.relation;
      (*e)->index = id.index;
      return false;
    });
  }

  struct Reader {
    PlanNode* node;
    uint32_t relation;  // the kept plan's
  };
  static ColumnId column_of(const Reader& reader, PlanColumn column) {
    column.id.relation = reader.relation;
    auto& columns = reader.node->columns;
    auto known = std::find_if(columns.begin(), columns.end(), [&](const PlanColumn& c) { return c.id == column.id; });
    if (known == columns.end()) known = columns.insert(columns.end(), column);
    known->nullable |= column.nullable;
    return {reader.node->relation, static_cast<uint32_t>(known - columns.begin())};
  }

  // Renames in a subtree, and takes from its costs what the shared plans cost.
  void finish(PlanNode* node) {
    double before = 0, after = 0;
    for (auto& input : node->inputs) {
      auto replaced = replaced_.find(input.get());
      before += replaced == replaced_.end() ? input->cost : replaced->second;
      finish(input.get());
      after += input->cost;
    }
    for_each_own(node, [&](BoundPtr& e) { rename(&e); });
    if (node->kind == PlanKind::kSubquery)
      rewrite(node->owned->query.get(), [&](BoundPtr* e) {
        if ((*e)->kind == BoundKind::kColumn) rename(e);
        return false;
      });
    for (auto& column : node->columns) {
      auto found = renamed_.find(column.id.relation);
      if (found != renamed_.end()) column.id = column_of(found->second, column);
    }
    node->cost = std::max(0.0, node->cost - before + after);
  }

  Plan& plan_;
  const std::set<uint32_t>& outer_;
  const bool always_;
  uint32_t* next_relation_;
  std::vector<PlanPtr*> found_;
  std::map<uint32_t, Reader> renamed_;          // by relation that is gone
  std::map<const PlanNode*, double> replaced_;  // readers, and what stood there cost
};

}  // namespace

void share_repeated(Plan* plan, const std::set<uint32_t>& outer, bool always, uint32_t* next_relation) {
  Sharer(plan, outer, always, next_relation).run();
}

}  // namespace scyper::query
