#include <algorithm>
#include <string>

#include "base/object_name.h"
#include "bind/row_lock_code.h"
#include "bind/system_types.h"
#include "query/row_locks.h"
#include "runtime/function_body.h"
#include "runtime/row_lock_calls.h"

// FOR UPDATE and its kin (bind/locking.cc), rows that changes meet. Arguments of the functions: table, code, the
// table's name, the row's identity.
namespace scyper::query {

extern const ir::External k_fn_row_is_free;
extern const ir::External k_fn_lock_row;
extern const ir::External k_fn_lock_unnamed;
extern const ir::External k_fn_may_lock;
extern const ir::External k_fn_row_is_settled;

namespace {
// kHeld is an error that no handler catches: the engine runs the statement again when the holder has ended.
int32_t fail_unless_locked(ExecContext* c, RowLocks::Locked locked) {
  if (locked == RowLocks::Locked::kYes) return 0;
  if (locked == RowLocks::Locked::kGivenUp) return c->fail(RowLocks::current()->refusal());
  return c->fail("55P03", "could not obtain lock on row: an open block has it", /*catchable=*/false);
}
}  // namespace

int32_t meet_duplicate(ExecContext* c) noexcept {
  RowLocks* locks = RowLocks::current();
  const storage::ChangeLog::Conflict& conflict = c->log->conflict();
  if (locks == nullptr || conflict.partition == nullptr || !storage::is_live(conflict.partition, conflict.tid))
    return 0;
  return fail_unless_locked(c, locks->meet(conflict.partition, conflict.tid));
}

namespace {

constexpr int64_t kRowLockHead = 3;

TableId locked_table(const Datum* args) { return TableId(static_cast<uint32_t>(args[0].lo)); }
RowLockCode lock_code(const Datum* args) { return RowLockCode::of(static_cast<int32_t>(args[1].lo)); }

// The row that an outer join has added has none.
bool has_identity(std::span<const Datum> identity) {
  return std::none_of(identity.begin(), identity.end(), [](const Datum& value) { return value.null != 0; });
}

extern "C" {

SCYPER_FUNCTION(row_is_free) {
  RowLocks* locks = RowLocks::current();
  const std::span<const Datum> identity(args + kRowLockHead, static_cast<size_t>(count - kRowLockHead));
  if (locks == nullptr || !has_identity(identity)) return give_bool(out, true);
  return give_bool(out, locks->is_free(locked_table(args), lock_code(args).lock, identity));
}

SCYPER_FUNCTION(lock_row) {
  RowLocks* locks = RowLocks::current();
  const std::span<const Datum> identity(args + kRowLockHead, static_cast<size_t>(count - kRowLockHead));
  if (locks == nullptr || !has_identity(identity)) return give_bool(out, true);
  const RowLockCode code = lock_code(args);
  const RowLocks::Locked locked = locks->lock(locked_table(args), code.lock, code.wait, identity);
  if (locked == RowLocks::Locked::kRefused)
    return c->fail("55P03", "could not obtain lock on row in relation \"" + std::string(text_of(args[2])) + "\"");
  const int32_t failed = fail_unless_locked(c, locked);
  return failed != 0 ? failed : give_bool(out, true);
}

// A foreign key's check has found a row that refers to the key: whoever removes that row decides.
SCYPER_FUNCTION(row_is_settled) {
  RowLocks* locks = RowLocks::current();
  const std::span<const Datum> identity(args + 1, static_cast<size_t>(count - 1));
  if (locks == nullptr || !has_identity(identity)) return give_bool(out, true);
  const int32_t failed =
      fail_unless_locked(c, locks->lock(locked_table(args), storage::RowLock::kKeyShare, LockWait::kWait, identity));
  return failed != 0 ? failed : give_bool(out, true);
}

SCYPER_FUNCTION(lock_unnamed) {
  RowLocks* locks = RowLocks::current();
  const int32_t failed = locks == nullptr ? 0 : fail_unless_locked(c, locks->lock_unnamed());
  return failed != 0 ? failed : give_bool(out, true);
}

// LOCK TABLE: whether the role may; the table's name and oid; what the lock excludes: 0 nothing of blocks, 1 changes,
// 2 locked rows, too; NOWAIT.
SCYPER_FUNCTION(may_lock) {
  const std::string name(bare_name(text_of(args[1])));
  if (args[0].lo == 0) return c->fail("42501", "permission denied for table " + name);
  RowLocks* locks = RowLocks::current();
  const std::optional<TableId> table = table_of_oid(args[2].lo);
  if (locks == nullptr || args[3].lo == 0 || !table.has_value()) return give_bool(out, true);
  const LockWait wait = args[4].lo != 0 ? LockWait::kError : LockWait::kWait;
  const RowLocks::Locked locked = locks->lock_table(*table, /*is_for_changes=*/args[3].lo == 1, wait);
  if (locked == RowLocks::Locked::kRefused)
    return c->fail("55P03", "could not obtain lock on relation \"" + name + "\"");
  const int32_t failed = fail_unless_locked(c, locked);
  return failed != 0 ? failed : give_bool(out, true);
}

int32_t rt_meet_row(ExecContext* c, storage::TablePartition* partition, int64_t tid) noexcept {
  RowLocks* locks = RowLocks::current();
  return locks == nullptr ? 0 : fail_unless_locked(c, locks->meet(partition, static_cast<storage::Tid>(tid)));
}

int32_t rt_lock_row(ExecContext* c, storage::TablePartition* partition, int64_t tid, int64_t lock) noexcept {
  RowLocks* locks = RowLocks::current();
  if (locks == nullptr) return 0;
  const auto strength = static_cast<storage::RowLock>(lock);
  return fail_unless_locked(c, locks->lock_tuple(partition, static_cast<storage::Tid>(tid), strength));
}

int32_t rt_check_claims(ExecContext* c, const storage::ChangeLog::Mark* mark) noexcept {
  RowLocks* locks = RowLocks::current();
  return locks == nullptr ? 0 : fail_unless_locked(c, locks->check_claims(mark->top));
}

}  // extern "C"

}  // namespace

const ir::External k_rt_meet_row{"rt_meet_row", reinterpret_cast<void*>(&rt_meet_row), ir::Type::kI32, 3, false};
const ir::External k_rt_check_claims{"rt_check_claims", reinterpret_cast<void*>(&rt_check_claims), ir::Type::kI32, 2,
                                     false};
const ir::External k_rt_lock_row{"rt_lock_row", reinterpret_cast<void*>(&rt_lock_row), ir::Type::kI32, 4, false};

SCYPER_DEFINE_FUNCTION(row_is_free)
SCYPER_DEFINE_FUNCTION(lock_row)
SCYPER_DEFINE_FUNCTION(lock_unnamed)
SCYPER_DEFINE_FUNCTION(may_lock)
SCYPER_DEFINE_FUNCTION(row_is_settled)

}  // namespace scyper::query
