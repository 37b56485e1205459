#include "query/session_activity.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "base/ignoring_case.h"
#include "base/whole_characters.h"
#include "bind/system_types.h"
#include "query/role.h"

namespace scyper::query {

namespace {

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
                     catalog.database.name,
                     session.pid,
                     {},  // leader_pid
                     role == nullptr ? SystemValue() : SystemValue(int64_t{role->id}),
                     known_text(session.user),
                     session.application};
    if (sees_all || is_own) {
      const bool is_idle = session.state != "active";
      const std::string wait_type = is_idle ? "Client" : session.wait_type;
      const std::string wait_event = is_idle ? "ClientRead" : session.wait_event;
      for (SystemValue value :
           {known_text(session.address), SystemValue(), SystemValue(), time_or_null(session.begun_us),
            time_or_null(session.transaction_us), time_or_null(session.statement_us), time_or_null(session.changed_us),
            known_text(wait_type), known_text(wait_event), SystemValue(session.state), SystemValue(), SystemValue(),
            SystemValue(), SystemValue(std::string(beginning_of(session.text, SessionActivity::kColumnBytesMax))),
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

// Nothing where no activity is known: in transactions on workers, views and routines.
std::vector<SystemRow> session_locks(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  if (ActivityScope::current() == nullptr) return rows;
  for (const SessionLock& lock : ActivityScope::current()->locks()) {
    using Kind = SessionLock::Kind;
    SystemValue relation, transaction, class_id, object, sub_object;
    if (lock.kind == Kind::kRelation) {
      const auto table = catalog.find_table(TableId(static_cast<uint32_t>(lock.number)));
      if (table != nullptr) relation = table_oid(table->schema());
    } else if (lock.kind == Kind::kTransaction) {
      transaction = std::to_string(lock.number);
    } else {
      class_id = static_cast<int64_t>(lock.number >> 32);
      object = static_cast<int64_t>(lock.number & 0xffffffff);
      sub_object = int64_t{lock.is_pair ? 2 : 1};
    }
    const std::string_view kind = lock.kind == Kind::kRelation      ? "relation"
                                  : lock.kind == Kind::kTransaction ? "transactionid"
                                                                    : "advisory";
    SystemRow row = {std::string(kind), lock.kind == Kind::kTransaction ? SystemValue() : SystemValue(kDatabaseOid)};
    for (SystemValue value :
         {relation, SystemValue(), SystemValue(), SystemValue(), transaction, class_id, object, sub_object,
          SystemValue(), lock.pid == 0 ? SystemValue() : SystemValue(int64_t{lock.pid}), SystemValue(lock.mode),
          SystemValue(lock.is_granted), SystemValue(false), time_or_null(lock.since_us)})
      row.push_back(std::move(value));
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
           session_activity},
          {"pg_catalog", "pg_locks",
           columns_of("locktype database:int8 relation:int8 page:int4 tuple:int2 virtualxid transactionid classid:int8 "
                      "objid:int8 objsubid:int2 virtualtransaction pid:int4 mode granted:bool fastpath:bool "
                      "waitstart:timestamptz"),
           session_locks}};
}

bool waits_in_circle(const std::vector<SessionLock>& locks, int32_t pid) {
  std::set<int32_t> seen;
  std::vector<int32_t> open{pid};
  while (!open.empty()) {
    const int32_t waiter = open.back();
    open.pop_back();
    for (const SessionLock& lock : locks) {
      if (lock.is_granted || lock.pid != waiter || waiter == 0) continue;
      for (const int32_t holder : lock.blocked_by) {
        if (holder == pid) return true;
        if (seen.insert(holder).second) open.push_back(holder);
      }
    }
  }
  return false;
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

namespace {

// A name, cut at its first underscore.
struct Name {
  std::string_view before;
  std::string_view after;
};
// Also tables of what is counted: a statement that reads them is compiled each time it runs.
constexpr Name kActivityNames[] = {{"pg", "stat_activity"},    {"pg", "locks"},           {"pg", "blocking_pids"},
                                   {"pg", "stat_user_tables"}, {"pg", "stat_all_tables"}, {"pg", "stats"}};
constexpr Name kFunctionNames[] = {{"pg", "advisory_"},         {"pg", "try_advisory_"}, {"pg", "cancel_backend"},
                                   {"pg", "terminate_backend"}, {"pg", "backend_pid"},   {"set", "config"},
                                   {"current", "setting"}};

bool mentions_any(std::string_view sql, std::span<const Name> names) {
  for (size_t at = sql.find('_'); at != std::string_view::npos; at = sql.find('_', at + 1)) {
    for (const Name& name : names) {
      if (at < name.before.size()) continue;
      if (starts_with_ignoring_case(sql.substr(at - name.before.size()), name.before) &&
          starts_with_ignoring_case(sql.substr(at + 1), name.after))
        return true;
    }
  }
  return false;
}

}  // namespace

bool mentions_activity(std::string_view sql) { return mentions_any(sql, kActivityNames); }

bool mentions_session_function(std::string_view sql) { return mentions_any(sql, kFunctionNames); }

bool is_session_function(std::string_view name) { return mentions_session_function(name); }

bool is_advisory_lock(std::string_view name) {
  return name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_");
}

}  // namespace scyper::query
