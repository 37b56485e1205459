#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "plan/hot_view.h"
#include "types/timezone.h"

// CREATE HOT DATA VIEW, DROP HOT DATA VIEW (docs/tiering.md).
namespace scyper::query {

using ast::node_as;
using ast::node_if;

Status Definer::not_hot(int32_t location) const {
  return with_hint(error("0A000", "not supported in a hot data view", location),
                   "It selects columns of one table by a conjunction of =, <, <=, >, >=, BETWEEN, IN and IS [NOT] NULL "
                   "of columns and constants.");
}

// FROM one table; nothing else but targets and WHERE.
StatusOr<std::shared_ptr<storage::Table>> Definer::table_of_hot_view(const ast::CreateViewStatement& create) const {
  if (create.persistence != ast::Persistence::kPermanent || !create.columns.empty() || !create.options.empty())
    return not_hot(create.view.location);
  const ast::SelectStatement& select = *create.query;
  const bool is_plain = select.with.tables.empty() && !select.distinct && select.group_by.empty() &&
                        select.having == nullptr && select.windows.empty() && !select.into && select.values.empty() &&
                        select.set == ast::SetOperation::kNone && select.order_by.empty() && select.limit == nullptr &&
                        select.offset == nullptr && select.locking.empty();
  if (!is_plain || select.from.size() != 1) return not_hot(select.location);
  if (select.from[0]->kind != ast::FromKind::kTable) return not_hot(select.from[0]->location);
  const ast::TableRef& from = static_cast<const ast::FromTable&>(*select.from[0]).table;
  if (!from.alias.name.empty() || select.where == nullptr) return not_hot(from.location);
  const std::string& key = from.name.back();
  if (old_->find_table(key) == nullptr && !old_->views.contains(key))
    return error("42P01", absl::StrCat("relation \"", key, "\" does not exist"), from.location);
  SCYPER_ASSIGN_OR_RETURN(auto table, find_table(from.name));
  SCYPER_RETURN_IF_ERROR(must_own(ast::ObjectKind::kTable, key));
  if (old_->find_materialized_view(key) != nullptr)
    return error("42809", absl::StrCat("\"", key, "\" is not a table"), from.location);
  if (is_temporary_key(key))
    return error("0A000", "hot data views of temporary tables are not supported", from.location);
  return table;
}

Status Definer::define_hot_columns(const std::vector<ast::SelectTarget>& targets, const storage::TableSchema& schema,
                                   HotDataView* view) const {
  std::set<uint32_t> columns;
  for (const ast::SelectTarget& target : targets) {
    const auto* column = node_if<ast::ColumnRef>(target.expr.get());
    if (column == nullptr || !target.alias.empty()) return not_hot(target.location);
    const size_t qualifiers = column->name.size() - (column->star ? 0 : 1);
    if (qualifiers > 1 || (qualifiers == 1 && column->name[0] != schema.name))
      return error("42P01", absl::StrCat("missing FROM-clause entry for table \"", column->name[0], "\""),
                   column->location);
    if (column->star) {
      for (uint32_t i = 0; i < storage::visible_columns(schema); ++i) columns.insert(i);
      continue;
    }
    const int found = find_column(schema, column->name.back());
    if (found < 0)
      return error("42703", absl::StrCat("column \"", column->name.back(), "\" does not exist"), column->location);
    columns.insert(static_cast<uint32_t>(found));
  }
  if (columns.empty()) return not_hot(-1);
  view->columns.assign(columns.begin(), columns.end());
  return Status();
}

// One conjunct after the other, as each has its position.
Status Definer::check_hot_predicate(const ast::Expr& expr, const std::shared_ptr<storage::Table>& table) const {
  if (const auto* logical = node_if<ast::Logical>(&expr); logical != nullptr && logical->op == ast::LogicalOp::kAnd) {
    for (const ast::ExprPtr& arg : logical->args) SCYPER_RETURN_IF_ERROR(check_hot_predicate(*arg, table));
    return Status();
  }
  Binder binder(*old_, text_);
  SCYPER_ASSIGN_OR_RETURN(const BoundPtr bound, binder.bind_check(expr, table));
  bool is_known = expr.kind == ast::ExprKind::kNullTest;
  if (expr.kind == ast::ExprKind::kBinaryOp) is_known = node_as<ast::BinaryOp>(expr).op != "<>";
  if (const auto* between = node_if<ast::Between>(&expr)) is_known = !between->negated && !between->symmetric;
  if (const auto* list = node_if<ast::InList>(&expr)) is_known = !list->negated;
  storage::HotView ignored;
  if (!is_known || !add_hot_condition(*bound, table->schema(), &ignored)) return not_hot(expr.location);
  return Status();
}

Status Definer::create_hot_view(const ast::CreateViewStatement& create, ResultSet* result) {
  result->command_tag = "CREATE HOT DATA VIEW";
  const std::string name(bare_name(create.view.name.back()));
  SCYPER_ASSIGN_OR_RETURN(const auto table, table_of_hot_view(create));
  auto view = std::make_shared<HotDataView>();
  view->table = table->schema().id;
  SCYPER_RETURN_IF_ERROR(define_hot_columns(create.query->targets, table->schema(), view.get()));
  SCYPER_RETURN_IF_ERROR(check_hot_predicate(*create.query->where, table));
  view->predicate = to_sql(*create.query->where);
  view->time_zone = session_zone_mark();
  SCYPER_RETURN_IF_ERROR(make_hot_view(*old_, table, name, *view).status());
  if (old_->hot_data_views.contains(name))
    return error("42710", absl::StrCat("hot data view \"", name, "\" already exists"), create.view.location);
  const auto of_table = std::count_if(old_->hot_data_views.begin(), old_->hot_data_views.end(),
                                      [&](const auto& entry) { return entry.second->table == view->table; });
  if (static_cast<size_t>(of_table) >= storage::HotViews::kMax)
    return error("54000", absl::StrCat("a table has at most ", storage::HotViews::kMax, " hot data views"),
                 create.view.location);
  next().hot_data_views[name] = std::move(view);
  return Status();
}

Status Definer::drop_hot_views(const ast::DropStatement& drop, ResultSet* result) {
  for (const auto& object : drop.objects) {
    const std::string name(bare_name(object.name.back()));
    auto found = next().hot_data_views.find(name);
    if (found == next().hot_data_views.end()) {
      if (!drop.if_exists) return error("42704", absl::StrCat("hot data view \"", name, "\" does not exist"), -1);
      result->notices.push_back(absl::StrCat("NOTICE:  hot data view \"", name, "\" does not exist, skipping"));
      continue;
    }
    SCYPER_RETURN_IF_ERROR(must_own(ast::ObjectKind::kTable, next().find_table(found->second->table)->schema().name));
    next().hot_data_views.erase(found);
  }
  return Status();
}

// They go with their tables.
void Definer::drop_hot_views_without_table() {
  if (next_ == nullptr || next_->hot_data_views.empty()) return;
  std::erase_if(next_->hot_data_views,
                [&](const auto& entry) { return next_->find_table(entry.second->table) == nullptr; });
}

// And with the columns that they compare, as indexes do; other columns only leave them.
void Definer::drop_column_of_hot_views(const storage::TableSchema& schema, uint32_t column) {
  auto& views = next().hot_data_views;
  std::erase_if(views, [&](const auto& entry) {
    const HotDataView& view = *entry.second;
    return view.table == schema.id &&
           (view.columns == std::vector{column} || reads_column(schema, view.predicate, column));
  });
  for (auto& [name, view] : views) {
    if (view->table != schema.id) continue;
    auto changed = std::make_shared<HotDataView>(*view);
    std::erase(changed->columns, column);
    for (uint32_t& position : changed->columns) position -= position > column ? 1 : 0;
    view = std::move(changed);
  }
}

// After a column's type has changed.
Status Definer::check_hot_views(TableId table) {
  for (const auto& [name, view] : next().hot_data_views)
    if (view->table == table)
      SCYPER_RETURN_IF_ERROR(make_hot_view(next(), next().find_table(table), name, *view).status());
  return Status();
}

}  // namespace scyper::query
