#include "query/normalise.h"

#include <gtest/gtest.h>

namespace scyper::query {
namespace {

std::string normalised(std::string_view sql) {
  NormalisedText text;
  if (!normalise(sql, &text)) return "-";
  std::string all = text.text;
  for (const std::string& literal : text.literals) all += " <" + literal + ">";
  return all;
}

TEST(NormaliseTest, ReplacesValues) {
  EXPECT_EQ(normalised("SELECT a FROM t WHERE b = 5"), "select a from t where b = $1::int4 <5>");
  EXPECT_EQ(normalised("select A\n/* x /* y */ */ FROM t -- z\nWHERE b=5;"), "select a from t where b = $1::int4 <5>");
  EXPECT_EQ(normalised("SELECT \"A\" FROM t WHERE b = 'it''s'"), "select \"A\" from t where b = $1 <it's>");
  EXPECT_EQ(normalised("INSERT INTO t (a, b) VALUES (1, 'x'), (-2, 2.50)"),
            "insert into t ( a , b ) values ( $1::int4 , $2 ) , ( - $3::int4 , $4::numeric(3,2) ) <1> <x> <2> <2.50>");
  EXPECT_EQ(normalised("UPDATE t SET a = a + 0.05 WHERE k IN (1, 3000000000)"),
            "update t set a = a + $1::numeric(2,2) where k in ( $2::int4 , $3::int8 ) <0.05> <1> <3000000000>");
  EXPECT_EQ(normalised("CALL p(7, 'x', NULL)"), "call p ( $1::int4 , $2 , null ) <7> <x>");
  EXPECT_EQ(normalised("SELECT a[2] FROM t WHERE b BETWEEN 1 AND 2"),
            "select a [ $1::int4 ] from t where b between $2::int4 and $3::int4 <2> <1> <2>");
  EXPECT_EQ(normalised("SELECT 'x', 5 + a FROM t"), "select $1 , $2::int4 + a from t <x> <5>");
}

TEST(NormaliseTest, KeepsWhatDecides) {
  EXPECT_EQ(normalised("SELECT 5, a FROM t ORDER BY 1, 2 LIMIT 5 OFFSET 3"),
            "select 5 , a from t order by 1 , 2 limit 5 offset 3");
  EXPECT_EQ(normalised("SELECT a + 1 FROM t GROUP BY a + 1 HAVING count(*) > 2"),
            "select a + $1::int4 from t group by a + 1 having count ( * ) > $2::int4 <1> <2>");
  EXPECT_EQ(normalised("SELECT x::numeric(8,2), CAST(y AS char(3)), round(z, 2) FROM t"),
            "select x :: numeric ( 8 , 2 ) , cast ( y as char ( 3 ) ) , round ( z , 2 ) from t");
  EXPECT_EQ(normalised("SELECT * FROM t WHERE d > DATE '2020-01-01' + interval '1 day'"),
            "select * from t where d > date '2020-01-01' + interval '1 day'");
  EXPECT_EQ(normalised("SELECT * FROM t WHERE a LIKE 'x%' OR b = NULL OR c = TRUE"),
            "select * from t where a like 'x%' or b = null or c = true");
  EXPECT_EQ(normalised("SELECT * FROM t WHERE a = -2147483648 OR b = E'\\n'"),
            "select * from t where a = - 2147483648 or b = E'\\n'");
  EXPECT_EQ(normalised("SELECT (SELECT 5), (6) FROM t"), "select ( select 5 ) , ( 6 ) from t");
}

TEST(NormaliseTest, LeavesOthersAlone) {
  for (const char* sql : {"", "CREATE TABLE t (a char(5))", "SELECT $1", "SELECT 1; SELECT 2", "SELECT 'a'\n'b'",
                          "SELECT 'a", "DO $$ BEGIN END $$", "SELECT (1", "EXPLAIN SELECT 1", "SELECT 5x", "\xff"})
    EXPECT_EQ(normalised(sql), "-") << sql;
}

}  // namespace
}  // namespace scyper::query
