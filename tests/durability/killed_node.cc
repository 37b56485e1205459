#include "killed_node.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/metrics.h"
#include "query/catalog_image.h"
#include "replay/state_digest.h"
#include "secondary/node.h"
#include "server/server.h"
#include "storage/temporary.h"

namespace scyper::tests {
namespace {

constexpr size_t kMemoryBytes = size_t{512} << 20;
constexpr uint32_t kPartitions = 4;
constexpr int kAppliedWaitMs = 60'000;

// --- messages: 8 bytes length, then the bytes ---

bool send_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}
bool send_message(int socket, std::string_view bytes) {
  const uint64_t size = bytes.size();
  return send_bytes(socket, {reinterpret_cast<const char*>(&size), sizeof(size)}) && send_bytes(socket, bytes);
}
bool receive_bytes(int socket, void* to, size_t size) {
  return size == 0 || ::recv(socket, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}
bool receive_message(int socket, std::string* bytes) {
  uint64_t size = 0;
  if (!receive_bytes(socket, &size, sizeof(size))) return false;
  bytes->resize(size);
  return receive_bytes(socket, bytes->data(), size);
}

void put(std::string* to, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  to->append(reinterpret_cast<const char*>(&size), sizeof(size)).append(text);
}
std::string_view take(std::string_view* from) {
  uint32_t size = 0;
  std::memcpy(&size, from->data(), sizeof(size));
  const std::string_view text = from->substr(sizeof(size), size);
  from->remove_prefix(sizeof(size) + size);
  return text;
}

// --- in the node's process ---

std::string encode_sequences(const query::Catalog& catalog) {
  std::string bytes;
  for (const auto& [name, sequence] : catalog.sequences) {
    if (storage::is_temporary(sequence->definition().id)) continue;
    const storage::SequenceState state = sequence->state();
    put(&bytes, name);
    put(&bytes, {reinterpret_cast<const char*>(&state), sizeof(state)});
  }
  return bytes;
}

// Without the version, which counts what is not logged too, and the states of sequences.
std::string image_of(const query::Catalog& catalog) {
  query::Catalog copy = catalog;
  copy.version = 1;
  for (auto& [name, sequence] : copy.sequences) sequence = std::make_shared<storage::Sequence>(sequence->definition());
  return query::encode_catalog(copy);
}

class Served {
 public:
  Status start(const KilledNodeOptions& options) {
    if (options.primary_port != 0) return follow(options);
    primary::EngineOptions engine;
    engine.partitions = kPartitions;
    engine.workers = 2;
    engine.memory_bytes = kMemoryBytes;
    engine.page_mode = storage::PageMode::kSmall;
    engine.redo = options.redo;
    engine.log.directory = options.directory;
    engine.log.shadows_redo = true;
    engine.log.segment_bytes = 1 << 20;
    engine.replication.is_on = options.has_secondaries;
    engine.replication.transport = primary::TransportChoice::kUnicast;
    SCYPER_ASSIGN_OR_RETURN(engine_, primary::Engine::create(engine));
    server::ServerOptions serving;
    serving.listen = "127.0.0.1:0";
    serving.http_listen.clear();
    serving.postgres_listen = "127.0.0.1:0";
    SCYPER_ASSIGN_OR_RETURN(server_, server::Server::start(serving, engine_.get(), &metrics_));
    return Status();
  }
  std::string ports() const {
    return server_ == nullptr ? std::string("0 0") : absl::StrCat(server_->postgres_port(), " ", server_->port());
  }
  StatusOr<std::string> answer(char what, uint64_t lsn) {
    if (what == 'a') {
      const primary::Engine::LogInfo info = engine_->log_info();
      if (info.archive_lsn != info.last_lsn) SCYPER_RETURN_IF_ERROR(engine_->write_archive("", nullptr).status());
      return std::string();
    }
    if (what == 's') return encode_sequences(*catalog());
    return state(lsn);
  }

 private:
  Status follow(const KilledNodeOptions& options) {
    secondary::NodeOptions following;
    following.link.target = absl::StrCat("127.0.0.1:", options.primary_port);
    following.link.node = "secondary";
    following.database.memory_bytes = kMemoryBytes;
    following.database.page_mode = storage::PageMode::kSmall;
    following.data_directory = options.directory;
    SCYPER_ASSIGN_OR_RETURN(node_, secondary::Node::start(following));
    return Status();
  }
  std::shared_ptr<const query::Catalog> catalog() const {
    return node_ != nullptr ? node_->database()->catalog() : engine_->catalog();
  }
  StatusOr<std::string> state(uint64_t lsn) {
    for (int waited = 0; node_ != nullptr && node_->info().applied_lsn < lsn; ++waited) {
      bool restarts_empty = false;
      SCYPER_RETURN_IF_ERROR(node_->failure(&restarts_empty));
      if (waited == kAppliedWaitMs) return sql_error("57014", "the secondary does not come to the primary's LSN");
      ::usleep(1000);
    }
    auto forked =
        node_ != nullptr ? node_->fork(replay::make_digest_request()) : engine_->fork(replay::make_digest_request());
    SCYPER_RETURN_IF_ERROR(forked.status());
    SCYPER_ASSIGN_OR_RETURN(const replication::StateDigest digest, replay::read_digest(*forked));
    std::string bytes;
    put(&bytes, {reinterpret_cast<const char*>(&digest.lsn), sizeof(digest.lsn)});
    put(&bytes, image_of(*catalog()));
    put(&bytes, encode_sequences(*catalog()));
    for (const auto& part : digest.parts) {
      if (part.rows == 0) continue;
      put(&bytes, absl::StrCat("table ", part.table, ", partition ", part.partition));
      put(&bytes, absl::StrCat(part.rows, " rows, digest ", absl::Hex(part.hi), absl::Hex(part.lo, absl::kZeroPad16)));
    }
    return bytes;
  }

  MetricsRegistry metrics_;
  std::unique_ptr<primary::Engine> engine_;
  std::unique_ptr<secondary::Node> node_;
  std::unique_ptr<server::Server> server_;
};

// Answers begin with '+', errors with '-'.
[[noreturn]] void serve(const KilledNodeOptions& options, int socket) {
  Served served;
  const Status started = served.start(options);
  send_message(socket, started.ok() ? "+" + served.ports()
                                    : absl::StrCat("-", sqlstate_of(started), ": ", std::string(started.message())));
  std::string question;
  while (receive_message(socket, &question)) {
    uint64_t number = 0;
    std::memcpy(&number, question.data() + 1, sizeof(number));
    const StatusOr<std::string> answer = served.answer(question[0], number);
    send_message(socket, answer.ok() ? "+" + *answer : absl::StrCat("-", answer.status().ToString()));
  }
  ::_exit(0);  // whoever has started it is gone
}

StatusOr<std::map<std::string, storage::SequenceState>> decode_sequences(std::string_view bytes) {
  std::map<std::string, storage::SequenceState> sequences;
  while (!bytes.empty()) {
    const std::string name(take(&bytes));
    std::memcpy(&sequences[name], take(&bytes).data(), sizeof(storage::SequenceState));
  }
  return sequences;
}

}  // namespace

StatusOr<KilledNode> KilledNode::start(const KilledNodeOptions& options) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return sql_error("58030", "no socket");
  std::fflush(nullptr);
  KilledNode node;
  node.process_ = ::fork();
  if (node.process_ == 0) {
    ::close(ends[0]);
    serve(options, ends[1]);
  }
  ::close(ends[1]);
  node.socket_ = ends[0];
  std::string answer;
  if (!receive_message(node.socket_, &answer)) return sql_error("58030", "the node ended when it started");
  if (answer[0] == '-') return sql_error("XX001", answer.substr(1));
  unsigned postgres_port = 0, port = 0;
  std::sscanf(answer.c_str() + 1, "%u %u", &postgres_port, &port);
  node.postgres_port_ = static_cast<uint16_t>(postgres_port);
  node.port_ = static_cast<uint16_t>(port);
  return node;
}

