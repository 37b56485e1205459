#include "redo_check.h"

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "query/catalog.h"

namespace scyper::primary {

namespace {
Failpoint unreadable("redo.unreadable");  // as if generated code had written what no reader takes
}  // namespace

std::unique_ptr<storage::RowApplier> RedoCheck::make_reader() {
  return std::make_unique<storage::RowApplier>(
      [this](TableId id) -> storage::Table* { return catalog_->find_table(id).get(); },
      [this](SequenceId id) { return catalog_->find_sequence(id); });
}

// Statements are compiled anew for it.
void RedoCheck::begin_version(uint64_t catalog_version) {
  reader_->forget();
  catalog_ = database_->catalog();
  version_ = catalog_version;
  seen_.fill({});
}

Status RedoCheck::check_now(std::string_view changes, uint32_t partition, const std::function<void()>& between) {
  Status status = reader_->check(changes, partition, between);
  if (unreadable.fires()) [[unlikely]]
    status = absl::InternalError("failpoint redo.unreadable");
  if (status.ok()) [[likely]]
    return status;
  return with_hint(sql_error("XX000", absl::StrCat("the changes of the transaction could not be replayed: ",
                                                   std::string(status.message()))),
                   "This is an error of the database, not of the statement. The transaction has been undone.");
}

}  // namespace scyper::primary
