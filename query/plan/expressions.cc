#include "plan/expressions.h"

#include <algorithm>
#include <utility>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "bind/make.h"
#include "bind/statement_reads.h"

namespace scyper::query {

const BoundExpr& without_casts(const BoundExpr& expr) {
  const BoundExpr* e = &expr;
  while (e->kind == BoundKind::kCast) e = e->args[0].get();
  return *e;
}

void rewrite(BoundPtr* expr, const Rewriter& f) {
  check_stack();
  poll_work();
  if (*expr == nullptr || f(expr)) return;
  for (auto& arg : (*expr)->args) rewrite(&arg, f);
  if ((*expr)->query != nullptr) rewrite((*expr)->query.get(), f);
}

void rewrite(BoundQuery* query, const Rewriter& f) {
  check_stack();
  poll_work();
  for (auto& entry : query->from) {
    for (auto& on : entry.on) rewrite(&on, f);
    if (entry.relation->query != nullptr) rewrite(entry.relation->query.get(), f);
    if (entry.relation->computes_common)
      for (auto* term : {&entry.relation->common->query, &entry.relation->common->recursive}) rewrite(term->get(), f);
    for (auto& row : entry.relation->rows)
      for (auto& value : row) rewrite(&value, f);
    for (auto& argument : entry.relation->arguments) rewrite(&argument, f);
  }
  for (auto& e : query->where) rewrite(&e, f);
  for (auto& e : query->groups) rewrite(&e, f);
  for (auto& aggregate : query->aggregates) {
    for (auto& arg : aggregate.args) rewrite(&arg, f);
    rewrite(&aggregate.filter, f);
  }
  for (auto& e : query->having) rewrite(&e, f);
  for (auto& call : query->windows) for_each_expr(&call, [&](BoundPtr& e) { rewrite(&e, f); });
  for (auto& output : query->outputs) rewrite(&output.expr, f);
  rewrite(&query->limit, f);
  rewrite(&query->offset, f);
  if (query->left != nullptr) rewrite(query->left.get(), f);
  if (query->right != nullptr) rewrite(query->right.get(), f);
}

bool has_subquery(const BoundExpr& expr) {
  return expr.query != nullptr ||
         std::any_of(expr.args.begin(), expr.args.end(), [](const BoundPtr& arg) { return has_subquery(*arg); });
}

std::vector<const BoundExpr*> views_of(const std::vector<BoundPtr>& exprs) {
  std::vector<const BoundExpr*> views;
  for (const auto& e : exprs) views.push_back(e.get());
  return views;
}

bool is_volatile(const BoundExpr& expr) {
  auto varies = [](const BoundExpr& e) {
    return e.kind == BoundKind::kUserCall || (e.builtin != nullptr && e.builtin->is_volatile);
  };
  bool found = varies(expr);
  for (const auto& arg : expr.args) found = found || is_volatile(*arg);
  if (found || expr.query == nullptr || computes_once(*expr.query)) return found;
  visit(*expr.query, [&](const BoundExpr& e) { found |= varies(e); });
  return found;
}

std::set<uint32_t> relations_of(const BoundExpr& expr) {
  std::set<uint32_t> relations;
  collect_relations(expr, &relations);
  return relations;
}

bool is_subset(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

bool intersects(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint32_t x) { return b.count(x) != 0; });
}

namespace {
void split_logic(BoundKind kind, BoundPtr expr, std::vector<BoundPtr>* args) {
  if (expr->kind != kind) return args->push_back(std::move(expr));
  for (auto& arg : expr->args) split_logic(kind, std::move(arg), args);
}

bool has_same(const std::vector<BoundPtr>& exprs, const BoundExpr& expr) {
  return std::any_of(exprs.begin(), exprs.end(), [&](const BoundPtr& e) { return same(*e, expr); });
}

BoundPtr make_logic(BoundKind kind, std::vector<BoundPtr> args) {
  if (args.size() == 1) return std::move(args[0]);
  bool nullable = false;
  for (const auto& arg : args) nullable |= arg->nullable;
  BoundPtr expr = make_expr(kind, make_type(TypeId::kBool), nullable, args[0]->location);
  expr->args = std::move(args);
  return expr;
}
}  // namespace

