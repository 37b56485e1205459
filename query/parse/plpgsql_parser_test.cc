#include "parse/plpgsql_parser.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "parse/conditions.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"

namespace scyper::query {
namespace {

std::string text(const ast::ExprPtr& expr) { return expr == nullptr ? "-" : to_sql(*expr); }
std::string text(const ast::StatementPtr& statement) { return statement == nullptr ? "-" : to_sql(*statement); }
std::string text(const std::vector<plpgsql::Target>& targets) {
  std::string out;
  for (const auto& target : targets) {
    out += out.empty() ? "" : ",";
    for (size_t i = 0; i < target.name.size(); ++i) out += (i > 0 ? "." : "") + target.name[i];
  }
  return out;
}
std::string text(const std::vector<ast::ExprPtr>& exprs) {
  std::string out;
  for (const auto& expr : exprs) out += (out.empty() ? "" : ",") + to_sql(*expr);
  return out;
}

// Parses "BEGIN <statement> END" and gives its only statement as T.
template <class T>
const T& only(const std::string& statement) {
  static std::unique_ptr<plpgsql::Body> keep;  // until the next call
  auto body = parse_plpgsql("BEGIN " + statement + " END");
  CHECK(body.ok() || (std::fprintf(stderr, "%s: %s\n", statement.c_str(), body.status().ToString().c_str()), false));
  keep = *std::move(body);
  CHECK(keep->block->body.size() == 1);
  return ast::node_as<T>(*keep->block->body[0]);
}

TEST(PlpgsqlParser, Declarations) {
  const std::string_view kBody = R"(
#variable_conflict use_column
<<outer_block>>
DECLARE
  a integer := 1;
  b constant numeric(5,2) not null default 2.5;
  c text collate "C" = 'x;y';
  d t.x%TYPE;
  e a%type;
  f s.t%ROWTYPE;
  g record;
  h integer[];
  i alias for $1;
  "J" ALIAS FOR a;
  k cursor (p integer, q text) for select * from t where x = p;
  l no scroll cursor is values (1);
  m refcursor;
  declare
  n numeric[] := array[1, 2];
begin
end outer_block;)";
  const auto body = parse_plpgsql(kBody);
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ((*body)->variable_conflict, plpgsql::VariableConflict::kUseColumn);
  const plpgsql::Block& block = *(*body)->block;
  EXPECT_EQ(block.label, "outer_block");
  const auto& d = block.declarations;
  ASSERT_EQ(d.size(), 14u);
  EXPECT_EQ(d[0].name, "a");
  EXPECT_EQ(text(d[0].initial), "1");
  EXPECT_EQ(kBody.substr(static_cast<size_t>(d[0].initial->location), 2), "1;");
  EXPECT_EQ(kBody.substr(static_cast<size_t>(d[0].location), 9), "a integer");
  EXPECT_TRUE(d[1].constant && d[1].not_null);
  EXPECT_EQ(to_sql(d[1].type), "pg_catalog.\"numeric\"(5, 2)");
  EXPECT_EQ(d[2].collation, ast::Name{"C"});
  EXPECT_EQ(text(d[2].initial), "'x;y'");
  EXPECT_TRUE(d[3].type.percent_type);
  EXPECT_EQ(d[3].type.name, (ast::Name{"t", "x"}));
  EXPECT_EQ(d[4].type.name, ast::Name{"a"});
  EXPECT_TRUE(d[5].type.percent_rowtype);
  EXPECT_EQ(d[6].type.name, ast::Name{"record"});
  EXPECT_EQ(to_sql(d[7].type), "pg_catalog.int4[]");
  EXPECT_EQ(d[8].alias_for, ast::Name{"$1"});
  EXPECT_EQ(d[9].name, "J");
  ASSERT_NE(d[10].cursor, nullptr);
  EXPECT_EQ(d[10].cursor->parameters.size(), 2u);
  EXPECT_EQ(text(d[10].cursor->query), "SELECT * FROM t WHERE (x = p)");
  EXPECT_EQ(d[11].cursor->scroll, plpgsql::ScrollOption::kNoScroll);
  EXPECT_EQ(d[13].name, "n");
}

TEST(PlpgsqlParser, Assignments) {
  const struct {
    std::string in;
    std::string target;
    std::string value;
  } kCases[] = {
      {"a := b + 1;", "a", "(b + 1)"},
      {"a=-1;", "a", "(-1)"},
      {"r.f := 'it''s';", "r.f", "'it''s'"},
      {"a[i + 1] := 2;", "(a)[(i + 1)]", "2"},
      {"a[1][2] = b[3];", "(a)[1][2]", "(b)[3]"},
      {"r.f[1].g := 1;", "((r.f)[1]).g", "1"},
      {"\"A b\" := 1;", "\"A b\"", "1"},
      {"$1 := 2;", "$1", "2"},
      {"n := count(*) from t where x = 1;", "n", "(SELECT count(*) FROM t WHERE (x = 1))"},
      {"b := a = c;", "b", "(a = c)"},
      {"b := $q$;$q$ || E'\\'' /* ; */ || ';' -- ;\n;", "b", "((';' || '''') || ';')"},
      {"count := 1;", "count", "1"},
      {"return := 1;", "return", "1"},
      {"x := (select max(y) from t);", "x", "(SELECT max(y) FROM t)"},
  };
  for (const auto& one : kCases) {
    const auto& assign = only<plpgsql::Assign>(one.in);
    EXPECT_EQ(text(assign.target), one.target) << one.in;
    EXPECT_EQ(text(assign.value), one.value) << one.in;
  }
}

TEST(PlpgsqlParser, Control) {
  const auto& branch = only<plpgsql::If>(
      "IF a THEN NULL; ELSIF b AND c THEN x := 1; x := 2; ELSEIF CASE WHEN d THEN e ELSE f END THEN ELSE NULL; END "
      "IF;");
  ASSERT_EQ(branch.branches.size(), 3u);
  EXPECT_EQ(text(branch.branches[1].condition), "(b AND c)");
  EXPECT_EQ(branch.branches[1].body.size(), 2u);
  EXPECT_EQ(text(branch.branches[2].condition), "CASE WHEN d THEN e ELSE f END");
  EXPECT_EQ(branch.otherwise.size(), 1u);

  const auto& simple = only<plpgsql::Case>("CASE a + 1 WHEN 1, 2 THEN NULL; WHEN f(3, 4) THEN NULL; ELSE END CASE;");
  EXPECT_EQ(text(simple.arg), "(a + 1)");
  EXPECT_EQ(text(simple.branches[0].conditions), "1,2");
  EXPECT_EQ(text(simple.branches[1].conditions), "f(3, 4)");
  EXPECT_TRUE(simple.has_else);
  const auto& searched = only<plpgsql::Case>("CASE WHEN a > 1 THEN NULL; END CASE;");
  EXPECT_EQ(searched.arg, nullptr);
  EXPECT_FALSE(searched.has_else);

  const auto& loop = only<plpgsql::Loop>("<<l>> LOOP EXIT l WHEN a > 1; CONTINUE; END LOOP l;");
  EXPECT_EQ(loop.label, "l");
  EXPECT_EQ(text(ast::node_as<plpgsql::Exit>(*loop.body[0]).when), "(a > 1)");
  EXPECT_TRUE(ast::node_as<plpgsql::Exit>(*loop.body[1]).is_continue);
  EXPECT_EQ(text(only<plpgsql::While>("WHILE a < 1 LOOP EXIT; END LOOP;").condition), "(a < 1)");

  const auto& block = only<plpgsql::Block>("<<b>> DECLARE a int; BEGIN EXIT b; EXCEPTION WHEN others THEN END b;");
  EXPECT_EQ(block.label, "b");
  EXPECT_EQ(block.handlers.size(), 1u);
}

TEST(PlpgsqlParser, ForLoops) {
  const auto& up = only<plpgsql::ForInteger>("FOR i IN 1..10 LOOP NULL; END LOOP;");
  EXPECT_EQ(up.variable + text(up.from) + text(up.to) + text(up.step), "i110-");
  const auto& down = only<plpgsql::ForInteger>("FOR i IN REVERSE a[1] + 2 .. (f(b)) BY c LOOP END LOOP;");
  EXPECT_TRUE(down.reverse);
  EXPECT_EQ(text(down.from) + " " + text(down.to) + " " + text(down.step), "((a)[1] + 2) f(b) c");
  const auto& query = only<plpgsql::ForQuery>("FOR r IN SELECT a FROM t WHERE b = 1 ORDER BY a LOOP NULL; END LOOP;");
  EXPECT_EQ(text(query.targets) + ": " + text(query.query), "r: SELECT a FROM t WHERE (b = 1) ORDER BY a");
  const auto& scalars = only<plpgsql::ForQuery>("FOR a, r.b IN (SELECT 1, 2) LOOP END LOOP;");
  EXPECT_EQ(text(scalars.targets), "a,r.b");
  const auto& returning = only<plpgsql::ForQuery>("FOR r IN DELETE FROM t RETURNING a LOOP END LOOP;");
  EXPECT_EQ(text(returning.query), "DELETE FROM t RETURNING a");
  EXPECT_EQ(text(only<plpgsql::ForQuery>("FOR r IN VALUES (1) LOOP END LOOP;").query), "VALUES (1)");
  const auto& dynamic = only<plpgsql::ForExecute>("FOR r IN EXECUTE 'select ' || a USING b, c + 1 LOOP END LOOP;");
  EXPECT_EQ(text(dynamic.text) + "; " + text(dynamic.args), "('select ' || a); b,(c + 1)");
  const auto& cursor = only<plpgsql::ForCursor>("FOR r IN c (1, q := 2) LOOP END LOOP;");
  EXPECT_EQ(text({cursor.cursor}) + ": " + text(cursor.args) + cursor.arg_names[1], "c: 1,2q");
  EXPECT_EQ(only<plpgsql::ForCursor>("FOR r IN c LOOP END LOOP;").cursor.name, ast::Name{"c"});
  const auto& each = only<plpgsql::ForEach>("<<l>> FOREACH a, b SLICE 1 IN ARRAY c || 1 LOOP END LOOP l;");
  EXPECT_EQ(each.label + text(each.targets) + std::to_string(each.slice) + text(each.array), "la,b1(c || 1)");
}

TEST(PlpgsqlParser, SqlStatements) {
  const struct {
    std::string in;
    std::string statement;
    std::string into;
  } kCases[] = {
      {"SELECT a, b INTO x, r.y FROM t WHERE c = d;", "SELECT a, b FROM t WHERE (c = d)", "x,r.y"},
      {"SELECT INTO STRICT x a FROM t;", "SELECT a FROM t", "!x"},
      {"SELECT a FROM t ORDER BY b LIMIT 1 INTO x;", "SELECT a FROM t ORDER BY b LIMIT 1", "x"},
      {"SELECT 'ä' INTO \"ÄÖ\" FROM t;", "SELECT 'ä' FROM t", "ÄÖ"},
      {"INSERT INTO t VALUES (1) RETURNING a INTO x;", "INSERT INTO t VALUES (1) RETURNING a", "x"},
      {"UPDATE t SET a = a + 1 WHERE b = 2 RETURNING a, b - 1 INTO STRICT x, y;",
       "UPDATE t SET a = (a + 1) WHERE (b = 2) RETURNING a, (b - 1)", "!x,y"},
      {"DELETE FROM t WHERE a = (SELECT b FROM u LIMIT 1) RETURNING a INTO x;",
       "DELETE FROM t WHERE (a = (SELECT b FROM u LIMIT 1)) RETURNING a", "x"},
      {"WITH d AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * INTO r FROM d;",
       "WITH d AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM d", "r"},
      {"MERGE INTO t USING s ON (a = b) WHEN MATCHED THEN DELETE;",
       "MERGE INTO t USING s ON (a = b) WHEN MATCHED THEN DELETE", ""},
      {"CREATE INDEX i ON t (a);", "CREATE INDEX i ON t USING btree (a)", ""},
  };
  for (const auto& one : kCases) {
    const auto& sql = only<plpgsql::Sql>(one.in);
    EXPECT_EQ(text(sql.statement), one.statement) << one.in;
    EXPECT_EQ((sql.into.strict ? "!" : "") + text(sql.into.targets), one.into) << one.in;
  }
  EXPECT_EQ(text(only<plpgsql::Perform>("PERFORM f(a) FROM t;").query), "SELECT f(a) FROM t");
  EXPECT_EQ(to_sql(*only<plpgsql::Call>("CALL s.p(a, 1);").call), "CALL s.p(a, 1)");
  const auto& execute = only<plpgsql::Execute>("EXECUTE 'select $1' || a INTO STRICT x USING b, c;");
  EXPECT_EQ(text(execute.text) + text(execute.into.targets) + text(execute.args), "('select $1' || a)xb,c");
  EXPECT_EQ(text(only<plpgsql::Execute>("EXECUTE s USING a INTO x, y;").into.targets), "x,y");
}

TEST(PlpgsqlParser, Raise) {
  EXPECT_TRUE(only<plpgsql::Raise>("RAISE;").reraise);
  const auto& format = only<plpgsql::Raise>("RAISE NOTICE 'a % b %% %', x, y + 1;");
  EXPECT_EQ(format.level, plpgsql::RaiseLevel::kNotice);
  EXPECT_EQ(format.format + text(format.args), "a % b %% %x,(y + 1)");
  const auto& options =
      only<plpgsql::Raise>("RAISE EXCEPTION 'no' USING ERRCODE = 'TPCC1', hint = 'h' || x, DETAIL := 'd';");
  ASSERT_EQ(options.options.size(), 3u);
  EXPECT_EQ(options.options[0].kind, plpgsql::RaiseOptionKind::kErrcode);
  EXPECT_EQ(text(options.options[1].value), "('h' || x)");
  const auto& condition = only<plpgsql::Raise>("RAISE Division_By_Zero USING message = 'x';");
  EXPECT_EQ(condition.condition + condition.sqlstate, "division_by_zero22012");
  EXPECT_EQ(only<plpgsql::Raise>("RAISE WARNING SQLSTATE '12ABC';").sqlstate, "12ABC");
  EXPECT_EQ(only<plpgsql::Raise>("RAISE USING message = 'x';").options.size(), 1u);
  const auto& check = only<plpgsql::Assert>("ASSERT a > 1, 'm' || b;");
  EXPECT_EQ(text(check.condition) + text(check.message), "(a > 1)('m' || b)");
}

TEST(PlpgsqlParser, Handlers) {
  const auto body = parse_plpgsql(
      "BEGIN NULL; EXCEPTION WHEN unique_violation OR sqlstate '22012' THEN RETURN 1; WHEN null_value_not_allowed THEN "
      "RAISE; WHEN Others THEN NULL; END");
  ASSERT_TRUE(body.ok()) << body.status();
  const auto& handlers = (*body)->block->handlers;
  ASSERT_EQ(handlers.size(), 3u);
  EXPECT_EQ(handlers[0].conditions[0].sqlstates, std::vector<std::string>{"23505"});
  EXPECT_EQ(handlers[0].conditions[1].sqlstates, std::vector<std::string>{"22012"});
  EXPECT_EQ(handlers[1].conditions[0].sqlstates, (std::vector<std::string>{"22004", "39004"}));
  EXPECT_TRUE(handlers[2].conditions[0].others);
}

TEST(PlpgsqlParser, OtherStatements) {
  EXPECT_EQ(only<plpgsql::Return>("RETURN;").value, nullptr);
  EXPECT_EQ(text(only<plpgsql::Return>("RETURN a + 1;").value), "(a + 1)");
  EXPECT_EQ(only<plpgsql::ReturnNext>("RETURN NEXT;").value, nullptr);
  EXPECT_EQ(text(only<plpgsql::ReturnNext>("RETURN NEXT r;").value), "r");
  EXPECT_EQ(text(only<plpgsql::ReturnQuery>("RETURN QUERY SELECT 1;").query), "SELECT 1");
  EXPECT_EQ(text(only<plpgsql::ReturnQuery>("RETURN QUERY EXECUTE s USING 1, 2;").args), "1,2");
  const auto& current = only<plpgsql::GetDiagnostics>("GET DIAGNOSTICS a = ROW_COUNT, b := PG_CONTEXT;");
  EXPECT_EQ(current.items[1].item, plpgsql::DiagnosticsItem::kContext);
  EXPECT_TRUE(only<plpgsql::GetDiagnostics>("GET STACKED DIAGNOSTICS a = MESSAGE_TEXT;").stacked);
  EXPECT_TRUE(only<plpgsql::Transaction>("COMMIT AND CHAIN;").chain);
  EXPECT_FALSE(only<plpgsql::Transaction>("ROLLBACK;").commit);
  EXPECT_EQ(text(only<plpgsql::Open>("OPEN c FOR SELECT 1;").query), "SELECT 1");
  EXPECT_EQ(text(only<plpgsql::Open>("OPEN c NO SCROLL FOR EXECUTE s USING 1;").args), "1");
  EXPECT_EQ(text(only<plpgsql::Open>("OPEN c (1, b => 2);").args), "1,2");
  const auto& next = only<plpgsql::Fetch>("FETCH c INTO a, b;");
  EXPECT_EQ(text({next.cursor}) + text(next.into.targets), "ca,b");
  const auto& relative = only<plpgsql::Fetch>("FETCH RELATIVE -2 FROM c INTO a;");
  EXPECT_EQ(text(relative.count), "(-2)");
  EXPECT_EQ(only<plpgsql::Fetch>("FETCH LAST IN c INTO a;").direction, plpgsql::FetchDirection::kLast);
  EXPECT_TRUE(only<plpgsql::Fetch>("MOVE FORWARD ALL FROM c;").all);
  EXPECT_EQ(only<plpgsql::Fetch>("MOVE c;").cursor.name, ast::Name{"c"});
  EXPECT_EQ(only<plpgsql::Close>("CLOSE c;").cursor.name, ast::Name{"c"});
}

TEST(PlpgsqlParser, LocationsAndLines) {
  const std::string_view kBody = "\nBEGIN -- é\n  a := 'é' || b;\n  SELECT c INTO STRICT d FROM e WHERE f;\nEND";
  const auto body = parse_plpgsql(kBody);
  ASSERT_TRUE(body.ok()) << body.status();
  const auto& assign = ast::node_as<plpgsql::Assign>(*(*body)->block->body[0]);
  EXPECT_EQ(assign.line, 3);
  const auto& concat = ast::node_as<ast::BinaryOp>(*assign.value);
  EXPECT_EQ(kBody.substr(static_cast<size_t>(concat.right->location), 2), "b;");
  const auto& sql = ast::node_as<plpgsql::Sql>(*(*body)->block->body[1]);
  EXPECT_EQ(sql.line, 4);
  const auto& select = ast::node_as<ast::SelectStatement>(*sql.statement);
  EXPECT_EQ(kBody.substr(static_cast<size_t>(select.where->location), 2), "f;");
  EXPECT_EQ(kBody.substr(static_cast<size_t>(select.location), 8), "SELECT c");
}

// SQLSTATEs and messages as PostgreSQL 15 gives them at CREATE PROCEDURE.
TEST(PlpgsqlParser, Errors) {
  const struct {
    std::string_view body;
    std::string_view sqlstate;
    std::string_view at;  // the text at the error's position, "" = the end
    std::string_view message;
  } kCases[] = {
      {"BEGIN IF a b; END", "42601", "; END", "missing \"THEN\" at end of SQL expression"},
      {"DECLARE x int foo; BEGIN END", "42601", "foo;", "syntax error at or near \"foo\""},
      {"DECLARE é int; BEGIN é := 1 + ; END", "42601", " ; END", "syntax error at end of input"},
      {"BEGIN IF THEN END IF; END", "42601", "THEN", "missing expression at or near \"THEN\""},
      {"BEGIN SELECT foo bar baz; END", "42601", "baz;", "syntax error at or near \"baz\""},
      {"BEGIN SELECT 'é' INTO é FROM FROM x; END", "42601", "FROM x", "syntax error at or near \"FROM\""},
      {"BEGIN EXIT; END", "42601", "EXIT", "EXIT cannot be used outside a loop, unless it has a label"},
      {"BEGIN CONTINUE; END", "42601", "CONT", "CONTINUE cannot be used outside a loop"},
      {"BEGIN LOOP EXIT nix; END LOOP; END", "42601", "nix",
       "there is no label \"nix\" attached to any block or loop enclosing this statement"},
      {"<<b>> BEGIN LOOP CONTINUE b; END LOOP; END", "42601", "b; END", "block label \"b\" cannot be used in CONTINUE"},
      {"BEGIN RAISE 'a %'; END", "42601", "RAISE", "too few parameters specified for RAISE"},
      {"BEGIN RAISE 'a', 1; END", "42601", "RAISE", "too many parameters specified for RAISE"},
      {"BEGIN RAISE nix; END", "42704", "nix", "unrecognized exception condition \"nix\""},
      {"BEGIN RAISE SQLSTATE 'abc'; END", "42601", "'abc'", "invalid SQLSTATE code at or near \"'abc'\""},
      {"BEGIN RAISE USING foo = 1; END", "42601", "foo", "unrecognized RAISE statement option at or near \"foo\""},
      {"BEGIN EXCEPTION WHEN nix THEN END", "42704", "nix", "unrecognized exception condition \"nix\""},
      {"DECLARE x int; x int; BEGIN END", "42601", "x int; BEGIN", "duplicate declaration at or near \"x\""},
      {"DECLARE x int NOT NULL; BEGIN END", "22004", "; BEGIN",
       "variable \"x\" must have a default value, since it's declared NOT NULL"},
      {"BEGIN SELECT 1 INTO x INTO x; END", "42601", "INTO x; END",
       "INTO specified more than once at or near \"INTO\""},
      {"BEGIN SELECT 1 INTO x[1]; END", "42601", "[1]", "syntax error at or near \"[\""},
      {"BEGIN FOR i IN REVERSE SELECT 1 LOOP END LOOP; END", "42601", "REVERSE",
       "cannot specify REVERSE in query FOR loop"},
      {"BEGIN FOR x, y IN 1 .. 2 LOOP END LOOP; END", "42601", "y IN",
       "integer FOR loop must have only one target variable"},
      {"BEGIN LOOP END LOOP x; END", "42601", "x; END", "end label \"x\" specified for unlabeled block"},
      {"BEGIN <<a>> LOOP END LOOP b; END", "42601", "b; END", "end label \"b\" differs from block's label \"a\""},
      {"<<a>> LOOP END LOOP;", "42601", "LOOP END", "syntax error at or near \"LOOP\""},
      {"BEGIN ", "42601", "", "syntax error at end of input"},
      {"BEGIN END; x", "42601", "x", "syntax error at or near \"x\""},
      {"BEGIN GET DIAGNOSTICS x = foo; END", "42601", "foo", "unrecognized GET DIAGNOSTICS item at or near \"foo\""},
      {"BEGIN GET STACKED DIAGNOSTICS x = row_count; END", "42601", "row_count",
       "diagnostics item ROW_COUNT is not allowed in GET STACKED DIAGNOSTICS"},
      {"BEGIN x := (1; END", "42601", "; END", "mismatched parentheses at or near \";\""},
      {"BEGIN x := (1)) ; END", "42601", ") ; END", "mismatched parentheses at or near \")\""},
      {"BEGIN CASE WHEN true END CASE; END", "42601", "; END", "missing \"THEN\" at end of SQL expression"},
      {"BEGIN foo bar; END", "42601", "foo", "syntax error at or near \"foo\""},
      {"BEGIN (select 1); END", "42601", "(select", "syntax error at or near \"(\""},
      {"DECLARE x ; BEGIN END", "42601", "; BEGIN", "missing data type declaration at or near \";\""},
      {"BEGIN RAISE EXCEPTION; END", "42601", "; END", "syntax error at or near \";\""},
      {"BEGIN x := 'abc; END", "42601", "'abc; END", "unterminated quoted string at or near \"'abc; END\""},
      {"BEGIN a + 1 := 2; END", "42601", "a + 1", "syntax error at or near \"a\""},
  };
  for (const auto& wrong : kCases) {
    const auto body = parse_plpgsql(wrong.body);
    ASSERT_FALSE(body.ok()) << wrong.body;
    EXPECT_EQ(sqlstate_of(body.status()), wrong.sqlstate) << wrong.body;
    EXPECT_EQ(std::string(body.status().message()), wrong.message) << wrong.body;
    const int position = position_of(body.status());
    size_t byte = 0;  // all test bodies before the error: é is the only character of two bytes
    for (int i = 1; i < position && byte < wrong.body.size(); ++i) byte += (wrong.body[byte] & 0x80) != 0 ? 2 : 1;
    EXPECT_TRUE(position > 0 && wrong.body.substr(byte).starts_with(wrong.at)) << wrong.body << " at " << position;
    EXPECT_EQ(wrong.at.empty(), byte >= wrong.body.size()) << wrong.body;
  }
}

TEST(PlpgsqlParser, ErrorsMoveToTheirSource) {
  const std::string_view kSource = "DO $ä$BEGIN x := ]; END$ä$";
  const auto parsed = parse_sql(kSource);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto& statement = ast::node_as<ast::DoStatement>(*(*parsed)[0]);
  const Status error = parse_plpgsql(statement.body).status();
  EXPECT_EQ(position_of(error), 12);
  const Status moved = move_error_to_source(error, kSource, statement.body_location);
  EXPECT_EQ(position_of(moved), 18);
  EXPECT_EQ(sqlstate_of(moved), sqlstate_of(error));
  EXPECT_EQ(position_of(move_error_to_source(error, kSource, -1)), 0);
}

TEST(PlpgsqlParser, Nesting) {
  const auto nested = [](const std::string& open, const std::string& close, int times) {
    std::string out = "BEGIN ";
    for (int i = 0; i < times; ++i) out += open;
    for (int i = 0; i < times; ++i) out += close;
    return out + " END";
  };
  EXPECT_TRUE(parse_plpgsql(nested("BEGIN ", "END; ", 200)).ok());
  EXPECT_TRUE(parse_plpgsql(nested("IF a THEN ", "END IF; ", 200)).ok());
  EXPECT_EQ(sqlstate_of(parse_plpgsql(nested("BEGIN ", "END; ", 100000)).status()), "54001");
  EXPECT_EQ(sqlstate_of(parse_plpgsql(nested("IF a THEN ", "END IF; ", 100000)).status()), "54001");
  EXPECT_EQ(sqlstate_of(parse_plpgsql(nested("LOOP ", "END LOOP; ", 100000)).status()), "54001");
  EXPECT_EQ(sqlstate_of(parse_plpgsql(nested("CASE WHEN a THEN ", "END CASE; ", 100000)).status()), "54001");
  EXPECT_EQ(sqlstate_of(parse_plpgsql(nested("BEGIN EXCEPTION WHEN others THEN ", "END; ", 1000)).status()), "54001");
}

TEST(Conditions, BothWays) {
  EXPECT_EQ(condition_of_sqlstate("23505"), "unique_violation");
  EXPECT_EQ(condition_of_sqlstate("TPCC1"), "");
  EXPECT_EQ(sqlstates_of_condition("serialization_failure").front(), "40001");
  EXPECT_TRUE(sqlstates_of_condition("warning").empty());  // no error
}

}  // namespace
}  // namespace scyper::query
