#include "archivist.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/archive.h"

namespace scyper::secondary {

namespace {

// What the child says when it is done.
struct Message {
  bool ok = false;
  char text[255] = {};
  replay::ArchiveResult result;
};

int run_child(const query::ForkedDatabase& forked, int socket, const std::string& archives,
              storage::ArchiveManifest manifest, uint64_t rate) {
  auto disk = make_real_disk();
  manifest.lsn = forked.point.lsn;
  manifest.time_us = forked.point.time_us;
  replay::ArchiveOptions options;
  options.bytes_per_second_max = rate;
  auto result = replay::write_archive(disk.get(), archives, *forked.point.catalog, std::move(manifest), options);
  Message message;
  message.ok = result.ok();
  if (result.ok()) message.result = *result;
  const absl::string_view text = result.status().message();
  std::memcpy(message.text, text.data(), std::min(text.size(), sizeof(message.text) - 1));
  static_cast<void>(::send(socket, &message, sizeof(message), MSG_NOSIGNAL));
  return result.ok() ? 0 : 1;
}

bool receive(int socket, Message* message) {
  ssize_t n;
  do {
    n = ::recv(socket, message, sizeof(*message), MSG_WAITALL);
  } while (n < 0 && errno == EINTR);
  return n == sizeof(*message);
}

}  // namespace

StatusOr<Archivist::Written> Archivist::write(const std::string& archives, uint64_t term) {
  std::lock_guard<std::mutex> lock(writing_);
  const std::string& to = !archives.empty() ? archives : options_.own.empty() ? options_.shared : options_.own;
  if (to.empty()) return sql_error("55000", "the node has no data directory and no archive directory");
  if (storage::is_store_path(to)) {
    return with_hint(sql_error("0A000", "a node without a data directory cannot write archives to a store"),
                     "Give it a data directory.");
  }
  SCYPER_RETURN_IF_ERROR(disk_->make_directory(to));
  Written written;
  SCYPER_ASSIGN_OR_RETURN(written.result, write_to(to, term));
  written.path = storage::archive_path(to, written.result.lsn);
  if (!archives.empty()) return written;
  if (!options_.own.empty()) {
    SCYPER_ASSIGN_OR_RETURN(written.oldest_own_lsn, retire(disk_, options_.own));
    if (!options_.shared.empty()) SCYPER_RETURN_IF_ERROR(share(written.path, written.result.lsn));
  }
  if (!options_.shared.empty()) SCYPER_RETURN_IF_ERROR(retire(stores_.get(), options_.shared).status());
  return written;
}

StatusOr<replay::ArchiveResult> Archivist::write_to(const std::string& archives, uint64_t term) {
  auto manifest = std::make_shared<storage::ArchiveManifest>();
  manifest->cluster[0] = identity_.cluster.words[0];
  manifest->cluster[1] = identity_.cluster.words[1];
  manifest->term = term;
  manifest->partitions = identity_.partitions;
  query::ForkRequest request;
  request.child.name = "scyper-archive";
  request.child.nice = 5;
  request.at_cut = [this, manifest](const query::ForkPoint& point) {
    manifest->attachments.emplace_back("requests", requests_->encode(point.lsn));
  };
  request.body = [manifest, archives, rate = options_.bytes_per_second_max](const query::ForkedDatabase& forked,
                                                                            int socket) {
    return run_child(forked, socket, archives, *manifest, rate);
  };
  SCYPER_ASSIGN_OR_RETURN(query::Forked forked, fork_(std::move(request)));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_) return sql_error("57P03", "the node is shutting down");
    child_ = forked.child.get();
  }
  Message message;
  const bool has_answered = receive(forked.child->socket(), &message);
  const int status = forked.child->wait();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    child_ = nullptr;
  }
  if (has_answered && message.ok) return message.result;
  return sql_error("58030", has_answered ? absl::StrCat("the archive could not be written: ", message.text)
                                         : absl::StrCat("the process that wrote the archive ",
                                                        storage::describe_wait_status(status)));
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

Status Archivist::share(const std::string& path, uint64_t lsn) {
  SCYPER_RETURN_IF_ERROR(stores_->make_directory(options_.shared));
  // another node's, of the same history
  if (stores_->exists(storage::archive_path(options_.shared, lsn) + "/MANIFEST")) return Status();
  return storage::copy_archive(disk_, path, stores_.get(), options_.shared, options_.bytes_per_second_max, {}).status();
}

// The LSN of the oldest one that stays; 0 while there are fewer than are kept.
StatusOr<uint64_t> Archivist::retire(Disk* disk, const std::string& archives) {
  SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(disk, archives));
  std::erase_if(entries, [](const storage::ArchiveEntry& entry) { return !entry.is_complete; });
  const size_t kept = std::max(1u, options_.kept);
  while (entries.size() > kept) {
    SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk, entries.front()));
    entries.erase(entries.begin());
  }
  return entries.size() == kept ? entries.front().lsn : 0;
}

void Archivist::stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_stopping_ = true;
  if (child_ != nullptr) child_->kill();
}

}  // namespace scyper::secondary
