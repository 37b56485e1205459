#include "bind/view_target.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/relation_walk.h"
#include "bind/system_types.h"
#include "parse/sql_parser.h"
#include "plan/expressions.h"
#include "query/access.h"

// Changes of views without INSTEAD OF triggers: the statement is bound with the view's columns, which then become what
// they are over the table behind the view.
namespace scyper::query {

using ast::node_as;

namespace {

constexpr std::string_view kNotOfOneTable = "Views that do not select from a single table or view";

std::string not_updatable(std::string_view what) {
  return absl::StrCat(std::string(what), " are not automatically updatable.");
}

// A part of the view's query that forbids changes, as far as the text tells.
std::string_view hindrance(const ast::SelectStatement& select) {
  if (select.distinct) return "Views containing DISTINCT";
  if (!select.group_by.empty()) return "Views containing GROUP BY";
  if (select.having != nullptr) return "Views containing HAVING";
  if (select.set != ast::SetOperation::kNone) return "Views containing UNION, INTERSECT, or EXCEPT";
  if (!select.with.tables.empty()) return "Views containing WITH";
  if (select.limit != nullptr || select.offset != nullptr) return "Views containing LIMIT or OFFSET";
  return "";
}

bool is_sample(const ast::FromItem& item) {
  const auto* sub = ast::node_if<ast::FromSubquery>(&item);
  const auto* call = sub == nullptr || sub->subquery->where == nullptr
                         ? nullptr
                         : ast::node_if<ast::FunctionCall>(sub->subquery->where.get());
  return call != nullptr && call->name.back() == " table_sample";
}

// The same, with what binding tells besides.
std::string hindrance(const ast::SelectStatement& select, const BoundQuery& query) {
  if (const std::string_view found = hindrance(select); !found.empty()) return not_updatable(found);
  if (query.aggregated || !query.aggregates.empty()) return not_updatable("Views that return aggregate functions");
  if (!query.windows.empty()) return not_updatable("Views that return window functions");
  if (select.from.size() == 1 && select.from[0]->kind == ast::FromKind::kTable && query.from.size() > 1)
    return not_updatable("Views that return set-returning functions");
  if (select.from.size() == 1 && is_sample(*select.from[0])) return not_updatable("Views containing TABLESAMPLE");
  const bool is_of_one = select.from.size() == 1 && select.from[0]->kind == ast::FromKind::kTable;
  return is_of_one && query.from.size() == 1 ? "" : not_updatable(kNotOfOneTable);
}

std::string bare_text(std::string_view key) { return std::string(bare_name(key)); }

struct Verb {
  const char *change, *hint, *event;
};
Verb verb_of(DmlKind kind) {
  if (kind == DmlKind::kInsert) return {"insert into", "inserting into", "INSERT"};
  if (kind == DmlKind::kDelete) return {"delete from", "deleting from", "DELETE"};
  return {"update", "updating", "UPDATE"};
}

Status cannot_change(DmlKind kind, const View& view, const std::string& detail) {
  const Verb verb = verb_of(kind);
  const Status status = with_detail(
      sql_error("55000", absl::StrCat("cannot ", verb.change, " view \"", bare_text(view.name), "\"")), detail);
  return with_hint(status, absl::StrCat("To enable ", verb.hint, " the view, provide an INSTEAD OF ", verb.event,
                                        " trigger or an unconditional ON ", verb.event, " DO INSTEAD rule."));
}

// Columns of `relation` become what they stand for.
void substitute(uint32_t relation, const std::vector<ViewTarget::Column>& columns, BoundExpr* expr) {
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    if (e.kind == BoundKind::kColumn && e.relation == relation && e.index < columns.size())
      copy_to(*columns[e.index].value, &e);
  };
  walk.walk(expr);
}

void rename(uint32_t from, uint32_t to, BoundExpr* expr) {
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    if (e.kind == BoundKind::kColumn && e.relation == from) e.relation = to;
  };
  walk.walk(expr);
}

// A column of the view as an expression over its source: which of the source's columns it is.
// behind: what those stand for themselves; null: the source is what changes, with `shown` columns.
ViewTarget::Column column_of(const View& view, const std::string& name, BoundPtr value, uint32_t source, size_t shown,
                             const std::vector<ViewTarget::Column>* behind) {
  ViewTarget::Column column;
  column.view = view.name;
  column.name = name;
  const bool is_column = value->kind == BoundKind::kColumn && value->relation == source;
  if (!is_column)
    column.detail = value->kind == BoundKind::kRow
                        ? "View columns that return whole-row references are not updatable."
                        : "View columns that are not columns of their base relation are not updatable.";
  else if (value->index >= shown)
    column.detail = "View columns that refer to system columns are not updatable.";
  else if (behind == nullptr)
    column.base = static_cast<int>(value->index);
  else if ((*behind)[value->index].base >= 0)
    column.base = (*behind)[value->index].base;
  else
    column.view = (*behind)[value->index].view, column.name = (*behind)[value->index].name,
    column.detail = (*behind)[value->index].detail;
  if (behind != nullptr) substitute(source, *behind, value.get());
  column.value = std::move(value);
  return column;
}

}  // namespace

