#include "bind/type_functions.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "bind/system_types.h"

namespace scyper::query {

namespace {

constexpr int64_t kCstringOid = 2275, kInternalOid = 2281, kByteaOid = 17, kOidOid = 26, kInt4Oid = 23,
                  kAnyArrayOid = 2277, kAnyEnumOid = 3500, kAnyOid = 2276, kAnyRangeOid = 3831,
                  kAnyMultirangeOid = 4537;

constexpr TypeFunctions kTypeFunctions[] = {
    {"bool", "bool", 1242, 1243, 2436, 2437},
    {"bytea", "bytea", 1244, 31, 2412, 2413},
    {"char", "char", 1245, 33, 2434, 2435},
    {"name", "name", 34, 35, 2422, 2423},
    {"int8", "int8", 460, 461, 2408, 2409},
    {"int2", "int2", 38, 39, 2404, 2405},
    {"int2vector", "int2vector", 40, 41, 2410, 2411},
    {"int4", "int4", 42, 43, 2406, 2407},
    {"regproc", "regproc", 44, 45, 2444, 2445},
    {"text", "text", 46, 47, 2414, 2415},
    {"refcursor", "text", 46, 47, 2414, 2415},
    {"oid", "oid", 1798, 1799, 2418, 2419},
    {"oidvector", "oidvector", 54, 55, 2420, 2421},
    {"json", "json_", 321, 322, 323, 324},
    {"float4", "float4", 200, 201, 2424, 2425},
    {"float8", "float8", 214, 215, 2426, 2427},
    {"unknown", "unknown", 109, 110, 2416, 2417},
    {"bpchar", "bpchar", 1044, 1045, 2430, 2431},
    {"varchar", "varchar", 1046, 1047, 2432, 2433},
    {"date", "date_", 1084, 1085, 2468, 2469},
    {"time", "time_", 1143, 1144, 2470, 2471},
    {"timestamp", "timestamp_", 1312, 1313, 2474, 2475},
    {"timestamptz", "timestamptz_", 1150, 1151, 2476, 2477},
    {"interval", "interval_", 1160, 1161, 2478, 2479},
    {"numeric", "numeric_", 1701, 1702, 2460, 2461},
    {"regprocedure", "regprocedure", 2212, 2213, 2446, 2447},
    {"regclass", "regclass", 2218, 2219, 2452, 2453},
    {"regtype", "regtype", 2220, 2221, 2454, 2455},
    {"regnamespace", "regnamespace", 4084, 4085, 4087, 4088},
    {"regrole", "regrole", 4098, 4092, 4094, 4095},
    {"regconfig", "regconfig", 3736, 3737, 3738, 3739},
    {"regdictionary", "regdictionary", 3771, 3772, 3773, 3774},
    {"gtsvector", "gtsvector", 3646, 3647, 0, 0},
    {"record", "record_", 2290, 2291, 2402, 2403},
    {"any", "any_", 2294, 2295, 0, 0},
    {"anyarray", "anyarray_", 2296, 2297, 2502, 2503},
    {"void", "void_", 2298, 2299, 3120, 3121},
    {"trigger", "trigger_", 2300, 2301, 0, 0},
    {"anyelement", "anyelement_", 2312, 2313, 0, 0},
    {"uuid", "uuid_", 2952, 2953, 2961, 2962},
    {"jsonb", "jsonb_", 3806, 3804, 3805, 3803},
    {"inet", "inet_", 910, 911, 2496, 2497},
    {"cidr", "cidr_", 1267, 1427, 2498, 2499},
    {"macaddr", "macaddr_", 436, 437, 2494, 2495},
    {"macaddr8", "macaddr8_", 4110, 4111, 3446, 3447},
    {"bit", "bit_", 1564, 1565, 2456, 2457},
    {"varbit", "varbit_", 1579, 1580, 2458, 2459},
    {"money", "cash_", 886, 887, 2492, 2493},
    {"timetz", "timetz_", 1350, 1351, 2472, 2473},
    {"range", "range_", 3834, 3835, 3836, 3837},
    {"multirange", "multirange_", 4231, 4232, 4233, 4234},
    {"tsvector", "tsvector", 3610, 3611, 3639, 3638},
    {"tsquery", "tsquery", 3612, 3613, 3641, 3640},
    {"jsonpath", "jsonpath_", 4001, 4003, 4002, 4004},
    {"array", "array_", 750, 751, 2400, 2401},
    {"enum", "enum_", 3506, 3507, 3532, 3533},
    {"domain", "domain_", 2597, 0, 2598, 0},
};

int64_t oid_of(std::string_view name) {
  for (const SystemType& type : kSystemTypes)
    if (type.name == name) return type.oid;
  for (const CatalogType& type : kCatalogTypes)
    if (type.name == name) return type.oid;
  if (name == "json") return kJsonOid;
  return name == "array"        ? kAnyArrayOid
         : name == "enum"       ? kAnyEnumOid
         : name == "range"      ? kAnyRangeOid
         : name == "multirange" ? kAnyMultirangeOid
                                : kAnyOid;
}

// Whether the functions that read take the modifier of the type, too.
bool has_modifiers(std::string_view name) {
  static constexpr std::string_view kNames[] = {"bpchar",   "varchar", "time",   "timestamp", "timestamptz",
                                                "interval", "numeric", "record", "array",     "domain",
                                                "bit",      "varbit",  "timetz", "range",     "multirange"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

const TypeFunctions* find_type_functions(std::string_view type) {
  const auto* found = std::find_if(std::begin(kTypeFunctions), std::end(kTypeFunctions),
                                   [&](const TypeFunctions& functions) { return functions.type == type; });
  return found == std::end(kTypeFunctions) ? nullptr : found;
}

const std::vector<TypeFunction>& all_type_functions() {
  static const auto* functions = [] {
    auto* all = new std::vector<TypeFunction>;
    std::set<int64_t> seen;
    for (const TypeFunctions& of : kTypeFunctions) {
      const std::string prefix(of.prefix);
      const int64_t type = oid_of(of.type);
      const auto reads = [&](int64_t from) {
        std::vector<int64_t> arguments = {from};
        if (of.type == "enum") arguments.push_back(kOidOid);
        if (has_modifiers(of.type)) arguments.insert(arguments.end(), {kOidOid, kInt4Oid});
        return arguments;
      };
      const auto add = [&](int64_t oid, const char* what, std::vector<int64_t> arguments, int64_t result) {
        if (oid != 0 && seen.insert(oid).second) all->push_back({oid, prefix + what, std::move(arguments), result});
      };
      add(of.in, "in", reads(kCstringOid), type);
      add(of.out, "out", {type}, kCstringOid);
      add(of.receive, "recv", reads(kInternalOid), type);
      add(of.send, "send", {type}, kByteaOid);
    }
    return all;
  }();
  return *functions;
}

}  // namespace scyper::query
