#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "compile/definition.h"
#include "parse/setting_text.h"
#include "query/encodings.h"
#include "query/settings.h"

// CREATE, ALTER and DROP DATABASE, and the settings with which sessions begin: ALTER ROLE ... SET, ALTER DATABASE ...
// SET. A node has one database. CREATE DATABASE gives it its name, once, and while nothing is in it; DROP DATABASE
// takes all that is in it, and the name.
namespace scyper::query {

// --- what a database is called, and its settings ---

void DatabaseDefinition::set(Key key, std::string_view setting, std::optional<std::string> value) {
  InitialSettings& own = settings[key];
  const auto known = std::ranges::find(own, setting, &InitialSettings::value_type::first);
  if (value.has_value() && known != own.end()) {
    known->second = *std::move(value);
  } else if (value.has_value()) {
    own.emplace_back(setting, *std::move(value));
  } else if (known != own.end()) {
    own.erase(known);
  }
  if (own.empty()) settings.erase(key);
}

void DatabaseDefinition::forget_role(uint32_t role) {
  std::erase_if(settings, [&](const auto& entry) { return entry.first.first == role; });
}

InitialSettings DatabaseDefinition::of_session(uint32_t role) const {
  InitialSettings all;
  for (const Key& key : {Key{0, false}, Key{0, true}, Key{role, false}, Key{role, true}})
    if (const auto own = settings.find(key); own != settings.end())
      all.insert(all.end(), own->second.begin(), own->second.end());
  return all;
}

namespace {

Status denied(const std::string& message) { return sql_error("42501", message); }

Status no_database(const std::string& name) {
  return sql_error("3D000", absl::StrCat("database \"", name, "\" does not exist"));
}

struct InitialSetting {
  std::string name;
  std::optional<std::string> value;  // nullopt: sessions begin with the default
};

// 55P02: a session cannot begin with a value of this setting. Errors of its value are read_setting's.
Status check_initial(const Setting& setting, const std::string& value) {
  const bool is_of_transaction = setting.name.starts_with("transaction_");
  if (is_of_transaction || setting.kind == SettingKind::kSessionRole || setting.name == "client_encoding")
    return sql_error(
        "55P02", absl::StrCat("parameter \"", std::string(setting.name), "\" cannot be set by ALTER ROLE or DATABASE"));
  return read_setting(setting, value).status();
}

StatusOr<InitialSetting> initial_setting(const ast::SetStatement& set) {
  const bool is_reset = set.action == ast::SetAction::kReset || set.action == ast::SetAction::kSetDefault;
  if (!is_reset && set.action != ast::SetAction::kSet)
    return with_hint(sql_error("0A000", "SET ... FROM CURRENT of a role or a database is not supported"),
                     "Write the value.");
  const Setting* setting = find_setting(set.name);
  if (setting == nullptr) SCYPER_RETURN_IF_ERROR(check_custom_setting(set.name));
  InitialSetting initial{setting == nullptr ? set.name : std::string(setting->name), std::nullopt};
  if (is_reset) return initial;
  initial.value = setting_value(set);
  if (setting != nullptr) SCYPER_RETURN_IF_ERROR(check_initial(*setting, *initial.value));
  return initial;
}

// A database that cannot be made: what a user does instead.
Status one_database(const std::string& wanted, const std::string& name) {
  return with_hint(
      with_detail(sql_error("0A000", absl::StrCat("cannot create database \"", wanted, "\"")),
                  absl::StrCat("A node has one database, and \"", name, "\" is in use.")),
      absl::StrCat("Connect to \"", name, "\" and use CREATE SCHEMA, run another node, or DROP DATABASE first."));
}

bool is_template(const std::string& name) { return name == "template0" || name == "template1" || name == "default"; }

}  // namespace

Status Definer::may_alter_settings(const ast::AlterSettingsStatement& alter, uint32_t* role) {
  *role = 0;
  if (!alter.database.empty() && !next().database.is_called(alter.database)) return no_database(alter.database);
  if (!alter.has_role)
    return actor().is_superuser ? Status() : denied(absl::StrCat("must be owner of database ", alter.database));
  if (alter.is_all) return actor().is_superuser ? Status() : denied("must be superuser to alter settings globally");
  SCYPER_ASSIGN_OR_RETURN(const Role* changed, role_of(alter.role));
  *role = changed->id;
  if (actor().is_superuser) return Status();
  if (changed->is_superuser) return denied("must be superuser to alter superuser roles or change superuser attribute");
  return actor().creates_roles || changed->id == actor().id ? Status() : denied("permission denied");
}

Status Definer::alter_settings(const ast::AlterSettingsStatement& alter, ResultSet* result) {
  result->command_tag = alter.has_role ? "ALTER ROLE" : "ALTER DATABASE";
  uint32_t role = 0;
  SCYPER_RETURN_IF_ERROR(may_alter_settings(alter, &role));
  const DatabaseDefinition::Key key{role, !alter.database.empty()};
  if (alter.set->action == ast::SetAction::kResetAll) {
    next().database.settings.erase(key);
    return Status();
  }
  if (alter.set->action == ast::SetAction::kSetTransaction)
    return sql_error("0A000", "SET TRANSACTION of a role or a database is not supported");
  SCYPER_ASSIGN_OR_RETURN(InitialSetting initial, initial_setting(*alter.set));
  next().database.set(key, initial.name, std::move(initial.value));
  return Status();
}

// --- the database itself ---

// Anything of users but roles and temporary tables.
bool Definer::has_objects() const {
  const auto is_temporary = [](std::string_view key) { return schema_of(key).starts_with("pg_temp"); };
  const auto has = [&](const auto& objects) {
    return std::ranges::any_of(objects, [&](const auto& entry) { return !is_temporary(entry.first); });
  };
  const auto is_own = [&](const std::string& name) { return !name.starts_with("pg_temp"); };
  return std::ranges::any_of(old_->namespaces, is_own) || has(old_->tables) || has(old_->views) ||
         !old_->routines.empty() || has(old_->sequences) || has(old_->enums) || has(old_->domains) ||
         !old_->composites.empty() || !old_->foreign_servers.empty();
}

Status Definer::check_database_options(const std::vector<ast::Option>& options) {
  for (const ast::Option& option : options) {
    if (option.name == "owner" && option.value != "default" && next().roles.find(option.value) == nullptr)
      return sql_error("42704", absl::StrCat("role \"", option.value, "\" does not exist"));
    if (option.name == "template" && !is_template(option.value) && !next().database.is_called(option.value))
      return sql_error("3D000", absl::StrCat("template database \"", option.value, "\" does not exist"));
    if (option.name == "tablespace" && option.value != "pg_default" && option.value != "default")
      return sql_error("42704", absl::StrCat("tablespace \"", option.value, "\" does not exist"));
    if (option.name != "encoding" || option.value == "default") continue;
    const bool is_number = !option.value.empty() && std::ranges::all_of(option.value, absl::ascii_isdigit);
    const Encoding* encoding =
        is_number ? find_encoding(std::stoi(option.value.substr(0, 4))) : find_encoding(option.value);
    if (encoding == nullptr) return sql_error("42704", absl::StrCat(option.value, " is not a valid encoding name"));
    if (encoding->number != kUtf8Encoding)
      return with_hint(
          sql_error("0A000", absl::StrCat("encoding \"", std::string(encoding->name), "\" is not supported")),
          "Texts are UTF-8. client_encoding says what a client gets.");
  }
  return Status();
}

Status Definer::create_database(const ast::DatabaseStatement& create) {
  if (!actor().is_superuser && !actor().creates_databases) return denied("permission denied to create database");
  SCYPER_RETURN_IF_ERROR(check_database_options(create.options));
  DatabaseDefinition& database = next().database;
  if (database.is_called(create.name) || is_template(create.name))
    return sql_error("42P04", absl::StrCat("database \"", create.name, "\" already exists"));
  if (database.name != kFirstDatabaseName || has_objects()) return one_database(create.name, database.name);
  database.name = create.name;
  return Status();
}

Status Definer::drop_database(const ast::DatabaseStatement& drop, ResultSet* result) {
  DatabaseDefinition& database = next().database;
  if (is_template(drop.name)) return sql_error("42809", "cannot drop a template database");
  if (!database.is_called(drop.name)) {
    if (!drop.if_exists) return no_database(drop.name);
    result->notices.push_back(absl::StrCat("NOTICE:  database \"", drop.name, "\" does not exist, skipping"));
    return Status();
  }
  if (drop.name != database.name || drop.name == kFirstDatabaseName)
    return with_hint(sql_error("0A000", absl::StrCat("cannot drop database \"", drop.name, "\"")),
                     "A node always has a database. DROP DATABASE takes one that CREATE DATABASE has made.");
  if (!actor().is_superuser && !actor().creates_databases)
    return denied(absl::StrCat("must be owner of database ", drop.name));
  ResultSet dropped;
  std::vector<std::string> schemas(next().namespaces.begin(), next().namespaces.end());
  schemas.emplace_back(kPublicSchema);
  for (const std::string& schema : schemas) {
    if (schema.starts_with("pg_temp")) continue;
    SCYPER_RETURN_IF_ERROR(drop_members(schema, &dropped));
    next().comments.erase("schema " + schema);
    next().namespaces.erase(schema);
    next().schema_access.erase(schema);
  }
  next().foreign_servers.clear();
  next().extensions.clear();
  std::erase_if(next().database.settings, [](const auto& entry) { return entry.first.second; });
  next().database.name = kFirstDatabaseName;
  return Status();
}

Status Definer::rename_database(const std::string& name) {
  DatabaseDefinition& database = next().database;
  if (name == kMaintenanceDatabase || is_template(name) || name == database.name)
    return sql_error("42P04", absl::StrCat("database \"", name, "\" already exists"));
  database.name = name;
  return Status();
}

Status Definer::define_database(const ast::DatabaseStatement& database, ResultSet* result) {
  using Action = ast::DatabaseAction;
  const bool is_create = database.action == Action::kCreate, is_drop = database.action == Action::kDrop;
  result->command_tag = is_create ? "CREATE DATABASE" : is_drop ? "DROP DATABASE" : "ALTER DATABASE";
  if (is_create) return create_database(database);
  if (is_drop) return drop_database(database, result);
  if (!next().database.is_called(database.name)) return no_database(database.name);
  if (!actor().is_superuser) return denied(absl::StrCat("must be owner of database ", database.name));
  if (database.action == Action::kRename) return rename_database(database.new_name);
  if (database.action == Action::kOwner) return role_of(database.owner).status();  // all belongs to superusers
  for (const ast::Option& option : database.options)
    result->notices.push_back(absl::StrCat("WARNING:  option \"", option.name, "\" of databases has no effect here"));
  return Status();
}

}  // namespace scyper::query
