#include "parse/sql_parser.h"

#include <gtest/gtest.h>

#include "base/object_name.h"
#include "parse/printer.h"
#include "parse/text.h"

namespace scyper::query {
namespace {

std::string print_sql(std::string_view text) {
  const auto parsed = parse_sql(text);
  if (!parsed.ok()) return "ERROR " + parsed.status().ToString();
  std::string out;
  for (const auto& statement : *parsed) out += (out.empty() ? "" : "; ") + to_sql(*statement);
  return out;
}

std::string print_expression(std::string_view text) {
  const auto parsed = parse_expression(text);
  return parsed.ok() ? to_sql(**parsed) : "ERROR " + parsed.status().ToString();
}

struct Pair {
  std::string_view in;
  std::string_view out;
};

// Each prints as expected, and the print parses to the same print.
TEST(SqlParser, Expressions) {
  const Pair kPairs[] = {
      {"null", "NULL"},
      {"true and not false", "(TRUE AND (NOT FALSE))"},
      {"-1", "(-1)"},
      {"2147483648", "2147483648"},
      {"9223372036854775808", "9223372036854775808"},
      {"-9223372036854775808", "(-9223372036854775808)"},
      {"1.50 + .5e3", "(1.50 + .5e3)"},
      {"'it''s' || E'a\\nb'", "('it''s' || 'a\nb')"},
      {"$2", "$2"},
      {"a.b.c + \"X y\"", "(a.b.c + \"X y\")"},
      {"p[i + 1]", "(p)[(i + 1)]"},
      {"p[1][2:3][:]", "(p)[1][2:3][:]"},
      {"(r).f", "(r).f"},
      {"(f(x)).a[1].*", "(((f(x)).a)[1]).*"},
      {"array[1, null, 3]", "ARRAY[1, NULL, 3]"},
      {"array[[1],[2]]", "ARRAY[ARRAY[1], ARRAY[2]]"},
      {"array(select 1)", "ARRAY(SELECT 1)"},
      {"row(1)", "ROW(1)"},
      {"(1, 2) = (3, 4)", "((1, 2) = (3, 4))"},
      {"count(*)", "count(*)"},
      {"s.f(a => 1, b := 2)", "s.f(a => 1, b => 2)"},
      {"f(1, b => 2)", "f(1, b => 2)"},
      {"f(variadic a)", "f(VARIADIC a)"},
      {"sum(distinct x order by y desc nulls last) filter (where z)",
       "sum(DISTINCT x ORDER BY y DESC NULLS LAST) FILTER (WHERE z)"},
      {"percentile_cont(0.5) within group (order by x)", "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)"},
      {"rank() over w", "rank() OVER w"},
      {"rank() over (partition by a order by b rows between 1 preceding and current row exclude ties)",
       "rank() OVER ( PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES)"},
      {"sum(x) over (w range unbounded preceding)",
       "sum(x) OVER (w RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"},
      {"- a * b ^ 2 % 3", "((( - a) * (b ^ 2)) % 3)"},
      {"a operator(pg_catalog.+) b", "(a OPERATOR(pg_catalog.+) b)"},
      {"a != b", "(a <> b)"},
      {"a and b and c or d", "((a AND b AND c) OR d)"},
      {"a is null and b is not null", "((a IS NULL) AND (b IS NOT NULL))"},
      {"a isnull", "(a IS NULL)"},
      {"a is not true and b is unknown", "((a IS NOT TRUE) AND (b IS UNKNOWN))"},
      {"a is distinct from b", "(a IS DISTINCT FROM b)"},
      {"a is not distinct from b", "(a IS NOT DISTINCT FROM b)"},
      {"a between 1 and 2", "(a BETWEEN 1 AND 2)"},
      {"a not between symmetric 1 and 2", "(a NOT BETWEEN SYMMETRIC 1 AND 2)"},
      {"a in (1, 2)", "(a IN (1, 2))"},
      {"a not in (1)", "(a NOT IN (1))"},
      {"a in (select 1)", "(a IN (SELECT 1))"},
      {"(a, b) not in (select 1, 2)", "((a, b) NOT IN (SELECT 1, 2))"},
      {"not a in (select 1)", "(a NOT IN (SELECT 1))"},
      {"a = any (b)", "(a = ANY (b))"},
      {"a < all (select 1)", "(a < ALL (SELECT 1))"},
      {"a = some (select 1)", "(a = ANY (SELECT 1))"},
      {"not exists (select 1)", "(NOT EXISTS (SELECT 1))"},
      {"(select 1) + 1", "((SELECT 1) + 1)"},
      {"a like 'x%'", "(a LIKE 'x%')"},
      {"a not ilike b escape '!'", "(a NOT ILIKE b ESCAPE '!')"},
      {"a similar to b", "(a SIMILAR TO b)"},
      {"a not similar to b escape '\\'", "(a NOT SIMILAR TO b ESCAPE '\\')"},
      {"case a when 1 then 2 else 3 end", "CASE a WHEN 1 THEN 2 ELSE 3 END"},
      {"case when a then b end", "CASE WHEN a THEN b END"},
      {"coalesce(a, b) + nullif(a, 0)", "(COALESCE(a, b) + NULLIF(a, 0))"},
      {"greatest(a, b) - least(a, b)", "(GREATEST(a, b) - LEAST(a, b))"},
      {"a::numeric(12,2)", "CAST(a AS pg_catalog.\"numeric\"(12, 2))"},
      {"cast(a as integer[])", "CAST(a AS pg_catalog.int4[])"},
      {"timestamp '2007-01-02'", "CAST('2007-01-02' AS pg_catalog.\"timestamp\")"},
      {"a::char", "CAST(a AS pg_catalog.bpchar(1))"},
      {"'t'::bool", "CAST('t' AS bool)"},
      {"a collate \"C\"", "(a COLLATE \"C\")"},
      {"current_date", "CURRENT_DATE"},
      {"current_timestamp(3)", "CURRENT_TIMESTAMP(3)"},
      {"localtimestamp", "LOCALTIMESTAMP"},
      {"extract(year from d)", "pg_catalog.\"extract\"('year', d)"},
      {"position('a' in b)", "pg_catalog.\"position\"(b, 'a')"},
      {"substring(a from 2 for 3)", "pg_catalog.\"substring\"(a, 2, 3)"},
      {"trim(both from a)", "pg_catalog.btrim(a)"},
      {"a at time zone 'utc'", "pg_catalog.timezone('utc', a)"},
      {"b'01'", "b'01'"},
  };
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(print_expression(pair.in), pair.out) << pair.in;
    EXPECT_EQ(print_expression(pair.out), pair.out) << pair.in;
  }
}

TEST(SqlParser, Queries) {
  const Pair kPairs[] = {
      {"", ""},
      {" ; ;", ""},
      {"select", "SELECT "},
      {"select distinct a, b as c from t", "SELECT DISTINCT a, b AS c FROM t"},
      {"select distinct on (a) * from t", "SELECT DISTINCT ON (a) * FROM t"},
      {"select t.* from s.t as t (a, b)", "SELECT t.* FROM s.t AS t (a, b)"},
      {"select 1 from only t", "SELECT 1 FROM ONLY t"},
      {"select 1 from a, b cross join c", "SELECT 1 FROM a, (b CROSS JOIN c)"},
      {"select 1 from a left join b on a.x = b.x join c using (y) natural full join d",
       "SELECT 1 FROM (((a LEFT JOIN b ON (a.x = b.x)) JOIN c USING (y)) NATURAL FULL JOIN d)"},
      {"select 1 from (a right join b using (x) as u) as j", "SELECT 1 FROM (a RIGHT JOIN b USING (x) AS u) AS j"},
      {"select 1 from (select 2) x (y), lateral (select x.y) z",
       "SELECT 1 FROM (SELECT 2) AS x (y), LATERAL (SELECT x.y) AS z"},
      {"select 1 from f(1) with ordinality as g (a, b)", "SELECT 1 FROM f(1) WITH ORDINALITY AS g (a, b)"},
      {"select 1 from f() as r (a integer, b text)", "SELECT 1 FROM f() AS r (a pg_catalog.int4, b text)"},
      {"select 1 from rows from (f(1), g(2)) x", "SELECT 1 FROM ROWS FROM (f(1), g(2)) AS x"},
      {"select a from t where b group by a, (b, c) having count(*) > 1",
       "SELECT a FROM t WHERE b GROUP BY a, (b, c) HAVING (count(*) > 1)"},
      {"select 1 from t group by rollup (a, b), cube ((a, b), c), grouping sets ((), (a), (b, c))",
       "SELECT 1 FROM t GROUP BY ROLLUP (a, b), CUBE ((a, b), c), GROUPING SETS ((), a, (b, c))"},
      {"select grouping(a) from t group by distinct a", "SELECT GROUPING(a) FROM t GROUP BY DISTINCT a"},
      {"select 1 from t window w as (order by a), v as (w)", "SELECT 1 FROM t WINDOW w AS ( ORDER BY a), v AS (w)"},
      {"select a from t order by 1, b desc nulls last, c using < limit 5 offset 6",
       "SELECT a FROM t ORDER BY 1, b DESC NULLS LAST, c USING < OFFSET 6 LIMIT 5"},
      {"select a from t offset 1 fetch next 3 rows only", "SELECT a FROM t OFFSET 1 LIMIT 3"},
      {"select a from t order by a fetch first (2) rows with ties",
       "SELECT a FROM t ORDER BY a FETCH FIRST (2) ROWS WITH TIES"},
      {"select a from t limit all", "SELECT a FROM t"},
      {"select 1 union all select 2 except select 3 order by 1",
       "((SELECT 1) UNION ALL (SELECT 2)) EXCEPT (SELECT 3) ORDER BY 1"},
      {"select 1 intersect (select 2 limit 1)", "(SELECT 1) INTERSECT (SELECT 2 LIMIT 1)"},
      {"values (1, 'a'), (2, default)", "VALUES (1, 'a'), (2, DEFAULT)"},
      {"table t", "SELECT * FROM t"},
      {"with recursive x (n) as (select 1 union select n + 1 from x), y as materialized (select 2) select * from x, y",
       "WITH RECURSIVE x (n) AS ((SELECT 1) UNION (SELECT (n + 1) FROM x)), y AS MATERIALIZED (SELECT 2) SELECT * FROM "
       "x, "
       "y"},
      {"select 1 from t for update of t nowait", "SELECT 1 FROM t FOR UPDATE OF t NOWAIT"},
      {"select 1 into t2 from t", "SELECT 1 INTO t2 FROM t"},
  };
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(print_sql(pair.in), pair.out) << pair.in;
    EXPECT_EQ(print_sql(pair.out), pair.out) << pair.in;
  }
}

