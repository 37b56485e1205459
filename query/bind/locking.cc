#include "bind/locking.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "base/status.h"
#include "bind/make.h"
#include "bind/relation_walk.h"
#include "bind/row_lock_code.h"
#include "plan/expressions.h"
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

namespace {

bool is_meant(const ast::LockingClause& clause, const Relation& relation) {
  return clause.tables.empty() || std::any_of(clause.tables.begin(), clause.tables.end(),
                                              [&](const auto& table) { return table.name.back() == relation.alias; });
}

bool lifts_sets(const BoundQuery& query) {
  return std::any_of(query.from.begin(), query.from.end(), [](const FromEntry& entry) {
    return entry.relation->kind == RelationKind::kUnnest && entry.relation->alias == "*SELECT*";
  });
}

// What keeps a query's rows from being rows of tables; nullptr: nothing does.
const char* obstacle_of(const BoundQuery& query) {
  if (query.set != SetOp::kNone) return "UNION/INTERSECT/EXCEPT";
  if (query.distinct || !query.distinct_on.empty()) return "DISTINCT clause";
  if (!query.groups.empty()) return "GROUP BY clause";
  if (!query.having.empty()) return "HAVING clause";
  if (query.aggregated) return "aggregate functions";
  if (!query.windows.empty()) return "window functions";
  return lifts_sets(query) ? "set-returning functions in the target list" : nullptr;
}

// The clause means the subquery or view, so it means all that is in it.
Status check_below(const std::string& clause, const Relation& relation) {
  if (relation.kind != RelationKind::kQuery) return absl::OkStatus();
  if (const char* obstacle = obstacle_of(*relation.query); obstacle != nullptr)
    return sql_error("0A000", absl::StrCat(clause, " is not allowed with ", obstacle));
  for (const FromEntry& entry : relation.query->from) SCYPER_RETURN_IF_ERROR(check_below(clause, *entry.relation));
  return absl::OkStatus();
}

// Finds the relations whose rows an outer join may leave out, as PostgreSQL's reduce_outer_joins() does: a condition
// above the join that no row of NULLs fulfils makes it an inner one.
class NullableSides {
 public:
  explicit NullableSides(const BoundQuery& query) : query_(query) {
    for (const BoundPtr& condition : query.where) conditions_.push_back(condition.get());
    if (query.joins.empty()) visit_list();
    for (const JoinTree& tree : query.joins) visit(tree, false);
  }

  bool contains(uint32_t relation) const { return nullable_.count(relation) != 0; }

 private:
  // Inner and left joins of one relation after the other.
  void visit_list() {
    for (size_t i = query_.from.size(); i-- > 0;) {
      const FromEntry& entry = query_.from[i];
      if (entry.join != JoinType::kLeft) continue;
      if (is_rejected({entry.relation->id})) {
        add(entry.on);
      } else {
        nullable_.insert(entry.relation->id);
      }
    }
  }

  void visit(const JoinTree& tree, bool is_nullable) {
    if (tree.left == nullptr) {
      if (is_nullable) nullable_.insert(query_.from[tree.first].relation->id);
      return;
    }
    const std::set<uint32_t> left = relations_of(*tree.left), right = relations_of(*tree.right);
    const bool fills_right = tree.type == JoinType::kLeft || tree.type == JoinType::kFull;
    const bool fills_left = tree.type == JoinType::kRight || tree.type == JoinType::kFull;
    const bool left_may_miss = fills_left && !is_rejected(left);
    const bool right_may_miss = fills_right && !is_rejected(right);
    if (!left_may_miss && !right_may_miss) add(query_.from[tree.right->first].on);
    visit(*tree.left, is_nullable || left_may_miss);
    visit(*tree.right, is_nullable || right_may_miss);
  }

  std::set<uint32_t> relations_of(const JoinTree& tree) const {
    if (tree.left == nullptr) return {query_.from[tree.first].relation->id};
    std::set<uint32_t> all = relations_of(*tree.left);
    all.merge(relations_of(*tree.right));
    return all;
  }

  bool is_rejected(const std::set<uint32_t>& relations) const {
    return std::any_of(conditions_.begin(), conditions_.end(),
                       [&](const BoundExpr* condition) { return rejects_null(*condition, relations); });
  }

  void add(const std::vector<BoundPtr>& conditions) {
    for (const BoundPtr& condition : conditions) conditions_.push_back(condition.get());
  }

  const BoundQuery& query_;
  std::vector<const BoundExpr*> conditions_;  // that hold of each row of the query
  std::set<uint32_t> nullable_;
};

}  // namespace

