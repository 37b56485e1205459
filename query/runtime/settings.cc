#include "query/settings.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "query/search_path.h"
#include "query/setting_values.h"
#include "query/text_converter.h"
#include "runtime/unused_settings.h"
#include "types/text_configuration.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

// What clients send at their start or ask for. Choices of one value say what holds.
constexpr Setting kSettings[] = {
    {"application_name", SettingKind::kText, "", "", true},
    {"bytea_output", SettingKind::kChoice, "hex", "escape|hex"},
    {"check_function_bodies", SettingKind::kSwitch, "on", ""},
    {"client_encoding", SettingKind::kEncoding, "UTF8", "", true},
    {"client_min_messages", SettingKind::kChoice, "notice",
     "debug5|debug4|debug3|debug2|debug1|log|notice|warning|error"},
    {"DateStyle", SettingKind::kDateStyle, "ISO, MDY", "", true},
    {"default_table_access_method", SettingKind::kChoice, "heap", "heap"},
    {"default_tablespace", SettingKind::kChoice, "", ""},
    {"default_text_search_config", SettingKind::kTextConfiguration, kDefaultTextConfiguration, ""},
    {"default_transaction_deferrable", SettingKind::kSwitch, "off", ""},
    {"default_transaction_isolation", SettingKind::kChoice, "read committed",
     "serializable|repeatable read|read committed|read uncommitted"},
    {"default_transaction_read_only", SettingKind::kSwitch, "off", "", true},
    {"enable_seqscan", SettingKind::kSwitch, "on", ""},
    {"enable_hashjoin", SettingKind::kSwitch, "on", ""},
    {"enable_indexscan", SettingKind::kSwitch, "on", ""},
    {"enable_mergejoin", SettingKind::kSwitch, "on", ""},
    {"enable_nestloop", SettingKind::kSwitch, "on", ""},
    {"escape_string_warning", SettingKind::kSwitch, "on", ""},
    {"effective_cache_size", SettingKind::kText, "4GB", ""},
    {"extra_float_digits", SettingKind::kNumber, "1", "3"},
    {"idle_in_transaction_session_timeout", SettingKind::kDuration, "0", ""},
    {"in_hot_standby", SettingKind::kConstant, "off", "", true},
    {"integer_datetimes", SettingKind::kConstant, "on", "", true},
    {"IntervalStyle", SettingKind::kChoice, "postgres", "postgres|postgres_verbose|sql_standard|iso_8601", true},
    {"is_superuser", SettingKind::kConstant, "on", "", true},
    {"jit", SettingKind::kSwitch, "on", ""},
    {"lc_collate", SettingKind::kConstant, "C", ""},
    {"lc_ctype", SettingKind::kConstant, "C", ""},
    {"lc_messages", SettingKind::kChoice, "C", "c|en_us.utf-8|c.utf-8|en_us.utf8"},
    {"lc_monetary", SettingKind::kText, "C", ""},
    {"lc_numeric", SettingKind::kText, "C", ""},
    {"lc_time", SettingKind::kText, "C", ""},
    {"lock_timeout", SettingKind::kDuration, "0", ""},
    {"log_min_messages", SettingKind::kText, "warning", ""},
    {"log_statement", SettingKind::kText, "none", ""},
    {"maintenance_work_mem", SettingKind::kText, "64MB", ""},
    {"max_identifier_length", SettingKind::kConstant, "63", ""},
    {"max_parallel_workers_per_gather", SettingKind::kText, "2", ""},
    {"max_index_keys", SettingKind::kConstant, "32", ""},
    {"random_page_cost", SettingKind::kText, "4", ""},
    {"role", SettingKind::kRole, "none", ""},
    {"plpgsql.variable_conflict", SettingKind::kChoice, "error", "error"},
    {"row_security", SettingKind::kSwitch, "on", ""},
    {"scyper.freshness", SettingKind::kFreshness, "fresh", ""},
    {"scyper.receipts", SettingKind::kSwitch, "off", ""},
    {"scyper.threads", SettingKind::kNumber, "1", "256"},
    {"search_path", SettingKind::kPath, "\"$user\", public", ""},
    {"server_encoding", SettingKind::kConstant, "UTF8", "", true},
    {"server_version", SettingKind::kConstant, "15.0", "", true},
    {"server_version_num", SettingKind::kConstant, "150000", ""},
    {"session_authorization", SettingKind::kSessionRole, "", "", true},
    {"session_replication_role", SettingKind::kChoice, "origin", "origin"},
    {"ssl_renegotiation_limit", SettingKind::kText, "0", ""},
    {"standard_conforming_strings", SettingKind::kChoice, "on", "on|true|yes|1", true},
    {"statement_timeout", SettingKind::kDuration, "0", ""},
    {"synchronous_commit", SettingKind::kText, "on", ""},
    {"synchronize_seqscans", SettingKind::kSwitch, "on", ""},
    {"TimeZone", SettingKind::kZone, "UTC", "", true},
    {"transaction_deferrable", SettingKind::kSwitch, "off", ""},
    {"transaction_isolation", SettingKind::kChoice, "read committed",
     "serializable|repeatable read|read committed|read uncommitted"},
    {"transaction_read_only", SettingKind::kSwitch, "off", ""},
    {"work_mem", SettingKind::kText, "4MB", ""},
    {"xmloption", SettingKind::kText, "content", ""},
};