TEST(SqlParser, Changes) {
  const Pair kPairs[] = {
      {"insert into t values (1), (default)", "INSERT INTO t VALUES (1), (DEFAULT)"},
      {"insert into s.t as x (a, b[1]) overriding system value select 1, 2 returning *, a as z",
       "INSERT INTO s.t AS x (a, b[1]) OVERRIDING SYSTEM VALUE SELECT 1, 2 RETURNING *, a AS z"},
      {"insert into t default values", "INSERT INTO t DEFAULT VALUES"},
      {"insert into t values (1) on conflict do nothing", "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING"},
      {"insert into t values (1) on conflict (a, (b + 1)) where c do update set a = excluded.a, (b, c) = (1, 2) where "
       "d",
       "INSERT INTO t VALUES (1) ON CONFLICT (a, ((b + 1))) WHERE c DO UPDATE SET a = excluded.a, (b, c) = (1, 2) "
       "WHERE d"},
      {"insert into t values (1) on conflict on constraint k do nothing",
       "INSERT INTO t VALUES (1) ON CONFLICT ON CONSTRAINT k DO NOTHING"},
      {"with x as (select 1) insert into t select * from x", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x"},
      {"update t set a = a + 1, b[2] = default, (c, d) = (select 1, 2) from u where t.a = u.a returning a",
       "UPDATE t SET a = (a + 1), b[2] = DEFAULT, (c, d) = (SELECT 1, 2) FROM u WHERE (t.a = u.a) RETURNING a"},
      {"delete from t as x using u, v where x.a = u.a returning x.*",
       "DELETE FROM t AS x USING u, v WHERE (x.a = u.a) RETURNING x.*"},
      {"delete from t where current of c", "DELETE FROM t WHERE CURRENT OF c"},
      {"merge into t using s on t.a = s.a when matched and s.b then update set b = 1 when matched then delete "
       "when not matched then insert (a) values (s.a) when not matched then do nothing",
       "MERGE INTO t USING s ON (t.a = s.a) WHEN MATCHED AND s.b THEN UPDATE SET b = 1 WHEN MATCHED THEN DELETE WHEN "
       "NOT "
       "MATCHED THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED THEN DO NOTHING"},
      {"call p(1, b => $1)", "CALL p(1, b => $1)"},
  };
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(print_sql(pair.in), pair.out) << pair.in;
    EXPECT_EQ(print_sql(pair.out), pair.out) << pair.in;
  }
}

