#include "bind/named_arguments.h"

#include <algorithm>
#include <iterator>

#include "bind/make.h"

namespace scyper::query {

namespace {
constexpr size_t kParametersMax = 7;

// The builtin functions whose parameters have names, as PostgreSQL's catalog has them.
struct ParameterNames {
  std::string_view function;
  std::string_view names[kParametersMax];
  size_t required;                                 // the others have defaults
  bool defaults_are_zeros;                         // or the function has a form without them
  std::string_view defaults[kParametersMax] = {};  // literals, instead of zeros
};
constexpr ParameterNames kNames[] = {
    {"make_interval", {"years", "months", "weeks", "days", "hours", "mins", "secs"}, 0, true},
    {"make_date", {"year", "month", "day"}, 3, false},
    {"make_time", {"hour", "min", "sec"}, 3, false},
    {"make_timestamp", {"year", "month", "mday", "hour", "min", "sec"}, 6, false},
    {"make_timestamptz", {"year", "month", "mday", "hour", "min", "sec", "timezone"}, 6, false},
    {"jsonb_set", {"jsonb_in", "path", "replacement", "create_if_missing"}, 3, false},
    {"jsonb_set_lax",
     {"jsonb_in", "path", "replacement", "create_if_missing", "null_value_treatment"},
     3,
     true,
     {"", "", "", "true", "use_json_null"}},
    {"jsonb_path_exists", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_match", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_query", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_query_array", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_query_first", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_exists_tz", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_match_tz", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_query_tz", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_query_array_tz", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"jsonb_path_query_first_tz", {"target", "path", "vars", "silent"}, 2, true, {"", "", "{}", "false"}},
    {"parse_ident", {"str", "strict"}, 1, true, {"", "true"}},
    {"jsonb_insert", {"jsonb_in", "path", "replacement", "insert_after"}, 3, false},
};
}  // namespace

bool place_arguments(std::string_view function, const std::vector<std::string>& names, std::vector<BoundPtr>* args) {
  const auto* known =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& entry) { return entry.function == function; });
  if (known == std::end(kNames)) return false;
  constexpr size_t kNone = ~size_t{0};
  size_t given[kParametersMax];  // the argument of each parameter
  std::fill(std::begin(given), std::end(given), kNone);
  size_t end = known->required;
  for (size_t i = 0; i < args->size(); i++) {
    size_t at = i;
    if (i < names.size() && !names[i].empty())
      at = static_cast<size_t>(std::find(known->names, known->names + kParametersMax, names[i]) - known->names);
    if (at >= kParametersMax || given[at] != kNone) return false;
    given[at] = i;
    end = std::max(end, at + 1);
  }
  const bool is_complete = std::find(given, given + end, kNone) == given + end;
  if (!is_complete && !known->defaults_are_zeros) return false;
  if (std::find(given, given + known->required, kNone) != given + known->required) return false;
  std::vector<BoundPtr> placed;
  for (size_t at = 0; at < end; at++) {
    if (given[at] != kNone) {
      placed.push_back(std::move((*args)[given[at]]));
    } else if (known->defaults[at].empty()) {
      placed.push_back(make_constant(make_type(TypeId::kInt4), int_datum(0), -1));
    } else {
      placed.push_back(make_text_constant(make_type(TypeId::kUnknown), std::string(known->defaults[at]), -1));
    }
  }
  *args = std::move(placed);
  return true;
}

}  // namespace scyper::query
