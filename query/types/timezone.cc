#include "types/timezone.h"

#include <pthread.h>
#include <unistd.h>

#include <dirent.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "types/all_zones.h"
#include "types/datetime.h"
#include "types/datetime_words.h"
#include "types/digits.h"
#include "types/interval.h"
#include "types/text_configuration.h"

namespace scyper::query {

namespace {

constexpr int64_t kUnixToEpochSeconds = 946684800;  // 2000-01-01
constexpr size_t kNameMax = 64;
constexpr int kTransitionsMax = 1000;  // zones with daylight saving time change for ever
constexpr int kZoneDepthMax = 4;       // posix/America/Argentina/Ushuaia: 3

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// What may become the name of a file: no absolute paths, no steps up, none of absl's own names.
bool is_zone_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kNameMax || !is_letter(name[0])) return false;
  auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '/' || c == '_' || c == '-' || c == '+'; };
  if (!std::all_of(name.begin(), name.end(), allowed)) return false;
  return name.substr(0, 5) != "Fixed" && name != "localtime" && name != "posixrules";
}

// absl loads zones under a mutex of its own, in which a fork must not happen: the child's load would wait for ever.
// Every load of a name is made under ours, which forks take.
std::mutex& load_mutex() {
  static std::mutex& mutex = *[] {
    static std::mutex made;
    pthread_atfork([] { made.lock(); }, [] { made.unlock(); }, [] { made.unlock(); });
    return &made;
  }();
  return mutex;
}

std::string database_directory() {
  const char* directory = std::getenv("TZDIR");
  return directory != nullptr ? directory : "/usr/share/zoneinfo";
}

// What load_all_zones() has read, for good.
using Zones = std::map<std::string, absl::TimeZone, std::less<>>;
std::atomic<const Zones*> all_zones{nullptr};

// absl keeps every name that it was ever asked for, also those that mean nothing: it is asked for files that exist.
bool load_file(const std::string& name, absl::TimeZone* zone) noexcept {
  if (const Zones* known = all_zones.load(std::memory_order_acquire); known != nullptr) {
    if (auto found = known->find(name); found != known->end()) return *zone = found->second, true;
  }
  const std::string path = database_directory() + "/" + name;
  if (name != "UTC" && access(path.c_str(), R_OK) != 0) return false;
  std::lock_guard<std::mutex> lock(load_mutex());
  return absl::LoadTimeZone(name, zone);
}

// Names of the database are capitalised by words (America/New_York) or altogether (UTC).
bool find(std::string_view name, absl::TimeZone* zone) noexcept {
  if (!is_zone_name(name)) return false;
  std::string text(name);
  if (load_file(text, zone)) return true;
  bool starts = true;
  for (char& c : text) {
    char lower = to_lower(c);
    c = starts && lower >= 'a' && lower <= 'z' ? static_cast<char>(lower - 'a' + 'A') : lower;
    starts = !is_letter(c);
  }
  if (is_zone_name(text) && load_file(text, zone)) return true;
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return load_file(text, zone);
}

bool load(std::string_view name, absl::TimeZone* zone) noexcept {
  thread_local std::string last;  // most rows of a query name one zone
  thread_local absl::TimeZone last_zone;
  if (name.empty() || name != last) {
    if (!find(name, &last_zone)) return last.clear(), false;
    last = name;
  }
  return *zone = last_zone, true;
}

// A POSIX name with a constant displacement, which counts west: UTC+3, x-05:30, +03, <+02>-02.
bool read_posix(std::string_view name, int64_t* east) noexcept {
  size_t at = 0;
  if (!name.empty() && name[0] == '<') {
    at = name.find('>');
    if (at == std::string_view::npos || ++at == name.size()) return false;
  }
  while (at < name.size() && !is_digit(name[at]) && name[at] != '+' && name[at] != '-' && name[at] != ',') ++at;
  if (at == name.size() || name[at] == ',') return false;
  bool negative = name[at] == '-';
  if (!is_digit(name[at])) ++at;
  constexpr int64_t kMost[] = {167, 59, 60}, kSeconds[] = {3600, 60, 1};
  int64_t west = 0;
  for (int part = 0; part < 3; ++part) {
    if (part > 0 && (at == name.size() || name[at] != ':')) break;
    if (part > 0) ++at;
    if (at == name.size() || !is_digit(name[at])) return false;
    int64_t value = 0;
    while (at < name.size() && is_digit(name[at]) && value <= kMost[0]) value = value * 10 + (name[at++] - '0');
    if (value > kMost[part]) return false;
    west += value * kSeconds[part];
  }
  if (at != name.size()) return false;
  *east = negative ? west : -west;
  return true;
}