TEST(SqlParser, Tables) {
  const Pair kPairs[] = {
      {"create table if not exists s.t (a integer not null default 1, b varchar(10) collate \"C\" unique, "
       "c numeric(12,2) check (c > 0), primary key (a, b), constraint k unique (c) include (b)) "
       "partition by hash (a) with (layout = column, fillfactor = 70)",
       "CREATE TABLE IF NOT EXISTS s.t (a pg_catalog.int4 NOT NULL DEFAULT 1, b pg_catalog.\"varchar\"(10) COLLATE "
       "\"C\" "
       "UNIQUE, c pg_catalog.\"numeric\"(12, 2) CHECK ((c > 0)), PRIMARY KEY (a, b), CONSTRAINT k UNIQUE (c) INCLUDE "
       "(b)) "
       "PARTITION BY HASH (a) WITH (layout = 'column', fillfactor = '70')"},
      {"create temp table t (a int references u (x) on delete cascade deferrable initially deferred, "
       "foreign key (a) references v match full on update set null)",
       "CREATE TEMPORARY TABLE pg_temp_0.t (a pg_catalog.int4 REFERENCES u (x) ON UPDATE NO ACTION ON DELETE CASCADE "
       "DEFERRABLE "
       "INITIALLY DEFERRED, FOREIGN KEY (a) REFERENCES v MATCH FULL ON UPDATE SET NULL ON DELETE NO ACTION)"},
      {"create table t (a int generated always as identity, b int generated always as (a * 2) stored)",
       "CREATE TABLE t (a pg_catalog.int4 GENERATED ALWAYS AS IDENTITY, b pg_catalog.int4 GENERATED ALWAYS AS ((a * "
       "2)) "
       "STORED)"},
      {"create table t (a int) partition by range (a, (b + 1))",
       "CREATE TABLE t (a pg_catalog.int4) PARTITION BY RANGE (a, ((b + 1)))"},
      {"create unique index concurrently if not exists i on t using hash (a desc nulls first, lower(b)) include (c) "
       "with (x = 1) where a > 0",
       "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON t USING hash (a DESC NULLS FIRST, (lower(b))) INCLUDE (c) "
       "WITH "
       "(x = '1') WHERE (a > 0)"},
      {"create index on t (a)", "CREATE INDEX  ON t USING btree (a)"},
      {"create or replace view v (a) as select 1", "CREATE OR REPLACE VIEW v (a) AS SELECT 1"},
      {"listen u; vacuum; vacuum analyze t", "<LISTEN>; <VACUUM>; <VACUUM>"},
  };
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(print_sql(pair.in), pair.out) << pair.in;
    if (pair.out[0] != '<') EXPECT_EQ(print_sql(pair.out), pair.out) << pair.in;
  }
}