bool has_trigger_instead(const Catalog& catalog, const std::string& view, uint8_t events) {
  return std::any_of(catalog.triggers.begin(), catalog.triggers.end(), [&](const auto& entry) {
    return entry.first.first == view && entry.second->instead && (entry.second->events & events) != 0;
  });
}

// `relation` is the view, bound. What is behind it is changed with the rights of its owner.
Status Binder::look_behind(const View& view, std::unique_ptr<Relation> relation, const ViewChange& change,
                           ViewTarget* target) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(view.query, TextOf::kSystem));
  const auto& select = node_as<ast::SelectStatement>(*statements[0]);
  BoundQuery& query = *relation->query;
  if (const std::string detail = hindrance(select, query); !detail.empty())
    return cannot_change(change.kind, view, detail);
  std::unique_ptr<Relation> source = std::move(query.from[0].relation);
  const uint32_t id = source->id;
  const std::string& name = node_as<ast::FromTable>(*select.from[0]).table.name.back();
  const Role* saved = actor_;
  actor_ = view.is_invoker ? current_role(catalog_.roles) : catalog_.roles.find(view.access.owner);
  Status status;
  const View* nested = source->kind == RelationKind::kQuery ? catalog_.find_view(name, false) : nullptr;
  if (nested != nullptr) {
    status = check_rights(*nested, change.rights);
  } else if (source->kind == RelationKind::kTable && catalog_.find_materialized_view(name) == nullptr) {
    status = check_rights(source->table->schema(), change.rights);
  } else if (source->kind == RelationKind::kForeign) {
    status = error("0A000", absl::StrCat("cannot ", verb_of(change.kind).change, " foreign table \"", name, "\""), -1);
  } else {
    status = cannot_change(change.kind, view, not_updatable(kNotOfOneTable));
  }
  const bool is_triggered = nested != nullptr && has_trigger_instead(catalog_, nested->name, change.event);
  const size_t shown = source->table != nullptr ? storage::visible_columns(source->table->schema()) : SIZE_MAX;
  if (status.ok() && (nested == nullptr || is_triggered)) {
    target->triggered = is_triggered ? nested : nullptr;
    target->base_id = id;
    target->base = std::move(source);
  } else if (status.ok()) {
    status = look_behind(*nested, std::move(source), change, target);
  }
  actor_ = saved;
  SCYPER_RETURN_IF_ERROR(status);
  const bool is_at_base = target->base_id == id;
  const std::vector<ViewTarget::Column> behind = std::exchange(target->columns, {});
  size_t position = 0;
  for (auto& output : query.outputs)
    if (!output.hidden)
      target->columns.push_back(column_of(view, view.column_names[position++], std::move(output.expr), id, shown,
                                          is_at_base ? nullptr : &behind));
  ViewTarget::Condition condition;
  condition.view = &view;
  for (auto& conjunct : query.where) {
    if (!is_at_base) substitute(id, behind, conjunct.get());
    flatten_and(std::move(conjunct), &condition.where);
  }
  target->conditions.push_back(std::move(condition));
  const bool has_column = std::any_of(target->columns.begin(), target->columns.end(),
                                      [](const ViewTarget::Column& column) { return column.base >= 0; });
  if (has_column || change.kind == DmlKind::kDelete) return Status();
  return cannot_change(change.kind, view, not_updatable("Views that have no updatable columns"));
}

StatusOr<std::shared_ptr<ViewTarget>> Binder::view_target(const View& view, const std::string& alias,
                                                          const ViewChange& change) {
  const bool saved = std::exchange(binds_target_, true);
  auto bound = view_relation(view, "", change.rights);
  binds_target_ = saved;
  SCYPER_ASSIGN_OR_RETURN(auto relation, std::move(bound));
  auto target = std::make_shared<ViewTarget>();
  target->view = &view;
  target->kind = change.kind;
  const auto shown_as = [&](std::string name) {
    auto shown = new_relation(RelationKind::kValues, std::move(name));
    shown->columns = relation->columns;
    shown->partition = relation->partition;
    return shown;
  };
  target->shown = shown_as(alias.empty() ? bare_text(view.name) : alias);
  if (alias.empty()) target->shown->key = view.name;
  target->excluded = shown_as("excluded");
  SCYPER_RETURN_IF_ERROR(look_behind(view, std::move(relation), change, target.get()));
  return target;
}

