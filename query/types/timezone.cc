#include "types/timezone.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>

#include "absl/time/time.h"
#include "types/datetime.h"
#include "types/datetime_words.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr int64_t kUnixToEpochSeconds = 946684800;  // 2000-01-01
constexpr size_t kNameMax = 64;

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

// absl keeps every name that it was ever asked for, also those that mean nothing: it is asked for files that exist.
bool load_file(const std::string& name, absl::TimeZone* zone) noexcept {
  const char* directory = std::getenv("TZDIR");
  const std::string path = std::string(directory != nullptr ? directory : "/usr/share/zoneinfo") + "/" + name;
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

// A POSIX name with a constant displacement, which counts west: UTC+3, x-05:30, +03.
bool read_posix(std::string_view name, int64_t* east) noexcept {
  size_t at = 0;
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
  if (__builtin_add_overflow(time, seconds * kMicrosPerSecond, out)) return ValueError::kTimestampRange;
  return *out < kTimestampMin || *out > kTimestampMax ? ValueError::kTimestampRange : ValueError::kNone;
}

int64_t floor_seconds(int64_t time) noexcept {
  int64_t seconds = time / kMicrosPerSecond;
  return time % kMicrosPerSecond < 0 ? seconds - 1 : seconds;
}

}  // namespace

bool zone_exists(std::string_view name) noexcept {
  absl::TimeZone zone;
  return find_datetime_word(name).kind == WordKind::kZone || load(name, &zone) || zone_is_constant(name);
}

bool zone_is_constant(std::string_view name) noexcept {
  int64_t east = 0;
  return read_posix(name, &east);
}

ValueError zone_to_local(std::string_view name, int64_t utc, int64_t* local) noexcept {
  if (DatetimeWord word = find_datetime_word(name); word.kind == WordKind::kZone)
    return shift(utc, zone_seconds(word), local);
  absl::TimeZone zone;
  if (int64_t east = 0; !load(name, &zone))
    return read_posix(name, &east) ? shift(utc, east, local) : ValueError::kTimezoneUnknown;
  return shift(utc, zone.At(absl::FromUnixSeconds(floor_seconds(utc) + kUnixToEpochSeconds)).offset, local);
}

ValueError zone_to_utc(std::string_view name, int64_t local, int64_t* utc) noexcept {
  if (DatetimeWord word = find_datetime_word(name); word.kind == WordKind::kZone)
    return shift(local, -zone_seconds(word), utc);
  absl::TimeZone zone;
  if (int64_t east = 0; !load(name, &zone))
    return read_posix(name, &east) ? shift(local, -east, utc) : ValueError::kTimezoneUnknown;
  int64_t seconds = floor_seconds(local);
  absl::TimeZone::TimeInfo info = zone.At(absl::CivilSecond(2000, 1, 1) + seconds);
  absl::Time at = info.kind == absl::TimeZone::TimeInfo::REPEATED ? info.post : info.pre;
  return shift(local, absl::ToUnixSeconds(at) - kUnixToEpochSeconds - seconds, utc);
}

}  // namespace scyper::query
