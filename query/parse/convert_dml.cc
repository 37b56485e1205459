#include "parse/converter.h"

namespace scyper::query {

namespace {

ast::Overriding overriding_of(OverridingKind kind) {
  return kind == OVERRIDING_USER_VALUE     ? ast::Overriding::kUser
         : kind == OVERRIDING_SYSTEM_VALUE ? ast::Overriding::kSystem
                                           : ast::Overriding::kNone;
}

}  // namespace

void Converter::target_indirection(const List* list, std::vector<ast::SubscriptIndex>& subscripts, ast::Name& fields) {
  for (const Node* step : items(list)) {
    if (nodeTag(step) == T_A_Indices) {
      if (!fields.empty()) refuse("an element of an array inside a composite column", -1);
      subscripts.push_back(subscript(to<A_Indices>(step)));
    } else if (nodeTag(step) == T_String) {
      if (!subscripts.empty()) refuse("a field of an array element", -1);
      fields.push_back(string_of(step));
    } else {
      fail("42601", "row expansion via \"*\" is not supported here", -1);
    }
  }
}

std::vector<ast::InsertColumn> Converter::insert_columns(const List* list) {
  std::vector<ast::InsertColumn> out;
  for (const Node* item : items(list)) {
    const auto& target = to<ResTarget>(item);
    ast::InsertColumn column;
    column.name = text_of(target.name);
    column.location = at(target.location);
    target_indirection(target.indirection, column.subscripts, column.fields);
    out.push_back(std::move(column));
  }
  return out;
}

// (a, b) = row arrives as one ResTarget per column, all with the same source.
std::vector<ast::SetItem> Converter::set_items(const List* list) {
  std::vector<ast::SetItem> out;
  for (const Node* item : items(list)) {
    const auto& target = to<ResTarget>(item);
    ast::Assignment assignment;
    assignment.column = text_of(target.name);
    assignment.location = at(target.location);
    target_indirection(target.indirection, assignment.subscripts, assignment.fields);
    if (target.val != nullptr && nodeTag(target.val) == T_MultiAssignRef) {
      const auto& multi = to<MultiAssignRef>(target.val);
      if (multi.colno == 1) {
        out.emplace_back();
        out.back().multi = true;
        out.back().source = expr(multi.source);
      }
    } else {
      out.emplace_back();
      assignment.value = expr(target.val);
    }
    if (failed_) break;
    out.back().targets.push_back(std::move(assignment));
  }
  return out;
}

ast::OnConflict Converter::on_conflict(const OnConflictClause* node) {
  ast::OnConflict out;
  if (node == nullptr) return out;
  out.location = at(node->location);
  out.action = node->action == ONCONFLICT_UPDATE ? ast::ConflictAction::kUpdate : ast::ConflictAction::kNothing;
  if (node->infer != nullptr) {
    out.target = index_elements(node->infer->indexElems);
    out.infer_location = at(node->infer->location);
    out.target_where = expr(node->infer->whereClause);
    out.constraint = text_of(node->infer->conname);
  }
  out.set = set_items(node->targetList);
  out.where = expr(node->whereClause);
  return out;
}

std::unique_ptr<ast::InsertStatement> Converter::insert(const InsertStmt& node) {
  auto out = std::make_unique<ast::InsertStatement>();
  out->with = with(node.withClause);
  out->table = table_ref(node.relation);
  out->columns = insert_columns(node.cols);
  out->overriding = overriding_of(node.override);
  out->source = select(node.selectStmt);
  out->on_conflict = on_conflict(node.onConflictClause);
  out->returning = targets(node.returningList);
  return out;
}

std::unique_ptr<ast::UpdateStatement> Converter::update(const UpdateStmt& node) {
  auto out = std::make_unique<ast::UpdateStatement>();
  out->with = with(node.withClause);
  out->table = table_ref(node.relation);
  out->set = set_items(node.targetList);
  out->from = from_items(node.fromClause);
  out->where = expr(node.whereClause);
  out->returning = targets(node.returningList);
  return out;
}

std::unique_ptr<ast::DeleteStatement> Converter::delete_from(const DeleteStmt& node) {
  auto out = std::make_unique<ast::DeleteStatement>();
  out->with = with(node.withClause);
  out->table = table_ref(node.relation);
  out->from = from_items(node.usingClause);
  out->where = expr(node.whereClause);
  out->returning = targets(node.returningList);
  return out;
}

ast::MergeWhen Converter::merge_when(const MergeWhenClause& node) {
  ast::MergeWhen out;
  out.matched = node.matched;
  out.condition = expr(node.condition);
  out.overriding = overriding_of(node.override);
  switch (node.commandType) {
    case CMD_INSERT:
      out.action = ast::MergeAction::kInsert;
      out.columns = insert_columns(node.targetList);
      out.values = exprs(node.values);
      break;
    case CMD_UPDATE:
      out.action = ast::MergeAction::kUpdate;
      out.set = set_items(node.targetList);
      break;
    case CMD_DELETE:
      out.action = ast::MergeAction::kDelete;
      break;
    default:
      out.action = ast::MergeAction::kDoNothing;
  }
  return out;
}

std::unique_ptr<ast::MergeStatement> Converter::merge(const MergeStmt& node) {
  auto out = std::make_unique<ast::MergeStatement>();
  out->with = with(node.withClause);
  out->table = table_ref(node.relation);
  out->source = from_item(node.sourceRelation);
  out->on = expr(node.joinCondition);
  for (const Node* when : items(node.mergeWhenClauses)) out->whens.push_back(merge_when(to<MergeWhenClause>(when)));
  return out;
}

}  // namespace scyper::query
