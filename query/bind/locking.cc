#include "bind/locking.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace scyper::query {

namespace {
std::string clause_name(ast::LockStrength strength) {
  switch (strength) {
    case ast::LockStrength::kKeyShare:
      return "FOR KEY SHARE";
    case ast::LockStrength::kShare:
      return "FOR SHARE";
    case ast::LockStrength::kNoKeyUpdate:
      return "FOR NO KEY UPDATE";
    default:
      return "FOR UPDATE";
  }
}
}  // namespace

// The rows of the query must be rows of tables.
Status check_locking(const ast::SelectStatement& select, const BoundQuery& query) {
  if (select.locking.empty()) return absl::OkStatus();
  const std::string clause = clause_name(select.locking[0].strength);
  auto refuse = [&](std::string_view with) {
    return sql_error("0A000", absl::StrCat(clause, " is not allowed with ", std::string(with)));
  };
  if (!select.values.empty()) return sql_error("0A000", absl::StrCat(clause, " cannot be applied to VALUES"));
  if (select.set != ast::SetOperation::kNone) return refuse("UNION/INTERSECT/EXCEPT");
  if (select.distinct) return refuse("DISTINCT clause");
  if (!select.group_by.empty()) return refuse("GROUP BY clause");
  if (select.having != nullptr) return refuse("HAVING clause");
  if (!query.aggregates.empty()) return refuse("aggregate functions");
  if (!query.windows.empty()) return refuse("window functions");
  for (const FromEntry& entry : query.from)
    if (entry.relation->kind == RelationKind::kUnnest && entry.relation->alias == "*SELECT*")
      return refuse("set-returning functions in the target list");
  return absl::OkStatus();
}

// Rows that an outer join adds NULLs for are not there to be locked. A condition may make it an inner join.
Status check_locked_sides(const ast::SelectStatement& select, const Scope& scope) {
  for (const ast::LockingClause& locking : select.locking) {
    const std::string clause = clause_name(locking.strength);
    for (const ast::TableRef& table : locking.tables) {
      bool found = false;
      for (const Relation* relation : scope.relations) found |= relation->alias == table.name.back();
      if (!found)
        return sql_error("42P01", absl::StrCat("relation \"", table.name.back(), "\" in ", clause,
                                               " clause not found in FROM clause"));
    }
    for (size_t r = 0; r < scope.relations.size() && select.where == nullptr; r++) {
      const Relation& relation = *scope.relations[r];
      bool is_meant = locking.tables.empty();
      for (const ast::TableRef& table : locking.tables) is_meant |= relation.alias == table.name.back();
      if (is_meant && relation.kind == RelationKind::kTable && scope.nullable[r])
        return sql_error("0A000", absl::StrCat(clause, " cannot be applied to the nullable side of an outer join"));
    }
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
