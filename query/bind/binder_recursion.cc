#include "bind/binder_recursion.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "plan/expressions.h"

// The rules for queries of WITH RECURSIVE, PostgreSQL's (parse_cte.c), but for one: several references work.
namespace scyper::query {

Status Binder::check_recursion(const ast::CommonTable& table, int32_t location) const {
  auto name = std::find_if(recursive_names_.begin(), recursive_names_.end(),
                           [&](const RecursiveName& n) { return n.table == &table; });
  if (name == recursive_names_.end()) return absl::OkStatus();
  auto within = [&](std::string_view where) {
    return error(
        "42P19",
        absl::StrCat("recursive reference to query \"", table.name, "\" must not appear within ", std::string(where)),
        location);
  };
  switch (name->place) {
    case RecursionPlace::kAllowed:
      return absl::OkStatus();
    case RecursionPlace::kFirstTerm:
      return within("its non-recursive term");
    case RecursionPlace::kSubquery:
      return within("a subquery");
    case RecursionPlace::kOuterJoin:
      return within("an outer join");
    case RecursionPlace::kIntersect:
      return within("INTERSECT");
    case RecursionPlace::kExcept:
      return within("EXCEPT");
    case RecursionPlace::kNotUnion:
      return error("42P19",
                   absl::StrCat("recursive query \"", table.name,
                                "\" does not have the form non-recursive-term UNION [ALL] recursive-term"),
                   table.location);
    case RecursionPlace::kChange:
      break;
  }
  return error("42P19", absl::StrCat("recursive query \"", table.name, "\" must not contain data-modifying statements"),
               table.location);
}

// What may not stand behind both terms of a recursive query.
Status Binder::check_recursive_term(const ast::SelectStatement& select) const {
  auto refuse = [&](std::string_view what, int32_t location) {
    return error("0A000", absl::StrCat(std::string(what), " in a recursive query is not implemented"), location);
  };
  if (!select.order_by.empty()) return refuse("ORDER BY", select.order_by[0].expr->location);
  if (select.offset != nullptr) return refuse("OFFSET", select.offset->location);
  if (select.limit != nullptr) return refuse("LIMIT", select.limit->location);
  if (!select.locking.empty()) return refuse("FOR UPDATE/SHARE", -1);
  return absl::OkStatus();
}

Status Binder::check_recursive_aggregates(const BoundQuery& query) const {
  if (query.aggregates.empty() || recursive_names_.empty()) return absl::OkStatus();
  auto is_itself = [&](const FromEntry& entry) {
    if (entry.relation->kind != RelationKind::kCommon) return false;
    return std::any_of(recursive_names_.begin(), recursive_names_.end(), [&](const RecursiveName& name) {
      auto found = common_tables_.find(name.table->name);
      return found != common_tables_.end() && found->second.table == name.table &&
             found->second.query == entry.relation->common;
    });
  };
  if (std::none_of(query.from.begin(), query.from.end(), is_itself)) return absl::OkStatus();
  int32_t location = -1;
  auto note = [&](const BoundExpr& e) {
    if (e.kind == BoundKind::kAggregate && location < 0) location = e.location;
  };
  for (const auto& output : query.outputs) visit(*output.expr, note);
  for (const auto& having : query.having) visit(*having, note);
  return error("42P19", "aggregate functions are not allowed in a recursive query's recursive term", location);
}

}  // namespace scyper::query
