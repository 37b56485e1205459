#include "activity_list.h"

#include <utility>

#include "base/clock.h"
#include "base/postgres_epoch.h"
#include "base/whole_characters.h"
#include "query/catalog.h"

namespace scyper::server {

namespace {

// PostgreSQL's texts.
Status signal_denied(ActivityList::Signal signal, bool is_superusers) {
  const bool is_cancel = signal == ActivityList::Signal::kCancel;
  if (is_superusers) {
    return sql_error("42501", is_cancel ? "must be a superuser to cancel superuser query"
                                        : "must be a superuser to terminate superuser process");
  }
  return sql_error("42501", is_cancel ? "must be a member of the role whose query is being canceled or member of "
                                        "pg_signal_backend"
                                      : "must be a member of the role whose process is being terminated or member of "
                                        "pg_signal_backend");
}

}  // namespace

int64_t ActivityList::now_us() { return RealClock().now_us() - kPostgresEpochUs; }

ActivityList::ActivityList(CurrentCatalog catalog)
    : catalog_(std::move(catalog)),
      registration_([this](int32_t from, int32_t pid, Signal signal) { return send(from, pid, signal); }) {}
ActivityList::~ActivityList() = default;

int32_t ActivityList::new_number() {
  static std::atomic<uint32_t> last{0};
  constexpr uint32_t kFirst = 2, kNumbers = INT32_MAX - kFirst;
  return static_cast<int32_t>(last.fetch_add(1, std::memory_order_relaxed) % kNumbers + kFirst);
}

int32_t ActivityList::new_statement_number() {
  static std::atomic<uint32_t> last{0};
  constexpr uint32_t kNumbers = INT32_MAX;
  return -static_cast<int32_t>(last.fetch_add(1, std::memory_order_relaxed) % kNumbers) - 1;
}

ActivityList::Session::Session(ActivityList* list, query::SessionActivity first, Handler handler)
    : list_(list), handler_(std::move(handler)), now_(std::move(first)) {
  now_.begun_us = now_.changed_us = now_us();
  absl::MutexLock lock(&list_->mutex_);
  list_->sessions_.emplace(now_.pid, this);
}

ActivityList::Session::~Session() {
  absl::MutexLock lock(&list_->mutex_);
  absl::MutexLock own(&mutex_);
  const auto found = list_->sessions_.find(now_.pid);
  if (found != list_->sessions_.end() && found->second == this) list_->sessions_.erase(found);
}

void ActivityList::Session::begin(std::string_view sql) {
  const int64_t time_us = now_us();
  absl::MutexLock lock(&mutex_);
  now_.text = beginning_of(sql, query::SessionActivity::kTextBytesMax);
  now_.state = "active";
  now_.statement_us = now_.changed_us = time_us;
  if (now_.transaction_us == 0) now_.transaction_us = time_us;
}

void ActivityList::Session::end(std::string_view state, bool in_block) {
  absl::MutexLock lock(&mutex_);
  now_.state = state;
  now_.changed_us = now_us();
  if (!in_block) now_.transaction_us = 0;
}

void ActivityList::Session::set_application(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  now_.application = name;
}

std::vector<query::SessionActivity> ActivityList::sessions() const {
  std::vector<query::SessionActivity> all;
  absl::MutexLock lock(&mutex_);
  for (const auto& [pid, session] : sessions_) {
    absl::MutexLock own(&session->mutex_);
    all.push_back(session->now_);
  }
  return all;
}

query::NodeActivity ActivityList::now(std::vector<query::SessionLock> locks) const {
  using Kind = query::SessionLock::Kind;
  query::NodeActivity activity{sessions(), std::move(locks)};
  for (const query::SessionLock& lock : activity.locks) {
    if (lock.is_granted || lock.pid == 0) continue;
    for (query::SessionActivity& session : activity.sessions) {
      if (session.pid != lock.pid) continue;
      session.wait_type = "Lock";
      session.wait_event = lock.kind == Kind::kAdvisory   ? "advisory"
                           : lock.kind == Kind::kRelation ? "relation"
                                                          : "transactionid";
    }
  }
  return activity;
}

// Roles and memberships are those of now, not of when the sessions began. Asks for the thread's current_user.
Status ActivityList::check_signal(const query::SessionActivity& asked, Signal signal) const {
  const auto catalog = catalog_ ? catalog_() : nullptr;
  if (catalog == nullptr) return Status();
  const query::Roles& roles = catalog->roles;
  const query::Role* asker = query::current_role(roles);
  if (asker == nullptr) return signal_denied(signal, /*is_superusers=*/false);
  if (asker->is_superuser) return Status();
  // a session without a role is one where nobody is asked: a superuser's
  const query::Role* target = asked.role_id == 0 ? nullptr : roles.find(asked.role_id);
  const bool is_superusers = asked.role_id == 0 || (target != nullptr && target->is_superuser);
  if (is_superusers) return signal_denied(signal, /*is_superusers=*/true);
  const bool may_signal = roles.has_rights_of(*asker, asked.role_id) || query::sees_others(roles, *asker);
  return may_signal ? Status() : signal_denied(signal, /*is_superusers=*/false);
}

StatusOr<bool> ActivityList::send(int32_t from, int32_t pid, Signal signal) {
  absl::MutexLock lock(&mutex_);
  const auto asking = sessions_.find(from), asked = sessions_.find(pid);
  if (asking == sessions_.end() || asked == sessions_.end()) return false;
  {
    absl::MutexLock own(&asked->second->mutex_);
    SCYPER_RETURN_IF_ERROR(check_signal(asked->second->now_, signal));
  }
  asked->second->handler_(signal);
  return true;
}

}  // namespace scyper::server
