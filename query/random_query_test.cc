#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>

#include "testing/postgres_session.h"
#include "testing/session.h"
#include "types/datum_text.h"

// Random queries over small tables, on PostgreSQL 15 and on ScyPer in both modes. SCYPER_TEST_SEED repeats a run,
// SCYPER_TEST_QUERIES says how many.
namespace scyper::query {
namespace {

class QueryMaker {
 public:
  explicit QueryMaker(uint64_t seed) : random_(seed) {}

  std::vector<std::string> tables() {
    return {"CREATE TABLE r (a integer PRIMARY KEY, b integer, c numeric(6,2), d varchar(4), e boolean)",
            "CREATE INDEX r_b ON r (b)",
            "CREATE TABLE s (a integer, b bigint, c numeric(8,3), d char(4), e date, PRIMARY KEY (a, b))",
            "CREATE INDEX s_c ON s (c DESC)",
            "CREATE TABLE w (a integer, b smallint, c double precision, d text)",
            "INSERT INTO r VALUES " + rows(12, "%k,%i,%n,%s,%b"),
            "INSERT INTO s VALUES " + rows(15, "%k,%j,%n,%s,%d"),
            "INSERT INTO w VALUES " + rows(10, "%i,%i,%f,%s")};
  }

  std::string query() {
    sources_.clear();
    std::string from = " FROM " + source();
    if (chance(55)) {
      if (chance(25)) {
        from += ", " + source();
      } else {
        std::string join = chance(60) ? " JOIN " : " LEFT JOIN ";
        from += join + source();
        from += " ON " + (chance(70) ? equality() : condition(1));
      }
    }
    std::string where = chance(60) ? " WHERE " + condition(2) : "";
    if (chance(30)) return grouped(from + where);
    std::string select = chance(15) ? "SELECT DISTINCT " : "SELECT ";
    int columns = 1 + pick(3);
    std::string order;
    for (int i = 0; i < columns; i++) {
      select += (i > 0 ? ", " : "") + value(2);
      order += (i > 0 ? ", " : " ORDER BY ") + std::to_string(i + 1) + direction();
    }
    // a total order: ties show the same rows
    std::string limit = chance(40) ? " LIMIT " + std::to_string(pick(6)) : "";
    if (chance(20)) limit += " OFFSET " + std::to_string(pick(4));
    return select + from + where + order + limit;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  std::string one_of(std::initializer_list<const char*> items) {
    return *(items.begin() + pick(static_cast<int>(items.size())));
  }

  std::string cell(char kind, int row) {
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
      default:
        return one_of({"0", "1.5", "-2.25", "100", "0.1"});
    }
  }

