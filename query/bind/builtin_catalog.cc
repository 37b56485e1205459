#include "bind/builtin_catalog.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bind/system_types.h"
#include "query/encodings.h"

namespace scyper::query {

namespace {

constexpr std::string_view kProcedures[] = {
#include "bind/builtin_procedures.inc"
};
constexpr std::string_view kOperators[] = {
#include "bind/builtin_operators.inc"
};
constexpr std::string_view kCasts[] = {
#include "bind/builtin_casts.inc"
};
constexpr std::string_view kAggregates[] = {
#include "bind/builtin_aggregates.inc"
};
constexpr std::string_view kClasses[] = {
#include "bind/builtin_operator_classes.inc"
};
constexpr std::string_view kFamilies[] = {
#include "bind/builtin_operator_families.inc"
};
constexpr std::string_view kFamilyOperators[] = {
#include "bind/builtin_family_operators.inc"
};
constexpr std::string_view kFamilyProcedures[] = {
#include "bind/builtin_family_procedures.inc"
};
constexpr std::string_view kKeywords[] = {
#include "bind/builtin_keywords.inc"
};
constexpr std::string_view kTypes[] = {
#include "bind/builtin_types.inc"
};

struct Lines {
  std::string_view name;
  std::span<const std::string_view> lines;
};
constexpr Lines kLines[] = {{"procedures", kProcedures},
                            {"operators", kOperators},
                            {"casts", kCasts},
                            {"aggregates", kAggregates},
                            {"operator_classes", kClasses},
                            {"operator_families", kFamilies},
                            {"family_operators", kFamilyOperators},
                            {"family_procedures", kFamilyProcedures},
                            {"keywords", kKeywords}};

std::vector<std::string> fields_of(std::string_view line) {
  return absl::StrSplit(absl::string_view(line.data(), line.size()), ' ');
}

int64_t number_of(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }

std::vector<SystemRow> no_rows(const Catalog&) { return {}; }

}  // namespace

std::optional<std::string_view> builtin_lines(std::string_view name) {
  static const auto& texts = *new std::map<std::string_view, std::string>([] {
    std::map<std::string_view, std::string> all;
    for (const Lines& lines : kLines) {
      std::string& text = all[lines.name];
      for (const std::string_view line : lines.lines) text.append(text.empty() ? "" : "\n").append(line);
    }
    return all;
  }());
  const auto found = texts.find(name);
  return found == texts.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

// The line has: oid name length byval type category preferred delimiter subscript element array input output receive
// send modin modout analyze alignment storage collation.
const std::vector<SystemRow>& builtin_type_rows() {
  static const auto& rows = *new std::vector<SystemRow>([] {
    std::vector<SystemRow> all;
    for (const std::string_view line : kTypes) {
      const std::vector<std::string> f = fields_of(line);
      const auto number = [&](size_t i) { return number_of(f[i]); };
      all.push_back({number(0),     f[1],         kCatalogSchemaOid, kOwnerOid,  number(2),  f[3] == "t",
                     f[4],          f[5],         f[6] == "t",       true,       f[7],       int64_t{0},
                     number(8),     number(9),    number(10),        number(11), number(12), number(13),
                     number(14),    number(15),   number(16),        number(17), f[18],      f[19],
                     false,         int64_t{0},   int64_t{-1},       int64_t{0}, number(20), SystemValue(),
                     SystemValue(), SystemValue()});
    }
    return all;
  }());
  return rows;
}

const std::vector<BuiltinFunction>& builtin_functions() {
  static const auto& functions = *new std::vector<BuiltinFunction>([] {
    constexpr size_t kArguments = 14;
    std::vector<BuiltinFunction> all;
    for (const std::string_view line : kProcedures) {
      std::vector<std::string> f = fields_of(line);
      BuiltinFunction& function = all.emplace_back();
      function.oid = number_of(f[0]);
      function.name = std::move(f[1]);
      if (f[kArguments] == "-") continue;
      for (const auto& type : absl::StrSplit(f[kArguments], ','))
        function.arguments.push_back(number_of(std::string(type)));
    }
    return all;
  }());
  return functions;
}

int64_t builtin_operator_class(int64_t type) {
  static const auto& classes = *new std::map<int64_t, int64_t>([] {
    std::map<int64_t, int64_t> all;
    for (const std::string_view line : kClasses) {
      const std::vector<std::string> f = fields_of(line);  // oid method name family input default key
      if (f[1] == "403" && f[5] == "t") all.emplace(number_of(f[4]), number_of(f[0]));
    }
    constexpr int64_t kVarcharOid = 1043, kTextOid = 25;
    all[kVarcharOid] = all[kTextOid];
    return all;
  }());
  const auto found = classes.find(type);
  return found == classes.end() ? 0 : found->second;
}

namespace {

// Field i of a line, from 1.
#define F(i) "split_part(l, ' ', " #i ")"
#define N(i) F(i) "::int8"
#define B(i) F(i) " = 't'"
#define OR_NULL(i) "nullif(" F(i) ", '-')"
#define LIST(i) "('{' || " OR_NULL(i) " || '}')"
#define FROM_LINES(name) \
  " FROM (SELECT string_to_table(pg_catalog.scyper_builtin_lines('" name "'), chr(10)) AS l) AS lines"
#define ARGUMENTS "string_to_array(" OR_NULL(15) ", ',')"

constexpr std::string_view kProcedureQuery =
    "SELECT oid, proname, pronamespace, proowner, prolang, procost, prorows, provariadic, prosupport, prokind, "
    "prosecdef, proleakproof, proisstrict, proretset, provolatile, proparallel, pronargs, pronargdefaults, prorettype, "
    "proargtypes, proallargtypes, proargmodes, proargnames, proargdefaults, protrftypes, prosrc, probin, prosqlbody, "
    "proconfig, proacl FROM pg_catalog.scyper_routines UNION ALL SELECT " N(1) " AS oid, " F(2) " AS proname, "
    "11::int8 AS pronamespace, 10::int8 AS proowner, " N(3) " AS prolang, " F(4) "::float4 AS procost, " F(5)
    "::float4 AS prorows, " N(6) " AS provariadic, 0::int8 AS prosupport, " F(7) " AS prokind, false AS prosecdef, "
    B(12) " AS proleakproof, " B(8) " AS proisstrict, " B(9) " AS proretset, " F(10) " AS provolatile, " F(11)
    " AS proparallel, coalesce(cardinality(" ARGUMENTS "), 0)::int2 AS pronargs, " F(13) "::int2 AS pronargdefaults, "
    N(14) " AS prorettype, CASE WHEN " F(15) " = '-' THEN '{}' ELSE '[0:' || cardinality(" ARGUMENTS ") - 1 || ']={' "
    "|| " F(15) " || '}' END::int8[] AS proargtypes, " LIST(16) "::int8[] AS proallargtypes, " LIST(17)
    "::text[] AS proargmodes, string_to_array(" OR_NULL(18) ", ',') AS proargnames, NULL::text AS proargdefaults, "
    "NULL::int8[] AS protrftypes, " F(19) " AS prosrc, NULL::text AS probin, NULL::text AS prosqlbody, "
    "NULL::text[] AS proconfig, NULL::text[] AS proacl" FROM_LINES("procedures");

// The rest of a line, behind the fields: ;arguments;identity arguments, = the same;result
#define BEHIND "substr(l, strpos(l, ' ;') + 2)"
constexpr std::string_view kRoutineTextQuery =
    "SELECT scyper_oid, scyper_result, scyper_arguments, scyper_identity_arguments, scyper_definition "
    "FROM pg_catalog.scyper_own_routine_texts UNION ALL SELECT " N(
        1) " AS scyper_oid, split_part(" BEHIND ", ';', 3) AS scyper_result, split_part(" BEHIND
           ", ';', 1) AS scyper_arguments, CASE split_part(" BEHIND ", ';', 2) WHEN '=' THEN split_part(" BEHIND
           ", ';', 1) ELSE split_part(" BEHIND
           ", ';', 2) END AS "
           "scyper_identity_arguments, NULL::text AS scyper_definition" FROM_LINES("procedures");

constexpr std::string_view kOperatorQuery =
    "SELECT " N(1) " AS oid, " F(2) " AS oprname, 11::int8 AS oprnamespace, 10::int8 AS oprowner, " F(3) " AS oprkind, "
    B(4) " AS oprcanmerge, " B(5) " AS oprcanhash, " N(6) " AS oprleft, " N(7) " AS oprright, " N(8)
    " AS oprresult, " N(9) " AS oprcom, " N(10) " AS oprnegate, " N(11) " AS oprcode, " N(12) " AS oprrest, " N(13)
    " AS oprjoin" FROM_LINES("operators");

constexpr std::string_view kCastQuery = "SELECT " N(1) " AS oid, " N(2) " AS castsource, " N(3) " AS casttarget, " N(
    4) " AS castfunc, " F(5) " AS castcontext, " F(6) " AS castmethod" FROM_LINES("casts");

constexpr std::string_view kAggregateQuery =
    "SELECT " N(1) " AS aggfnoid, " F(2) " AS aggkind, " F(3) "::int2 AS aggnumdirectargs, " N(4) " AS aggtransfn, "
    N(5) " AS aggfinalfn, " N(6) " AS aggcombinefn, " N(7) " AS aggserialfn, " N(8) " AS aggdeserialfn, " N(9)
    " AS aggmtransfn, " N(10) " AS aggminvtransfn, " N(11) " AS aggmfinalfn, " B(12) " AS aggfinalextra, " B(13)
    " AS aggmfinalextra, " F(14) " AS aggfinalmodify, " F(15) " AS aggmfinalmodify, " N(16) " AS aggsortop, " N(17)
    " AS aggtranstype, " F(18) "::int4 AS aggtransspace, " N(19) " AS aggmtranstype, " F(20)
    "::int4 AS aggmtransspace, " OR_NULL(21) " AS agginitval, " OR_NULL(22) " AS aggminitval" FROM_LINES("aggregates");

constexpr std::string_view kClassQuery =
    "SELECT " N(1) " AS oid, " N(2) " AS opcmethod, " F(3) " AS opcname, 11::int8 AS opcnamespace, 10::int8 AS "
    "opcowner, " N(4) " AS opcfamily, " N(5) " AS opcintype, " B(6) " AS opcdefault, " N(7) " AS opckeytype"
    FROM_LINES("operator_classes");

constexpr std::string_view kFamilyQuery = "SELECT " N(1) " AS oid, " N(2) " AS opfmethod, " F(
    3) " AS opfname, 11::int8 AS opfnamespace, 10::int8 AS opfowner" FROM_LINES("operator_families");

constexpr std::string_view kFamilyOperatorQuery =
    "SELECT " N(1) " AS oid, " N(2) " AS amopfamily, " N(3) " AS amoplefttype, " N(4) " AS amoprighttype, " F(5)
    "::int2 AS amopstrategy, " F(6) " AS amoppurpose, " N(7) " AS amopopr, " N(8) " AS amopmethod, " N(9)
    " AS amopsortfamily" FROM_LINES("family_operators");

constexpr std::string_view kFamilyProcedureQuery =
    "SELECT " N(1) " AS oid, " N(2) " AS amprocfamily, " N(3) " AS amproclefttype, " N(4) " AS amprocrighttype, " F(
        5) "::int2 AS amprocnum, " N(6) " AS amproc" FROM_LINES("family_procedures");

constexpr std::string_view kKeywordQuery =
    "SELECT " F(1) " AS word, " F(2) " AS catcode, " B(3) " AS barelabel, CASE " F(2) " WHEN 'U' THEN 'unreserved' "
    "WHEN 'C' THEN 'unreserved (cannot be function or type name)' WHEN 'T' THEN 'reserved (can be function or type "
    "name)' ELSE 'reserved' END AS catdesc, CASE " F(3) " WHEN 't' THEN 'can be bare label' ELSE 'requires AS' END AS "
    "baredesc" FROM_LINES("keywords");

#undef BEHIND
#undef ARGUMENTS
#undef FROM_LINES
#undef LIST
#undef OR_NULL
#undef B
#undef N
#undef F

}  // namespace

std::vector<SystemTable> builtin_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  return {
      {kSchema, "pg_proc",
       columns_of("oid:int8 proname pronamespace:int8 proowner:int8 prolang:int8 procost:float4 prorows:float4 "
                  "provariadic:int8 prosupport:regproc prokind prosecdef:bool proleakproof:bool proisstrict:bool "
                  "proretset:bool provolatile proparallel pronargs:int2 pronargdefaults:int2 prorettype:int8 "
                  "proargtypes:oidvector proallargtypes:int8[] proargmodes:text[] proargnames:text[] proargdefaults "
                  "protrftypes:int8[] prosrc probin prosqlbody proconfig:text[] proacl:text[]"),
       no_rows, kProcedureQuery},
      {kSchema, "scyper_routine_texts",
       columns_of("scyper_oid:int8 scyper_result scyper_arguments scyper_identity_arguments scyper_definition"),
       no_rows, kRoutineTextQuery},
      {kSchema, "pg_operator",
       columns_of("oid:int8 oprname oprnamespace:int8 oprowner:int8 oprkind oprcanmerge:bool oprcanhash:bool "
                  "oprleft:int8 oprright:int8 oprresult:int8 oprcom:int8 oprnegate:int8 oprcode:regproc "
                  "oprrest:regproc oprjoin:regproc"),
       no_rows, kOperatorQuery},
      {kSchema, "pg_cast", columns_of("oid:int8 castsource:int8 casttarget:int8 castfunc:int8 castcontext castmethod"),
       no_rows, kCastQuery},
      {kSchema, "pg_aggregate",
       columns_of(
           "aggfnoid:regproc aggkind aggnumdirectargs:int2 aggtransfn:regproc aggfinalfn:regproc aggcombinefn:regproc "
           "aggserialfn:regproc aggdeserialfn:regproc aggmtransfn:regproc aggminvtransfn:regproc aggmfinalfn:regproc "
           "aggfinalextra:bool aggmfinalextra:bool aggfinalmodify aggmfinalmodify aggsortop:int8 aggtranstype:int8 "
           "aggtransspace:int4 aggmtranstype:int8 aggmtransspace:int4 agginitval aggminitval"),
       no_rows, kAggregateQuery},
      {kSchema, "pg_opclass",
       columns_of("oid:int8 opcmethod:int8 opcname opcnamespace:int8 opcowner:int8 opcfamily:int8 opcintype:int8 "
                  "opcdefault:bool opckeytype:int8"),
       no_rows, kClassQuery},
      {kSchema, "pg_opfamily", columns_of("oid:int8 opfmethod:int8 opfname opfnamespace:int8 opfowner:int8"), no_rows,
       kFamilyQuery},
      {kSchema, "pg_amop",
       columns_of("oid:int8 amopfamily:int8 amoplefttype:int8 amoprighttype:int8 amopstrategy:int2 amoppurpose "
                  "amopopr:int8 amopmethod:int8 amopsortfamily:int8"),
       no_rows, kFamilyOperatorQuery},
      {kSchema, "pg_amproc",
       columns_of("oid:int8 amprocfamily:int8 amproclefttype:int8 amprocrighttype:int8 amprocnum:int2 amproc:regproc"),
       no_rows, kFamilyProcedureQuery},
  };
}

std::string_view builtin_function_query(std::string_view name) {
  return name == "pg_get_keywords" ? kKeywordQuery : std::string_view();
}

bool is_builtin_call_text(std::string_view name) {
  return name == "pg_client_encoding" || name == "pg_encoding_to_char" || name == "pg_char_to_encoding";
}

std::string builtin_call_text(std::string_view name, const std::vector<std::string>& arguments) {
  if (name == "pg_client_encoding" && arguments.empty()) return "current_setting('client_encoding')";
  const bool is_number = name == "pg_encoding_to_char";
  if (arguments.size() != 1 || (!is_number && name != "pg_char_to_encoding")) return "";
  std::vector<std::string> names;
  for (int i = 0; find_encoding(i) != nullptr; ++i) {
    std::string known(find_encoding(i)->name);
    if (!is_number) {
      std::erase(known, '_');
      known = absl::AsciiStrToLower(known);
    }
    names.push_back("'" + known + "'");
  }
  const std::string list = "(ARRAY[" + absl::StrJoin(names, ", ") + "])";
  if (is_number) return "coalesce(" + list + "[(" + arguments[0] + ")::int4 + 1], '')";
  const std::string plain = "lower(regexp_replace((" + arguments[0] + ")::text, '[^A-Za-z0-9]', '', 'g'))";
  return "coalesce(array_position(" + list + ", CASE " + plain + " WHEN 'unicode' THEN 'utf8' ELSE " + plain +
         " END) - 1, -1)";
}

}  // namespace scyper::query
