#include "query/setting_values.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "query/error_status.h"

namespace scyper::query {

namespace {

using U = SettingUnit;

constexpr double kMostInteger = std::numeric_limits<int32_t>::max();
constexpr double kMostReal = std::numeric_limits<double>::max();

constexpr NumberSetting kNumberSettings[] = {
    {"backend_flush_after", false, U::kBlocks, 0, 256},
    {"client_connection_check_interval", false, U::kMilliseconds, 0, kMostInteger},
    {"commit_delay", false, U::kNone, 0, 100'000},
    {"commit_siblings", false, U::kNone, 0, 1000},
    {"cpu_index_tuple_cost", true, U::kNone, 0, kMostReal},
    {"cpu_operator_cost", true, U::kNone, 0, kMostReal},
    {"cpu_tuple_cost", true, U::kNone, 0, kMostReal},
    {"cursor_tuple_fraction", true, U::kNone, 0, 1},
    {"deadlock_timeout", false, U::kMilliseconds, 1, kMostInteger},
    {"default_statistics_target", false, U::kNone, 1, 10'000},
    {"effective_cache_size", false, U::kBlocks, 1, kMostInteger},
    {"effective_io_concurrency", false, U::kNone, 0, 1000},
    {"extra_float_digits", false, U::kNone, -15, 3},
    {"from_collapse_limit", false, U::kNone, 1, kMostInteger},
    {"geqo_effort", false, U::kNone, 1, 10},
    {"geqo_generations", false, U::kNone, 0, kMostInteger},
    {"geqo_pool_size", false, U::kNone, 0, kMostInteger},
    {"geqo_seed", true, U::kNone, 0, 1},
    {"geqo_selection_bias", true, U::kNone, 1.5, 2},
    {"geqo_threshold", false, U::kNone, 2, kMostInteger},
    {"gin_fuzzy_search_limit", false, U::kNone, 0, kMostInteger},
    {"gin_pending_list_limit", false, U::kKilobytes, 64, kMostInteger},
    {"hash_mem_multiplier", true, U::kNone, 1, 1000},
    {"idle_in_transaction_session_timeout", false, U::kMilliseconds, 0, kMostInteger},
    {"idle_session_timeout", false, U::kMilliseconds, 0, kMostInteger},
    {"jit_above_cost", true, U::kNone, -1, kMostReal},
    {"jit_inline_above_cost", true, U::kNone, -1, kMostReal},
    {"jit_optimize_above_cost", true, U::kNone, -1, kMostReal},
    {"join_collapse_limit", false, U::kNone, 1, kMostInteger},
    {"lock_timeout", false, U::kMilliseconds, 0, kMostInteger},
    {"log_min_duration_sample", false, U::kMilliseconds, -1, kMostInteger},
    {"log_min_duration_statement", false, U::kMilliseconds, -1, kMostInteger},
    {"log_parameter_max_length", false, U::kBytes, -1, 1073741823},
    {"log_parameter_max_length_on_error", false, U::kBytes, -1, 1073741823},
    {"log_statement_sample_rate", true, U::kNone, 0, 1},
    {"log_temp_files", false, U::kKilobytes, -1, kMostInteger},
    {"log_transaction_sample_rate", true, U::kNone, 0, 1},
    {"logical_decoding_work_mem", false, U::kKilobytes, 64, kMostInteger},
    {"maintenance_io_concurrency", false, U::kNone, 0, 1000},
    {"maintenance_work_mem", false, U::kKilobytes, 1024, kMostInteger},
    {"max_parallel_maintenance_workers", false, U::kNone, 0, 1024},
    {"max_parallel_workers", false, U::kNone, 0, 1024},
    {"max_parallel_workers_per_gather", false, U::kNone, 0, 1024},
    {"max_stack_depth", false, U::kKilobytes, 100, kMostInteger},
    {"min_parallel_index_scan_size", false, U::kBlocks, 0, 715'827'882},
    {"min_parallel_table_scan_size", false, U::kBlocks, 0, 715'827'882},
    {"parallel_setup_cost", true, U::kNone, 0, kMostReal},
    {"parallel_tuple_cost", true, U::kNone, 0, kMostReal},
    {"random_page_cost", true, U::kNone, 0, kMostReal},
    {"recursive_worktable_factor", true, U::kNone, 0.001, 1'000'000},
    {"scyper.threads", false, U::kNone, 1, 256},
    {"seq_page_cost", true, U::kNone, 0, kMostReal},
    {"statement_timeout", false, U::kMilliseconds, 0, kMostInteger},
    {"tcp_keepalives_count", false, U::kNone, 0, kMostInteger},
    {"tcp_keepalives_idle", false, U::kSeconds, 0, kMostInteger},
    {"tcp_keepalives_interval", false, U::kSeconds, 0, kMostInteger},
    {"tcp_user_timeout", false, U::kMilliseconds, 0, kMostInteger},
    {"temp_buffers", false, U::kBlocks, 100, 1'073'741'823},
    {"temp_file_limit", false, U::kKilobytes, -1, kMostInteger},
    {"vacuum_cost_delay", true, U::kMilliseconds, 0, 100},
    {"vacuum_cost_limit", false, U::kNone, 1, 10'000},
    {"vacuum_cost_page_dirty", false, U::kNone, 0, 10'000},
    {"vacuum_cost_page_hit", false, U::kNone, 0, 10'000},
    {"vacuum_cost_page_miss", false, U::kNone, 0, 10'000},
    {"vacuum_failsafe_age", false, U::kNone, 0, 2100000000},
    {"vacuum_freeze_min_age", false, U::kNone, 0, 1'000'000'000},
    {"vacuum_freeze_table_age", false, U::kNone, 0, 2'000'000'000},
    {"vacuum_multixact_failsafe_age", false, U::kNone, 0, 2100000000},
    {"vacuum_multixact_freeze_min_age", false, U::kNone, 0, 1000000000},
    {"vacuum_multixact_freeze_table_age", false, U::kNone, 0, 2000000000},
    {"wal_sender_timeout", false, U::kMilliseconds, 0, kMostInteger},
    {"wal_skip_threshold", false, U::kKilobytes, 0, kMostInteger},
    {"work_mem", false, U::kKilobytes, 64, kMostInteger},
};

constexpr std::string_view kSwitchWords = "true=on|false=off|yes=on|no=off|1=on|0=off";

constexpr WordSetting kWordSettings[] = {
    {"composite_type_mismatch", "error|warn|disabled"},
    {"compute_query_id", "auto|regress|on|off"},
    {"constraint_exclusion", "partition|on|off", kSwitchWords},
    {"default_toast_compression", "pglz|lz4"},
    {"force_parallel_mode", "off|on|regress", kSwitchWords},
    {"log_error_verbosity", "terse|default|verbose"},
    {"log_min_error_statement", "debug5|debug4|debug3|debug2|debug1|info|notice|warning|error|log|fatal|panic",
     "debug=debug2"},
    {"log_min_messages", "debug5|debug4|debug3|debug2|debug1|info|notice|warning|error|log|fatal|panic",
     "debug=debug2"},
    {"log_statement", "none|ddl|mod|all"},
    {"password_encryption", "md5|scram-sha-256"},
    {"plan_cache_mode", "auto|force_generic_plan|force_custom_plan"},
    {"stats_fetch_consistency", "none|cache|snapshot"},
    {"synchronous_commit", "local|remote_write|remote_apply|on|off", kSwitchWords},
    {"track_functions", "none|pl|all"},
    {"xmlbinary", "base64|hex"},
    {"xmloption", "content|document"},
};

struct UnitName {
  std::string_view name;
  double factor;  // in base units
};
// Largest first, as PostgreSQL tries them.
constexpr UnitName kMillisecondUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"min", 60'000},
                                          {"s", 1000},       {"ms", 1},        {"us", 1.0 / 1000}};
constexpr UnitName kKilobyteUnits[] = {
    {"TB", 1024.0 * 1024 * 1024}, {"GB", 1024.0 * 1024}, {"MB", 1024}, {"kB", 1}, {"B", 1.0 / 1024}};
constexpr UnitName kBlockUnits[] = {
    {"TB", 128.0 * 1024 * 1024}, {"GB", 128.0 * 1024}, {"MB", 128}, {"kB", 1.0 / 8}, {"B", 1.0 / 8192}};

constexpr UnitName kSecondUnits[] = {{"d", 86'400}, {"h", 3'600},       {"min", 60},
                                     {"s", 1},      {"ms", 1.0 / 1000}, {"us", 1.0 / 1'000'000}};
constexpr UnitName kByteUnits[] = {
    {"TB", 1024.0 * 1024 * 1024 * 1024}, {"GB", 1024.0 * 1024 * 1024}, {"MB", 1024.0 * 1024}, {"kB", 1024}, {"B", 1}};

std::span<const UnitName> units_of(SettingUnit unit) {
  switch (unit) {
    case U::kNone:
      return {};
    case U::kMilliseconds:
      return kMillisecondUnits;
    case U::kKilobytes:
      return kKilobyteUnits;
    case U::kBlocks:
      return kBlockUnits;
    case U::kSeconds:
      return kSecondUnits;
    case U::kBytes:
      return kByteUnits;
  }
  return {};
}

std::string_view unit_hint(SettingUnit unit) {
  return unit == U::kMilliseconds || unit == U::kSeconds
             ? R"(Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".)"
             : R"(Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".)";
}

Status invalid_value(std::string_view name, const std::string& value) {
  return sql_error("22023", absl::StrCat("invalid value for parameter \"", std::string(name), "\": \"", value, "\""));
}

// A fraction of a unit is rounded to a multiple of the next smaller unit, as PostgreSQL rounds it: 30.1GB.
bool scale_by_unit(std::string_view name, SettingUnit unit, double* number) {
  const auto units = units_of(unit);
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].name != name) continue;
    *number *= units[i].factor;
    if (i + 1 < units.size()) *number = std::rint(*number / units[i + 1].factor) * units[i + 1].factor;
    return true;
  }
  return false;
}

// The number before the unit; `rest`: what follows it. Integers may be octal or hexadecimal.
bool scan_setting_number(bool is_real, const char* text, double* number, const char** rest) {
  char* end = nullptr;
  errno = 0;
  bool is_float = is_real;
  if (!is_real) {
    *number = static_cast<double>(std::strtol(text, &end, 0));
    is_float = *end == '.' || *end == 'e' || *end == 'E' || errno == ERANGE;
  }
  if (is_float) {
    errno = 0;
    *number = std::strtod(text, &end);
  }
  *rest = end;
  return end != text && errno != ERANGE && !std::isnan(*number);
}

Status outside_range(const NumberSetting& setting, double number) {
  const std::string unit(unit_name(setting.unit));
  return sql_error(
      "22023", absl::StrCat(plain_number(setting, number), unit.empty() ? "" : " ", unit,
                            " is outside the valid range for parameter \"", std::string(setting.name), "\" (",
                            plain_number(setting, setting.least), " .. ", plain_number(setting, setting.most), ")"));
}

template <typename T, size_t n>
const T* find_by_name(const T (&all)[n], std::string_view name) {
  const auto found = std::find_if(std::begin(all), std::end(all), [&](const T& one) { return one.name == name; });
  return found == std::end(all) ? nullptr : found;
}

}  // namespace

const NumberSetting* find_number_setting(std::string_view name) { return find_by_name(kNumberSettings, name); }

StatusOr<double> read_number(const NumberSetting& setting, const std::string& value) {
  double number = 0;
  const char* rest = nullptr;
  if (!scan_setting_number(setting.is_real, value.c_str(), &number, &rest)) return invalid_value(setting.name, value);
  const absl::string_view unit = absl::StripAsciiWhitespace(rest);
  if (!unit.empty()) {
    if (setting.unit == U::kNone) return invalid_value(setting.name, value);
    if (!scale_by_unit({unit.data(), unit.size()}, setting.unit, &number))
      return with_hint(invalid_value(setting.name, value), std::string(unit_hint(setting.unit)));
  }
  if (!setting.is_real) {
    number = std::rint(number);
    if (number > kMostInteger || number < std::numeric_limits<int32_t>::min())
      return with_hint(invalid_value(setting.name, value), "Value exceeds integer range.");
  }
  if (!(number >= setting.least && number <= setting.most)) return outside_range(setting, number);
  return number;
}

double shown_number(std::string_view name, const std::string& shown) {
  const NumberSetting* setting = find_number_setting(name);
  if (setting == nullptr) return 0;
  const auto number = read_number(*setting, shown);
  return number.ok() ? *number : 0;
}

std::string plain_number(const NumberSetting& setting, double number) {
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return setting.is_real ? absl::StrFormat("%g", number) : absl::StrCat(static_cast<int64_t>(number));
}

std::string show_number(const NumberSetting& setting, double number) {
  const auto units = units_of(setting.unit);
  if (number <= 0 || units.empty()) return plain_number(setting, number);
  for (const UnitName& unit : units) {
    const double count = number / unit.factor;
    const double whole = std::rint(count);
    const bool divides = setting.is_real ? count > 0 && std::fabs(whole / count - 1) <= 1e-8
                                         : unit.factor <= 1 || std::fmod(number, unit.factor) == 0;
    if (divides || &unit == &units.back())
      return absl::StrCat(plain_number(setting, setting.is_real ? count : whole), std::string(unit.name));
  }
  return plain_number(setting, number);
}

std::string_view unit_name(SettingUnit unit) {
  switch (unit) {
    case U::kNone:
      return "";
    case U::kMilliseconds:
      return "ms";
    case U::kKilobytes:
      return "kB";
    case U::kBlocks:
      return "8kB";
    case U::kSeconds:
      return "s";
    case U::kBytes:
      return "B";
  }
  return "";
}

const WordSetting* find_word_setting(std::string_view name) { return find_by_name(kWordSettings, name); }

StatusOr<std::string> read_word(const WordSetting& setting, const std::string& value) {
  std::string word = absl::AsciiStrToLower(value);
  for (const absl::string_view spelling :
       absl::StrSplit(absl::string_view(setting.spellings.data(), setting.spellings.size()), '|', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(spelling, '=');
    if (parts.first == word) return std::string(parts.second);
  }
  const absl::string_view words(setting.words.data(), setting.words.size());
  for (const absl::string_view known : absl::StrSplit(words, '|'))
    if (known == word) return word;
  return with_hint(invalid_value(setting.name, value),
                   absl::StrCat("Available values: ", absl::StrReplaceAll(words, {{"|", ", "}}), "."));
}

namespace {
constexpr std::string_view kNotes[] = {
#include "runtime/setting_notes.inc"
};
}  // namespace

const SettingNote* find_setting_note(std::string_view name) {
  static const auto& notes = *new std::vector<SettingNote>([] {
    std::vector<SettingNote> all;
    for (const std::string_view line : kNotes) {
      const std::vector<std::string> f = absl::StrSplit(absl::string_view(line.data(), line.size()), '|');
      all.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]});
    }
    return all;
  }());
  const auto found = std::ranges::find(notes, name, &SettingNote::name);
  return found == notes.end() ? nullptr : &*found;
}

}  // namespace scyper::query
