#include "parse/type_resolver.h"

#include <algorithm>

#include "base/object_name.h"
#include "parse/ast_expression.h"
#include "parse/printer.h"
#include "parse/text.h"
#include "storage/big_numeric.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "storage/time_modifier.h"

namespace scyper::query {

namespace {

constexpr struct {
  std::string_view name;
  TypeId id;
} kTypes[] = {{"bool", TypeId::kBool},
              {"int2", TypeId::kInt2},
              {"int4", TypeId::kInt4},
              {"int8", TypeId::kInt8},
              {"float8", TypeId::kFloat8},
              {"numeric", TypeId::kNumeric},
              {"bpchar", TypeId::kChar},
              {"varchar", TypeId::kVarchar},
              {"text", TypeId::kText},
              {"date", TypeId::kDate},
              {"timestamp", TypeId::kTimestamp},
              {"record", TypeId::kRecord},
              {"void", TypeId::kVoid},
              {"unknown", TypeId::kUnknown},
              {"interval", TypeId::kInterval},
              {"float4", TypeId::kFloat4},
              {"refcursor", TypeId::kText},
              {"timestamptz", TypeId::kTimestamptz},
              {"time", TypeId::kTime},
              {"uuid", TypeId::kUuid},
              {"bytea", TypeId::kBytea},
              {"jsonb", TypeId::kJsonb},
              {"json", TypeId::kText},
              {"name", TypeId::kText},
              {"jsonpath", TypeId::kText},
              {"inet", TypeId::kInet},
              {"cidr", TypeId::kCidr},
              {"macaddr", TypeId::kMacaddr},
              {"macaddr8", TypeId::kMacaddr8},
              {"bit", TypeId::kBit},
              {"varbit", TypeId::kVarbit},
              {"money", TypeId::kMoney},
              {"timetz", TypeId::kTimetz},
              {"int4range", TypeId::kInt4range},
              {"int8range", TypeId::kInt8range},
              {"daterange", TypeId::kDaterange},
              {"tsrange", TypeId::kTsrange},
              {"tstzrange", TypeId::kTstzrange},
              {"numrange", TypeId::kNumrange},
              {"int4multirange", TypeId::kInt4multirange},
              {"int8multirange", TypeId::kInt8multirange},
              {"datemultirange", TypeId::kDatemultirange},
              {"tsmultirange", TypeId::kTsmultirange},
              {"tstzmultirange", TypeId::kTstzmultirange},
              {"nummultirange", TypeId::kNummultirange},
              {"tsvector", TypeId::kTsvector},
              {"tsquery", TypeId::kTsquery}};

// PostgreSQL's types that we do not have, under the names of its catalog. serial and its kin are no types but look so.
// clang-format off: one name per line else
constexpr std::string_view kForeignTypes[] = {
    "xml",
    "oid", "char", "cstring", "xid", "xid8", "cid", "tid", "pg_lsn", "point", "line", "lseg", "box",
    "path", "polygon", "circle", "regclass", "regproc", "regprocedure", "regtype", "regoper", "regrole",
    "refcursor", "anyelement", "anyarray", "anynonarray", "anyenum", "anyrange", "anycompatible", "trigger",
    "event_trigger", "internal", "serial", "bigserial", "smallserial", "serial2", "serial4", "serial8",
    "int2vector", "oidvector", "any", "anymultirange", "anycompatiblerange", "anycompatiblemultirange"};
// clang-format on

constexpr int64_t kMaxLength = 10485760;       // PostgreSQL's MaxAttrSize
constexpr int64_t kMaxNumericModifier = 1000;  // PostgreSQL's NUMERIC_MAX_PRECISION

class Resolver {
 public:
  Resolver(const ast::TypeName& type, std::string_view text) : type_(type), text_(text) {}

  StatusOr<SqlType> run() {
    std::string name = type_.name.empty() ? std::string() : type_.name.back();
    const bool system = type_.name.size() == 1 || (type_.name.size() == 2 && type_.name[0] == "pg_catalog");
    bool array = !type_.array_bounds.empty();
    if (!system || type_.percent_type || type_.percent_rowtype) return unknown();
    if (name.size() > 1 && name[0] == '_' && !array) {  // PostgreSQL's own name of an array type
      array = true;
      name.erase(0, 1);
    }
    SCYPER_ASSIGN_OR_RETURN(const SqlType element, scalar(name));
    if (!array) return element;
    if (type_.array_bounds.size() > 1) return error("0A000", "multidimensional arrays are not supported");
    if (element.id == TypeId::kRecord || element.id == TypeId::kVoid) return unsupported(name + "[]");
    return make_array(element);
  }

