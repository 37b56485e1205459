#include <atomic>
#include <charconv>
#include <chrono>

#include "compile/program_parts.h"
#include "query/definitions.h"
#include "query/role.h"
#include "query/search_path.h"
#include "query/session_activity.h"
#include "query/settings.h"
#include "query/transaction_number.h"
#include "runtime/drawn_function.h"
#include "runtime/function_body.h"

// What kits ask about transactions and sessions.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_sequence.cc).
extern const ir::External k_fn_txid_current;
extern const ir::External k_fn_pg_notify;
extern const ir::External k_fn_pg_backend_pid;
extern const ir::External k_fn_pg_trigger_depth;
extern const ir::External k_fn_pg_cancel_backend;
extern const ir::External k_fn_pg_terminate_backend;

int64_t TransactionNumber::current() {
  // Numbers go on where those of an earlier process may have ended: it cannot have drawn one a microsecond.
  static std::atomic<int64_t> last{
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
  if (number_ == 0) number_ = last.fetch_add(1) + 1;
  return number_;
}

namespace {

// Of the session; 0: none of this node.
int32_t session_number() {
  const StatementSettings* settings = StatementSettings::current;
  const std::string* schema = settings == nullptr ? nullptr : settings->find(std::string(kTemporarySchemaSetting));
  int32_t number = 0;
  if (schema != nullptr) {
    const size_t digits = schema->rfind('_') + 1;
    std::from_chars(schema->data() + digits, schema->data() + schema->size(), number);
  }
  return number;
}

int32_t signal(ExecContext* c, const Datum* args, SessionSignal signal, Datum* out) {
  const int32_t from = session_number();
  if (from == 0) return c->fail("0A000", "sessions of other nodes cannot be signalled");
  const int32_t pid = int4(args[0]);
  const std::string asker(text_of(args[1]));  // the binder adds it: whose rights count
  const SessionRoles roles{asker, asker};
  const RoleScope scope(&roles);
  const StatusOr<bool> is_sent = SessionSignals::send(from, pid, signal);
  if (!is_sent.ok()) return c->fail(is_sent.status());
  if (!*is_sent && c->notices != nullptr) {
    c->notices->push_back("WARNING:  PID " + std::to_string(pid) + " is not a PostgreSQL backend process");
  }
  return give_bool(out, *is_sent);
}

extern "C" {

SCYPER_FUNCTION(txid_current) { return give(out, TransactionNumber::current()); }

// Nobody can LISTEN, so a notification does what it does where nobody listens: its parts are checked.
SCYPER_FUNCTION(pg_notify) {
  constexpr size_t kChannelBytesMax = 63, kPayloadBytesMax = 7999;  // PostgreSQL's
  const std::string_view channel = args[0].null ? std::string_view() : text_of(args[0]);
  if (channel.empty()) return c->fail("22023", "channel name cannot be empty");
  if (channel.size() > kChannelBytesMax) return c->fail("22023", "channel name too long");
  if (!args[1].null && text_of(args[1]).size() > kPayloadBytesMax) return c->fail("22023", "payload string too long");
  return give(out, std::string_view());
}

SCYPER_FUNCTION(pg_backend_pid) { return give(out, session_number()); }

// Of the triggers that run around the call.
SCYPER_FUNCTION(pg_trigger_depth) {
  int64_t depth = 0;
  for (const RunningProgram* running = RunningProgram::innermost(); running != nullptr; running = running->caller())
    depth += running->program().parts().trigger_depth;
  return give(out, depth);
}

SCYPER_FUNCTION(pg_cancel_backend) { return signal(c, args, SessionSignal::kCancel, out); }
SCYPER_FUNCTION(pg_terminate_backend) { return signal(c, args, SessionSignal::kTerminate, out); }

}  // extern "C"

}  // namespace

SCYPER_DEFINE_FUNCTION(txid_current)
SCYPER_DEFINE_FUNCTION(pg_notify)
SCYPER_DEFINE_FUNCTION(pg_backend_pid)
SCYPER_DEFINE_FUNCTION(pg_trigger_depth)
SCYPER_DEFINE_DRAWN_FUNCTION(pg_cancel_backend, kBool, 1)
SCYPER_DEFINE_DRAWN_FUNCTION(pg_terminate_backend, kBool, 1)

}  // namespace scyper::query
