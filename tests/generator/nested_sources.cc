#include "generator/nested.h"

namespace scyper::generator {

using query::append;
using query::make;

// What nested_script.cc makes: all of the same columns.
std::string NestedMaker::table() {
  if (chance(Shape::kViews, 10)) return "v";
  return random_->one_of({"p", "p", "q", "q", "r", "r", "e"});
}

NestedMaker::Level NestedMaker::table_columns(const std::string& alias) {
  return {{alias + ".k", Kind::kInteger, true},
          {alias + ".x", Kind::kInteger, true},
          {alias + ".n", Kind::kNumeric, true},
          {alias + ".s", Kind::kText, true},
          {alias + ".b", Kind::kBoolean, true}};
}

Term NestedMaker::sources(int depth) {
  if (chance(Shape::kUsing, 10) || chance(Shape::kNatural, 5)) return make('F', " FROM ", merged_join());
  Level columns;
  Term result = make('F', " FROM ", source(depth, false, &columns));
  local().insert(local().end(), columns.begin(), columns.end());
  for (int more = random_->pick(100); more < 50; more = 50 + random_->pick(70)) append(&result, join(depth));
  if (!chance(8)) return result;
  columns.clear();
  append(&result, make('F', ", ", source(depth, shapes_->on(Shape::kLateral), &columns)));
  local().insert(local().end(), columns.begin(), columns.end());
  return result;
}

Term NestedMaker::join(int depth) {
  std::string kind = " JOIN ";
  if (chance(Shape::kLeftJoin, 35))
    kind = " LEFT JOIN ";
  else if (chance(Shape::kRightJoin, 15))
    kind = " RIGHT JOIN ";
  else if (chance(Shape::kFullJoin, 20))
    kind = " FULL JOIN ";
  const bool is_outer = kind != " JOIN ", is_full = kind == " FULL JOIN ";
  const bool may_see_left =
      kind == " LEFT JOIN " ? shapes_->on(Shape::kLateralOuter) : !is_outer && shapes_->on(Shape::kLateral);
  const Level left = local();
  Level right;
  Term term = make('W', kind);
  if (depth > 0 && chance(Shape::kNestedJoin, 8)) {
    Level first, second;
    local().clear();
    Term a = source(depth, false, &first), b = source(depth, false, &second);
    append(&term, make('F', "(", std::move(a), random_->one_of({" JOIN ", " LEFT JOIN "})));
    append(&term, make('F', std::move(b), " ON "));
    local() = first;
    local().insert(local().end(), second.begin(), second.end());
    right = local();
    append(&term, join_condition(first, second, false, Place::kOuterOn, depth));
    append(&term, std::string(")"));
  } else {
    append(&term, source(depth, may_see_left, &right));
  }
  local() = left;
  local().insert(local().end(), right.begin(), right.end());
  append(&term, std::string(" ON "));
  append(&term, join_condition(left, right, is_full, is_outer ? Place::kOuterOn : Place::kInnerOn, depth));
  return term;
}

// PostgreSQL joins FULL by an equality only.
Term NestedMaker::join_condition(const Level& left, const Level& right, bool is_full, Place place, int depth) {
  std::vector<std::string> pairs;
  for (const auto& a : left)
    for (const auto& b : right)
      if (a.kind == b.kind && a.kind == Kind::kInteger) pairs.push_back(a.text + " = " + b.text);
  if (pairs.empty())
    for (const auto& a : left)
      for (const auto& b : right)
        if (a.kind == b.kind) pairs.push_back(a.text + " = " + b.text);
  place_ = place;
  if (pairs.empty()) return is_full ? make('b', "true") : condition(depth);
  Term equality = make(is_full ? 'A' : 'b', random_->element(pairs));
  if (chance(70)) return equality;
  return is_full || chance(50) ? make('b', "(", std::move(equality), make('W', " AND ", condition(depth)), ")")
                               : condition(depth);
}

// USING and NATURAL: the merged column has no table. Sources of these have no other column in common.
Term NestedMaker::merged_join() {
  const bool is_natural = shapes_->on(Shape::kNatural) && (!shapes_->on(Shape::kUsing) || chance(30));
  Term result = make('F');
  Level columns = {{"k", Kind::kInteger, false}};
  for (int i = 0, count = 2 + random_->pick(2); i < count; i++) {
    const std::string alias = name();
    const std::string kind =
        shapes_->on(Shape::kFullJoin)
            ? random_->one_of({" JOIN ", " LEFT JOIN ", " FULL JOIN ", " RIGHT JOIN ", " FULL JOIN "})
            : random_->one_of({" JOIN ", " LEFT JOIN "});
    std::string source = table() + " " + alias;
    if (is_natural) source = "(SELECT k, x AS x" + alias + ", s AS s" + alias + " FROM " + table() + ") " + alias;
    if (i == 0)
      append(&result, source);
    else
      append(&result, make('W', (is_natural ? " NATURAL" : "") + kind + source + (is_natural ? "" : " USING (k)")));
    const std::string suffix = is_natural ? alias : "";
    columns.push_back({alias + ".x" + suffix, Kind::kInteger, true});
    columns.push_back({alias + ".s" + suffix, Kind::kText, true});
    if (chance(50)) columns.push_back({alias + ".k", Kind::kInteger, true});
  }
  local().insert(local().end(), columns.begin(), columns.end());
  return result;
}

Term NestedMaker::source(int depth, bool is_lateral, Level* columns) {
  if (!parts_.empty() && chance(55)) {
    const Part& part = random_->element(parts_);
    const std::string alias = name();
    for (size_t i = 0; i < part.kinds.size(); i++)
      columns->push_back({alias + ".c" + std::to_string(i), part.kinds[i], true});
    return make('F', part.name + " " + alias);
  }
  if (depth > 0 && left_ > 0 && chance(Shape::kDerived, 22)) return derived(depth - 1, is_lateral, columns);
  Level hidden;
  if (!is_lateral) std::swap(hidden, local());
  Term made;
  if (chance(Shape::kValues, 7)) {
    made = values(depth, columns);
  } else if (chance(Shape::kFunctions, 7)) {
    made = function(depth, columns);
  } else {
    const std::string alias = name();
    *columns = table_columns(alias);
    made = make('F', table() + " " + alias);
  }
  if (!is_lateral) std::swap(hidden, local());
  return made;
}

Term NestedMaker::derived(int depth, bool is_lateral, Level* columns) {
  left_--;
  const std::string alias = name();
  const std::vector<Kind> kinds = some_kinds();
  const bool says_lateral = is_lateral && chance(70);
  Level hidden;
  if (!says_lateral) std::swap(hidden, local());
  Term inner = body(kinds, depth);
  if (!says_lateral) std::swap(hidden, local());
  for (size_t i = 0; i < kinds.size(); i++) columns->push_back({alias + ".c" + std::to_string(i), kinds[i], true});
  return make('F', says_lateral ? "LATERAL (" : "(", std::move(inner), ") " + alias);
}

Term NestedMaker::values(int depth, Level* columns) {
  const std::string alias = name();
  const std::vector<Kind> kinds = some_kinds();
  std::string names;
  for (size_t i = 0; i < kinds.size(); i++) {
    const std::string column = "c" + std::to_string(i);
    names += (i > 0 ? ", " : "") + column;
    columns->push_back({alias + "." + column, kinds[i], true});
  }
  Term term = make('F', "LATERAL (VALUES ");
  for (int row = 0, rows = 1 + random_->pick(3); row < rows; row++) {
    Term line = make(row == 0 ? 'A' : 'W', row == 0 ? "(" : ", (");
    for (size_t i = 0; i < kinds.size(); i++) {
      append(&line, std::string(i > 0 ? ", " : ""));
      place_ = Place::kSource;
      append(&line, chance(50) ? constant(kinds[i]) : value(kinds[i], depth - 1));
    }
    append(&line, std::string(")"));
    append(&term, std::move(line));
  }
  append(&term, ") " + alias + "(" + names + ")");
  return term;
}

Term NestedMaker::function(int depth, Level* columns) {
  const std::string alias = name();
  columns->push_back({alias + ".c0", Kind::kInteger, true});
  place_ = Place::kSource;
  if (chance(50))
    return make('F', "generate_series(1, least(3, ", value(Kind::kInteger, depth - 1), ")::integer) " + alias + "(c0)");
  Term items = make('A', "ARRAY[", value(Kind::kInteger, depth - 1), ", ", constant(Kind::kInteger), "]");
  if (chance(50)) return make('F', "unnest(", std::move(items), ") " + alias + "(c0)");
  columns->push_back({alias + ".c1", Kind::kInteger, true});
  return make('F', "unnest(", std::move(items), ") WITH ORDINALITY " + alias + "(c0, c1)");
}

}  // namespace scyper::generator
