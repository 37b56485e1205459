#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/printer.h"
#include "parse/text.h"

// Materialized views: tables that a query fills. The log has a definition without rows and the rows behind it, as of
// CREATE TABLE AS; an option says there that the rows come, so that replaying computes nothing.
namespace scyper::query {

namespace {
constexpr std::string_view kOptionSpace = "scyper", kFilledOption = "filled";

bool is_filled_option(const ast::Option& option) {
  return option.name_space == kOptionSpace && option.name == kFilledOption;
}

std::string filled_text() {
  return absl::StrCat(std::string(kOptionSpace), ".", std::string(kFilledOption), " = true");
}
}  // namespace

bool Definer::says_filled(const std::vector<ast::Option>& options) {
  return std::any_of(options.begin(), options.end(), is_filled_option);
}

std::string Definer::relation_word(const std::string& name) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  if (catalog.find_materialized_view(name) != nullptr) return "materialized view";
  return catalog.views.count(name) != 0 && catalog.find_partition(name) == nullptr ? "view" : "table";
}

Status Definer::check_table_kind(const std::string& name, bool is_materialized) const {
  if (!is_materialized && old_->find_partition(name) != nullptr) return absl::OkStatus();
  SCYPER_RETURN_IF_ERROR(find_table({name}).status());
  if ((old_->find_materialized_view(name) != nullptr) == is_materialized) return absl::OkStatus();
  return error("42809", absl::StrCat("\"", name, "\" is not a ", is_materialized ? "materialized view" : "table"), -1);
}

// Beside the table, which has been made.
void Definer::note_materialized_view(const ast::CreateTableAsStatement& create, const std::string& written_name,
                                     const std::set<std::string>& relations) {
  const std::string& name = create.table.name.back();
  auto view = std::make_shared<MaterializedView>();
  view->query = with_stars_expanded(to_sql(*create.query));
  view->relations.assign(relations.begin(), relations.end());
  view->is_populated = create.with_data || says_filled(create.options);
  const std::string columns = column_list(next().find_table(name)->schema());
  definition_text_ = absl::StrCat("CREATE MATERIALIZED VIEW ", written_name, " (", columns, ")",
                                  view->is_populated ? absl::StrCat(" WITH (", filled_text(), ")") : "", " AS ",
                                  view->query, " WITH NO DATA");
  if (create.with_data) filled_view_ = name;
  next().materialized_views[name] = std::move(view);
}

// The catalog that its rows are computed for: nothing but this may write into it.
std::shared_ptr<const Catalog> Definer::catalog_for_rows(std::shared_ptr<const Catalog> next) const {
  if (filled_view_.empty() && !moves_rows_) return next;
  auto open = std::make_shared<Catalog>(*next);
  if (attached_ != nullptr) {
    open->tables[std::string(kAttachedTable)] = attached_;
    open->rules[attached_->schema().id] = TableRules();
    open->rules[attached_->schema().id].columns.resize(attached_->schema().columns.size());
  }
  if (moves_rows_) {  // rows of a partition that are referred to keep it from going
    open->triggers.clear();
    for (auto& [id, rules] : open->rules)
      for (ForeignKey& key : rules.foreign_keys) key.on_delete = ReferentialAction::kNoAction;
    return open;
  }
  open->materialized_views.erase(filled_view_);
  return open;
}

Status Definer::empty_materialized_view(const std::string& name, bool is_populated) {
  storage::TableSchema schema = next().find_table(name)->schema();
  SCYPER_ASSIGN_OR_RETURN(auto empty, storage::Table::create(std::move(schema), options_.partitions, arena_));
  next().tables[name] = std::move(empty);
  auto view = std::make_shared<MaterializedView>(*next().materialized_views[name]);
  view->is_populated = is_populated;
  next().materialized_views[name] = std::move(view);
  return absl::OkStatus();
}