Status invalid_value(const Setting& setting, const std::string& value) {
  return sql_error("22023",
                   absl::StrCat("invalid value for parameter \"", std::string(setting.name), "\": \"", value, "\""));
}

std::optional<bool> read_switch(const std::string& value) {
  const std::string word = absl::AsciiStrToLower(value);
  const auto begins = [&](std::string_view whole, size_t least) {
    return word.size() >= least && whole.substr(0, word.size()) == word;
  };
  if (begins("on", 2) || begins("true", 1) || begins("yes", 1) || word == "1") return true;
  if (begins("off", 2) || begins("false", 1) || begins("no", 1) || word == "0") return false;
  return std::nullopt;
}

bool is_choice(std::string_view choices, const std::string& word) {
  while (true) {
    const std::string_view choice = choices.substr(0, choices.find('|'));
    if (choice == word) return true;
    if (choice.size() == choices.size()) return false;
    choices.remove_prefix(choice.size() + 1);
  }
}

StatusOr<std::string> read_choice(const Setting& setting, const std::string& value) {
  std::string word = absl::AsciiStrToLower(value);
  const bool is_level = setting.name == "client_min_messages";
  if (is_level && word == "debug") word = "debug2";
  if (!is_choice(setting.choices, word)) {
    std::string choices(setting.choices);
    if (is_level)
      return with_hint(invalid_value(setting, value),
                       "Available values: debug5, debug4, debug3, debug2, debug1, log, notice, warning, error.");
    if (setting.name == "IntervalStyle")
      return with_hint(invalid_value(setting, value),
                       "Available values: postgres, postgres_verbose, sql_standard, iso_8601.");
    if (setting.name == "bytea_output")
      return with_hint(invalid_value(setting, value), "Available values: escape, hex.");
    return with_hint(invalid_value(setting, value), "Supported: " + choices);
  }
  // one value in several spellings, or several values
  return is_level || setting.name == "IntervalStyle" || setting.name == "bytea_output" ||
                 setting.name.ends_with("isolation")
             ? word
             : std::string(setting.value);
}

// Of the node, or of how it was built: in PostgreSQL's words.
Status cannot_change(const Setting& setting) {
  const SettingNote* note = find_setting_note(setting.name);
  const std::string_view context = note == nullptr ? "internal" : std::string_view(note->context);
  const std::string_view way = context == "postmaster"        ? " without restarting the server"
                               : context == "sighup"          ? " now"
                               : context.ends_with("backend") ? " after connection start"
                                                              : "";
  const std::string what = context.ends_with("backend") ? "\" cannot be set" : "\" cannot be changed";
  return sql_error("55P02", absl::StrCat("parameter \"", std::string(setting.name), what, std::string(way)));
}

