#include <algorithm>

#include "base/object_name.h"
#include "parse/converter.h"

namespace scyper::query {

namespace {

// libpg_query numbers LimitOption in an order of its own (DEFAULT, COUNT, WITH_TIES), unlike PostgreSQL's header
// (COUNT, WITH_TIES, DEFAULT). It is the only enum of the two that differs (compared by pg_query.proto).
constexpr int kLibraryWithTies = 2;

}  // namespace

ast::SelectPtr Converter::select(const void* node) {
  if (node == nullptr || failed_) return nullptr;
  const Level level(*this);
  if (failed_) return nullptr;
  const auto* raw = static_cast<const Node*>(node);
  if (nodeTag(raw) != T_SelectStmt) {
    refuse(std::string(command_name(raw)) + " in this place", -1);
    return nullptr;
  }
  return select_body(to<SelectStmt>(raw));
}

ast::SelectPtr Converter::select_body(const SelectStmt& node) {
  ast::SelectPtr out(new ast::SelectStatement);
  out->with = with(node.withClause);
  if (node.op != SETOP_NONE) {
    out->set = node.op == SETOP_UNION       ? ast::SetOperation::kUnion
               : node.op == SETOP_INTERSECT ? ast::SetOperation::kIntersect
                                            : ast::SetOperation::kExcept;
    out->set_all = node.all;
    out->left = select(node.larg);
    out->right = select(node.rarg);
  } else if (node.valuesLists != nullptr) {
    out->values.reserve(static_cast<size_t>(length_of(node.valuesLists)));
    for (const Node* row : items(node.valuesLists)) {
      out->values.push_back(exprs(reinterpret_cast<const List*>(row)));
      if (failed_) break;
    }
  } else {
    select_leaf(node, *out);
  }
  out->order_by = sort_items(node.sortClause);
  const auto* limit = reinterpret_cast<const A_Const*>(node.limitCount);
  const bool limit_all = limit != nullptr && limit->type == T_A_Const && limit->isnull;  // LIMIT ALL
  if (!limit_all) out->limit = expr(node.limitCount);
  out->offset = expr(node.limitOffset);
  out->with_ties = static_cast<int>(node.limitOption) == kLibraryWithTies;
  if (limit_all && out->with_ties) {
    fail("2201W", "row count cannot be null in FETCH FIRST ... WITH TIES clause", -1);
  }
  for (const Node* clause : items(node.lockingClause)) out->locking.push_back(locking(to<::LockingClause>(clause)));
  if (failed_) return nullptr;
  return out;
}

void Converter::select_leaf(const SelectStmt& node, ast::SelectStatement& out) {
  if (node.distinctClause != nullptr) {
    out.distinct = true;  // plain DISTINCT is a list of one null
    if (node_at(node.distinctClause, 0) != nullptr) out.distinct_on = exprs(node.distinctClause);
  }
  out.targets = targets(node.targetList);
  out.from = from_items(node.fromClause);
  out.where = expr(node.whereClause);
  out.group_by = exprs(node.groupClause);
  out.group_by_distinct = node.groupDistinct;
  out.having = expr(node.havingClause);
  for (const Node* entry : items(node.windowClause)) out.windows.push_back(window(to<WindowDef>(entry)));
  if (node.intoClause != nullptr) {
    out.into = true;
    out.into_table = new_table_ref(node.intoClause->rel);
  }
}

ast::WithClause Converter::with(const ::WithClause* node) {
  ast::WithClause out;
  if (node == nullptr || failed_) return out;
  out.recursive = node->recursive;
  for (const Node* item : items(node->ctes)) common_names_.push_back(text_of(to<CommonTableExpr>(item).ctename));
  for (const Node* item : items(node->ctes)) {
    const auto& cte = to<CommonTableExpr>(item);
    if (cte.search_clause != nullptr) refuse("SEARCH in WITH", cte.location);
    if (cte.cycle_clause != nullptr) refuse("CYCLE in WITH", cte.location);
    ast::CommonTable table;
    table.name = text_of(cte.ctename);
    table.columns = name_of(cte.aliascolnames);
    using Materialize = ast::CommonTable::Materialize;
    table.materialize = cte.ctematerialized == CTEMaterializeAlways  ? Materialize::kAlways
                        : cte.ctematerialized == CTEMaterializeNever ? Materialize::kNever
                                                                     : Materialize::kDefault;
    table.statement = statement(cte.ctequery);
    table.location = at(cte.location);
    out.tables.push_back(std::move(table));
    if (failed_) break;
  }
  return out;
}

std::vector<ast::SelectTarget> Converter::targets(const List* list) {
  std::vector<ast::SelectTarget> out;
  out.reserve(static_cast<size_t>(length_of(list)));
  for (const Node* item : items(list)) {
    const auto& target = to<ResTarget>(item);
    out.push_back(ast::SelectTarget{expr(target.val), text_of(target.name), at(target.location)});
    if (failed_) break;
  }
  return out;
}

ast::Alias Converter::alias(const ::Alias* node) {
  ast::Alias out;
  if (node == nullptr) return out;
  out.name = text_of(node->aliasname);
  out.columns = name_of(node->colnames);
  return out;
}

ast::TableRef Converter::table_ref(const RangeVar* node) {
  ast::TableRef out;
  if (node == nullptr) return out;
  if (node->catalogname != nullptr) out.name.emplace_back(node->catalogname);
  if (node->schemaname != nullptr) out.name.emplace_back(node->schemaname);
  out.name.push_back(text_of(node->relname));
  const bool is_common = std::find(common_names_.begin(), common_names_.end(), out.name.back()) != common_names_.end();
  if (out.name.size() > 1 || !is_common) out.name = name_key(NameKind::kRelation, std::move(out.name));
  if (created_.first == out.name.back()) out.name.back() = created_.second;
  out.only = !node->inh;
  out.alias = alias(node->alias);
  out.location = at(node->location);
  if (NamePath::current != nullptr && (out.name.size() > 1 || !is_common)) NamePath::current->change(&out);
  return out;
}

ast::TableRef Converter::new_table_ref(const RangeVar* node, ast::OnCommit on_commit) {
  ast::TableRef out = table_ref(node);
  const bool is_temporary = node != nullptr && node->relpersistence == 't';
  if (is_temporary && (node->schemaname == nullptr || text_of(node->schemaname) == "pg_temp")) {
    out.name = {new_temporary_key(text_of(node->relname), on_commit)};
    return out;
  }
  if (NamePath::current == nullptr || node == nullptr || node->schemaname != nullptr) return out;
  std::string name = text_of(node->relname);
  created_ = {name, name_key(NameKind::kCreated, {name}).back()};
  out.name = {created_.second};
  return out;
}

std::vector<ast::FromItemPtr> Converter::from_items(const List* list) {
  std::vector<ast::FromItemPtr> out;
  for (const Node* node : items(list)) {
    out.push_back(from_item(node));
    if (failed_) break;
  }
  return out;
}

ast::FromItemPtr Converter::from_item(const Node* node) {
  if (node == nullptr || failed_) return nullptr;
  const Level level(*this);
  if (failed_) return nullptr;
  switch (nodeTag(node)) {
    case T_RangeVar: {
      auto out = std::make_unique<ast::FromTable>();
      out->table = table_ref(&to<RangeVar>(node));
      out->location = out->table.location;
      return out;
    }
    case T_RangeSubselect: {
      auto out = std::make_unique<ast::FromSubquery>();
      out->lateral = to<RangeSubselect>(node).lateral;
      out->alias = alias(to<RangeSubselect>(node).alias);
      out->subquery = select(to<RangeSubselect>(node).subquery);
      return out;
    }
    case T_JoinExpr:
      return join(to<JoinExpr>(node));
    case T_RangeFunction:
      return from_function(to<RangeFunction>(node));
    case T_RangeTableSample:
      return table_sample(to<RangeTableSample>(node));
    case T_RangeTableFunc:
      refuse("XMLTABLE", to<RangeTableFunc>(node).location);
      return nullptr;
    default:
      refuse("this kind of table expression", -1);
      return nullptr;
  }
}

// (SELECT * FROM t WHERE " table_sample"(method, seed, arguments ...)) AS t
ast::FromItemPtr Converter::table_sample(const RangeTableSample& node) {
  auto literal = [](ast::LiteralType type, std::string text, ast::Location location) {
    auto out = std::make_unique<ast::Literal>();
    out->type = type;
    out->text = std::move(text);
    out->location = location;
    return out;
  };
  auto table = from_item(node.relation);
  if (failed_) return nullptr;
  auto out = std::make_unique<ast::FromSubquery>();
  out->location = table->location;
  ast::TableRef& ref = ast::node_as<ast::FromTable>(*table).table;
  out->alias = std::move(ref.alias);
  if (out->alias.name.empty()) out->alias.name = ref.name.back();
  ref.alias = {};
  auto call = std::make_unique<ast::FunctionCall>();
  call->name = {" table_sample"};
  call->location = node.location;
  call->args.push_back(literal(ast::LiteralType::kString, name_of(node.method).back(), table->location));
  if (node.repeatable == nullptr)
    call->args.push_back(literal(ast::LiteralType::kString, "", node.location));
  else
    call->args.push_back(expr(node.repeatable));
  for (auto& arg : exprs(node.args)) call->args.push_back(std::move(arg));
  if (failed_) return nullptr;
  auto all = std::make_unique<ast::ColumnRef>();
  all->star = true;
  all->location = node.location;
  out->subquery.reset(new ast::SelectStatement);
  out->subquery->location = node.location;
  out->subquery->targets.push_back({std::move(all), "", node.location});
  out->subquery->from.push_back(std::move(table));
  out->subquery->where = std::move(call);
  return out;
}

ast::FromItemPtr Converter::join(const JoinExpr& node) {
  auto out = std::make_unique<ast::FromJoin>();
  out->left = from_item(node.larg);
  out->right = from_item(node.rarg);
  if (failed_) return nullptr;
  out->location = out->left->location;
  out->natural = node.isNatural;
  out->using_columns = name_of(node.usingClause);
  out->using_alias = alias(node.join_using_alias);
  out->on = expr(node.quals);
  out->alias = alias(node.alias);
  switch (node.jointype) {
    case JOIN_LEFT:
      out->join = ast::JoinKind::kLeft;
      break;
    case JOIN_RIGHT:
      out->join = ast::JoinKind::kRight;
      break;
    case JOIN_FULL:
      out->join = ast::JoinKind::kFull;
      break;
    default:
      out->join = node.quals == nullptr && node.usingClause == nullptr && !node.isNatural ? ast::JoinKind::kCross
                                                                                          : ast::JoinKind::kInner;
  }
  return out;
}

ast::FromItemPtr Converter::from_function(const RangeFunction& node) {
  auto out = std::make_unique<ast::FromFunction>();
  out->lateral = node.lateral;
  out->ordinality = node.ordinality;
  out->rows_from = node.is_rowsfrom;
  out->alias = alias(node.alias);
  const List* declared = node.coldeflist;
  for (const Node* item : items(node.functions)) {
    const auto* pair = reinterpret_cast<const List*>(item);  // (function, its column declarations)
    out->functions.push_back(expr(node_at(pair, 0)));
    const auto* own = reinterpret_cast<const List*>(node_at(pair, 1));
    if (own != nullptr && node.is_rowsfrom) refuse("a column list inside ROWS FROM", -1);
    if (failed_) return nullptr;
  }
  if (!out->functions.empty()) out->location = out->functions.front()->location;
  for (const Node* item : items(declared)) {
    const auto& column = to<ColumnDef>(item);
    out->columns.push_back({text_of(column.colname), type_name(column.typeName), at(column.location)});
  }
  return out;
}

ast::LockingClause Converter::locking(const ::LockingClause& node) {
  ast::LockingClause out;
  switch (node.strength) {
    case LCS_NONE:
      out.strength = ast::LockStrength::kNone;
      break;
    case LCS_FORKEYSHARE:
      out.strength = ast::LockStrength::kKeyShare;
      break;
    case LCS_FORSHARE:
      out.strength = ast::LockStrength::kShare;
      break;
    case LCS_FORNOKEYUPDATE:
      out.strength = ast::LockStrength::kNoKeyUpdate;
      break;
    case LCS_FORUPDATE:
      out.strength = ast::LockStrength::kUpdate;
      break;
  }
  static constexpr std::string_view kNames[] = {"", "FOR KEY SHARE", "FOR SHARE", "FOR NO KEY UPDATE", "FOR UPDATE"};
  for (const Node* table : items(node.lockedRels)) {
    const RangeVar& range = to<RangeVar>(table);
    if (range.schemaname != nullptr || range.catalogname != nullptr)
      fail("42601", std::string(kNames[static_cast<size_t>(out.strength)]) + " must specify unqualified relation names",
           range.location);
    out.tables.push_back(table_ref(&range));
  }
  out.wait = node.waitPolicy == LockWaitSkip    ? ast::LockWait::kSkipLocked
             : node.waitPolicy == LockWaitError ? ast::LockWait::kNoWait
                                                : ast::LockWait::kWait;
  return out;
}

bool is_bare_select(const SelectStmt& node) {
  return node.op == SETOP_NONE && node.distinctClause == nullptr && node.intoClause == nullptr &&
         node.fromClause == nullptr && node.whereClause == nullptr && node.groupClause == nullptr &&
         node.havingClause == nullptr && node.windowClause == nullptr && node.valuesLists == nullptr &&
         node.sortClause == nullptr && node.limitOffset == nullptr && node.limitCount == nullptr &&
         node.lockingClause == nullptr && node.withClause == nullptr;
}

ast::ExprPtr Converter::only_target(const SelectStmt& node, bool allow_query) {
  const bool bare = is_bare_select(node);
  const bool query = !bare && allow_query && node.op == SETOP_NONE && node.intoClause == nullptr &&
                     node.valuesLists == nullptr && node.withClause == nullptr;
  if ((!bare && !query) || length_of(node.targetList) != 1) {
    const int location = length_of(node.targetList) > 1 ? to<ResTarget>(node_at(node.targetList, 1)).location : -1;
    fail("42601", "one expression expected", location);
    return nullptr;
  }
  if (bare) return expr(to<ResTarget>(node_at(node.targetList, 0)).val);
  auto out = std::make_unique<ast::ScalarSubquery>();
  out->location = at(to<ResTarget>(node_at(node.targetList, 0)).location);
  out->subquery = select(&node);
  return out;
}

}  // namespace scyper::query
