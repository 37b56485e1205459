#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/binder_recursion.h"
#include "bind/grouping_sets.h"
#include "bind/join_shape.h"
#include "bind/make.h"
#include "bind/nullability.h"
#include "bind/unordered_types.h"
#include "parse/sql_parser.h"

// What may stand above GROUP BY; GROUPING SETS, DISTINCT ON, WITH RECURSIVE and trees of outer joins.
namespace scyper::query {

using ast::node_as;

namespace {
// GROUP BY lists a whole primary key of the column's table: the column depends on it (SQL:1999, as PostgreSQL).
bool depends_on_groups(const BoundExpr& column, const BoundQuery& query) {
  for (const auto& entry : query.from) {
    if (entry.relation->id != column.relation || entry.relation->table == nullptr) continue;
    for (const auto& index : entry.relation->table->schema().indexes) {
      if (!index.primary) continue;
      return std::all_of(index.columns.begin(), index.columns.end(), [&](uint32_t key) {
        return std::any_of(query.groups.begin(), query.groups.end(), [&](const BoundPtr& group) {
          return group->kind == BoundKind::kColumn && group->relation == column.relation && group->index == key;
        });
      });
    }
  }
  return false;
}
bool is_local(const BoundExpr& column, const BoundQuery& query) {
  return std::any_of(query.from.begin(), query.from.end(),
                     [&](const FromEntry& entry) { return entry.relation->id == column.relation; });
}
}  // namespace

namespace {
// Are they one expression of GROUP BY? Calls of routines and volatile functions are, too, as in PostgreSQL: they are
// computed once for each row then.
bool is_grouped_by(const BoundExpr& a, const BoundExpr& b) {
  if (same(a, b)) return true;
  const bool is_call = a.kind == BoundKind::kUserCall;  // its index is of the call, not of the routine
  if (a.kind != b.kind || a.type != b.type || a.relation != b.relation || (a.index != b.index && !is_call) ||
      a.explicit_cast != b.explicit_cast || a.builtin != b.builtin || a.routine != b.routine ||
      a.args.size() != b.args.size() || a.query != nullptr || b.query != nullptr || a.kind == BoundKind::kConst)
    return false;
  for (size_t i = 0; i < a.args.size(); i++)
    if (!is_grouped_by(*a.args[i], *b.args[i])) return false;
  return true;
}
}  // namespace

// Replaces what GROUP BY computes by references to it; a column that remains is an error.
Status Binder::check_grouped(BoundPtr* expr, BoundQuery* query) {
  for (size_t i = 0; i < query->groups.size(); i++) {
    if (!is_grouped_by(**expr, *query->groups[i])) continue;
    bool nullable = (*expr)->nullable || !query->grouping_sets.empty();
    BoundPtr reference = make_expr(BoundKind::kGroup, (*expr)->type, nullable, (*expr)->location);
    reference->index = static_cast<uint32_t>(i);
    reference->relation = query->id;
    *expr = std::move(reference);
    return absl::OkStatus();
  }
  if ((*expr)->kind == BoundKind::kGrouping && (*expr)->relation == query->id)
    return check_grouping_call(expr->get(), query);
  if ((*expr)->kind == BoundKind::kColumn && is_local(**expr, *query)) {
    if (query->grouping_sets.empty() && depends_on_groups(**expr, *query)) {
      query->groups.push_back(clone(**expr));
      return check_grouped(expr, query);
    }
    std::string name;
    for (const auto& entry : query->from)
      if (entry.relation->id == (*expr)->relation)
        name = absl::StrCat(entry.relation->alias, ".", entry.relation->columns[(*expr)->index].name);
    if (grouped_subquery_)
      return error("42803", absl::StrCat("subquery uses ungrouped column \"", name, "\" from outer query"),
                   (*expr)->location);
    return error(
        "42803",
        absl::StrCat("column \"", name, "\" must appear in the GROUP BY clause or be used in an aggregate function"),
        (*expr)->location);
  }
  if ((*expr)->query != nullptr && (*expr)->query->correlated) {
    bool saved = std::exchange(grouped_subquery_, true);
    Status status = check_grouped_query((*expr)->query.get(), query);
    grouped_subquery_ = saved;
    SCYPER_RETURN_IF_ERROR(status);
  }
  for (auto& arg : (*expr)->args) SCYPER_RETURN_IF_ERROR(check_grouped(&arg, query));
  raise_nullable_here(expr->get());
  return absl::OkStatus();
}

Status Binder::check_grouped_call(WindowCall* call, BoundQuery* query) {
  Status status;
  for_each_expr(call, [&](BoundPtr& e) {
    if (status.ok()) status = check_grouped(&e, query);
  });
  return status;
}

// A correlated subquery above an aggregation sees grouped columns only.
Status Binder::check_grouped_query(BoundQuery* sub, BoundQuery* query) {
  for (auto& conjunct : sub->where) SCYPER_RETURN_IF_ERROR(check_grouped(&conjunct, query));
  for (auto& output : sub->outputs) SCYPER_RETURN_IF_ERROR(check_grouped(&output.expr, query));
  for (auto& having : sub->having) SCYPER_RETURN_IF_ERROR(check_grouped(&having, query));
  for (auto& aggregate : sub->aggregates) {
    for (auto& arg : aggregate.args) SCYPER_RETURN_IF_ERROR(check_grouped(&arg, query));
    if (aggregate.filter != nullptr) SCYPER_RETURN_IF_ERROR(check_grouped(&aggregate.filter, query));
  }
  for (auto& group : sub->groups) SCYPER_RETURN_IF_ERROR(check_grouped(&group, query));
  for (auto& call : sub->windows) SCYPER_RETURN_IF_ERROR(check_grouped_call(&call, query));
  for (BoundPtr* e : {&sub->limit, &sub->offset})
    if (*e != nullptr) SCYPER_RETURN_IF_ERROR(check_grouped(e, query));
  for (auto* side : {&sub->left, &sub->right})
    if (*side != nullptr) SCYPER_RETURN_IF_ERROR(check_grouped_query(side->get(), query));
  for (auto& entry : sub->from) {
    for (auto& row : entry.relation->rows)
      for (auto& value : row) SCYPER_RETURN_IF_ERROR(check_grouped(&value, query));
    for (auto& argument : entry.relation->arguments) SCYPER_RETURN_IF_ERROR(check_grouped(&argument, query));
    for (auto& on : entry.on) SCYPER_RETURN_IF_ERROR(check_grouped(&on, query));
    if (entry.relation->query != nullptr)
      SCYPER_RETURN_IF_ERROR(check_grouped_query(entry.relation->query.get(), query));
    if (!entry.relation->computes_common) continue;
    for (BoundQuery* term : {entry.relation->common->query.get(), entry.relation->common->recursive.get()})
      SCYPER_RETURN_IF_ERROR(check_grouped_query(term, query));
  }
  return absl::OkStatus();
}

// The sets that an item of GROUP BY stands for.
StatusOr<std::vector<std::vector<uint32_t>>> Binder::bind_grouping_set(const ast::Expr& item,
                                                                       const ast::SelectStatement& select,
                                                                       const Scope* scope, BoundQuery* query) {
  std::vector<std::vector<uint32_t>> sets;
  auto columns_of = [&](const ast::Expr& part) -> StatusOr<std::vector<uint32_t>> {
    std::vector<uint32_t> columns;
    std::vector<const ast::Expr*> exprs = {&part};
    if (part.kind == ast::ExprKind::kRowConstructor) {
      exprs.clear();
      for (const auto& field : node_as<ast::RowConstructor>(part).fields) exprs.push_back(field.get());
    }
    for (const ast::Expr* e : exprs) {
      columns.push_back(0);
      SCYPER_RETURN_IF_ERROR(bind_group_item(*e, select, scope, query, &columns.back()));
    }
    return columns;
  };
  if (item.kind != ast::ExprKind::kGroupingSet) {
    SCYPER_ASSIGN_OR_RETURN(auto columns, columns_of(item));
    sets.push_back(std::move(columns));
    return sets;
  }
  const auto& set = node_as<ast::GroupingSet>(item);
  if (set.set == ast::GroupingSetKind::kEmpty) return std::vector<std::vector<uint32_t>>{{}};
  if (set.set == ast::GroupingSetKind::kSets) {
    for (const auto& inner : set.items) {
      SCYPER_ASSIGN_OR_RETURN(auto more, bind_grouping_set(*inner, select, scope, query));
      sets.insert(sets.end(), more.begin(), more.end());
    }
    return sets;
  }
  std::vector<std::vector<uint32_t>> parts;
  for (const auto& inner : set.items) {
    SCYPER_ASSIGN_OR_RETURN(auto columns, columns_of(*inner));
    parts.push_back(std::move(columns));
  }
  bool cube = set.set == ast::GroupingSetKind::kCube;
  if (cube && parts.size() > 12) return error("54011", "CUBE is limited to 12 elements", item.location);
  auto join = [&](auto wanted) {
    std::vector<uint32_t> all;
    for (size_t i = 0; i < parts.size(); i++)
      if (wanted(i)) all.insert(all.end(), parts[i].begin(), parts[i].end());
    return all;
  };
  if (cube) {
    for (size_t mask = size_t{1} << parts.size(); mask-- > 0;)
      sets.push_back(join([&](size_t i) { return (mask >> i & 1) != 0; }));
  } else {
    for (size_t length = parts.size() + 1; length-- > 0;) sets.push_back(join([&](size_t i) { return i < length; }));
  }
  return sets;
}

Status Binder::check_grouping_call(BoundExpr* expr, BoundQuery* query) {
  if (expr->args.empty()) return absl::OkStatus();  // done
  std::vector<uint32_t> positions;
  for (const auto& arg : expr->args) {
    uint32_t found = 0;
    while (found < query->groups.size() && !same(*query->groups[found], *arg)) found++;
    if (found == query->groups.size())
      return error("42803", "arguments to GROUPING must be grouping expressions of the associated query level",
                   arg->location);
    positions.push_back(found);
  }
  expr->args.clear();
  query->grouping_calls[expr->index] = std::move(positions);
  return absl::OkStatus();
}

namespace {
using GroupingSets = std::vector<std::vector<uint32_t>>;
// GROUP BY a, b of grouping sets: each of a with each of b.
GroupingSets cross_sets(const GroupingSets& a, const GroupingSets& b) {
  GroupingSets result;
  for (const auto& x : a)
    for (const auto& y : b) {
      result.push_back(x);
      for (uint32_t i : y)
        if (std::find(result.back().begin(), result.back().end(), i) == result.back().end()) result.back().push_back(i);
    }
  return result;
}

// GROUP BY DISTINCT: of sets with the same members one stays.
void remove_duplicate_sets(GroupingSets* sets) {
  std::set<std::set<uint32_t>> seen;
  std::erase_if(*sets, [&](const auto& set) { return !seen.emplace(set.begin(), set.end()).second; });
}
}  // namespace

Status Binder::bind_group_by(const ast::SelectStatement& select, const Scope* scope, BoundQuery* query) {
  const bool has_sets = has_grouping_sets(select);
  if (has_sets) query->grouping_sets = {{}};
  query->aggregated |= !query->grouping_calls.empty();
  for (const auto& item : select.group_by) {
    if (has_sets || item->kind == ast::ExprKind::kGroupingSet) {
      SCYPER_ASSIGN_OR_RETURN(auto sets, bind_grouping_set(*item, select, scope, query));
      query->aggregated = true;
      query->grouping_sets = cross_sets(query->grouping_sets, sets);
      if (query->grouping_sets.size() > 4096)
        return error("54001", "too many grouping sets present (maximum 4096)", item->location);
      continue;
    }
    uint32_t position = 0;
    SCYPER_RETURN_IF_ERROR(bind_group_item(*item, select, scope, query, &position));
    if (position < query->groups.size() && is_checked_text(query->groups[position]->type))
      return error("42883", lacks_equality(query->groups[position]->type), item->location);
    query->aggregated = true;
  }
  group_sets(query);
  if (!query->aggregated) return spread_sets(query);
  if (select.group_by_distinct) remove_duplicate_sets(&query->grouping_sets);
  for (auto& output : query->outputs) {
    SCYPER_RETURN_IF_ERROR(check_grouped(&output.expr, query));
    raise_nullable(output.expr.get());
  }
  for (auto& having : query->having) {
    SCYPER_RETURN_IF_ERROR(check_grouped(&having, query));
    raise_nullable(having.get());
  }
  for (auto& call : query->windows) SCYPER_RETURN_IF_ERROR(check_grouped_call(&call, query));
  return spread_sets(query);
}

// Rows are ordered by their fields, not as the texts that they show as.
Status Binder::add_order(const OrderItem& order, BoundQuery* query, int32_t location) {
  const BoundExpr& shown = *query->outputs[order.output].expr;
  if (is_checked_text(shown.type)) return with_hint(error("42883", lacks_order(shown.type), location), kOrderHint);
  const std::vector<BoundPtr>* fields = shown_fields(shown);
  if (fields == nullptr) return query->order.push_back(order), absl::OkStatus();
  if (query->distinct) return error("0A000", "ordering distinct rows as a whole is not supported", location);
  std::vector<BoundPtr> keys;
  const bool is_flagged = order.nulls_first != order.descending && shown.kind == BoundKind::kCase;
  if (is_flagged) keys.push_back(clone(*shown.args[0]));  // is it NULL as a whole?
  for (const auto& field : *fields) keys.push_back(clone(*field));
  for (BoundPtr& key : keys) {
    OrderItem one = order;
    one.descending = is_flagged && &key == keys.data() ? order.nulls_first : order.descending;
    one.nulls_first = one.descending;  // NULL is the greatest value of a field, whatever ORDER BY says of rows
    auto known = std::find_if(query->outputs.begin(), query->outputs.end(),
                              [&](const OutputColumn& output) { return same(*output.expr, *key); });
    one.output = static_cast<uint32_t>(known - query->outputs.begin());
    if (known == query->outputs.end()) query->outputs.push_back({"", std::move(key), true});
    SCYPER_RETURN_IF_ERROR(add_order(one, query, location));
  }
  return absl::OkStatus();
}

Status Binder::bind_distinct_on(const ast::SelectStatement& select, const Scope* scope, BoundQuery* query) {
  for (const auto& item : select.distinct_on) {
    // as an item of ORDER BY: a number, an output's name or an expression
    BoundQuery probe;
    probe.outputs = std::move(query->outputs);
    ast::SortItem sort;
    sort.expr = std::move(const_cast<ast::ExprPtr&>(item));
    std::vector<ast::SortItem> items;
    items.push_back(std::move(sort));
    Status status = bind_order_by(items, scope, &probe);
    const_cast<ast::ExprPtr&>(item) = std::move(items[0].expr);
    query->outputs = std::move(probe.outputs);
    SCYPER_RETURN_IF_ERROR(status);
    for (const OrderItem& one : probe.order) query->distinct_on.push_back(one.output);
  }
  auto is_distinct = [&](uint32_t output) {
    return std::find(query->distinct_on.begin(), query->distinct_on.end(), output) != query->distinct_on.end();
  };
  std::vector<uint32_t> seen;
  for (const OrderItem& item : query->order) {
    bool all = std::all_of(query->distinct_on.begin(), query->distinct_on.end(),
                           [&](uint32_t output) { return std::find(seen.begin(), seen.end(), output) != seen.end(); });
    if (query->distinct_on.empty() || all) break;
    if (!is_distinct(item.output))
      return error("42P10", "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                   select.distinct_on[0]->location);
    seen.push_back(item.output);
  }
  return absl::OkStatus();
}

std::unique_ptr<Relation> Binder::common_relation(std::shared_ptr<CommonQuery> common, std::string alias) {
  auto relation = new_relation(common->is_part ? RelationKind::kFunction : RelationKind::kCommon, std::move(alias));
  if (common->is_part && reads_ != nullptr) reads_->insert(common.get());
  relation->columns = common->columns;
  common->references++;
  relation->common = std::move(common);
  return relation;
}

// Columns whose lengths or digits the recursive term does not keep. Of expressions they are found by us, PostgreSQL has
// none: the column takes all values then. Returns whether a column has changed.
StatusOr<bool> Binder::widen_recursive(const std::string& name, CommonQuery* common) {
  bool widened = false;
  size_t c = 0;
  if (common->recursive->visible_outputs() != common->columns.size()) return false;
  for (const auto& output : common->recursive->outputs) {
    if (output.hidden) continue;
    RelationColumn& column = common->columns[c++];
    const SqlType& given = output.expr->type;
    bool numeric = column.type.id == TypeId::kNumeric && column.type.precision != 0;
    bool string = is_string(column.type.id) && column.type.length >= 0;
    if ((!numeric && !string) || given == column.type || given.id == TypeId::kUnknown) continue;
    if (string && given.id != column.type.id) continue;  // an error of its own
    if (common->query->set != SetOp::kNone) wrap(&common->query);
    BoundPtr& first = common->query->outputs[c - 1].expr;
    if (string || (first->kind == BoundKind::kCast && first->explicit_cast)) {
      return with_hint(
          error("42804",
                absl::StrCat("recursive query \"", name, "\" column ", c, " has type ", type_name(column.type),
                             " in non-recursive term but type ", type_name(without_modifiers(given)), " overall"),
                first->location),
          "Cast the output of the non-recursive term to the correct type.");
    }
    column.type = make_numeric(0, 0);
    first = make_cast(std::move(first), column.type, false);
    widened = true;
  }
  return widened;
}

// WITH RECURSIVE name AS (term UNION [ALL] term that names it); nullptr: it does not name itself.
StatusOr<std::shared_ptr<CommonQuery>> Binder::bind_recursive(const ast::CommonTable& table, const Scope* scope) {
  const auto& select = node_as<ast::SelectStatement>(*table.statement);
  auto common = std::make_shared<CommonQuery>();
  common->keeps_duplicates = select.set_all;
  auto bind = [&]() -> Status {
    Recursion recursion(this, table, RecursionPlace::kSubquery);
    SCYPER_RETURN_IF_ERROR(check_common_tables(select.with, scope));
    recursion.go_to(RecursionPlace::kFirstTerm);
    SCYPER_ASSIGN_OR_RETURN(common->query, bind_select(*select.left, scope));
    recursion.go_to(RecursionPlace::kAllowed);
    for (const auto& output : common->query->outputs)
      if (!output.hidden) common->columns.push_back({output.name, output.expr->type, true, false});
    for (size_t i = 0; i < table.columns.size() && i < common->columns.size(); i++)
      common->columns[i].name = table.columns[i];
    // the term that names the query is owned by it: no share, or nobody would ever free both
    common_tables_[table.name] = {&table, {std::shared_ptr<CommonQuery>(), common.get()}};
    SCYPER_ASSIGN_OR_RETURN(common->recursive, bind_select(*select.right, scope));
    if (common->references == 0) return absl::OkStatus();  // it does not name itself: its columns are a UNION's
    SCYPER_ASSIGN_OR_RETURN(bool widened, widen_recursive(table.name, common.get()));
    if (!widened) return absl::OkStatus();
    common->references = 0;
    SCYPER_ASSIGN_OR_RETURN(common->recursive, bind_select(*select.right, scope));
    return absl::OkStatus();
  };
  SCYPER_RETURN_IF_ERROR(bind());
  if (common->references == 0) return std::shared_ptr<CommonQuery>();
  common->references = 0;
  SCYPER_RETURN_IF_ERROR(check_recursive_term(select));
  if (common->recursive->visible_outputs() != common->columns.size())
    return error("42601", "each UNION query must have the same number of columns", -1);
  if (common->recursive->set != SetOp::kNone || common->recursive->distinct || !common->recursive->order.empty())
    wrap(&common->recursive);
  size_t c = 0;
  for (auto& output : common->recursive->outputs) {
    if (output.hidden) continue;
    const RelationColumn& column = common->columns[c++];
    std::vector<BoundPtr> both;
    both.push_back(make_null(column.type, output.expr->location));
    both.push_back(std::move(output.expr));
    SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(both, "UNION"));
    if (type.id != column.type.id)
      return error("42804",
                   absl::StrCat("recursive query \"", table.name, "\" column ", c, " has type ", type_name(column.type),
                                " in non-recursive term but type ", type_name(type), " overall"),
                   common->query->outputs[c - 1].expr->location);
    SCYPER_ASSIGN_OR_RETURN(output.expr, coerce(std::move(both[1]), column.type, Coercion::kImplicit));
  }
  return common;
}

// While the right side of a RIGHT or FULL JOIN is bound: it has rows without any of the left side's.
class Binder::Barred {
 public:
  Barred(Binder* binder, ast::JoinKind join, const Scope& scope, size_t from)
      : binder_(binder), saved_(binder->barred_) {
    if (join != ast::JoinKind::kRight && join != ast::JoinKind::kFull) return;
    binder->barred_.insert(scope.relations.begin() + static_cast<ptrdiff_t>(from), scope.relations.end());
  }
  ~Barred() { binder_->barred_ = std::move(saved_); }
  Barred(const Barred&) = delete;
  Barred& operator=(const Barred&) = delete;

