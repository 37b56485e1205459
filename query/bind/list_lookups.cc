#include "bind/list_lookups.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bind/builtins.h"
#include "bind/make.h"
#include "plan/access_path.h"
#include "plan/expressions.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

constexpr size_t kConstructedMax = 64;  // longer lists of constants are written as one text
constexpr double kRowsMax = 2000;       // that may be looked up one by one in a small table,
constexpr double kRowsShare = 0.02;     // and in a large one

// A condition that a row's value is one of a list.
struct ListCondition {
  const BoundExpr* equality = nullptr;  // of the first value; null: of ANY
  const BoundExpr* value = nullptr;     // of the row
  const Builtin* builtin = nullptr;
  SqlType element;
  double count = 0;  // 0: not known
};

bool is_equality_of(const BoundExpr& e, const BoundExpr& value) {
  return e.kind == BoundKind::kBuiltin && e.builtin->op == BuiltinOp::kEqual && same(*e.args[0], value);
}

// The type that holds all values of an IN list.
std::optional<SqlType> element_type(const BoundExpr& list) {
  SqlType type = list.args[0]->args[1]->type;
  for (const BoundPtr& equality : list.args) {
    const SqlType& other = equality->args[1]->type;
    if (other == type) continue;
    if (!is_integer(other.id) || !is_integer(type.id)) return std::nullopt;
    if (type.id < other.id) type = other;
  }
  return type;
}

std::optional<ListCondition> list_condition(const BoundExpr& e) {
  ListCondition found;
  if (e.kind == BoundKind::kAnyAll && e.index == 0 && e.builtin->op == BuiltinOp::kEqual) {
    found.value = e.args[0].get();
    found.builtin = e.builtin;
    found.element = element_of(e.args[1]->type);
    const BoundExpr& array = without_casts(*e.args[1]);
    if (array.kind == BoundKind::kArray) found.count = static_cast<double>(array.args.size());
    return found;
  }
  if (e.kind != BoundKind::kOr || e.args[0]->kind != BoundKind::kBuiltin) return std::nullopt;
  const BoundExpr& first = *e.args[0];
  if (first.builtin->op != BuiltinOp::kEqual) return std::nullopt;
  for (const BoundPtr& arg : e.args)
    if (!is_equality_of(*arg, *first.args[0])) return std::nullopt;
  const std::optional<SqlType> element = element_type(e);
  if (!element.has_value() || element->id == TypeId::kUnknown || element->id == TypeId::kArray) return std::nullopt;
  found.equality = &first;
  found.value = first.args[0].get();
  found.builtin = first.builtin;
  found.element = *element;
  found.count = static_cast<double>(e.args.size());
  return found;
}

bool is_present_constant(const BoundExpr& e) { return e.kind == BoundKind::kConst && e.value.null == 0; }

class ListLookups {
 public:
  ListLookups(BoundQuery* query, ListUse use, const NewRelation& new_relation)
      : query_(*query), use_(use), new_relation_(new_relation) {
    for (const FromEntry& entry : query_.from) own_.insert(entry.relation->id);
  }

  void run() {
    if (!query_.joins.empty()) return;
    const size_t count = query_.where.size();
    for (size_t i = 0; i < count; ++i) {
      const std::optional<ListCondition> list = list_condition(*query_.where[i]);
      const Relation* relation = list.has_value() ? relation_of(i, *list) : nullptr;
      if (relation != nullptr && !has_volatile_condition()) try_join(i, *list, *relation);
    }
  }

 private:
  bool has_volatile_condition() const {
    return std::any_of(query_.where.begin(), query_.where.end(), [](const BoundPtr& e) { return is_volatile(*e); });
  }

  // The table whose rows are asked; null: the condition is about more than that.
  const Relation* relation_of(size_t conjunct, const ListCondition& list) const {
    std::set<uint32_t> used, of_value;
    collect_relations(*query_.where[conjunct], &used);
    collect_relations(*list.value, &of_value);
    std::vector<uint32_t> mine;
    std::set_intersection(used.begin(), used.end(), own_.begin(), own_.end(), std::back_inserter(mine));
    if (mine.size() != 1 || has_subquery(*query_.where[conjunct])) return nullptr;
    const auto entry = std::find_if(query_.from.begin(), query_.from.end(),
                                    [&](const FromEntry& each) { return each.relation->id == mine[0]; });
    if (entry->join != JoinType::kInner || entry->relation->kind != RelationKind::kTable) return nullptr;
    // the list itself reads no row of the table
    const BoundExpr& e = *query_.where[conjunct];
    std::set<uint32_t> of_list;
    if (e.kind == BoundKind::kAnyAll) {
      collect_relations(*e.args[1], &of_list);
    } else {
      for (const BoundPtr& arg : e.args) collect_relations(*arg->args[1], &of_list);
    }
    return of_value.count(mine[0]) != 0 && of_list.count(mine[0]) == 0 ? entry->relation.get() : nullptr;
  }

