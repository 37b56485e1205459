#include <optional>

#include "query/error_status.h"
#include "query/search_path.h"
#include "query/settings.h"
#include "runtime/function_body.h"
#include "runtime/zone.h"
#include "types/timezone.h"

// current_setting() and set_config(): the settings of the session that runs the statement, and what the transaction has
// changed of them. Programs that call these are logged as row changes, and do not run on snapshots.
namespace scyper::query {

namespace {
void enter_zone_mark(ExecContext* c, std::string_view mark) {
  if (mark == session_zone_mark()) return;
  auto zone = make_session_zone(mark);
  ZoneScope::current = zone.get();
  if (zone != nullptr) c->pins.push_back(std::move(zone));
}
}  // namespace

void enter_time_setting(ExecContext* c, std::string_view name, const std::string& value) {
  MarkedSettings values = parts_of_zone_mark(session_zone_mark());
  for (size_t i = 0; i < values.size(); ++i)
    if (kMarkedSettings[i] == name) values[i] = value;
  enter_zone_mark(c, make_zone_mark(std::move(values)));
}

void follow_time_zone(ExecContext* c) {
  if (StatementSettings::current == nullptr) return;
  enter_zone_mark(c, time_mark([](std::string_view name) {
                    const std::string* value = StatementSettings::current->find(setting_key(name));
                    return value == nullptr ? std::string() : *value;
                  }));
}

// Declared where the builtins are listed (bind/builtins_sequence.cc).
extern const ir::External k_fn_current_setting;
extern const ir::External k_fn_set_config;

namespace {

std::optional<std::string> value_of(std::string_view name) {
  if (setting_key(name) == "timezone") return std::string(session_zone_name());
  if (setting_key(name) == "datestyle") return session_date_style_name();
  if (setting_key(name) == "intervalstyle") return std::string(session_interval_style_name());
  const StatementSettings* settings = StatementSettings::current;
  const std::string* given = settings == nullptr ? nullptr : settings->find(setting_key(name));
  if (given != nullptr) return *given;
  const Setting* setting = find_setting(name);
  if (setting == nullptr) return std::nullopt;
  return std::string(setting->value);
}

// Names are looked up before a statement runs: a search_path counts from the session's next one on.
Status check_path(const ExecContext* c, const Setting* setting, const std::string& value) {
  if (setting != nullptr && setting->kind == SettingKind::kSessionRole)
    return with_hint(sql_error("0A000", "set_config() of session_authorization is not supported"),
                     "Use SET SESSION AUTHORIZATION.");
  if (setting != nullptr && setting->kind == SettingKind::kRole)
    return with_hint(sql_error("0A000", "set_config() of role is not supported"), "Use SET ROLE.");
  if (setting == nullptr || setting->kind != SettingKind::kPath) return Status();
  const bool has_session = StatementSettings::current != nullptr && StatementSettings::current->has_session();
  SCYPER_ASSIGN_OR_RETURN(auto schemas, schemas_of_path(value));
  if (is_default_path(schemas) || (c->depth == 0 && has_session)) return Status();
  return with_hint(sql_error("0A000", "changing search_path within a routine or without a session is not supported"),
                   "Give it with the routine: CREATE FUNCTION ... SET search_path = ...");
}

extern "C" {

// (name [, whether NULL is the answer where there is none])
SCYPER_FUNCTION(current_setting) {
  const std::string_view name = text_of(args[0]);
  auto value = value_of(name);
  if (value.has_value()) return give_copy(c, out, *value);
  if (count > 1 && args[1].lo != 0) return give_null(out);
  return c->fail("42704", "unrecognized configuration parameter \"" + std::string(name) + "\"");
}

// (name, value, whether until the end of the transaction only); NULL for the value: the default.
SCYPER_FUNCTION(set_config) {
  if (args[0].null) return c->fail("22004", "SET requires parameter name");
  const std::string_view name = text_of(args[0]);
  const bool is_local = !args[2].null && args[2].lo != 0;
  const Setting* setting = find_setting(name);
  std::string value;
  if (setting == nullptr) {
    if (Status status = check_custom_setting(name); !status.ok()) return c->fail(status);
    if (!args[1].null) value = text_of(args[1]);
  } else if (args[1].null) {
    value = setting->value;
  } else {
    auto read = read_setting(*setting, std::string(text_of(args[1])));
    if (!read.ok()) return c->fail(read.status());
    value = *std::move(read);
  }
  if (Status status = check_path(c, setting, value); !status.ok()) return c->fail(status);
  if (StatementSettings::current != nullptr) StatementSettings::current->change(setting_key(name), value, is_local);
  if (setting != nullptr && is_of_time(*setting)) enter_time_setting(c, setting->name, value);
  return give_copy(c, out, value);
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_FUNCTION(current_setting)
SCYPER_DEFINE_FUNCTION(set_config)

}  // namespace scyper::query
