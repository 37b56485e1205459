#include <algorithm>
#include <string>

#include "base/object_name.h"
#include "bind/row_lock_code.h"
#include "query/row_locks.h"
#include "runtime/function_body.h"

// FOR UPDATE and its kin (bind/locking.cc): table, code, the table's name, the row's identity.
namespace scyper::query {

extern const ir::External k_fn_row_is_free;
extern const ir::External k_fn_lock_row;
extern const ir::External k_fn_lock_unnamed;
extern const ir::External k_fn_may_lock;

namespace {

constexpr int64_t kRowLockHead = 3;

TableId locked_table(const Datum* args) { return TableId(static_cast<uint32_t>(args[0].lo)); }
RowLockCode lock_code(const Datum* args) { return RowLockCode::of(static_cast<int32_t>(args[1].lo)); }

// The row that an outer join has added has none.
bool has_identity(std::span<const Datum> identity) {
  return std::none_of(identity.begin(), identity.end(), [](const Datum& value) { return value.null != 0; });
}

// The engine runs the statement again when the holder has ended.
int32_t fail_row_held(ExecContext* c) {
  return c->fail("55P03", "could not obtain lock on row: an open block has it", /*catchable=*/false);
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
  switch (locks->lock(locked_table(args), code.lock, code.wait, identity)) {
    case RowLocks::Locked::kYes:
      break;
    case RowLocks::Locked::kHeld:
      return fail_row_held(c);
    case RowLocks::Locked::kRefused: {
      return c->fail("55P03", "could not obtain lock on row in relation \"" + std::string(text_of(args[2])) + "\"");
    }
  }
  return give_bool(out, true);
}

SCYPER_FUNCTION(lock_unnamed) {
  RowLocks* locks = RowLocks::current();
  if (locks != nullptr && locks->lock_unnamed() != RowLocks::Locked::kYes) return fail_row_held(c);
  return give_bool(out, true);
}

// LOCK TABLE: whether the role may, the table's name.
SCYPER_FUNCTION(may_lock) {
  if (args[0].lo == 0)
    return c->fail("42501", "permission denied for table " + std::string(bare_name(text_of(args[1]))));
  return give_bool(out, true);
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_FUNCTION(row_is_free)
SCYPER_DEFINE_FUNCTION(lock_row)
SCYPER_DEFINE_FUNCTION(lock_unnamed)
SCYPER_DEFINE_FUNCTION(may_lock)

}  // namespace scyper::query