void split_and(BoundPtr expr, std::vector<BoundPtr>* conjuncts) {
  split_logic(BoundKind::kAnd, std::move(expr), conjuncts);
}

BoundPtr make_and(std::vector<BoundPtr> conjuncts) { return make_logic(BoundKind::kAnd, std::move(conjuncts)); }

BoundPtr make_or(std::vector<BoundPtr> terms) {
  constexpr size_t kComparedMax = 64;  // comparing each with each is quadratic
  std::vector<BoundPtr> flat, distinct;
  for (auto& term : terms) split_logic(BoundKind::kOr, std::move(term), &flat);
  for (auto& term : flat) {
    const bool known = distinct.size() < kComparedMax && !is_volatile(*term) && has_same(distinct, *term);
    if (!known) distinct.push_back(std::move(term));
  }
  return make_logic(BoundKind::kOr, std::move(distinct));
}

BoundPtr make_not(BoundPtr expr) {
  BoundPtr result = make_expr(BoundKind::kNot, make_type(TypeId::kBool), expr->nullable, expr->location);
  result->args.push_back(std::move(expr));
  return result;
}

BoundPtr make_coalesce_zero(BoundPtr expr) {
  SqlType type = expr->type;
  BoundPtr result = make_expr(BoundKind::kCoalesce, type, false, expr->location);
  expr->nullable = true;
  result->args.push_back(std::move(expr));
  result->args.push_back(make_constant(type, int_datum(0), -1));
  return result;
}

BoundPtr make_reference(const ColumnId& column, const SqlType& type, bool nullable) {
  return make_column(column.relation, column.index, type, nullable, -1);
}

BoundPtr make_equal(BoundPtr a, BoundPtr b) {
  for (const Builtin* builtin : find_builtins("=")) {
    if (builtin->parameters.size() != 2 || builtin->parameters[0] != a->type.id || builtin->parameters[1] != b->type.id)
      continue;
    BoundPtr result = make_expr(BoundKind::kBuiltin, make_type(TypeId::kBool), a->nullable || b->nullable, a->location);
    result->builtin = builtin;
    result->args.push_back(std::move(a));
    result->args.push_back(std::move(b));
    return result;
  }
  return make_same(std::move(a), std::move(b));
}

BoundPtr make_same(BoundPtr a, BoundPtr b) {
  BoundPtr distinct = make_expr(BoundKind::kDistinct, make_type(TypeId::kBool), false, a->location);
  distinct->args.push_back(std::move(a));
  distinct->args.push_back(std::move(b));
  return make_not(std::move(distinct));
}

bool is_equality(const BoundExpr& expr, const BoundExpr** a, const BoundExpr** b, bool* null_safe) {
  const BoundExpr* e = &expr;
  *null_safe = false;
  if (e->kind == BoundKind::kNot && e->args[0]->kind == BoundKind::kDistinct) {
    e = e->args[0].get();
    *null_safe = true;
  } else if (e->kind != BoundKind::kBuiltin || e->builtin->op != BuiltinOp::kEqual) {
    return false;
  }
  *a = e->args[0].get();
  *b = e->args[1].get();
  return true;
}

void fold_nulls(BoundPtr* expr) {
  rewrite(expr, [](BoundPtr* e) {
    BoundExpr& call = **e;
    if (call.kind != BoundKind::kBuiltin || !call.builtin->strict || call.builtin->writes || is_volatile(call))
      return false;
    bool has_null = false, has_column = false;
    for (auto& arg : call.args) {
      fold_nulls(&arg);
      has_null |= arg->kind == BoundKind::kConst && arg->value.null;
      has_column |= !relations_of(*arg).empty();  // a constant that fails is an error beside a NULL, too
    }
    if (has_null && has_column) *e = make_null(call.type, call.location);
    return true;
  });
}

bool is_strict(const BoundExpr& expr, const std::set<uint32_t>& relations) {
  switch (expr.kind) {
    case BoundKind::kColumn:
      return relations.count(expr.relation) != 0;
    case BoundKind::kCast:
      return is_strict(*expr.args[0], relations);
    case BoundKind::kBuiltin:
      return expr.builtin->strict && std::any_of(expr.args.begin(), expr.args.end(),
                                                 [&](const BoundPtr& arg) { return is_strict(*arg, relations); });
    default:
      return false;
  }
}

