#include <algorithm>

#include "generator/nested.h"

namespace scyper::generator {

using query::append;
using query::make;

namespace {
const std::vector<Kind>& kinds_of_keys() {
  static const std::vector<Kind> kKinds = {Kind::kInteger, Kind::kInteger, Kind::kText, Kind::kNumeric};
  return kKinds;
}
}  // namespace

bool NestedMaker::takes_subquery(int depth, int percent) {
  if (depth <= 0 || left_ <= 0) return false;
  switch (place_) {
    case Place::kSelect:
      return chance(Shape::kInSelect, percent);
    case Place::kWhere:
      return chance(Shape::kInWhere, percent);
    case Place::kInnerOn:
      return chance(Shape::kInInnerOn, percent);
    case Place::kOuterOn:
      return chance(Shape::kInOuterOn, percent);
    case Place::kHaving:
      return chance(Shape::kInHaving, percent);
    case Place::kOrderBy:
      return chance(Shape::kInOrderBy, percent);
    case Place::kLimit:
      return chance(Shape::kInLimit, percent);
    case Place::kAggregate:
      return chance(Shape::kInAggregate, percent);
    case Place::kFilter:
      return chance(Shape::kInFilter, percent);
    case Place::kSource:
      return chance(Shape::kInSource, percent);
  }
  return false;
}

Term NestedMaker::constant(Kind kind) {
  const char type = static_cast<char>(kind);
  switch (kind) {
    case Kind::kNumeric:
      return make(type, random_->one_of({"1.50::numeric(20,2)", "0.00::numeric(20,2)", "-2.25::numeric(20,2)",
                                         "NULL::numeric(20,2)"}));
    case Kind::kText:
      return make(type, random_->one_of({"'a'::text", "'b'::text", "''::text", "NULL::text"}));
    case Kind::kBoolean:
      return make(type, random_->one_of({"true", "false", "NULL::boolean"}));
    default:
      return make(type, random_->one_of({"0", "1", "2", "3", "-1", "NULL::integer"}));
  }
}

Term NestedMaker::column(Kind kind) {
  const size_t seen = shapes_->on(Shape::kCorrelated) ? levels_.size() : std::min<size_t>(levels_.size(), 1);
  for (size_t distance = 0; distance < seen; distance++) {
    const Level& level = levels_[levels_.size() - 1 - distance];
    std::vector<std::string> fitting;
    for (const auto& column : level)
      if (column.kind == kind && (distance == 0 || column.is_seen_below)) fitting.push_back(column.text);
    const bool is_last = distance + 1 == seen;
    if (!fitting.empty() && chance(is_last ? 90 : 60)) return make(static_cast<char>(kind), random_->element(fitting));
  }
  return constant(kind);
}

Term NestedMaker::value(Kind kind, int depth) {
  if (takes_subquery(depth, 25)) return scalar(kind, depth - 1);
  if (chance(60)) return column(kind);
  return expression(kind, depth);
}

Term NestedMaker::expression(Kind kind, int depth) {
  const char type = static_cast<char>(kind);
  if (kind == Kind::kBoolean) return condition(depth);
  switch (random_->pick(6)) {
    case 0:
      return make(type, "coalesce(", value(kind, depth - 1), ", ", column(kind), ")");
    case 1: {
      Term when = condition(depth - 1);
      const int inside = shapes_->on(Shape::kInCase) ? depth : 0;
      return make(type, "CASE WHEN ", std::move(when), " THEN ", value(kind, inside), " ELSE ", value(kind, inside),
                  " END");
    }
    case 2:
      return make(type, "nullif(", value(kind, depth - 1), ", ", constant(kind), ")");
    case 3:
      if (kind == Kind::kInteger)
        return make(type, "(", value(kind, depth - 1), random_->one_of({" % 2)", " % 3)", " * 2)", " + 1)"}));
      break;
    default:
      break;
  }
  if (kind == Kind::kText) return make(type, "(", column(kind), " || ", column(kind), ")");
  return make(type, "(", value(kind, depth - 1), random_->one_of({" + ", " - "}), column(kind), ")");
}

Term NestedMaker::condition(int depth) {
  if (takes_subquery(depth, 45)) {
    Term term = subquery_condition(depth - 1);
    if (chance(65)) return term;
    return make('b', "(", std::move(term), random_->one_of({" AND ", " OR "}), simple_condition(depth - 1), ")");
  }
  switch (random_->pick(8)) {
    case 0:
      return make('b', "(", simple_condition(depth), " AND ", simple_condition(depth - 1), ")");
    case 1:
      return make('b', "(", simple_condition(depth), " OR ", simple_condition(depth - 1), ")");
    case 2:
      return make('b', "(NOT ", simple_condition(depth), ")");
    default:
      return simple_condition(depth);
  }
}

Term NestedMaker::simple_condition(int depth) {
  const Kind kind = random_->element(kinds_of_keys());
  switch (random_->pick(8)) {
    case 0:
      return make('b', "(", value(kind, depth - 1), random_->one_of({" IS NULL)", " IS NOT NULL)"}));
    case 1:
      return make('b', "(", value(kind, depth - 1), random_->one_of({" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "}),
                  column(kind), ")");
    case 2:
      return make('b', "(", column(Kind::kInteger),
                  random_->one_of({" IN (1, 2, NULL)", " IN (0, 3)", " NOT IN (1, 2)"}), ")");
    case 3:
      return column(Kind::kBoolean);
    default:
      return make('b', "(", value(kind, depth - 1), random_->one_of({" = ", " = ", " = ", " < ", " <> ", " >= "}),
                  column(kind), ")");
  }
}

// depth: of the query inside.
Term NestedMaker::subquery_condition(int depth) {
  const Place place = place_;
  left_--;
  const Kind kind = random_->element(kinds_of_keys());
  auto compared = [&](const std::string& before, const std::string& after) {
    place_ = place;
    Term left = column(kind);
    return make('b', "(", std::move(left), before, body({kind}, depth), after);
  };
  Term term = make('b', random_->one_of({"EXISTS (", "NOT EXISTS ("}));
  const int choice = random_->pick(9);
  if (choice == 0 && shapes_->on(Shape::kIn)) {
    term = compared(" IN (", "))");
  } else if (choice == 1 && shapes_->on(Shape::kNotIn)) {
    term = compared(" NOT IN (", "))");
  } else if (choice == 2 && shapes_->on(Shape::kAny)) {
    term = compared(random_->one_of({" = ANY (", " < ANY (", " >= ANY (", " <> ANY ("}), "))");
  } else if (choice == 3 && shapes_->on(Shape::kAll)) {
    term = compared(random_->one_of({" = ALL (", " < ALL (", " >= ALL (", " <> ALL ("}), "))");
  } else if (choice == 4 && shapes_->on(Shape::kRowIn)) {
    Term left = column(kind);
    Term right = column(Kind::kInteger);
    term = make('b', "((", std::move(left), ", ", std::move(right), random_->one_of({") IN (", ") IN (", ") NOT IN ("}),
                body({kind, Kind::kInteger}, depth), "))");
  } else if (choice == 5 && shapes_->on(Shape::kArrayOf)) {
    term = compared(" = ANY (ARRAY(", ")))");
  } else if (choice == 6 || !shapes_->on(Shape::kExists)) {
    left_++;
    Term left = column(kind);
    term = make('b', "(", std::move(left), random_->one_of({" = ", " < ", " >= "}), scalar(kind, depth), ")");
  } else {
    append(&term, body({kind}, depth));
    append(&term, std::string(")"));
  }
  place_ = place;
  return term;
}

Term NestedMaker::scalar(Kind kind, int depth) {
  const Place place = place_;
  left_--;
  Term inner = scalar_query(kind, depth);
  place_ = place;
  return make(static_cast<char>(kind), "(", std::move(inner), ")");
}

// One row at most.
Term NestedMaker::scalar_query(Kind kind, int depth) {
  const int choice = random_->pick(10);
  if (choice == 0) {
    levels_.emplace_back();
    place_ = Place::kSelect;
    Term item = value(kind, depth);
    Term filter = where(depth);
    levels_.pop_back();
    return make('Q', "SELECT ", std::move(item), " AS c0", std::move(filter));
  }
  if (choice < 3 && shapes_->on(Shape::kLimitsInside)) {
    Term inner = body({kind}, depth);
    return make('Q', "SELECT c0 FROM (", std::move(inner),
                ") " + name() + " ORDER BY 1" + direction() + " LIMIT 1" + random_->one_of({"", "", " OFFSET 1"}));
  }
  if (choice < 5 && shapes_->on(Shape::kDerived)) {
    Term inner = body({kind}, depth);
    const std::string alias = name();
    levels_.push_back({{alias + ".c0", kind, true}});
    const bool keeps_order = kind == Kind::kText && chance(Shape::kOrderedDerived, 50);
    Term call = keeps_order ? make('A', "string_agg(" + alias + ".c0, ',')") : aggregate(kind, depth - 1);
    levels_.pop_back();
    if (keeps_order)
      inner = make('A', "SELECT c0 FROM (", std::move(inner),
                   ") " + name() + " ORDER BY 1" + random_->one_of({"", " DESC"}));
    return make('Q', "SELECT ", std::move(call), " AS c0 FROM (", std::move(inner), ") " + alias);
  }
  levels_.emplace_back();
  Term from = sources(depth);
  Term filter = where(depth);
  Term call = aggregate(kind, depth);
  levels_.pop_back();
  return make('Q', "SELECT ", std::move(call), " AS c0", std::move(from), std::move(filter));
}

}  // namespace scyper::generator