 private:
  Status error(std::string_view sqlstate, const std::string& message) const {
    return text_.empty() ? sql_error(sqlstate, message) : error_at(sqlstate, message, text_, type_.location);
  }
  Status unknown() const {
    return error("42704", "type \"" + without_keys(to_string(type_), /*qualified=*/true) + "\" does not exist");
  }
  Status unsupported(const std::string& name) const { return error("0A000", "type \"" + name + "\" is not supported"); }

  StatusOr<SqlType> scalar(const std::string& name) const {
    const auto named = [&](const auto& known) { return known.name == name; };
    const auto* known = std::find_if(std::begin(kTypes), std::end(kTypes), named);
    if (known == std::end(kTypes)) {
      if (std::find(std::begin(kForeignTypes), std::end(kForeignTypes), name) != std::end(kForeignTypes)) {
        return unsupported(name);
      }
      return unknown();
    }
    SCYPER_ASSIGN_OR_RETURN(const std::vector<int64_t> modifiers, integer_modifiers());
    switch (known->id) {
      case TypeId::kNumeric:
        return numeric(modifiers);
      case TypeId::kChar:
        return string(known->id, "char", modifiers);
      case TypeId::kVarchar:
        return string(known->id, "varchar", modifiers);
      case TypeId::kBit:
        return string(known->id, "bit", modifiers);
      case TypeId::kVarbit:
        return string(known->id, "varbit", modifiers);
      case TypeId::kTimestamp:
      case TypeId::kTimestamptz:
        return timestamp(known->id, "TIMESTAMP", modifiers);
      case TypeId::kTime:
      case TypeId::kTimetz:
        return timestamp(known->id, "TIME", modifiers);
      case TypeId::kInterval:
        return interval(modifiers);
      default:
        break;
    }
    if (!modifiers.empty()) return error("42601", "type modifier is not allowed for type \"" + name + "\"");
    if (name == "name") return name_type();
    if (name == "jsonpath") return json_path_type();
    return name == "json" ? json_text_type() : make_type(known->id);
  }

  StatusOr<std::vector<int64_t>> integer_modifiers() const {
    std::vector<int64_t> out;
    for (const ast::ExprPtr& modifier : type_.modifiers) {
      const auto* literal = ast::node_if<ast::Literal>(modifier.get());
      if (literal == nullptr || literal->type != ast::LiteralType::kInteger) {
        return error("42601", "type modifiers must be simple constants or identifiers");
      }
      out.push_back(literal->int_value);
    }
    return out;
  }

  StatusOr<SqlType> numeric(const std::vector<int64_t>& modifiers) const {
    if (modifiers.empty()) return make_type(TypeId::kNumeric);
    if (modifiers.size() > 2) return error("22023", "invalid NUMERIC type modifier");
    const int64_t precision = modifiers[0];
    const int64_t scale = modifiers.size() == 2 ? modifiers[1] : 0;
    if (precision < 1 || precision > kMaxNumericModifier) {
      return error("22023", "NUMERIC precision " + std::to_string(precision) + " must be between 1 and 1000");
    }
    if (scale < -kMaxNumericModifier || scale > kMaxNumericModifier) {
      return error("22023", "NUMERIC scale " + std::to_string(scale) + " must be between -1000 and 1000");
    }
    if (precision > kMaxPrecision || scale < 0 || scale > precision)
      return make_modified_numeric(static_cast<int32_t>(precision), static_cast<int32_t>(scale));
    return make_numeric(static_cast<uint8_t>(precision), static_cast<uint8_t>(scale));
  }

  StatusOr<SqlType> string(TypeId id, const std::string& name, const std::vector<int64_t>& modifiers) const {
    if (modifiers.empty()) return make_type(id);
    if (modifiers.size() > 1) return error("22023", "invalid type modifier");
    if (modifiers[0] < 1) return error("22023", "length for type " + name + " must be at least 1");
    const int64_t most = is_ordered_bytes(id) ? kMaxLength * 8 : kMaxLength;
    if (modifiers[0] > most) {
      return error("22023", "length for type " + name + " cannot exceed " + std::to_string(most));
    }
    return make_string(id, static_cast<int32_t>(modifiers[0]));
  }