// `row` is no option value in PostgreSQL's grammar; we take it, and only there.
TEST(SqlParser, RowLayout) {
  const std::string_view kText =
      "create table a (x int) with (layout = row); create table b (x int) with (y = 1, layout=ROW)";
  const auto parsed = parse_sql(kText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ast::node_as<ast::CreateTableStatement>(*(*parsed)[0]).options[0].value, "row");
  EXPECT_EQ(ast::node_as<ast::CreateTableStatement>(*(*parsed)[1]).options[1].value, "row");
  EXPECT_EQ((*parsed)[1]->location, 44);
  const auto wrong = parse_sql("create table a (x int) with (fill = row)");
  EXPECT_EQ(sqlstate_of(wrong.status()), "42601");
  EXPECT_EQ(position_of(wrong.status()), 37);
  const auto later = parse_sql("create table a (x int) with (layout = row) foo");
  EXPECT_EQ(std::string(later.status().message()), "syntax error at or near \"foo\"");
  EXPECT_EQ(position_of(later.status()), 44);
}

TEST(SqlParser, Routine) {
  const std::string_view kText =
      "/* ä */ create or replace procedure s.p(in a integer, inout b varchar default null, out c numeric(5,2)[]) "
      "language PLpgSQL as $x$BEGIN END$x$;\n"
      "create function f(int, variadic x text[]) returns setof record language sql immutable strict security definer "
      "cost 5 as 'select ''a''';"
      "create function g() returns table (y int, z text) stable as 'x' language sql;"
      "create function h(a int) returns int return a + 1; do 'begin end'";
  const auto parsed = parse_sql(kText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 5u);
  const auto& p = ast::node_as<ast::CreateRoutineStatement>(*(*parsed)[0]);
  EXPECT_EQ(kText.substr(static_cast<size_t>(p.location), 6), "create");
  EXPECT_TRUE(p.procedure && p.or_replace && p.has_body);
  EXPECT_EQ(p.name, (ast::Name{object_key("s", "p")}));
  EXPECT_EQ(p.language, "plpgsql");
  EXPECT_EQ(p.body, "BEGIN END");
  EXPECT_EQ(kText.substr(static_cast<size_t>(p.body_location), p.body.size()), p.body);
  ASSERT_EQ(p.parameters.size(), 3u);
  EXPECT_EQ(p.parameters[1].mode, ast::ParameterMode::kInOut);
  EXPECT_EQ(to_sql(*p.parameters[1].default_value), "NULL");
  EXPECT_EQ(p.parameters[2].mode, ast::ParameterMode::kOut);
  EXPECT_EQ(to_sql(p.parameters[2].type), "pg_catalog.\"numeric\"(5, 2)[]");
  const auto& f = ast::node_as<ast::CreateRoutineStatement>(*(*parsed)[1]);
  EXPECT_FALSE(f.procedure);
  EXPECT_TRUE(f.return_type->setof);
  EXPECT_EQ(f.volatility, ast::Volatility::kImmutable);
  EXPECT_TRUE(f.strict && f.security_definer);
  EXPECT_EQ(f.body, "select 'a'");
  EXPECT_EQ(f.body_location, -1);  // the quotes inside are doubled
  EXPECT_EQ(f.parameters[1].mode, ast::ParameterMode::kVariadic);
  const auto& g = ast::node_as<ast::CreateRoutineStatement>(*(*parsed)[2]);
  EXPECT_TRUE(g.returns_table);
  EXPECT_EQ(g.return_type, nullptr);
  EXPECT_EQ(g.parameters[1].mode, ast::ParameterMode::kTable);
  EXPECT_EQ(kText.substr(static_cast<size_t>(g.body_location), 1), "x");
  const auto& h = ast::node_as<ast::CreateRoutineStatement>(*(*parsed)[3]);
  EXPECT_FALSE(h.has_body);
  EXPECT_EQ(to_sql(*h.sql_body[0]), "SELECT (a + 1)");
  const auto& body = ast::node_as<ast::DoStatement>(*(*parsed)[4]);
  EXPECT_EQ(kText.substr(static_cast<size_t>(body.body_location), body.body.size()), "begin end");
}