// Its name as PostgreSQL writes it; UNICODE stays as JDBC sends it.
StatusOr<std::string> read_encoding(const Setting& setting, const std::string& value) {
  const Encoding* encoding = find_encoding(value);
  if (encoding == nullptr) return invalid_value(setting, value);
  if (TextConverter::make(*encoding, TextConverter::Direction::kToUtf8) == nullptr)
    return with_detail(sql_error("0A000", std::string(invalid_value(setting, value).message())),
                       absl::StrCat("Conversion between ", std::string(encoding->name), " and UTF8 is not supported."));
  return value == "UNICODE" ? value : std::string(encoding->name);
}

}  // namespace

std::span<const Setting> settings() {
  static const auto& all = *new std::vector<Setting>([] {
    std::vector<Setting> both(std::begin(kSettings), std::end(kSettings));
    both.insert(both.end(), std::begin(kUnusedSettings), std::end(kUnusedSettings));
    return both;
  }());
  return all;
}

const Setting* find_setting(std::string_view name) {
  using ByKey = absl::flat_hash_map<std::string, const Setting*>;
  static const auto& by_key = *new ByKey([] {
    ByKey made;
    for (const Setting& setting : settings()) made.emplace(setting_key(setting.name), &setting);
    return made;
  }());
  const auto found = by_key.find(setting_key(name));
  return found == by_key.end() ? nullptr : found->second;
}

bool is_custom_setting(std::string_view name) { return name.find('.') != std::string_view::npos; }

std::string setting_key(std::string_view name) { return absl::AsciiStrToLower(std::string(name)); }

bool is_of_time(const Setting& setting) {
  return std::find(std::begin(kMarkedSettings), std::end(kMarkedSettings), setting.name) != std::end(kMarkedSettings);
}

std::string time_mark(const std::function<std::string(std::string_view name)>& value_of) {
  MarkedSettings values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = value_of(kMarkedSettings[i]);
  return make_zone_mark(std::move(values));
}

std::vector<std::pair<std::string, std::string>> time_settings_of(std::string_view mark) {
  std::vector<std::pair<std::string, std::string>> named;
  const MarkedSettings values = parts_of_zone_mark(mark);
  for (size_t i = 0; i < values.size(); ++i) named.emplace_back(kMarkedSettings[i], values[i]);
  return named;
}

void set_thread_time_zone(std::string_view mark) {
  if (mark == session_zone_mark()) return;
  thread_local std::shared_ptr<const SessionZone> held;
  auto zone = make_session_zone(mark);
  ZoneScope::current = zone.get();
  held = std::move(zone);
}

Status takes_one_value(std::string_view name) {
  return sql_error("22023", absl::StrCat("SET ", std::string(name), " takes only one argument"));
}

Status check_custom_setting(std::string_view name) {
  const std::string text(name);
  if (!is_custom_setting(name))
    return sql_error("42704", absl::StrCat("unrecognized configuration parameter \"", text, "\""));
  const Status invalid = sql_error("42602", absl::StrCat("invalid configuration parameter name \"", text, "\""));
  bool starts = true;
  for (char c : name) {
    const bool is_first =
        absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || static_cast<signed char>(c) < 0;
    const bool is_later = is_first || absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '$';
    const bool is_dot = c == '.' && !starts;
    if (!(is_dot || (starts ? is_first : is_later)))
      return with_detail(invalid, "Custom parameter names must be two or more simple identifiers separated by dots.");
    starts = is_dot;
  }
  if (starts)
    return with_detail(invalid, "Custom parameter names must be two or more simple identifiers separated by dots.");
  if (absl::StartsWithIgnoreCase(text, "scyper.")) return with_detail(invalid, "\"scyper\" is a reserved prefix.");
  return Status();
}

