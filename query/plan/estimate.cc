#include "plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "plan/expressions.h"
#include "types/text.h"

namespace scyper::query {

namespace {

constexpr double kUnknown = 0.33;       // of a predicate that nothing is known of
constexpr double kUnknownEqual = 0.05;  // of an equality with a computed value
constexpr double kUnknownLike = 0.1;

std::optional<double> number_of(const BoundExpr& expr) {
  const BoundExpr* e = &expr;
  while (e->kind == BoundKind::kCast && e->args[0]->kind == BoundKind::kConst) e = e->args[0].get();
  if (e->kind != BoundKind::kConst || e->value.null) return std::nullopt;
  switch (e->type.id) {
    case TypeId::kFloat8:
      return __builtin_bit_cast(double, e->value.lo);
    case TypeId::kNumeric:
      if (e->value.scale < 0) return std::nullopt;  // NaN and the like
      return static_cast<double>(e->value.int128()) / std::pow(10.0, e->value.scale);
    case TypeId::kBool:
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
    case TypeId::kDate:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
      return static_cast<double>(e->value.lo);
    default:
      return std::nullopt;
  }
}

bool is_text_value(const BoundExpr& expr) {
  return expr.kind == BoundKind::kConst && !expr.value.null &&
         (is_string(expr.type.id) || expr.type.id == TypeId::kUnknown);
}

}  // namespace

void Estimator::add(const Plan& plan) {
  for (const auto& shared : plan.shared) add_node(*shared->plan);
  add_node(*plan.root);
}

void Estimator::add_node(const PlanNode& node) {
  if (node.kind == PlanKind::kGet) add_table(*node.source);
  for (const auto& input : node.inputs) add_node(*input);
}

void Estimator::add_table(const Relation& relation) {
  TableInfo info;
  info.relation = &relation;
  info.statistics = relation.table->statistics();
  info.rows = static_cast<double>(relation.table->live_tuples());
  tables_[relation.id] = std::move(info);
}

double Estimator::table_rows(const PlanNode& get) const {
  auto it = tables_.find(get.relation);
  return it == tables_.end() ? 1000 : std::max(1.0, it->second.rows);
}

const storage::ColumnStatistics* Estimator::column(const BoundExpr& expr) const {
  if (expr.kind != BoundKind::kColumn) return nullptr;
  auto it = tables_.find(expr.relation);
  if (it == tables_.end() || it->second.statistics == nullptr || it->second.statistics->sampled == 0) return nullptr;
  const auto& columns = it->second.statistics->columns;
  return expr.index < columns.size() ? &columns[expr.index] : nullptr;
}

double Estimator::column_distinct(const BoundExpr& expr) const {
  auto it = tables_.find(expr.relation);
  if (it == tables_.end()) return 1e9;
  const TableInfo& info = it->second;
  for (const auto& index : info.relation->table->schema().indexes)
    if (index.unique && index.columns.size() == 1 && index.columns[0] == expr.index) return std::max(1.0, info.rows);
  if (const auto* statistics = column(expr)) {
    double grown = info.statistics->rows > 0 ? info.rows / info.statistics->rows : 1;
    bool many = statistics->distinct > info.statistics->rows * 0.1;
    return std::max(1.0, statistics->distinct * (many ? grown : 1));
  }
  return std::max(1.0, info.rows / 10);
}

double Estimator::distinct(const BoundExpr& expr, double rows) const {
  const BoundExpr& e = without_casts(expr);
  if (e.kind == BoundKind::kConst || e.kind == BoundKind::kVariable) return 1;
  if (e.kind == BoundKind::kColumn) return std::max(1.0, std::min(rows, column_distinct(e)));
  double product = 1;
  for (const auto& arg : e.args)
    if (arg->kind != BoundKind::kConst) product = std::min(rows, product * distinct(*arg, rows));
  if (e.kind == BoundKind::kBuiltin) {
    bool modulo = e.builtin->op == BuiltinOp::kModulo || e.builtin->name == "mod";
    if (modulo && e.args.size() == 2)
      if (auto divisor = number_of(*e.args[1])) product = std::min(product, std::max(1.0, std::abs(*divisor)));
    if (e.builtin->name == "extract" || e.builtin->name == "date_part") product = std::min(product, 30.0);
    if (e.builtin->name == "ascii" || e.builtin->name == "substr" || e.builtin->name == "substring" ||
        e.builtin->name == "left")
      product = std::min(product, 100.0);
    if (e.type.id == TypeId::kBool) product = std::min(product, 2.0);
  }
  return std::max(1.0, std::min(rows, product));
}

double Estimator::compare_selectivity(const BoundExpr& e) const {
  const BoundExpr* a = &without_casts(*e.args[0]);
  const BoundExpr* b = &without_casts(*e.args[1]);
  BuiltinOp op = e.builtin->op;
  bool b_known = relations_of(*b).empty();
  if (!b_known && relations_of(*a).empty()) {
    std::swap(a, b);
    op = mirrored(op);
    b_known = true;
  }
  bool equality = op == BuiltinOp::kEqual || op == BuiltinOp::kNotEqual;
  if (!b_known) {
    if (!equality) return kUnknown;
    double s = 1 / std::max(distinct(*a, 1e12), distinct(*b, 1e12));
    return op == BuiltinOp::kEqual ? s : 1 - s;
  }
  const storage::ColumnStatistics* statistics = column(*a);
  std::optional<double> value = number_of(*b);
  if (equality) {
    double s =
        a->kind == BoundKind::kColumn ? 1 / column_distinct(*a) : std::max(kUnknownEqual / 5, 1 / distinct(*a, 1e6));
    if (statistics != nullptr && value.has_value() && !statistics->numbers.empty()) {
      auto range = std::equal_range(statistics->numbers.begin(), statistics->numbers.end(), *value);
      double hits = static_cast<double>(range.second - range.first);
      if (hits >= 4) s = hits / static_cast<double>(statistics->numbers.size()) * (1 - statistics->null_fraction);
    }
    return op == BuiltinOp::kEqual ? s : 1 - s;
  }
  if (statistics != nullptr && !statistics->texts.empty() && is_string(a->type.id) && is_text_value(*b))
    return text_selectivity(*statistics, op, b->text);
  if (statistics == nullptr || !value.has_value() || statistics->numbers.empty()) return kUnknown;
  const auto& numbers = statistics->numbers;
  double below = static_cast<double>(std::lower_bound(numbers.begin(), numbers.end(), *value) - numbers.begin());
  double upto = static_cast<double>(std::upper_bound(numbers.begin(), numbers.end(), *value) - numbers.begin());
  double n = static_cast<double>(numbers.size());
  double s = op == BuiltinOp::kLess        ? below
             : op == BuiltinOp::kLessEqual ? upto
             : op == BuiltinOp::kGreater   ? n - upto
                                           : n - below;
  return std::clamp(s / n, 0.5 / n, 1.0) * (1 - statistics->null_fraction);
}

double Estimator::text_selectivity(const storage::ColumnStatistics& statistics, BuiltinOp op,
                                   const std::string& bound) const {
  const auto holds = [&](const std::string& text) {
    const int order = text.compare(bound);
    if (order == 0) return op == BuiltinOp::kLessEqual || op == BuiltinOp::kGreaterEqual;
    return (order < 0) == (op == BuiltinOp::kLess || op == BuiltinOp::kLessEqual);
  };
  const auto n = static_cast<double>(statistics.texts.size());
  const auto hits = static_cast<double>(std::count_if(statistics.texts.begin(), statistics.texts.end(), holds));
  return std::clamp(hits / n, 0.3 / n, 1.0) * (1 - statistics.null_fraction);
}

double Estimator::like_selectivity(const BoundExpr& e) const {
  const storage::ColumnStatistics* statistics = column(without_casts(*e.args[0]));
  const BoundExpr& pattern = without_casts(*e.args[1]);
  if (statistics == nullptr || statistics->texts.empty() || pattern.kind != BoundKind::kConst || e.args.size() != 2)
    return kUnknownLike;
  double hits = 0;
  for (const auto& text : statistics->texts) {
    bool matches = false;
    if (like(text, pattern.text, "\\", false, &matches) == ValueError::kNone && matches) hits++;
  }
  return std::max(hits, 0.3) / static_cast<double>(statistics->texts.size());
}

double Estimator::prefix_selectivity(const BoundExpr& like, const std::vector<KeyPart>& bounds) const {
  const storage::ColumnStatistics* statistics = column(without_casts(*like.args[0]));
  if (statistics == nullptr || statistics->texts.empty()) return kUnknownLike;
  const auto is_between = [&](const std::string& text) {
    return std::all_of(bounds.begin(), bounds.end(), [&](const KeyPart& bound) {
      if (bound.made == nullptr) return true;
      return bound.op == BuiltinOp::kLess ? text < bound.made->text : text >= bound.made->text;
    });
  };
  const auto hits = std::count_if(statistics->texts.begin(), statistics->texts.end(), is_between);
  return std::max(static_cast<double>(hits), 0.3) / static_cast<double>(statistics->texts.size());
}

double Estimator::selectivity(const BoundExpr& e) const {
  switch (e.kind) {
    case BoundKind::kAnd: {
      double s = 1;
      for (const auto& arg : e.args) s *= selectivity(*arg);
      return s;
    }
    case BoundKind::kOr: {
      double none = 1;
      for (const auto& arg : e.args) none *= 1 - selectivity(*arg);
      return 1 - none;
    }
    case BoundKind::kNot:
      return std::clamp(1 - selectivity(*e.args[0]), 0.001, 1.0);
    case BoundKind::kIsNull:
      if (const auto* statistics = column(*e.args[0])) return std::max(0.0001, statistics->null_fraction);
      return 0.05;
    case BoundKind::kAnyAll:
      return e.index == 0 ? 0.1 : 0.9;
    case BoundKind::kConst:
      return e.value.null || e.value.lo == 0 ? 0.0001 : 1;
    case BoundKind::kBuiltin:
      if (e.builtin->op >= BuiltinOp::kEqual && e.builtin->op <= BuiltinOp::kGreaterEqual)
        return compare_selectivity(e);
      if (e.builtin->name == "like") return like_selectivity(e);
      return kUnknown;
    default:
      return 0.5;
  }
}

namespace {
// A bound of a table's column that is known when the statement is planned.
struct ColumnBound {
  const BoundExpr* column = nullptr;  // null: it is none
  const BoundExpr* value = nullptr;
  bool is_low = false;
};
ColumnBound column_bound_of(const BoundExpr& e) {
  if (e.kind != BoundKind::kBuiltin || e.builtin->op < BuiltinOp::kEqual || e.builtin->op > BuiltinOp::kGreaterEqual)
    return {};
  const BoundExpr* a = &without_casts(*e.args[0]);
  const BoundExpr* b = &without_casts(*e.args[1]);
  BuiltinOp op = e.builtin->op;
  if (a->kind == BoundKind::kConst) {
    std::swap(a, b);
    op = mirrored(op);
  }
  if (op == BuiltinOp::kEqual || op == BuiltinOp::kNotEqual) return {};
  if (a->kind != BoundKind::kColumn || b->kind != BoundKind::kConst) return {};
  return {a, b, op == BuiltinOp::kGreater || op == BuiltinOp::kGreaterEqual};
}

// Values of the sample that the bound can be compared with.
size_t count_comparable(const storage::ColumnStatistics& statistics, const ColumnBound& bound) {
  if (is_string(bound.column->type.id)) return is_text_value(*bound.value) ? statistics.texts.size() : 0;
  return number_of(*bound.value).has_value() ? statistics.numbers.size() : 0;
}
}  // namespace

double Estimator::selectivity_of_all(const std::vector<const BoundExpr*>& conjuncts) const {
  double all = 1;
  std::vector<bool> is_taken(conjuncts.size(), false);
  for (size_t i = 0; i < conjuncts.size(); i++) {
    if (is_taken[i]) continue;
    double s = selectivity(*conjuncts[i]);
    const ColumnBound one = column_bound_of(*conjuncts[i]);
    const storage::ColumnStatistics* statistics = one.column == nullptr ? nullptr : column(*one.column);
    const size_t sampled = statistics == nullptr ? 0 : count_comparable(*statistics, one);
    for (size_t j = i + 1; sampled > 0 && j < conjuncts.size(); j++) {
      const ColumnBound other = column_bound_of(*conjuncts[j]);
      const bool is_range = !is_taken[j] && other.column != nullptr && other.is_low != one.is_low &&
                            other.column->relation == one.column->relation &&
                            other.column->index == one.column->index && count_comparable(*statistics, other) > 0;
      if (!is_range) continue;
      is_taken[j] = true;
      // what one bound leaves out the other one lets pass
      const double least = 0.5 / static_cast<double>(sampled);
      s = std::max(least, s + selectivity(*conjuncts[j]) - (1 - statistics->null_fraction));
      break;
    }
    all *= s;
  }
  return all;
}

// Distinct combinations of expressions: of one relation not more than it has rows.
double Estimator::sides_distinct(const std::vector<const BoundExpr*>& exprs, double rows) const {
  std::map<uint32_t, double> by_relation;
  double result = 1;
  for (const BoundExpr* e : exprs) {
    std::set<uint32_t> used = relations_of(*e);
    double values = distinct(*e, 1e12);
    if (used.size() != 1) {
      result *= std::min(values, rows);
      continue;
    }
    double& product = by_relation.emplace(*used.begin(), 1).first->second;
    product *= values;
    auto it = tables_.find(*used.begin());
    product = std::min(product, it == tables_.end() ? rows : std::max(1.0, it->second.rows));
  }
  for (const auto& [relation, product] : by_relation) result *= product;
  return std::max(1.0, result);
}

// Rows of the one table that these expressions are a unique key of; 0: there is none.
double Estimator::key_rows(const std::vector<const BoundExpr*>& exprs) const {
  std::set<uint32_t> columns;
  uint32_t relation = without_casts(*exprs[0]).relation;
  for (const BoundExpr* e : exprs) {
    const BoundExpr& column = without_casts(*e);
    if (column.kind != BoundKind::kColumn || column.relation != relation) return 0;
    columns.insert(column.index);
  }
  auto it = tables_.find(relation);
  if (it == tables_.end()) return 0;
  for (const auto& index : it->second.relation->table->schema().indexes)
    if (index.unique &&
        std::all_of(index.columns.begin(), index.columns.end(), [&](uint32_t c) { return columns.count(c) != 0; }))
      return std::max(1.0, it->second.rows);
  return 0;
}

double Estimator::join_selectivity(const std::vector<const BoundExpr*>& conjuncts, const std::set<uint32_t>& left,
                                   double left_rows, double right_rows) const {
  double s = 1;
  std::vector<const BoundExpr*> mine, other;
  for (const BoundExpr* e : conjuncts) {
    const BoundExpr *a = nullptr, *b = nullptr;
    bool null_safe = false;
    if (!is_equality(*e, &a, &b, &null_safe)) {
      s *= selectivity(*e);
      continue;
    }
    if (!intersects(relations_of(*a), left)) std::swap(a, b);
    // several equalities with one expression say the same
    bool again = std::any_of(other.begin(), other.end(), [&](const BoundExpr* o) { return same(*o, *b); }) ||
                 std::any_of(mine.begin(), mine.end(), [&](const BoundExpr* m) { return same(*m, *a); });
    if (again) continue;
    mine.push_back(a);
    other.push_back(b);
  }
  if (mine.empty()) return s;
  // what refers to a key has no more values than it, whatever the sample says
  for (const auto* side : {&mine, &other})
    if (double rows = key_rows(*side); rows > 0) return s / rows;
  return s / std::max(sides_distinct(mine, left_rows), sides_distinct(other, right_rows));
}

std::optional<double> Estimator::width(const BoundExpr& expr) const {
  const storage::ColumnStatistics* statistics = column(expr);
  if (statistics == nullptr || statistics->numbers.empty()) return std::nullopt;
  return statistics->numbers.back() - statistics->numbers.front() + 1;
}

std::optional<std::pair<double, double>> Estimator::range(const BoundExpr& expr) const {
  if (std::optional<double> value = number_of(expr)) return std::pair(*value, *value);
  const storage::ColumnStatistics* statistics = column(expr);
  if (statistics == nullptr || statistics->numbers.empty()) return std::nullopt;
  return std::pair(statistics->numbers.front(), statistics->numbers.back());
}

double Estimator::groups(const std::vector<BoundPtr>& keys, double rows) const {
  if (keys.empty()) return 1;
  std::vector<const BoundExpr*> exprs;
  for (const auto& key : keys) exprs.push_back(key.get());
  return std::max(1.0, std::min(rows, sides_distinct(exprs, rows)));
}

}  // namespace scyper::query
