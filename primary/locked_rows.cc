#include "locked_rows.h"

#include "executor.h"
#include "storage/temporary.h"

namespace scyper::primary {

using query::LockWait;

void LockedRows::begin(BlockId own, bool keeps, storage::ChangeLog* log, const std::vector<EndedWait>* waits) {
  own_ = own;
  keeps_ = keeps;
  log_ = log;
  waits_ = waits;
  clear();
}

void LockedRows::clear() {
  catalog_.reset();
  rows_.clear();
  if (log_ != nullptr) log_->set_locked_rows(0);
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
  return take(claim, wait);
}

LockedRows::Locked LockedRows::lock_tuple(const storage::TablePartition* partition, storage::Tid tid,
                                          storage::RowLock lock) {
  if (!keeps_ && !environment_->reservations.any()) return Locked::kYes;
  if (storage::is_temporary(partition->table->schema().id)) return Locked::kYes;
  const auto name = storage::name_row(partition, tid, name_);
  return name.ok() ? take({partition, *name, lock}, LockWait::kWait) : Locked::kYes;
}

LockedRows::Locked LockedRows::meet(const storage::TablePartition* partition, storage::Tid tid) {
  if (!environment_->reservations.any() || storage::is_temporary(partition->table->schema().id)) return Locked::kYes;
  const auto name = storage::name_row(partition, tid, name_);
  return meet_holder(name.ok() ? environment_->reservations.find_changer(*name, own_) : 0);
}

LockedRows::Locked LockedRows::meet_holder(BlockId holder) {
  if (holder == 0) return Locked::kYes;
  if (waits_ != nullptr) {
    for (const EndedWait& wait : *waits_) {
      if (wait.block != holder) continue;
      given_up_ = wait;
      return Locked::kGivenUp;
    }
  }
  holder_ = holder;
  return Locked::kHeld;
}

LockedRows::Locked LockedRows::check_claims(const storage::UndoEntry* before) {
  if (waits_ == nullptr || waits_->empty()) return Locked::kYes;
  const StatusOr<BlockId> holder = find_holder_(own_, before);
  const bool is_given_up = holder.ok() && *holder != 0 && meet_holder(*holder) == Locked::kGivenUp;
  holder_ = 0;  // others are met when the statement ends
  return is_given_up ? Locked::kGivenUp : Locked::kYes;
}

Status LockedRows::refusal() const { return ended_wait_error(given_up_); }

// A rollback to a mark of the log has given back the rows that were locked since.
void LockedRows::give_back() {
  if (log_ == nullptr || rows_.size() <= log_->locked_rows()) return;
  rows_.erase(rows_.begin() + static_cast<ptrdiff_t>(log_->locked_rows()), rows_.end());
}

const std::vector<LockedRows::Row>& LockedRows::kept() {
  give_back();
  return rows_;
}

LockedRows::Locked LockedRows::take(const storage::RowClaim& claim, LockWait wait) {
  const BlockId holder = environment_->reservations.find_holder(claim, own_);
  if (holder != 0) {
    return wait == LockWait::kError ? Locked::kRefused : meet_holder(holder);
  }
  give_back();
  // each row has a name among the reservations
  if (rows_.size() >= environment_->options->block_locked_rows_max) needs_exclusive_ = true;
  if (keeps_ && !needs_exclusive_) {
    rows_.push_back({claim.partition, std::string(claim.name), claim.lock});
    log_->set_locked_rows(rows_.size());
  }
  return Locked::kYes;
}

LockedRows::Locked LockedRows::lock_table(TableId table, bool is_for_changes, LockWait wait) {
  const BlockId holder = environment_->reservations.find_in_table(table, is_for_changes, own_);
  return holder != 0 && wait == LockWait::kError ? Locked::kRefused : meet_holder(holder);
}

// The block has to run alone, and no other may have reserved anything.
LockedRows::Locked LockedRows::lock_unnamed() {
  needs_exclusive_ |= keeps_;
  if (keeps_ || !environment_->reservations.any()) return Locked::kYes;
  const std::vector<BlockId> holders = environment_->waits->holders(own_);
  return meet_holder(holders.empty() ? 0 : holders.front());
}

}  // namespace scyper::primary