 private:
  Binder* const binder_;
  std::set<const Relation*> saved_;
};

// A column of a relation of `level` is read in `scope`: every query between here and there depends on it.
Status Binder::reach(const Relation& relation, const Scope* scope, const Scope* level, int32_t location) const {
  if (barred_.count(&relation) != 0)
    return with_detail(
        error("42P10", absl::StrCat("invalid reference to FROM-clause entry for table \"", relation.alias, "\""),
              location),
        "The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
  for (const Scope* s = scope; s != level; s = s->parent)
    if (s->query != nullptr) s->query->correlated = true;
  return absl::OkStatus();
}

namespace {
// May it read columns of what stands to its left?
bool may_read_left(const ast::FromItem& item) {
  if (item.kind == ast::FromKind::kFunction) return true;
  if (item.kind == ast::FromKind::kSubquery) return node_as<ast::FromSubquery>(item).lateral;
  if (item.kind != ast::FromKind::kJoin) return false;
  const auto& join = node_as<ast::FromJoin>(item);
  return may_read_left(*join.left) || may_read_left(*join.right);
}
}  // namespace

// (a JOIN b) AS j: a query of all columns, which hides what is inside.
StatusOr<std::unique_ptr<Relation>> Binder::join_relation(const ast::FromJoin& item, const Scope* scope) {
  auto query = std::make_unique<BoundQuery>();
  query->id = ++query_count_;
  Scope inner;
  inner.parent = may_read_left(item) ? scope : scope->parent;
  inner.query = query.get();
  if (needs_tree_inside(item)) {
    SCYPER_ASSIGN_OR_RETURN(JoinTree tree, bind_join_inside(item, &inner, query.get()));
    query->joins.push_back(std::move(tree));
  } else {
    SCYPER_RETURN_IF_ERROR(bind_join(item, &inner, query.get(), JoinType::kInner));
  }
  auto relation = new_relation(RelationKind::kQuery, item.alias.name);
  for (const auto& visible : inner.columns) {
    BoundPtr value = inner.value(visible, item.location);
    relation->columns.push_back({inner.column(visible).name, value->type, value->nullable, false, {}, value->domain});
    query->outputs.push_back({relation->columns.back().name, std::move(value), false});
  }
  relation->query = std::move(query);
  const std::vector<std::string>& names = item.alias.columns;
  if (names.size() > relation->columns.size())
    return error("42P10",
                 absl::StrCat("join expression \"", item.alias.name, "\" has ", relation->columns.size(),
                              " columns available but ", names.size(), " columns specified"),
                 -1);
  for (size_t i = 0; i < names.size(); i++) relation->columns[i].name = names[i];
  return relation;
}

// Outer joins of any shape. ON sees the join's own relations only.
StatusOr<JoinTree> Binder::bind_join_tree(const ast::FromItem& item, Scope* scope, BoundQuery* query) {
  if (is_open_join(item)) return bind_join_inside(node_as<ast::FromJoin>(item), scope, query);
  JoinTree tree;
  tree.first = static_cast<uint32_t>(query->from.size());
  SCYPER_RETURN_IF_ERROR(bind_from(item, scope, query, JoinType::kInner));
  return tree;
}

StatusOr<JoinTree> Binder::bind_join_inside(const ast::FromJoin& join, Scope* scope, BoundQuery* query) {
  JoinTree tree;
  tree.first = static_cast<uint32_t>(query->from.size());
  size_t relations = scope->relations.size(), columns = scope->columns.size();
  const bool is_full = join.join == ast::JoinKind::kFull;
  auto bind_left = [&] {
    const RecursionAt at(this, RecursionPlace::kOuterJoin, is_full || join.join == ast::JoinKind::kRight);
    return bind_join_tree(*join.left, scope, query);
  };
  SCYPER_ASSIGN_OR_RETURN(JoinTree left, bind_left());
  size_t middle = scope->relations.size(), middle_column = scope->columns.size();
  auto bind_right = [&] {
    const Barred barred(this, join.join, *scope, relations);
    const RecursionAt at(this, RecursionPlace::kOuterJoin, is_full || join.join == ast::JoinKind::kLeft);
    return bind_join_tree(*join.right, scope, query);
  };
  SCYPER_ASSIGN_OR_RETURN(JoinTree right, bind_right());
  tree.type = join.join == ast::JoinKind::kLeft    ? JoinType::kLeft
              : join.join == ast::JoinKind::kRight ? JoinType::kRight
              : join.join == ast::JoinKind::kFull  ? JoinType::kFull
                                                   : JoinType::kInner;
  std::vector<BoundPtr>* on = &query->from[right.first].on;
  std::vector<std::string> names = join.using_columns;
  if (join.natural) {
    auto visible = [&](size_t i) -> const RelationColumn& { return scope->column(scope->columns[i]); };
    for (size_t l = columns; l < middle_column; l++)
      for (size_t r = middle_column; r < scope->columns.size(); r++)
        if (visible(l).name == visible(r).name) names.push_back(visible(l).name);
  }
  SCYPER_RETURN_IF_ERROR(merge_columns(join, names, columns, middle_column, scope, on));
  Scope inner = *scope;
  auto begin = static_cast<ptrdiff_t>(relations);
  inner.relations.erase(inner.relations.begin(), inner.relations.begin() + begin);
  inner.nullable.erase(inner.nullable.begin(), inner.nullable.begin() + begin);
  inner.columns.erase(inner.columns.begin(), inner.columns.begin() + static_cast<ptrdiff_t>(columns));
  for (auto& column : inner.columns) column.relation -= relations;
  for (auto& alias : inner.aliases)
    for (auto& column : alias.columns) column.relation -= relations;
  if (join.on != nullptr) {
    aggregate_clause_ = "JOIN conditions";
    SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, bind_condition(*join.on, &inner, "JOIN/ON"));
    aggregate_clause_ = "FROM";
    flatten_and(std::move(condition), on);
  }
  for (size_t r = relations; r < scope->relations.size(); r++) {
    bool on_left = r < middle;
    if (tree.type == JoinType::kFull || (tree.type == JoinType::kLeft && !on_left) ||
        (tree.type == JoinType::kRight && on_left))
      scope->nullable[r] = true;
  }
  tree.left = std::make_shared<const JoinTree>(std::move(left));
  tree.right = std::make_shared<const JoinTree>(std::move(right));
  return tree;
}

// check_grouping_call() finds the groups of its arguments once GROUP BY is bound.
StatusOr<BoundPtr> Binder::bind_grouping_call(const ast::GroupingCall& call, const Scope* scope) {
  if (aggregate_query_ == nullptr) return error("42803", "grouping operations are not allowed here", call.location);
  BoundPtr result = make_expr(BoundKind::kGrouping, make_type(TypeId::kInt4), false, call.location);
  result->relation = aggregate_query_->id;
  result->index = static_cast<uint32_t>(aggregate_query_->grouping_calls.size());
  aggregate_query_->grouping_calls.emplace_back();
  for (const auto& arg : call.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(*arg, scope));
    result->args.push_back(std::move(bound));
  }
  return result;
}

}  // namespace scyper::query
