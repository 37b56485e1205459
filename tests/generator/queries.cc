#include "generator/queries.h"

#include <algorithm>

namespace scyper::generator {

using query::append;
using query::make;

namespace {
std::string ordinals(int count, Random* random) {
  std::string text = " ORDER BY ";
  for (int i = 1; i <= count; i++)
    text += (i == 1 ? "" : ", ") + std::to_string(i) + random->one_of({"", "", " DESC", " NULLS FIRST", " ASC"});
  return text;
}
}  // namespace

Term QueryMaker::query() {
  const int kind = random_->pick(100);
  if (kind < 25) return grouped();
  if (kind < 35) return windowed();
  if (kind < 47) return set_operation();
  if (kind < 57) return with();
  return plain();
}

QueryMaker::From QueryMaker::from(const std::string& alias, int sources_max) {
  From result;
  const Table& first = source();
  std::string name = alias + "0";
  result.term = make('F', " FROM " + first.name + " " + name);
  result.scope = first.scope(name + ".");
  for (int i = 1; i < sources_max && random_->chance(50); i++) {
    const Table& table = source();
    name = alias + std::to_string(i);
    const Scope right = table.scope(name + ".");
    std::string join =
        random_->one_of({" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN ", " JOIN "});
    Term next = make('W', join + table.name + " " + name);
    if (join == " CROSS JOIN ")
      append(&next, std::string());
    else
      append(&next, make('A', " ON ", join_condition(result.scope, right, join == " FULL JOIN ")));
    append(&result.term, std::move(next));
    result.scope.insert(result.scope.end(), right.begin(), right.end());
  }
  return result;
}

Term QueryMaker::join_condition(const Scope& left, const Scope& right, bool equality_only) {
  std::vector<std::string> pairs;
  for (const auto& a : left)
    for (const auto& b : right)
      if (a.kind == b.kind && is_key_kind(a.kind)) pairs.push_back(a.text + " = " + b.text);
  Scope both = left;
  both.insert(both.end(), right.begin(), right.end());
  if (pairs.empty()) return equality_only ? make('b', "true") : expressions_->condition(both, 2);
  Term equality = make('b', random_->element(pairs));
  if (equality_only || random_->chance(60)) return equality;
  return random_->chance(50) ? make('b', "(", std::move(equality), " AND ", expressions_->condition(both, 1), ")")
                             : expressions_->condition(both, 2);
}

Term QueryMaker::condition(const Scope& scope, int depth) {
  if (!random_->chance(25)) return expressions_->condition(scope, depth);
  const Table& table = source();
  Scope inner = table.scope("z.");
  const Scope own = inner;
  inner.insert(inner.end(), scope.begin(), scope.end());
  const std::string from = " FROM " + table.name + " z";
  Term where = make('W', " WHERE ", expressions_->condition(inner, 1));
  Term result;
  switch (random_->pick(4)) {
    case 0:
      result = make('b', random_->one_of({"EXISTS (SELECT 1", "NOT EXISTS (SELECT 1"}) + from, std::move(where), ")");
      break;
    case 1: {
      const Kind kind = random_->element(own).kind;
      result = make('b', "(", expressions_->leaf(kind, scope), random_->one_of({" IN (SELECT ", " NOT IN (SELECT "}),
                    expressions_->typed_value(kind, own, 1), from, std::move(where), "))");
      break;
    }
    case 2:
      result =
          make('b', "(", expressions_->value(Kind::kInteger, scope, 1, false), random_->one_of({" < ", " = ", " >= "}),
               "(SELECT " + random_->one_of({"count(*)", "sum(1)", "count(*) + 1"}) + from, std::move(where), "))");
      break;
    default:
      result = make('b', "(", expressions_->value(Kind::kInteger, scope, 1, false),
                    random_->one_of({" = ANY (SELECT ", " > ALL (SELECT ", " <> ALL (SELECT "}),
                    expressions_->typed_value(Kind::kInteger, own, 1), from, std::move(where), "))");
  }
  if (random_->chance(50)) return result;
  return make('b', "(", std::move(result), random_->one_of({" AND ", " OR "}), expressions_->condition(scope, 1), ")");
}

Term QueryMaker::limit() {
  return make('W', random_->one_of({"", "", " LIMIT 3", " LIMIT 5 OFFSET 1", " OFFSET 2", " FETCH FIRST 2 ROWS ONLY"}));
}

Term QueryMaker::plain() {
  From source = from("x", 3);
  const bool is_distinct = random_->chance(15);
  const bool is_ordered = random_->chance(40);
  Term result = make('Q', std::string(is_distinct ? "SELECT DISTINCT " : "SELECT "));
  const int columns = 1 + random_->pick(4);
  for (int i = 0; i < columns; i++) {
    if (i > 0) append(&result, std::string(", "));
    const Kind kind = random_kind(random_);
    Term value = expressions_->value(kind, source.scope, 3, false);
    append(&result, is_distinct || is_ordered ? expressions_->comparable(kind, std::move(value)) : std::move(value));
  }
  append(&result, std::move(source.term));
  if (random_->chance(70)) append(&result, make('W', " WHERE ", condition(source.scope, 2)));
  if (!is_ordered) return result;
  append(&result, ordinals(columns, random_));
  append(&result, limit());
  return result;
}

Term QueryMaker::aggregate(const Scope& scope) {
  auto of = [&](Kind kind) {
    Term value = expressions_->value(kind, scope, 2, false);
    if (kind == Kind::kInteger || kind == Kind::kDate)  // the aggregate's argument gives a literal no type
      return make('A', "(", std::move(value), ")::" + std::string(type_name(kind)));
    return expressions_->comparable(kind, std::move(value));
  };
  Term filter = random_->chance(15) ? make('W', " FILTER (WHERE ", expressions_->condition(scope, 1), ")") : make('W');
  switch (random_->pick(9)) {
    case 0:
      return make('A', "count(*)", std::move(filter));
    case 1:
      return make('A', random_->one_of({"count(", "count(DISTINCT ", "min(", "max("}), of(Kind::kText), ")",
                  std::move(filter));
    case 2:
      return make('A', random_->one_of({"sum(", "avg(", "sum(DISTINCT ", "var_pop(", "stddev("}), of(Kind::kNumeric),
                  ")", std::move(filter));
    case 3:
      return make('A', random_->one_of({"sum(", "avg(", "bit_or(", "bit_and(", "max("}), of(Kind::kInteger), ")",
                  std::move(filter));
    case 4:
      return make('A', random_->one_of({"bool_and(", "bool_or(", "every("}), expressions_->condition(scope, 1), ")",
                  std::move(filter));
    case 5: {
      const Kind kind = random_->one_of({"d", "t", "z", "c", "e", "i"})[0] == 'i' ? Kind::kInteger : Kind::kDate;
      return make('A', random_->one_of({"min(", "max("}), of(kind), ")", std::move(filter));
    }
    case 6: {  // ordered by the value itself: ties look alike
      const std::string value = of(Kind::kText).sql();
      return make('A', "string_agg(" + value + ", ',' ORDER BY " + value + random_->one_of({"", " DESC"}) + ")");
    }
    case 7: {
      const std::string value = of(Kind::kInteger).sql();
      return make('A',
                  "array_agg(" + value + " ORDER BY " + value + random_->one_of({"", " DESC", " NULLS FIRST"}) + ")");
    }
    default:
      return make('A', random_->one_of({"percentile_disc(0.5)", "mode()"}) + " WITHIN GROUP (ORDER BY ",
                  of(Kind::kInteger), ")");
  }
}

Term QueryMaker::grouped() {
  From source = from("x", 2);
  const Kind kind = random_kind(random_);
  Term result = make('Q', "SELECT ", expressions_->comparable(kind, expressions_->value(kind, source.scope, 1, false)));
  const int aggregates = 1 + random_->pick(3);
  for (int i = 0; i < aggregates; i++) append(&result, make('A', ", ", aggregate(source.scope)));
  append(&result, std::move(source.term));
  if (random_->chance(50)) append(&result, make('W', " WHERE ", condition(source.scope, 1)));
  append(&result, random_->one_of({" GROUP BY 1", " GROUP BY 1", " GROUP BY ROLLUP (1)"}));
  if (random_->chance(20)) append(&result, make('W', " HAVING " + random_->one_of({"count(*) > 1", "count(*) < 3"})));
  return result;
}

Term QueryMaker::windowed() {
  From source = from("x", 2);
  const Kind part = random_->chance(50) ? Kind::kText : Kind::kInteger;
  const Kind key = random_->chance(50) ? Kind::kInteger : Kind::kDate;
  Term inner = make('Q', "SELECT ", expressions_->comparable(part, expressions_->value(part, source.scope, 1, false)),
                    " AS p, ", expressions_->value(key, source.scope, 2, false), " AS k", std::move(source.term));
  if (random_->chance(50)) append(&inner, make('W', " WHERE ", expressions_->condition(source.scope, 1)));
  Term result = make('Q', "SELECT q.p, q.k");
  const int calls = 1 + random_->pick(2);
  for (int i = 0; i < calls; i++) {
    const std::string over = random_->one_of({" OVER (PARTITION BY q.p ORDER BY q.k)", " OVER (ORDER BY q.k, q.p)",
                                              " OVER (PARTITION BY q.p)", " OVER (ORDER BY q.p DESC)"});
    append(&result, ", " +
                        random_->one_of({"rank()", "dense_rank()", "count(*)", "max(q.k)", "min(q.p)", "count(q.k)",
                                         "first_value(q.p)", "cume_dist()"}) +
                        over);
  }
  append(&result, std::string(" FROM ("));
  append(&result, std::move(inner));
  append(&result, ") q" + (calls == 1 && random_->chance(50) ? ordinals(3, random_) : std::string()));
  return result;
}

Term QueryMaker::of_kinds(const std::vector<Kind>& kinds, const std::string& alias) {
  From source = from(alias, 2);
  Term result = make('Q', "SELECT ");
  for (size_t i = 0; i < kinds.size(); i++) {
    if (i > 0) append(&result, std::string(", "));
    append(&result, expressions_->comparable(kinds[i], expressions_->value(kinds[i], source.scope, 1, false)));
  }
  append(&result, std::move(source.term));
  if (random_->chance(60)) append(&result, make('W', " WHERE ", condition(source.scope, 1)));
  return result;
}

Term QueryMaker::set_operation() {
  std::vector<Kind> kinds;
  for (int i = 1 + random_->pick(3); i > 0; i--) kinds.push_back(random_kind(random_));
  Term result = of_kinds(kinds, "x");
  for (int i = 1 + random_->pick(2); i > 0; i--) {
    const std::string op =
        random_->one_of({" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL "});
    result = make('Q', "(", std::move(result), ")" + op + "(", of_kinds(kinds, "x"), ")");
  }
  if (!random_->chance(50)) return result;
  append(&result, ordinals(static_cast<int>(kinds.size()), random_));
  append(&result, limit());
  return result;
}

Term QueryMaker::with() {
  const std::vector<Kind> kinds = {Kind::kInteger, random_kind(random_)};
  Term result = make('Z', "WITH w (a, b) AS " + random_->one_of({"", "MATERIALIZED ", "NOT MATERIALIZED "}) + "(",
                     of_kinds(kinds, "x"), ") ");
  Scope scope = {{"w.a", kinds[0]}, {"w.b", kinds[1]}};
  if (scope[1].kind == Kind::kNumeric || scope[1].kind == Kind::kInterval || scope[1].kind == Kind::kJsonb)
    scope.pop_back();  // numeric(30,6) or text there
  const Table& table = source();
  const Scope right = table.scope("y.");
  append(&result, "SELECT w.a, w.b, ");
  Scope both = scope;
  both.insert(both.end(), right.begin(), right.end());
  const Kind kind = random_kind(random_);
  append(&result, expressions_->value(kind, both, 2, false));
  append(&result, " FROM w" + random_->one_of({" JOIN ", " LEFT JOIN "}) + table.name + " y ON ");
  append(&result, join_condition(scope, right, false));
  if (random_->chance(50)) append(&result, make('W', " WHERE ", condition(both, 1)));
  return result;
}

}  // namespace scyper::generator