StatusOr<std::shared_ptr<ViewTarget>> Binder::describe_view(const View& view, DmlKind kind, uint8_t event) {
  is_describing_ = allows_unpopulated_ = true;
  return view_target(view, "", {kind, event, 0});
}

// The column of the target that a statement calls so.
StatusOr<uint32_t> Binder::target_column(const BoundDml& dml, const std::string& name, int32_t location) const {
  const ViewTarget* view = dml.through.get();
  const storage::TableSchema& schema = dml.schema();
  int column = -1;
  if (view == nullptr) {
    column = find_target_column(schema, name);
  } else {
    const auto& columns = view->shown->columns;
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.name == name; });
    if (found != columns.end()) return shown_column(dml, static_cast<size_t>(found - columns.begin()));
  }
  if (column >= 0) return static_cast<uint32_t>(column);
  return error("42703",
               absl::StrCat("column \"", name, "\" of relation \"", view != nullptr ? view->view->name : schema.name,
                            "\" does not exist"),
               location);
}

// The table's column that is column `number` of what the statement names.
StatusOr<uint32_t> Binder::shown_column(const BoundDml& dml, size_t number) const {
  if (dml.through == nullptr) return static_cast<uint32_t>(number);
  const ViewTarget::Column& column = dml.through->columns[number];
  if (column.base >= 0) return static_cast<uint32_t>(column.base);
  return with_detail(sql_error("0A000", absl::StrCat("cannot ", verb_of(dml.through->kind).change, " column \"",
                                                     column.name, "\" of view \"", bare_text(column.view), "\"")),
                     column.detail);
}

// A column of the view, for a place of its own: a subquery may stand in the statement once.
StatusOr<BoundPtr> Binder::view_column(ViewTarget* view, uint32_t number, DmlKind kind) {
  ViewTarget::Column& column = view->columns[number];
  const bool has_query = has_subquery(*column.value);
  if (!has_query || !std::exchange(column.is_used, true)) return clone(*column.value);
  SCYPER_ASSIGN_OR_RETURN(auto again, view_target(*view->view, "", {kind, event_of(kind), 0}));
  rename(again->base_id, view->base_id, again->columns[number].value.get());
  return std::move(again->columns[number].value);
}

// What has been bound with the view's columns becomes a change of the table. excluded: the table's row of that name;
// part: it alone.
Status Binder::show_base(BoundDml* dml, uint32_t excluded, BoundExpr* part) {
  if (dml->through == nullptr) return Status();
  ViewTarget& view = *dml->through;
  Status status;
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    const bool is_excluded = e.kind == BoundKind::kColumn && e.relation == view.excluded->id;
    if (e.kind != BoundKind::kColumn || !(is_excluded || e.relation == view.shown->id) || !status.ok()) return;
    auto value = view_column(&view, e.index, dml->kind);
    if (!value.ok()) return status = value.status(), void();
    if (is_excluded) rename(view.base_id, excluded, value->get());
    const int32_t location = e.location;
    copy_to(**value, &e);
    e.location = location;
  };
  part != nullptr ? walk.walk(part) : walk.walk(dml);
  return status;
}

// Whether a row of ON CONFLICT DO UPDATE is in the views: an error where it is not.
StatusOr<std::vector<BoundPtr>> Binder::visible_through(ViewTarget* view, uint32_t row) {
  std::vector<BoundPtr> tests;
  for (ViewTarget::Condition& condition : view->conditions) {
    if (condition.where.empty()) continue;
    for (auto& conjunct : condition.where) rename(view->base_id, row, conjunct.get());
    std::vector<BoundPtr> args;
    args.push_back(join_conditions(BoundKind::kAnd, std::move(condition.where), -1));
    args.push_back(make_text_constant(make_type(TypeId::kText), bare_text(condition.view->name), -1));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr test, make_call(" visible_row", std::move(args), -1));
    tests.push_back(std::move(test));
  }
  return tests;
}