ValueError shift(int64_t time, int64_t seconds, int64_t* out) noexcept {
  if (!is_finite_timestamp(time)) return *out = time, ValueError::kNone;
  if (__builtin_add_overflow(time, seconds * kMicrosPerSecond, out)) return ValueError::kTimestampRange;
  return *out < kTimestampMin || *out > kTimestampMax ? ValueError::kTimestampRange : ValueError::kNone;
}

int64_t floor_seconds(int64_t time) noexcept {
  int64_t seconds = time / kMicrosPerSecond;
  return time % kMicrosPerSecond < 0 ? seconds - 1 : seconds;
}

ValueError clock_to_utc(const absl::TimeZone& zone, int64_t local, int64_t* utc) noexcept {
  if (!is_finite_timestamp(local)) return *utc = local, ValueError::kNone;
  int64_t seconds = floor_seconds(local);
  absl::TimeZone::TimeInfo info = zone.At(absl::CivilSecond(2000, 1, 1) + seconds);
  absl::Time at = info.kind == absl::TimeZone::TimeInfo::REPEATED ? info.post : info.pre;
  return shift(local, absl::ToUnixSeconds(at) - kUnixToEpochSeconds - seconds, utc);
}

}  // namespace

void load_all_zones() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    auto zones = std::make_unique<Zones>();
    const std::filesystem::path top = database_directory();
    std::error_code error;
    constexpr auto kLinks = std::filesystem::directory_options::follow_directory_symlink;  // posix/Europe is one
    for (std::filesystem::recursive_directory_iterator entry(top, kLinks, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry.depth() >= kZoneDepthMax) entry.disable_recursion_pending();
      const std::string name = entry->path().lexically_relative(top).string();
      absl::TimeZone zone;
      if (is_zone_name(name) && entry->is_regular_file(error) && load_file(name, &zone)) zones->emplace(name, zone);
    }
    all_zones.store(zones.release(), std::memory_order_release);
  });
}

std::vector<KnownZone> known_zones() {
  load_all_zones();
  std::vector<KnownZone> zones;
  const absl::Time now = absl::Now();
  for (const auto& [name, zone] : *all_zones.load(std::memory_order_acquire)) {
    const absl::TimeZone::CivilInfo info = zone.At(now);
    zones.push_back({name, info.zone_abbr, info.offset, info.is_dst});
  }
  return zones;
}

bool zone_exists(std::string_view name) noexcept {
  absl::TimeZone zone;
  return find_datetime_word(name).kind == WordKind::kZone || load(name, &zone) || zone_is_constant(name);
}

bool zone_is_constant(std::string_view name) noexcept {
  int64_t east = 0;
  return read_posix(name, &east);
}

namespace {

// What an abbreviation whose meaning has changed (MSK) means at a time, as PostgreSQL decides: as it was last used
// until then, else as it was first used later. false: the zone's database does not have it, the zone itself counts.
bool east_of_abbreviation(std::string_view name, const absl::TimeZone& zone, absl::Time at, int64_t* east) {
  const auto is_it = [&](absl::Time t) {
    const absl::TimeZone::CivilInfo info = zone.At(t);
    if (strncasecmp(info.zone_abbr, name.data(), name.size()) != 0 || info.zone_abbr[name.size()] != '\0') return false;
    return *east = info.offset, true;
  };
  if (is_it(at)) return true;
  absl::TimeZone::CivilTransition change;
  for (absl::Time t = at; zone.PrevTransition(t, &change);) {
    const absl::Time changed = absl::FromUnixSeconds(absl::ToUnixSeconds(zone.At(change.from).pre));
    if (changed >= t) break;
    if (is_it(changed - absl::Seconds(1))) return true;
    t = changed;
  }
  absl::Time t = at;
  for (int i = 0; i < kTransitionsMax && zone.NextTransition(t, &change); ++i) {
    const absl::Time changed = zone.At(change.to).trans;
    if (is_it(changed)) return true;
    if (changed <= t) break;
    t = changed;
  }
  return false;
}

absl::Time time_of(int64_t utc) { return absl::FromUnixSeconds(floor_seconds(utc) + kUnixToEpochSeconds); }

// The zone that such an abbreviation belongs to.
bool load_abbreviated(std::string_view name, absl::TimeZone* zone) {
  const std::string_view full = zone_of_abbreviation(name);
  return !full.empty() && load(full, zone);
}

}  // namespace

