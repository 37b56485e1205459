#include "plan/aggregate_kind.h"

namespace scyper::query {

namespace {
bool is_scaled(const SqlType& type) { return type.id == TypeId::kNumeric && type.precision != 0; }
}  // namespace

bool is_plain(const Aggregate& a) { return !a.distinct && a.args.size() <= 1; }
bool is_plain_sum(const Aggregate& a) {
  if (!is_plain(a) || a.args.empty() || (a.kind != AggregateKind::kSum && a.kind != AggregateKind::kAvg)) return false;
  const SqlType& type = a.args[0]->type;
  return is_integer(type.id) || type.id == TypeId::kFloat8 || is_scaled(type);
}
bool is_plain_extreme(const Aggregate& a) {
  if (!is_plain(a) || a.args.empty() || (a.kind != AggregateKind::kMin && a.kind != AggregateKind::kMax)) return false;
  const SqlType& type = a.args[0]->type;
  return is_integer(type.id) || type.id == TypeId::kFloat8 || is_moment(type.id) || type.id == TypeId::kTime ||
         is_scaled(type);
}

bool has_small_state(const Aggregate& a) {
  bool counts = is_plain(a) && (a.kind == AggregateKind::kCount || a.kind == AggregateKind::kCountStar);
  return counts || is_plain_sum(a) || is_plain_extreme(a);
}

bool ignores_order(const Aggregate& a) {
  auto shows_equal_alike = [](const SqlType& type) {  // numerics may differ in their scales, intervals in their fields
    return is_integer(type.id) || is_scaled(type) || is_moment(type.id) || is_string(type.id) ||
           type.id == TypeId::kTime || type.id == TypeId::kBool;
  };
  switch (a.kind) {
    case AggregateKind::kCountStar:
    case AggregateKind::kCount:
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor:
      return true;
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
      return shows_equal_alike(a.args[0]->type) || (a.args[0]->type.id == TypeId::kNumeric && !a.distinct);
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      return shows_equal_alike(a.args[0]->type);
    default:
      return false;
  }
}

}  // namespace scyper::query
