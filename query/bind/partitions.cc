#include "bind/partitions.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/system_types.h"
#include "parse/printer.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

using Value = PartitionBound::Value;
using Limit = PartitionBound::Limit;

// Bounds as values.
class BoundValues {
 public:
  int compare(const SqlType& type, const Value& a, const Value& b) {
    if (a.limit != b.limit) return a.limit < b.limit ? -1 : 1;
    if (a.limit != Limit::kValue) return 0;
    Datum left, right;
    const TextArena arena{allocate, this};
    if (!parse_datum(type, a.text, arena, &left).ok() || !parse_datum(type, b.text, arena, &right).ok())
      return a.text.compare(b.text);
    return compare_datums(type, left, right);
  }

 private:
  static void* allocate(void* self, size_t size) noexcept {
    auto& blocks = static_cast<BoundValues*>(self)->blocks_;
    return blocks.emplace_back(std::make_unique<std::max_align_t[]>(size / sizeof(std::max_align_t) + 1)).get();
  }
  std::deque<std::unique_ptr<std::max_align_t[]>> blocks_;
};

std::string literal(const SqlType& type, const Value& value) {
  return absl::StrCat("CAST(", quote_literal(value.text), " AS ", to_sql(type), ")");
}

std::string all_of(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) absl::StrAppend(&text, text.empty() ? "" : " AND ", part);
  return text.empty() ? "true" : text;
}

std::string any_of(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) absl::StrAppend(&text, text.empty() ? "(" : " OR (", part, ")");
  return text.empty() ? "false" : text;
}

// The key's first `count` parts beside those of a bound: (a, b) >= (1, 2).
std::string comparison(const Partitioning& key, const std::vector<Value>& bound, size_t count, const char* op) {
  std::string left, right;
  for (size_t i = 0; i < count; i++) {
    absl::StrAppend(&left, i == 0 ? "" : ", ", key.keys[i].expression);
    absl::StrAppend(&right, i == 0 ? "" : ", ", literal(key.keys[i].type, bound[i]));
  }
  return count == 1 ? absl::StrCat(left, op, right) : absl::StrCat("(", left, ")", op, "(", right, ")");
}

size_t finite_count(const std::vector<Value>& bound) {
  size_t count = 0;
  while (count < bound.size() && bound[count].limit == Limit::kValue) count++;
  return count;
}

// Behind MINVALUE or MAXVALUE there is nothing more to compare.
std::string range_condition(const Partitioning& key, const std::vector<Value>& from, const std::vector<Value>& to) {
  std::vector<std::string> parts;
  const size_t low = finite_count(from), high = finite_count(to);
  for (size_t i = 0; i < key.keys.size(); i++) parts.push_back(absl::StrCat(key.keys[i].expression, " IS NOT NULL"));
  const bool is_above = low < from.size() && from[low].limit == Limit::kMaximum;
  const bool is_up_to = high < to.size() && to[high].limit == Limit::kMaximum;
  if (low > 0) parts.push_back(comparison(key, from, low, is_above ? " > " : " >= "));
  if (high > 0) parts.push_back(comparison(key, to, high, is_up_to ? " <= " : " < "));
  return all_of(parts);
}

std::string list_condition(const Partitioning& key, const std::vector<Value>& values) {
  const Partitioning::Key& column = key.keys[0];
  std::vector<std::string> parts;
  std::string list;
  for (const Value& value : values) {
    if (value.is_null)
      parts.push_back(absl::StrCat(column.expression, " IS NULL"));
    else
      absl::StrAppend(&list, list.empty() ? "" : ", ", literal(column.type, value));
  }
  if (!list.empty()) parts.push_back(absl::StrCat(column.expression, " IN (", list, ")"));
  return any_of(parts);
}

// The rows that all partitions but a default one take. Ranges that touch count as one.
std::string taken_condition(const Partitioning& key, const std::vector<const View*>& partitions) {
  std::vector<std::string> parts;
  std::vector<Value> values;
  std::vector<std::pair<const std::vector<Value>*, const std::vector<Value>*>> ranges;
  for (const View* view : partitions) {
    const PartitionBound& bound = view->partition->bound;
    if (bound.is_default) continue;
    values.insert(values.end(), bound.values.begin(), bound.values.end());
    if (bound.from.empty()) continue;
    if (!ranges.empty() && compare_limits(key, *ranges.back().second, bound.from) == 0)
      ranges.back().second = &bound.to;
    else
      ranges.emplace_back(&bound.from, &bound.to);
  }
  if (!values.empty()) parts.push_back(list_condition(key, values));
  for (const auto& [from, to] : ranges) parts.push_back(range_condition(key, *from, *to));
  return any_of(parts);
}