ValueError zone_to_local(std::string_view name, int64_t utc, int64_t* local) noexcept {
  if (!is_finite_timestamp(utc))
    return *local = utc, zone_exists(name) ? ValueError::kNone : ValueError::kTimezoneUnknown;
  absl::TimeZone zone;
  if (int64_t east = 0; load_abbreviated(name, &zone)) {
    if (!east_of_abbreviation(name, zone, time_of(utc), &east)) east = zone.At(time_of(utc)).offset;
    return shift(utc, east, local);
  }
  if (DatetimeWord word = find_datetime_word(name); word.kind == WordKind::kZone)
    return shift(utc, zone_seconds(word), local);
  if (int64_t east = 0; !load(name, &zone))
    return read_posix(name, &east) ? shift(utc, east, local) : ValueError::kTimezoneUnknown;
  return shift(utc, zone.At(absl::FromUnixSeconds(floor_seconds(utc) + kUnixToEpochSeconds)).offset, local);
}

ValueError zone_to_utc(std::string_view name, int64_t local, int64_t* utc) noexcept {
  if (!is_finite_timestamp(local))
    return *utc = local, zone_exists(name) ? ValueError::kNone : ValueError::kTimezoneUnknown;
  absl::TimeZone zone;
  if (int64_t east = 0, about = 0; load_abbreviated(name, &zone)) {
    if (ValueError error = clock_to_utc(zone, local, &about); error != ValueError::kNone) return error;
    if (!east_of_abbreviation(name, zone, time_of(about), &east)) return *utc = about, ValueError::kNone;
    return shift(local, -east, utc);
  }
  if (DatetimeWord word = find_datetime_word(name); word.kind == WordKind::kZone)
    return shift(local, -zone_seconds(word), utc);
  if (int64_t east = 0; !load(name, &zone))
    return read_posix(name, &east) ? shift(local, -east, utc) : ValueError::kTimezoneUnknown;
  return clock_to_utc(zone, local, utc);
}

std::vector<KnownAbbreviation> known_abbreviations() {
  std::vector<KnownAbbreviation> known;
  const absl::Time now = absl::Now();
  for (const std::string_view word : zone_words()) {
    KnownAbbreviation& one = known.emplace_back();
    for (const char c : word) one.name += to_upper(c);
    one.east_seconds = zone_seconds(find_datetime_word(word));
    one.is_summer = is_summer_abbreviation(word);
    absl::TimeZone zone;
    if (!load_abbreviated(word, &zone)) continue;
    one.is_summer = false;
    if (!east_of_abbreviation(word, zone, now, &one.east_seconds)) one.east_seconds = zone.At(now).offset;
  }
  return known;
}

class SessionZone : public std::enable_shared_from_this<SessionZone> {
 public:
  std::string name;
  std::string mark;
  IntervalStyle style = IntervalStyle::kPostgres;
  DateStyle date_style;
  int float_digits = 1;
  bool escapes_bytes = false;
  std::string text_configuration = std::string(kDefaultTextConfiguration);
  bool is_constant = false;
  int64_t east = 0;  // of a constant one, in seconds
  absl::TimeZone zone;

  absl::TimeZone::CivilInfo at(int64_t utc) const {
    return zone.At(absl::FromUnixSeconds(floor_seconds(utc) + kUnixToEpochSeconds));
  }
};

