#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "durability.h"
#include "storage/object_store.h"

// Archives beside transactions.
namespace scyper::primary {

namespace {

Failpoint before_fork("archive.before_fork");
Failpoint in_child("archive.in_child");
Failpoint before_go_ahead("archive.before_go_ahead");
Failpoint before_retire("archive.before_retire");
Failpoint after_retire("archive.after_retire");

// What the child tells: progress, then that all is written but the manifest's name, then how it ended.
struct Message {
  enum class Kind : uint32_t { kProgress = 1, kReady = 2, kDone = 3, kFailed = 4 };
  Kind kind = Kind::kProgress;
  uint32_t text_bytes = 0;
  replay::ArchiveResult result;
};

void send_message(int socket, Message message, std::string_view text = {}) {
  message.text_bytes = static_cast<uint32_t>(std::min<size_t>(text.size(), 1000));
  std::string bytes(reinterpret_cast<const char*>(&message), sizeof(message));
  bytes += text.substr(0, message.text_bytes);
  static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

bool receive(int socket, char* out, size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(socket, out, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

void warn(const std::string& line) { std::fprintf(stderr, "scyper: %s\n", line.c_str()); }

// In the child: its own disk, nothing of the parent's but the tables.
int run_child(const query::ForkedDatabase& forked, int socket, const std::string& archives,
              storage::ArchiveManifest manifest, replay::ArchiveOptions options) {
  in_child.fires();
  auto disk = make_real_disk();
  manifest.lsn = forked.point.lsn;
  manifest.time_us = forked.point.time_us;
  options.on_progress = [socket](uint64_t raw_bytes) {
    Message message;
    message.result.raw_bytes = raw_bytes;
    send_message(socket, message);
  };
  options.before_finish = [socket]() -> Status {
    Message message;
    message.kind = Message::Kind::kReady;
    send_message(socket, message);
    char go_ahead = 0;
    return receive(socket, &go_ahead, 1) ? Status() : absl::UnavailableError("the node has stopped");
  };
  auto result = replay::write_archive(disk.get(), archives, *forked.point.catalog, std::move(manifest), options);
  Message message;
  message.kind = result.ok() ? Message::Kind::kDone : Message::Kind::kFailed;
  if (result.ok()) message.result = *result;
  const std::string text(result.status().message());
  send_message(socket, message, text);
  return result.ok() ? 0 : 1;
}

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

// While nothing runs or all are paused. What the next of the data directory's archives need not write.
std::shared_ptr<storage::ArchiveBase> Durability::take_base(const query::Catalog& catalog) {
  for (const auto& [name, table] : catalog.tables) storage::take_changed_chunks(*table, &changed_);
  if (base_ == nullptr) return nullptr;
  auto base = std::make_shared<storage::ArchiveBase>(*base_);
  base->changed = changed_;
  return base;
}

// The archive that has just been written.
Status Durability::set_base(uint64_t lsn) {
  auto base = std::make_shared<storage::ArchiveBase>();
  base->path = storage::archive_path(replay::archives_directory(options_.log.directory), lsn);
  SCYPER_ASSIGN_OR_RETURN(base->manifest, storage::read_manifest(disk_, base->path));
  base->manifest.attachments.clear();
  base_ = std::move(base);
  changed_.clear();
  return Status();
}

StatusOr<replay::ArchiveResult> Durability::archive_in_child(const Runner& runner, const std::string& archives,
                                                             bool is_own,
                                                             const std::function<void(uint64_t)>& on_progress) {
  before_fork.fires();
  query::ForkRequest request;
  request.child.name = "scyper-archive";
  request.child.nice = 15;
  auto manifest = std::make_shared<storage::ArchiveManifest>(manifest_of(0, 0));
  auto options = std::make_shared<replay::ArchiveOptions>();
  options->bytes_per_second_max = options_.log.archive_rate;
  options->on_warning = warn;
  request.at_cut = [this, manifest, options, is_own](const query::ForkPoint& point) {
    attach_state(point.lsn, manifest.get());
    if (is_own) options->base = take_base(*point.catalog);
  };
  request.body = [manifest, archives, options](const query::ForkedDatabase& forked, int socket) {
    return run_child(forked, socket, archives, *manifest, *options);
  };
  SCYPER_ASSIGN_OR_RETURN(query::Forked forked, runner.fork(std::move(request)));
  Message message;
  std::string text;
  while (receive(forked.child->socket(), reinterpret_cast<char*>(&message), sizeof(message))) {
    text.resize(std::min<uint32_t>(message.text_bytes, 1000));
    if (!receive(forked.child->socket(), text.data(), text.size())) break;
    switch (message.kind) {
      case Message::Kind::kProgress:
        archive_bytes_.store(message.result.raw_bytes, std::memory_order_relaxed);
        if (on_progress) on_progress(message.result.raw_bytes);
        break;
      case Message::Kind::kReady: {
        // what it holds must not be ahead of the log
        SCYPER_RETURN_IF_ERROR(log_->wait_confirmed(forked.point.lsn));
        before_go_ahead.fires();
        const char go_ahead = 1;
        static_cast<void>(::send(forked.child->socket(), &go_ahead, 1, MSG_NOSIGNAL));
        break;
      }
      case Message::Kind::kDone:
        forked.child->wait();
        return message.result;
      case Message::Kind::kFailed:
        forked.child->wait();
        return sql_error("58030", absl::StrCat("the archive could not be written: ", text));
    }
  }
  return sql_error("58030", absl::StrCat("the process that wrote the archive ",
                                         storage::describe_wait_status(forked.child->wait())));
}

StatusOr<replay::ArchiveResult> Durability::archive_at_rest(const Runner& runner, const std::string& archives,
                                                            bool is_own) {
  StatusOr<replay::ArchiveResult> result = absl::UnknownError("not written");
  SCYPER_RETURN_IF_ERROR(runner.run_exclusively([&]() -> Status {
    const uint64_t lsn = environment_->lsns.last.load();
    replay::ArchiveOptions options;
    options.bytes_per_second_max = options_.log.archive_rate;
    options.before_finish = [this, lsn] { return log_->wait_confirmed(lsn); };
    storage::ArchiveManifest manifest = manifest_of(lsn, environment_->clock.now_us());
    attach_state(lsn, &manifest);
    options.on_warning = warn;
    if (is_own) options.base = take_base(*environment_->database->catalog());
    result = replay::write_archive(disk_, archives, *environment_->database->catalog(), std::move(manifest), options);
    return result.status();
  }));
  return result;
}

// archiving_ is held.
StatusOr<replay::ArchiveResult> Durability::archive(const Runner& runner, const std::string& to, bool is_own,
                                                    const std::function<void(uint64_t)>& on_progress) {
  SCYPER_RETURN_IF_ERROR(disk_->make_directory(to));
  auto result =
      own_disk_ != nullptr ? archive_in_child(runner, to, is_own, on_progress) : archive_at_rest(runner, to, is_own);
  SCYPER_RETURN_IF_ERROR(result.status());
  if (is_own) SCYPER_RETURN_IF_ERROR(set_base(result->lsn));
  if (is_own) SCYPER_RETURN_IF_ERROR(retire_archives());
  return result;
}

// By way of the data directory: a child must not use libcurl, and what it has there already is not written again.
StatusOr<replay::ArchiveResult> Durability::archive_to_store(const Runner& runner, const std::string& place,
                                                             const std::function<void(uint64_t)>& on_progress) {
  const auto stores = storage::make_disk_with_stores();
  SCYPER_RETURN_IF_ERROR(stores->make_directory(place));  // before the work, when it cannot be used
  const std::string own = replay::archives_directory(options_.log.directory);
  replay::ArchiveResult result;
  if (base_ != nullptr && base_->manifest.lsn == environment_->lsns.last.load()) {  // nothing has happened since
    result.lsn = base_->manifest.lsn;
    for (const storage::ArchiveTable& table : base_->manifest.tables) result.rows += table.rows;
  } else {
    SCYPER_ASSIGN_OR_RETURN(result, archive(runner, own, true, on_progress));
  }
  const auto count = [&](uint64_t bytes) {
    result.stored_bytes = bytes;
    archive_bytes_.store(bytes, std::memory_order_relaxed);
    if (on_progress) on_progress(bytes);
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
  const std::string own = replay::archives_directory(options_.log.directory);
  auto result = storage::is_store_path(archives) ? archive_to_store(runner, archives, on_progress)
                : archives.empty()               ? archive(runner, own, true, on_progress)
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
    std::unique_lock<std::mutex> lock(watch_mutex_);
    while (is_watched_) {
      watch_changed_.wait_for(lock, std::chrono::milliseconds(200));
      const uint64_t written = log_->bytes_written();
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

// Older archives go, and the log that only they needed.
Status Durability::retire_archives() {
  SCYPER_ASSIGN_OR_RETURN(auto entries,
                          storage::list_archives(disk_, replay::archives_directory(options_.log.directory)));
  std::erase_if(entries, [](const storage::ArchiveEntry& entry) { return !entry.is_complete; });
  const size_t kept = std::max<size_t>(1, options_.log.archives_kept);
  while (entries.size() > kept) {
    before_retire.fires();
    SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk_, entries.front()));
    after_retire.fires();
    entries.erase(entries.begin());
  }
  if (entries.size() == kept) log_->drop_before(entries.front().lsn);
  return Status();
}

}  // namespace scyper::primary
