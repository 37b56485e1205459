#include "redo_shadow.h"

#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "query/catalog.h"
#include "replay/log_parcels.h"
#include "replication/parcel.h"
#include "storage/partition_digest.h"
#include "storage/temporary.h"

namespace scyper::primary {

namespace {

Status shadow_error(const std::string& what, const std::string& why) {
  return sql_error("XX000", absl::StrCat("shadow of redo: ", what, ": ", why));
}

// The partitions of a table whose rows differ, or that cannot be read.
void note_differences(const storage::Table& primary, const storage::Table* shadow, std::vector<std::string>* out) {
  const std::string& name = primary.schema().name;
  if (shadow == nullptr) return out->push_back(absl::StrCat(name, " is missing"));
  for (uint32_t i = 0; i < primary.partition_count(); ++i) {
    const auto expected = storage::partition_digest(primary, i), got = storage::partition_digest(*shadow, i);
    const uint64_t rows = primary.partition(i)->live_tuples, shadow_rows = shadow->partition(i)->live_tuples;
    if (expected.ok() && got.ok() && *expected == *got && rows == shadow_rows) continue;
    out->push_back(absl::StrCat(name, ", partition ", i, " (", rows, " rows, ", shadow_rows, " replayed)"));
  }
}

}  // namespace

StatusOr<std::unique_ptr<RedoShadow>> RedoShadow::start(Start start) {
  std::unique_ptr<RedoShadow> shadow(new RedoShadow());
  query::DatabaseOptions options = std::move(start.database);
  options.page_mode = storage::PageMode::kSmall;
  options.layout = storage::Layout::kRow;
  options.execution = query::ExecutionMode::kInterpreted;
  options.tier = {};
  SCYPER_ASSIGN_OR_RETURN(shadow->database_, query::Database::create(options));
  replay::RecoveryOptions recovery;
  recovery.range.to_lsn = start.lsn;
  recovery.cuts = false;
  recovery.syncs = false;
  SCYPER_RETURN_IF_ERROR(
      replay::recover(start.disk, start.directory, start.identity, shadow->database_.get(), recovery).status());
  SCYPER_ASSIGN_OR_RETURN(shadow->replayer_, replay::Replayer::create(shadow->database_.get(), {}));
  shadow->cluster_ = start.identity.cluster;
  shadow->lsn_ = start.lsn;
  return shadow;
}

Status RedoShadow::apply(std::string_view batches, uint64_t complete_lsn) {
  if (has_given_up_) return Status();
  replication::Parcel parcel;
  parcel.bytes = std::make_shared<const std::string>(batches);
  const auto opened = replication::open_parcel(cluster_, &parcel);
  if (!opened.ok()) return shadow_error("the group cannot be read", std::string(opened.status().message()));
  replay::Replayer::Range range;
  range.from_lsn = lsn_;
  const Status applied = replayer_->apply({replay::scanned_group(complete_lsn, *opened)}, range);
  if (sqlstate_of(applied) == "53200") {
    has_given_up_ = true;
    std::fprintf(stderr, "scyper: shadow of redo: its memory is full, it checks nothing more: %s\n",
                 std::string(applied.message()).c_str());
    return Status();
  }
  if (!applied.ok()) {
    return shadow_error(absl::StrCat("the group that ends with LSN ", complete_lsn, " cannot be replayed"),
                        std::string(applied.message()));
  }
  lsn_ = complete_lsn;
  return Status();
}

Status RedoShadow::compare(const query::Database& primary, uint64_t lsn) const {
  if (lsn_ != lsn) return Status();
  const auto expected = primary.catalog(), got = database_->catalog();
  std::vector<std::string> differences;
  for (const auto& [name, table] : expected->tables) {
    const TableId id = table->schema().id;
    if (!storage::is_temporary(id)) note_differences(*table, got->find_table(id).get(), &differences);
  }
  if (differences.empty()) return Status();
  return shadow_error("replay gives other rows", absl::StrJoin(differences, "; "));
}

}  // namespace scyper::primary