bool is_before(const Partitioning& key, const PartitionBound& a, const PartitionBound& b) {
  if (a.is_default || b.is_default) return !a.is_default;
  if (key.by == PartitionedBy::kRange) return compare_limits(key, a.from, b.from) < 0;
  const auto least = [](const PartitionBound& bound) { return bound.values.empty() ? Value() : bound.values[0]; };
  const Value left = least(a), right = least(b);
  if (left.is_null || right.is_null) return !left.is_null;
  BoundValues values;
  return values.compare(key.keys[0].type, left, right) < 0;
}

const View* find_partition(const Catalog& catalog, TableId id) {
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr && view->partition->id == id) return view.get();
  return nullptr;
}

}  // namespace

const Partitioning& partitioning_of(const Catalog& catalog, TableId id) {
  static const Partitioning kNone;
  if (const auto rules = catalog.rules.find(id); rules != catalog.rules.end()) return rules->second.partitioning;
  const View* view = find_partition(catalog, id);
  return view == nullptr ? kNone : view->partition->partitioning;
}

const Partitioning& partitioning_of(const Catalog& catalog, std::string_view name) {
  if (const DeclaredPartition* partition = catalog.find_partition(name); partition != nullptr)
    return partition->partitioning;
  const auto table = catalog.find_table(name);
  return partitioning_of(catalog, table == nullptr ? TableId() : table->schema().id);
}

std::vector<PartitionOfTable> all_partitions(const Catalog& catalog) {
  std::vector<PartitionOfTable> all;
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr)
      if (auto root = catalog.find_table(view->partition->root); root != nullptr)
        all.push_back({view.get(), std::move(root)});
  return all;
}

std::string name_of_partitioned(const Catalog& catalog, TableId id) {
  if (const View* view = find_partition(catalog, id); view != nullptr) return view->name;
  const auto table = catalog.find_table(id);
  return table == nullptr ? std::string() : table->schema().name;
}

std::vector<const View*> partitions_of(const Catalog& catalog, TableId parent) {
  std::vector<const View*> found;
  for (const auto& [name, view] : catalog.views)
    if (view->partition != nullptr && view->partition->parent == parent) found.push_back(view.get());
  const Partitioning& key = partitioning_of(catalog, parent);
  if (key)
    std::sort(found.begin(), found.end(),
              [&](const View* a, const View* b) { return is_before(key, a->partition->bound, b->partition->bound); });
  return found;
}

