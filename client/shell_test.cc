#include "shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <limits>
#include "completion.h"
#include "error_format.h"
#include "slash_copy.h"
#include "testing/fake_engine.h"

namespace scyper::client {
namespace {

std::vector<std::string> split(const std::string& text, std::string* rest = nullptr) {
  StatementSplitter splitter;
  std::vector<std::string> statements;
  // In small pieces: what is open must survive the seams.
  for (size_t i = 0; i < text.size(); i += 3) {
    splitter.feed(text.substr(i, 3));
    while (auto statement = splitter.next()) statements.push_back(*statement);
  }
  if (rest != nullptr) *rest = splitter.rest();
  return statements;
}

using List = std::vector<std::string>;

TEST(StatementSplitter, CutsAtSemicolonsOutsideOfQuotes) {
  std::string rest;
  EXPECT_EQ(split("SELECT 1; SELECT ';' ;\n;; SELECT \"a;b\";rest", &rest),
            (List{"SELECT 1", "SELECT ';'", "SELECT \"a;b\""}));
  EXPECT_EQ(rest, "rest");
  EXPECT_EQ(split("SELECT 'it''s; ok';"), (List{"SELECT 'it''s; ok'"}));
  EXPECT_EQ(split("SELECT E'a\\'; b';"), (List{"SELECT E'a\\'; b'"}));
  EXPECT_EQ(split("SELECT 'a\\'; SELECT 2;"), (List{"SELECT 'a\\'", "SELECT 2"}));
  EXPECT_EQ(split("-- a; b\nSELECT 1 -- c;\n;"), (List{"SELECT 1 -- c;"}));
  EXPECT_EQ(split("SELECT /* a; /* b; */ c; */ 1;"), (List{"SELECT /* a; /* b; */ c; */ 1"}));
  EXPECT_EQ(split("SELECT (1; 2); SELECT 3;"), (List{"SELECT (1; 2)", "SELECT 3"}));
}

TEST(StatementSplitter, KnowsBodiesOfRoutines) {
  std::string body =
      "CREATE OR REPLACE FUNCTION f(a int) RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; "
      "SELECT CASE WHEN a > 0 THEN 1 END; END";
  EXPECT_EQ(split(body + "; SELECT 2;"), (List{body, "SELECT 2"}));
  EXPECT_EQ(split("create procedure p() begin atomic insert into t values (1); end; BEGIN; END;"),
            (List{"create procedure p() begin atomic insert into t values (1); end", "BEGIN", "END"}));
  EXPECT_EQ(
      split("CREATE TABLE begin_t (a int); SELECT begin FROM t; CREATE FUNCTION f() RETURNS int AS 'x'; SELECT 1;"),
      (List{"CREATE TABLE begin_t (a int)", "SELECT begin FROM t", "CREATE FUNCTION f() RETURNS int AS 'x'",
            "SELECT 1"}));
}

TEST(StatementSplitter, KnowsDollarQuotes) {
  std::string body = "CREATE PROCEDURE p() LANGUAGE plpgsql AS $body$ BEGIN x := '$$;'; END; $body$";
  EXPECT_EQ(split(body + "; SELECT $1; SELECT a$b$;"), (List{body, "SELECT $1", "SELECT a$b$"}));
  EXPECT_EQ(split("DO $$ a; $x$ b; $$;"), (List{"DO $$ a; $x$ b; $$"}));
}

TEST(StatementSplitter, TellsWhatIsOpen) {
  StatementSplitter splitter;
  EXPECT_EQ(splitter.state(), '=');
  for (auto [text, state] : std::vector<std::pair<const char*, char>>{
           {"SELECT", '-'}, {" '", '\''}, {"' (", '('}, {"/*", '*'}, {"*/) \"", '"'}, {"\" $$", '$'}}) {
    splitter.feed(text);
    EXPECT_FALSE(splitter.next().has_value());
    EXPECT_EQ(splitter.state(), state) << text;
  }
}

TEST(Completion, KnowsWhatMayStandThere) {
  Description d;
  d.tables.push_back({"accounts", "", "", 0, 0, {{"balance", make_type(TypeId::kInt4)}}, {}, {}});
  d.routines.push_back({"add_all(a integer)", "procedure", ""});
  d.routines.push_back({"area(a integer)", "function", ""});
  EXPECT_EQ(complete("SELECT ba", "", d).size() > 50, true);
  EXPECT_EQ(complete("SELECT ", "bal", d), (List{"balance"}));
  EXPECT_EQ(complete("select * from ", "", d), (List{"accounts"}));
  EXPECT_EQ(complete("CALL ", "a", d), (List{"add_all"}));
  EXPECT_EQ(complete("SELECT ", "are", d), (List{"area"}));
  EXPECT_EQ(complete("SELECT 1 ", "UNI", d), (List{"UNION", "UNIQUE"}));
  EXPECT_EQ(complete("", "sel", d), (List{"select"}));
  EXPECT_EQ(complete("", "\\d", d), (List{"\\d", "\\d+", "\\df", "\\dt", "\\dt+"}));
  EXPECT_EQ(complete("\\d ", "ac", d), (List{"accounts"}));
}

query::ResultSet sample() {
  query::ResultSet result;
  SqlType int4 = make_type(TypeId::kInt4), text = make_type(TypeId::kText), numeric = make_numeric(5, 2);
  result.columns = {{"id", int4}, {"name", text}, {"price", numeric}, {"tags", make_array(text)}};
  Datum tags[] = {string_datum("a b", 3), null_datum()};
  ArrayValue array{2, 2, 1, TypeId::kText, tags};
  auto add = [&](int64_t id, const char* name, Datum price, Datum list) {
    result.append(int4, int_datum(id));
    result.append(text, name == nullptr ? null_datum() : string_datum(name, std::string_view(name).size()));
    result.append(numeric, price);
    result.append(make_array(text), list);
  };
  add(1, "gr\xC3\xBC\xC3\x9F", int128_datum(1250, 2), Datum{reinterpret_cast<int64_t>(&array), 0, 0, 0, {}});
  add(22, "two\nlines", null_datum(), null_datum());
  add(333, nullptr, int128_datum(-5, 2), null_datum());
  return result;
}

TEST(FormatResult, LooksLikePsql) {
  // Compared with psql 15 on the same rows.
  EXPECT_EQ(format_result(sample(), {}),
            " id  | name  | price |     tags     \n"
            "-----+-------+-------+--------------\n"
            "   1 | gr\xC3\xBC\xC3\x9F  | 12.50 | {\"a b\",NULL}\n"
            "  22 | two  +|       | \n"
            "     | lines |       | \n"
            " 333 |       | -0.05 | \n"
            "(3 rows)\n\n");
}

TEST(FormatResult, OtherForms) {
  FormatOptions options;
  options.format = OutputFormat::kCsv;
  EXPECT_EQ(
      format_result(sample(), options),
      "id,name,price,tags\n1,gr\xC3\xBC\xC3\x9F,12.50,\"{\"\"a b\"\",NULL}\"\n22,\"two\nlines\",,\n333,,-0.05,\n");
  options.format = OutputFormat::kJson;
  EXPECT_EQ(format_result(sample(), options),
            "[\n  {\"id\": 1, \"name\": \"gr\xC3\xBC\xC3\x9F\", \"price\": 12.50, \"tags\": [\"a b\", null]},\n"
            "  {\"id\": 22, \"name\": \"two\\nlines\", \"price\": null, \"tags\": null},\n"
            "  {\"id\": 333, \"name\": null, \"price\": -0.05, \"tags\": null}\n]\n");
  options.format = OutputFormat::kTable;
  options.is_expanded = true;
  options.null_text = "NULL";
  query::ResultSet one;
  one.columns = {{"a", make_type(TypeId::kInt4)}, {"longer", make_type(TypeId::kBool)}};
  one.append(one.columns[0].type, int_datum(5));
  one.append(one.columns[1].type, null_datum());
  EXPECT_EQ(format_result(one, options), "-[ RECORD 1 ]\na      | 5\nlonger | NULL\n\n");
  EXPECT_THAT(format_result(sample(), options),
              testing::StartsWith(
                  "-[ RECORD 1 ]-------\nid    | 1\nname  | gr\xC3\xBC\xC3\x9F\nprice | 12.50\ntags  | {\"a b\",NULL}\n"
                  "-[ RECORD 2 ]-------\nid    | 22\nname  | two         +\n      | lines\nprice | NULL\ntags  | NULL\n"
                  "-[ RECORD 3 ]-------\nid    | 333\nname  | NULL\nprice"));
  query::ResultSet command;
  command.command_tag = "INSERT 0 1";
  EXPECT_EQ(format_result(command, {}), "INSERT 0 1\n");
}

TEST(ValueText, KnowsTheTypesOfResults) {
  EXPECT_EQ(value_text(make_type(TypeId::kTimestamptz), int_datum(1)), "2000-01-01 00:00:00.000001+00");
  EXPECT_EQ(value_text(make_type(TypeId::kTime), int_datum(3'600'000'000)), "01:00:00");
  Datum time = int_datum(0);
  ArrayValue array{1, 1, 1, TypeId::kTime, &time};
  EXPECT_EQ(value_text(make_array(make_type(TypeId::kTime)), Datum{reinterpret_cast<int64_t>(&array), 0, 0, 0, {}}),
            "{00:00:00}");
}

TEST(ValueText, PrintsFloatsAsPostgres) {
  auto text = [](double value) { return value_text(make_type(TypeId::kFloat8), float_datum(value)); };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(100000), "100000");
  EXPECT_EQ(text(1e15), "1e+15");
  EXPECT_EQ(text(123456789012345), "123456789012345");
  EXPECT_EQ(text(1e-5), "1e-05");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-Infinity");
  EXPECT_EQ(text(-0.0), "-0");
}

TEST(FormatError, PointsAtThePosition) {
  Status status = with_hint(with_detail(sql_error("42703", "column \"b\" does not exist", 20), "d"), "h");
  EXPECT_EQ(format_error(status, "SELECT a,\n  '\xC3\xA4', x.b FROM x", false),
            "ERROR:  column \"b\" does not exist\nLINE 2:   '\xC3\xA4', x.b FROM x\n                 ^\nDETAIL:  "
            "d\nHINT:  h\n");
  EXPECT_EQ(format_error(sql_error("22012", "division by zero"), "SELECT 1/0", true),
            "ERROR:  22012: division by zero\n");
  std::string wide = "SELECT " + std::string(200, 'x') + " y " + std::string(200, 'z');
  std::string shown = format_error(sql_error("42703", "m", 209), wide, false);
  size_t line = shown.find("LINE"), caret = shown.find('^');
  EXPECT_EQ(shown[caret - (shown.find('\n', line) + 1) + line], 'y') << shown;
}

TEST(SlashCopy, IsPsqls) {
  using Place = SlashCopy::Place;
  const auto parsed = [](std::string_view text) {
    auto copy = parse_slash_copy(text);
    EXPECT_TRUE(copy.ok()) << text << copy.status();
    return copy.ok() ? *copy : SlashCopy();
  };
  SlashCopy copy = parsed(" t (a, b) FROM '/tmp/it''s' (FORMAT csv, NULL 'to') ;");
  EXPECT_TRUE(copy.is_from && copy.place == Place::kFile);
  EXPECT_EQ(copy.file, "/tmp/it's");
  EXPECT_EQ(copy.sql, "COPY t (a, b) FROM STDIN (FORMAT csv, NULL 'to')");
  copy = parsed("(SELECT ' to ', (1) FROM \"from\") To Program 'gzip > x' csv");
  EXPECT_TRUE(!copy.is_from && copy.place == Place::kProgram);
  EXPECT_EQ(copy.file, "gzip > x");
  EXPECT_EQ(copy.sql, "COPY (SELECT ' to ', (1) FROM \"from\") TO STDOUT csv");
  EXPECT_EQ(parsed("t to file.txt").file, "file.txt");
  EXPECT_EQ(parsed("t from stdin").place, Place::kScript);
  EXPECT_EQ(parsed("t to PSTDOUT;").place, Place::kTerminal);
  for (const char* text : {"", "t", "t from", "from 'x'", "t to program x", "(SELECT 1 to 'x'"})
    EXPECT_EQ(sqlstate_of(parse_slash_copy(text).status()), "42601") << text;
}

// The shell over a fake engine, its output in files.
class ShellTest : public testing::Test {
 protected:
  ShellTest() : session_(local_session(&engine_)), out_(std::tmpfile()), err_(std::tmpfile()) {}
  ~ShellTest() override {
    std::fclose(out_);
    std::fclose(err_);
  }
  Shell shell(ShellOptions options = {}) { return Shell(session_.get(), options, out_, err_); }
  static std::string text_of(std::FILE* file) {
    std::fflush(file);
    std::rewind(file);
    std::string text(100'000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
  }

  server::FakeEngine engine_;
  std::unique_ptr<Session> session_;
  std::FILE* out_;
  std::FILE* err_;
};

TEST_F(ShellTest, CollectsLinesUntilTheSemicolon) {
  engine_.numbers = 1;
  Shell s = shell();
  EXPECT_TRUE(s.feed_line("SELECT * FROM"));
  EXPECT_EQ(text_of(out_), "");
  // The fake engine knows the text only on one line.
  Shell t = shell();
  EXPECT_TRUE(t.feed_line("SELECT * FROM numbers; bad"));
  EXPECT_TRUE(t.feed_line(";"));
  EXPECT_TRUE(t.has_failed());
  EXPECT_EQ(text_of(out_), " n | square |  word  \n---+--------+--------\n 0 |      0 | word 0\n(1 row)\n\n");
  EXPECT_EQ(text_of(err_), "ERROR:  syntax error at or near \"bad\"\nLINE 1: bad\n        ^\n");
  EXPECT_FALSE(t.feed_line("\\q"));
}

TEST_F(ShellTest, CommandsBehindAndWithinStatements) {
  engine_.numbers = 1;
  ShellOptions options;
  options.is_quiet = true;
  Shell s = shell(options);
  const std::string row = " n | square |  word  \n---+--------+--------\n 0 |      0 | word 0\n(1 row)\n\n";
  EXPECT_TRUE(s.feed_line("SELECT * \\t on"));
  EXPECT_TRUE(s.feed_line("\\t off"));
  EXPECT_TRUE(s.feed_line("FROM numbers \\r"));
  EXPECT_EQ(text_of(out_), "");
  EXPECT_TRUE(s.feed_line("SELECT * FROM numbers \\g"));
  EXPECT_EQ(text_of(out_), row);
  EXPECT_TRUE(s.feed_line("\\g")) << "the last one again";
  EXPECT_EQ(text_of(out_), row + row);
  EXPECT_TRUE(s.feed_line("SELECT * FROM numbers \\watch 0.001 c=2"));
  EXPECT_EQ(text_of(out_), row + row + row + row);
  EXPECT_TRUE(s.feed_line("SELECT * FROM numbers \\gx"));
  EXPECT_NE(text_of(out_).find("square | 0"), std::string::npos);
  EXPECT_FALSE(s.has_failed());
  // within quotes and comments it is text
  EXPECT_TRUE(s.feed_line("SELECT '\\q' -- \\q"));
  EXPECT_TRUE(s.feed_line("; SELECT $$ \\q $$, /* \\q"));
  EXPECT_TRUE(s.feed_line("\\q */ E'\\\\'"));
  EXPECT_FALSE(s.feed_line("\\q"));
}

TEST_F(ShellTest, CommandsStopAtTheFirstErrorFilesDoNot) {
  std::string path = testing::TempDir() + "shell_test_" + std::to_string(getpid()) + ".sql";
  std::ofstream(path) << "bad;\n\\t\nSELECT * FROM numbers;\n\\echo done\n\\wrong\n";
  engine_.numbers = 1;
  ShellOptions options;
  options.is_quiet = true;
  Shell s = shell(options);
  s.run_command("bad; SELECT * FROM numbers");
  EXPECT_EQ(text_of(out_), "");
  Shell t = shell(options);
  EXPECT_TRUE(t.run_file(path));
  EXPECT_EQ(text_of(out_), " 0 |      0 | word 0\n\ndone\n");
  EXPECT_NE(text_of(err_).find("invalid command \\wrong"), std::string::npos);
  EXPECT_FALSE(t.run_file("/nowhere.sql"));
  unlink(path.c_str());
}

TEST_F(ShellTest, OnErrorStopLeavesAllFiles) {
  const std::string path = testing::TempDir() + "shell_test_" + std::to_string(getpid());
  std::ofstream(path + "_outer.sql") << "\\i " << path << "_inner.sql\n\\echo outer\n";
  ShellOptions options;
  options.stops_on_error = true;
  for (const char* command :
       {"bad;", "\\copy numbers FROM /nowhere/file", "\\copy bad", "\\wrong", "\\i /nowhere.sql"}) {
    std::ofstream(path + "_inner.sql") << "\\echo begin\n" << command << "\n\\echo inner\n";
    std::rewind(out_);
    ASSERT_EQ(ftruncate(fileno(out_), 0), 0);
    Shell s = shell(options);
    EXPECT_TRUE(s.run_file(path + "_outer.sql"));
    EXPECT_EQ(text_of(out_), "begin\n") << command;
    EXPECT_TRUE(s.has_failed());
  }
  unlink((path + "_inner.sql").c_str());
  unlink((path + "_outer.sql").c_str());
}

TEST_F(ShellTest, JsonErrorsGoWithTheResults) {
  ShellOptions options;
  options.format.format = OutputFormat::kJson;
  Shell s = shell(options);
  s.run_command("bad");
  EXPECT_EQ(text_of(out_),
            "{\"error\": {\"sqlstate\": \"42601\", \"message\": \"syntax error at or near \\\"bad\\\"\", \"position\": "
            "1}}\n");
}

}  // namespace
}  // namespace scyper::client
