#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "primary/blocks.h"
#include "primary/engine.h"
#include "query/result.h"
#include "storage/type.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc
namespace scyper::v1 {
class CallRequest;
class CallResponse;
class InteractRequest;
class Settings;
}  // namespace scyper::v1

namespace scyper::server {

class QueryRouter;
class SecondaryEngine;
class StepStream;

// A session's, for another node. settings: null = none.
void encode_settings(const query::SettingValues* settings, v1::Settings* message);
// Those of another node's session.
query::SettingValues settings_of(const v1::Settings& message);

// Transactions of a secondary's sessions, which the primary runs. Each has an identity and is sent again under it until
// its outcome is known, to another primary, too: it is done once. Threads: any.
class Forwarding {
 public:
  // engine: of this node. On a primary nothing is forwarded.
  Forwarding(QueryRouter* router, primary::Engine* engine);

  bool is_needed() const { return secondary_ != nullptr; }
  // Statements and COPYs so far.
  uint64_t forwarded() const { return forwarded_.load(std::memory_order_relaxed); }
  struct Description {
    std::vector<SqlType> parameters;
    std::vector<query::ResultColumn> columns;
  };
  StatusOr<Description> describe(std::string_view sql);
  // As Engine::execute() there. 25006 or 57P03 when there is no primary, with the hint of a secondary; 40003 when it
  // has gone and nobody tells what became of the transaction.
  Status execute(std::string_view sql, std::span<const SqlType> types, std::span<const Datum> arguments,
                 const primary::StatementLimits& limits, query::ResultSet* result);

  // As Engine::open_copy() there. Not done again under an identity: when the primary goes away at the end of the text,
  // 40003.
  StatusOr<std::unique_ptr<primary::CopyIn>> open_copy(std::string_view sql, const primary::StatementLimits& limits);

  // As primary::begin_block() there. Nothing is sent before its first statement: errors of beginning are that one's.
  // Reads on snapshots of this node may be added until then.
  std::unique_ptr<primary::OpenTransaction> make_block(primary::BlockLevel level);
  // Of such a block: a stream to the primary that has taken this step.
  StatusOr<std::unique_ptr<StepStream>> open_block(const v1::InteractRequest& begin);

 private:
  struct Attempt {
    Status status;
    bool is_sent = false;   // the node may have done it
    bool has_word = false;  // of that node's about this call
  };
  StatusOr<std::shared_ptr<grpc::Channel>> connect(const std::string& target);
  Attempt try_call(const std::string& target, const v1::CallRequest& request, const primary::StatementLimits& limits,
                   v1::CallResponse* response);
  // After a refusal: who else may be the primary; empty: nobody is known.
  std::string next_target(const std::string& target, const Status& why) const;

  QueryRouter* const router_;
  SecondaryEngine* const secondary_;  // null: a primary
  const uint64_t client_id_;
  std::atomic<uint64_t> last_request_{0};
  std::atomic<uint64_t> forwarded_{0};
};

}  // namespace scyper::server