Status Definer::check_concurrent_refresh(const ast::RefreshStatement& refresh, const MaterializedView& view) const {
  const std::string& name = refresh.view.name.back();
  if (!view.is_populated)
    return error("0A000", "CONCURRENTLY cannot be used when the materialized view is not populated", -1);
  if (!refresh.with_data) return error("42601", "CONCURRENTLY and WITH NO DATA options cannot be used together", -1);
  const storage::TableSchema& schema = old_->find_table(name)->schema();
  const size_t visible = storage::visible_columns(schema);
  const bool has_key = std::any_of(schema.indexes.begin(), schema.indexes.end(), [&](const auto& index) {
    return index.unique && !index.partial &&
           std::all_of(index.columns.begin(), index.columns.end(), [&](uint32_t c) { return c < visible; });
  });
  if (has_key) return absl::OkStatus();
  return with_hint(error("55000",
                         absl::StrCat("cannot refresh materialized view \"", std::string(schema_of(name)), ".",
                                      std::string(bare_name(name)), "\" concurrently"),
                         -1),
                   "Create a unique index with no WHERE clause on one or more columns of the materialized view.");
}

// Other transactions do not run meanwhile, CONCURRENTLY or not.
Status Definer::refresh(const ast::RefreshStatement& refresh, ResultSet* result) {
  result->command_tag = "REFRESH MATERIALIZED VIEW";
  const std::string& name = refresh.view.name.back();
  if (old_->views.count(name) != 0)
    return error("42809", absl::StrCat("\"", name, "\" is not a table or materialized view"), -1);
  SCYPER_RETURN_IF_ERROR(find_table(refresh.view.name).status());
  const MaterializedView* view = old_->find_materialized_view(name);
  if (view == nullptr) return error("0A000", absl::StrCat("\"", name, "\" is not a materialized view"), -1);
  if (refresh.concurrently) SCYPER_RETURN_IF_ERROR(check_concurrent_refresh(refresh, *view));
  SCYPER_RETURN_IF_ERROR(empty_materialized_view(name, refresh.with_data));
  if (!refresh.with_data) return absl::OkStatus();
  definition_text_ = absl::StrCat("ALTER MATERIALIZED VIEW ", quote_identifier(name), " SET (", filled_text(), ")");
  rows_text_ = absl::StrCat("INSERT INTO ", quote_identifier(name), " ", view->query);
  rows_roles_ = roles_of_owner(next().rules[next().find_table(name)->schema().id].access);
  filled_view_ = name;
  tells_rows_ = false;
  return absl::OkStatus();
}

// ALTER TABLE and ALTER MATERIALIZED VIEW.
Status Definer::alter_materialized_view(const ast::AlterTableStatement& alter, ResultSet* result) {
  if (alter.object == ast::ObjectKind::kMaterializedView) result->command_tag = "ALTER MATERIALIZED VIEW";
  const std::string& name = alter.table.name.back();
  for (const auto& command : alter.commands) {
    if (command.action == ast::AlterTableAction::kSetOwner) {
      SCYPER_RETURN_IF_ERROR(set_owner(command.owner, name));
    } else if (command.action == ast::AlterTableAction::kSetOptions && says_filled(command.options)) {
      SCYPER_RETURN_IF_ERROR(empty_materialized_view(name, true));
    } else if (command.action == ast::AlterTableAction::kSetOptions ||
               command.action == ast::AlterTableAction::kResetOptions) {
      SCYPER_RETURN_IF_ERROR(alter_options(command, name, result));
    } else {
      return with_detail(
          error("42809",
                absl::StrCat("ALTER action ", command.action_name, " cannot be performed on relation \"", name, "\""),
                -1),
          "This operation is not supported for materialized views.");
    }
  }
  return absl::OkStatus();
}

Status Definer::drop_materialized_view(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  if (next().find_materialized_view(name) != nullptr) return drop_table(name, drop, result);
  if (name_taken(name)) {
    const std::string word = relation_word(name);
    Status status = error("42809", absl::StrCat("\"", name, "\" is not a materialized view"), -1);
    return next().views.count(name) == 0 && next().tables.count(name) == 0
               ? status
               : with_hint(status,
                           absl::StrCat("Use DROP ", word == "view" ? "VIEW" : "TABLE", " to remove a ", word, "."));
  }
  if (!drop.if_exists) return error("42P01", absl::StrCat("materialized view \"", name, "\" does not exist"), -1);
  result->notices.push_back(absl::StrCat("NOTICE:  materialized view \"", name, "\" does not exist, skipping"));
  return absl::OkStatus();
}

}  // namespace scyper::query
