#include "plan/join_tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/aggregate_kind.h"
#include "plan/expressions.h"
#include "plan/unique.h"
#include "runtime/direct.h"

namespace scyper::query {

namespace {

constexpr double kPlacesPerRow = 4;       // of an array; fewer rows than this in a hash table are smaller
constexpr double kSmallPlaces = 16384;    // an array of these is always worth it
constexpr double kUnknownRowsMax = 1e5;   // without statistics: where a wrong guess costs little
constexpr double kGroupPlacesMax = 1024;  // of an array of groups, which the first cache holds
constexpr double kRowsPerGroupPlace = 4;  // of the input, at least
constexpr double kGroupShareMax = 4;  // a group join has states for this many groups that may stay empty, for each row
constexpr double kFilterRowsMax = 2e6;  // of the table: more bits than caches hold
// Nanoseconds, measured on this code.
constexpr double kAskFilter = 1.5;  // per row of the scan
constexpr double kMakeFilter = 4;   // per row of the table
constexpr double kSavedProbe = 5;   // of a row that goes from the scan into a hash table at once
constexpr double kSavedWay = 12;    // of one that meets other operators before

bool is_integer_key(const SqlType& type) { return is_integer(type.id) || type.id == TypeId::kDate; }

bool has_integer_keys(const PlanNode& join) {
  return !join.keys.empty() && join.keys.size() <= kDirectKeysMax &&
         std::all_of(join.keys.begin(), join.keys.end(), [](const JoinKey& key) { return is_integer_key(key.type); });
}

// The expression of a table's columns that a column of a derived relation stands for; nullptr: there is none.
const BoundExpr* origin_of(const PlanNode& node, const BoundExpr& expr) {
  const BoundExpr* e = &expr;
  while (widens_integer(*e)) e = e->args[0].get();
  if (e->kind != BoundKind::kColumn) return nullptr;
  if ((node.kind == PlanKind::kMap || node.kind == PlanKind::kGroup) && node.relation == e->relation) {
    if (e->index >= node.exprs.size()) return nullptr;
    return origin_of(*node.inputs[0], *node.exprs[e->index]);
  }
  if (node.kind == PlanKind::kGet) return node.relation == e->relation ? e : nullptr;
  for (const auto& input : node.inputs)
    if (const BoundExpr* found = origin_of(*input, *e)) return found;
  return nullptr;
}

class TableArranger {
 public:
  TableArranger(const Estimator& estimator, double filter_from_ns)
      : estimator_(estimator), filter_from_ns_(filter_from_ns) {}

  void visit(PlanNode* node) {
    if (node->kind == PlanKind::kJoin) {
      arrange_direct(node);
      arrange_filter(node);
    }
    for (auto& input : node->inputs) visit(input.get());
    if (node->kind != PlanKind::kGroup) return;
    arrange_group(node);
    if (!node->is_group_join) arrange_places(node);
  }

 private:
  // Groups that are the rows of the array of the join below, or of as many of them as have partners.
  static void arrange_group(PlanNode* group) {
    const PlanNode& join = *group->inputs[0];
    if (group->aggregates.empty() || join.kind != PlanKind::kJoin || !join.is_direct || join.join != JoinKind::kInner)
      return;
    const PlanNode& built = *join.inputs[1];
    if (join.rows * kGroupShareMax < built.rows) return;
    if (!std::all_of(group->aggregates.begin(), group->aggregates.end(), has_small_state)) return;
    std::set<uint32_t> offered = produced_by(built);
    std::vector<BoundPtr> exprs;
    std::vector<const BoundExpr*> hashed;
    for (size_t i = 0; i < group->exprs.size(); i++) {
      exprs.push_back(partner_of(join, *group->exprs[i]));
      if (is_volatile(*exprs[i]) || has_subquery(*exprs[i]) || !is_subset(relations_of(*exprs[i]), offered)) return;
      if (!group->hashed[i]) continue;
      if (exprs[i]->kind != BoundKind::kColumn) return;
      hashed.push_back(exprs[i].get());
    }
    if (!is_unique(built, columns_of(hashed))) return;
    group->exprs = std::move(exprs);
    group->is_group_join = true;
  }

  // Groups that are found by their key alone, an integer of a narrow range as far as is known.
  void arrange_places(PlanNode* group) const {
    if (std::count(group->hashed.begin(), group->hashed.end(), true) != 1) return;
    const auto hashed = std::find(group->hashed.begin(), group->hashed.end(), true) - group->hashed.begin();
    const BoundExpr& key = *group->exprs[static_cast<size_t>(hashed)];
    if (!is_integer_key(key.type)) return;
    const BoundExpr* origin = origin_of(*group->inputs[0], key);
    const auto range = origin == nullptr ? std::nullopt : estimator_.range(*origin);
    if (!range.has_value()) return;
    const double places = range->second - range->first + 1;
    if (places > kGroupPlacesMax || group->inputs[0]->rows < places * kRowsPerGroupPlace) return;
    group->places_from = static_cast<int64_t>(range->first);
    group->places = static_cast<int64_t>(places);
  }

  // The built side's key that equals an expression of the probing side; else a copy.
  static BoundPtr partner_of(const PlanNode& join, const BoundExpr& expr) {
    for (const auto& key : join.keys)
      if (same(*key.left, expr) && key.left->type == key.right->type) return clone(*key.right);
    return clone(expr);
  }

