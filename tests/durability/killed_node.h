#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "primary/engine.h"
#include "storage/sequence.h"

// A node in a process of its own, which serves PostgreSQL's protocol, tells what it holds and is ended by kill -9.
namespace scyper::tests {

// What a node holds, as text that two nodes, or two lives of one, are compared by.
struct NodeState {
  uint64_t lsn = 0;
  std::map<std::string, std::string> parts;  // "table t, partition 2" -> rows and digest
  std::string catalog;                       // its image, without what belongs to one process
  std::map<std::string, storage::SequenceState> sequences;
};

struct KilledNodeOptions {
  std::string directory;  // of data
  primary::RedoMode redo = primary::RedoMode::kLogical;
  bool has_secondaries = false;
  uint16_t primary_port = 0;  // it follows the primary there; 0: it is one itself
};

// Threads: one, in a process without others: a fork has no other thread.
class KilledNode {
 public:
  // Starts the process and waits until it serves; of one that does not, the status says why.
  static StatusOr<KilledNode> start(const KilledNodeOptions& options);
  KilledNode(KilledNode&& other) noexcept;
  KilledNode& operator=(KilledNode&& other) noexcept;
  ~KilledNode() { kill(); }

  uint16_t postgres_port() const { return postgres_port_; }
  uint16_t port() const { return port_; }
  // All that is committed; of a secondary as soon as it has applied `lsn`.
  StatusOr<NodeState> state(uint64_t lsn = 0);
  StatusOr<std::map<std::string, storage::SequenceState>> sequences();
  Status write_archive();
  void kill();  // -9

 private:
  KilledNode() = default;
  StatusOr<std::string> ask(char what, uint64_t number);

  pid_t process_ = 0;
  int socket_ = -1;
  uint16_t postgres_port_ = 0, port_ = 0;
};

}  // namespace scyper::tests
