#include "compile/advisory_locks.h"
#include "compile/compiler.h"
#include "compile/program_parts.h"
#include "compile/temporary.h"
#include "query/deferred_checks.h"
#include "runtime/drawn_function.h"
#include "runtime/function_body.h"

// Advisory locks. Those of a transaction are free unless a session holds them: what asks for one runs beside no other
// transaction.
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

namespace {

AdvisoryLocks::Key lock_key(const Datum* args, int64_t count) {
  if (count == 1) return {false, args[0].lo};
  return {true, static_cast<int64_t>(static_cast<uint64_t>(args[0].lo) << 32 | static_cast<uint32_t>(args[1].lo))};
}

int32_t fail_held(ExecContext* c) {
  const int32_t outcome = c->fail("55P03", "could not obtain an advisory lock: another session holds it");
  c->error.hint = "Nothing waits for advisory locks here. Try again, or use pg_try_advisory_lock().";
  return outcome;
}

int32_t lock_transaction(ExecContext* c, const Datum* args, int64_t count, bool is_shared, bool tries, Datum* out) {
  const bool is_free =
      c->program->parts().compiler->locks()->is_free(lock_key(args, count), session_temporary_schema(), is_shared);
  if (is_free && c->deferred != nullptr) c->deferred->note_lock();
  if (tries) return give_bool(out, is_free);
  return is_free ? give(out, std::string_view()) : fail_held(c);
}

int32_t lock_session(ExecContext* c, const Datum* args, int64_t count, bool is_shared, bool tries, Datum* out) {
  const std::string session = session_temporary_schema();
  if (session.empty()) return c->fail("0A000", "advisory locks of a session are not supported without a session");
  switch (c->program->parts().compiler->locks()->take(lock_key(args, count), session, is_shared)) {
    case AdvisoryLocks::Taken::kYes:
      return tries ? give_bool(out, true) : give(out, std::string_view());
    case AdvisoryLocks::Taken::kHeld:
      return tries ? give_bool(out, false) : fail_held(c);
    case AdvisoryLocks::Taken::kTooMany:
      break;
  }
  return c->fail("53200", "too many advisory locks");
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
SCYPER_FUNCTION(session_unlock_all) {
  c->program->parts().compiler->locks()->release_all(session_temporary_schema());
  return give(out, std::string_view());
}

}  // extern "C"

}  // namespace

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