  // An array, where the keys of different rows differ and lie close together.
  void arrange_direct(PlanNode* join) const {
    if (join->method != JoinMethod::kHash || join->join == JoinKind::kFull || !has_integer_keys(*join)) return;
    std::vector<const BoundExpr*> keys;
    for (const auto& key : join->keys) {
      if (key.null_safe) return;
      keys.push_back(key.right.get());
    }
    const PlanNode& built = *join->inputs[1];
    if (!is_unique(built, columns_of(keys))) return;
    double places = 1;
    bool is_known = true;
    for (const BoundExpr* key : keys) {
      const BoundExpr* origin = origin_of(built, *key);
      std::optional<double> width = origin == nullptr ? std::nullopt : estimator_.width(*origin);
      is_known &= width.has_value();
      places *= width.value_or(1);
    }
    join->is_direct =
        is_known ? places <= std::max(kSmallPlaces, built.rows * kPlacesPerRow) : built.rows < kUnknownRowsMax;
  }

  // Rows of the probing side that meet nobody are left out where they are read.
  void arrange_filter(PlanNode* join) {
    bool swapped = join->method == JoinMethod::kHashSwapped;
    bool drops =
        join->join == JoinKind::kInner || join->join == JoinKind::kSemi || (swapped && join->join == JoinKind::kAnti);
    if (!drops || (join->method != JoinMethod::kHash && !swapped) || join->keys.empty()) return;
    const PlanNode& built = *join->inputs[swapped ? 0 : 1];
    PlanNode* probing = join->inputs[swapped ? 1 : 0].get();
    ScanFilter filter;
    for (const auto& key : join->keys) {
      if (key.null_safe) return;
      filter.keys.push_back(clone(swapped ? *key.right : *key.left));
      filter.types.push_back(key.type);
    }
    bool is_apart = false;
    PlanNode* scan = find_scan(probing, &filter.keys, &is_apart);
    if (scan == nullptr) return;
    double rows = scan->rows;
    double pass = std::min(1.0, built.rows / estimator_.groups(filter.keys, rows));
    double saved = rows * (1 - pass) * (is_apart ? kSavedWay : join->is_direct ? 0 : kSavedProbe);
    saved -= rows * kAskFilter + built.rows * kMakeFilter;
    bool worth = filter_from_ns_ < 0 || (saved >= filter_from_ns_ && built.rows <= kFilterRowsMax);
    if (!worth) return;
    filter.number = join->filter = ++filters_;
    filter.integers = join->filters_integers = has_integer_keys(*join);
    scan->filters.push_back(std::move(filter));
  }

  // The full scan that the keys come from, on a way where no row is made up and the loss of one without partner changes
  // nothing for others; *keys over its columns. is_apart: rows meet other operators on the way.
  static PlanNode* find_scan(PlanNode* node, std::vector<BoundPtr>* keys, bool* is_apart) {
    std::set<uint32_t> used;
    for (const auto& key : *keys) {
      if (is_volatile(*key) || has_subquery(*key)) return nullptr;
      collect_relations(*key, &used);
    }
    switch (node->kind) {
      case PlanKind::kGet:
        if (node->path.kind != AccessKind::kFullScan || used != std::set<uint32_t>{node->relation}) return nullptr;
        return !*is_apart || cannot_fail(*keys) ? node : nullptr;
      case PlanKind::kMap:
        if (used.count(node->relation) != 0) return nullptr;
        return find_scan(node->inputs[0].get(), keys, is_apart);
      case PlanKind::kSort:
        if (node->limit != nullptr || node->offset != nullptr) return nullptr;
        return find_scan(node->inputs[0].get(), keys, is_apart);
      case PlanKind::kFilter:
        *is_apart = true;
        return find_scan(node->inputs[0].get(), keys, is_apart);
      case PlanKind::kGroup:
        *is_apart = true;
        return replace_keys(*node, keys) ? find_scan(node->inputs[0].get(), keys, is_apart) : nullptr;
      case PlanKind::kJoin: {
        *is_apart = true;
        if (node->join == JoinKind::kFull || node->join == JoinKind::kSingle) return nullptr;
        size_t sides = node->join == JoinKind::kInner && node->method != JoinMethod::kLookup ? 2 : 1;
        for (size_t i = 0; i < sides; i++)
          if (is_subset(used, produced_by(*node->inputs[i]))) return find_scan(node->inputs[i].get(), keys, is_apart);
        return nullptr;
      }
      default:
        return nullptr;
    }
  }

  // Groups go as a whole, where the keys are those of the groups.
  static bool replace_keys(const PlanNode& group, std::vector<BoundPtr>* keys) {
    if (group.exprs.empty()) return false;
    bool can = true;
    for (auto& key : *keys)
      rewrite(&key, [&](BoundPtr* e) {
        if ((*e)->kind != BoundKind::kColumn) return false;
        can &= (*e)->relation == group.relation && (*e)->index < group.exprs.size();
        if (can) *e = clone(*group.exprs[(*e)->index]);
        return true;
      });
    return can;
  }

  // They are computed for more rows than the join would have done.
  static bool cannot_fail(const std::vector<BoundPtr>& keys) {
    return std::all_of(keys.begin(), keys.end(), [](const BoundPtr& key) {
      const BoundExpr* e = key.get();
      while (widens_integer(*e)) e = e->args[0].get();
      return e->kind == BoundKind::kColumn;
    });
  }

  const Estimator& estimator_;
  const double filter_from_ns_;
  uint32_t filters_ = 0;
};

}  // namespace

void arrange_tables(Plan* plan, const Estimator& estimator, double filter_from_ns) {
  TableArranger arranger(estimator, filter_from_ns);
  for (auto& shared : plan->shared) arranger.visit(shared->plan.get());
  arranger.visit(plan->root.get());
}

}  // namespace scyper::query
