// `scyper backup`, `scyper backup verify`, `scyper restore`.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/disk.h"
#include "error_format.h"
#include "programs.h"
#include "progress.h"
#include "query/database.h"
#include "replay/archive.h"
#include "replay/recovery.h"
#include "storage/object_store.h"

namespace scyper::client {

namespace {

constexpr int64_t kPostgresEpochS = 946'684'800;  // 2000-01-01

// "2026-01-31 12:00:00[.123456]", UTC, in microseconds since 2000-01-01.
StatusOr<int64_t> parse_time(const std::string& text) {
  std::tm time{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &time);
  if (end == nullptr) return sql_error("22007", "not a time (2026-01-31 12:00:00, UTC): " + text);
  int64_t us = (static_cast<int64_t>(::timegm(&time)) - kPostgresEpochS) * 1'000'000;
  if (*end == '.') {
    int64_t unit = 100'000;
    for (++end; *end >= '0' && *end <= '9' && unit > 0; ++end, unit /= 10) us += (*end - '0') * unit;
  }
  if (*end != '\0') return sql_error("22007", "not a time (2026-01-31 12:00:00, UTC): " + text);
  return us;
}

// Where archives, log and identity come from: a data directory, or a directory of archives and perhaps segments.
Status find_source(Disk* disk, const RestoreOptions& options, replay::NodeIdentity* identity,
                   replay::RecoveryOptions* recovery) {
  if (disk->exists(options.from + "/node")) {
    SCYPER_ASSIGN_OR_RETURN(*identity, replay::open_data_directory(disk, options.from, 0));
    recovery->log = options.log;
    return Status();
  }
  SCYPER_ASSIGN_OR_RETURN(auto archives, storage::list_archives(disk, options.from));
  std::erase_if(archives, [](const storage::ArchiveEntry& entry) { return !entry.is_complete; });
  if (archives.empty()) {
    return sql_error("58P01", absl::StrCat(options.from, " is neither a data directory nor has it archives"));
  }
  SCYPER_ASSIGN_OR_RETURN(auto manifest, storage::read_manifest(disk, archives.back().path));
  identity->cluster = {{manifest.cluster[0], manifest.cluster[1]}};
  identity->partitions = manifest.partitions;
  recovery->archives = options.from;
  recovery->log = options.log;
  if (options.log.empty()) {  // the archive alone
    recovery->log = options.to + "/log";
  }
  return Status();
}

struct Restored {
  replay::Recovered recovered;
  replay::ArchiveResult archive;
};

StatusOr<Restored> restore(const RestoreOptions& options, bool is_quiet) {
  auto disk = storage::make_disk_with_stores();
  if (disk->exists(options.to + "/node")) {
    return sql_error("58P02", absl::StrCat("there is a database in ", options.to, " already"));
  }
  replay::RecoveryOptions recovery;
  recovery.threads = options.threads;
  recovery.cuts = recovery.syncs = false;
  if (options.to_lsn != 0) recovery.range.to_lsn = options.to_lsn;
  recovery.range.skipped = options.skipped_lsns;
  if (!options.to_time.empty()) {
    SCYPER_ASSIGN_OR_RETURN(recovery.range.to_time_us, parse_time(options.to_time));
  }
  if (!is_quiet) recovery.on_progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  replay::NodeIdentity source;
  SCYPER_RETURN_IF_ERROR(find_source(disk.get(), options, &source, &recovery));
  query::DatabaseOptions database_options;
  database_options.partitions = source.partitions;
  SCYPER_ASSIGN_OR_RETURN(database_options.memory_bytes, server::parse_bytes(options.memory));
  SCYPER_ASSIGN_OR_RETURN(auto database, query::Database::create(database_options));
  // a history of its own from here on: other logs must not be taken for its
  SCYPER_ASSIGN_OR_RETURN(auto identity, replay::open_data_directory(disk.get(), options.to, source.partitions));
  Restored result;
  SCYPER_ASSIGN_OR_RETURN(result.recovered,
                          replay::recover(disk.get(), options.from, source, database.get(), recovery));
  if (options.to_lsn != 0 && result.recovered.lsn < options.to_lsn) {
    return sql_error("22023", absl::StrCat("the log ends at LSN ", result.recovered.lsn, ", before ", options.to_lsn));
  }
  storage::ArchiveManifest manifest;
  manifest.cluster[0] = identity.cluster.words[0];
  manifest.cluster[1] = identity.cluster.words[1];
  manifest.term = result.recovered.term;
  manifest.lsn = result.recovered.lsn;
  manifest.time_us = std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
  manifest.partitions = source.partitions;
  SCYPER_ASSIGN_OR_RETURN(result.archive, replay::write_archive(disk.get(), replay::archives_directory(options.to),
                                                                *database->catalog(), manifest, {}));
  return result;
}

}  // namespace

int run_backup(const CommonOptions& common, const BackupOptions& options) {
  auto client = Client::connect(common.connect);
  if (!client.ok()) return show_failure(client.status(), common.is_json);
  std::atomic<bool> is_done{false};
  std::thread watcher;
  if (!common.is_json) {
    watcher = std::thread([&] {
      Progress progress("archive, MB", 0, true);
      uint64_t shown = 0;
      while (!is_done) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        auto status = (*client)->status();
        const uint64_t mb = status.ok() ? status->archive_bytes >> 20 : 0;
        if (mb > shown) progress.add(mb - shown);
        shown = std::max(shown, mb);
      }
    });
  }
  auto result = (*client)->backup(options.directory);
  is_done = true;
  if (watcher.joinable()) watcher.join();
  if (!result.ok()) return show_failure(result.status(), common.is_json);
  if (common.is_json) {
    std::printf(
        "{\"lsn\": %llu, \"path\": \"%s\", \"rows\": %llu, \"raw_bytes\": %llu, \"stored_bytes\": %llu, "
        "\"seconds\": %.3f}\n",
        static_cast<unsigned long long>(result->lsn), result->path.c_str(),
        static_cast<unsigned long long>(result->rows), static_cast<unsigned long long>(result->raw_bytes),
        static_cast<unsigned long long>(result->stored_bytes), result->seconds);
  } else {
    std::printf("%s: LSN %llu, %s rows, %s MB in %s MB, %.1f s\n", result->path.c_str(),
                static_cast<unsigned long long>(result->lsn), grouped(result->rows).c_str(),
                grouped(result->raw_bytes >> 20).c_str(), grouped(result->stored_bytes >> 20).c_str(), result->seconds);
  }
  return kExitOk;
}

