#include "compile/compiler.h"
#include "compile/program_parts.h"
#include "compile/temporary.h"
#include "query/advisory_locks.h"
#include "query/deferred_checks.h"
#include "query/session_run.h"
#include "runtime/drawn_function.h"
#include "runtime/function_body.h"

// Advisory locks. A statement that only takes or releases them runs on the thread of its session
// (query/session_run.h). Others that call these functions run beside no other transaction.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_sequence.cc).
extern const ir::External k_fn_advisory_lock;
extern const ir::External k_fn_advisory_lock_shared;
extern const ir::External k_fn_try_advisory_lock;
extern const ir::External k_fn_try_advisory_lock_shared;
extern const ir::External k_fn_session_lock;
extern const ir::External k_fn_session_lock_shared;
extern const ir::External k_fn_try_session_lock;
extern const ir::External k_fn_try_session_lock_shared;
extern const ir::External k_fn_session_unlock;
extern const ir::External k_fn_session_unlock_shared;
extern const ir::External k_fn_session_unlock_all;
extern const ir::External k_fn_note_lock;

namespace {

using Request = AdvisoryLocks::Request;
using Taken = AdvisoryLocks::Taken;

AdvisoryLocks::Key lock_key(const Datum* args, int64_t count) {
  if (count == 1) return {false, args[0].lo};
  return {true, static_cast<int64_t>(static_cast<uint64_t>(args[0].lo) << 32 | static_cast<uint32_t>(args[1].lo))};
}

int32_t fail_held(ExecContext* c) {
  const int32_t outcome = c->fail("55P03", "could not obtain an advisory lock: another session holds it");
  c->error.hint =
      "A statement that touches tables or calls routines does not wait for advisory locks in a transaction block. Take "
      "the lock by a SELECT of its own before, or try again.";
  return outcome;
}

// On its session's own thread a statement waits. On a worker it must not.
int32_t take_lock(ExecContext* c, const Request& request, bool tries, Datum* out) {
  AdvisoryLocks* locks = c->program->parts().compiler->locks();
  const auto give_taken = [&] {
    if (request.is_of_transaction && c->deferred != nullptr) c->deferred->count_lock();
    return tries ? give_bool(out, true) : give(out, std::string_view());
  };
  switch (locks->take(request)) {
    case Taken::kYes:
      return give_taken();
    case Taken::kTooMany:
      return c->fail("53200", "too many advisory locks");
    case Taken::kHeld:
      break;
  }
  if (tries) return give_bool(out, false);
  SessionRun* run = SessionRun::current();
  if (run == nullptr) return locks->note_missed(request), fail_held(c);
  const Status status = run->wait([&] { return locks->wait(request, [run] { return run->interruption(); }); });
  return status.ok() ? give_taken() : c->fail(status, /*catchable=*/false);
}

int32_t lock_transaction(ExecContext* c, const Datum* args, int64_t count, bool is_shared, bool tries, Datum* out) {
  if (c->deferred != nullptr) c->deferred->note_lock();
  return take_lock(c, {lock_key(args, count), session_temporary_schema(), is_shared, /*is_of_transaction=*/true}, tries,
                   out);
}

int32_t lock_session(ExecContext* c, const Datum* args, int64_t count, bool is_shared, bool tries, Datum* out) {
  std::string session = session_temporary_schema();
  if (session.empty()) return c->fail("0A000", "advisory locks of a session are not supported without a session");
  return take_lock(c, {lock_key(args, count), std::move(session), is_shared, /*is_of_transaction=*/false}, tries, out);
}

int32_t unlock_session(ExecContext* c, const Datum* args, int64_t count, bool is_shared, Datum* out) {
  const bool held =
      c->program->parts().compiler->locks()->release(lock_key(args, count), session_temporary_schema(), is_shared);
  if (!held && c->notices != nullptr)
    c->notices->push_back(is_shared ? "WARNING:  you don't own a lock of type ShareLock"
                                    : "WARNING:  you don't own a lock of type ExclusiveLock");
  return give_bool(out, held);
}

extern "C" {

SCYPER_FUNCTION(advisory_lock) { return lock_transaction(c, args, count, false, false, out); }
SCYPER_FUNCTION(advisory_lock_shared) { return lock_transaction(c, args, count, true, false, out); }
SCYPER_FUNCTION(try_advisory_lock) { return lock_transaction(c, args, count, false, true, out); }
SCYPER_FUNCTION(try_advisory_lock_shared) { return lock_transaction(c, args, count, true, true, out); }
SCYPER_FUNCTION(session_lock) { return lock_session(c, args, count, false, false, out); }
SCYPER_FUNCTION(session_lock_shared) { return lock_session(c, args, count, true, false, out); }
SCYPER_FUNCTION(try_session_lock) { return lock_session(c, args, count, false, true, out); }
SCYPER_FUNCTION(try_session_lock_shared) { return lock_session(c, args, count, true, true, out); }
SCYPER_FUNCTION(session_unlock) { return unlock_session(c, args, count, false, out); }
SCYPER_FUNCTION(session_unlock_shared) { return unlock_session(c, args, count, true, out); }
// LOCK TABLE: the transaction runs alone until its end.
SCYPER_FUNCTION(note_lock) {
  if (c->deferred != nullptr) c->deferred->note_lock();
  return give(out, std::string_view());
}
SCYPER_FUNCTION(session_unlock_all) {
  c->program->parts().compiler->locks()->release_all(session_temporary_schema());
  return give(out, std::string_view());
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_FUNCTION(note_lock)
SCYPER_DEFINE_FUNCTION(advisory_lock)
SCYPER_DEFINE_FUNCTION(advisory_lock_shared)
SCYPER_DEFINE_FUNCTION(try_advisory_lock)
SCYPER_DEFINE_FUNCTION(try_advisory_lock_shared)
SCYPER_DEFINE_DRAWN_FUNCTION(session_lock, kText, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(session_lock_shared, kText, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(try_session_lock, kBool, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(try_session_lock_shared, kBool, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(session_unlock, kBool, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(session_unlock_shared, kBool, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(session_unlock_all, kText, kNoText)

}  // namespace scyper::query
