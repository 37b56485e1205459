#include "session/session_settings.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "query/setting_values.h"
#include "server/config.h"
#include "server/server.h"

namespace scyper::server {

namespace {

// Settings of one transaction, and the setting that each begins with.
struct Mode {
  std::string_view name;
  std::string_view initial;
};
constexpr Mode kModes[] = {{"transaction_deferrable", "default_transaction_deferrable"},
                           {"transaction_isolation", "default_transaction_isolation"},
                           {"transaction_read_only", "default_transaction_read_only"}};

// RESET ALL leaves it alone.
bool stays(const query::Setting& setting) {
  using Kind = query::SettingKind;
  return setting.kind == Kind::kConstant || setting.kind == Kind::kRole || setting.kind == Kind::kSessionRole;
}

}  // namespace

StatusOr<query::Freshness> parse_freshness(std::string_view text) {
  constexpr std::string_view kLsn = "lsn:";
  query::Freshness freshness;
  if (text == "fresh") return freshness;
  if (text.starts_with(kLsn)) {
    freshness.kind = query::Freshness::Kind::kAtLeast;
    const auto [end, error] = std::from_chars(text.data() + kLsn.size(), text.data() + text.size(), freshness.lsn);
    if (error == std::errc() && end == text.data() + text.size() && text.size() > kLsn.size()) return freshness;
  } else if (auto us = parse_duration_us(text); us.ok() && *us <= uint64_t{365} * 86'400'000'000) {
    freshness.kind = query::Freshness::Kind::kStaleness;
    freshness.staleness_us = static_cast<int64_t>(*us);
    return freshness;
  }
  return with_hint(
      sql_error("22023", "invalid value for parameter \"scyper.freshness\": \"" + std::string(text) + "\""),
      "'fresh', how old the data may be ('500ms', '2s'), or what it must contain ('lsn:42').");
}

SessionSettings::SessionSettings(Owner owner, bool is_secondary, std::string temporary_schema)
    : owner_(std::move(owner)), temporary_schema_(std::move(temporary_schema)) {
  for (const query::Setting& setting : query::settings()) {
    values_[std::string(setting.name)] = {std::string(setting.value), std::string(setting.value)};
  }
  const auto fix = [this](const char* name, std::string value) { values_[name] = {value, value}; };
  query::set_thread_time_zone(zone_);
  fix("session_authorization", owner_.user);
  fix("is_superuser", owner_.is_superuser ? "on" : "off");
  fix("in_hot_standby", is_secondary ? "on" : "off");
  fix("server_version", std::string("15.0 (ScyPer ") + kVersion + ")");
}

Status SessionSettings::assign(std::string_view name, const std::string& value, Value* to) {
  is_changed_ = true;
  given_.reset();
  const query::Setting* setting = query::find_setting(name);
  if (setting == nullptr) return to->value = value, Status();
  SCYPER_ASSIGN_OR_RETURN(std::string read, query::read_setting(*setting, value));
  if (setting->kind == query::SettingKind::kDuration) {
    const int64_t us = static_cast<int64_t>(query::shown_number(setting->name, read)) * 1000;
    if (setting->name == "statement_timeout") statement_timeout_us_ = us;
    if (setting->name == "idle_in_transaction_session_timeout") idle_timeout_us_ = us;
  }
  if (setting->kind == query::SettingKind::kRole && owner_.set_role) {
    SCYPER_RETURN_IF_ERROR(owner_.set_role(read, &owner_.roles, &owner_.role_ids));
  }
  if (setting->kind == query::SettingKind::kSessionRole) SCYPER_RETURN_IF_ERROR(become(read));
  if (setting->kind == query::SettingKind::kEncoding) SCYPER_RETURN_IF_ERROR(use_encoding(read));
  if (setting->kind == query::SettingKind::kFreshness) {
    SCYPER_ASSIGN_OR_RETURN(freshness_, parse_freshness(value));
  }
  if (setting->kind == query::SettingKind::kPath) {
    std::optional<size_t> before_temporary;
    SCYPER_ASSIGN_OR_RETURN(schemas_, query::schemas_of_path(read, &before_temporary));
    before_temporary_ = before_temporary.value_or(0);
  }
  if (query::is_of_time(*setting)) {
    zone_ = query::time_mark(
        [&](std::string_view other) { return setting->name == other ? read : values_[std::string(other)].value; });
    query::set_thread_time_zone(zone_);
  }
  if (setting->name == "scyper.receipts") receipts_ = read == "on";
  if (setting->name == "transaction_read_only") is_read_only_ = read == "on";
  if (setting->name == "scyper.threads") threads_ = static_cast<uint32_t>(std::stoul(read));
  to->value = std::move(read);
  return {};
}

// SET SESSION AUTHORIZATION. What SET ROLE has set ends with it, as in PostgreSQL.
Status SessionSettings::become(const std::string& user) {
  if (user == values_["session_authorization"].value) return {};
  if (!owner_.set_session_role)
    return with_hint(sql_error("0A000", "SET SESSION AUTHORIZATION is not supported here"),
                     "Connect by PostgreSQL's protocol.");
  bool is_superuser = false;
  SCYPER_RETURN_IF_ERROR(owner_.set_session_role(user, &owner_.roles, &owner_.role_ids, &is_superuser));
  values_["is_superuser"].value = is_superuser ? "on" : "off";
  values_["role"].value = "none";
  return {};
}

Status SessionSettings::use_encoding(const std::string& name) {
  const query::Encoding* encoding = query::find_encoding(name);
  const bool is_plain = encoding->number == query::kUtf8Encoding || encoding->number == query::kSqlAsciiEncoding;
  if (!is_plain && !owner_.converts_texts)
    return with_hint(sql_error("0A000", "client_encoding " + name + " is not supported here"),
                     "Texts are UTF-8. PostgreSQL's protocol converts them.");
  client_encoding_ = encoding;
  return {};
}

Status SessionSettings::set_default(std::string_view name, const std::string& value) {
  SCYPER_RETURN_IF_ERROR(set(name, {value}));
  Value& kept = values_[name_of(name)];
  kept.initial = kept.value;
  return {};
}

void SessionSettings::begin_with(const query::InitialSettings& settings) {
  for (const auto& [name, value] : settings) static_cast<void>(set_default(name, value));
}

Status SessionSettings::set(std::string_view name, const std::vector<std::string>& values) {
  if (query::find_setting(name) == nullptr) SCYPER_RETURN_IF_ERROR(query::check_custom_setting(name));
  if (values.empty()) return reset(name);
  const std::string known = name_of(name);
  if (values.size() > 1 && known != "search_path" && known != "DateStyle") return query::takes_one_value(name);
  return assign(name, absl::StrJoin(values, ", "), to_change(known));
}

SessionSettings::Value* SessionSettings::to_change(const std::string& name) {
  const auto [found, is_new] = values_.try_emplace(name);
  if (is_in_block_) changes_.push_back({name, found->second.value, is_new});
  return &found->second;
}

Status SessionSettings::reset(std::string_view name) {
  if (name == "all") {
    for (auto& [other, value] : values_) {
      const query::Setting* setting = query::find_setting(other);
      const bool is_mode = std::ranges::find(kModes, other, &Mode::name) != std::end(kModes);
      if (setting != nullptr && (stays(*setting) || is_mode)) continue;
      SCYPER_RETURN_IF_ERROR(reset(other));
    }
    return {};
  }
  if (query::find_setting(name) == nullptr) SCYPER_RETURN_IF_ERROR(query::check_custom_setting(name));
  const std::string known = name_of(name);
  if (values_[known].value == values_[known].initial) return {};
  Value* value = to_change(known);
  return assign(name, std::string(value->initial), value);
}

StatusOr<std::string> SessionSettings::show(std::string_view name) const {
  auto found = values_.find(name_of(name));
  if (found == values_.end())
    return sql_error("42704", "unrecognized configuration parameter \"" + std::string(name) + "\"");
  return found->second.value;
}

std::string SessionSettings::name_of(std::string_view name) {
  const query::Setting* setting = query::find_setting(name);
  return setting == nullptr ? query::setting_key(name) : std::string(setting->name);
}

std::shared_ptr<const query::SettingValues> SessionSettings::given() const {
  if (given_ != nullptr) return given_;
  auto given = std::make_shared<query::SettingValues>();
  for (const auto& [name, value] : values_) {
    const query::Setting* setting = query::find_setting(name);
    if (setting == nullptr || setting->value != value.value) given->emplace(query::setting_key(name), value.value);
  }
  if (!temporary_schema_.empty()) given->emplace(query::kTemporarySchemaSetting, temporary_schema_);
  return given_ = std::move(given);
}

std::string SessionSettings::with_path(std::string_view sql, bool has_temporary_tables) const {
  const auto path =
      has_temporary_tables ? query::path_with_temporary(schemas_, temporary_schema_, before_temporary_) : schemas_;
  return query::with_roles(owner_.roles, owner_.role_ids,
                           query::with_time_zone(zone_, query::with_search_path(path, sql)));
}

bool SessionSettings::is_isolated() const {
  const std::string& isolation = values_.find("transaction_isolation")->second.value;
  return isolation == "serializable" || isolation == "repeatable read";
}

bool SessionSettings::is_serializable() const {
  return values_.find("transaction_isolation")->second.value == "serializable";
}

void SessionSettings::begin_block() {
  is_in_block_ = true;
  changes_.clear();
}

void SessionSettings::end_block() {
  is_in_block_ = false;
  changes_.clear();
}

void SessionSettings::take_back(Mark mark) {
  const bool was_in_block = std::exchange(is_in_block_, false);
  for (; changes_.size() > mark; changes_.pop_back()) {
    const Change& change = changes_.back();
    const auto found = values_.find(change.name);
    if (found == values_.end()) continue;
    if (change.is_new) {
      values_.erase(found);
      given_.reset();
    } else if (found->second.value != change.before) {
      static_cast<void>(assign(change.name, std::string(change.before), &found->second));
    }
  }
  is_in_block_ = was_in_block;
}

void SessionSettings::begin_transaction() {
  for (const Mode& mode : kModes) set_mode(mode.name, values_.find(mode.initial)->second.value);
}

void SessionSettings::begin_transaction(const SessionSettings& modes) {
  for (const Mode& mode : kModes) set_mode(mode.name, modes.values_.find(mode.name)->second.value);
}

void SessionSettings::set_mode(std::string_view name, const std::string& value) {
  std::string& current = values_.find(name)->second.value;
  if (current == value) return;  // as nearly always: what was made of all settings stays
  current = value;
  given_.reset();
  if (name == "transaction_read_only") is_read_only_ = value == "on";
}

std::vector<std::pair<std::string, std::string>> SessionSettings::all() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, value] : values_) all.emplace_back(name, value.value);
  return all;
}

std::vector<std::pair<std::string, std::string>> SessionSettings::take_reports() {
  std::vector<std::pair<std::string, std::string>> changed;
  if (!std::exchange(is_changed_, false)) return changed;
  for (const query::Setting& setting : query::settings()) {
    if (!setting.is_reported) continue;
    const std::string name(setting.name);
    const std::string& value = values_[name].value;
    auto [known, is_new] = reported_.try_emplace(name, value);
    if (!is_new && known->second == value) continue;
    known->second = value;
    changed.emplace_back(name, value);
  }
  return changed;
}

}  // namespace scyper::server
