#include "storage/hot_views.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "condition_terms.h"
#include "frozen_interval.h"

namespace scyper::storage {
namespace {

using Conditions = std::span<const ColumnCondition>;
using Kind = FrozenPredicate::Kind;

bool contains_numbers(bool is_float, const FrozenPredicate& wanted, const FrozenPredicate& given) noexcept {
  const Interval outer = interval_of(is_float, wanted), inner = interval_of(is_float, given);
  return inner.is_empty() || (outer.low <= inner.low && inner.high <= outer.high);
}

bool contains_texts(TypeId type, const FrozenPredicate& wanted, const FrozenPredicate& given) noexcept {
  if (wanted.low.null == 0) {
    if (given.low.null != 0) return false;
    const int order = compare_texts(type, bytes_of(given.low), bytes_of(wanted.low));
    if (order < 0 || (order == 0 && given.low_included && !wanted.low_included)) return false;
  }
  if (wanted.high.null == 0) {
    if (given.high.null != 0) return false;
    const int order = compare_texts(type, bytes_of(given.high), bytes_of(wanted.high));
    if (order > 0 || (order == 0 && given.high_included && !wanted.high_included)) return false;
  }
  return true;
}

bool implies_one(const TableSchema& schema, const ColumnCondition& given, const ColumnCondition& wanted) noexcept {
  if (given.column != wanted.column) return false;
  const Kind is = given.predicate.kind, wants = wanted.predicate.kind;
  if (wants == Kind::kIsNull) return is == Kind::kIsNull;
  if (wants == Kind::kIsNotNull) return is != Kind::kIsNull;  // whatever else is asked of a NULL is not true
  if (wants != Kind::kRange || is != Kind::kRange) return false;
  const SqlType& type = schema.columns[given.column].type;
  const CellKind kind = cell_kind_of(type);
  if (kind == CellKind::kDecimal || kind == CellKind::kArray || kept_as(type.id) == TypeId::kJsonb) return false;
  return holds_text(kind) ? contains_texts(type.id, wanted.predicate, given.predicate)
                          : contains_numbers(kind == CellKind::kFloat64, wanted.predicate, given.predicate);
}

// Whether each alternative of one term is one of another's.
bool implies_term(const TableSchema& schema, Conditions given, Conditions wanted) noexcept {
  return std::all_of(given.begin(), given.end(), [&](const ColumnCondition& one) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const ColumnCondition& other) { return implies_one(schema, one, other); });
  });
}

bool any_term_implies(const TableSchema& schema, Conditions given, Conditions wanted) noexcept {
  while (!given.empty()) {
    if (implies_term(schema, take_term(&given), wanted)) return true;
  }
  return false;
}

bool conjunction_implies(const TableSchema& schema, Conditions given, Conditions wanted) noexcept {
  const FrozenPredicate& only = wanted[0].predicate;
  const bool has_two_bounds =
      wanted.size() == 1 && only.kind == Kind::kRange && only.low.null == 0 && only.high.null == 0;
  if (!has_two_bounds) return any_term_implies(schema, given, wanted);
  ColumnCondition below = wanted[0], above = wanted[0];  // different conjuncts may give them
  below.predicate.low = above.predicate.high = Datum();
  return any_term_implies(schema, given, {&below, 1}) && any_term_implies(schema, given, {&above, 1});
}

// The slot was asked for this very view before, in another version.
bool promises_none(const FrozenSlot& slot, const HotView& view) noexcept {
  if (slot.views == nullptr) return false;
  const auto& views = slot.views->views;
  for (size_t i = 0; i < views.size(); ++i) {
    if (views[i].get() == &view) return ((slot.relevant_to >> i) & 1) == 0;
  }
  return false;
}

// What a bound of a text points to.
void keep_text(Datum* bound, HotView* view) {
  if (bound->null != 0) return;
  const std::string& text = view->texts.emplace_back(bound->data(), bound->size());
  *bound = string_datum(text.data(), text.size());
}

}  // namespace

void add_condition(const TableSchema& schema, const ColumnCondition& condition, HotView* view) {
  ColumnCondition& added = view->conditions.emplace_back(condition);
  if (!holds_bytes(schema.columns[condition.column].type.id)) return;
  keep_text(&added.predicate.low, view);
  keep_text(&added.predicate.high, view);
}

bool implies(const TableSchema& schema, Conditions given, Conditions wanted) noexcept {
  while (!wanted.empty()) {
    if (!conjunction_implies(schema, given, take_term(&wanted))) return false;
  }
  return true;
}

const HotView* find_pruning_view(const FrozenSlot& slot, const TableSchema& schema, Conditions given) noexcept {
  if (slot.views == nullptr) return nullptr;
  const auto& views = slot.views->views;
  for (size_t i = 0; i < views.size(); ++i) {
    if (((slot.relevant_to >> i) & 1) == 0 && implies(schema, given, views[i]->conditions)) return views[i].get();
  }
  return nullptr;
}

bool is_relevant(const FrozenSlot& slot, uint32_t column) noexcept {
  if (slot.views == nullptr) return false;
  const auto& views = slot.views->views;
  for (size_t i = 0; i < views.size(); ++i) {
    const std::vector<uint32_t>& columns = views[i]->columns;
    if (((slot.relevant_to >> i) & 1) != 0 && std::binary_search(columns.begin(), columns.end(), column)) return true;
  }
  return false;
}

std::optional<Relevance> find_relevant(VectorReader* vectors, const FrozenSlot& slot, const HotViews& views,
                                       uint32_t most) {
  CHECK(views.views.size() <= HotViews::kMax);
  Relevance found;
  for (size_t i = 0; i < views.views.size(); ++i) {
    if (promises_none(slot, *views.views[i])) continue;
    ChunkSelection selection{};
    const bool has_rows = select_rows(vectors, slot.invalid, views.views[i]->conditions, &selection);
    if (!vectors->status().ok()) return std::nullopt;
    if (!has_rows) continue;
    uint32_t count = 0;
    for (size_t word = 0; word < selection.size(); ++word) {
      selection[word] |= found.tuples[word];
      count += static_cast<uint32_t>(std::popcount(selection[word]));
    }
    if (count > most) {
      found.views |= uint64_t{1} << i;
      continue;
    }
    found.tuples = selection;
    found.count = count;
  }
  return found;
}

}  // namespace scyper::storage
