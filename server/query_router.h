#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/partition_set.h"
#include "base/status.h"
#include "primary/engine.h"
#include "primary/read_verdicts.h"
#include "query/queries.h"
#include "replication/publisher.h"
#include "server/server.h"

namespace grpc {
class Channel;
}
namespace scyper::v1 {
class QueryOptions;
}

namespace scyper::server {

class SecondaryEngine;

// A statement that only asks for rows, but calls a function which writes, ended so: it runs as a transaction.
bool is_for_transactions(const Status& status);

// Where a query runs: the primary's tickets say on which global snapshot and node; every node takes queries and passes
// them on (docs/replication.md, "Queries"). Threads: any.
class QueryRouter {
 public:
  QueryRouter(const ServerOptions& options, primary::Engine* engine);

  struct Route {
    std::string node;
    std::string address;  // empty = here
    replication::Ticket ticket;
    std::string notice;  // goes with the answer: this node hears no primary; else empty
    // The primary's worker answers, if the query is a short read (docs/postgres_protocol.md).
    bool is_short = false;
  };
  // Of a query, by what of the partitioned tables it reads. Changes *options to the ticket's snapshot. is_here: this
  // node, whatever the load; the request has been passed on already, has a session, or asks for it.
  StatusOr<Route> route(bool is_here, std::string_view sql, std::span<const Datum> arguments,
                        query::QueryOptions* options);
  // The wish of a session that this node is to have: on a secondary a fresh one gets the snapshot of a ticket, which
  // other secondaries have, too.
  Status pin(query::Freshness* freshness);
  // Makes the options of a request those of a query that another node, the route's, is to answer itself.
  static void address(const Route& route, v1::QueryOptions* options);
  // Where a query goes on that the route's node ended so, before its first row: it was no short read after all; or that
  // node, or its snapshot, has gone meanwhile or was never there, and the primary takes it. `status`: it has failed.
  StatusOr<Route> instead(const Route& failed, const Status& status, std::string_view sql,
                          std::span<const Datum> arguments, query::QueryOptions* options);
  // While a query runs there.
  void note(const Route& route, int change);
  // How many queries another node was to answer.
  uint64_t passed_on() const { return passed_on_.load(std::memory_order_relaxed); }
  // The connection to another node.
  std::shared_ptr<grpc::Channel> channel(const std::string& address);

 private:
  struct Query {
    std::string_view sql;
    std::span<const Datum> arguments;
    const std::vector<SqlType>* argument_types;
  };
  StatusOr<Route> route_of_primary(bool is_here, const Query& query, const query::QueryOptions& options) const;
  StatusOr<Route> route_of_secondary(bool is_here, const Query& query, query::QueryOptions* options);
  StatusOr<Route> route_by_ticket(const Query& query, query::QueryOptions* options);
  bool may_be_short(std::string_view sql);
  PartitionSet read_by(const Query& query) const;
  StatusOr<replication::Ticket> ask_for_ticket(const PartitionSet& reads);

  const ServerOptions options_;
  primary::Engine* const engine_;
  SecondaryEngine* const secondary_;  // null: a primary
  primary::ReadVerdicts verdicts_;    // of a secondary: which queries were no short reads
  std::atomic<uint64_t> passed_on_{0};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;
  uint64_t tls_version_ = 0;  // of all of them
};

}  // namespace scyper::server
