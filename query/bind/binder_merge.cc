#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/join_shape.h"
#include "bind/make.h"
#include "bind/relation_walk.h"

// MERGE: the rows of its source are kept and numbered, joined with the target, and each takes the first WHEN that fits.
namespace scyper::query {

namespace {

BoundQuery* add_part(std::shared_ptr<CommonQuery> part, std::unique_ptr<Relation> relation, BoundQuery* query) {
  relation->columns = part->columns;
  relation->common = std::move(part);
  FromEntry entry;
  entry.relation = std::move(relation);
  query->from.push_back(std::move(entry));
  return query;
}

// What the statement reads of the source's relations, from the one relation that keeps their rows.
class SourceColumns {
 public:
  SourceColumns(const BoundQuery& rows, uint32_t kept) : kept_(kept) {
    for (const auto& output : rows.outputs)
      if (output.expr->kind == BoundKind::kColumn)
        positions_.emplace(std::pair(output.expr->relation, output.expr->index),
                           static_cast<uint32_t>(&output - rows.outputs.data()));
    walk_.on_expr = [this](BoundExpr& e) {
      if (e.kind != BoundKind::kColumn) return;
      auto found = positions_.find({e.relation, e.index});
      if (found == positions_.end()) return;
      e.relation = kept_;
      e.index = found->second;
    };
  }
  void rewrite(const BoundPtr& expr) { walk_.walk(expr.get()); }

 private:
  const uint32_t kept_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> positions_;
  RelationWalk walk_;
};

}  // namespace

// The source, as a part of columns and a number.
Status Binder::bind_merge_source(const ast::MergeStatement& merge, Scope* sources, BoundQuery* rows, BoundDml* dml) {
  rows->id = ++query_count_;
  sources->query = rows;
  aggregate_clause_ = "FROM";
  if (needs_tree(*merge.source)) {
    SCYPER_ASSIGN_OR_RETURN(JoinTree tree, bind_join_tree(*merge.source, sources, rows));
    rows->joins.push_back(std::move(tree));
  } else {
    SCYPER_RETURN_IF_ERROR(bind_from(*merge.source, sources, rows, JoinType::kInner));
  }
  auto part = std::make_shared<CommonQuery>();
  part->is_part = true;
  for (size_t r = 0; r < sources->relations.size(); r++) {
    const Relation& relation = *sources->relations[r];
    for (uint32_t c = 0; c < relation.columns.size(); c++) {
      const RelationColumn& column = relation.columns[c];
      const bool nullable = column.nullable || sources->nullable[r] || !rows->joins.empty();
      rows->outputs.push_back({column.name, make_column(relation.id, c, column.type, nullable, -1), false});
      part->columns.push_back({column.name, column.type, nullable, false});
    }
  }
  WindowCall number;
  number.kind = WindowKind::kRowNumber;
  number.function.type = make_type(TypeId::kInt8);
  rows->windows.push_back(std::move(number));
  BoundPtr value = make_expr(BoundKind::kWindow, make_type(TypeId::kInt8), false, -1);
  value->relation = rows->id;
  rows->outputs.push_back({"", std::move(value), false});
  part->columns.push_back({"", make_type(TypeId::kInt8), false, true});
  dml->merge->rows = std::move(part);
  return absl::OkStatus();
}

// One per target; null: DEFAULT.
StatusOr<std::vector<BoundPtr>> Binder::bind_merge_values(const ast::MergeWhen& when,
                                                          const std::vector<InsertTarget>& targets, const Scope* scope,
                                                          const storage::TableSchema& schema) {
  ast::InsertStatement insert;
  insert.overriding = when.overriding;
  aggregate_clause_ = "VALUES";
  std::vector<BoundPtr> given;
  for (size_t i = 0; i < when.values.size(); i++) {
    const ast::Expr& expr = *when.values[i];
    SCYPER_RETURN_IF_ERROR(check_overriding(insert, schema, targets[i].column, &expr));
    BoundPtr value;
    if (expr.kind != ast::ExprKind::kDefaultMarker) {
      SCYPER_ASSIGN_OR_RETURN(value, bind(expr, scope));
      SCYPER_ASSIGN_OR_RETURN(value, coerce_to_target(std::move(value), targets[i], schema));
    } else if (targets[i].part != nullptr) {
      return error("0A000", "cannot set an array element to DEFAULT", targets[i].location);
    }
    given.push_back(std::move(value));
  }
  return given;
}

Status Binder::bind_merge_insert(const ast::MergeWhen& when, const Scope* scope, BoundDml* action,
                                 BoundMergeWhen* bound) {
  const storage::TableSchema& schema = action->table->schema();
  const size_t visible = storage::visible_columns(schema);
  SCYPER_ASSIGN_OR_RETURN(std::vector<InsertTarget> targets, target_columns(when.columns, *action));
  for (uint32_t c = 0; when.columns.empty() && c < std::min(visible, when.values.size()); c++) targets.push_back({c});
  if (when.values.size() > targets.size())
    return error("42601", "INSERT has more expressions than target columns", when.values[targets.size()]->location);
  if (when.values.size() < targets.size() && !when.values.empty())
    return error("42601", "INSERT has more target columns than expressions", when.columns[when.values.size()].location);
  for (const InsertTarget& target : targets) action->named_columns.push_back(target.column);
  SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> given, bind_merge_values(when, targets, scope, schema));
  bound->rows = std::make_shared<CommonQuery>();
  bound->rows->is_part = true;
  auto kept = new_relation(RelationKind::kFunction, "");
  action->source = std::make_unique<BoundQuery>();
  for (uint32_t c = 0; c < visible; c++) {
    const TableRules* rules = rules_of(schema);
    const bool is_drawn =
        when.overriding == ast::Overriding::kUser && rules != nullptr && rules->columns[c].identity != Identity::kNone;
    BoundPtr value;
    if (!is_drawn) {
      SCYPER_ASSIGN_OR_RETURN(value, given_value(targets, &given, c, schema));
    }
    if (value == nullptr) {
      SCYPER_ASSIGN_OR_RETURN(value, default_of(schema, c));
    }
    bound->rows->columns.push_back({schema.columns[c].name, value->type, true, false});
    action->source->outputs.push_back({schema.columns[c].name, make_column(kept->id, c, value->type, true, -1), false});
    bound->values.push_back(std::move(value));
  }
  add_hidden_outputs(schema, action->source.get());
  add_part(bound->rows, std::move(kept), action->source.get());
  return absl::OkStatus();
}

