#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compile/definition.h"
#include "plan/explain_options.h"
#include "storage/statistics.h"

// ANALYZE: samples of tables for the optimiser. The catalog's next version is the same with another number: who has
// planned for the one before plans anew.
namespace scyper::query {

namespace {
Status check_columns(const storage::TableSchema& schema, const std::string& shown,
                     const std::vector<std::string>& columns) {
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (find_column(schema, *column) < 0)
      return sql_error("42703", absl::StrCat("column \"", *column, "\" of relation \"", shown, "\" does not exist"));
    if (std::find(columns.begin(), column, *column) != column)
      return sql_error("42701",
                       absl::StrCat("column \"", *column, "\" of relation \"", shown, "\" appears more than once"));
  }
  return absl::OkStatus();
}
}  // namespace

Status Definer::analyze(const ast::AnalyzeStatement& analyze, ResultSet* result) {
  for (const auto& option : analyze.options) {
    if (option.name != "verbose" && option.name != "skip_locked")
      return error("42601", absl::StrCat("unrecognized ANALYZE option \"", option.name, "\""), option.location);
    SCYPER_RETURN_IF_ERROR(boolean_of(option).status());
  }
  std::vector<std::shared_ptr<storage::Table>> tables;
  for (const auto& [table, columns] : analyze.targets) {
    const std::string& name = table.name.back();
    if (const DeclaredPartition* partition = old_->find_partition(name); partition != nullptr) {
      tables.push_back(old_->find_table(partition->root));
      continue;
    }
    SCYPER_RETURN_IF_ERROR(check_schema(table.name, -1));
    if (old_->views.count(name) != 0) {
      result->notices.push_back(
          absl::StrCat("WARNING:  skipping \"", name, "\" --- cannot analyze non-tables or special system tables"));
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(auto found, find_table(table.name));
    SCYPER_RETURN_IF_ERROR(check_columns(found->schema(), name, columns));
    tables.push_back(std::move(found));
  }
  if (analyze.targets.empty())
    for (const auto& [name, table] : old_->tables) tables.push_back(table);
  for (const auto& table : tables) table->set_statistics(storage::collect_statistics(*table));
  if (!tables.empty()) next();
  result->command_tag = "ANALYZE";
  return absl::OkStatus();
}

}  // namespace scyper::query