int run_backup_verify(const CommonOptions& common, const std::string& path) {
  auto disk = storage::make_disk_with_stores();
  std::vector<std::string> paths;
  if (disk->exists(path + "/MANIFEST")) {
    paths.push_back(path);
  } else {
    const std::string archives =
        disk->exists(replay::archives_directory(path)) ? replay::archives_directory(path) : path;
    auto entries = storage::list_archives(disk.get(), archives);
    if (!entries.ok()) return show_failure(entries.status(), common.is_json);
    for (const storage::ArchiveEntry& entry : *entries) {
      if (entry.is_complete) paths.push_back(entry.path);
    }
  }
  if (paths.empty()) return show_failure(sql_error("58P01", "there is no archive in " + path), common.is_json);
  int code = kExitOk;
  for (const std::string& one : paths) {
    auto checked = replay::verify_archive(disk.get(), one);
    if (!checked.ok()) {
      show_failure(checked.status(), common.is_json);
      code = kExitCheck;
      continue;
    }
    std::printf(common.is_json
                    ? "{\"path\": \"%s\", \"ok\": true, \"lsn\": %llu, \"rows\": %llu, \"raw_bytes\": %llu}\n"
                    : "%s: fine; LSN %llu, %llu rows, %llu bytes\n",
                one.c_str(), static_cast<unsigned long long>(checked->manifest.lsn),
                static_cast<unsigned long long>(checked->rows), static_cast<unsigned long long>(checked->raw_bytes));
  }
  return code;
}

int run_restore(const CommonOptions& common, const RestoreOptions& options) {
  auto restored = restore(options, common.is_json);
  if (!restored.ok()) return show_failure(restored.status(), common.is_json);
  const replay::Recovered& r = restored->recovered;
  std::printf(common.is_json ? "{\"data_directory\": \"%s\", \"lsn\": %llu, \"rows\": %llu, \"transactions\": %llu}\n"
                             : "%s: the database as of LSN %llu, %llu rows; %llu transactions replayed\n",
              options.to.c_str(), static_cast<unsigned long long>(r.lsn),
              static_cast<unsigned long long>(restored->archive.rows), static_cast<unsigned long long>(r.transactions));
  return kExitOk;
}

}  // namespace scyper::client
