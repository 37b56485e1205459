#include "generator/nested_changes.h"

#include "generator/statements.h"

namespace scyper::generator {

using query::append;
using query::make;

namespace {
constexpr const char* kTables[] = {"p", "q", "r", "e"};
Term statement(const std::string& sql) { return make(kStatement, sql); }
}  // namespace

std::string NestedChanges::cell(Kind kind) {
  if (random_->chance(18)) return "NULL";
  switch (kind) {
    case Kind::kInteger:
      return std::to_string(random_->pick(5));
    case Kind::kNumeric:
      return random_->one_of({"0.00", "1.50", "-2.25", "3.00", "10.10"});
    case Kind::kText:
      return random_->one_of({"'a'", "'b'", "'ab'", "''", "'B'"});
    default:
      return random_->one_of({"true", "false"});
  }
}

Term NestedChanges::rows(const std::string& table, int first, int count) {
  Term term = make(kStatement, "INSERT INTO " + table + " VALUES ");
  for (int i = 0; i < count; i++) {
    // keys of q are neither unique nor there
    const std::string key = table == "q" ? cell(Kind::kInteger) : std::to_string(first + i);
    append(&term, make(i == 0 ? 'A' : 'W', (i == 0 ? "(" : ", (") + key + ", " + cell(Kind::kInteger) + ", " +
                                               cell(Kind::kNumeric) + ", " + cell(Kind::kText) + ", " +
                                               cell(Kind::kBoolean) + ")"));
  }
  return term;
}

Script NestedChanges::schema(bool has_indexes) {
  const std::string others = ", x integer, n numeric(8,2), s text, b boolean)";
  Script script;
  script.push_back(statement("CREATE TABLE p (k integer" + std::string(has_indexes ? " PRIMARY KEY" : "") + others));
  script.push_back(statement("CREATE TABLE q (k integer" + others));
  script.push_back(statement("CREATE TABLE r (k integer" +
                             std::string(has_indexes ? random_->one_of({" UNIQUE", " NOT NULL", " PRIMARY KEY"}) : "") +
                             others));
  script.push_back(statement("CREATE TABLE e (k integer" + others));
  script.push_back(statement("CREATE SEQUENCE sq"));
  if (has_indexes && random_->chance(50))
    script.push_back(statement("CREATE INDEX ON q (" + random_->one_of({"x", "k", "s", "k, x", "x DESC"}) + ")"));
  if (has_indexes && random_->chance(30))
    script.push_back(statement("CREATE INDEX ON p (" + random_->one_of({"x", "s", "n"}) + ")"));
  script.push_back(statement(random_->one_of(
      {"CREATE VIEW v AS SELECT p.k, q.x, p.n, q.s, q.b FROM p LEFT JOIN q ON p.x = q.k",
       "CREATE VIEW v AS SELECT k, max(x) AS x, min(n) AS n, max(s) AS s, bool_or(b) AS b FROM q GROUP BY k",
       "CREATE VIEW v AS SELECT k + 1 AS k, x, n, s, b FROM r WHERE b IS NOT FALSE",
       "CREATE VIEW v AS SELECT * FROM q UNION ALL SELECT * FROM e"})));
  script.push_back(rows("p", 1, 4 + random_->pick(4)));
  script.push_back(rows("q", 1, 5 + random_->pick(5)));
  script.push_back(rows("r", 0, 3 + random_->pick(4)));
  if (random_->chance(30)) script.push_back(rows("e", 1, 1));
  if (shapes_->on(Shape::kStale) && random_->chance(30)) script.push_back(statement("ANALYZE"));
  return script;
}

Script NestedChanges::changes() {
  const int choice = random_->pick(12);
  if (choice == 0 && shapes_->on(Shape::kNumbers)) return numbers();
  if (choice == 1 && shapes_->on(Shape::kTableAs)) return table_as();
  if (choice == 2 && shapes_->on(Shape::kCascades)) return cascades();
  if (choice == 3 && shapes_->on(Shape::kStale)) return stale();
  if (choice == 4 && shapes_->on(Shape::kMerge)) return {merge()};
  if (!shapes_->on(Shape::kChanges)) return {};
  if (choice < 7) return {insert()};
  return {choice < 10 ? update() : remove()};
}

Script NestedChanges::contents() {
  Script script;
  for (const char* table : kTables) script.push_back(statement("SELECT * FROM " + std::string(table)));
  return script;
}

Term NestedChanges::where(const std::vector<std::string>& tables, int depth) {
  return make('W', " WHERE ", queries_->condition_over(tables, depth));
}

// Of values in one column, as the shrinking may leave all others out.
Term NestedChanges::returning(const std::string& table) {
  if (!random_->chance(50)) return make('W');
  if (!shapes_->on(Shape::kReturning)) return make('W', " RETURNING " + table + ".*");
  return make('W', " RETURNING " + table + ".k, ", queries_->value_over(Kind::kInteger, {table}, 2),
              make('W', ", ", queries_->value_over(Kind::kText, {table}, 2)));
}

Term NestedChanges::insert() {
  const std::string table = random_->one_of({"q", "e", "q"});
  Term term = make(kStatement,
                   "INSERT INTO " + table + " (k, x, n, s, b) SELECT (c0)::integer, (c1)::integer, c2, c3, c4 FROM (",
                   queries_->query_of({Kind::kInteger, Kind::kInteger, Kind::kNumeric, Kind::kText, Kind::kBoolean}, 2),
                   ") z ORDER BY 1, 2, 3, 4, 5 LIMIT 4");
  append(&term, returning(table));
  return term;
}

Term NestedChanges::update() {
  const std::string table = target();
  Term term = make(kStatement, "UPDATE " + table + " SET ");
  if (random_->chance(25)) {
    append(&term, "(x, s) = (SELECT (max(c0))::integer, max(c1) FROM (");
    append(&term, queries_->query_of({Kind::kInteger, Kind::kText}, 1));
    append(&term, std::string(") z)"));
  } else {
    append(&term, "x = (");
    append(&term, queries_->value_over(Kind::kInteger, {table}, 2));
    append(&term, std::string(")::integer"));
    if (random_->chance(40)) append(&term, make('W', ", s = ", queries_->value_over(Kind::kText, {table}, 2)));
  }
  append(&term, where({table}, 2));
  append(&term, returning(table));
  return term;
}

Term NestedChanges::remove() {
  const std::string table = target();
  Term term = make(kStatement, "DELETE FROM " + table);
  append(&term,
         make('A', " WHERE ", queries_->condition_over({table}, 2), make('W', " AND (" + table + ".k + 1) % 2 = 0")));
  append(&term, returning(table));
  return term;
}

// Each target meets one row at most: p's key is one.
Term NestedChanges::merge() {
  Term term =
      make(kStatement, "MERGE INTO p USING (SELECT (c0)::integer AS k, max(c1) AS s FROM (",
           queries_->query_of({Kind::kInteger, Kind::kText}, 2), ") z WHERE c0 IS NOT NULL GROUP BY 1) u ON p.k = u.k");
  append(&term, make('W', " WHEN MATCHED AND ", queries_->condition_over({"p"}, 2),
                     random_->one_of({" THEN DELETE", " THEN DO NOTHING"})));
  append(&term, make('W', " WHEN MATCHED THEN UPDATE SET x = (", queries_->value_over(Kind::kInteger, {"p"}, 2),
                     ")::integer, s = u.s"));
  append(&term,
         make('W', " WHEN NOT MATCHED THEN INSERT (k, s) VALUES (u.k, ",
              random_->one_of({"u.s", "(SELECT max(q.s) FROM q WHERE q.k = u.k)", "(SELECT count(*) FROM p)::text"}),
              ")"));
  return term;
}

// How many numbers a statement draws must not depend on the order of rows.
Script NestedChanges::numbers() {
  const std::string t = random_->one_of({"p", "q", "r"});
  std::string form = random_->one_of({
      "SELECT k, (SELECT nextval('sq')) FROM @",
      "SELECT count(*), min(c), max(c) FROM (SELECT nextval('sq') AS c FROM @) z",
      "SELECT count(*), count(DISTINCT c) FROM (SELECT nextval('sq') AS c, k FROM @) z WHERE k > 1",
      "WITH w AS (SELECT nextval('sq') AS c FROM @) SELECT count(DISTINCT w1.c), count(*) FROM w w1, w w2",
      "SELECT z.c, count(*) FROM @, (SELECT nextval('sq') AS c) z GROUP BY 1",
      "UPDATE @ SET x = (SELECT nextval('sq'))",
      "UPDATE @ SET x = nextval('sq') - nextval('sq')",
      "INSERT INTO e (k, x) SELECT 1, (SELECT nextval('sq')) FROM @ LIMIT 2",
      "SELECT k FROM @ WHERE k = (SELECT nextval('sq') % 4)",
      "SELECT count(*) FROM @ WHERE nextval('sq') > 0",
      "SELECT count(CASE WHEN b THEN nextval('sq') END) FROM @",
      "SELECT sum(z.c) FROM @ LEFT JOIN LATERAL (SELECT nextval('sq') AS c, @.k) z ON true",
      "SELECT count(DISTINCT z.c) FROM @ CROSS JOIN LATERAL (SELECT nextval('sq') + 0 * @.k AS c) z",
      "SELECT count(DISTINCT z.c) FROM @ CROSS JOIN LATERAL (SELECT nextval('sq') AS c) z",
      "SELECT DISTINCT nextval('sq') > 0 FROM @",
      "SELECT k, count(*) FROM @ GROUP BY k HAVING nextval('sq') > 0",
      "SELECT EXISTS (SELECT nextval('sq') FROM @)",
      "SELECT (SELECT max(z.c) FROM (SELECT nextval('sq') AS c FROM @ LIMIT 2) z)",
      "INSERT INTO e (k) SELECT k FROM @ RETURNING nextval('sq') IS NULL, (SELECT count(*) FROM e)",
      "SELECT nextval('sq') - nextval('sq') FROM @",
      "SELECT min(c) FROM (SELECT nextval('sq') AS c UNION ALL SELECT nextval('sq') UNION ALL SELECT k FROM @) z",
      "SELECT count(*) FROM (SELECT k, nextval('sq') AS c FROM @ ORDER BY k OFFSET 1) z WHERE c IS NOT NULL",
      "SELECT z.k FROM (SELECT k, nextval('sq') AS c FROM @) z",
      "SELECT count(*) FROM (SELECT DISTINCT nextval('sq') FROM @) z",
  });
  const bool is_lateral = form.find("LATERAL") != std::string::npos;
  if (is_lateral && !shapes_->on(Shape::kLateralNumbers)) form = "SELECT count(*) FROM @ WHERE nextval('sq') > 0";
  std::string sql;
  for (char c : form) sql += c == '@' ? t : std::string(1, c);
  return {statement(sql), statement("SELECT nextval('sq')")};
}

Script NestedChanges::table_as() {
  const std::string table = "m" + std::to_string(++names_);
  const std::vector<Kind> kinds = {Kind::kInteger, Kind::kNumeric, Kind::kText};
  Script script;
  Term make_it =
      make(kStatement,
           "CREATE TABLE " + table +
               " AS SELECT c0, c0 % 2 AS odd, c1 * 1.5 AS amount, avg(c1) OVER () AS mean, c2, c2 || 'x' AS more, ");
  append(&make_it, random_->one_of({"1.5 AS one", "'t'::varchar(3) AS one", "count(*) OVER () AS one", "NULL AS one",
                                    "c1::numeric(10,1) AS one"}));
  append(&make_it, std::string(" FROM ("));
  append(&make_it, queries_->query_of(kinds, 2));
  append(&make_it, std::string(") z"));
  if (random_->chance(20)) append(&make_it, std::string(" WITH NO DATA"));
  script.push_back(std::move(make_it));
  script.push_back(statement(
      "INSERT INTO " + table + " (c0, amount, mean, c2, more) VALUES (" +
      (random_->chance(40) ? "(SELECT max(c0) + 1 FROM " + table + ")" : random_->one_of({"5", "NULL"})) + ", " +
      random_->one_of({"2.12345", "123456789012.5", "-0.001"}) + ", 1.0625, 'long text beyond', 'y')"));
  script.push_back(statement("UPDATE " + table + " SET amount = amount / 7, c2 = repeat(c2, 3)" +
                             random_->one_of({"", " RETURNING c0, amount"})));
  script.push_back(statement("SELECT * FROM " + table));
  script.push_back(statement("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '" +
                             table + "'::regclass AND attnum > 0"));
  return script;
}

// Triggers of statements only: those of rows tell in the order of rows.
Script NestedChanges::cascades() {
  const std::string n = std::to_string(++names_);
  const std::string a = "ca" + n, b = "cb" + n, c = "cc" + n, f = "cf" + n;
  Script script;
  const std::string action = random_->one_of({"CASCADE", "CASCADE", "SET NULL"});
  script.push_back(statement("CREATE TABLE " + a + " (id integer PRIMARY KEY, u integer)"));
  script.push_back(statement("CREATE TABLE " + b + " (id integer PRIMARY KEY, a integer REFERENCES " + a +
                             " ON DELETE " + action + " ON UPDATE CASCADE)"));
  script.push_back(statement("CREATE TABLE " + c + " (b integer REFERENCES " + b + " ON DELETE " +
                             random_->one_of({"CASCADE", "SET NULL"}) + ")"));
  script.push_back(statement("CREATE FUNCTION " + f +
                             "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % % %', TG_TABLE_NAME, "
                             "TG_WHEN, TG_OP, (SELECT count(*) FROM old_rows); RETURN NULL; END $$"));
  for (const std::string& table : {a, b, c}) {
    for (const char* event : {"DELETE", "UPDATE"})
      if (random_->chance(60))
        script.push_back(statement("CREATE TRIGGER t" + std::string(event) + " AFTER " + event + " ON " + table +
                                   " REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION " + f +
                                   "()"));
  }
  script.push_back(statement("INSERT INTO " + a + " SELECT g, g % 2 FROM generate_series(1, 4) g"));
  script.push_back(statement("INSERT INTO " + b + " SELECT g, 1 + g % 4 FROM generate_series(1, 9) g"));
  script.push_back(statement("INSERT INTO " + c + " SELECT 1 + g % 9 FROM generate_series(1, 20) g"));
  script.push_back(statement(
      random_->one_of({"DELETE FROM @a WHERE id < 3", "UPDATE @a SET id = id + 10", "DELETE FROM @a",
                       "DELETE FROM @a WHERE id IN (SELECT a FROM @b WHERE id % 3 = 0)", "DELETE FROM @a WHERE false",
                       "DELETE FROM @b WHERE a = (SELECT min(id) FROM @a) RETURNING (SELECT count(*) FROM @c)"})));
  Term& change = script.back();
  std::string sql;
  const std::string form = change.sql();
  for (size_t i = 0; i < form.size(); i++) {
    if (form[i] != '@') {
      sql += form[i];
      continue;
    }
    i++;
    sql += form[i] == 'a' ? a : form[i] == 'b' ? b : c;
  }
  change = statement(sql);
  for (const std::string& table : {a, b, c}) script.push_back(statement("SELECT * FROM " + table));
  return script;
}

// Statistics of rows that are no longer there.
Script NestedChanges::stale() {
  const std::string table = random_->one_of({"q", "e"});
  Script script = {statement("ANALYZE " + table)};
  switch (random_->pick(4)) {
    case 0:
      script.push_back(statement("DELETE FROM " + table));
      script.push_back(rows(table, 1, 3));
      break;
    case 1:
      script.push_back(statement("INSERT INTO " + table +
                                 " SELECT g, g % 3, g, 's' || g % 4, g % 2 = 0 FROM generate_series(30, 60) g"));
      script.push_back(statement("ANALYZE"));
      script.push_back(statement("DELETE FROM " + table + " WHERE k > 33"));
      break;
    case 2:
      script.push_back(statement("UPDATE " + table + " SET x = NULL"));
      break;
    default:
      script.push_back(statement("TRUNCATE " + table));
      script.push_back(statement("ANALYZE " + table));
      script.push_back(rows(table, 2, 4));
  }
  return script;
}

}  // namespace scyper::generator
