#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "parse/sql_parser.h"

// GROUPING SETS, DISTINCT ON, WITH RECURSIVE and trees of outer joins.
namespace scyper::query {

using ast::node_as;

// The sets that an item of GROUP BY stands for.
StatusOr<std::vector<std::vector<uint32_t>>> Binder::bind_grouping_set(const ast::Expr& item, const Scope* scope,
                                                                       BoundQuery* query) {
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
      SCYPER_RETURN_IF_ERROR(bind_group_item(*e, scope, query, &columns.back()));
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
      SCYPER_ASSIGN_OR_RETURN(auto more, bind_grouping_set(*inner, scope, query));
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
    query->distinct_on.push_back(probe.order[0].output);
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
  auto relation = new_relation(RelationKind::kCommon, std::move(alias));
  relation->columns = common->columns;
  common->references++;
  relation->common = std::move(common);
  return relation;
}

// WITH RECURSIVE name AS (term UNION [ALL] term that names it); nullptr: it does not name itself.
StatusOr<std::shared_ptr<CommonQuery>> Binder::bind_recursive(const ast::CommonTable& table) {
  const auto& select = node_as<ast::SelectStatement>(*table.statement);
  auto common = std::make_shared<CommonQuery>();
  common->keeps_duplicates = select.set_all;
  auto saved = common_tables_;
  auto bind = [&]() -> Status {
    SCYPER_RETURN_IF_ERROR(check_common_tables(select));
    SCYPER_ASSIGN_OR_RETURN(common->query, bind_select(*select.left, nullptr));
    for (const auto& output : common->query->outputs)
      if (!output.hidden) common->columns.push_back({output.name, output.expr->type, true, false});
    for (size_t i = 0; i < table.columns.size() && i < common->columns.size(); i++)
      common->columns[i].name = table.columns[i];
    common_tables_[table.name] = {&table, common};
    SCYPER_ASSIGN_OR_RETURN(common->recursive, bind_select(*select.right, nullptr));
    return absl::OkStatus();
  };
  Status status = bind();
  common_tables_ = std::move(saved);
  SCYPER_RETURN_IF_ERROR(status);
  if (common->references == 0) return std::shared_ptr<CommonQuery>();
  common->references = 0;
  if (!select.order_by.empty())
    return error("0A000", "ORDER BY in a recursive query is not implemented", select.location);
  if (select.limit != nullptr || select.offset != nullptr)
    return error("0A000", "LIMIT in a recursive query is not implemented", select.location);
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

// Outer joins of any shape. ON sees the join's own relations only.
StatusOr<JoinTree> Binder::bind_join_tree(const ast::FromItem& item, Scope* scope, BoundQuery* query) {
  JoinTree tree;
  tree.first = static_cast<uint32_t>(query->from.size());
  if (item.kind != ast::FromKind::kJoin) {
    SCYPER_RETURN_IF_ERROR(bind_from(item, scope, query, JoinType::kInner));
    return tree;
  }
  const auto& join = node_as<ast::FromJoin>(item);
  if (!join.alias.name.empty() || !join.using_alias.name.empty())
    return error("0A000", "aliases of joins are not supported", item.location);
  size_t relations = scope->relations.size(), columns = scope->columns.size();
  SCYPER_ASSIGN_OR_RETURN(JoinTree left, bind_join_tree(*join.left, scope, query));
  size_t middle = scope->relations.size(), middle_column = scope->columns.size();
  SCYPER_ASSIGN_OR_RETURN(JoinTree right, bind_join_tree(*join.right, scope, query));
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
  for (auto& column : inner.columns) column.relation -= relations, column.other_relation -= relations;
  if (join.on != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, bind_condition(*join.on, &inner, "JOIN/ON"));
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

}  // namespace scyper::query