TEST(SqlParser, Commands) {
  const auto parsed = parse_sql(
      "drop table if exists a, s.b cascade; drop procedure p(int, out text), q; drop type t;"
      "explain (compiled, analyze false, format json) select 1; explain analyze verbose select 1;"
      "begin isolation level serializable read only; rollback to savepoint x; commit and chain;"
      "set x.y to 'a', 2; set local z = default; show all; reset z; set transaction read only;"
      "prepare s (int, text) as select $1; execute s(1, 'b'); deallocate all;"
      "copy t (a) from stdin with (format csv, header, force_null (a, b)); copy (select 1) to '/x';"
      "truncate a, b restart identity cascade; comment on column t.a is 'x'; comment on table t is null;"
      "alter table t add column if not exists a int default 1, drop column b cascade, alter c type text using c::text,"
      " alter d set default 2, alter d drop default, add constraint k check (a > 0), set (x = 1), owner to u;"
      "alter table t rename a to b; alter table t rename to u; create schema if not exists s; create sequence q start "
      "5;"
      "create table x as select 1 with no data");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto at = [&](size_t i) -> const ast::Statement& { return *(*parsed)[i]; };
  const auto& drop = ast::node_as<ast::DropStatement>(at(0));
  EXPECT_TRUE(drop.if_exists && drop.cascade);
  EXPECT_EQ(drop.objects[1].name, (ast::Name{object_key("s", "b")}));
  const auto& drop_procedure = ast::node_as<ast::DropStatement>(at(1));
  EXPECT_EQ(drop_procedure.objects[0].arguments.size(), 2u);
  EXPECT_EQ(drop_procedure.objects[0].arguments[1].mode, ast::ParameterMode::kOut);
  EXPECT_FALSE(drop_procedure.objects[1].has_arguments);
  EXPECT_EQ(ast::node_as<ast::DropStatement>(at(2)).object, ast::ObjectKind::kType);
  const auto& explain = ast::node_as<ast::ExplainStatement>(at(3));
  EXPECT_EQ(explain.options[0].name, "compiled");
  EXPECT_FALSE(explain.options[0].has_value);
  EXPECT_EQ(explain.options[1].value, "false");
  EXPECT_EQ(explain.options[2].value, "json");
  EXPECT_EQ(ast::node_as<ast::ExplainStatement>(at(4)).options.size(), 2u);
  const auto& begin = ast::node_as<ast::TransactionStatement>(at(5));
  EXPECT_EQ(begin.modes[0].name, "transaction_isolation");
  EXPECT_EQ(begin.modes[0].value, "serializable");
  EXPECT_EQ(ast::node_as<ast::TransactionStatement>(at(6)).name, "x");
  EXPECT_TRUE(ast::node_as<ast::TransactionStatement>(at(7)).chain);
  EXPECT_EQ(ast::node_as<ast::SetStatement>(at(8)).name, "x.y");
  EXPECT_EQ(ast::node_as<ast::SetStatement>(at(8)).values.size(), 2u);
  EXPECT_TRUE(ast::node_as<ast::SetStatement>(at(9)).local);
  EXPECT_EQ(ast::node_as<ast::ShowStatement>(at(10)).name, "all");
  EXPECT_EQ(ast::node_as<ast::SetStatement>(at(12)).modes[0].name, "transaction_read_only");
  EXPECT_EQ(ast::node_as<ast::PrepareStatement>(at(13)).types.size(), 2u);
  EXPECT_EQ(ast::node_as<ast::ExecuteStatement>(at(14)).args.size(), 2u);
  EXPECT_EQ(ast::node_as<ast::DeallocateStatement>(at(15)).name, "");
  const auto& copy = ast::node_as<ast::CopyStatement>(at(16));
  EXPECT_TRUE(copy.from && copy.has_table && copy.file.empty());
  EXPECT_EQ(copy.options[2].list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ast::node_as<ast::CopyStatement>(at(17)).query->kind, ast::StatementKind::kSelect);
  EXPECT_EQ(ast::node_as<ast::TruncateStatement>(at(18)).tables.size(), 2u);
  EXPECT_EQ(ast::node_as<ast::CommentStatement>(at(19)).target.name, (ast::Name{"t", "a"}));
  EXPECT_FALSE(ast::node_as<ast::CommentStatement>(at(20)).has_text);
  const auto& alter = ast::node_as<ast::AlterTableStatement>(at(21));
  ASSERT_EQ(alter.commands.size(), 8u);
  EXPECT_EQ(alter.commands[0].column->name, "a");
  EXPECT_TRUE(alter.commands[1].cascade);
  EXPECT_EQ(to_sql(*alter.commands[2].expr), "CAST(c AS text)");
  EXPECT_NE(alter.commands[3].expr, nullptr);
  EXPECT_EQ(alter.commands[4].expr, nullptr);
  EXPECT_EQ(alter.commands[7].action_name, "OWNER TO");
  EXPECT_EQ(ast::node_as<ast::RenameStatement>(at(22)).new_name, "b");
  EXPECT_EQ(ast::node_as<ast::RenameStatement>(at(23)).object, ast::ObjectKind::kTable);
  EXPECT_FALSE(ast::node_as<ast::CreateTableAsStatement>(at(26)).with_data);
}

