#include "generator/kind.h"

namespace scyper::generator {

const char* type_name(Kind kind) {
  switch (kind) {
    case Kind::kSmallint:
      return "smallint";
    case Kind::kInteger:
      return "integer";
    case Kind::kBigint:
      return "bigint";
    case Kind::kNumeric:
      return "numeric";
    case Kind::kDouble:
      return "double precision";
    case Kind::kText:
      return "text";
    case Kind::kBoolean:
      return "boolean";
    case Kind::kDate:
      return "date";
    case Kind::kTimestamp:
      return "timestamp";
    case Kind::kTimestamptz:
      return "timestamptz";
    case Kind::kTime:
      return "time";
    case Kind::kInterval:
      return "interval";
    case Kind::kUuid:
      return "uuid";
    case Kind::kBytea:
      return "bytea";
    case Kind::kJsonb:
      return "jsonb";
    case Kind::kEnum:
      return "mood";
    case Kind::kIntegers:
      return "integer[]";
    case Kind::kTexts:
      return "text[]";
  }
  return "";
}

std::string column_type(Kind kind, Random* random) {
  if (kind == Kind::kNumeric) return random->one_of({"numeric", "numeric(16,2)", "numeric(20,4)", "numeric(12)"});
  if (kind == Kind::kText) return random->one_of({"text", "text", "varchar(200)", "varchar", "char(140)"});
  return type_name(kind);
}

Kind random_kind(Random* random) {
  static constexpr char kLetters[] = "iiiiihgnnnnfssssssbbdddtttzzcvvuyjjeeITT";
  return static_cast<Kind>(kLetters[random->pick(sizeof(kLetters) - 1)]);
}

bool is_key_kind(Kind kind) {
  return kind != Kind::kNumeric && kind != Kind::kDouble && kind != Kind::kInterval && kind != Kind::kJsonb;
}

bool is_index_kind(Kind kind) {
  return kind != Kind::kInterval && kind != Kind::kJsonb && kind != Kind::kIntegers && kind != Kind::kTexts;
}

bool is_plain_typed(Kind kind) {
  return kind == Kind::kInteger || kind == Kind::kNumeric || kind == Kind::kBoolean || kind == Kind::kText;
}

namespace {
// Without quotes; of texts, what is between them.
std::string content(Kind kind, Random* random) {
  switch (kind) {
    case Kind::kSmallint:
    case Kind::kInteger:
    case Kind::kBigint:
      return std::to_string(random->chance(6) ? random->pick(2000) - 1000 : random->pick(12) - 2);
    case Kind::kNumeric:
      return random->one_of({"0", "1.5", "-2.25", "10.00", "0.1", "99.99", "3", "-7.125"});
    case Kind::kDouble:
      return random->one_of({"0", "1.5", "-2.25", "100", "0.1", "1e10", "-0.5"});
    case Kind::kText:
      return random->one_of({"a", "b", "ab", "", "B", "abc", "a b", "1", "x,y", "O''K", "\u00e9a", " c"});
    case Kind::kBoolean:
      return random->one_of({"true", "false"});
    case Kind::kDate:
      return random->one_of({"2024-01-05", "2024-02-29", "2023-12-31", "2000-01-01", "1999-06-15"});
    case Kind::kTimestamp:
      return random->one_of({"2024-01-05 00:00:00", "2024-02-29 23:59:59.5", "2000-01-01 12:30:00"});
    case Kind::kTimestamptz:
      return random->one_of({"2024-01-05 00:00:00+00", "2024-02-29 23:59:59.5+02", "2000-01-01 12:30:00-05"});
    case Kind::kTime:
      return random->one_of({"00:00:00", "12:30:00", "23:59:59.999"});
    case Kind::kInterval:
      return random->one_of({"1 day", "1 mon", "-2 days 03:00:00", "01:30:00", "1 year 2 mons", "0"});
    case Kind::kUuid:
      return "00000000-0000-0000-0000-00000000000" + std::to_string(random->pick(6));
    case Kind::kBytea:
      return random->one_of({"\\x", "\\x00", "\\x616263", "\\xff01"});
    case Kind::kJsonb:
      return random->one_of({"{}", R"({"a": 1})", R"({"a": {"b": [1, 2]}, "c": null})", "[1, \"x\", true]", "5", "null",
                             R"("text")", R"({"b": "y", "a": "12"})"});
    case Kind::kEnum:
      return random->one_of({"sad", "ok", "happy"});
    case Kind::kIntegers:
      return random->one_of({"{}", "{1}", "{1,2,3}", "{3,NULL,1}", "{5,5}"});
    case Kind::kTexts:
      return random->one_of({"{}", "{a}", "{a,b,c}", "{\"a b\",NULL}", "{b,b}"});
  }
  return "";
}
}  // namespace

std::string typed_constant(Kind kind, Random* random) {
  std::string text = random->chance(8) ? "NULL" : "'" + content(kind, random) + "'";
  return text + "::" + type_name(kind);
}

std::string plain_constant(Kind kind, Random* random, bool may_be_null) {
  if (may_be_null && random->chance(8)) return "NULL";
  std::string text = content(kind, random);
  switch (kind) {
    case Kind::kSmallint:
    case Kind::kInteger:
    case Kind::kBigint:
    case Kind::kBoolean:
    case Kind::kNumeric:
      return text[0] == '-' ? "(" + text + ")" : text;
    default:
      return "'" + text + "'";
  }
}

}  // namespace scyper::generator