StatusOr<BoundMergeWhen> Binder::bind_merge_when(const ast::MergeWhen& when, const Scope* scope, BoundDml* dml) {
  BoundMergeWhen bound;
  bound.matched = when.matched;
  if (when.condition != nullptr) {
    aggregate_clause_ = "MERGE WHEN";
    SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, bind_condition(*when.condition, scope, "WHEN"));
    flatten_and(std::move(condition), &bound.condition);
  }
  if (when.action == ast::MergeAction::kDoNothing) return bound;
  auto action = std::make_unique<BoundDml>();
  action->table = dml->table;
  action->relation = dml->relation;
  action->source = std::make_unique<BoundQuery>();
  if (when.action == ast::MergeAction::kInsert) {
    action->kind = DmlKind::kInsert;
    action->relation = new_relation(RelationKind::kTable, "")->id;
    SCYPER_RETURN_IF_ERROR(bind_merge_insert(when, scope, action.get(), &bound));
  } else if (when.action == ast::MergeAction::kUpdate) {
    action->kind = DmlKind::kUpdate;
    aggregate_clause_ = "UPDATE";
    SCYPER_RETURN_IF_ERROR(bind_set(when.set, scope, action.get()));
  } else {
    action->kind = DmlKind::kDelete;
  }
  SCYPER_RETURN_IF_ERROR(bind_triggers(action.get()));
  SCYPER_RETURN_IF_ERROR(bind_constraints(action.get()));
  action->checks_at_once = false;  // other actions may change what it refers to
  bound.action = std::move(action);
  return bound;
}

