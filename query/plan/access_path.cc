#include "plan/access_path.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "bind/make.h"
#include "plan/scan_condition.h"
#include "query/local_indexes.h"
#include "storage/statistics.h"
#include "types/ordered_bytes.h"

namespace scyper::query {

void visit(const BoundExpr& expr, const std::function<void(const BoundExpr&)>& f) {
  check_stack();
  poll_work();
  f(expr);
  for (const auto& arg : expr.args) visit(*arg, f);
  if (expr.query != nullptr) visit(*expr.query, f);
}

void visit(const BoundQuery& query, const std::function<void(const BoundExpr&)>& f) {
  check_stack();
  poll_work();
  for (const auto& entry : query.from) {
    for (const auto& on : entry.on) visit(*on, f);
    if (entry.relation->query != nullptr) visit(*entry.relation->query, f);
    if (entry.relation->computes_common)
      for (const auto* term : {&entry.relation->common->query, &entry.relation->common->recursive}) visit(**term, f);
    for (const auto& row : entry.relation->rows)
      for (const auto& value : row) visit(*value, f);
    for (const auto& argument : entry.relation->arguments) visit(*argument, f);
  }
  for (const auto& e : query.where) visit(*e, f);
  for (const auto& e : query.groups) visit(*e, f);
  for (const auto& aggregate : query.aggregates) {
    for (const auto& arg : aggregate.args) visit(*arg, f);
    if (aggregate.filter != nullptr) visit(*aggregate.filter, f);
  }
  for (const auto& e : query.having) visit(*e, f);
  for (const auto& call : query.windows) for_each_expr(call, [&](const BoundExpr& e) { visit(e, f); });
  for (const auto& output : query.outputs) visit(*output.expr, f);
  if (query.limit != nullptr) visit(*query.limit, f);
  if (query.offset != nullptr) visit(*query.offset, f);
  if (query.left != nullptr) visit(*query.left, f);
  if (query.right != nullptr) visit(*query.right, f);
}

namespace {
void collect_defined(const BoundQuery& query, std::set<uint32_t>* defined) {
  for (const auto& entry : query.from) {
    defined->insert(entry.relation->id);
    if (entry.relation->query != nullptr) collect_defined(*entry.relation->query, defined);
    if (entry.relation->computes_common)
      for (const auto* term : {&entry.relation->common->query, &entry.relation->common->recursive})
        collect_defined(**term, defined);
  }
  for (const BoundQuery* side : {query.left.get(), query.right.get()})
    if (side != nullptr) collect_defined(*side, defined);
}

// Columns of relations that `node` does not define itself.
template <class Node>
void collect_free(const Node& node, std::set<uint32_t>* relations) {
  std::set<uint32_t> used;
  std::set<uint32_t> defined;
  if constexpr (std::is_same_v<Node, BoundQuery>) collect_defined(node, &defined);
  visit(node, [&](const BoundExpr& e) {
    if (e.kind == BoundKind::kColumn) used.insert(e.relation);
    if (e.query != nullptr) collect_defined(*e.query, &defined);
  });
  for (uint32_t relation : used)
    if (defined.count(relation) == 0) relations->insert(relation);
}
}  // namespace

void collect_relations(const BoundExpr& expr, std::set<uint32_t>* relations) { collect_free(expr, relations); }
void collect_relations(const BoundQuery& query, std::set<uint32_t>* relations) { collect_free(query, relations); }

void collect_columns(const BoundExpr& expr, uint32_t relation, std::set<uint32_t>* columns) {
  visit(expr, [&](const BoundExpr& e) {
    if (e.kind == BoundKind::kColumn && e.relation == relation) columns->insert(e.index);
  });
}

void collect_columns(const BoundQuery& query, uint32_t relation, std::set<uint32_t>* columns) {
  visit(query, [&](const BoundExpr& e) {
    if (e.kind == BoundKind::kColumn && e.relation == relation) columns->insert(e.index);
  });
}

BuiltinOp mirrored(BuiltinOp op) {
  switch (op) {
    case BuiltinOp::kLess:
      return BuiltinOp::kGreater;
    case BuiltinOp::kLessEqual:
      return BuiltinOp::kGreaterEqual;
    case BuiltinOp::kGreater:
      return BuiltinOp::kLess;
    case BuiltinOp::kGreaterEqual:
      return BuiltinOp::kLessEqual;
    default:
      return op;
  }
}

bool widens_integer(const BoundExpr& expr) {
  if (expr.kind != BoundKind::kCast) return false;
  const TypeId from = expr.args[0]->type.id;
  return is_integer(from) && is_integer(expr.type.id) && from < expr.type.id;
}

namespace {

// What is under casts that keep order and lose nothing: smaller to larger integer, numeric to wider numeric of the same
// scale, varchar to text.
const BoundExpr& without_widening(const BoundExpr& expr) {
  const BoundExpr* e = &expr;
  while (e->kind == BoundKind::kCast) {
    const SqlType& from = e->args[0]->type;
    const SqlType& to = e->type;
    bool numeric = from.id == TypeId::kNumeric && to.id == TypeId::kNumeric && from.precision != 0 &&
                   (to.precision == 0 || (to.scale == from.scale && to.precision >= from.precision));
    bool text =
        from.id != TypeId::kChar && is_string(from.id) && is_string(to.id) && to.id != TypeId::kChar && to.length < 0;
    if (!widens_integer(*e) && !numeric && !text && !keeps_ordered_bytes(from, to)) break;
    e = e->args[0].get();
  }
  return *e;
}

// The column that holds the value of the expression, -1 = none.
int column_of(const BoundExpr& expr, const Relation& relation) {
  const BoundExpr& e = without_widening(expr);
  if (e.kind == BoundKind::kColumn) return e.relation == relation.id ? static_cast<int>(e.index) : -1;
  for (const HiddenColumn& hidden : relation.hidden)
    if (!hidden.is_predicate && (same(e, *hidden.exprs[0]) || same(e, without_widening(*hidden.exprs[0]))))
      return static_cast<int>(hidden.column);
  return -1;
}

// Can `value` be turned into a key of `column` exactly (or be found to match nothing)?
bool comparable(const SqlType& column, const SqlType& value, BuiltinOp op) {
  if (is_integer(column.id) && is_integer(value.id)) return op == BuiltinOp::kEqual || column.id >= value.id;
  if (is_string(column.id)) return is_string(value.id) && (column.id != TypeId::kChar || value.id == TypeId::kChar);
  if (column.id == TypeId::kNumeric) {
    if (column.precision == 0 || value.id != TypeId::kNumeric || value.precision == 0) return false;
    if (op != BuiltinOp::kEqual) return value.scale == column.scale && value.precision <= column.precision;
    return value.scale <= column.scale && value.precision <= kMaxPrecision64 && column.precision <= kMaxPrecision64;
  }
  return column.id == value.id;
}

std::vector<KeyPart> find_parts(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts,
                                const std::set<uint32_t>& bound) {
  std::vector<KeyPart> parts;
  for (size_t i = 0; i < conjuncts.size(); i++) {
    const BoundExpr& e = *conjuncts[i];
    if (e.kind != BoundKind::kBuiltin || e.builtin->op < BuiltinOp::kEqual ||
        e.builtin->op > BuiltinOp::kGreaterEqual || e.builtin->op == BuiltinOp::kNotEqual)
      continue;
    for (int side = 0; side < 2; side++) {
      const int column = column_of(*e.args[static_cast<size_t>(side)], relation);
      if (column < 0) continue;
      const BoundExpr& value = *e.args[static_cast<size_t>(1 - side)];
      std::set<uint32_t> used;
      collect_relations(value, &used);
      if (!std::includes(bound.begin(), bound.end(), used.begin(), used.end()) || used.count(relation.id) != 0)
        continue;
      BuiltinOp op = side == 0 ? e.builtin->op : mirrored(e.builtin->op);
      const auto number = static_cast<uint32_t>(column);
      if (!comparable(relation.columns[number].type, value.type, op)) continue;
      parts.push_back({number, op, &value, i, {}});
    }
  }
  return parts;
}

// The least text above all that begin with `prefix`; empty: there is none.
std::string behind_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
  return prefix;
}

// text LIKE 'abc%': what begins with abc lies between two keys; the pattern itself is still to be asked.
void add_prefixes(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts,
                  std::vector<KeyPart>* parts) {
  for (size_t i = 0; i < conjuncts.size(); i++) {
    const std::vector<ScanCondition> found = find_scan_conditions(relation, {conjuncts[i]});
    if (found.size() != 1 || found[0].prefix.empty()) continue;
    const uint32_t column = found[0].condition.column;
    const SqlType type = make_type(relation.columns[column].type.id == TypeId::kChar ? TypeId::kChar : TypeId::kText);
    std::string prefix = found[0].prefix;
    // keys of char(n) end before its blanks
    while (type.id == TypeId::kChar && !prefix.empty() && prefix.back() == ' ') prefix.pop_back();
    if (prefix.empty()) continue;
    const auto add = [&](BuiltinOp op, std::string text) {
      std::shared_ptr<const BoundExpr> value = make_text_constant(type, std::move(text), -1);
      const BoundExpr* shown = value.get();
      parts->push_back({column, op, shown, i, std::move(value)});
    };
    add(BuiltinOp::kGreaterEqual, prefix);
    if (std::string end = behind_prefix(prefix); !end.empty()) add(BuiltinOp::kLess, std::move(end));
  }
}

// For rows of the partial indexes that can be used, their predicates' columns are TRUE.
void add_predicates(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts,
                    std::vector<KeyPart>* parts) {
  for (const HiddenColumn& hidden : relation.hidden) {
    size_t which = kNoConjunct;
    if (hidden.is_predicate && implies(conjuncts, hidden.exprs, &which))
      parts->push_back({hidden.column, BuiltinOp::kEqual, hidden.is_true.get(), which, {}});
  }
}

const KeyPart* find_part(const std::vector<KeyPart>& parts, uint32_t column, BuiltinOp a, BuiltinOp b) {
  for (const auto& part : parts)
    if (part.column == column && (part.op == a || part.op == b)) return &part;
  return nullptr;
}

// What decides the partition: a value that is known before the statement runs, where there is one.
const BoundExpr* find_route(const std::vector<KeyPart>& parts, uint32_t column) {
  const BoundExpr* found = nullptr;
  for (const KeyPart& part : parts) {
    if (part.column != column || part.op != BuiltinOp::kEqual) continue;
    bool has_columns = false;
    visit(*part.value, [&](const BoundExpr& e) { has_columns |= e.kind == BoundKind::kColumn; });
    if (!has_columns) return part.value;
    if (found == nullptr) found = part.value;
  }
  return found;
}

bool is_descending(const storage::IndexDef& index, size_t key) {
  return !index.descending.empty() && index.descending[key];
}

// Read forwards or backwards. NULLs are the greatest keys, as they are the greatest values.
bool delivers_order(const storage::IndexDef& index, size_t equal, const WantedOrder& order) {
  if (order.columns.empty() || order.columns.size() + equal > index.columns.size()) return false;
  for (size_t i = 0; i < order.columns.size(); i++) {
    if (index.columns[equal + i] != order.columns[i]) return false;
    if (is_descending(index, equal + i) != is_descending(index, equal)) return false;
  }
  return true;
}

// x IS NOT NULL, where a comparison with x is TRUE.
bool tells_not_null(const BoundExpr& conjunct, const BoundExpr& predicate) {
  if (predicate.kind != BoundKind::kNot || predicate.args[0]->kind != BoundKind::kIsNull) return false;
  const bool compares = conjunct.kind == BoundKind::kBuiltin && conjunct.builtin->op >= BuiltinOp::kEqual &&
                        conjunct.builtin->op <= BuiltinOp::kGreaterEqual;
  return compares && std::any_of(conjunct.args.begin(), conjunct.args.end(), [&](const BoundPtr& side) {
           return same(without_widening(*side), *predicate.args[0]->args[0]);
         });
}

}  // namespace

