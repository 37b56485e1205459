#include "query/session_activity.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/whole_characters.h"
#include "bind/system_types.h"
#include "query/role.h"

namespace scyper::query {

namespace {

constexpr int64_t kDatabaseOid = 5;  // pg_database's

// Of this process; never destroyed.
struct Senders {
  std::mutex mutex;
  std::map<uint64_t, SessionSignals::Send> by_number;  // under it
  uint64_t last = 0;
};
Senders& senders() {
  static auto* all = new Senders;
  return *all;
}

uint64_t add_sender(SessionSignals::Send send) {
  const std::lock_guard<std::mutex> lock(senders().mutex);
  senders().by_number.emplace(++senders().last, std::move(send));
  return senders().last;
}

SystemValue time_or_null(int64_t time_us) { return time_us == 0 ? SystemValue() : SystemValue(time_us); }
SystemValue known_text(const std::string& text) { return text.empty() ? SystemValue() : SystemValue(text); }

// What other roles do, superusers and members of scyper_operator see; of the others' sessions all that there are.
std::vector<SystemRow> session_activity(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  if (ActivityScope::current() == nullptr) return rows;
  const Role* asker = current_role(catalog.roles);
  const bool sees_all = asker != nullptr && sees_others(catalog.roles, *asker);
  for (const SessionActivity& session : ActivityScope::current()->sessions()) {
    const Role* role = session.role_id != 0 ? catalog.roles.find(session.role_id) : catalog.roles.find(session.user);
    const bool is_own = asker != nullptr && role != nullptr && catalog.roles.has_rights_of(*asker, role->id);
    SystemRow row = {kDatabaseOid,
                     "scyper",
                     session.pid,
                     {},  // leader_pid
                     role == nullptr ? SystemValue() : SystemValue(int64_t{role->id}),
                     known_text(session.user),
                     session.application};
    if (sees_all || is_own) {
      const bool is_waiting = session.state != "active";
      for (SystemValue value :
           {known_text(session.address), SystemValue(), SystemValue(), time_or_null(session.begun_us),
            time_or_null(session.transaction_us), time_or_null(session.statement_us), time_or_null(session.changed_us),
            is_waiting ? SystemValue("Client") : SystemValue(), is_waiting ? SystemValue("ClientRead") : SystemValue(),
            SystemValue(session.state), SystemValue(), SystemValue(), SystemValue(),
            SystemValue(std::string(beginning_of(session.text, SessionActivity::kColumnBytesMax))),
            SystemValue("client backend")})
        row.push_back(std::move(value));
    } else {
      constexpr size_t kHidden = 13;  // client_addr to query_id
      row.resize(row.size() + kHidden);
      row.emplace_back("<insufficient privilege>");
      row.emplace_back();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<SystemTable> session_tables() {
  return {{"pg_catalog", "pg_stat_activity",
           columns_of("datid:int8 datname pid:int4 leader_pid:int4 usesysid:int8 usename application_name client_addr "
                      "client_hostname client_port:int4 backend_start:timestamptz xact_start:timestamptz "
                      "query_start:timestamptz state_change:timestamptz wait_event_type wait_event state "
                      "backend_xid:int8 backend_xmin:int8 query_id:int8 query backend_type"),
           session_activity}};
}

bool is_live(const SystemTable& table) { return table.rows == session_activity; }

SessionSignals::Registration::Registration(Send send) : number_(add_sender(std::move(send))) {}
SessionSignals::Registration::~Registration() {
  const std::lock_guard<std::mutex> lock(senders().mutex);
  senders().by_number.erase(number_);
}

StatusOr<bool> SessionSignals::send(int32_t from, int32_t pid, SessionSignal signal) {
  const std::lock_guard<std::mutex> lock(senders().mutex);
  for (const auto& [number, send] : senders().by_number) {
    StatusOr<bool> is_sent = send(from, pid, signal);
    if (!is_sent.ok() || *is_sent) return is_sent;
  }
  return false;
}

bool sees_others(const Roles& roles, const Role& role) {
  const Role* operators = roles.find(kOperatorRole);
  return role.is_superuser || (operators != nullptr && roles.has_rights_of(role, operators->id));
}

bool mentions_activity(std::string_view sql) {
  constexpr std::string_view kName = "pg_stat_activity";
  return std::search(sql.begin(), sql.end(), kName.begin(), kName.end(), [](char a, char b) {
           return absl::ascii_tolower(static_cast<unsigned char>(a)) == b;
         }) != sql.end();
}

}  // namespace scyper::query
