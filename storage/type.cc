#include "storage/type.h"

#include <algorithm>

#include "base/object_name.h"
#include "storage/big_numeric.h"
#include "storage/enum_type.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "storage/time_modifier.h"

namespace scyper {

namespace {

const char* ordered_name(TypeId id) {
  switch (id) {
    case TypeId::kInet:
      return "inet";
    case TypeId::kCidr:
      return "cidr";
    case TypeId::kMacaddr:
      return "macaddr";
    case TypeId::kMacaddr8:
      return "macaddr8";
    case TypeId::kBit:
      return "bit";
    case TypeId::kVarbit:
      return "bit varying";
    case TypeId::kMoney:
      return "money";
    case TypeId::kTimetz:
      return "time with time zone";
    case TypeId::kInt4range:
      return "int4range";
    case TypeId::kInt8range:
      return "int8range";
    case TypeId::kDaterange:
      return "daterange";
    case TypeId::kTsrange:
      return "tsrange";
    case TypeId::kTstzrange:
      return "tstzrange";
    case TypeId::kNumrange:
      return "numrange";
    case TypeId::kInt4multirange:
      return "int4multirange";
    case TypeId::kInt8multirange:
      return "int8multirange";
    case TypeId::kDatemultirange:
      return "datemultirange";
    case TypeId::kTsmultirange:
      return "tsmultirange";
    case TypeId::kTstzmultirange:
      return "tstzmultirange";
    case TypeId::kNummultirange:
      return "nummultirange";
    case TypeId::kTsvector:
      return "tsvector";
    case TypeId::kTsquery:
      return "tsquery";
    default:
      return "?";
  }
}

const char* base_name(TypeId id) {
  switch (id) {
    case TypeId::kUnknown:
      return "unknown";
    case TypeId::kBool:
      return "boolean";
    case TypeId::kInt2:
      return "smallint";
    case TypeId::kInt4:
      return "integer";
    case TypeId::kInt8:
      return "bigint";
    case TypeId::kFloat8:
      return "double precision";
    case TypeId::kNumeric:
      return "numeric";
    case TypeId::kChar:
      return "character";
    case TypeId::kVarchar:
      return "character varying";
    case TypeId::kText:
      return "text";
    case TypeId::kDate:
      return "date";
    case TypeId::kTimestamp:
      return "timestamp without time zone";
    case TypeId::kTimestamptz:
      return "timestamp with time zone";
    case TypeId::kTime:
      return "time without time zone";
    case TypeId::kUuid:
      return "uuid";
    case TypeId::kBytea:
      return "bytea";
    case TypeId::kJsonb:
      return "jsonb";
    case TypeId::kArray:
      return "array";
    case TypeId::kRecord:
      return "record";
    case TypeId::kVoid:
      return "void";
    case TypeId::kInterval:
      return "interval";
    case TypeId::kFloat4:
      return "real";
    case TypeId::kEnum:
      return "anyenum";
    default:
      return is_ordered_bytes(id) ? ordered_name(id) : "?";
  }
}

// Names that users gave, as SQL has to write them.
std::string quoted(const std::string& name) {
  auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9'); };
  if (!name.empty() && std::all_of(name.begin(), name.end(), is_plain) && (name[0] < '0' || name[0] > '9')) return name;
  std::string text = "\"";
  for (char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

// By the bits of PostgreSQL's parser.
std::string_view interval_field_names(int32_t fields) {
  constexpr int32_t kMonth = 1 << 1, kYear = 1 << 2, kDay = 1 << 3, kHour = 1 << 10, kMinute = 1 << 11,
                    kSecond = 1 << 12;
  static constexpr struct {
    int32_t fields;
    std::string_view text;
  } kNames[] = {{kYear, " year"},
                {kMonth, " month"},
                {kDay, " day"},
                {kHour, " hour"},
                {kMinute, " minute"},
                {kSecond, " second"},
                {kYear | kMonth, " year to month"},
                {kDay | kHour, " day to hour"},
                {kDay | kHour | kMinute, " day to minute"},
                {kDay | kHour | kMinute | kSecond, " day to second"},
                {kHour | kMinute, " hour to minute"},
                {kHour | kMinute | kSecond, " hour to second"},
                {kMinute | kSecond, " minute to second"}};
  for (const auto& name : kNames)
    if (name.fields == fields) return name.text;
  return "";
}

}  // namespace

std::string time_modifier_text(TypeId id, int32_t modifier) {
  if (modifier < 0) return "";
  std::string text;
  int32_t digits = modifier;
  if (id == TypeId::kInterval) {
    text = interval_field_names(modifier >> 16);
    digits = modifier & kIntervalAllDigits;
    if (digits == kIntervalAllDigits) return text;
  }
  return text + "(" + std::to_string(digits) + ")";
}

std::string type_name(const SqlType& type) {
  if (type.id == TypeId::kArray) return type_name(element_of(type)) + "[]";
  if (type.id == TypeId::kEnum)
    if (const EnumType* known = find_enum(type.length)) {
      const std::string_view schema = schema_of(known->name);
      return (schema == kPublicSchema ? "" : quoted(std::string(schema)) + ".") +
             quoted(std::string(bare_name(known->name)));
    }
  if (is_json_text(type)) return "json";
  if (is_json_path(type)) return "jsonpath";
  if (is_name(type)) return "name";
  std::string name = base_name(type.id);
  if (type.id == TypeId::kNumeric && (type.precision > 0 || is_modified_numeric(type))) {
    return name + "(" + std::to_string(numeric_precision(type)) + "," + std::to_string(numeric_scale(type)) + ")";
  }
  if (has_clock(type.id))
    return name.insert(std::min(name.find(' '), name.size()), time_modifier_text(type.id, type.length));
  const bool has_length =
      type.id == TypeId::kChar || type.id == TypeId::kVarchar || type.id == TypeId::kBit || type.id == TypeId::kVarbit;
  return has_length && type.length >= 0 ? name + "(" + std::to_string(type.length) + ")" : name;
}

}  // namespace scyper