namespace {

// The file's name as the database writes it, whatever its case.
std::string name_in_database(std::string_view name) {
  std::string found;
  while (!name.empty()) {
    const std::string part(name.substr(0, name.find('/')));
    name.remove_prefix(std::min(part.size() + 1, name.size()));
    DIR* directory = opendir((database_directory() + "/" + found).c_str());
    if (directory == nullptr) return "";
    std::string match;
    while (const dirent* entry = readdir(directory))
      if (strcasecmp(entry->d_name, part.c_str()) == 0) match = entry->d_name;
    closedir(directory);
    if (match.empty()) return "";
    found += (found.empty() ? "" : "/") + match;
  }
  return found;
}

// <+05:30>-05:30: so many seconds east.
std::string constant_name(int64_t east) {
  const int64_t seconds = std::abs(east);
  char text[32];
  int size = std::snprintf(text, sizeof(text), "%02d", static_cast<int>(seconds / 3600));
  if (seconds % 3600 != 0)
    size += std::snprintf(text + size, sizeof(text) - static_cast<size_t>(size), ":%02d",
                          static_cast<int>(seconds / 60 % 60));
  if (seconds % 60 != 0)
    std::snprintf(text + size, sizeof(text) - static_cast<size_t>(size), ":%02d", static_cast<int>(seconds % 60));
  const std::string digits = text;
  return east < 0 ? "<-" + digits + ">+" + digits : "<+" + digits + ">-" + digits;
}

constexpr int64_t kSecondsOfZoneMax = 168 * 3600;

}  // namespace

