#include "view_candidates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "condition_terms.h"
#include "frozen_interval.h"

namespace scyper::storage {
namespace {

using Kind = FrozenPredicate::Kind;
using Alternatives = std::vector<FrozenPredicate>;

constexpr size_t kListValuesMax = 32;             // values of a list
constexpr double kTrims[] = {0, 0.1, 0.25, 0.5};  // of the samples, which a view does not have to contain
constexpr double kTemplateTrims[] = {0, 0.25};

// The values of a column as frozen chunks order them.
class ValueOrder {
 public:
  explicit ValueOrder(const SqlType& type) : id_(type.id), kind_(cell_kind_of(type)) {}
  bool exists() const {
    return kind_ != CellKind::kDecimal && kind_ != CellKind::kArray && kept_as(id_) != TypeId::kJsonb;
  }
  bool is_less(const Datum& a, const Datum& b) const {
    if (holds_text(kind_)) return compare_texts(id_, bytes_of(a), bytes_of(b)) < 0;
    return number(a) < number(b);
  }
  bool is_equal(const Datum& a, const Datum& b) const { return !is_less(a, b) && !is_less(b, a); }

 private:
  __int128 number(const Datum& value) const {
    return kind_ == CellKind::kFloat64 ? float_low(FrozenPredicate::equal(value)) : value.int128();
  }
  const TypeId id_;
  const CellKind kind_;
};

// What one statement asks of one column.
struct AskedOfColumn {
  FrozenPredicate around;     // all its alternatives
  std::vector<Datum> values;  // that these are; empty: not single values
};
using AskedColumns = std::map<uint32_t, AskedOfColumn>;

struct Bound {
  Datum value;
  bool is_included;
};

// In the order of the columns' values; of equal ones first what lets more through.
void sort_bounds(const ValueOrder& order, bool is_low, std::vector<Bound>* bounds) {
  std::sort(bounds->begin(), bounds->end(), [&](const Bound& a, const Bound& b) {
    if (order.is_less(a.value, b.value)) return is_low;
    if (order.is_less(b.value, a.value)) return !is_low;
    return a.is_included && !b.is_included;
  });
}

// Whether `a` lets more through than `b`.
bool is_wider_low(const ValueOrder& order, const FrozenPredicate& a, const FrozenPredicate& b) {
  if (a.low.null != 0 || b.low.null != 0) return a.low.null != 0;
  return order.is_less(a.low, b.low) || (order.is_equal(a.low, b.low) && a.low_included);
}
bool is_wider_high(const ValueOrder& order, const FrozenPredicate& a, const FrozenPredicate& b) {
  if (a.high.null != 0 || b.high.null != 0) return a.high.null != 0;
  return order.is_less(b.high, a.high) || (order.is_equal(a.high, b.high) && a.high_included);
}
void take_low(const FrozenPredicate& from, FrozenPredicate* to) {
  to->low = from.low;
  to->low_included = from.low_included;
}
void take_high(const FrozenPredicate& from, FrozenPredicate* to) {
  to->high = from.high;
  to->high_included = from.high_included;
}

bool is_value(const ValueOrder& order, const FrozenPredicate& range) {
  return range.low.null == 0 && range.high.null == 0 && range.low_included && range.high_included &&
         order.is_equal(range.low, range.high);
}

std::optional<AskedOfColumn> asked_of_term(const TableSchema& schema, std::span<const ColumnCondition> term) {
  const FrozenPredicate& first = term[0].predicate;
  if (term.size() == 1 && (first.kind == Kind::kIsNull || first.kind == Kind::kIsNotNull))
    return AskedOfColumn{first, {}};
  const ValueOrder order(schema.columns[term[0].column].type);
  if (!order.exists()) return std::nullopt;
  AskedOfColumn asked{first, {}};
  for (const ColumnCondition& one : term) {
    if (one.column != term[0].column || one.predicate.kind != Kind::kRange) return std::nullopt;
    if (is_wider_low(order, one.predicate, asked.around)) take_low(one.predicate, &asked.around);
    if (is_wider_high(order, one.predicate, asked.around)) take_high(one.predicate, &asked.around);
    if (is_value(order, one.predicate)) asked.values.push_back(one.predicate.low);
  }
  if (asked.values.size() != term.size()) asked.values.clear();
  return asked;
}

AskedColumns asked_columns(const TableSchema& schema, const HotView& statement) {
  AskedColumns all;
  for (std::span<const ColumnCondition> rest = statement.conditions; !rest.empty();) {
    const std::span<const ColumnCondition> term = take_term(&rest);
    std::optional<AskedOfColumn> asked = asked_of_term(schema, term);
    if (!asked.has_value()) continue;
    const auto [found, is_new] = all.try_emplace(term[0].column, *asked);
    FrozenPredicate* around = &found->second.around;
    if (is_new || around->kind != Kind::kRange || asked->around.kind != Kind::kRange) continue;
    const ValueOrder order(schema.columns[term[0].column].type);  // two bounds of one range
    if (is_wider_low(order, *around, asked->around)) take_low(asked->around, around);
    if (is_wider_high(order, *around, asked->around)) take_high(asked->around, around);
    if (found->second.values.empty()) found->second.values = std::move(asked->values);
  }
  return all;
}

using Asked = std::vector<const AskedOfColumn*>;

Alternatives same_null_test(const Asked& asked) {
  const Kind kind = asked[0]->around.kind;
  const bool is_same = kind != Kind::kRange && std::all_of(asked.begin(), asked.end(), [&](const AskedOfColumn* one) {
                         return one->around.kind == kind;
                       });
  return is_same ? Alternatives{asked[0]->around} : Alternatives();
}

// The values that come most often, until all but `trim` of the statements have theirs.
Alternatives list_of(const ValueOrder& order, const Asked& asked, double trim) {
  std::vector<std::pair<Datum, size_t>> values;  // and how often
  size_t statements = 0;
  for (const AskedOfColumn* one : asked) {
    statements += one->values.empty() ? 0 : 1;
    for (const Datum& value : one->values) values.emplace_back(value, 1);
  }
  std::sort(values.begin(), values.end(),
            [&](const auto& a, const auto& b) { return order.is_less(a.first, b.first); });
  size_t distinct = 0, all = values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (distinct > 0 && order.is_equal(values[distinct - 1].first, values[i].first)) {
      ++values[distinct - 1].second;
    } else {
      values[distinct++] = values[i];
    }
  }
  values.resize(distinct);
  std::sort(values.begin(), values.end(), [&](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : order.is_less(a.first, b.first);
  });
  Alternatives list;
  size_t contained = 0;
  const auto wanted = static_cast<size_t>((1 - trim) * static_cast<double>(all));
  for (const auto& [value, count] : values) {
    if (count < 2 || list.size() == kListValuesMax || (contained >= wanted && !list.empty())) break;
    list.push_back(FrozenPredicate::equal(value));
    contained += count;
  }
  return statements == 0 ? Alternatives() : list;
}

// Around the bounds of those that have both, a lower, or an upper one. Nothing: too few have.
Alternatives range_of(const ValueOrder& order, const Asked& asked, double trim, bool has_low, bool has_high,
                      size_t least) {
  std::vector<Bound> lows, highs;
  for (const AskedOfColumn* one : asked) {
    const FrozenPredicate& range = one->around;
    if (range.kind != Kind::kRange || (has_low && range.low.null != 0) || (has_high && range.high.null != 0)) continue;
    lows.push_back({range.low, range.low_included});
    highs.push_back({range.high, range.high_included});
  }
  if (lows.size() < least) return {};
  const double share = has_low && has_high ? trim / 2 : trim;  // at each end
  const auto skipped = static_cast<size_t>(share * static_cast<double>(lows.size()));
  FrozenPredicate range;
  if (has_low) {
    sort_bounds(order, true, &lows);
    range.low = lows[skipped].value;
    range.low_included = lows[skipped].is_included;
  }
  if (has_high) {
    sort_bounds(order, false, &highs);
    range.high = highs[skipped].value;
    range.high_included = highs[skipped].is_included;
  }
  if (has_low && has_high && order.is_less(range.high, range.low)) return {};
  return {range};
}

std::vector<Alternatives> forms_of(const SqlType& type, const Asked& asked, double trim, size_t least) {
  std::vector<Alternatives> forms;
  const auto add = [&](Alternatives form) {
    if (!form.empty()) forms.push_back(std::move(form));
  };
  add(same_null_test(asked));
  const ValueOrder order(type);
  if (!order.exists()) return forms;
  add(list_of(order, asked, trim));
  if (type.id == TypeId::kEnum) return forms;  // chunks are asked for single labels
  add(range_of(order, asked, trim, true, true, least));
  add(range_of(order, asked, trim, true, false, least));
  add(range_of(order, asked, trim, false, true, least));
  return forms;
}

void add_term(const TableSchema& schema, uint32_t column, const Alternatives& alternatives, HotView* view) {
  for (size_t i = 0; i < alternatives.size(); ++i) {
    add_condition(schema, {column, alternatives[i], i + 1 < alternatives.size()}, view);
  }
}

void add_candidate(const TableSchema& schema, HotView view, std::vector<HotView>* all) {
  const bool is_known = std::any_of(all->begin(), all->end(), [&](const HotView& other) {
    return implies(schema, other.conditions, view.conditions) && implies(schema, view.conditions, other.conditions);
  });
  if (!is_known) all->push_back(std::move(view));
}

}  // namespace