StatusOr<std::string> read_setting(const Setting& setting, const std::string& value) {
  if (const NumberSetting* number = find_number_setting(setting.name); number != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(const double read, read_number(*number, value));
    return show_number(*number, read);
  }
  if (const WordSetting* words = find_word_setting(setting.name); words != nullptr) return read_word(*words, value);
  switch (setting.kind) {
    case SettingKind::kConstant:
      return cannot_change(setting);
    case SettingKind::kChoice:
      return read_choice(setting, value);
    case SettingKind::kSwitch: {
      const auto is_on = read_switch(value);
      if (!is_on.has_value())
        return sql_error("22023",
                         absl::StrCat("parameter \"", std::string(setting.name), "\" requires a Boolean value"));
      return std::string(*is_on ? "on" : "off");
    }
    case SettingKind::kPath:
      SCYPER_RETURN_IF_ERROR(schemas_of_path(value).status());
      return value;
    case SettingKind::kZone: {
      std::string name = session_zone_name(value);
      if (name.empty()) return invalid_value(setting, value);
      return name;
    }
    case SettingKind::kDateStyle: {
      DateStyle style = session_date_style();
      const std::string detail = read_date_style(value, &style);
      return detail.empty() ? date_style_name(style)
                            : StatusOr<std::string>(with_detail(invalid_value(setting, value), detail));
    }
    case SettingKind::kEncoding:
      return read_encoding(setting, value);
    case SettingKind::kTextConfiguration: {
      const TextConfiguration* found = find_text_configuration(value);
      if (found == nullptr) return invalid_value(setting, value);
      return absl::StrCat("pg_catalog.", std::string(found->name));
    }
    case SettingKind::kText:
    case SettingKind::kSessionRole:
    case SettingKind::kRole:
    case SettingKind::kDuration:
    case SettingKind::kNumber:
    case SettingKind::kFreshness:
      break;
  }
  return value;
}

const std::string* StatementSettings::find(const std::string& key) const {
  for (auto changed = changed_.rbegin(); changed != changed_.rend(); ++changed)
    if (changed->key == key) return &changed->value;
  if (given_ == nullptr) return nullptr;
  auto given = given_->find(key);
  return given == given_->end() ? nullptr : &given->second;
}

void StatementSettings::change(std::string key, std::string value, bool is_local) {
  std::erase_if(changed_, [&](const Changed& changed) { return changed.key == key && changed.is_local; });
  // a name of the user's own stays, without a value, when the transaction ends
  if (is_local && find_setting(key) == nullptr && find(key) == nullptr) changed_.push_back({key, "", false});
  changed_.push_back({std::move(key), std::move(value), is_local});
}

void StatementSettings::end_transaction(bool commit) {
  std::erase_if(changed_,
                [&](const Changed& changed) { return !changed.is_committed && (changed.is_local || !commit); });
  for (Changed& changed : changed_) changed.is_committed = true;
}

void StatementSettings::give_changed(std::vector<ChangedSetting>* to) const {
  for (const Changed& changed : changed_) to->push_back({changed.key, changed.value, changed.is_local});
}

int32_t number_of_temporary_schema(std::string_view schema) {
  int32_t number = 0;
  const size_t digits = schema.rfind('_') + 1;
  std::from_chars(schema.data() + digits, schema.data() + schema.size(), number);
  return number;
}

int32_t session_number_of(const SettingValues* settings) {
  if (settings == nullptr) return 0;
  auto found = settings->find(kSessionNumberSetting);
  if (found == settings->end()) found = settings->find(kTemporarySchemaSetting);
  return found == settings->end() ? 0 : number_of_temporary_schema(found->second);
}

bool shows_message(std::string_view level, std::string_view severity) {
  if (severity == "INFO") return true;
  static constexpr std::string_view kLevels[] = {"debug5", "debug4", "debug3",  "debug2", "debug1",
                                                 "log",    "notice", "warning", "error"};
  auto rank = [](std::string_view name) {
    return std::find(std::begin(kLevels), std::end(kLevels), name) - std::begin(kLevels);
  };
  const std::string word = absl::AsciiStrToLower(std::string(severity));
  return rank(word == "debug" ? "debug1" : word) >= rank(level);
}

}  // namespace scyper::query
