#include "plan/scan_condition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/access_path.h"
#include "plan/expressions.h"
#include "storage/big_numeric.h"
#include "types/ordered_bytes.h"

namespace scyper::query {
namespace {

using Kind = storage::FrozenPredicate::Kind;
using Term = std::vector<ScanCondition>;  // one of them holds

constexpr size_t kConditionsMax = 64;  // of a scan

bool is_fixed_numeric(const SqlType& type) { return type.id == TypeId::kNumeric && type.precision != 0; }
bool is_text(TypeId id) { return is_string(id) || id == TypeId::kUnknown; }

// Casts that keep order and value, and never fail.
bool keeps_value(const BoundExpr& cast) {
  const SqlType& from = cast.args[0]->type;
  const SqlType& to = cast.type;
  if (widens_integer(cast) || keeps_ordered_bytes(from, to)) return true;
  if (is_string(from.id) && is_string(to.id))
    return from.id != TypeId::kChar && to.id != TypeId::kChar && to.length < 0;
  if (to.id != TypeId::kNumeric || is_modified_numeric(to)) return false;
  if (!is_integer(from.id) && !is_fixed_numeric(from)) return false;
  const SqlType number = is_integer(from.id) ? as_numeric(from) : from;
  return to.precision == 0 || (to.scale >= number.scale && to.precision - to.scale >= number.precision - number.scale);
}

const BoundExpr& without_lossless_casts(const BoundExpr& expr) {
  const BoundExpr* e = &expr;
  while (e->kind == BoundKind::kCast && keeps_value(*e)) e = e->args[0].get();
  return *e;
}

class ConditionFinder {
 public:
  explicit ConditionFinder(const Relation& relation) : relation_(relation) {}

  void add(const BoundExpr& e) {
    if (e.kind == BoundKind::kAnd) {
      for (const auto& arg : e.args) add(*arg);
      return;
    }
    std::optional<Term> term = term_of(e);
    is_exact_ &= term.has_value() && says_all(e);
    if (term.has_value()) add(*std::move(term));
  }

  // Whether take() gives all that was added, and no row more.
  bool is_exact() const {
    size_t conditions = 0;
    for (const Term& term : terms_) conditions += term.size();
    return is_exact_ && conditions <= kConditionsMax;
  }

  std::vector<ScanCondition> take() {
    std::vector<ScanCondition> all;
    for (Term& term : terms_) {
      if (all.size() + term.size() > kConditionsMax) continue;
      for (size_t i = 0; i < term.size(); i++) term[i].condition.has_alternative = i + 1 < term.size() ? 1 : 0;
      std::move(term.begin(), term.end(), std::back_inserter(all));
    }
    return all;
  }

 private:
  // Two bounds of one column are one range, where they are read alike: an integer is not a numeric.
  void add(Term term) {
    for (Term& other : terms_) {
      if (term.size() != 1 || other.size() != 1) continue;
      ScanCondition &a = other[0], &b = term[0];
      const bool are_ranges = a.condition.kind == Kind::kRange && b.condition.kind == Kind::kRange;
      if (!are_ranges || a.condition.column != b.condition.column || a.condition.bound != b.condition.bound) continue;
      if (a.low == nullptr && b.high == nullptr) {
        a.low = b.low;
        a.condition.low_included = b.condition.low_included;
        return;
      }
      if (a.high == nullptr && b.low == nullptr) {
        a.high = b.high;
        a.condition.high_included = b.condition.high_included;
        return;
      }
    }
    terms_.push_back(std::move(term));
  }

  // Of what has a term: does the term say all of it?
  static bool says_all(const BoundExpr& e) {
    if (e.kind == BoundKind::kOr)
      return std::all_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return says_all(*arg); });
    return e.kind != BoundKind::kAnd && (e.kind != BoundKind::kBuiltin || e.builtin->name != "like");
  }

  std::optional<Term> term_of(const BoundExpr& e) const {
    switch (e.kind) {
      case BoundKind::kOr:
        return any_of(e.args);
      case BoundKind::kAnd:  // below OR: what one of the arguments says
        for (const auto& arg : e.args)
          if (std::optional<Term> term = term_of(*arg)) return term;
        return std::nullopt;
      case BoundKind::kIsNull:
        return null_test(*e.args[0], Kind::kIsNull);
      case BoundKind::kNot:
        return e.args[0]->kind == BoundKind::kIsNull ? null_test(*e.args[0]->args[0], Kind::kIsNotNull) : std::nullopt;
      case BoundKind::kAnyAll:
        return any_item(e);
      case BoundKind::kBuiltin:
        if (e.args.size() != 2) return std::nullopt;
        return e.builtin->name == "like" ? prefix(*e.args[0], *e.args[1])
                                         : comparison(e.builtin->op, *e.args[0], *e.args[1]);
      default:
        return std::nullopt;
    }
  }

