#pragma once

#include <atomic>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "completion_loop.h"
#include "node_parts.h"
#include "scyper.pb.h"
#include "server/packed.h"

namespace scyper::server {

class CallBatch;

// One call of a batch on its way through the engine.
struct CallSlot : primary::Transaction {
  CallBatch* batch = nullptr;
  std::atomic<bool> answered{false};  // released by the worker after status and result, acquired by the loop
  bool sent = false;                  // the loop's own
};

// The statements a stream has used. A session's own; spares the shared registry's lock.
using StatementCache = std::unordered_map<uint64_t, Statements::Pointer>;

enum class DecodeResult { kOk, kMalformed, kNeedsCompilation };
// What decode() does with SQL text that is not compiled yet.
enum class UnknownText { kReport, kCompile, kRefuse };

// One received message of calls: decoded into reused slots, submitted as a whole, answered when all are done (or in
// parts). Owner: StreamSession, which reuses it; its memory follows the largest message. Threads: the loop's, or a pool
// thread while it decodes; workers touch only slots, `remaining` and the completion.
class CallBatch : public Completion {
 public:
  explicit CallBatch(NodeParts* node) : node_(node) {}

  v1::CallBatch request;
  CompletionLoop* loop = nullptr;
  void* session = nullptr;
  std::string mark;  // of its statements' texts: whom they run for
  int64_t received_ns = 0;

  // Slots from the request. Unknown SQL text: kCompile blocks; kRefuse fails those calls with 53300; kReport answers
  // kNeedsCompilation, and decode() must be called again, where blocking is allowed.
  DecodeResult decode(StatementCache* cache, UnknownText unknown);
  // Hands the decoded calls to the engine. True: all are answered already. False: `run` will be posted to the loop.
  bool submit();
  uint32_t count() const { return count_; }
  // Of the calls that are encoded.
  bool has_failures() const { return has_failures_; }
  bool packed() const { return packed_; }
  const Status& malformed() const { return malformed_; }

  // Appends what is answered and not yet sent; returns how many calls that were.
  uint32_t encode_answered(v1::ResultBatch* out);
  void clear();

 private:
  CallSlot& next_slot();
  DecodeResult decode_packed(StatementCache* cache);
  DecodeResult decode_typed(StatementCache* cache, UnknownText unknown);
  Status decode_call(const v1::Call& call, CallSlot* slot);
  Status decode_packed_row(std::string_view row, CallSlot* slot);
  void prepare_slot(CallSlot* slot, uint64_t request_id, uint32_t timeout_ms);
  void fail_slot(CallSlot* slot, Status status);
  static void on_done(primary::Transaction* transaction);

  NodeParts* const node_;
  std::deque<CallSlot> slots_;  // a deque: slots never move
  uint32_t count_ = 0;
  bool has_failures_ = false;
  bool packed_ = false;
  Status malformed_;
  std::vector<primary::Transaction*> submitted_;
  std::atomic<uint32_t> remaining_{0};
  RowArena arena_;
};

// Results as messages; also for unary calls.
void encode_typed_result(const primary::Transaction& call, v1::CallResult* out);

}  // namespace scyper::server
