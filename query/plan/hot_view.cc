#include "plan/hot_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "parse/sql_parser.h"
#include "plan/expressions.h"
#include "plan/scan_condition.h"
#include "runtime/scan_conditions.h"
#include "types/timezone.h"

namespace scyper::query {
namespace {

size_t count_terms(const auto& conditions) {
  return static_cast<size_t>(
      std::count_if(conditions.begin(), conditions.end(), [](const auto& one) { return one.has_alternative == 0; }));
}

// What one bound of a text points to.
void keep_text(Datum* bound, storage::HotView* view) {
  if (bound->null != 0) return;
  const std::string& text = view->texts.emplace_back(bound->data(), bound->size());
  *bound = string_datum(text.data(), text.size());
}

std::vector<const BoundExpr*> conjuncts_of(const BoundExpr& expr) {
  if (expr.kind != BoundKind::kAnd) return {&expr};
  std::vector<const BoundExpr*> all;
  for (const BoundPtr& arg : expr.args)
    for (const BoundExpr* one : conjuncts_of(*arg)) all.push_back(one);
  return all;
}

}  // namespace

bool add_hot_condition(const BoundExpr& conjunct, const storage::TableSchema& schema, storage::HotView* view) {
  const std::set<uint32_t> relations = relations_of(conjunct);
  if (relations.size() != 1) return false;
  Relation relation;
  relation.id = *relations.begin();
  const std::vector<ScanCondition> found = find_scan_conditions(relation, {&conjunct});
  const ConstantConditions constant = constant_conditions(found);
  std::vector<storage::ColumnCondition> read;
  if (found.empty() || !constant.is_whole ||
      !read_conditions(constant.conditions, constant.bounds.data(), schema, &read) ||
      count_terms(read) != count_terms(constant.conditions)) {
    return false;
  }
  for (storage::ColumnCondition& condition : read) {
    if (holds_bytes(schema.columns[condition.column].type.id)) {
      keep_text(&condition.predicate.low, view);
      keep_text(&condition.predicate.high, view);
    }
    view->conditions.push_back(condition);
  }
  return true;
}

std::string hot_views_text(const Catalog& catalog, TableId table) {
  std::string text;
  for (const auto& [name, view] : catalog.hot_data_views) {
    if (view->table != table) continue;
    for (const std::string& part : {name, view->predicate, view->time_zone})
      absl::StrAppend(&text, part.size(), " ", part, " ");
    for (const uint32_t column : view->columns) absl::StrAppend(&text, column, " ");
  }
  return text;
}

StatusOr<storage::HotView> make_hot_view(const Catalog& catalog, const std::shared_ptr<storage::Table>& table,
                                         const std::string& name, const HotDataView& definition) {
  const auto zone = make_session_zone(definition.time_zone);
  const ZoneScope zone_scope(zone.get());
  SCYPER_ASSIGN_OR_RETURN(const auto expr, parse_expression(definition.predicate));
  Binder binder(catalog, definition.predicate);
  SCYPER_ASSIGN_OR_RETURN(const BoundPtr bound, binder.bind_check(*expr, table));
  storage::HotView view;
  view.name = name;
  view.columns = definition.columns;
  for (const BoundExpr* conjunct : conjuncts_of(*bound))
    if (!add_hot_condition(*conjunct, table->schema(), &view))
      return sql_error("0A000", absl::StrCat("the predicate of hot data view \"", name,
                                             "\" does not compare columns of such types with constants"));
  return view;
}

std::shared_ptr<const storage::HotViews> make_hot_views(const Catalog& catalog,
                                                        const std::shared_ptr<storage::Table>& table,
                                                        std::string made_of) {
  auto made = std::make_shared<storage::HotViews>();
  for (const auto& [name, definition] : catalog.hot_data_views) {
    if (definition->table != table->schema().id || made->views.size() == storage::HotViews::kMax) continue;
    StatusOr<storage::HotView> view = make_hot_view(catalog, table, name, *definition);
    if (view.ok()) made->views.push_back(*std::move(view));
  }
  if (made->views.empty()) return nullptr;
  made->made_of = std::move(made_of);
  return made;
}

std::string show_hot_view(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts) {
  const storage::FrozenStore* store = relation.table->frozen_store();
  const std::shared_ptr<const storage::HotViews> views = store == nullptr ? nullptr : store->hot_views();
  if (views == nullptr) return "";
  const storage::TableSchema& schema = relation.table->schema();
  const std::vector<ScanCondition> found = find_scan_conditions(relation, conjuncts);
  const ConstantConditions constant = constant_conditions(found);
  std::vector<storage::ColumnCondition> read;
  if (!read_conditions(constant.conditions, constant.bounds.data(), schema, &read)) return "no row passes the filter";
  for (const storage::HotView& view : views->views)
    if (storage::implies(schema, read, view.conditions)) return view.name;
  return constant.is_whole ? "none, the filter implies no view's predicate" : "decided with the values of the filter";
}

}  // namespace scyper::query