bool rejects_null(const BoundExpr& expr, const std::set<uint32_t>& relations) {
  switch (expr.kind) {
    case BoundKind::kAnd:
      return std::any_of(expr.args.begin(), expr.args.end(),
                         [&](const BoundPtr& arg) { return rejects_null(*arg, relations); });
    case BoundKind::kOr:
      return std::all_of(expr.args.begin(), expr.args.end(),
                         [&](const BoundPtr& arg) { return rejects_null(*arg, relations); });
    case BoundKind::kNot:
      if (expr.args[0]->kind == BoundKind::kIsNull) return is_strict(*expr.args[0]->args[0], relations);
      return is_strict(*expr.args[0], relations);
    case BoundKind::kIsTruth:
      return is_strict(*expr.args[0], relations);
    default:
      return is_strict(expr, relations);
  }
}

// --- derivation ---

namespace {

// (a AND x) OR (a AND y) -> a, (x OR y)
void factor_or(BoundPtr expr, std::vector<BoundPtr>* out) {
  if (expr->kind != BoundKind::kOr) return out->push_back(std::move(expr));
  std::vector<std::vector<BoundPtr>> branches;
  for (auto& arg : expr->args) {
    branches.emplace_back();
    split_and(std::move(arg), &branches.back());
  }
  for (size_t i = 0; i < branches[0].size();) {
    const BoundExpr& candidate = *branches[0][i];
    bool everywhere = std::all_of(branches.begin() + 1, branches.end(), [&](const auto& branch) {
      return std::any_of(branch.begin(), branch.end(), [&](const BoundPtr& e) { return same(*e, candidate); });
    });
    if (!everywhere) {
      i++;
      continue;
    }
    out->push_back(clone(candidate));
    for (auto& branch : branches) {
      auto it = std::find_if(branch.begin(), branch.end(), [&](const BoundPtr& e) { return same(*e, *out->back()); });
      branch.erase(it);
    }
  }
  bool trivial = std::any_of(branches.begin(), branches.end(), [](const auto& branch) { return branch.empty(); });
  if (trivial) return;
  std::vector<BoundPtr> terms;
  for (auto& branch : branches) terms.push_back(make_and(std::move(branch)));
  out->push_back(make_or(std::move(terms)));
}

// For a relation that each branch of an OR restricts: the OR of those restrictions.
void imply_restrictions(const BoundExpr& expr, std::vector<BoundPtr>* out) {
  if (expr.kind != BoundKind::kOr || has_subquery(expr) || is_volatile(expr)) return;
  std::set<uint32_t> all = relations_of(expr);
  if (all.size() < 2) return;
  for (uint32_t relation : all) {
    std::vector<BoundPtr> terms;
    for (const auto& arg : expr.args) {
      std::vector<BoundPtr> conjuncts, own;
      split_and(clone(*arg), &conjuncts);
      for (auto& conjunct : conjuncts)
        if (relations_of(*conjunct) == std::set<uint32_t>{relation}) own.push_back(std::move(conjunct));
      if (own.empty()) break;
      terms.push_back(make_and(std::move(own)));
    }
    if (terms.size() == expr.args.size()) out->push_back(make_or(std::move(terms)));
  }
}

// Classes of columns that are equal in every row.
class EqualColumns {
 public:
  explicit EqualColumns(const std::vector<BoundPtr>& conjuncts) {
    for (const auto& conjunct : conjuncts) {
      const BoundExpr *a = nullptr, *b = nullptr;
      bool null_safe = false;
      if (!is_equality(*conjunct, &a, &b, &null_safe) || null_safe) continue;
      if (a->kind != BoundKind::kColumn || b->kind != BoundKind::kColumn || a->type != b->type) continue;
      size_t x = class_of(*a), y = class_of(*b);
      if (x == y) continue;
      for (const BoundExpr* e : classes_[y]) classes_[x].push_back(e);
      classes_[y].clear();
    }
  }
  const std::vector<std::vector<const BoundExpr*>>& classes() const { return classes_; }

