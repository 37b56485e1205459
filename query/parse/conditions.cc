#include "parse/conditions.h"

#include <string>

#include "parse/text.h"

namespace scyper::query {

namespace {

constexpr struct {
  std::string_view name;
  std::string_view sqlstate;
} kConditions[] = {
#include "parse/condition_table.inc"
};

}  // namespace

std::vector<std::string_view> sqlstates_of_condition(std::string_view name) {
  const std::string folded = fold_identifier(name);
  std::vector<std::string_view> out;
  for (const auto& condition : kConditions) {
    if (condition.name == folded) out.push_back(condition.sqlstate);
  }
  return out;
}

std::string_view condition_of_sqlstate(std::string_view sqlstate) {
  for (const auto& condition : kConditions) {
    if (condition.sqlstate == sqlstate) return condition.name;
  }
  return {};
}

}  // namespace scyper::query
