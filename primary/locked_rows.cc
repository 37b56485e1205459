#include "locked_rows.h"

#include "executor.h"
#include "storage/temporary.h"

namespace scyper::primary {

namespace {
// A block that locks more rows by one statement runs alone: each has a name among the reservations.
constexpr size_t kRowsMax = 100'000;
}  // namespace

using query::LockWait;

void LockedRows::begin(BlockId own, bool keeps) {
  own_ = own;
  keeps_ = keeps;
  clear();
}

void LockedRows::clear() {
  catalog_.reset();
  rows_.clear();
  holder_ = 0;
  needs_exclusive_ = false;
}

// False: the row is its session's only, or is not in the catalog that others see, or has no name.
bool LockedRows::name_row(TableId table, std::span<const Datum> identity, storage::RowLock lock,
                          storage::RowClaim* claim) {
  if (storage::is_temporary(table)) return false;
  if (catalog_ == nullptr) catalog_ = environment_->database->catalog();
  const auto found = catalog_->find_table(table);
  if (found == nullptr || storage::identity_columns(found->schema()).size() != identity.size()) return false;
  const auto name = storage::name_row(*found, identity, name_);
  if (!name.ok() || name->empty()) return false;
  *claim = {found->partition(0), *name, lock};
  return true;
}

bool LockedRows::is_free(TableId table, storage::RowLock lock, std::span<const Datum> identity) {
  storage::RowClaim claim;
  return !environment_->reservations.any() || !name_row(table, identity, lock, &claim) ||
         environment_->reservations.find_holder(claim, own_) == 0;
}

LockedRows::Locked LockedRows::lock(TableId table, storage::RowLock lock, LockWait wait,
                                    std::span<const Datum> identity) {
  storage::RowClaim claim;
  if ((!keeps_ && !environment_->reservations.any()) || !name_row(table, identity, lock, &claim)) return Locked::kYes;
  const BlockId holder = environment_->reservations.find_holder(claim, own_);
  if (holder != 0) {
    if (wait == LockWait::kError) return Locked::kRefused;
    holder_ = holder;
    return Locked::kHeld;
  }
  if (rows_.size() >= kRowsMax) needs_exclusive_ = true;
  if (keeps_ && !needs_exclusive_) rows_.push_back({claim.partition, std::string(claim.name), lock});
  return Locked::kYes;
}

// The block has to run alone, and no other may have reserved anything.
LockedRows::Locked LockedRows::lock_unnamed() {
  needs_exclusive_ |= keeps_;
  if (keeps_ || !environment_->reservations.any()) return Locked::kYes;
  const std::vector<BlockId> holders = environment_->waits->holders(own_);
  if (holders.empty()) return Locked::kYes;
  holder_ = holders.front();
  return Locked::kHeld;
}

}  // namespace scyper::primary