// WITH CHECK OPTION: the inner views first, as the standard wants. A view whose outer one is CASCADED is checked, too.
Status Binder::bind_view_checks(BoundDml* dml) {
  if (dml->through == nullptr || dml->kind == DmlKind::kDelete) return Status();
  const auto& named = dml->through->conditions;
  std::vector<bool> is_checked(named.size());
  bool is_cascaded = false, has_any = false;
  for (size_t i = named.size(); i-- > 0;) {
    const CheckOption option = named[i].view->check_option;
    is_checked[i] = is_cascaded || option != CheckOption::kNone;
    is_cascaded |= option == CheckOption::kCascaded;
    has_any |= is_checked[i];
  }
  if (!has_any) return Status();
  SCYPER_ASSIGN_OR_RETURN(auto view, view_target(*dml->through->view, "", {dml->kind, event_of(dml->kind), 0}));
  const Relation* row = row_relation(&dml->new_row, *dml, dml->table->schema().name);
  for (size_t i = 0; i < view->conditions.size(); i++) {
    std::vector<BoundPtr>& where = view->conditions[i].where;
    if (!is_checked[i] || where.empty()) continue;
    RowCheck check;
    for (auto& conjunct : where) rename(view->base_id, row->id, conjunct.get());
    check.condition = make_expr(BoundKind::kIsTruth, make_type(TypeId::kBool), false, -1);
    check.condition->index = 1;
    check.condition->args.push_back(join_conditions(BoundKind::kAnd, std::move(where), -1));
    check.sqlstate = "44000";
    check.message =
        absl::StrCat("new row violates check option for view \"", bare_text(view->conditions[i].view->name), "\"");
    show_failing_row(*dml, &check);
    dml->references.push_back(std::move(check));
  }
  return Status();
}

uint8_t updatable_events(const Catalog& catalog, const View& view, bool with_triggers) {
  uint8_t events = 0;
  for (const DmlKind kind : {DmlKind::kInsert, DmlKind::kUpdate, DmlKind::kDelete}) {
    const uint8_t event = event_of(kind);
    if (with_triggers && has_trigger_instead(catalog, view.name, event)) {
      events |= event;
      continue;
    }
    Binder binder(catalog, view.query);
    if (binder.describe_view(view, kind, with_triggers ? event : 0).ok()) events |= event;
  }
  return events;
}

std::vector<bool> updatable_columns(const Catalog& catalog, const View& view) {
  std::vector<bool> columns(view.column_names.size());
  Binder binder(catalog, view.query);
  const auto target = binder.describe_view(view, DmlKind::kUpdate, 0);
  if (!target.ok()) return columns;
  for (size_t i = 0; i < columns.size() && i < (*target)->columns.size(); i++)
    columns[i] = (*target)->columns[i].base >= 0;
  return columns;
}

std::map<std::string, std::string> updatable_relation_texts(const Catalog& catalog) {
  // bits by the numbers of PostgreSQL's commands
  constexpr int kUpdate = 1 << 2, kInsert = 1 << 3, kDelete = 1 << 4;
  std::map<std::string, std::string> all;
  const auto add = [&](int64_t oid, bool with_triggers, int events) {
    all[absl::StrCat(oid, " ", with_triggers ? 1 : 0)] = absl::StrCat(events);
  };
  for (const auto& [name, table] : catalog.tables) {
    const bool is_fixed = catalog.find_materialized_view(name) != nullptr || catalog.composites.contains(name);
    for (const bool with_triggers : {false, true})
      add(table_oid(table->schema()), with_triggers, is_fixed ? 0 : kUpdate | kInsert | kDelete);
  }
  for (const auto& [name, view] : catalog.views) {
    if (view->foreign != nullptr) continue;
    for (const bool with_triggers : {false, true}) {
      const uint8_t events = updatable_events(catalog, *view, with_triggers);
      add(view_oid(catalog, name), with_triggers,
          ((events & Trigger::kUpdate) != 0 ? kUpdate : 0) | ((events & Trigger::kInsert) != 0 ? kInsert : 0) |
              ((events & Trigger::kDelete) != 0 ? kDelete : 0));
    }
  }
  return all;
}

std::map<std::string, std::string> updatable_column_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const auto& [name, table] : catalog.tables) {
    if (catalog.find_materialized_view(name) != nullptr || catalog.composites.contains(name)) continue;
    for (size_t i = 0; i < storage::visible_columns(table->schema()); i++)
      all[absl::StrCat(table_oid(table->schema()), " ", i + 1)] = "t";
  }
  for (const auto& [name, view] : catalog.views) {
    if (view->foreign != nullptr) continue;
    const std::vector<bool> columns = updatable_columns(catalog, *view);
    for (size_t i = 0; i < columns.size(); i++)
      if (columns[i]) all[absl::StrCat(view_oid(catalog, name), " ", i + 1)] = "t";
  }
  return all;
}

}  // namespace scyper::query
