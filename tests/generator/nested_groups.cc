#include "generator/nested.h"

namespace scyper::generator {

using query::append;
using query::make;

std::vector<NestedMaker::Column> NestedMaker::group_keys() {
  std::vector<Column> keys;
  for (int i = 1 + random_->pick(3); i > 0; i--) {
    const Column& column = random_->element(local());
    if (!chance(Shape::kExpressionKeys, 35)) {
      keys.push_back(column);
      continue;
    }
    switch (column.kind) {
      case Kind::kInteger:
        keys.push_back({"(" + column.text + random_->one_of({" % 2)", " + 1)", " % 3)"}), column.kind, false});
        if (chance(50)) keys.push_back(column);
        break;
      case Kind::kText:
        keys.push_back({"upper(" + column.text + ")", column.kind, false});
        break;
      case Kind::kBoolean:
        keys.push_back({"(NOT " + column.text + ")", column.kind, false});
        break;
      default:
        keys.push_back({"(" + column.text + " IS NULL)", Kind::kBoolean, false});
    }
  }
  return keys;
}

std::string NestedMaker::grouping(const std::vector<Column>& keys) {
  std::string all;
  for (const auto& key : keys) all += (all.empty() ? "" : ", ") + key.text;
  if (!chance(Shape::kGroupingSets, 20)) return " GROUP BY " + all;
  const std::string& first = keys[0].text;
  switch (random_->pick(5)) {
    case 0:
      return " GROUP BY ROLLUP (" + all + ")";
    case 1:
      return " GROUP BY CUBE (" + all + ")";
    case 2:
      return " GROUP BY GROUPING SETS ((" + all + "), (" + first + "), ())";
    case 3:
      return " GROUP BY " + first + ", ROLLUP (" + all + ")";
    default:
      return " GROUP BY GROUPING SETS ((" + all + "), (" + all + "))";
  }
}

// rows: what aggregates read; groups: what is left beside them.
Term NestedMaker::grouped_item(Kind kind, const std::vector<Column>& keys, const Level& rows, const Level& groups,
                               int depth) {
  std::vector<std::string> same;
  for (const auto& key : keys)
    if (key.kind == kind) same.push_back(key.text);
  const int choice = random_->pick(10);
  if (choice < 4 && !same.empty()) return make('A', random_->element(same));
  if (choice < 7) {
    local() = rows;
    return aggregate(kind, depth);
  }
  local() = groups;
  place_ = Place::kSelect;
  return value(kind, depth);
}

Term NestedMaker::grouped(const std::vector<Kind>& kinds, int depth) {
  levels_.emplace_back();
  Term from = sources(depth);
  Term filter = where(depth);
  const Level rows = local();
  std::vector<Column> keys;
  std::string grouping_text;
  const bool is_lone = chance(Shape::kLoneHaving, 8);
  if (chance(Shape::kEmptyGroup, 8))
    grouping_text = " GROUP BY ()";
  else if (!is_lone && !chance(15))
    keys = group_keys(), grouping_text = grouping(keys);
  Level groups;
  for (const auto& key : keys) groups.push_back(key);
  const bool is_ordered = levels_.size() > 1 && chance(Shape::kLimitsInside, 15);
  Term result = make('Q', "SELECT ");
  for (size_t i = 0; i < kinds.size(); i++) {
    // without keys something has to be an aggregate
    const bool is_needed = keys.empty() && grouping_text.empty() && !is_lone && i == 0;
    if (is_needed) local() = rows;
    add_item(is_needed ? aggregate(kinds[i], depth) : grouped_item(kinds[i], keys, rows, groups, depth), i, !is_ordered,
             &result);
  }
  append(&result, std::move(from));
  append(&result, std::move(filter));
  append(&result, grouping_text);
  if (is_lone || chance(20)) {
    local() = rows;
    Term counted = make('i', aggregate(Kind::kInteger, 0));
    local() = groups;
    place_ = Place::kHaving;
    Term having = chance(50) ? condition(depth)
                             : make('b', "(", std::move(counted), random_->one_of({" > ", " < ", " = "}),
                                    value(Kind::kInteger, depth), ")");
    append(&result, make(is_lone && keys.empty() ? 'A' : 'W', " HAVING ", std::move(having)));
  }
  local() = groups;
  if (is_ordered) append(&result, ordered(kinds.size(), depth, chance(75)));
  levels_.pop_back();
  return result;
}

// A column of the rows that are aggregated: without one, an aggregate of outer columns would be the outer query's.
std::string NestedMaker::anchor() { return local().empty() ? "1" : random_->element(local()).text; }

Term NestedMaker::argument(Kind kind, int depth) {
  place_ = Place::kAggregate;
  std::vector<std::string> fitting;
  for (const auto& column : local())
    if (column.kind == kind) fitting.push_back(column.text);
  if (!fitting.empty() && chance(60)) return make('A', random_->element(fitting));
  const std::string tested = anchor();
  place_ = Place::kAggregate;
  return make('A', "CASE WHEN " + tested + random_->one_of({" IS NOT NULL THEN ", " IS NULL THEN "}),
              value(kind, depth), make('W', " ELSE ", value(kind, depth - 1)), " END");
}

Term NestedMaker::aggregate(Kind kind, int depth) {
  Term call = aggregate_call(kind, depth);
  if (!chance(15)) return call;
  const std::string tested = anchor();
  place_ = Place::kFilter;
  return make('A', std::move(call),
              make('W', " FILTER (WHERE " + tested + random_->one_of({" IS NOT NULL AND ", " IS NULL OR "}),
                   condition(depth), ")"));
}

// All give the same for their rows in any order.
Term NestedMaker::aggregate_call(Kind kind, int depth) {
  switch (kind) {
    case Kind::kBoolean:
      return make('A', random_->one_of({"bool_and(", "bool_or(", "every("}), argument(kind, depth), ")");
    case Kind::kNumeric:
      return make('A', random_->one_of({"sum(", "min(", "max(", "sum(DISTINCT "}), argument(kind, depth), ")");
    case Kind::kText: {
      if (chance(40)) return make('A', random_->one_of({"min(", "max("}), argument(kind, depth), ")");
      const std::string item = anchor();
      return make('A', random_->one_of({"string_agg(", "string_agg(", "string_agg(DISTINCT "}) + "(" + item +
                           ")::text, ','" + " ORDER BY (" + item + ")::text" + random_->one_of({"", " DESC"}) + ")");
    }
    default:
      break;
  }
  const Kind counted = random_->element(kinds_);
  switch (random_->pick(5)) {
    case 0:
      return make('A', "count(*)");
    case 1:
      return make('A', random_->one_of({"count(", "count(DISTINCT "}), argument(counted, depth), ")");
    case 2:
      return make('A', random_->one_of({"min(", "max("}), argument(Kind::kInteger, depth), ")");
    default:
      return make('A', random_->one_of({"sum(", "sum(DISTINCT ", "sum("}), argument(Kind::kInteger, depth), ")");
  }
}

std::string NestedMaker::window_order(const std::string& partition) {
  std::string order;
  for (const auto& column : local()) order += (order.empty() ? "" : ", ") + column.text;
  return " OVER (" + partition + (order.empty() ? "" : " ORDER BY " + order) + ")";
}

// By position only in a total order; by value in any.
std::string NestedMaker::window_call(Kind kind, bool may_number) {
  const std::string of = column(kind).sql();
  const std::string partition = chance(50) && !local().empty() ? "PARTITION BY " + random_->element(local()).text : "";
  const std::string total = window_order(partition);
  const std::string any =
      " OVER (" + partition +
      (chance(60) && !local().empty() ? " ORDER BY " + random_->element(local()).text + direction() : "") + ")";
  // rows that look alike may have their places in any order, of each call another one
  const bool by_position = chance(50) && may_number;
  if (kind == Kind::kInteger && by_position) return random_->one_of({"row_number()", "ntile(2)", "count(*)"}) + total;
  if (by_position) return random_->one_of({"lag(", "lead(", "first_value(", "last_value("}) + of + ")" + total;
  if (kind == Kind::kInteger)
    return random_->one_of({"rank()", "dense_rank()", "count(*)", "count(*) FILTER (WHERE true)"}) + any;
  return random_->one_of({"min(", "max("}) + of + ")" + any;
}

}  // namespace scyper::generator
