#include "replay/state_digest.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "child_socket.h"
#include "storage/child_process.h"
#include "storage/partition_digest.h"
#include "storage/temporary.h"

namespace scyper::replay {

namespace {

// One partition of a table on its way from the child; its name follows. The end: no name.
struct Message {
  uint64_t lo = 0, hi = 0, rows = 0;
  uint32_t partition = 0;
  uint32_t name_bytes = 0;
  uint64_t is_shared = 0;
};
constexpr uint32_t kNameBytesMax = 1 << 16;

// In the child.
int run_child(const query::ForkedDatabase& forked, int socket, const PartitionSet& held) {
  for (const auto& [name, table] : forked.point.catalog->tables) {
    if (storage::is_temporary(table->schema().id)) continue;
    const bool is_shared = table->schema().scheme == storage::PartitionScheme::kShared;
    for (uint32_t i = 0; i < table->partition_count(); ++i) {
      if (!is_shared && !held.has(i) && table->partition(i)->live_tuples == 0) continue;
      const StatusOr<storage::Digest> digest = storage::partition_digest(*table, i);
      if (!digest.ok()) return 1;
      Message message;
      message.lo = digest->lo;
      message.hi = digest->hi;
      message.rows = table->partition(i)->live_tuples;
      message.partition = i;
      message.is_shared = is_shared ? 1 : 0;
      message.name_bytes = static_cast<uint32_t>(name.size());
      std::string bytes(reinterpret_cast<const char*>(&message), sizeof(message));
      bytes += name;
      if (!send_all(socket, bytes.data(), bytes.size())) return 1;
    }
  }
  const Message end;
  return send_all(socket, &end, sizeof(end)) ? 0 : 1;
}

}  // namespace

query::ForkRequest make_digest_request(const PartitionSet& held) {
  query::ForkRequest request;
  request.child.name = "scyper-digest";
  request.child.nice = 10;
  request.body = [held](const query::ForkedDatabase& forked, int socket) { return run_child(forked, socket, held); };
  return request;
}

StatusOr<replication::StateDigest> read_digest(const query::Forked& forked) {
  replication::StateDigest digest;
  digest.term = forked.point.term;
  digest.snapshot = forked.point.snapshot;
  digest.lsn = forked.point.lsn;
  Message message;
  while (receive_all(forked.child->socket(), &message, sizeof(message))) {
    if (message.name_bytes == 0) {
      forked.child->wait();
      return digest;
    }
    std::string name(std::min(message.name_bytes, kNameBytesMax), '\0');
    if (!receive_all(forked.child->socket(), name.data(), name.size())) break;
    digest.parts.push_back(
        {std::move(name), message.partition, message.lo, message.hi, message.rows, message.is_shared != 0});
  }
  return sql_error("58030", absl::StrCat("the process that computed the digest ",
                                         storage::describe_wait_status(forked.child->wait())));
}

}  // namespace scyper::replay