bool implies(const std::vector<const BoundExpr*>& conjuncts, const std::vector<BoundPtr>& predicate, size_t* which) {
  *which = kNoConjunct;
  for (const BoundPtr& wanted : predicate) {
    auto same_as = std::find_if(conjuncts.begin(), conjuncts.end(), [&](auto* e) { return same(*e, *wanted); });
    if (same_as != conjuncts.end()) {
      *which = static_cast<size_t>(same_as - conjuncts.begin());
    } else if (std::none_of(conjuncts.begin(), conjuncts.end(), [&](auto* e) { return tells_not_null(*e, *wanted); })) {
      return false;
    }
  }
  return true;
}

std::optional<double> rows_of_equal(const AccessPath& path, const storage::Table& table) {
  std::vector<uint32_t> columns;
  for (const KeyPart& part : path.equal) columns.push_back(part.column);
  return storage::rows_of_one_value(table, columns);
}

AccessPath choose_access(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts,
                         const std::set<uint32_t>& bound, const WantedOrder& order, PrefixUse prefixes) {
  AccessPath best;
  const storage::TableSchema& schema = relation.table->schema();
  std::vector<KeyPart> parts;
  if (prefixes == PrefixUse::kRanges) add_prefixes(relation, conjuncts, &parts);  // mostly narrower than other bounds
  for (KeyPart& part : find_parts(relation, conjuncts, bound)) parts.push_back(std::move(part));
  add_predicates(relation, conjuncts, &parts);
  if (schema.scheme != storage::PartitionScheme::kShared) {
    best.route = find_route(parts, schema.partition_column);
  }
  bool one_partition = best.route != nullptr || schema.scheme == storage::PartitionScheme::kShared;
  const BoundExpr* route = best.route;
  for (size_t i = 0; i < schema.indexes.size(); i++) {
    const storage::IndexDef& index = schema.indexes[i];
    if (is_local(index) && !LocalIndexUse::is_on()) continue;
    AccessPath path;
    path.index = i;
    path.route = route;
    for (uint32_t column : index.columns) {
      const KeyPart* part = find_part(parts, column, BuiltinOp::kEqual, BuiltinOp::kEqual);
      if (part == nullptr) break;
      path.equal.push_back(*part);
    }
    size_t equal = path.equal.size();
    bool nullable = false;
    for (uint32_t column : index.columns) nullable |= !schema.columns[column].not_null;
    if (equal == index.columns.size() && index.unique && !nullable) {
      path.kind = AccessKind::kPoint;
      path.ordered = true;
      path.score = 1000;
    } else {
      path.kind = AccessKind::kRange;
      if (equal < index.columns.size() && (index.descending.empty() || !index.descending[equal])) {
        uint32_t next = index.columns[equal];
        if (const KeyPart* from = find_part(parts, next, BuiltinOp::kGreater, BuiltinOp::kGreaterEqual))
          path.bounds.push_back(*from);
        size_t lower = path.bounds.size();
        if (const KeyPart* to = find_part(parts, next, BuiltinOp::kLess, BuiltinOp::kLessEqual))
          path.bounds.push_back(*to);
        path.score = static_cast<int>(path.bounds.size()) * 3;
        path.has_from = lower == 1;
        path.has_to = path.bounds.size() > lower;
      }
      path.score += static_cast<int>(equal) * 10;
      path.ordered = one_partition && delivers_order(index, equal, order);
      if (path.ordered) path.score += 5, path.backward = order.descending != is_descending(index, equal);
    }
    if (path.score > best.score) best = std::move(path);
  }
  return best;
}

}  // namespace scyper::query
