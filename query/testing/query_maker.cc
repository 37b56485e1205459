#include "testing/query_maker.h"

namespace scyper::query {

std::string QueryMaker::one_of(std::initializer_list<const char*> items) {
  return *(items.begin() + pick(static_cast<int>(items.size())));
}

std::vector<std::string> QueryMaker::tables() {
  return {"CREATE TABLE r (a integer PRIMARY KEY, b integer, c numeric(6,2), d varchar(4), e boolean)",
          "CREATE INDEX r_b ON r (b)",
          "CREATE TABLE s (a integer, b bigint, c numeric(8,3), d char(4), e date, PRIMARY KEY (a, b))",
          "CREATE INDEX s_c ON s (c DESC)",
          "CREATE TABLE w (a integer, b smallint, c double precision, d text, e timestamp)",
          "CREATE VIEW x AS SELECT a, b, c, d FROM r WHERE b IS NOT NULL",
          "INSERT INTO r VALUES " + rows(12, "%k,%i,%n,%s,%b"),
          "INSERT INTO s VALUES " + rows(15, "%k,%j,%n,%s,%d"),
          "INSERT INTO w VALUES " + rows(10, "%i,%i,%f,%s,%t")};
}

std::string QueryMaker::cell(char kind, int row) {
  if (kind == 'k') return std::to_string(row);
  if (kind == 'j') return std::to_string(row % 3);
  if (chance(15)) return "NULL";
  switch (kind) {
    case 'i':
      return std::to_string(pick(8) - 2);
    case 'n':
      return std::to_string(pick(9) - 3) + one_of({"", ".5", ".25", ".10"});
    case 's':
      return one_of({"'a'", "'b'", "'ab'", "''", "'B'", "'abc'", "'a b'"});
    case 'b':
      return one_of({"true", "false"});
    case 'd':
      return "'2024-01-0" + std::to_string(1 + pick(9)) + "'";
    case 't':
      return "'2024-01-0" + std::to_string(1 + pick(9)) + one_of({"'", " 12:00'", " 23:59:59.5'"});
    default:
      return one_of({"0", "1.5", "-2.25", "100", "0.1"});
  }
}

std::string QueryMaker::rows(int count, const std::string& pattern) {
  std::string text;
  for (int row = 0; row < count; row++) {
    text += row > 0 ? ", (" : "(";
    for (char c : pattern) {
      if (c == ',')
        text += ',';
      else if (c != '%')
        text += cell(c, row);
    }
    text += ")";
  }
  return text;
}

Term QueryMaker::source() {
  static constexpr const char* kNames[] = {"r", "s", "w", "x"};
  static const std::vector<Column> kColumns[] = {{{"a", 'i'}, {"b", 'i'}, {"c", 'i'}, {"d", 's'}, {"e", 'b'}},
                                                 {{"a", 'i'}, {"b", 'i'}, {"c", 'i'}, {"d", 's'}, {"e", 'd'}},
                                                 {{"a", 'i'}, {"b", 'i'}, {"c", 'i'}, {"d", 's'}, {"e", 't'}},
                                                 {{"a", 'i'}, {"b", 'i'}, {"c", 'i'}, {"d", 's'}}};
  int table = pick(4);
  std::string alias = "t" + std::to_string(sources_.size());
  sources_.push_back({alias, &kColumns[table]});
  std::string name = kNames[table];
  if (chance(15)) return make('F', "(SELECT * FROM " + name + " WHERE a < " + std::to_string(pick(12)) + ") " + alias);
  return make('F', name + " " + alias);
}

Term QueryMaker::from() {
  Term result = make('F', " FROM ", source());
  for (int more = chance(55) ? 1 + (chance(25) ? 1 : 0) : 0; more > 0; more--) {
    if (chance(25)) {
      append(&result, make('W', ", ", source()));
      continue;
    }
    std::string join = one_of({" JOIN ", " LEFT JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "});
    Term right = source();
    Term on = join == " FULL JOIN " || chance(70) ? equality() : condition(1);
    append(&result, make('W', join, std::move(right), " ON ", std::move(on)));
  }
  return result;
}

Term QueryMaker::query() {
  sources_.clear();
  int kind = pick(100);
  if (kind < 28) return grouped_query();
  if (kind < 40) return window_query();
  return kind < 50 ? set_query() : plain_query();
}

Term QueryMaker::plain_query() {
  Term tables = from();
  Term where = chance(60) ? make('W', " WHERE ", condition(2)) : make('W', std::string());
  Term result = make('Q', std::string(chance(15) ? "SELECT DISTINCT " : "SELECT "), output(2));
  std::string order = " ORDER BY 1" + direction();
  for (int i = 1, columns = 1 + pick(3); i < columns; i++) {
    append(&result, make('A', ", ", output(2)));
    order += ", " + std::to_string(i + 1) + direction();
  }
  append(&result, std::move(tables));
  append(&result, std::move(where));
  append(&result, order);
  // a total order: ties show the same rows
  std::string limit = chance(40) ? " LIMIT " + std::to_string(pick(6)) : "";
  if (chance(20)) limit += " OFFSET " + std::to_string(pick(4));
  append(&result, make('W', limit));
  return result;
}

Term QueryMaker::aggregate() {
  // sums of doubles depend on the order of rows: numbers by casts
  Term arg = make('i', "(", number(1), ")::numeric(20,4)");
  switch (pick(11)) {
    case 0:
      return make('A', std::string("count(*)"));
    case 1:
      return make('A', "count(DISTINCT ", output(1), ")");
    case 2:
      return make('A', one_of({"sum(", "avg(", "var_pop(", "stddev(", "variance(", "stddev_pop("}), std::move(arg),
                  ")");
    case 3:
      return make('A', one_of({"min(", "max("}), chance(50) ? text(1) : std::move(arg), ")");
    case 4:
      return make('A', "sum(", std::move(arg), ") FILTER (WHERE ", condition(1), ")");
    case 5: {  // the order by the value itself: ties look alike; no parts to shrink, they would part
      std::string value = text(1).sql();
      return make('A', "string_agg(" + value + ", ',' ORDER BY " + value + one_of({"", " DESC"}) + ")");
    }
    case 6: {
      std::string value = arg.sql();
      if (chance(50)) return make('A', "array_agg(DISTINCT " + value + ")");
      return make('A', "array_agg(" + value + " ORDER BY " + value + one_of({"", " DESC", " NULLS FIRST"}) + ")");
    }
    case 7:
      return make('A', one_of({"bool_and(", "bool_or(", "every("}), condition(1), ")");
    case 8:
      return make('A', one_of({"percentile_disc(0.5)", "percentile_disc(0.1)", "mode()"}) + " WITHIN GROUP (ORDER BY ",
                  std::move(arg), ")");
    case 9:
      return make('A', one_of({"min(", "max("}), chance(50) ? date(1) : timestamp(1), ")");
    default:
      return make('A', "sum(DISTINCT ", std::move(arg), ")");
  }
}

Term QueryMaker::grouped_query() {
  Term tables = from();
  Term where = chance(60) ? make('W', " WHERE ", condition(2)) : make('W', std::string());
  Term key = output(1);
  Term result = make('Q', "SELECT ", key);
  std::string order = " ORDER BY 1" + direction();
  for (int i = 0, aggregates = 1 + pick(2); i < aggregates; i++) {
    append(&result, make('A', ", ", aggregate()));
    order += ", " + std::to_string(i + 2);
  }
  append(&result, std::move(tables));
  append(&result, std::move(where));
  append(&result, std::string(" GROUP BY 1"));
  if (chance(25)) append(&result, make('W', " HAVING count(*) > " + std::to_string(pick(3))));
  append(&result, order);
  if (chance(30)) append(&result, make('W', std::string(" LIMIT 3")));
  return result;
}

Term QueryMaker::select_query(int columns, const std::string& types) {
  sources_.clear();
  Term tables = make('F', " FROM ", source());
  Term where = chance(50) ? make('W', " WHERE ", condition(1)) : make('W', std::string());
  Term result = make('Q', std::string("SELECT "));
  for (int i = 0; i < columns; i++) {
    if (i > 0) append(&result, std::string(", "));
    if (types[static_cast<size_t>(i)] == 'i')
      append(&result, make('A', "(", number(1), ")::numeric(30,6)"));
    else
      append(&result, make('A', "(", text(1), ")::text"));
  }
  append(&result, std::move(tables));
  append(&result, std::move(where));
  return result;
}

Term QueryMaker::set_query() {
  int columns = 1 + pick(2);
  std::string types;
  for (int i = 0; i < columns; i++) types += chance(60) ? 'i' : 's';
  Term result = select_query(columns, types);
  for (int more = 1 + pick(2); more > 0; more--) {
    std::string op = one_of({" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL "});
    result = make('Q', "(", std::move(result), ")" + op + "(", select_query(columns, types), ")");
  }
  std::string order = " ORDER BY 1";
  for (int i = 1; i < columns; i++) order += ", " + std::to_string(i + 1);
  append(&result, order);
  return result;
}

Term QueryMaker::column(char type) {
  for (int attempt = 0; attempt < 20; attempt++) {
    const Source& source = sources_[static_cast<size_t>(pick(static_cast<int>(sources_.size())))];
    const Column& c = (*source.columns)[static_cast<size_t>(pick(static_cast<int>(source.columns->size())))];
    if (c.type == type) return make(type, source.alias + "." + c.name);
  }
  return make(type, std::string(simplest(type)));
}

Term QueryMaker::constant(char type) {
  switch (type) {
    case 'i':
      return make('i', one_of({"0", "1", "2", "-1", "3", "1.5", "2.50", "NULL::integer"}));
    case 's':
      return make('s', one_of({"'a'::text", "'ab'::text", "''::text", "NULL::text"}));
    case 'd':
      return make('d', one_of({"date '2024-01-05'", "NULL::date", "date '2024-02-29'"}));
    case 't':
      return make('t', one_of({"timestamp '2024-01-05'", "timestamp '2024-01-04 12:00'", "NULL::timestamp"}));
    default:
      return make('v',
                  one_of({"interval '1 day'", "interval '-2 hours'", "interval '1 month 3 days'", "NULL::interval"}));
  }
}

Term QueryMaker::number(int depth) {
  if (depth <= 0 || chance(40)) return chance(70) ? column('i') : constant('i');
  switch (pick(13)) {
    case 0:
      return make('i', "coalesce(", number(depth - 1), ", ", number(depth - 1), ")");
    case 1:
      return make('i', "CASE WHEN ", condition(depth - 1), " THEN ", number(depth - 1), " ELSE ", number(depth - 1),
                  " END");
    case 2:
      return make('i', one_of({"abs(", "sign(", "floor(", "ceil("}), number(depth - 1), ")");
    case 3:
      return make('i', one_of({"length(", "ascii(", "octet_length("}), text(depth - 1), ")");
    case 4:
      return make('i', one_of({"greatest(", "least("}), number(depth - 1), ", ", number(depth - 1), ")");
    case 5:
      return make('i', "(SELECT " + one_of({"max", "min", "count", "sum"}) + "(z.a) FROM r z WHERE z.b = ", column('i'),
                  ")");
    case 6:
      return make('i', one_of({"extract(day FROM ", "extract(dow FROM ", "extract(month FROM ", "extract(year FROM "}),
                  chance(50) ? date(depth - 1) : timestamp(depth - 1), ")");
    case 7:
      return make('i', "nullif(", number(depth - 1), ", ", number(depth - 1), ")");
    case 8:
      return make('i', "(", date(depth - 1), " - ", date(depth - 1), ")");
    case 9:
      return make('i', "extract(epoch FROM ", interval(depth - 1), ")");
    default:
      return make('i', "(", number(depth - 1), one_of({" + ", " - ", " * "}), number(depth - 1), ")");
  }
}

Term QueryMaker::text(int depth) {
  if (depth <= 0 || chance(45)) return chance(75) ? column('s') : constant('s');
  switch (pick(10)) {
    case 0:
      return make('s', one_of({"upper(", "lower(", "initcap(", "reverse(", "btrim(", "md5("}), text(depth - 1), ")");
    case 1:
      return make('s', "substr(", text(depth - 1), one_of({", 1, 2)", ", 2)", ", 0, 2)"}));
    case 2:
      return make('s', "coalesce(", text(depth - 1), "::text, 'z')");
    case 3:
      return make('s', "replace(", text(depth - 1), "::text, 'a', ", text(depth - 1), "::text)");
    case 4:
      return make('s', one_of({"left(", "right("}), text(depth - 1), one_of({", 1)", ", -1)"}));
    case 5:
      return make('s', "regexp_replace(", text(depth - 1), one_of({", 'a.', 'x')", ", '[ab]', '<\\&>', 'g')"}));
    case 6:
      return make('s', "concat(", text(depth - 1), ", ", number(0), ", ", date(0), ")");
    case 7:
      return make('s', "to_char(", timestamp(depth - 1), one_of({", 'YYYY-MM')", ", 'FMDay HH24:MI')", ", 'DDD')"}));
    case 8:
      return make('s', "lpad(", text(depth - 1), ", 3, 'xy')");
    default:
      return make('s', "(", text(depth - 1), " || ", text(depth - 1), ")");
  }
}

Term QueryMaker::date(int depth) {
  if (depth <= 0 || chance(60)) return chance(75) ? column('d') : constant('d');
  switch (pick(4)) {
    case 0:
      return make('d', "(", date(depth - 1), " + " + std::to_string(pick(40)) + ")");
    case 1:
      return make('d', "coalesce(", date(depth - 1), ", ", date(depth - 1), ")");
    case 2:
      return make('d', "(", timestamp(depth - 1), ")::date");
    default:
      return make('d', "greatest(", date(depth - 1), ", ", date(depth - 1), ")");
  }
}

Term QueryMaker::timestamp(int depth) {
  if (depth <= 0 || chance(60)) return chance(75) ? column('t') : constant('t');
  switch (pick(4)) {
    case 0:
      return make('t', "(", timestamp(depth - 1), one_of({" + ", " - "}), interval(depth - 1), ")");
    case 1:
      return make('t', "date_trunc('" + one_of({"day", "hour", "month", "week"}) + "', ", timestamp(depth - 1), ")");
    case 2:
      return make('t', "(", date(depth - 1), " + ", interval(depth - 1), ")");
    default:
      return make('t', "coalesce(", timestamp(depth - 1), ", ", timestamp(depth - 1), ")");
  }
}

Term QueryMaker::interval(int depth) {
  if (depth <= 0 || chance(50)) return constant('v');
  switch (pick(4)) {
    case 0:
      return make('v', "(", timestamp(depth - 1), " - ", timestamp(depth - 1), ")");
    case 1:
      return make('v', "age(", timestamp(depth - 1), ", ", timestamp(depth - 1), ")");
    case 2:
      return make('v', "(", interval(depth - 1), " * " + one_of({"2", "0.5", "-1"}) + ")");
    default:
      return make('v', "(", interval(depth - 1), one_of({" + ", " - "}), interval(depth - 1), ")");
  }
}

Term QueryMaker::value(char type, int depth) {
  switch (type) {
    case 's':
      return text(depth);
    case 'd':
      return date(depth);
    case 't':
      return timestamp(depth);
    case 'v':
      return interval(depth);
    default:
      return number(depth);
  }
}

Term QueryMaker::output(int depth) {
  switch (pick(9)) {
    case 0:
    case 1:
      return make('A', "(", text(depth), ")::text");  // char(n) of one length
    case 2:
      return make('A', "(", condition(depth - 1), ")");
    case 3:
      return make('A', date(depth));
    case 4:
      return make('A', timestamp(depth));
    case 5:
      return make('A', "justify_interval(", interval(depth), ")::text");
    default:
      return make('A', "(", number(depth), ")::numeric(30,6)");  // equal values look the same
  }
}

Term QueryMaker::equality() {
  if (sources_.size() < 2) return condition(1);
  const std::string& last = sources_.back().alias;
  const std::string& other = sources_[static_cast<size_t>(pick(static_cast<int>(sources_.size()) - 1))].alias;
  return make('b', other + "." + one_of({"a", "b"}) + " = " + last + "." + one_of({"a", "b", "c"}));
}

Term QueryMaker::subquery_condition(int depth) {
  std::string compare = one_of({" = ", " <> ", " < ", " <= ", " > ", " >= "});
  switch (pick(4)) {
    case 0:
      return make('b', one_of({"EXISTS (", "NOT EXISTS ("}) + "SELECT 1 FROM s z WHERE z.a" + compare, column('i'),
                  ")");
    case 1:
      return make('b', number(0), one_of({" IN (", " NOT IN ("}) + "SELECT z.b FROM r z WHERE z.a < ", number(0), ")");
    case 2:
      return make('b', number(depth - 1),
                  compare + "(SELECT " + one_of({"max", "min", "count", "avg"}) + "(z.c) FROM s z WHERE z.a = ",
                  column('i'), ")");
    default:
      return make('b', "EXISTS (SELECT 1 FROM w z WHERE z.d = ", column('s'), " AND z.b" + compare, column('i'), ")");
  }
}

Term QueryMaker::condition(int depth) {
  std::string compare = one_of({" = ", " <> ", " < ", " <= ", " > ", " >= "});
  if (depth > 0 && chance(45)) {
    switch (pick(4)) {
      case 0:
        return make('b', "NOT (", condition(depth - 1), ")");
      case 1:
        return make('b', "(", condition(depth - 1), " OR ", condition(depth - 1), ")");
      default:
        return make('b', "(", condition(depth - 1), " AND ", condition(depth - 1), ")");
    }
  }
  switch (pick(15)) {
    case 0:
      return make('b', number(1), " IS " + one_of({"NULL", "NOT NULL"}));
    case 1:
      return make('b', text(1), compare, text(1));
    case 2:
      return make('b', number(1), one_of({" IN (", " NOT IN ("}) + "1, 2, ", number(0), ")");
    case 3:
      return make('b', number(1), one_of({" BETWEEN ", " NOT BETWEEN ", " BETWEEN SYMMETRIC "}), number(0), " AND ",
                  number(0));
    case 4:
      return make('b', column('d'), compare + "'2024-01-05'");
    case 5:
      return make('b', text(0),
                  one_of({" LIKE ", " NOT LIKE ", " ILIKE ", " ~ ", " SIMILAR TO "}) +
                      one_of({"'a%'", "'_b'", "'%'", "'(a|b)%'"}));
    case 6:
    case 7:
      return subquery_condition(depth);
    case 8:
      return make('b', column('i'), compare + std::to_string(pick(9) - 2));
    case 9:
      return make('b', column('b'), one_of({" IS TRUE", " IS NOT TRUE", "", " IS UNKNOWN"}));
    case 10: {
      char type = one_of({"i", "s", "d", "t", "v"})[0];
      return make('b', value(type, 1), one_of({" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "}), value(type, 1));
    }
    case 11: {
      char type = one_of({"d", "t", "v"})[0];
      return make('b', value(type, 1), compare, value(type, 1));
    }
    case 12:
      return make('b', "(", number(0), ", ", text(0), ")" + compare + "(", number(0), ", ", text(0), ")");
    default:
      return make('b', number(1), compare, number(1));
  }
}

std::string QueryMaker::direction() { return one_of({"", " DESC", " NULLS FIRST", " DESC NULLS LAST"}); }

}  // namespace scyper::query