StatusOr<std::unique_ptr<BoundDml>> Binder::bind_merge(const ast::MergeStatement& merge) {
  bool is_final[2] = {false, false};
  for (const auto& when : merge.whens) {
    if (is_final[when.matched ? 1 : 0])
      return error("42601", "unreachable WHEN clause specified after unconditional WHEN clause", -1);
    is_final[when.matched ? 1 : 0] = when.condition == nullptr;
  }
  auto dml = std::make_unique<BoundDml>();
  dml->kind = DmlKind::kMerge;
  dml->merge = std::make_unique<BoundMerge>();
  if (catalog_.has_view(merge.table.name.back()))
    return with_detail(sql_error("0A000", absl::StrCat("cannot execute MERGE on relation \"",
                                                       std::string(bare_name(merge.table.name.back())), "\"")),
                       "This operation is not supported for views.");
  if (catalog_.find_partition(merge.table.name.back()) != nullptr)
    return with_hint(
        sql_error("0A000", absl::StrCat("MERGE into partition \"", std::string(bare_name(merge.table.name.back())),
                                        "\" is not supported")),
        "Use the partitioned table.");
  SCYPER_ASSIGN_OR_RETURN(dml->table, find_table(merge.table, kSelectRight));
  for (const auto& when : merge.whens)
    if (when.action != ast::MergeAction::kDoNothing)
      SCYPER_RETURN_IF_ERROR(check_rights(dml->table->schema(), when.action == ast::MergeAction::kInsert ? kInsertRight
                                                                : when.action == ast::MergeAction::kUpdate
                                                                    ? kUpdateRight
                                                                    : kDeleteRight));
  dml->source = std::make_unique<BoundQuery>();
  auto target =
      table_relation(dml->table, merge.table.alias.name.empty() ? dml->table->schema().name : merge.table.alias.name);
  bind_hidden_columns(target.get());
  dml->relation = target->id;
  auto rows = std::make_unique<BoundQuery>();
  Scope sources, both;
  SCYPER_RETURN_IF_ERROR(bind_merge_source(merge, &sources, rows.get(), dml.get()));
  for (const Relation* relation : sources.relations)
    if (relation->alias == target->alias)
      return with_detail(error("42712", absl::StrCat("name \"", target->alias, "\" specified more than once"), -1),
                         "The name is used both as MERGE target table and data source.");
  both.query = sources.query = dml->source.get();
  SCYPER_RETURN_IF_ERROR(add_relation(std::move(target), &both, dml->source.get(), JoinType::kInner, -1));
  for (size_t i = 0; i < sources.relations.size(); i++) both.add(sources.relations[i], sources.nullable[i]);
  auto kept = new_relation(RelationKind::kFunction, "");
  SourceColumns columns(*rows, kept->id);
  dml->merge->unmatched = std::make_unique<Relation>();
  dml->merge->unmatched->id = kept->id;
  dml->merge->unmatched->kind = RelationKind::kFunction;
  dml->merge->unmatched->columns = dml->merge->rows->columns;
  dml->merge->unmatched->common = dml->merge->rows;
  for (uint32_t c = 0; c < dml->merge->rows->columns.size(); c++) {
    const RelationColumn& column = dml->merge->rows->columns[c];
    dml->source->outputs.push_back({"", make_column(kept->id, c, column.type, column.nullable, -1), false});
  }
  add_part(dml->merge->rows, std::move(kept), dml->source.get());
  dml->merge->rows->query = std::move(rows);
  aggregate_clause_ = "JOIN conditions";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr on, bind_condition(*merge.on, &both, "JOIN/ON"));
  flatten_and(std::move(on), &dml->source->where);
  for (const auto& e : dml->source->where) columns.rewrite(e);
  for (const auto& when : merge.whens) {
    SCYPER_ASSIGN_OR_RETURN(BoundMergeWhen bound, bind_merge_when(when, when.matched ? &both : &sources, dml.get()));
    for (const auto& e : bound.condition) columns.rewrite(e);
    for (const auto& value : bound.values) columns.rewrite(value);
    if (bound.action != nullptr)
      for (const auto& assignment : bound.action->assignments) columns.rewrite(assignment.value);
    dml->merge->whens.push_back(std::move(bound));
  }
  return dml;
}

}  // namespace scyper::query
