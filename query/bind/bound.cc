#include "bind/bound.h"

#include <cstring>

#include "base/check.h"

namespace scyper::query {

BoundExpr::~BoundExpr() = default;
Relation::~Relation() = default;

BoundPtr clone(const BoundExpr& expr) {
  CHECK(expr.query == nullptr);
  auto copy = std::make_unique<BoundExpr>();
  copy->kind = expr.kind;
  copy->type = expr.type;
  copy->nullable = expr.nullable;
  copy->location = expr.location;
  copy->relation = expr.relation;
  copy->index = expr.index;
  copy->explicit_cast = expr.explicit_cast;
  copy->value = expr.value;
  copy->text = expr.text;
  if (expr.kind == BoundKind::kConst && is_string(expr.type.id) && !expr.value.null)
    copy->value = string_datum(copy->text.data(), copy->text.size());
  copy->builtin = expr.builtin;
  copy->routine = expr.routine;
  for (const auto& arg : expr.args) copy->args.push_back(clone(*arg));
  return copy;
}

namespace {
bool same_constant(const BoundExpr& a, const BoundExpr& b) {
  if (a.value.null || b.value.null) return a.value.null == b.value.null;
  if (is_string(a.type.id) || a.type.id == TypeId::kUnknown || a.type.id == TypeId::kArray) return a.text == b.text;
  return a.value.lo == b.value.lo && a.value.hi == b.value.hi && a.value.scale == b.value.scale;
}
}  // namespace

bool same(const BoundExpr& a, const BoundExpr& b) {
  if (a.kind != b.kind || a.type != b.type || a.relation != b.relation || a.index != b.index ||
      a.explicit_cast != b.explicit_cast || a.builtin != b.builtin || a.routine != b.routine ||
      a.args.size() != b.args.size() || a.query != nullptr || b.query != nullptr)
    return false;
  if (a.builtin != nullptr && a.builtin->is_volatile) return false;
  if (a.kind == BoundKind::kUserCall) return false;
  if (a.kind == BoundKind::kConst && !same_constant(a, b)) return false;
  for (size_t i = 0; i < a.args.size(); i++)
    if (!same(*a.args[i], *b.args[i])) return false;
  return true;
}

}  // namespace scyper::query
