#include "testing/query_maker.h"

// Random window calls. Rows that tie in partition and order are equal in all that is shown, so that every order among
// them gives the same answer; one call at most depends on the order among them.
namespace scyper::query {

std::string QueryMaker::frame(char key, bool one_key, bool by_position) {
  std::string mode = by_position && chance(50) ? "ROWS" : one_key && chance(60) ? "RANGE" : "GROUPS";
  auto offset = [&]() -> std::string {
    if (mode != "RANGE") return std::to_string(pick(4));
    if (key == 'i') return one_of({"0", "1", "2.5", "10"});
    return one_of({"interval '0'", "interval '1 day'", "interval '1 month'", "interval '30 hours'"});
  };
  std::string start = one_of({"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING"});
  std::string end = start == "FOLLOWING"   ? one_of({"FOLLOWING", "UNBOUNDED FOLLOWING"})
                    : start == "PRECEDING" ? one_of({"PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"})
                                           : one_of({"CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"});
  for (std::string* bound : {&start, &end})
    if (*bound == "PRECEDING" || *bound == "FOLLOWING") *bound = offset() + " " + *bound;
  // of frames without the current row, PostgreSQL's value functions take EXCLUDE TIES to keep it (docs/sql.md)
  const bool has_current = !start.ends_with(" FOLLOWING") && !end.ends_with(" PRECEDING");
  return " " + mode + " BETWEEN " + start + " AND " + end +
         one_of({"", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", has_current ? " EXCLUDE TIES" : ""});
}

std::string QueryMaker::window_call(char key, bool by_position) {
  bool parted = chance(65);
  std::string over = std::string(" OVER (") + (parted ? "PARTITION BY x.p " : "") + "ORDER BY x.k" + direction() +
                     (parted ? "" : ", x.p");
  std::string filter = chance(15) ? " FILTER (WHERE x.p < 'b')" : "";
  switch (pick(by_position ? 7 : 5)) {
    case 0:
      return one_of({"rank()", "dense_rank()", "percent_rank()", "cume_dist()"}) + over + ")";
    case 1:
      return one_of({"first_value(x.k)", "last_value(x.k)", "first_value(x.p)", "nth_value(x.k, 2)"}) + over +
             frame(key, parted, by_position) + ")";
    case 2:
      return one_of({"string_agg(x.p, '-')", "array_agg(x.k)", "bool_or(x.p > 'a')", "max(x.p)"}) + filter + over +
             frame(key, parted, by_position) + ")";
    case 3:
      return one_of({"count(*)", "count(x.p)", "min(x.k)", "max(x.k)"}) + filter + over + ")";
    case 5:
      return one_of({"row_number()", "ntile(3)", "ntile(2)"}) + over + ")";
    case 6:
      return one_of({"lag(x.k)", "lead(x.k)", "lag(x.k, 2, x.k)", "lead(x.p, 3, 'z')", "lag(x.p, -1)"}) + over + ")";
    default: {
      std::string numbers = one_of({"sum(x.k)", "avg(x.k)", "min(x.k)", "stddev(x.k)", "count(x.k)", "var_pop(x.k)",
                                    "sum(x.k::numeric)", "sum(round(x.k, 0)::integer % 100)"});
      std::string others = one_of({"min(x.k)", "max(x.k)", "count(x.k)", "count(*)"});
      return (key == 'i' ? numbers : others) + filter + over + frame(key, parted, by_position) + ")";
    }
  }
}

Term QueryMaker::window_query() {
  Term tables = from();
  Term where = chance(50) ? make('W', " WHERE ", condition(2)) : make('W', std::string());
  char key = one_of({"i", "i", "d", "t"})[0];
  Term inner = make('Q', "SELECT (", text(1), ")::text AS p, ");
  if (key == 'i')
    append(&inner, make('A', "(", number(1), ")::numeric(20,4)"));
  else
    append(&inner, make('A', value(key, 1)));
  append(&inner, std::string(" AS k"));
  append(&inner, std::move(tables));
  append(&inner, std::move(where));
  Term result = make('Z', std::string("SELECT x.p, x.k"));
  std::string order = " ORDER BY 1, 2";
  for (int i = 0, calls = 1 + pick(3); i < calls; i++) {
    append(&result, ", " + window_call(key, i == 0));
    order += ", " + std::to_string(i + 3);
  }
  append(&result, std::string(" FROM ("));
  append(&result, std::move(inner));
  append(&result, ") x" + order);
  return result;
}

}  // namespace scyper::query
