#include "plan/explain_options.h"

#include "absl/strings/str_cat.h"

namespace scyper::query {

StatusOr<bool> boolean_of(const ast::Option& option) {
  if (!option.has_value) return true;
  for (const char* yes : {"on", "true", "1"})
    if (option.value == yes) return true;
  for (const char* no : {"off", "false", "0"})
    if (option.value == no) return false;
  return sql_error("42601", absl::StrCat(option.name, " requires a Boolean value"));
}

StatusOr<ExplainOptions> ExplainOptions::read(const std::vector<ast::Option>& options) {
  ExplainOptions result;
  bool gave_timing = false, gave_summary = false, wal = false, ignored = false;
  const std::pair<const char*, bool*> kFlags[] = {{"analyze", &result.analyze}, {"verbose", &result.verbose},
                                                  {"costs", &result.costs},     {"timing", &result.timing},
                                                  {"summary", &result.summary}, {"compiled", &result.compiled},
                                                  {"machine", &result.machine}, {"buffers", &ignored},
                                                  {"settings", &ignored},       {"wal", &wal}};
  for (const auto& option : options) {
    if (option.name == "format") {
      if (option.value != "text" && option.value != "json") {
        if (option.value == "xml" || option.value == "yaml")
          return sql_error("0A000", absl::StrCat("EXPLAIN format ", option.value, " is not supported"));
        return sql_error("22023",
                         absl::StrCat("unrecognized value for EXPLAIN option \"format\": \"", option.value, "\""));
      }
      result.json = option.value == "json";
      continue;
    }
    bool known = false;
    for (const auto& [name, flag] : kFlags) {
      if (option.name != name) continue;
      SCYPER_ASSIGN_OR_RETURN(*flag, boolean_of(option));
      known = true;
    }
    if (!known) return sql_error("42601", absl::StrCat("unrecognized EXPLAIN option \"", option.name, "\""));
    gave_timing |= option.name == "timing";
    gave_summary |= option.name == "summary";
  }
  if (wal && !result.analyze) return sql_error("22023", "EXPLAIN option WAL requires ANALYZE");
  if (gave_timing && result.timing && !result.analyze)
    return sql_error("22023", "EXPLAIN option TIMING requires ANALYZE");
  if (!gave_summary) result.summary = result.analyze;
  return result;
}

}  // namespace scyper::query
