#include "bind/locking.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "base/status.h"
#include "bind/make.h"
#include "bind/relation_walk.h"
#include "bind/row_lock_code.h"
#include "storage/row_values.h"

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
Status check_locked_sides(const ast::SelectStatement& select, const Scope& scope, const LocatedError& error) {
  for (const ast::LockingClause& locking : select.locking) {
    const std::string clause = clause_name(locking.strength);
    for (const ast::TableRef& table : locking.tables) {
      bool found = false;
      for (const Relation* relation : scope.relations) found |= relation->alias == table.name.back();
      if (!found)
        return error(
            "42P01",
            absl::StrCat("relation \"", table.name.back(), "\" in ", clause, " clause not found in FROM clause"),
            table.location);
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

// --- whose rows ---

namespace {

bool means(const ast::LockingClause& clause, std::string_view alias) {
  return clause.tables.empty() || std::any_of(clause.tables.begin(), clause.tables.end(),
                                              [&](const auto& table) { return table.name.back() == alias; });
}

// is_meant: by their aliases, those that a clause means.
void add_refs(const std::vector<const ast::FromItem*>& items, const ast::WithClause& with,
              const std::function<bool(const std::string&)>& is_meant, std::vector<const ast::TableRef*>* refs) {
  const auto is_common = [&](const std::string& name) {
    return std::any_of(with.tables.begin(), with.tables.end(), [&](const auto& table) { return table.name == name; });
  };
  for (const ast::FromItem* item : items) {
    if (item->kind == ast::FromKind::kJoin) {
      const auto& join = ast::node_as<ast::FromJoin>(*item);
      add_refs({join.left.get(), join.right.get()}, with, is_meant, refs);
    } else if (item->kind == ast::FromKind::kTable) {
      const ast::TableRef& ref = ast::node_as<ast::FromTable>(*item).table;
      const std::string& alias = ref.alias.name.empty() ? ref.name.back() : ref.alias.name;
      const bool is_query = ref.name.size() == 1 && is_common(ref.name.back());
      if (!is_query && is_meant(alias)) refs->push_back(&ref);
    } else if (item->kind == ast::FromKind::kSubquery) {
      const auto& sub = ast::node_as<ast::FromSubquery>(*item);
      if (!is_meant(sub.alias.name)) continue;
      std::vector<const ast::FromItem*> inside;
      for (const auto& each : sub.subquery->from) inside.push_back(each.get());
      add_refs(inside, sub.subquery->with, [](const std::string&) { return true; }, refs);
    }
  }
}

}  // namespace

std::vector<const ast::TableRef*> locked_refs(const ast::SelectStatement& select) {
  std::vector<const ast::TableRef*> refs;
  if (select.locking.empty()) return refs;
  std::vector<const ast::FromItem*> items;
  for (const auto& item : select.from) items.push_back(item.get());
  const auto is_meant = [&](const std::string& alias) {
    return std::any_of(select.locking.begin(), select.locking.end(),
                       [&](const ast::LockingClause& clause) { return means(clause, alias); });
  };
  add_refs(items, select.with, is_meant, &refs);
  return refs;
}

// --- how rows are locked ---

std::string identity_name(const storage::Table& table) { return absl::StrCat("\001", table.schema().id.value()); }

namespace {

// A table whose rows a query locks, seen from that query.
struct LockedTable {
  const storage::Table* table;
  std::vector<BoundPtr> identity;
  RowLockCode code;
};

BoundPtr lock_call(std::string_view name, const LockedTable& locked, std::vector<BoundPtr> identity) {
  const storage::TableSchema& schema = locked.table->schema();
  const auto number = [](int64_t value) { return make_constant(make_type(TypeId::kInt4), int_datum(value), -1); };
  BoundPtr call = make_expr(BoundKind::kBuiltin, make_type(TypeId::kBool), true, -1);
  call->builtin = find_builtins(name)[0];
  call->args.push_back(number(schema.id.value()));
  call->args.push_back(number(locked.code.number()));
  call->args.push_back(make_text_constant(make_type(TypeId::kText), std::string(bare_name(schema.name)), -1));
  for (BoundPtr& value : identity) call->args.push_back(std::move(value));
  return call;
}

// The strongest clause that means the relation.
std::optional<RowLockCode> code_for(const ast::SelectStatement& select, const Relation& relation) {
  std::optional<RowLockCode> code;
  for (const ast::LockingClause& clause : select.locking) {
    if (!means(clause, relation.alias) || clause.strength == ast::LockStrength::kNone) continue;
    const auto lock = static_cast<storage::RowLock>(static_cast<int>(clause.strength) - 1);
    const auto wait = static_cast<LockWait>(clause.wait);
    if (!code.has_value()) code.emplace(RowLockCode{lock, wait});
    code->lock = std::max(code->lock, lock);
    code->wait = std::max(code->wait, wait);
  }
  return code;
}
static_assert(static_cast<int>(ast::LockStrength::kUpdate) == static_cast<int>(storage::RowLock::kUpdate) + 1);
static_assert(static_cast<int>(ast::LockStrength::kKeyShare) == static_cast<int>(storage::RowLock::kKeyShare) + 1);
static_assert(static_cast<int>(ast::LockWait::kSkipLocked) == static_cast<int>(LockWait::kSkip));
static_assert(static_cast<int>(ast::LockWait::kNoWait) == static_cast<int>(LockWait::kError));

bool reads_tables(const Relation& relation) {
  bool found = false;
  RelationWalk walk;
  walk.on_relation = [&](Relation& inside) { found |= inside.kind == RelationKind::kTable; };
  walk.walk(relation.query.get());
  return found;
}

// Is each row of the query a row of its tables?
bool gives_rows_of_tables(const BoundQuery& query) {
  return query.set == SetOp::kNone && !query.aggregated && query.groups.empty() && query.having.empty() &&
         !query.distinct && query.distinct_on.empty() && query.windows.empty() && query.limit == nullptr &&
         query.offset == nullptr && query.with == nullptr && !locks_its_rows(query);
}

// Adds the tables of a relation. The identities of tables of a subquery or view become columns of it. False: it locks
// rows without names.
bool add_tables(Relation* relation, const RowLockCode& code, std::vector<LockedTable>* tables) {
  if (relation->kind == RelationKind::kTable) {
    LockedTable locked{relation->table.get(), {}, code};
    const storage::TableSchema& schema = relation->table->schema();
    for (const uint32_t column : storage::identity_columns(schema))
      locked.identity.push_back(make_column(relation->id, column, schema.columns[column].type, true, -1));
    tables->push_back(std::move(locked));
    return true;
  }
  if (relation->kind != RelationKind::kQuery || !reads_tables(*relation)) return true;
  BoundQuery* query = relation->query.get();
  if (!gives_rows_of_tables(*query) || query->visible_outputs() != relation->columns.size()) return false;
  const size_t first = tables->size();
  for (const FromEntry& entry : query->from)
    if (!add_tables(entry.relation.get(), code, tables)) return false;
  for (size_t i = first; i < tables->size(); i++) {
    for (BoundPtr& value : (*tables)[i].identity) {
      const SqlType type = value->type;
      query->outputs.push_back({"\001", std::move(value), false});
      value = make_column(relation->id, static_cast<uint32_t>(relation->columns.size()), type, true, -1);
      relation->columns.push_back({"\001", type, true, /*hidden=*/true});
    }
  }
  return true;
}

// The outputs of `inner` as columns of `relation`, which it becomes. Values that depend on no row stay outside.
void take_outputs(Relation* relation, BoundQuery* inner, BoundQuery* outer) {
  std::vector<OutputColumn> kept;
  std::vector<uint32_t> places;  // of the outputs, in `kept`
  for (OutputColumn& output : inner->outputs) {
    const bool is_fixed = output.expr->kind == BoundKind::kConst || output.expr->kind == BoundKind::kVariable;
    places.push_back(is_fixed ? ~uint32_t{0} : static_cast<uint32_t>(kept.size()));
    if (is_fixed) {
      outer->outputs.push_back(std::move(output));
      continue;
    }
    const BoundExpr& expr = *output.expr;
    BoundPtr column =
        make_column(relation->id, static_cast<uint32_t>(kept.size()), expr.type, expr.nullable, expr.location);
    column->domain = expr.domain;
    relation->columns.push_back({output.name, expr.type, expr.nullable, false});
    relation->columns.back().domain = expr.domain;
    outer->outputs.push_back({output.name, std::move(column), output.hidden});
    kept.push_back({output.name, std::move(output.expr), false});
  }
  inner->outputs = std::move(kept);
  outer->order = inner->order;
  std::vector<OrderItem> order;
  const bool is_cut = inner->limit != nullptr || inner->offset != nullptr;
  for (OrderItem item : inner->order) {
    item.output = places[item.output];
    if (is_cut && item.output != ~uint32_t{0}) order.push_back(item);
  }
  inner->order = std::move(order);
}

}  // namespace

// A row is locked when it has passed all conditions and LIMIT. So the query becomes one over itself, with a condition
// that locks the row. SKIP LOCKED leaves rows out before LIMIT counts them: it is a condition of the query, too.
void Binder::lock_rows(const ast::SelectStatement& select, std::unique_ptr<BoundQuery>* query) {
  BoundQuery* inner = query->get();
  std::vector<LockedTable> tables;
  bool is_named = true;
  for (const FromEntry& entry : inner->from) {
    const std::optional<RowLockCode> code = code_for(select, *entry.relation);
    if (code.has_value()) is_named &= add_tables(entry.relation.get(), *code, &tables);
  }
  if (tables.empty() && is_named) return;
  program_->writes = true;  // so it runs where the engine knows who holds what
  const auto copy = [](const std::vector<BoundPtr>& values) {
    std::vector<BoundPtr> copies;
    for (const BoundPtr& value : values) copies.push_back(clone(*value));
    return copies;
  };
  for (const LockedTable& locked : tables) {
    if (locked.code.wait != LockWait::kSkip) continue;
    inner->where.push_back(lock_call(" row_is_free", locked, copy(locked.identity)));
    program_->volatile_result = true;  // a replay knows no locks
  }
  auto outer = std::make_unique<BoundQuery>();
  outer->id = ++query_count_;
  outer->correlated = inner->correlated;
  std::unique_ptr<Relation> relation = new_relation(RelationKind::kQuery, kLockedRows);
  take_outputs(relation.get(), inner, outer.get());
  for (LockedTable& locked : tables) {
    std::vector<BoundPtr> identity;
    for (BoundPtr& value : locked.identity) {
      const std::string name = identity.empty() ? identity_name(*locked.table) : "\001";
      const SqlType type = value->type;
      identity.push_back(make_column(relation->id, static_cast<uint32_t>(relation->columns.size()), type, true, -1));
      relation->columns.push_back({name, type, true, /*hidden=*/true});
      inner->outputs.push_back({name, std::move(value), false});
    }
    outer->where.push_back(lock_call(" lock_row", locked, std::move(identity)));
  }
  if (!is_named) {
    outer->where.push_back(make_expr(BoundKind::kBuiltin, make_type(TypeId::kBool), true, -1));
    outer->where.back()->builtin = find_builtins(" lock_unnamed")[0];
  }
  relation->query = std::move(*query);
  outer->from.push_back({std::move(relation), JoinType::kInner, {}});
  *query = std::move(outer);
}

}  // namespace scyper::query
