#include "plan/hot_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "plan/expressions.h"
#include "plan/scan_condition.h"
#include "runtime/scan_conditions.h"
#include "types/datum_text.h"
#include "types/timezone.h"

namespace scyper::query {
namespace {

size_t count_terms(const auto& conditions) {
  return static_cast<size_t>(
      std::count_if(conditions.begin(), conditions.end(), [](const auto& one) { return one.has_alternative == 0; }));
}

std::vector<const BoundExpr*> conjuncts_of(const BoundExpr& expr) {
  if (expr.kind != BoundKind::kAnd) return {&expr};
  std::vector<const BoundExpr*> all;
  for (const BoundPtr& arg : expr.args)
    for (const BoundExpr* one : conjuncts_of(*arg)) all.push_back(one);
  return all;
}

std::string show_value(const SqlType& type, const Datum& value) {
  std::string text;
  append_datum(&text, type, value);
  const bool is_plain = is_number(type.id) && text.find_first_not_of("0123456789.-") == std::string::npos;
  return is_plain ? text : quote_literal(text);
}

std::string show_condition(const storage::ColumnDef& column, const storage::FrozenPredicate& predicate) {
  using Kind = storage::FrozenPredicate::Kind;
  const std::string name = quote_identifier(column.name);
  if (predicate.kind == Kind::kIsNull) return name + " IS NULL";
  if (predicate.kind == Kind::kIsNotNull) return name + " IS NOT NULL";
  const bool has_low = predicate.low.null == 0, has_high = predicate.high.null == 0;
  const std::string low = has_low ? show_value(column.type, predicate.low) : "";
  const std::string high = has_high ? show_value(column.type, predicate.high) : "";
  if (has_low && has_high && low == high) return absl::StrCat(name, " = ", low);
  if (has_low && has_high && predicate.low_included && predicate.high_included)
    return absl::StrCat(name, " BETWEEN ", low, " AND ", high);
  std::string text;
  if (has_low) absl::StrAppend(&text, name, predicate.low_included ? " >= " : " > ", low);
  if (has_high) absl::StrAppend(&text, has_low ? " AND " : "", name, predicate.high_included ? " <= " : " < ", high);
  return text;
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
  for (const storage::ColumnCondition& condition : read) storage::add_condition(schema, condition, view);
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
    if (view.ok()) made->views.push_back(std::make_shared<const storage::HotView>(*std::move(view)));
  }
  if (made->views.empty()) return nullptr;
  made->made_of = std::move(made_of);
  return made;
}

std::string show_conditions(const storage::TableSchema& schema, std::span<const storage::ColumnCondition> conditions) {
  std::string text;
  bool is_term = true;  // begins
  for (size_t i = 0; i < conditions.size(); ++i) {
    const storage::ColumnCondition& one = conditions[i];
    if (is_term && i > 0) text += " AND ";
    if (is_term && one.has_alternative) text += "(";
    absl::StrAppend(&text, is_term ? "" : " OR ", show_condition(schema.columns[one.column], one.predicate));
    if (!is_term && !one.has_alternative) text += ")";
    is_term = !one.has_alternative;
  }
  return text;
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
  for (const auto& view : views->views)
    if (storage::implies(schema, read, view->conditions)) return view->name;
  return constant.is_whole ? "none, the filter implies no view's predicate" : "decided with the values of the filter";
}

}  // namespace scyper::query