// The rows of the query must be rows of tables.
Status check_locking(const ast::SelectStatement& select, const BoundQuery& query) {
  if (select.locking.empty()) return absl::OkStatus();
  const std::string first = clause_name(select.locking[0].strength);
  if (!select.values.empty()) return sql_error("0A000", absl::StrCat(first, " cannot be applied to VALUES"));
  const char* obstacle = obstacle_of(query);
  if (query.aggregated && !select.group_by.empty()) obstacle = "GROUP BY clause";  // of no columns
  if (query.aggregated && select.group_by.empty() && select.having != nullptr) obstacle = "HAVING clause";
  if (select.distinct) obstacle = "DISTINCT clause";
  if (obstacle != nullptr) return sql_error("0A000", absl::StrCat(first, " is not allowed with ", obstacle));
  for (const ast::LockingClause& locking : select.locking)
    for (const FromEntry& entry : query.from)
      if (is_meant(locking, *entry.relation))
        SCYPER_RETURN_IF_ERROR(check_below(clause_name(locking.strength), *entry.relation));
  const NullableSides nullable(query);
  for (const ast::LockingClause& locking : select.locking) {
    for (const FromEntry& entry : query.from) {
      const Relation& relation = *entry.relation;
      const bool has_rows = relation.kind == RelationKind::kTable || relation.kind == RelationKind::kQuery;
      if (has_rows && is_meant(locking, relation) && nullable.contains(relation.id))
        return sql_error("0A000", absl::StrCat(clause_name(locking.strength),
                                               " cannot be applied to the nullable side of an outer join"));
    }
  }
  return absl::OkStatus();
}

Status refuse_sets(const ast::SelectStatement& select) {
  if (select.locking.empty()) return absl::OkStatus();
  return sql_error("0A000", absl::StrCat(clause_name(select.locking[0].strength),
                                         " is not allowed with set-returning functions in the target list"));
}

namespace {

bool names_join(const ast::FromItem& item, const std::string& name) {
  if (item.kind != ast::FromKind::kJoin) return false;
  const auto& join = ast::node_as<ast::FromJoin>(item);
  return join.alias.name == name || names_join(*join.left, name) || names_join(*join.right, name);
}

// What a name in OF means, if not rows that can be locked.
const char* unlockable(RelationKind kind) {
  switch (kind) {
    case RelationKind::kCommon:
      return "a WITH query";
    case RelationKind::kSeries:
    case RelationKind::kUnnest:
    case RelationKind::kFunction:
      return "a function";
    case RelationKind::kValues:
      return "VALUES";
    default:
      return nullptr;
  }
}

}  // namespace

