#include "generator/nested.h"

#include <algorithm>

namespace scyper::generator {

using query::append;
using query::make;

namespace {
constexpr int kSubqueriesMax = 7;
constexpr int kDepthMax = 3;
}  // namespace

void NestedMaker::begin() {
  levels_.clear();
  parts_.clear();
  names_ = 0;
  left_ = kSubqueriesMax;
  place_ = Place::kSelect;
}

std::vector<Kind> NestedMaker::some_kinds() {
  std::vector<Kind> kinds;
  for (int i = 1 + random_->pick(3); i > 0; i--)
    kinds.push_back(static_cast<Kind>(random_->one_of({"i", "i", "i", "s", "n", "b"})[0]));
  return kinds;
}

NestedQuery NestedMaker::query(bool may_be_ordered) {
  begin();
  const int depth = shapes_->on(Shape::kDepthThree) ? 1 + random_->pick(kDepthMax) : 1;
  NestedQuery made{{}, some_kinds()};
  const size_t columns = made.kinds.size();
  made.term = body(made.kinds, depth);
  if (!may_be_ordered || !chance(40)) return made;
  const bool is_limited = chance(50);
  Term whole = make('Q', "SELECT * FROM (", std::move(made.term), ") o");
  append(&whole, ordered(columns, 0, is_limited));
  made.term = std::move(whole);
  return made;
}

Term NestedMaker::query_of(const std::vector<Kind>& kinds, int depth) {
  begin();
  return body(kinds, depth);
}

Term NestedMaker::condition_over(const std::vector<std::string>& tables, int depth) {
  begin();
  levels_.emplace_back();
  for (const auto& alias : tables)
    for (auto& column : table_columns(alias)) local().push_back(column);
  place_ = Place::kWhere;
  return condition(depth);
}

Term NestedMaker::value_over(Kind kind, const std::vector<std::string>& tables, int depth) {
  begin();
  levels_.emplace_back();
  for (const auto& alias : tables)
    for (auto& column : table_columns(alias)) local().push_back(column);
  return value(kind, depth);
}

Term NestedMaker::body(const std::vector<Kind>& kinds, int depth) {
  const bool is_inside = !levels_.empty() || names_ > 0;
  if (depth > 0 && chance(is_inside ? Shape::kWithInside : Shape::kWith, 10)) return with(kinds, depth);
  if (depth > 0 && chance(is_inside ? Shape::kSetsInside : Shape::kSets, 12)) return set_operation(kinds, depth);
  if (chance(is_inside ? Shape::kGroupsInside : Shape::kGroups, 25)) return grouped(kinds, depth);
  if (chance(is_inside ? Shape::kWindowsInside : Shape::kWindows, 12)) return windowed(kinds, depth);
  return plain(kinds, depth);
}

Term NestedMaker::where(int depth) {
  if (!chance(65)) return make('W');
  place_ = Place::kWhere;
  return make('W', " WHERE ", condition(depth));
}

std::string NestedMaker::direction() {
  return random_->one_of({"", "", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"});
}

// By all columns, perhaps by an expression before: the order is total. One that a LIMIT needs may not be left out.
Term NestedMaker::ordered(size_t columns, int depth, bool is_limited) {
  Term term = make(is_limited ? 'A' : 'W', " ORDER BY ");
  if (depth > 0 && chance(Shape::kInOrderBy, 12)) {
    place_ = Place::kOrderBy;
    append(&term, make('W', make('A', "(", scalar(Kind::kInteger, depth), ")" + direction()), ", "));
  }
  for (size_t i = 1; i <= columns; i++) append(&term, (i == 1 ? "" : ", ") + std::to_string(i) + direction());
  if (is_limited) append(&term, limit(depth));
  return term;
}

Term NestedMaker::limit(int depth) {
  if (depth > 0 && left_ > 0 && chance(Shape::kInLimit, 10)) {
    place_ = Place::kLimit;
    Level hidden;
    if (!levels_.empty()) std::swap(hidden, local());  // LIMIT sees no row
    Term count = scalar(Kind::kInteger, depth);
    if (!levels_.empty()) std::swap(hidden, local());
    return make('W', random_->one_of({" LIMIT ", " OFFSET "}) + "least(3, greatest(0, ", std::move(count),
                "))::bigint");
  }
  return make('W', random_->one_of({" LIMIT 1", " LIMIT 2", " LIMIT 3", " LIMIT 2 OFFSET 1", " OFFSET 1", " LIMIT 0",
                                    " FETCH FIRST 2 ROWS ONLY", " LIMIT NULL", " LIMIT 5 OFFSET 2"}));
}

// may_go: no order needs it.
void NestedMaker::add_item(Term item, size_t i, bool may_go, Term* result) {
  const std::string name = " AS c" + std::to_string(i);
  if (i == 0)
    append(result, make('A', std::move(item), name));
  else
    append(result, make(may_go ? 'W' : 'A', ", ", std::move(item), name));
}

Term NestedMaker::plain(const std::vector<Kind>& kinds, int depth) {
  levels_.emplace_back();
  Term from = chance(4) ? make('F') : sources(depth);
  Term filter = where(depth);
  std::string distinct;
  std::string first;
  if (chance(Shape::kDistinct, 12)) {
    distinct = "DISTINCT ";
  } else if (!local().empty() && chance(Shape::kDistinctOn, 8)) {
    first = random_->element(local()).text;
    distinct = "DISTINCT ON (" + first + ") ";
  }
  const bool is_ordered = first.empty() && levels_.size() > 1 && chance(Shape::kLimitsInside, 15);
  Term result = make('Q', "SELECT " + distinct);
  bool has_rows = false;
  for (size_t i = 0; i < kinds.size(); i++) {
    place_ = Place::kSelect;
    const bool is_rows = kinds[i] == Kind::kInteger && !has_rows && distinct.empty() && chance(Shape::kRowsInSelect, 3);
    has_rows |= is_rows;
    add_item(is_rows ? make('A', random_->one_of({"generate_series(1, 2)", "unnest(ARRAY[3, NULL, 1])"}))
                     : value(kinds[i], depth),
             i, first.empty() && !is_ordered, &result);
  }
  append(&result, std::move(from));
  append(&result, std::move(filter));
  if (!first.empty()) {
    append(&result, " ORDER BY " + first);
    for (size_t i = 1; i <= kinds.size(); i++) append(&result, ", " + std::to_string(i));
  } else if (is_ordered) {
    append(&result, ordered(kinds.size(), distinct.empty() ? depth : 0, chance(75)));
  }
  levels_.pop_back();
  return result;
}

Term NestedMaker::windowed(const std::vector<Kind>& kinds, int depth) {
  levels_.emplace_back();
  Term from = sources(depth);
  Term filter = where(depth);
  const bool is_limited = levels_.size() > 1 && chance(Shape::kLimitsInside, 20);
  Term result = make('Q', "SELECT ");
  for (size_t i = 0; i < kinds.size(); i++) {
    place_ = Place::kSelect;
    const bool is_call = kinds[i] != Kind::kBoolean && chance(60);
    add_item(is_call ? make(static_cast<char>(kinds[i]), window_call(kinds[i], i == 0)) : value(kinds[i], depth - 1), i,
             !is_limited, &result);
  }
  append(&result, std::move(from));
  append(&result, std::move(filter));
  if (is_limited) append(&result, ordered(kinds.size(), 0, true));
  levels_.pop_back();
  return result;
}

Term NestedMaker::set_operation(const std::vector<Kind>& kinds, int depth) {
  Term result = body(kinds, depth - 1);
  for (int i = 1 + random_->pick(2); i > 0; i--) {
    const std::string op = random_->one_of(
        {" UNION ", " UNION ALL ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL "});
    result = make('Q', "(", std::move(result), ")" + op + "(", body(kinds, depth - 1), ")");
  }
  if (!chance(Shape::kLimitsInside, 20)) return result;
  append(&result, ordered(kinds.size(), 0, chance(75)));
  return result;
}

Term NestedMaker::with(const std::vector<Kind>& kinds, int depth) {
  const size_t before = parts_.size();
  Term result = make('Q', "WITH ");
  const bool is_recursive = chance(Shape::kRecursive, 30);
  if (is_recursive) append(&result, "RECURSIVE ");
  std::vector<Part> made;
  for (int i = 0, count = 1 + random_->pick(2); i < count; i++) {
    const bool is_last = i == count - 1;
    Part part{"w" + std::to_string(++names_), some_kinds()};
    if (i > 0) append(&result, ", ");
    if (is_recursive && is_last) {
      part.kinds = {Kind::kInteger, Kind::kInteger};
      append(&result, recursive_part(part.name, depth - 1));
    } else {
      append(&result, part.name + " AS " + random_->one_of({"", "", "MATERIALIZED ", "NOT MATERIALIZED "}) + "(");
      append(&result, body(part.kinds, depth - 1));
      append(&result, std::string(")"));
    }
    parts_.push_back(std::move(part));
  }
  append(&result, std::string(" "));
  append(&result, body(kinds, depth - 1));
  parts_.resize(before);
  return result;
}

// The first column counts the steps: three, so that it ends.
Term NestedMaker::recursive_part(const std::string& part, int depth) {
  const std::string alias = name();
  Term result = make('A', part + "(c0, c1) AS (SELECT 0, c0::integer FROM (", body({Kind::kInteger}, depth),
                     ") " + name() + random_->one_of({" UNION ALL ", " UNION "}) + "SELECT " + alias + ".c0 + 1, (");
  levels_.push_back({{alias + ".c0", Kind::kInteger, true}, {alias + ".c1", Kind::kInteger, true}});
  Term from = make('F', " FROM " + part + " " + alias);
  if (chance(60)) {
    Level columns;
    const bool is_left = chance(Shape::kLeftJoin, 40);
    Term right = source(depth, false, &columns);
    const Level left = local();
    local().insert(local().end(), columns.begin(), columns.end());
    append(&from, make('F', is_left ? " LEFT JOIN " : " JOIN ", std::move(right), " ON ",
                       join_condition(left, columns, true, is_left ? Place::kOuterOn : Place::kInnerOn, depth)));
  }
  place_ = Place::kWhere;
  Term filter = make('W', " AND ", condition(depth));
  place_ = Place::kSelect;
  append(&result, value(Kind::kInteger, depth));
  append(&result, std::string(")::integer"));
  append(&result, std::move(from));
  append(&result, " WHERE " + alias + ".c0 < 3");
  append(&result, std::move(filter));
  append(&result, std::string(")"));
  levels_.pop_back();
  return result;
}

}  // namespace scyper::generator
