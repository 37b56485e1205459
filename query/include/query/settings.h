#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

// What SET, SHOW, set_config() and current_setting() know. Those that would change what statements mean take the one
// value that holds here; those of clients take any; names with a dot are the users' own.
namespace scyper::query {

enum class SettingKind : uint8_t {
  kText,      // anything: means nothing here
  kChoice,    // of a list; in lower case
  kConstant,  // cannot be set at all
  kDuration,  // milliseconds unless a unit is given
  kNumber,
  kSwitch,
  kPath,  // search_path
  kZone,  // TimeZone
  kDateStyle,
  kEncoding,     // of a client's texts
  kSessionRole,  // SET SESSION AUTHORIZATION, as the next
  kRole,         // whether the session may take it on is its own to say
  kFreshness,
  kTextConfiguration,  // default_text_search_config
};

struct Setting {
  std::string_view name;  // as messages write it
  SettingKind kind;
  std::string_view value;    // of a new session
  std::string_view choices;  // separated by |, the accepted values; kNumber: the largest
  bool is_reported = false;
};

std::span<const Setting> settings();
const Setting* find_setting(std::string_view name);  // in any case; nullptr: none
bool is_custom_setting(std::string_view name);       // app.user
// Whether there may be a setting of that name, which find_setting() does not know: 42704, 42602.
Status check_custom_setting(std::string_view name);
Status takes_one_value(std::string_view name);  // 22023
// The value as SHOW has it. 22023 not a value of it, 55P02 not to be set, 0A000 not supported. Of durations and
// freshness the session says more.
StatusOr<std::string> read_setting(const Setting& setting, const std::string& value);

// Values by name in lower case: those that a session has given.
using SettingValues = std::map<std::string, std::string, std::less<>>;
std::string setting_key(std::string_view name);
constexpr std::string_view kDefaultTimeZone = "UTC";
// Whether the value of a setting decides what texts of dates, times, intervals and floats mean and look like.
bool is_of_time(const Setting& setting);
// Those settings in one, as texts of statements begin with them (query/search_path.h). Empty: as in a new session.
std::string time_mark(const std::function<std::string(std::string_view name)>& value_of);
// All of them with their values in a mark, by name; an empty value: as in a new session.
std::vector<std::pair<std::string, std::string>> time_settings_of(std::string_view mark);
// Texts of dates, times and intervals that this thread reads and writes outside of programs are as the mark says from
// here on.
void set_thread_time_zone(std::string_view mark);

// What set_config() has changed, for the rest of the session or of the transaction.
struct ChangedSetting {
  std::string name;  // setting_key()
  std::string value;
  bool is_local = false;  // until the end of the transaction
};

// The number of the session whose settings these are, or whose temporary schema this is; 0: none of this node's.
int32_t session_number_of(const SettingValues* settings);
int32_t number_of_temporary_schema(std::string_view schema);
// Among the settings of a transaction that another node passes on: its number here.
constexpr std::string_view kSessionNumberSetting = "number of the session";

// The settings of the statement that a thread runs: those of its session, and what set_config() has changed. Threads:
// the one that runs it.
class StatementSettings {
 public:
  struct Changed {
    std::string key;  // setting_key()
    std::string value;
    bool is_local = false;      // until the end of the transaction
    bool is_committed = false;  // by COMMIT in a procedure
  };
  // While it lives, `settings` are those of this thread's statement.
  class Scope {
   public:
    explicit Scope(StatementSettings* settings) noexcept : saved_(current) { current = settings; }
    ~Scope() { current = saved_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StatementSettings* const saved_;
  };

  void begin(const SettingValues* given) {
    given_ = given;
    if (!changed_.empty()) changed_.clear();
  }
  bool has_session() const { return given_ != nullptr; }
  const std::string* find(const std::string& key) const;  // null: as in a new session
  void change(std::string key, std::string value, bool is_local);
  void end_transaction(bool commit);
  // What outlives the statement, in order.
  void give_changed(std::vector<ChangedSetting>* to) const;
  const SettingValues* given() const { return given_; }

  static inline constinit thread_local StatementSettings* current = nullptr;  // null: outside of sessions

 private:
  const SettingValues* given_ = nullptr;
  std::vector<Changed> changed_;  // in order: the last one counts
};

// Does a client that asked for messages from this level on (client_min_messages) get one of this severity?
bool shows_message(std::string_view level, std::string_view severity);

}  // namespace scyper::query