  void try_join(size_t conjunct, const ListCondition& list, const Relation& relation) {
    std::unique_ptr<Relation> values = new_relation_(RelationKind::kUnnest);
    values->alias = " list";
    values->columns.push_back({"value", list.element, false, false});
    values->estimated_rows = list.count;
    BoundPtr equality = make_expr(BoundKind::kBuiltin, make_type(TypeId::kBool), list.value->nullable, -1);
    equality->builtin = list.builtin;
    equality->args.push_back(clone(*list.value));
    equality->args.push_back(make_column(values->id, 0, list.element, false, -1));
    if (!helps(conjunct, *equality, relation, *values, list.count)) return;
    values->arguments.push_back(distinct(array_of_values(query_.where[conjunct].get(), list)));
    query_.where[conjunct] = std::move(equality);
    FromEntry entry;
    entry.relation = std::move(values);
    query_.from.push_back(std::move(entry));
  }

  // Whether an index finds few rows for each value, and no other condition has found as few before.
  bool helps(size_t conjunct, const BoundExpr& equality, const Relation& relation, const Relation& values,
             double count) const {
    std::vector<const BoundExpr*> before;
    std::set<uint32_t> outer;
    for (size_t i = 0; i < query_.where.size(); ++i) {
      if (i != conjunct) before.push_back(query_.where[i].get());
      collect_relations(*query_.where[i], &outer);
    }
    for (const uint32_t id : own_) outer.erase(id);
    const AccessPath plain = choose_access(relation, before, outer, WantedOrder{});
    if (plain.kind == AccessKind::kPoint) return false;
    // a scan: to ask a hash table of the values costs less than to look through an array
    if (use_ == ListUse::kQuery && plain.kind == AccessKind::kFullScan && count == 0) return true;
    std::vector<const BoundExpr*> after = before;
    after.push_back(&equality);
    std::set<uint32_t> bound = outer;
    bound.insert(values.id);
    const AccessPath path = choose_access(relation, after, bound, WantedOrder{});
    if (path.kind != AccessKind::kPoint && path.equal.size() <= plain.equal.size()) return false;
    const bool uses_list = std::any_of(path.equal.begin(), path.equal.end(),
                                       [&](const KeyPart& part) { return part.value == equality.args[1].get(); });
    return uses_list && finds_few(relation, path, count);
  }

  static bool finds_few(const Relation& relation, const AccessPath& path, double count) {
    double found = std::max(1.0, count);
    if (path.kind != AccessKind::kPoint) {
      const std::optional<double> each = rows_of_equal(path, *relation.table);
      if (!each.has_value()) return true;
      found *= *each;
    }
    return found <= std::max(kRowsMax, static_cast<double>(relation.table->live_tuples()) * kRowsShare);
  }

  // Takes the values out of the condition.
  static BoundPtr array_of_values(BoundExpr* condition, const ListCondition& list) {
    if (condition->kind == BoundKind::kAnyAll) return std::move(condition->args[1]);
    const SqlType type = make_array(list.element);
    const bool are_constants = std::all_of(condition->args.begin(), condition->args.end(),
                                           [](const BoundPtr& e) { return is_present_constant(*e->args[1]); });
    if (condition->args.size() > kConstructedMax && are_constants) return written_array(*condition, list.element);
    BoundPtr array = make_expr(BoundKind::kArray, type, false, condition->location);
    for (BoundPtr& e : condition->args) {
      BoundPtr value = std::move(e->args[1]);
      if (value->type != list.element) value = make_cast(std::move(value), list.element, false);
      array->args.push_back(std::move(value));
    }
    return array;
  }

  static BoundPtr written_array(const BoundExpr& condition, const SqlType& element) {
    std::vector<Datum> values;
    for (const BoundPtr& e : condition.args) values.push_back(e->args[1]->value);
    ArrayValue array{static_cast<int32_t>(values.size()), static_cast<int32_t>(values.size()), 1, element.id,
                     values.data()};
    std::string text;
    append_datum(&text, make_array(element), Datum{reinterpret_cast<int64_t>(&array), 0, 0, 0, {}});
    return make_cast(make_text_constant(make_type(TypeId::kText), std::move(text), condition.location),
                     make_array(element), true);
  }

  static BoundPtr distinct(BoundPtr array) {
    BoundPtr call = make_expr(BoundKind::kBuiltin, array->type, array->nullable, array->location);
    call->builtin = find_builtins(" distinct elements").front();
    call->args.push_back(std::move(array));
    return call;
  }

  BoundQuery& query_;
  const ListUse use_;
  const NewRelation& new_relation_;
  std::set<uint32_t> own_;
};

}  // namespace

void use_list_lookups(BoundQuery* query, ListUse use, const NewRelation& new_relation) {
  ListLookups(query, use, new_relation).run();
}

}  // namespace scyper::query