 private:
  size_t class_of(const BoundExpr& column) {
    for (size_t i = 0; i < classes_.size(); i++)
      for (const BoundExpr* e : classes_[i])
        if (e->relation == column.relation && e->index == column.index) return i;
    classes_.push_back({&column});
    return classes_.size() - 1;
  }
  std::vector<std::vector<const BoundExpr*>> classes_;
};

bool joins(const std::vector<BoundPtr>& conjuncts, const BoundExpr& x, const BoundExpr& y) {
  return std::any_of(conjuncts.begin(), conjuncts.end(), [&](const BoundPtr& e) {
    const BoundExpr *a = nullptr, *b = nullptr;
    bool null_safe = false;
    if (!is_equality(*e, &a, &b, &null_safe)) return false;
    return (same(*a, x) && same(*b, y)) || (same(*a, y) && same(*b, x));
  });
}

// Do equal values of a type give the same in every expression? Of some types they may differ in their digits, signs of
// zero or fields.
bool has_one_form(const SqlType& type) {
  return type.id != TypeId::kFloat4 && type.id != TypeId::kFloat8 && type.id != TypeId::kInterval &&
         kept_as(type.id) != TypeId::kJsonb && type.id != TypeId::kArray &&
         (type.id != TypeId::kNumeric || type.precision != 0);
}

// A comparison of the column itself with something else.
bool compares_column(const BoundExpr& expr, const BoundExpr* column) {
  if (expr.kind != BoundKind::kBuiltin || expr.args.size() != 2 || expr.builtin->op < BuiltinOp::kEqual ||
      expr.builtin->op > BuiltinOp::kGreaterEqual)
    return false;
  const BoundExpr &a = *expr.args[0], &b = *expr.args[1];
  return (&a == column && relations_of(b).empty()) || (&b == column && relations_of(a).empty());
}

// A restriction of one column, that holds for its equals too.
const BoundExpr* single_column(const BoundExpr& expr) {
  const BoundExpr* column = nullptr;
  bool several = has_subquery(expr) || is_volatile(expr);
  visit(expr, [&](const BoundExpr& e) {
    if (e.kind != BoundKind::kColumn) return;
    if (column != nullptr && (e.relation != column->relation || e.index != column->index)) several = true;
    column = &e;
  });
  return several ? nullptr : column;
}

void add_transitive(std::vector<BoundPtr>* conjuncts) {
  std::vector<BoundPtr> added;
  EqualColumns equal(*conjuncts);
  for (const auto& members : equal.classes()) {
    for (size_t i = 0; i < members.size(); i++)
      for (size_t j = i + 1; j < members.size(); j++)
        if (members[i]->relation != members[j]->relation && !joins(*conjuncts, *members[i], *members[j]))
          added.push_back(make_equal(clone(*members[i]), clone(*members[j])));
    if (members.size() < 2) continue;
    for (const auto& conjunct : *conjuncts) {
      const BoundExpr* column = single_column(*conjunct);
      if (column == nullptr || conjunct->kind == BoundKind::kColumn) continue;
      if (!has_one_form(column->type) && !compares_column(*conjunct, column)) continue;
      auto is_column = [&](const BoundExpr* e) { return e->relation == column->relation && e->index == column->index; };
      if (std::none_of(members.begin(), members.end(), is_column)) continue;
      for (const BoundExpr* other : members) {
        if (is_column(other) || other->relation == column->relation) continue;
        BoundPtr copy = clone(*conjunct);
        rewrite(&copy, [&](BoundPtr* e) {
          if ((*e)->kind != BoundKind::kColumn) return false;
          bool nullable = (*e)->nullable;
          *e = clone(*other);
          (*e)->nullable |= nullable;
          return true;
        });
        if (!has_same(*conjuncts, *copy) && !has_same(added, *copy)) added.push_back(std::move(copy));
      }
    }
  }
  for (auto& e : added) conjuncts->push_back(std::move(e));
}

}  // namespace

void derive_conjuncts(std::vector<BoundPtr>* conjuncts) {
  std::vector<BoundPtr> factored;
  for (auto& conjunct : *conjuncts) factor_or(std::move(conjunct), &factored);
  std::vector<BoundPtr> implied;
  for (const auto& conjunct : factored) imply_restrictions(*conjunct, &implied);
  for (auto& e : implied)
    if (!has_same(factored, *e)) factored.push_back(std::move(e));
  constexpr size_t kConjunctsMax = 64;  // derivation is quadratic
  if (factored.size() <= kConjunctsMax) add_transitive(&factored);
  *conjuncts = std::move(factored);
}

}  // namespace scyper::query
