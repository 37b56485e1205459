#pragma once

#include <atomic>
#include <cstdint>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/metrics.h"
#include "node_parts.h"
#include "rpc.h"
#include "scyper.grpc.pb.h"

namespace scyper::server {

class Interaction;

// The open streams of Transactions.Interact. Each has a thread of its own: a statement may wait for a row that another
// stream's transaction holds, and that transaction's COMMIT needs a thread to run on. Owner: TransactionsService, which
// outlives the streams. Threads: any.
class Interactions {
 public:
  explicit Interactions(NodeParts* node);

  // A call of the method, for one stream.
  StreamRpc<v1::InteractRequest, v1::InteractResponse>* make();
  // The node stops: streams end with 57P01 once the statement that they run has ended.
  void begin_stop();
  bool is_busy();  // a stream runs a statement

 private:
  friend class Interaction;
  Status add(Interaction* stream);
  void remove(Interaction* stream);

  NodeParts* const node_;
  Gauge& open_;
  absl::Mutex mutex_;
  std::set<Interaction*> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace scyper::server