Status check_locked_names(const ast::SelectStatement& select, const Scope& scope, const LocatedError& error) {
  for (const ast::LockingClause& locking : select.locking) {
    const std::string clause = clause_name(locking.strength);
    for (const ast::TableRef& table : locking.tables) {
      const std::string& name = table.name.back();
      const auto found = std::find_if(scope.relations.begin(), scope.relations.end(),
                                      [&](const Relation* relation) { return relation->alias == name; });
      const bool is_join = std::any_of(select.from.begin(), select.from.end(),
                                       [&](const auto& item) { return names_join(*item, name); });
      if (!is_join && found == scope.relations.end())
        return error("42P01", absl::StrCat("relation \"", name, "\" in ", clause, " clause not found in FROM clause"),
                     table.location);
      const char* what = is_join ? "a join" : unlockable((*found)->kind);
      if (what != nullptr) return error("0A000", absl::StrCat(clause, " cannot be applied to ", what), table.location);
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

// A query whose rows are cut by LIMIT or OFFSET, and are else rows of its tables.
bool is_cut(const BoundQuery& query) {
  return (query.limit != nullptr || query.offset != nullptr) && obstacle_of(query) == nullptr &&
         query.with == nullptr && !locks_its_rows(query);
}

using LockBelow = std::function<void(std::unique_ptr<BoundQuery>*, const RowLockCode&)>;

// Adds the tables of a relation. The identities of tables of a subquery or view become columns of it. A subquery that
// LIMIT cuts locks its rows itself, as in PostgreSQL. False: it locks rows without names.
bool add_tables(Relation* relation, const RowLockCode& code, const LockBelow& lock_below,
                std::vector<LockedTable>* tables) {
  if (relation->kind == RelationKind::kTable) {
    LockedTable locked{relation->table.get(), {}, code};
    const storage::TableSchema& schema = relation->table->schema();
    for (const uint32_t column : storage::identity_columns(schema))
      locked.identity.push_back(make_column(relation->id, column, schema.columns[column].type, true, -1));
    tables->push_back(std::move(locked));
    return true;
  }
  if (relation->kind != RelationKind::kQuery || !reads_tables(*relation)) return true;
  if (is_cut(*relation->query)) {
    lock_below(&relation->query, code);
    return true;
  }
  BoundQuery* query = relation->query.get();
  if (!gives_rows_of_tables(*query) || query->visible_outputs() != relation->columns.size()) return false;
  const size_t first = tables->size();
  for (const FromEntry& entry : query->from)
    if (!add_tables(entry.relation.get(), code, lock_below, tables)) return false;
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

namespace {

// Is it the same whenever it is asked for a row, and about rows of these relations only?
bool is_plain(const BoundExpr& expr, const std::function<bool(uint32_t relation)>& is_own) {
  bool plain = true;
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    const bool is_own_column = e.kind == BoundKind::kColumn && is_own(e.relation);
    const bool is_constant = e.kind == BoundKind::kConst || e.kind == BoundKind::kVariable;
    const bool is_volatile = (e.builtin != nullptr && e.builtin->is_volatile) || e.kind == BoundKind::kUserCall;
    plain &= e.query == nullptr && !is_volatile && (is_own_column || is_constant || !e.args.empty());
  };
  walk.walk(const_cast<BoundExpr*>(&expr));  // which changes nothing
  return plain;
}

void replace_columns(BoundPtr* expr, const std::vector<const BoundExpr*>& values) {
  if ((*expr)->kind == BoundKind::kColumn) {
    *expr = clone(*values[(*expr)->index]);
    return;
  }
  for (BoundPtr& arg : (*expr)->args) replace_columns(&arg, values);
}

// The expressions that the visible columns of a query stand for.
std::vector<const BoundExpr*> outputs_of(const BoundQuery& query) {
  std::vector<const BoundExpr*> values;
  for (const OutputColumn& output : query.outputs)
    if (!output.hidden) values.push_back(output.expr.get());
  return values;
}

}  // namespace

void push_into_locking(BoundQuery* query) {
  if (!query->joins.empty()) return;
  for (const FromEntry& entry : query->from) {
    if (entry.join != JoinType::kInner || entry.relation->kind != RelationKind::kQuery) continue;
    const BoundQuery& outer = *entry.relation->query;
    if (!locks_its_rows(outer) || outer.visible_outputs() != entry.relation->columns.size()) continue;
    BoundQuery* inner = outer.from[0].relation->query.get();
    if (inner->limit != nullptr || inner->offset != nullptr) continue;
    for (const BoundPtr& condition : query->where) {
      if (!is_plain(*condition, [&](uint32_t relation) { return relation == entry.relation->id; })) continue;
      BoundPtr pushed = clone(*condition);
      replace_columns(&pushed, outputs_of(outer));
      replace_columns(&pushed, outputs_of(*inner));
      if (is_plain(*pushed, [](uint32_t) { return true; })) inner->where.push_back(std::move(pushed));
    }
  }
}

void wait_for_referencing(const storage::TableSchema& child, BoundExpr* check) {
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    BoundQuery* query = e.query.get();
    if (query == nullptr || query->from.size() != 1 || query->from[0].relation->table == nullptr) return;
    std::vector<BoundPtr> all;
    for (const BoundPtr& condition : query->where) all.push_back(clone(*condition));
    BoundPtr call = make_expr(BoundKind::kBuiltin, make_type(TypeId::kBool), true, -1);
    call->builtin = find_builtins(" row_is_settled")[0];
    call->args.push_back(make_constant(make_type(TypeId::kInt4), int_datum(child.id.value()), -1));
    for (const uint32_t column : storage::identity_columns(child))
      call->args.push_back(make_column(query->from[0].relation->id, column, child.columns[column].type, true, -1));
    all.push_back(std::move(call));
    BoundPtr both = make_expr(BoundKind::kAnd, make_type(TypeId::kBool), true, -1);
    both->args = std::move(all);
    query->where.push_back(std::move(both));
  };
  walk.walk(check);
}

CodeOfRelation codes_of(const ast::SelectStatement& select) {
  return [&select](const Relation& relation) { return code_for(select, relation); };
}

// A row is locked when it has passed all conditions and LIMIT. So the query becomes one over itself, with a condition
// that locks the row. SKIP LOCKED leaves rows out before LIMIT counts them: it is a condition of the query, too.
void Binder::lock_rows(const CodeOfRelation& code_of, std::unique_ptr<BoundQuery>* query) {
  BoundQuery* inner = query->get();
  std::vector<LockedTable> tables;
  bool is_named = true;
  const auto lock_below = [&](std::unique_ptr<BoundQuery>* below, const RowLockCode& code) {
    lock_rows([&](const Relation&) { return std::optional(code); }, below);
  };
  for (const FromEntry& entry : inner->from) {
    const std::optional<RowLockCode> code = code_of(*entry.relation);
    if (code.has_value()) is_named &= add_tables(entry.relation.get(), *code, lock_below, &tables);
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