  std::optional<Term> any_of(const std::vector<BoundPtr>& args) const {
    Term all;
    for (const auto& arg : args) {
      std::optional<Term> term = term_of(*arg);
      if (!term.has_value() || all.size() + term->size() > kConditionsMax) return std::nullopt;
      std::move(term->begin(), term->end(), std::back_inserter(all));
    }
    return all;
  }

  // column = ANY (ARRAY[...])
  std::optional<Term> any_item(const BoundExpr& e) const {
    const BoundExpr& array = *e.args[1];
    if (e.index != 0 || array.kind != BoundKind::kArray || array.args.size() > kConditionsMax) return std::nullopt;
    Term all;
    for (const auto& item : array.args) {
      if (item->type.id == TypeId::kArray) return std::nullopt;
      std::optional<Term> term = comparison(e.builtin->op, *e.args[0], *item);
      if (!term.has_value()) return std::nullopt;
      std::move(term->begin(), term->end(), std::back_inserter(all));
    }
    if (all.empty() || all.size() > kConditionsMax) return std::nullopt;
    return all;
  }

  const BoundExpr* own_column(const BoundExpr& expr) const {
    const BoundExpr& e = without_lossless_casts(expr);
    return e.kind == BoundKind::kColumn && e.relation == relation_.id ? &e : nullptr;
  }

  static ScanCondition condition_on(const BoundExpr& column, Kind kind) {
    ScanCondition made;
    made.condition.column = column.index;
    made.condition.kind = kind;
    return made;
  }

  std::optional<Term> null_test(const BoundExpr& expr, Kind kind) const {
    const BoundExpr* column = own_column(expr);
    if (column == nullptr || column->type.id == TypeId::kArray) return std::nullopt;
    return Term{condition_on(*column, kind)};
  }

  // LIKE of a constant: texts begin with what stands before its first wildcard. Also of char(n), of which text() takes
  // only blanks.
  std::optional<Term> prefix(const BoundExpr& expr, const BoundExpr& pattern) const {
    const BoundExpr& text =
        expr.kind == BoundKind::kCast && expr.args[0]->type.id == TypeId::kChar ? *expr.args[0] : expr;
    const BoundExpr* column = own_column(text);
    const BoundExpr& constant = without_lossless_casts(pattern);
    if (column == nullptr || !is_string(column->type.id) || constant.kind != BoundKind::kConst ||
        constant.value.null != 0 || !is_text(constant.type.id))
      return std::nullopt;
    ScanCondition made = condition_on(*column, Kind::kPrefix);
    made.condition.bound = ChunkBound::kText;
    made.prefix = constant.text.substr(0, constant.text.find_first_of("%_\\"));
    if (made.prefix.empty()) return std::nullopt;
    return Term{std::move(made)};
  }

  static bool is_comparison(BuiltinOp op) { return op >= BuiltinOp::kEqual && op <= BuiltinOp::kGreaterEqual; }

  std::optional<Term> comparison(BuiltinOp op, const BoundExpr& left, const BoundExpr& right) const {
    if (!is_comparison(op)) return std::nullopt;
    if (std::optional<Term> term = compare(op, left, right)) return term;
    return compare(mirrored(op), right, left);
  }

  std::optional<Term> compare(BuiltinOp op, const BoundExpr& side, const BoundExpr& other) const {
    const bool cuts_blanks = side.kind == BoundKind::kCast && side.args[0]->type.id == TypeId::kChar &&
                             is_string(side.type.id) && side.type.length < 0;
    const BoundExpr* column = own_column(cuts_blanks ? *side.args[0] : side);
    const BoundExpr& bound = without_lossless_casts(other);
    const bool is_plain = (bound.kind == BoundKind::kConst && bound.value.null == 0) ||
                          bound.kind == BoundKind::kVariable ||
                          (bound.kind == BoundKind::kColumn && bound.relation != relation_.id);
    if (column == nullptr || !is_plain) return std::nullopt;
    std::optional<ChunkBound> form = form_of(op, column->type, bound.type, cuts_blanks);
    if (!form.has_value()) return std::nullopt;
    ScanCondition made = condition_on(*column, Kind::kRange);
    made.condition.bound = *form;
    if (op == BuiltinOp::kNotEqual) {
      ScanCondition above = made;
      made.high = above.low = &bound;
      made.condition.high_included = above.condition.low_included = 0;
      return Term{made, above};
    }
    if (op == BuiltinOp::kEqual || op == BuiltinOp::kGreater || op == BuiltinOp::kGreaterEqual) made.low = &bound;
    if (op == BuiltinOp::kEqual || op == BuiltinOp::kLess || op == BuiltinOp::kLessEqual) made.high = &bound;
    made.condition.low_included = op == BuiltinOp::kGreater ? 0 : 1;
    made.condition.high_included = op == BuiltinOp::kLess ? 0 : 1;
    return Term{made};
  }