std::vector<HotView> find_view_candidates(const TableSchema& schema, std::span<const HotView* const> asked,
                                          size_t least) {
  std::vector<AskedColumns> statements;
  for (const HotView* one : asked) statements.push_back(asked_columns(schema, *one));
  std::map<uint32_t, Asked> by_column;
  std::map<std::vector<uint32_t>, std::vector<const AskedColumns*>> by_template;
  for (const AskedColumns& statement : statements) {
    std::vector<uint32_t> columns;
    for (const auto& [column, what] : statement) {
      by_column[column].push_back(&what);
      columns.push_back(column);
    }
    if (columns.size() > 1) by_template[columns].push_back(&statement);
  }
  std::vector<HotView> all;
  for (const auto& [column, what] : by_column) {
    if (what.size() < least) continue;
    for (const double trim : kTrims) {
      for (const Alternatives& form : forms_of(schema.columns[column].type, what, trim, least)) {
        HotView view;
        add_term(schema, column, form, &view);
        add_candidate(schema, std::move(view), &all);
      }
    }
  }
  for (const auto& [columns, together] : by_template) {
    if (together.size() < least) continue;
    for (const double trim : kTemplateTrims) {
      HotView view;
      for (const uint32_t column : columns) {
        Asked what;
        for (const AskedColumns* statement : together) what.push_back(&statement->at(column));
        const std::vector<Alternatives> forms = forms_of(schema.columns[column].type, what, trim, together.size());
        if (!forms.empty()) add_term(schema, column, forms[0], &view);
      }
      if (!view.conditions.empty()) add_candidate(schema, std::move(view), &all);
    }
  }
  return all;
}

}  // namespace scyper::storage