KilledNode::KilledNode(KilledNode&& other) noexcept { *this = std::move(other); }

KilledNode& KilledNode::operator=(KilledNode&& other) noexcept {
  if (this == &other) return *this;
  kill();
  process_ = std::exchange(other.process_, 0);
  socket_ = std::exchange(other.socket_, -1);
  postgres_port_ = other.postgres_port_;
  port_ = other.port_;
  return *this;
}

void KilledNode::kill() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (socket_ >= 0) ::close(socket_);
  process_ = 0;
  socket_ = -1;
}

StatusOr<std::string> KilledNode::ask(char what, uint64_t number) {
  std::string question(1, what), answer;
  question.append(reinterpret_cast<const char*>(&number), sizeof(number));
  if (!send_message(socket_, question) || !receive_message(socket_, &answer)) {
    return sql_error("58030", "the node has ended");
  }
  if (answer[0] == '-') return sql_error("XX001", answer.substr(1));
  return answer.substr(1);
}

StatusOr<NodeState> KilledNode::state(uint64_t lsn) {
  SCYPER_ASSIGN_OR_RETURN(const std::string answer, ask('d', lsn));
  std::string_view bytes = answer;
  NodeState state;
  std::memcpy(&state.lsn, take(&bytes).data(), sizeof(state.lsn));
  state.catalog = take(&bytes);
  SCYPER_ASSIGN_OR_RETURN(state.sequences, decode_sequences(take(&bytes)));
  while (!bytes.empty()) {
    const std::string part(take(&bytes));
    state.parts[part] = take(&bytes);
  }
  return state;
}

StatusOr<std::map<std::string, storage::SequenceState>> KilledNode::sequences() {
  SCYPER_ASSIGN_OR_RETURN(const std::string answer, ask('s', 0));
  return decode_sequences(answer);
}

Status KilledNode::write_archive() { return ask('a', 0).status(); }

}  // namespace scyper::tests