std::string session_zone_name(std::string_view value) {
  std::string text(value);
  if (const size_t quote = text.find('\''); quote != text.npos && strncasecmp(text.c_str(), "interval", 8) == 0) {
    const std::string_view inner = std::string_view(text).substr(quote + 1, text.rfind('\'') - quote - 1);
    Interval interval;
    if (text.rfind('\'') == quote || interval_parse(inner, kIntervalFull, &interval) != ValueError::kNone) return "";
    const int64_t seconds = interval.micros / kMicrosPerSecond;
    const bool is_zone = interval.months == 0 && interval.days == 0 && std::abs(seconds) < kSecondsOfZoneMax;
    return is_zone ? constant_name(seconds) : "";
  }
  char* end = nullptr;
  if (const double hours = std::strtod(text.c_str(), &end); end != text.c_str() && *end == '\0') {
    const double seconds = hours * 3600;
    if (!(std::abs(seconds) < static_cast<double>(kSecondsOfZoneMax))) return "";
    return constant_name(static_cast<int64_t>(seconds));
  }
  if (is_zone_name(value)) {
    absl::TimeZone zone;
    const std::string name = name_in_database(value);
    if (is_zone_name(name) && load_file(name, &zone)) return name;
  }
  if (!zone_is_constant(value)) return "";
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

namespace {
constexpr char kBeforeStyle = ';';  // no zone's name has one
constexpr std::string_view kEscape = "escape";
constexpr std::string_view kStyleNames[] = {"postgres", "postgres_verbose", "sql_standard", "iso_8601"};
}  // namespace

std::string make_zone_mark(MarkedSettings values) {
  auto& [zone, style, date_style, digits, bytes, configuration] = values;
  if (zone == "UTC") zone.clear();
  if (style == kStyleNames[0]) style.clear();
  if (date_style == date_style_name({})) date_style.clear();
  if (!digits.empty() && digits[0] != '-' && digits[0] != '0') digits.clear();
  if (bytes != kEscape) bytes.clear();
  if (configuration == kDefaultTextConfiguration) configuration.clear();
  std::string mark;
  for (size_t i = kMarkedSettingCount; i-- > 0;)
    if (i == 0 || !mark.empty() || !values[i].empty())
      mark.insert(0, (i == 0 ? "" : std::string(1, kBeforeStyle)) + values[i]);
  return mark;
}

namespace {
// The part of a mark before the next style.
std::string_view take_part(std::string_view* mark) {
  const size_t end = std::min(mark->find(kBeforeStyle), mark->size());
  const std::string_view part = mark->substr(0, end);
  mark->remove_prefix(std::min(end + 1, mark->size()));
  return part;
}
}  // namespace

MarkedSettings parts_of_zone_mark(std::string_view mark) {
  MarkedSettings parts;
  for (std::string& part : parts) part = take_part(&mark);
  return parts;
}

std::shared_ptr<const SessionZone> make_session_zone(std::string_view mark) {
  if (mark.empty() || mark == "UTC") return nullptr;
  auto zone = std::make_shared<SessionZone>();
  zone->mark = mark;
  std::string_view name = take_part(&mark);
  if (name.empty()) name = "UTC";
  zone->name = name;
  const std::string_view style = take_part(&mark);
  for (size_t i = 0; i < std::size(kStyleNames); ++i)
    if (kStyleNames[i] == style) zone->style = static_cast<IntervalStyle>(i);
  static_cast<void>(read_date_style(take_part(&mark), &zone->date_style));
  if (const std::string digits(take_part(&mark)); !digits.empty()) zone->float_digits = std::atoi(digits.c_str());
  zone->escapes_bytes = take_part(&mark) == kEscape;
  if (const std::string_view part = take_part(&mark); !part.empty()) zone->text_configuration = part;
  if (name == "UTC") {
    zone->is_constant = true;
    return zone;
  }
  if (!is_zone_name(name) || !load_file(zone->name, &zone->zone)) zone->is_constant = read_posix(name, &zone->east);
  return zone;
}

std::string_view session_zone_name() noexcept {
  return ZoneScope::current == nullptr ? "UTC" : std::string_view(ZoneScope::current->name);
}

std::string_view session_zone_mark() noexcept {
  return ZoneScope::current == nullptr ? std::string_view() : std::string_view(ZoneScope::current->mark);
}

IntervalStyle session_interval_style() noexcept {
  return ZoneScope::current == nullptr ? IntervalStyle::kPostgres : ZoneScope::current->style;
}

std::string_view session_interval_style_name() noexcept {
  return kStyleNames[static_cast<size_t>(session_interval_style())];
}

DateStyle session_date_style() noexcept {
  DateStyle style = ZoneScope::current == nullptr ? DateStyle() : ZoneScope::current->date_style;
  if (IsoDateScope::is_on) style.form = DateForm::kIso;
  if (DateOrderScope::current != nullptr) style.order = *DateOrderScope::current;
  return style;
}

int session_float_digits() noexcept { return ZoneScope::current == nullptr ? 1 : ZoneScope::current->float_digits; }

bool session_escapes_bytes() noexcept { return ZoneScope::current != nullptr && ZoneScope::current->escapes_bytes; }

std::string_view session_text_configuration() noexcept {
  return ZoneScope::current == nullptr ? kDefaultTextConfiguration : ZoneScope::current->text_configuration;
}

std::string session_date_style_name() { return date_style_name(session_date_style()); }

std::shared_ptr<const SessionZone> session_zone() noexcept {
  return ZoneScope::current == nullptr ? nullptr : ZoneScope::current->shared_from_this();
}

int64_t session_zone_east(int64_t utc) noexcept {
  const SessionZone* zone = ZoneScope::current;
  return zone == nullptr || !is_finite_timestamp(utc) ? 0 : zone->is_constant ? zone->east : zone->at(utc).offset;
}

std::string session_zone_abbreviation(int64_t utc) {
  const SessionZone* zone = ZoneScope::current;
  if (zone == nullptr) return "UTC";
  if (!zone->is_constant) return zone->at(utc).zone_abbr;
  if (zone->name[0] == '<') return zone->name.substr(1, zone->name.find('>') - 1);
  return zone->name.substr(0, zone->name.find_first_of("0123456789+-"));
}

ValueError session_clock_to_utc(int64_t local, int64_t* utc) noexcept {
  const SessionZone* zone = ZoneScope::current;
  if (zone == nullptr) return shift(local, 0, utc);
  if (zone->is_constant) return shift(local, -zone->east, utc);
  return clock_to_utc(zone->zone, local, utc);
}

ValueError timestamptz_add(int64_t timestamp, const Interval& interval, int64_t* out) noexcept {
  if (ZoneScope::current == nullptr || (interval.months == 0 && interval.days == 0) || !is_finite_timestamp(timestamp))
    return timestamp_add(timestamp, interval, out);
  for (const Interval& part : {Interval{0, 0, interval.months}, Interval{0, interval.days, 0}}) {
    if (part.months == 0 && part.days == 0) continue;
    int64_t local = session_clock(timestamp);
    if (ValueError error = timestamp_add(local, part, &local); error != ValueError::kNone) return error;
    if (ValueError error = session_clock_to_utc(local, &timestamp); error != ValueError::kNone) return error;
  }
  return timestamp_add(timestamp, {interval.micros, 0, 0}, out);
}

}  // namespace scyper::query