std::vector<const View*> partitions_below(const Catalog& catalog, TableId parent) {
  std::vector<const View*> all = partitions_of(catalog, parent);
  for (size_t i = 0; i < all.size(); i++) {
    if (!all[i]->partition->partitioning) continue;
    const std::vector<const View*> below = partitions_of(catalog, all[i]->partition->id);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::string bound_condition(const Catalog& catalog, TableId parent, const PartitionBound& bound) {
  const Partitioning& key = partitioning_of(catalog, parent);
  if (bound.is_default) return absl::StrCat("(", taken_condition(key, partitions_of(catalog, parent)), ") IS NOT TRUE");
  return key.by == PartitionedBy::kRange ? range_condition(key, bound.from, bound.to)
                                         : list_condition(key, bound.values);
}

std::string partition_condition(const Catalog& catalog, const DeclaredPartition& partition) {
  const std::string own = absl::StrCat("(", bound_condition(catalog, partition.parent, partition.bound), ")");
  const View* parent = find_partition(catalog, partition.parent);
  return parent == nullptr ? own : absl::StrCat(partition_condition(catalog, *parent->partition), " AND ", own);
}

std::string placed_condition(const Catalog& catalog, TableId parent) {
  const auto all = partitions_of(catalog, parent);
  const bool takes_all =
      std::any_of(all.begin(), all.end(), [](const View* view) { return view->partition->bound.is_default; });
  return takes_all ? std::string() : taken_condition(partitioning_of(catalog, parent), all);
}

std::string tableoid_text(const Catalog& catalog, TableId top) {
  std::string text = "CASE";
  for (const View* view : partitions_below(catalog, top))
    if (!view->partition->partitioning)
      absl::StrAppend(&text, " WHEN ", partition_condition(catalog, *view->partition), " THEN ",
                      partition_oid(*view->partition), "::bigint");
  return text == "CASE" ? absl::StrCat(table_oid(top), "::bigint") : absl::StrCat(text, " END");
}

int compare_limits(const Partitioning& key, const std::vector<Value>& a, const std::vector<Value>& b) {
  BoundValues values;
  for (size_t i = 0; i < key.keys.size() && i < a.size() && i < b.size(); i++) {
    if (const int order = values.compare(key.keys[i].type, a[i], b[i]); order != 0) return order;
    if (a[i].limit != Limit::kValue) return 0;
  }
  return 0;
}

const View* find_overlap(const Catalog& catalog, TableId parent, const PartitionBound& bound) {
  const Partitioning& key = partitioning_of(catalog, parent);
  BoundValues values;
  const auto equal = [&](const Value& a, const Value& b) {
    return a.is_null == b.is_null && (a.is_null || values.compare(key.keys[0].type, a, b) == 0);
  };
  for (const View* view : partitions_of(catalog, parent)) {
    const PartitionBound& other = view->partition->bound;
    if (other.is_default || bound.is_default) continue;
    if (key.by == PartitionedBy::kRange) {
      if (compare_limits(key, bound.from, other.to) < 0 && compare_limits(key, other.from, bound.to) < 0) return view;
      continue;
    }
    for (const Value& value : bound.values)
      if (std::any_of(other.values.begin(), other.values.end(), [&](const Value& v) { return equal(v, value); }))
        return view;
  }
  return nullptr;
}

namespace {

// A constant as PostgreSQL shows it: quotes where a number alone would be of another type, or has a sign.
std::string shown_value(const SqlType& type, const Value& value) {
  if (value.limit != Limit::kValue) return value.limit == Limit::kMinimum ? "MINVALUE" : "MAXVALUE";
  if (value.is_null) return "NULL";
  const std::string& text = value.text;
  if (type.id == TypeId::kBool) return text.starts_with('t') ? "true" : "false";
  const bool is_plain_integer = type.id == TypeId::kInt4 && !text.starts_with('-');
  const bool is_plain_numeric = type.id == TypeId::kNumeric && !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                                text.find_first_of("eE.") != std::string::npos;
  return is_plain_integer || is_plain_numeric ? text : quote_literal(text);
}

}  // namespace

std::string shown_limits(const Partitioning& key, const std::vector<Value>& values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); i++) {
    const SqlType& type = key.keys[key.by == PartitionedBy::kRange ? i : 0].type;
    absl::StrAppend(&text, i == 0 ? "" : ", ", shown_value(type, values[i]));
  }
  return text + ")";
}

std::string shown_bound(const Partitioning& key, const PartitionBound& bound) {
  if (bound.is_default) return "DEFAULT";
  if (key.by == PartitionedBy::kList) return absl::StrCat("FOR VALUES IN ", shown_limits(key, bound.values));
  return absl::StrCat("FOR VALUES FROM ", shown_limits(key, bound.from), " TO ", shown_limits(key, bound.to));
}

namespace {

// Without the brackets around all of it.
std::string bare_expression(std::string text) {
  while (text.starts_with('(') && text.ends_with(')')) {
    int depth = 0;
    for (size_t i = 0; i + 1 < text.size(); i++) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0) return text;
    }
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

}  // namespace

std::string shown_key(const Partitioning& key) {
  std::string text = key.by == PartitionedBy::kRange ? "RANGE (" : "LIST (";
  for (size_t i = 0; i < key.keys.size(); i++) {
    const Partitioning::Key& part = key.keys[i];
    const std::string bare = bare_expression(part.expression);
    const bool is_call = bare.ends_with(')') && bare.find_first_of(" +-*/|(") == bare.find('(');
    absl::StrAppend(&text, i == 0 ? "" : ", ", !part.column.empty() || is_call ? bare : absl::StrCat("((", bare, "))"));
  }
  return text + ")";
}

}  // namespace scyper::query
