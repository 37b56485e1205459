#include "compile/setting.h"

#include "parse/setting_text.h"
#include "query/search_path.h"
#include "query/settings.h"

namespace scyper::query {

namespace {

// Without a session there is nothing that would keep a search_path.
Status without_path(const Setting& setting, const std::string& value) {
  SCYPER_RETURN_IF_ERROR(read_setting(setting, value).status());
  if (setting.kind != SettingKind::kPath) return Status();
  SCYPER_ASSIGN_OR_RETURN(auto schemas, schemas_of_path(value));
  if (is_default_path(schemas)) return Status();
  return with_hint(sql_error("0A000", "SET search_path is not supported here"),
                   "Write the schema before the names of its objects, or connect by PostgreSQL's protocol.");
}

}  // namespace

Status check_setting(const ast::Statement& statement) {
  const auto* set = ast::node_if<ast::SetStatement>(&statement);
  if (set == nullptr || set->action != ast::SetAction::kSet) return Status();
  const Setting* setting = find_setting(set->name);
  if (setting == nullptr) return check_custom_setting(set->name);
  return without_path(*setting, setting_value(*set));
}

}  // namespace scyper::query
