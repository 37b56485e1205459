#include "bind/bound.h"

#include "base/invariant.h"
#include "query/catalog.h"

#include <cstring>

#include "base/check.h"
#include "bind/relation_walk.h"
#include "storage/big_numeric.h"

namespace scyper::query {

BoundExpr::~BoundExpr() = default;
Relation::~Relation() = default;
CommonQuery::~CommonQuery() = default;

namespace {
// A constant whose digits lie in BoundExpr::text (storage/big_numeric.h).
bool is_long_number(const BoundExpr& expr) {
  return expr.type.id == TypeId::kNumeric && expr.value.null == 0 && expr.value.scale == kBigScale;
}
}  // namespace

void copy_to(const BoundExpr& expr, BoundExpr* copy) {
  copy->kind = expr.kind;
  copy->type = expr.type;
  copy->nullable = expr.nullable;
  copy->location = expr.location;
  copy->relation = expr.relation;
  copy->index = expr.index;
  copy->domain = expr.domain;
  copy->explicit_cast = expr.explicit_cast;
  copy->value = expr.value;
  copy->text = expr.text;
  if (expr.kind == BoundKind::kConst && holds_bytes(expr.type.id) && !expr.value.null)
    copy->value = string_datum(copy->text.data(), copy->text.size());
  if (expr.kind == BoundKind::kConst && is_long_number(expr))
    copy->value.lo = reinterpret_cast<int64_t>(copy->text.data());
  copy->builtin = expr.builtin;
  copy->routine = expr.routine;
  copy->args.clear();
  for (const auto& arg : expr.args) copy->args.push_back(clone(*arg));
  copy->query = expr.query != nullptr ? clone(*expr.query) : nullptr;
  copy->names = expr.names;
}

BoundPtr clone(const BoundExpr& expr) {
  check_stack();
  auto copy = std::make_unique<BoundExpr>();
  copy_to(expr, copy.get());
  return copy;
}

namespace {
std::vector<BoundPtr> clone_all(const std::vector<BoundPtr>& exprs) {
  std::vector<BoundPtr> copies;
  for (const auto& expr : exprs) copies.push_back(clone(*expr));
  return copies;
}
BoundPtr clone_optional(const BoundPtr& expr) { return expr == nullptr ? nullptr : clone(*expr); }
}  // namespace

Aggregate clone(const Aggregate& aggregate) {
  Aggregate copy;
  copy.kind = aggregate.kind;
  copy.distinct = aggregate.distinct;
  copy.args = clone_all(aggregate.args);
  copy.filter = clone_optional(aggregate.filter);
  copy.type = aggregate.type;
  copy.arity = aggregate.arity;
  copy.order = aggregate.order;
  return copy;
}

WindowCall clone(const WindowCall& call) {
  WindowCall copy;
  copy.kind = call.kind;
  copy.function = clone(call.function);
  copy.partition = clone_all(call.partition);
  for (const auto& item : call.order) copy.order.push_back({clone(*item.expr), item.descending, item.nulls_first});
  copy.frame = call.frame;
  copy.start_offset = clone_optional(call.start_offset);
  copy.end_offset = clone_optional(call.end_offset);
  return copy;
}

void for_each_expr(WindowCall* call, const std::function<void(BoundPtr&)>& f) {
  for (auto& e : call->function.args) f(e);
  if (call->function.filter != nullptr) f(call->function.filter);
  for (auto& e : call->partition) f(e);
  for (auto& item : call->order) f(item.expr);
  if (call->start_offset != nullptr) f(call->start_offset);
  if (call->end_offset != nullptr) f(call->end_offset);
}

void for_each_expr(const WindowCall& call, const std::function<void(const BoundExpr&)>& f) {
  // const in effect: the callback gets expressions it may not change
  for_each_expr(const_cast<WindowCall*>(&call), [&](BoundPtr& e) { f(*e); });
}

namespace {
// A recursive query that belongs to one place. Its second term names the copy then.
std::shared_ptr<CommonQuery> clone_own(const std::shared_ptr<CommonQuery>& common) {
  auto copy = std::make_shared<CommonQuery>();
  copy->query = clone(*common->query);
  copy->recursive = clone(*common->recursive);
  copy->keeps_duplicates = common->keeps_duplicates;
  copy->always_materialised = common->always_materialised;
  copy->references = common->references;
  copy->columns = common->columns;
  RelationWalk walk;
  walk.on_relation = [&](Relation& relation) {
    if (relation.common == common) relation.common = {std::shared_ptr<CommonQuery>(), copy.get()};
  };
  walk.walk(copy->recursive.get());
  return copy;
}
}  // namespace

std::unique_ptr<Relation> clone(const Relation& relation) {
  auto copy = std::make_unique<Relation>();
  copy->id = relation.id;
  copy->kind = relation.kind;
  copy->alias = relation.alias;
  copy->key = relation.key;
  copy->table = relation.table;
  if (relation.query != nullptr) copy->query = clone(*relation.query);
  for (const auto& row : relation.rows) copy->rows.push_back(clone_all(row));
  copy->arguments = clone_all(relation.arguments);
  copy->common = relation.computes_common ? clone_own(relation.common) : relation.common;
  copy->computes_common = relation.computes_common;
  copy->foreign = relation.foreign;
  copy->partition = relation.partition;
  copy->estimated_rows = relation.estimated_rows;
  copy->columns = relation.columns;
  for (const HiddenColumn& hidden : relation.hidden)
    copy->hidden.push_back({hidden.column, hidden.is_predicate, clone_all(hidden.exprs),
                            hidden.is_true == nullptr ? nullptr : clone(*hidden.is_true)});
  return copy;
}

std::unique_ptr<BoundQuery> clone(const BoundQuery& query) {
  check_stack();
  auto copy = std::make_unique<BoundQuery>();
  copy->id = query.id;
  for (const auto& entry : query.from) copy->from.push_back({clone(*entry.relation), entry.join, clone_all(entry.on)});
  copy->joins = query.joins;
  copy->where = clone_all(query.where);
  copy->aggregated = query.aggregated;
  copy->groups = clone_all(query.groups);
  copy->grouping_sets = query.grouping_sets;
  copy->grouping_calls = query.grouping_calls;
  for (const auto& aggregate : query.aggregates) copy->aggregates.push_back(clone(aggregate));
  copy->having = clone_all(query.having);
  for (const auto& call : query.windows) copy->windows.push_back(clone(call));
  for (const auto& output : query.outputs) copy->outputs.push_back({output.name, clone(*output.expr), output.hidden});
  copy->distinct = query.distinct;
  copy->distinct_on = query.distinct_on;
  copy->order = query.order;
  copy->limit = clone_optional(query.limit);
  copy->offset = clone_optional(query.offset);
  copy->with_ties = query.with_ties;
  copy->set = query.set;
  copy->set_all = query.set_all;
  if (query.left != nullptr) copy->left = clone(*query.left);
  if (query.right != nullptr) copy->right = clone(*query.right);
  copy->correlated = query.correlated;
  copy->with = query.with;
  return copy;
}

namespace {
bool same_constant(const BoundExpr& a, const BoundExpr& b) {
  if (a.value.null || b.value.null) return a.value.null == b.value.null;
  if (holds_bytes(a.type.id) || a.type.id == TypeId::kUnknown || a.type.id == TypeId::kArray) return a.text == b.text;
  if (is_long_number(a) && is_long_number(b) && a.text != b.text) return false;
  if (is_long_number(a) && is_long_number(b)) return a.value.hi == b.value.hi;
  return a.value.lo == b.value.lo && a.value.hi == b.value.hi && a.value.scale == b.value.scale;
}
}  // namespace

bool same(const BoundExpr& a, const BoundExpr& b) {
  if (a.kind != b.kind || a.type != b.type || a.relation != b.relation ||
      (a.index != b.index && a.kind != BoundKind::kUserCall) || a.explicit_cast != b.explicit_cast ||
      a.builtin != b.builtin || a.routine != b.routine || a.args.size() != b.args.size() || a.query != nullptr ||
      b.query != nullptr)
    return false;
  if (a.builtin != nullptr && a.builtin->is_volatile) return false;
  if (a.kind == BoundKind::kUserCall && (a.routine == nullptr || a.routine->is_volatile)) return false;
  if (a.kind == BoundKind::kConst && !same_constant(a, b)) return false;
  for (size_t i = 0; i < a.args.size(); i++)
    if (!same(*a.args[i], *b.args[i])) return false;
  return true;
}

bool same_aggregate(const Aggregate& a, const Aggregate& b) {
  if (a.kind != b.kind || a.distinct != b.distinct || a.args.size() != b.args.size() || a.arity != b.arity ||
      a.order.size() != b.order.size())
    return false;
  for (size_t i = 0; i < a.order.size(); i++)
    if (a.order[i].output != b.order[i].output || a.order[i].descending != b.order[i].descending ||
        a.order[i].nulls_first != b.order[i].nulls_first)
      return false;
  for (size_t i = 0; i < a.args.size(); i++)
    if (!same(*a.args[i], *b.args[i])) return false;
  if (a.filter == nullptr || b.filter == nullptr) return a.filter == b.filter;
  return same(*a.filter, *b.filter);
}

namespace {
bool same_optional(const BoundPtr& a, const BoundPtr& b) {
  return a == nullptr || b == nullptr ? a == b : same(*a, *b);
}
}  // namespace

bool same(const WindowCall& a, const WindowCall& b) {
  if (a.kind != b.kind || !same_aggregate(a.function, b.function) || a.frame != b.frame ||
      a.partition.size() != b.partition.size() || a.order.size() != b.order.size())
    return false;
  for (size_t i = 0; i < a.partition.size(); i++)
    if (!same(*a.partition[i], *b.partition[i])) return false;
  for (size_t i = 0; i < a.order.size(); i++)
    if (!same(*a.order[i].expr, *b.order[i].expr) || a.order[i].descending != b.order[i].descending ||
        a.order[i].nulls_first != b.order[i].nulls_first)
      return false;
  return same_optional(a.start_offset, b.start_offset) && same_optional(a.end_offset, b.end_offset);
}

}  // namespace scyper::query
