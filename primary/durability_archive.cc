#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "durability.h"
#include "replay/archive_keeping.h"
#include "storage/frozen_tier.h"
#include "storage/object_store.h"

// Archives beside transactions.
namespace scyper::primary {

namespace {

void warn(const std::string& line) { std::fprintf(stderr, "scyper: %s\n", line.c_str()); }

}  // namespace

storage::ArchiveManifest Durability::manifest_of(uint64_t lsn, int64_t time_us) const {
  storage::ArchiveManifest manifest;
  manifest.cluster[0] = identity_.cluster.words[0];
  manifest.cluster[1] = identity_.cluster.words[1];
  manifest.term = recovered_.term;
  manifest.lsn = lsn;
  manifest.time_us = time_us;
  manifest.partitions = identity_.partitions;
  return manifest;
}

// While nothing runs or all are paused: what an archive has beside definitions and rows.
void Durability::attach_state(uint64_t lsn, storage::ArchiveManifest* manifest) const {
  manifest->attachments.emplace_back("requests", requests_->encode(lsn));
  std::vector<std::string> texts;
  for (const auto& stream : environment_->streams) {
    for (const std::string& text : stream->texts()) {
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
  }
  manifest->attachments.emplace_back("statements", replay::encode_statements(texts));
}

void Durability::note_archive(const storage::ArchiveManifest& manifest) {
  archive_lsn_.store(manifest.lsn, std::memory_order_relaxed);
  archive_time_us_.store(manifest.time_us, std::memory_order_relaxed);
}

StatusOr<replay::ArchiveResult> Durability::archive_in_child(const Runner& runner, const std::string& archives,
                                                             bool is_own,
                                                             const std::function<void(uint64_t)>& on_progress) {
  replay::ArchiveChild::Request request;
  request.archives = archives;
  request.nice = 15;
  request.manifest = manifest_of(0, 0);
  request.options.bytes_per_second_max = options_.log.archive_rate;
  request.options.on_warning = warn;
  request.options.on_progress = [&](uint64_t raw_bytes) {
    archive_bytes_.store(raw_bytes, std::memory_order_relaxed);
    if (on_progress) on_progress(raw_bytes);
  };
  request.at_cut = [this, is_own](const query::ForkPoint& point, storage::ArchiveManifest* manifest,
                                  replay::ArchiveOptions* options) {
    attach_state(point.lsn, manifest);
    if (is_own) own_archive_->begin(*point.catalog, point.lsn, options);
  };
  request.wait_logged = [this](uint64_t lsn, const std::function<Status()>& interruption) {
    return log_->wait_confirmed(lsn, interruption);
  };
  return archive_child_.write(disk_, runner.fork, std::move(request));
}

StatusOr<replay::ArchiveResult> Durability::archive_at_rest(const Runner& runner, const std::string& archives,
                                                            bool is_own) {
  StatusOr<replay::ArchiveResult> result = absl::UnknownError("not written");
  SCYPER_RETURN_IF_ERROR(runner.run_exclusively([&]() -> Status {
    const uint64_t lsn = environment_->lsns.last.load();
    replay::ArchiveOptions options;
    options.bytes_per_second_max = options_.log.archive_rate;
    options.before_finish = [this, lsn] {
      return log_->wait_confirmed(lsn, [this] { return archive_child_.interruption(); });
    };
    storage::ArchiveManifest manifest = manifest_of(lsn, environment_->clock.now_us());
    attach_state(lsn, &manifest);
    options.on_warning = warn;
    if (is_own) own_archive_->begin(*environment_->database->catalog(), lsn, &options);
    result = replay::write_archive(disk_, archives, *environment_->database->catalog(), std::move(manifest), options);
    if (!result.ok()) static_cast<void>(storage::remove_unfinished(disk_, archives, lsn));
    return result.status();
  }));
  return result;
}

// archiving_ is held.
StatusOr<replay::ArchiveResult> Durability::archive(const Runner& runner, const std::string& to, bool is_own,
                                                    const std::function<void(uint64_t)>& on_progress) {
  SCYPER_RETURN_IF_ERROR(disk_->make_directory(to));
  if (is_own) log_->begin_segment();
  return own_disk_ != nullptr ? archive_in_child(runner, to, is_own, on_progress) : archive_at_rest(runner, to, is_own);
}

// archiving_ is held. One of the data directory's own; older ones go, and the log that only they needed.
StatusOr<replay::ArchiveResult> Durability::archive_here(const Runner& runner,
                                                         const std::function<void(uint64_t)>& on_progress) {
  const std::string own = replay::archives_directory(options_.log.directory);
  replay::ArchiveKeeping keeping;
  keeping.kept = options_.log.archives_kept;
  keeping.bytes_per_second_max = options_.log.archive_rate;
  keeping.interruption = [this] { return archive_child_.interruption(); };
  keeping.on_damage = [this](const std::string& line) {
    damaged_archives_.fetch_add(1, std::memory_order_relaxed);
    warn(line);
  };
  keeping.on_warning = warn;
  keeping.tier = environment_->database->tier();
  const auto write = [&](bool is_again) {
    if (is_again) own_archive_->write_whole();
    return archive(runner, own, true, on_progress);
  };
  auto kept = replay::write_kept_archive(disk_, own, keeping, write);
  if (!kept.ok()) {
    own_archive_->write_whole();  // the newest may have been set aside
    return kept.status();
  }
  SCYPER_RETURN_IF_ERROR(own_archive_->finish(storage::archive_path(own, kept->written.lsn)));
  note_archive(own_archive_->base()->manifest);
  if (kept->oldest_lsn != 0) log_->drop_before(kept->oldest_lsn);
  return kept->written;
}

// By way of the data directory: a child must not use libcurl, and what it has there already is not written again.
StatusOr<replay::ArchiveResult> Durability::archive_to_store(const Runner& runner, const std::string& place,
                                                             const std::function<void(uint64_t)>& on_progress) {
  const auto stores = storage::make_disk_with_stores();
  SCYPER_RETURN_IF_ERROR(stores->make_directory(place));  // before the work, when it cannot be used
  const std::string own = replay::archives_directory(options_.log.directory);
  replay::ArchiveResult result;
  const auto base = own_archive_->base();
  if (base != nullptr && base->manifest.lsn == environment_->lsns.last.load() &&
      disk_->exists(base->path + "/MANIFEST")) {  // nothing has happened since
    result.lsn = base->manifest.lsn;
    for (const storage::ArchiveTable& table : base->manifest.tables) result.rows += table.rows;
  } else {
    SCYPER_ASSIGN_OR_RETURN(result, archive_here(runner, on_progress));
  }
  const auto count = [&](uint64_t bytes) {
    result.stored_bytes = bytes;
    archive_bytes_.store(bytes, std::memory_order_relaxed);
    if (on_progress) on_progress(bytes);
    return archive_child_.interruption();
  };
  SCYPER_RETURN_IF_ERROR(storage::copy_archive(disk_, storage::archive_path(own, result.lsn), stores.get(), place,
                                               options_.log.archive_rate, count)
                             .status());
  return result;
}

StatusOr<replay::ArchiveResult> Durability::write_archive(const Runner& runner, const std::string& archives,
                                                          const std::function<void(uint64_t)>& on_progress) {
  if (!is_on()) return sql_error("55000", "the node has no data directory");
  std::lock_guard<std::mutex> lock(archiving_);
  SCYPER_RETURN_IF_ERROR(archive_child_.interruption());
  auto result = storage::is_store_path(archives) ? archive_to_store(runner, archives, on_progress)
                : archives.empty()               ? archive_here(runner, on_progress)
                                                 : archive(runner, archives, false, on_progress);
  archive_bytes_.store(0, std::memory_order_relaxed);
  return result;
}

void Durability::watch(Runner runner) {
  if (publication_ != nullptr && options_.replication.digest_period_us > 0) {
    digest_rounds_ =
        std::make_unique<DigestRounds>(options_.replication.digest_period_us, publication_.get(), runner.fork);
  }
  if (!is_on() || options_.log.archive_log_bytes == 0) return;
  is_watched_ = true;
  watcher_ = std::thread([this, runner = std::move(runner)] {
    uint64_t archived_bytes = 0;
    const uint64_t recovered_bytes = recovered_.log_bytes;  // one life's log may be short
    std::unique_lock<std::mutex> lock(watch_mutex_);
    while (is_watched_) {
      watch_changed_.wait_for(lock, std::chrono::milliseconds(200));
      const uint64_t written = recovered_bytes + log_->bytes_written();
      if (!is_watched_ || written - archived_bytes < options_.log.archive_log_bytes) continue;
      archived_bytes = written;  // a failure waits for as much log again
      lock.unlock();
      auto archive = write_archive(runner, "", nullptr);
      if (!archive.ok()) {
        std::fprintf(stderr, "scyper: no archive: %s\n", std::string(archive.status().message()).c_str());
      }
      lock.lock();
    }
  });
}

void Durability::stop_watching() {
  digest_rounds_.reset();
  {
    std::lock_guard<std::mutex> lock(watch_mutex_);
    is_watched_ = false;
  }
  watch_changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

}  // namespace scyper::primary