  std::string rows(int count, const std::string& pattern) {
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

  struct Column {
    std::string name;
    char type;  // i number, s string, b boolean, d date
  };

  std::string source() {
    static constexpr const char* kNames[] = {"r", "s", "w"};
    static const std::vector<Column> kColumns[] = {{{"a", 'i'}, {"b", 'i'}, {"c", 'i'}, {"d", 's'}, {"e", 'b'}},
                                                   {{"a", 'i'}, {"b", 'i'}, {"c", 'i'}, {"d", 's'}, {"e", 'd'}},
                                                   {{"a", 'i'}, {"b", 'i'}, {"c", 'i'}, {"d", 's'}}};
    int table = pick(3);
    std::string alias = "t" + std::to_string(sources_.size());
    sources_.push_back({alias, &kColumns[table]});
    if (chance(20))
      return std::string("(SELECT * FROM ") + kNames[table] + " WHERE a < " + std::to_string(pick(12)) + ") " + alias;
    return std::string(kNames[table]) + " " + alias;
  }

  std::string column(char type) {
    for (int attempt = 0; attempt < 20; attempt++) {
      const auto& [alias, columns] = sources_[static_cast<size_t>(pick(static_cast<int>(sources_.size())))];
      const Column& c = (*columns)[static_cast<size_t>(pick(static_cast<int>(columns->size())))];
      if (c.type == type) return alias + "." + c.name;
    }
    return type == 'i' ? "1" : type == 's' ? "'a'::text" : type == 'b' ? "true" : "date '2024-01-03'";
  }

  std::string number(int depth) {
    if (depth == 0 || chance(40))
      return chance(70) ? column('i') : one_of({"0", "1", "2", "-1", "3", "1.5", "2.50", "NULL::integer"});
    switch (pick(8)) {
      case 0:
        return "coalesce(" + number(depth - 1) + ", " + number(depth - 1) + ")";
      case 1:
        return "CASE WHEN " + condition(depth - 1) + " THEN " + number(depth - 1) + " ELSE " + number(depth - 1) +
               " END";
      case 2:
        return "abs(" + number(depth - 1) + ")";
      case 3:
        return "length(" + string(depth - 1) + ")";
      case 4:
        return "greatest(" + number(depth - 1) + ", " + number(depth - 1) + ")";
      case 5:
        return "(SELECT " + one_of({"max", "min", "count", "sum"}) + "(z.a) FROM r z WHERE z.b = " + column('i') + ")";
      default:
        return "(" + number(depth - 1) + one_of({" + ", " - ", " * "}) + number(depth - 1) + ")";
    }
  }

  std::string string(int depth) {
    if (depth == 0 || chance(50))
      return chance(75) ? column('s') : one_of({"'a'::text", "'ab'::text", "''::text", "NULL::text"});
    switch (pick(4)) {
      case 0:
        return "upper(" + string(depth - 1) + ")";
      case 1:
        return "substr(" + string(depth - 1) + ", 1, 2)";
      case 2:
        return "coalesce(" + string(depth - 1) + "::text, 'z')";
      default:
        return "(" + string(depth - 1) + " || " + string(depth - 1) + ")";
    }
  }

  std::string value(int depth) {
    switch (pick(6)) {
      case 0:
        return string(depth);
      case 1:
        return "(" + condition(depth - 1) + ")";
      case 2:
        return column('d');
      default:
        return "(" + number(depth) + ")::numeric(30,6)";  // equal values look the same
    }
  }

  std::string equality() {
    if (sources_.size() < 2) return condition(1);
    return sources_[0].first + "." + one_of({"a", "b"}) + " = " + sources_[1].first + "." + one_of({"a", "b", "c"});
  }

  std::string condition(int depth) {
    std::string compare = one_of({" = ", " <> ", " < ", " <= ", " > ", " >= "});
    if (depth > 0 && chance(45)) {
      switch (pick(4)) {
        case 0:
          return "NOT (" + condition(depth - 1) + ")";
        case 1:
          return "(" + condition(depth - 1) + " OR " + condition(depth - 1) + ")";
        default:
          return "(" + condition(depth - 1) + " AND " + condition(depth - 1) + ")";
      }
    }
    switch (pick(11)) {
      case 0:
        return number(1) + " IS " + one_of({"NULL", "NOT NULL"});
      case 1:
        return string(1) + compare + string(1);
      case 2:
        return number(1) + one_of({" IN (", " NOT IN ("}) + "1, 2, " + number(0) + ")";
      case 3:
        return number(1) + " BETWEEN " + number(0) + " AND " + number(0);
      case 4:
        return column('d') + compare + "'2024-01-05'";
      case 5:
        return string(0) + " LIKE " + one_of({"'a%'", "'_b'", "'%'"});
      case 6:
        return one_of({"EXISTS (", "NOT EXISTS ("}) + "SELECT 1 FROM s z WHERE z.a" + compare + column('i') + ")";
      case 7:
        return number(0) + one_of({" IN (", " NOT IN ("}) + "SELECT z.b FROM r z WHERE z.a < " + number(0) + ")";
      case 8:
        return column('i') + compare + std::to_string(pick(9) - 2);
      case 9:
        return column('b') + one_of({" IS TRUE", " IS NOT TRUE", "", " IS UNKNOWN"});
      default:
        return number(1) + compare + number(1);
    }
  }

  std::string direction() { return one_of({"", " DESC", " NULLS FIRST", " DESC NULLS LAST"}); }

  std::string grouped(const std::string& from) {
    std::string key = value(1);
    std::string select = "SELECT " + key;
    // sums of doubles depend on the order of rows: integers and numerics by casts
    int aggregates = 1 + pick(2);
    std::string order = " ORDER BY 1" + direction();
    for (int i = 0; i < aggregates; i++) {
      std::string arg = "(" + number(1) + ")::numeric(20,4)";
      switch (pick(5)) {
        case 0:
          select += ", count(*)";
          break;
        case 1:
          select += ", count(DISTINCT " + value(1) + ")";
          break;
        case 2:
          select += ", " + one_of({"sum", "avg"}) + "(" + arg + ")";
          break;
        case 3:
          select += ", " + one_of({"min", "max"}) + "(" + (chance(50) ? string(1) : arg) + ")";
          break;
        default:
          select += ", sum(" + arg + ") FILTER (WHERE " + condition(1) + ")";
          break;
      }
      order += ", " + std::to_string(i + 2);
    }
    std::string having = chance(25) ? " HAVING count(*) > " + std::to_string(pick(3)) : "";
    return select + from + " GROUP BY " + (chance(50) ? "1" : key) + having + order + (chance(30) ? " LIMIT 3" : "");
  }

  std::mt19937_64 random_;
  std::vector<std::pair<std::string, const std::vector<Column>*>> sources_;
};

DatabaseOptions options_for(ExecutionMode mode) {
  DatabaseOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{1} << 30;
  options.execution = mode;
  return options;
}

std::string text_of(const StatementOutcome& outcome) {
  if (!outcome.ok()) return "ERROR " + outcome.sqlstate;
  std::string text;
  for (size_t i = 0; i < outcome.rows.size(); i++) text += (i == 0 ? "" : "\n") + outcome.rows[i];
  return text;
}

std::string text_of(Session* session, const std::string& sql) {
  std::string text = session->text(sql);
  return text.compare(0, 6, "ERROR ") == 0 ? text.substr(0, 11) : text;
}

TEST(RandomQueries, AreAsOnPostgres) {
  const char* given = std::getenv("SCYPER_TEST_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : static_cast<uint64_t>(time(nullptr));
  std::cout << "SCYPER_TEST_SEED=" << seed << "\n";
  const char* wanted = std::getenv("SCYPER_TEST_QUERIES");
  int count = wanted != nullptr ? std::atoi(wanted) : 400;
  QueryMaker maker(seed);
  PostgresSession postgres("scyper_random");
  Session interpreted(options_for(ExecutionMode::kInterpreted));
  Session native(options_for(ExecutionMode::kQuick));
  for (const auto& sql : maker.tables()) {
    ASSERT_TRUE(postgres.run(sql).ok()) << sql;
    ASSERT_TRUE(interpreted.run(sql).ok()) << sql;
    ASSERT_TRUE(native.run(sql).ok()) << sql;
  }
  int errors = 0, refused = 0, wrong = 0;
  for (int i = 0; i < count && wrong < 10; i++) {
    std::string sql = maker.query();
    if (std::getenv("SCYPER_TEST_TRACE") != nullptr) std::cerr << sql << std::endl;
    std::string truth = text_of(postgres.run(sql));
    std::string first = text_of(&interpreted, sql);
    std::string second = text_of(&native, sql);
    errors += truth.compare(0, 6, "ERROR ") == 0 ? 1 : 0;
    if (first == "ERROR 0A000") {
      refused++;
      continue;
    }
    if (truth == first && truth == second) continue;
    wrong++;
    ADD_FAILURE() << sql << "\n  PostgreSQL\n"
                  << truth << "\n  interpreted\n"
                  << interpreted.text(sql) << (first == second ? "" : "\n  native\n" + second);
  }
  std::cout << "[   oracle ] " << count << " queries, " << errors << " fail on both sides, " << refused << " refused\n";
}

}  // namespace
}  // namespace scyper::query
