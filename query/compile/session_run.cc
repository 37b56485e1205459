#include "query/session_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/clock.h"
#include "compile/compiler.h"
#include "compile/program_parts.h"
#include "compile/temporary.h"
#include "query/advisory_locks.h"
#include "query/deferred_checks.h"
#include "query/error_status.h"
#include "query/setting_values.h"

namespace scyper::query {

namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kLookForCircleNs = 1000 * kNsPerMs;  // PostgreSQL's deadlock_timeout
constexpr int64_t kLookNs = kNsPerMs;                  // between two looks at whether the run has to end

// Asked at each poll of generated code.
struct Watch {
  ExecContext* context;
  SessionRun* run;
  int64_t looked_ns = 0;
  Status why;

  static void pass(void* self) {
    auto* watch = static_cast<Watch*>(self);
    const int64_t now_ns = RealClock().monotonic_ns();
    if (now_ns - watch->looked_ns >= kLookNs) {
      watch->looked_ns = now_ns;
      watch->why = watch->run->interruption();
    }
    const Interrupt why = watch->why.ok() ? Interrupt::kNone : Interrupt::kCancel;
    watch->context->interrupt = kSafepointBit | static_cast<uint32_t>(why);
  }
};

}  // namespace

bool SessionRun::fits(const Program& program) { return program.parts().is_of_session; }
bool SessionRun::takes_locks(const Program& program) { return program.parts().takes_locks; }

Status SessionRun::interruption() {
  if (options_.interruption) SCYPER_RETURN_IF_ERROR(options_.interruption());
  const bool is_waiting = wait_began_ns_ != 0;
  if (!is_waiting) return {};
  const int64_t now_ns = RealClock().monotonic_ns();
  const SettingValues none;
  const SettingValues& settings = options_.settings == nullptr ? none : *options_.settings;
  if (const auto timeout = settings.find("lock_timeout"); timeout != settings.end()) {
    const auto timeout_ns = static_cast<int64_t>(shown_number("lock_timeout", timeout->second)) * kNsPerMs;
    if (timeout_ns != 0 && now_ns - wait_began_ns_ >= timeout_ns)
      return sql_error("55P03", "canceling statement due to lock timeout");
  }
  if (!options_.is_in_circle || now_ns - looked_ns_ < kLookForCircleNs) return {};
  looked_ns_ = now_ns;
  if (!options_.is_in_circle()) return {};
  return with_hint(sql_error("40P01", "deadlock detected"),
                   "Sessions wait for each other's rows and advisory locks. The transaction might succeed if retried.");
}

Status SessionRun::wait(const std::function<Status()>& wait) {
  wait_began_ns_ = looked_ns_ = RealClock().monotonic_ns();
  Status status = wait();
  wait_began_ns_ = 0;
  return status;
}

Status SessionRun::run(const Program& program, std::span<const Datum> arguments, ResultSet* result) {
  StatementSettings settings;
  settings.begin(options_.settings);
  const StatementSettings::Scope scope(&settings);
  SessionRun* const outer = std::exchange(current_, this);
  const absl::Cleanup restored = [outer] { current_ = outer; };
  const std::string session = session_temporary_schema();
  AdvisoryLocks* const locks = program.parts().compiler->locks();
  const size_t mark = options_.keeps_transaction_locks ? 0 : locks->mark(session);
  Status status = run_program(program, arguments, result);
  if (status.ok()) status = interruption();  // pg_cancel_backend() of the session itself
  if (!options_.keeps_transaction_locks && takes_locks(program)) locks->release_of_transaction(session, mark);
  if (status.ok() && options_.changed != nullptr) settings.give_changed(options_.changed);
  return status;
}

Status SessionRun::run_program(const Program& program, std::span<const Datum> arguments, ResultSet* result) {
  if (arguments.size() != program.parameter_types().size()) {
    return sql_error("08P01", "bind message supplies " + std::to_string(arguments.size()) +
                                  " parameters, but prepared statement \"\" requires " +
                                  std::to_string(program.parameter_types().size()));
  }
  ScratchArena scratch(options_.memory_bytes);
  DeferredChecks deferred;
  const auto context = std::make_unique<ExecContext>();
  context->scratch = &scratch;
  context->transaction_time_us = options_.time_us;
  context->crossing = 1;
  context->partition = ~uint32_t{0};
  context->result = result;
  context->notices = &result->notices;
  context->deferred = &deferred;
  Watch watch{.context = context.get(), .run = this, .why = {}};
  context->safepoint = &Watch::pass;
  context->safepoint_owner = &watch;
  context->interrupt = kSafepointBit;
  result->clear();
  result->columns = program.columns();
  if (program.run(context.get(), arguments.data()) == Outcome::kOk) {
    result->affected_rows = result->row_count();
    result->command_tag = "SELECT " + std::to_string(result->row_count());
    return {};
  }
  Status status = !watch.why.ok()      ? watch.why
                  : context->error.set ? status_of(context->error)
                                       : sql_error("XX000", "the statement failed without a reason");
  result->clear_rows();
  return with_notices(std::move(status), std::exchange(result->notices, {}));
}

}  // namespace scyper::query
