#include "archivist.h"

#include <algorithm>
#include <utility>

#include "replay/archive_keeping.h"
#include "storage/archive.h"

namespace scyper::secondary {

StatusOr<Archivist::Written> Archivist::write(const std::string& archives, uint64_t term) {
  std::lock_guard<std::mutex> lock(writing_);
  const bool is_to_store = storage::is_store_path(archives);
  // to a store by way of the own directory: a child must not use libcurl
  const bool is_elsewhere = !archives.empty() && !(is_to_store && !options_.own.empty());
  const std::string& to = is_elsewhere ? archives : options_.own.empty() ? options_.shared : options_.own;
  if (to.empty()) return sql_error("55000", "the node has no data directory and no archive directory");
  if (storage::is_store_path(to)) {
    return with_hint(sql_error("0A000", "a node without a data directory cannot write archives to a store"),
                     "Give it a data directory.");
  }
  if (is_to_store)
    SCYPER_RETURN_IF_ERROR(stores_->make_directory(archives));  // before the work, when it cannot be used
  SCYPER_RETURN_IF_ERROR(disk_->make_directory(to));
  Written written;
  if (is_elsewhere || options_.own.empty()) {
    SCYPER_ASSIGN_OR_RETURN(written.result, write_to(to, term, nullptr));
    written.path = storage::archive_path(to, written.result.lsn);
  } else {
    SCYPER_ASSIGN_OR_RETURN(written, write_own(term));
    if (is_to_store) {
      SCYPER_ASSIGN_OR_RETURN(written.path, copy(written.path, archives));
      return written;
    }
    if (!options_.shared.empty()) SCYPER_RETURN_IF_ERROR(share(written.path, written.result.lsn));
  }
  if (!is_elsewhere && !options_.shared.empty()) SCYPER_RETURN_IF_ERROR(retire_shared());
  return written;
}

StatusOr<Archivist::Written> Archivist::write_own(uint64_t term) {
  replay::ArchiveKeeping keeping;
  keeping.kept = options_.kept;
  keeping.bytes_per_second_max = options_.bytes_per_second_max;
  keeping.interruption = [this] { return child_.interruption(); };
  keeping.on_damage = options_.on_damage;
  keeping.on_warning = options_.on_warning;
  keeping.tier = options_.tier;
  bool is_found = false;
  const auto write = [&](bool is_again) {
    if (is_again) own_.write_whole();
    return write_to(options_.own, term, &is_found);
  };
  auto kept = replay::write_kept_archive(disk_, options_.own, keeping, write);
  if (!kept.ok()) {
    own_.write_whole();  // the newest may have been set aside
    return kept.status();
  }
  Written written;
  written.result = kept->written;
  written.path = storage::archive_path(options_.own, kept->written.lsn);
  written.oldest_own_lsn = kept->oldest_lsn;
  // of before a restart: its chunks have other numbers now, which the base of the start has
  if (!is_found) SCYPER_RETURN_IF_ERROR(own_.finish(written.path));
  return written;
}

StatusOr<replay::ArchiveResult> Archivist::write_to(const std::string& archives, uint64_t term, bool* is_found) {
  replay::ArchiveChild::Request request;
  request.archives = archives;
  request.nice = 5;
  request.manifest.cluster[0] = identity_.cluster.words[0];
  request.manifest.cluster[1] = identity_.cluster.words[1];
  request.manifest.term = term;
  request.manifest.partitions = identity_.partitions;
  request.options.bytes_per_second_max = options_.bytes_per_second_max;
  uint64_t lsn = 0;
  request.at_cut = [&](const query::ForkPoint& point, storage::ArchiveManifest* manifest,
                       replay::ArchiveOptions* options) {
    lsn = point.lsn;
    if (archives == options_.own) own_.begin(*point.catalog, lsn, options);
    manifest->attachments.emplace_back("requests", requests_->encode(point.lsn));
  };
  request.wait_logged = wait_logged_;
  auto result = child_.write(disk_, fork_, std::move(request));
  const std::string path = storage::archive_path(archives, lsn);
  if (result.ok() || !child_.interruption().ok() || !disk_->exists(path + "/MANIFEST")) return result;
  if (is_found != nullptr) *is_found = true;
  replay::ArchiveResult found;  // nothing has happened since
  SCYPER_ASSIGN_OR_RETURN(const storage::ArchiveManifest manifest, storage::read_manifest(disk_, path));
  found.lsn = lsn;
  for (const storage::ArchiveTable& table : manifest.tables) found.rows += table.rows;
  return found;
}

uint64_t Archivist::shared_lsn() const {
  if (options_.shared.empty() || !stores_->exists(options_.shared)) return 0;
  auto entries = storage::list_archives(stores_.get(), options_.shared);
  if (!entries.ok()) return 0;
  uint64_t lsn = 0;
  for (const storage::ArchiveEntry& entry : *entries) {
    if (entry.is_complete) lsn = std::max(lsn, entry.lsn);
  }
  return lsn;
}

StatusOr<std::string> Archivist::copy(const std::string& path, const std::string& to) {
  return storage::copy_archive(disk_, path, stores_.get(), to, options_.bytes_per_second_max,
                               [this](uint64_t) { return child_.interruption(); });
}

Status Archivist::share(const std::string& path, uint64_t lsn) {
  SCYPER_RETURN_IF_ERROR(stores_->make_directory(options_.shared));
  // another node's, of the same history
  if (stores_->exists(storage::archive_path(options_.shared, lsn) + "/MANIFEST")) return Status();
  return copy(path, options_.shared).status();
}

// Another node may be writing there: what is not finished stays. They are checked when they are loaded.
Status Archivist::retire_shared() {
  SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(stores_.get(), options_.shared));
  std::erase_if(entries, [](const storage::ArchiveEntry& entry) { return !entry.is_complete; });
  const size_t kept = std::max(1u, options_.kept);
  for (size_t i = 0; i + kept < entries.size(); ++i) {
    SCYPER_RETURN_IF_ERROR(storage::remove_archive(stores_.get(), entries[i]));
  }
  return Status();
}

}  // namespace scyper::secondary