TEST(SqlParser, Locations) {
  const std::string_view kText = "select 'ä',  foo from t; -- c\n  /* d */ delete from u where b = 1 ;";
  const auto parsed = parse_sql(kText);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto& select = ast::node_as<ast::SelectStatement>(*(*parsed)[0]);
  EXPECT_EQ(kText.substr(static_cast<size_t>(select.targets[1].expr->location), 3), "foo");
  EXPECT_EQ(kText.substr(static_cast<size_t>(select.location), static_cast<size_t>(select.length)),
            "select 'ä',  foo from t");
  const auto& second = *(*parsed)[1];
  EXPECT_EQ(kText.substr(static_cast<size_t>(second.location), static_cast<size_t>(second.length)),
            "delete from u where b = 1");
}

// SQLSTATEs, messages and positions as PostgreSQL 15 gives them.
TEST(SqlParser, Errors) {
  const struct {
    std::string_view text;
    std::string_view sqlstate;
    int position;
    std::string_view message;
  } kCases[] = {
      {"selec 1", "42601", 1, "syntax error at or near \"selec\""},
      {"select 1 +", "42601", 11, "syntax error at end of input"},
      {"select 'ä' from from t", "42601", 17, "syntax error at or near \"from\""},
      {"select 'abc", "42601", 8, "unterminated quoted string at or near \"'abc\""},
      {"select /* x", "42601", 8, "unterminated /* comment at or near \"/* x\""},
      {"select $$ x", "42601", 8, "unterminated dollar-quoted string at or near \"$$ x\""},
      {"select \"x", "42601", 8, "unterminated quoted identifier at or near \"\"x\""},
      {"select 1; select 2 3", "42601", 20, "syntax error at or near \"3\""},
      {"select 123abc", "42601", 8, "trailing junk after numeric literal at or near \"123a\""},
      {"create table t (a int, )", "42601", 24, "syntax error at or near \")\""},
      {"create table t (a int) partition by foo (a)", "22023", 24, "unrecognized partitioning strategy \"foo\""},
      {"select 1 limit 1, 2", "42601", 10, "LIMIT #,# syntax is not supported"},
      {"select a::float(99)", "22023", 17, "precision for type float must be less than 54 bits"},
      {"select E'\\uzz'", "22025", 10, "invalid Unicode escape"},
      {"select U&'\\00zz'", "42601", 11, "invalid Unicode escape"},
      {"select count(*) over (rows between current row and 1 preceding)", "42P20", 52,
       "frame starting from current row cannot have preceding rows"},
      {"create table t (a int references u match partial)", "0A000", 36, "MATCH PARTIAL not yet implemented"},
      {"create table t (a int) inherits (u)", "0A000", 14, "INHERITS is not supported"},
      {"select xmlparse(document '<a/>')", "0A000", 8, "XML is not supported"},
      {"select E'\\xff'", "22021", 0, "invalid byte sequence for encoding \"UTF8\": 0xff"},
      {"select '\xc3\x28'", "22021", 0, "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28"},
      {std::string_view("select \0 1", 10), "22021", 0, "invalid byte sequence for encoding \"UTF8\": 0x00"},
      {"create function f() returns int language sql language sql as 'x'", "42601", 46,
       "conflicting or redundant options"},
  };
  for (const auto& wrong : kCases) {
    const auto parsed = parse_sql(wrong.text);
    ASSERT_FALSE(parsed.ok()) << wrong.text;
    EXPECT_EQ(sqlstate_of(parsed.status()), wrong.sqlstate) << wrong.text;
    EXPECT_EQ(position_of(parsed.status()), wrong.position) << wrong.text;
    EXPECT_EQ(std::string(parsed.status().message()), wrong.message) << wrong.text;
  }
}