  // How a bound of type `bound` is compared with such a column; nothing where chunks would order them differently.
  static std::optional<ChunkBound> form_of(BuiltinOp op, const SqlType& column, const SqlType& bound,
                                           bool cuts_blanks) {
    if (is_integer(column.id) || is_fixed_numeric(column)) {
      if (is_integer(bound.id)) return ChunkBound::kInteger;
      if (bound.id == TypeId::kNumeric) return ChunkBound::kNumeric;
      return std::nullopt;
    }
    if (is_float(column.id)) return is_float(bound.id) ? std::optional(ChunkBound::kFloat) : std::nullopt;
    if (column.id == TypeId::kChar) {
      // of char(n) trailing blanks do not count, of text they do: equal texts are equal either way
      const bool is_padded = !cuts_blanks && (bound.id == TypeId::kChar || bound.id == TypeId::kUnknown);
      const bool fits = is_padded || (op == BuiltinOp::kEqual && is_text(bound.id));
      return fits ? std::optional(ChunkBound::kText) : std::nullopt;
    }
    if (is_string(column.id))
      return is_text(bound.id) && bound.id != TypeId::kChar ? std::optional(ChunkBound::kText) : std::nullopt;
    if (kept_as(column.id) == TypeId::kBytea && kept_as(bound.id) == TypeId::kBytea && is_ordered_bytes(column.id) &&
        is_ordered_bytes(bound.id))
      return ChunkBound::kText;
    if (column.id != bound.id) return std::nullopt;
    switch (kept_as(column.id)) {
      case TypeId::kBool:
      case TypeId::kDate:
      case TypeId::kTime:
      case TypeId::kTimestamp:
      case TypeId::kTimestamptz:
        return ChunkBound::kInteger;
      case TypeId::kEnum:  // codes are in no order
        return op == BuiltinOp::kEqual && column == bound ? std::optional(ChunkBound::kInteger) : std::nullopt;
      case TypeId::kUuid:
        return ChunkBound::kWide;
      case TypeId::kBytea:
        return ChunkBound::kText;
      default:
        return std::nullopt;
    }
  }

  const Relation& relation_;
  std::vector<Term> terms_;
  bool is_exact_ = true;
};

}  // namespace

std::vector<ScanCondition> find_scan_conditions(const Relation& relation,
                                                const std::vector<const BoundExpr*>& conjuncts) {
  // what is computed anew for each row is computed for each row
  if (std::any_of(conjuncts.begin(), conjuncts.end(), [](const BoundExpr* e) { return is_volatile(*e); })) return {};
  ConditionFinder finder(relation);
  for (const BoundExpr* e : conjuncts) finder.add(*e);
  return finder.take();
}

bool are_scan_conditions_exact(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts) {
  ConditionFinder finder(relation);
  for (const BoundExpr* e : conjuncts) {
    if (is_volatile(*e)) return false;
    finder.add(*e);
  }
  return finder.is_exact();
}

ConstantConditions constant_conditions(const std::vector<ScanCondition>& found) {
  ConstantConditions made;
  size_t conditions = 0, bounds = 0;  // before the term at hand
  bool is_constant = true;
  const auto number_of = [&](const BoundExpr* bound) {
    is_constant &= bound->kind == BoundKind::kConst;
    made.bounds.push_back(bound->value);
    return static_cast<int32_t>(made.bounds.size()) - 1;
  };
  for (const ScanCondition& one : found) {
    ChunkCondition condition = one.condition;
    if (!one.prefix.empty()) {
      made.bounds.push_back(string_datum(one.prefix.data(), one.prefix.size()));
      condition.low = static_cast<int32_t>(made.bounds.size()) - 1;
    }
    if (one.low != nullptr) condition.low = number_of(one.low);
    if (one.high != nullptr) condition.high = one.high == one.low ? condition.low : number_of(one.high);
    made.conditions.push_back(condition);
    if (condition.has_alternative != 0) continue;
    if (!is_constant) {
      made.conditions.resize(conditions);
      made.bounds.resize(bounds);
      made.is_whole = false;
    }
    conditions = made.conditions.size();
    bounds = made.bounds.size();
    is_constant = true;
  }
  return made;
}

}  // namespace scyper::query
