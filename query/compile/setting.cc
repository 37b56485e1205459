#include "compile/setting.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "parse/setting_text.h"
#include "query/search_path.h"
#include "query/settings.h"

namespace scyper::query {

namespace {

// All names of the zone of a new session, as the database writes them.
bool is_utc(std::string_view name) {
  for (std::string_view prefix : {"", "Etc/"})
    for (std::string_view word : {"UTC", "GMT", "UCT", "Zulu", "Universal", "Greenwich", "GMT0"})
      if (name.starts_with(prefix) && name.substr(prefix.size()) == word) return true;
  return name == "<+00>-00" || name == "UTC0";
}

// Without a session there is nothing that would keep a search_path or a time zone.
Status without_path(const Setting& setting, const std::string& value) {
  SCYPER_ASSIGN_OR_RETURN(const std::string read, read_setting(setting, value));
  if (setting.kind == SettingKind::kZone && !is_utc(read))
    return with_hint(sql_error("0A000", "SET TimeZone to anything but UTC is not supported here"),
                     "Use AT TIME ZONE in queries, or connect by PostgreSQL's protocol.");
  if (setting.kind == SettingKind::kDateStyle && read != setting.value)
    return with_hint(sql_error("0A000", "SET DateStyle to anything but ISO, MDY is not supported here"),
                     "Connect by PostgreSQL's protocol.");
  if (setting.kind == SettingKind::kEncoding && read != "UTF8" && read != "UNICODE")
    return with_hint(sql_error("0A000", absl::StrCat("client_encoding ", read, " is not supported here")),
                     "Texts are UTF-8. PostgreSQL's protocol converts them.");
  if (setting.kind == SettingKind::kSessionRole)
    return with_hint(sql_error("0A000", "SET SESSION AUTHORIZATION is not supported here"),
                     "Connect by PostgreSQL's protocol.");
  if (setting.kind == SettingKind::kRole && read != "none")
    return with_hint(sql_error("0A000", "SET ROLE is not supported here"), "Connect by PostgreSQL's protocol.");
  if (setting.kind != SettingKind::kPath) return Status();
  SCYPER_ASSIGN_OR_RETURN(auto schemas, schemas_of_path(value));
  if (is_default_path(schemas)) return Status();
  return with_hint(sql_error("0A000", "SET search_path is not supported here"),
                   "Write the schema before the names of its objects, or connect by PostgreSQL's protocol.");
}

Status check_setting(const ast::Statement& statement) {
  const auto* set = ast::node_if<ast::SetStatement>(&statement);
  if (set == nullptr || set->action != ast::SetAction::kSet) return Status();
  const Setting* setting = find_setting(set->name);
  if (setting == nullptr) return check_custom_setting(set->name);
  return without_path(*setting, setting_value(*set));
}

}  // namespace

Status accept_setting(const ast::Statement& statement, ResultSet* result) {
  SCYPER_RETURN_IF_ERROR(check_setting(statement));
  result->command_tag = "SET";
  const auto* set = ast::node_if<ast::SetStatement>(&statement);
  if (set != nullptr && set->action == ast::SetAction::kSet)
    result->notices.push_back("WARNING:  SET has no effect here: no session would keep it. In BEGIN ... COMMIT it has");
  return Status();
}

Status show_setting(const ast::ShowStatement& show, ResultSet* result) {
  static const std::pair<std::string_view, std::string_view> kShown[] = {{"server_version", "15.0 (ScyPer)"},
                                                                         {"server_encoding", "UTF8"},
                                                                         {"client_encoding", "UTF8"},
                                                                         {"datestyle", "ISO, MDY"},
                                                                         {"standard_conforming_strings", "on"},
                                                                         {"transaction_isolation", "read committed"},
                                                                         {"timezone", "UTC"}};
  for (const auto& [name, value] : kShown) {
    if (name != show.name) continue;
    const SqlType text = make_type(TypeId::kText);
    result->columns = {{show.name, text}};
    result->append(text, string_datum(value.data(), value.size()));
    result->command_tag = "SHOW";
    return Status();
  }
  return sql_error("42704", "unrecognized configuration parameter \"" + show.name + "\"");
}

}  // namespace scyper::query