  StatusOr<SqlType> timestamp(TypeId id, const std::string& name, const std::vector<int64_t>& modifiers) const {
    const std::string zone = id == TypeId::kTimestamptz || id == TypeId::kTimetz ? " WITH TIME ZONE" : "";
    if (modifiers.size() > 1) return error("22023", "invalid type modifier");
    if (modifiers.empty()) return make_type(id);
    if (modifiers[0] < 0) {
      return error("22023", name + "(" + std::to_string(modifiers[0]) + ")" + zone + " precision must not be negative");
    }
    return make_string(id, digits_of(modifiers[0]));
  }

  // PostgreSQL reduces more than 6 with a warning.
  static int32_t digits_of(int64_t given) { return static_cast<int32_t>(std::min<int64_t>(given, kMicrosecondDigits)); }

  // The fields, or those and the digits of the second.
  StatusOr<SqlType> interval(const std::vector<int64_t>& modifiers) const {
    if (modifiers.size() > 2) return error("22023", "invalid INTERVAL type modifier");
    const bool has_digits = modifiers.size() == 2;
    if (modifiers.empty() || (!has_digits && modifiers[0] == kIntervalAllFields)) return make_type(TypeId::kInterval);
    if (has_digits && modifiers[1] < 0) {
      return error("22023", "INTERVAL(" + std::to_string(modifiers[1]) + ") precision must not be negative");
    }
    const int32_t digits = has_digits ? digits_of(modifiers[1]) : kIntervalAllDigits;
    return make_string(TypeId::kInterval, interval_modifier(static_cast<int32_t>(modifiers[0]), digits));
  }

  const ast::TypeName& type_;
  std::string_view text_;
};

}  // namespace

namespace {
template <class T>
const T* find_type(const ast::TypeName& type,
                   const std::map<std::string, std::shared_ptr<const T>, std::less<>>* types) {
  if (types == nullptr || type.name.empty() || type.percent_type || type.percent_rowtype) return nullptr;
  const auto found = types->find(type.name.back());
  return found == types->end() ? nullptr : found->second.get();
}
}  // namespace

const Domain* named_domain(const ast::TypeName& type, const UserTypes& user_types) {
  return find_type(type, user_types.domains);
}

StatusOr<SqlType> resolve_type(const ast::TypeName& type, std::string_view text, const UserTypes& user_types) {
  const std::string name = type.name.empty() ? std::string() : type.name.back();
  const Domain* domain = named_domain(type, user_types);
  const auto* user_type = find_type(type, user_types.enums);
  if (domain == nullptr && user_type == nullptr) return Resolver(type, text).run();
  if (type.array_bounds.size() > 1) return sql_error("0A000", "multidimensional arrays are not supported");
  if (!type.modifiers.empty())
    return error_at("42601", "type modifier is not allowed for type \"" + name + "\"", text, type.location);
  if (domain != nullptr && !type.array_bounds.empty())
    return error_at("0A000", "arrays of domains are not supported", text, type.location);
  if (domain != nullptr) return domain->base;
  SqlType resolved = make_type(TypeId::kEnum);
  resolved.length = user_type->number;
  return type.array_bounds.empty() ? resolved : make_array(resolved);
}

std::string to_sql(const SqlType& type) {
  if (type.id == TypeId::kArray) return to_sql(element_of(type)) + "[]";
  if (type.id == TypeId::kChar && type.length < 0) return "bpchar";  // "character" is of one
  if (type.id == TypeId::kBit && type.length < 0) return "\"bit\"";  // bit alone, too
  const EnumType* user_type = type.id == TypeId::kEnum ? find_enum(type.length) : nullptr;
  return user_type != nullptr ? quote_identifier(user_type->name) : type_name(type);
}

std::string to_string(const ast::TypeName& type) {
  std::string out;
  for (const std::string& part : type.name) {
    if (!out.empty()) out += '.';
    out += part;
  }
  if (type.percent_type) out += "%TYPE";
  if (type.percent_rowtype) out += "%ROWTYPE";
  for (size_t i = 0; i < type.array_bounds.size(); ++i) out += "[]";
  return out;
}

}  // namespace scyper::query
