#include "replay/archive_child.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "child_socket.h"

namespace scyper::replay {

namespace {

Failpoint before_fork("archive.before_fork");
Failpoint in_child("archive.in_child");
Failpoint before_go_ahead("archive.before_go_ahead");

constexpr size_t kTextBytesMax = 1000;

// What the child tells: progress, then that all is written but the manifest's name, then how it ended.
struct Message {
  enum class Kind : uint32_t { kProgress = 1, kReady = 2, kDone = 3, kFailed = 4 };
  Kind kind = Kind::kProgress;
  uint32_t text_bytes = 0;
  ArchiveResult result;
};

void send_message(int socket, Message message, std::string_view text = {}) {
  message.text_bytes = static_cast<uint32_t>(std::min(text.size(), kTextBytesMax));
  std::string bytes(reinterpret_cast<const char*>(&message), sizeof(message));
  bytes += text.substr(0, message.text_bytes);
  static_cast<void>(send_all(socket, bytes.data(), bytes.size()));
}

// In the child: its own disk, nothing of the parent's but the tables.
int run_child(const query::ForkedDatabase& forked, int socket, const std::string& archives,
              storage::ArchiveManifest manifest, ArchiveOptions options) {
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
    return receive_all(socket, &go_ahead, 1) ? Status() : absl::UnavailableError("the node has stopped");
  };
  auto result = write_archive(disk.get(), archives, *forked.point.catalog, std::move(manifest), options);
  Message message;
  message.kind = result.ok() ? Message::Kind::kDone : Message::Kind::kFailed;
  if (result.ok()) message.result = *result;
  const std::string text(result.status().message());
  send_message(socket, message, text);
  return result.ok() ? 0 : 1;
}

}  // namespace

StatusOr<ArchiveResult> ArchiveChild::write(Disk* disk, const query::Forker& fork, Request request) {
  SCYPER_RETURN_IF_ERROR(interruption());
  before_fork.fires();
  query::ForkRequest forking;
  forking.child.name = "scyper-archive";
  forking.child.nice = request.nice;
  auto manifest = std::make_shared<storage::ArchiveManifest>(request.manifest);
  auto options = std::make_shared<ArchiveOptions>(request.options);
  forking.at_cut = [manifest, options, at_cut = request.at_cut](const query::ForkPoint& point) {
    if (at_cut) at_cut(point, manifest.get(), options.get());
  };
  forking.body = [manifest, options, archives = request.archives](const query::ForkedDatabase& forked, int socket) {
    return run_child(forked, socket, archives, *manifest, *options);
  };
  SCYPER_ASSIGN_OR_RETURN(query::Forked forked, fork(std::move(forking)));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    child_ = forked.child.get();
    if (is_stopped_) child_->kill();
  }
  auto result = wait_for(&forked, request);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    child_ = nullptr;
  }
  if (result.ok()) return result;
  // what it has written would be there until the next start, and on a full disk keep the log full
  forked.child->kill();
  forked.child->wait();
  static_cast<void>(storage::remove_unfinished(disk, request.archives, forked.point.lsn));
  SCYPER_RETURN_IF_ERROR(interruption());
  return result;
}

StatusOr<ArchiveResult> ArchiveChild::wait_for(query::Forked* forked, const Request& request) {
  Message message;
  std::string text;
  const int socket = forked->child->socket();
  while (receive_all(socket, &message, sizeof(message))) {
    text.resize(std::min<size_t>(message.text_bytes, kTextBytesMax));
    if (!receive_all(socket, text.data(), text.size())) break;
    switch (message.kind) {
      case Message::Kind::kProgress:
        if (request.options.on_progress) request.options.on_progress(message.result.raw_bytes);
        break;
      case Message::Kind::kReady: {
        // what it holds must not be ahead of the log
        SCYPER_RETURN_IF_ERROR(request.wait_logged(forked->point.lsn, [this] { return interruption(); }));
        before_go_ahead.fires();
        const char go_ahead = 1;
        static_cast<void>(send_all(socket, &go_ahead, 1));
        break;
      }
      case Message::Kind::kDone:
        forked->child->wait();
        return message.result;
      case Message::Kind::kFailed:
        forked->child->wait();
        return sql_error("58030", absl::StrCat("the archive could not be written: ", text));
    }
  }
  return sql_error("58030", absl::StrCat("the process that wrote the archive ",
                                         storage::describe_wait_status(forked->child->wait())));
}

void ArchiveChild::stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_stopped_ = true;
  if (child_ != nullptr) child_->kill();
}

Status ArchiveChild::interruption() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_stopped_ ? sql_error("57P03", "the node is shutting down") : Status();
}

}  // namespace scyper::replay
