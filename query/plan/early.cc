#include <algorithm>
#include <array>

#include "bind/make.h"
#include "plan/expressions.h"
#include "plan/physical.h"

// Functions of one side of a hash join are computed where that side is put into the table, when fewer rows pass there:
// the entries hold results instead of texts that lie elsewhere.
namespace scyper::query {

namespace {

// Costly enough, never an error.
bool is_worthwhile(const BoundExpr& e) {
  constexpr std::array<std::string_view, 8> kNames = {"like",  "substr", "substring", "ascii",
                                                      "lower", "upper",  "length",    "strpos"};
  if (e.kind != BoundKind::kBuiltin || e.builtin->op != BuiltinOp::kRuntime || !e.builtin->strict ||
      e.builtin->is_volatile || e.builtin->may_return_null)
    return false;
  if (std::find(kNames.begin(), kNames.end(), e.builtin->name) == kNames.end()) return false;
  auto is_known = [&](size_t i) { return e.args[i]->kind == BoundKind::kConst && !e.args[i]->value.null; };
  if (e.builtin->name == "like")
    return e.args.size() == 2 && is_known(1) && e.args[1]->text.find('\\') == std::string::npos;
  if (e.builtin->name.starts_with("substr"))
    return e.args.size() == 3 && is_integer(e.args[1]->type.id) && is_known(1) && is_known(2) &&
           e.args[2]->value.lo >= 0;
  return true;
}

bool is_plain_cast(const BoundExpr& e) {
  return e.kind == BoundKind::kCast && is_string(e.type.id) && is_string(e.args[0]->type.id) && e.type.length < 0 &&
         e.type.id != TypeId::kChar;
}

// NULL where a column is NULL; all columns are of these relations.
bool is_strict_function(const BoundExpr& e, const std::set<uint32_t>& relations, bool* has_column) {
  if (e.kind == BoundKind::kConst) return true;
  if (e.kind == BoundKind::kColumn) {
    *has_column = true;
    return relations.count(e.relation) != 0;
  }
  if (!is_worthwhile(e) && !is_plain_cast(e)) return false;
  return std::all_of(e.args.begin(), e.args.end(),
                     [&](const BoundPtr& arg) { return is_strict_function(*arg, relations, has_column); });
}

class Early {
 public:
  explicit Early(uint32_t* next_relation) : next_relation_(next_relation) {}

  // above: nodes that see the columns of this one.
  void visit(PlanNode* node, std::vector<PlanNode*> above) {
    if (node->kind == PlanKind::kJoin &&
        (node->method == JoinMethod::kHash || node->method == JoinMethod::kHashSwapped))
      visit_join(node, above);
    bool passes = node->kind == PlanKind::kJoin || node->kind == PlanKind::kFilter || node->kind == PlanKind::kMap ||
                  node->kind == PlanKind::kSort || node->kind == PlanKind::kUnique;
    if (!passes) above.clear();
    above.push_back(node);
    for (auto& input : node->inputs) visit(input.get(), above);
  }

 private:
  void visit_join(PlanNode* join, const std::vector<PlanNode*>& above) {
    PlanPtr& built = join->inputs[join->method == JoinMethod::kHash ? 1 : 0];
    if (built->rows > join->rows) return;
    std::set<uint32_t> relations = produced_by(*built);
    uint32_t relation = *next_relation_;
    std::vector<BoundPtr> computed;
    auto replace = [&](BoundPtr* e) { replace_in(e, relations, relation, &computed); };
    for (auto& e : join->conjuncts) replace(&e);
    for (auto& e : join->doubtful) replace(&e);
    std::set<uint32_t> visible = produced_by(*join);
    if (is_subset(relations, visible))
      for (PlanNode* node : above) {
        if (node->kind == PlanKind::kJoin && node->method == JoinMethod::kLookup) continue;  // its path points to them
        for_each_own(node, [&](BoundPtr& e) { replace(&e); });
      }
    if (computed.empty()) return;
    ++*next_relation_;
    PlanPtr map = make_node(PlanKind::kMap);
    map->relation = relation;
    map->rows = built->rows;
    map->cost = built->cost;
    map->exprs = std::move(computed);
    map->inputs.push_back(std::move(built));
    built = std::move(map);
  }

  static void replace_in(BoundPtr* e, const std::set<uint32_t>& relations, uint32_t relation,
                         std::vector<BoundPtr>* computed) {
    bool has_column = false;
    if (!is_worthwhile(**e) || !is_strict_function(**e, relations, &has_column) || !has_column) {
      for (auto& arg : (*e)->args) replace_in(&arg, relations, relation, computed);
      return;
    }
    uint32_t index = 0;
    while (index < computed->size() && !same(*(*computed)[index], **e)) index++;
    if (index == computed->size()) computed->push_back(clone(**e));
    *e = make_column(relation, index, (*e)->type, (*e)->nullable, (*e)->location);
  }

  uint32_t* next_relation_;
};

}  // namespace

void compute_early(Plan* plan, uint32_t* next_relation) {
  Early early(next_relation);
  for (auto& shared : plan->shared) early.visit(shared->plan.get(), {});
  early.visit(plan->root.get(), {});
}

}  // namespace scyper::query