TEST(SqlParser, ExpressionErrors) {
  for (const std::string_view text :
       {"", "1,2", "1 from t", "1; select 2", "1 union select 2", "a into b", "* from t"}) {
    const auto parsed = parse_expression(text);
    EXPECT_EQ(sqlstate_of(parsed.status()), "42601") << text;
  }
  const std::string_view kWhole = "ä := 1 + ;";
  const auto parsed = parse_expression(Piece{kWhole.substr(6, 4), kWhole, 6});
  EXPECT_EQ(position_of(parsed.status()), 10);
  const auto query = parse_expression(Piece{"count(*) FROM t WHERE a = b", "xx count(*) FROM t WHERE a = b", 3});
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(to_sql(**query), "(SELECT count(*) FROM t WHERE (a = b))");
  EXPECT_EQ((*query)->location, 3);
}

std::string repeat(std::string_view what, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += what;
  return out;
}

TEST(SqlParser, Nesting) {
  EXPECT_TRUE(parse_sql("select " + repeat("1+", 900) + "1").ok());
  EXPECT_TRUE(parse_sql("select 1" + repeat(" and true", 50000)).ok());  // flat
  EXPECT_TRUE(parse_sql("select a in (1" + repeat(",1", 50000) + ")").ok());
  const std::string kDeep[] = {
      "select " + repeat("1+", 100000) + "1",
      "select " + repeat("(", 900) + "1" + repeat("+1)", 1001),
      "select " + repeat("(", 100000) + "1" + repeat(")", 100000),
      "select " + repeat("- ", 3000) + "a",
      "select " + repeat("not ", 5000) + "a",
      "select " + repeat("(select ", 3000) + "1" + repeat(")", 3000),
      "select 1" + repeat(" union select 1", 20000),
      "select * from " + repeat("(select * from ", 2000) + "t" + repeat(") x", 2000),
      "select * from a" + repeat(" join b using (x)", 20000),
      "select a" + repeat("[1].b", 5000),
      "select (a)" + repeat(".b", 5000),
      "select " + repeat("(", 2000) + "a" + repeat(")" + repeat(".b", 900), 2000),
      "select " + repeat("(", 2000) + "a" + repeat(")" + repeat("[1].b", 300), 2000),
      "select " + repeat("f(", 5000) + repeat(")", 5000),
      "select " + repeat("array[", 5000) + repeat("]", 5000),
      "select a" + repeat("::text", 5000),
      "select " + repeat("case when a then ", 3000) + "1" + repeat(" end", 3000),
      repeat("explain ", 2000) + "select 1",
  };
  for (const std::string& text : kDeep) {
    const auto parsed = parse_sql(text);
    EXPECT_FALSE(parsed.ok()) << text.substr(0, 40);
    const std::string code = sqlstate_of(parsed.status());
    EXPECT_TRUE(code == "54001" || code == "42601") << text.substr(0, 40) << " " << parsed.status();
  }
  EXPECT_EQ(sqlstate_of(parse_sql(kDeep[0]).status()), "54001");
  EXPECT_EQ(sqlstate_of(parse_sql(std::string(kMaxTextBytes + 1, ' ')).status()), "54000");
}

TEST(SqlParser, NormalizeAndFingerprint) {
  const auto text = normalize_sql("select a from t where b = 'x' and c in (1, 2)");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "select a from t where b = $1 and c in ($2, $3)");
  const auto one = fingerprint_sql("select a from t where b = 1 and c in (1, 2)");
  const auto two = fingerprint_sql("SELECT a FROM t WHERE b = 'y'   and c in (7)");
  const auto three = fingerprint_sql("select a from t where b = 1");
  ASSERT_TRUE(one.ok() && two.ok() && three.ok());
  EXPECT_EQ(*one, *two);
  EXPECT_NE(*one, *three);
  EXPECT_EQ(sqlstate_of(normalize_sql("selec").status()), "42601");
}

}  // namespace
}  // namespace scyper::query
