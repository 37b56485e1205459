#include "query_router.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/text_file.h"
#include "query/normalise.h"
#include "scyper.pb.h"
#include "secondary_engine.h"

namespace scyper::server {

namespace {

constexpr size_t kChannelsMax = 256;  // nodes of a cluster, and some that have gone
constexpr size_t kVerdictsMax = 4096, kVerdictBytesMax = size_t{4} << 20;

bool wants_global(const query::QueryOptions& options) {
  return options.session == 0 && options.freshness.kind == query::Freshness::Kind::kFresh;
}

// How old an answer may be. A session has its snapshot already, and who names an LSN gets at least that.
int64_t staleness_us_of(const query::QueryOptions& options) {
  if (options.session != 0 || options.freshness.kind == query::Freshness::Kind::kAtLeast) return INT64_MAX;
  return options.freshness.kind == query::Freshness::Kind::kStaleness ? options.freshness.staleness_us : 0;
}

// Snapshots are served on without a primary, but never as if they were new.
std::string stale_notice(int64_t silence_us) {
  if (silence_us == 0) return "";
  return absl::StrFormat(
      "WARNING: the answer is stale: this node has not heard from a primary for %d ms and does not know what has been "
      "committed since",
      silence_us / 1000);
}

void use(const replication::Ticket& ticket, query::Freshness* freshness) {
  freshness->kind = query::Freshness::Kind::kGlobal;
  freshness->term = ticket.term;
  freshness->snapshot = ticket.snapshot;
}

// Where nothing is replayed there are no cuts to fork at.
Status check_global(const query::Freshness& freshness) {
  if (freshness.kind != query::Freshness::Kind::kGlobal) return Status();
  return with_hint(sql_error("55000", "the primary keeps no global snapshots"), "Ask a secondary.");
}

}  // namespace

bool is_for_transactions(const Status& status) { return sqlstate_of(status) == "25006"; }

QueryRouter::QueryRouter(const ServerOptions& options, primary::Engine* engine)
    : options_(options),
      engine_(engine),
      secondary_(dynamic_cast<SecondaryEngine*>(engine)),
      verdicts_(kVerdictsMax, kVerdictBytesMax) {}

StatusOr<QueryRouter::Route> QueryRouter::route(bool is_here, std::string_view sql, std::span<const Datum> arguments,
                                                query::QueryOptions* options) {
  const Query query{sql, arguments, options->argument_types};
  auto route =
      secondary_ != nullptr ? route_of_secondary(is_here, query, options) : route_of_primary(is_here, query, *options);
  if (route.ok() && !route->address.empty()) passed_on_.fetch_add(1, std::memory_order_relaxed);
  return route;
}

StatusOr<QueryRouter::Route> QueryRouter::route_of_primary(bool is_here, const Query& query,
                                                           const query::QueryOptions& options) const {
  const replication::PublisherOptions* publisher = engine_->publisher();
  // without somebody who could take it the primary forks for itself: no marker is needed
  if (is_here || publisher == nullptr || !wants_global(options)) return Route();
  const std::vector<replication::Member> members = publisher->members->list();
  if (members.empty()) return Route();
  // planned here only where it may matter: whoever answers plans it again
  const bool has_partial =
      std::any_of(members.begin(), members.end(), [](const auto& member) { return !member.partitions.is_all(); });
  const PartitionSet reads = has_partial ? read_by(query) : PartitionSet::all();
  SCYPER_ASSIGN_OR_RETURN(auto ticket, publisher->ticket("", reads));
  if (ticket.node.empty()) return Route();
  return Route{ticket.node, ticket.address, ticket, ""};
}

// By this node's newest catalog. Where the query runs it is asked again, by the catalog of the snapshot.
PartitionSet QueryRouter::read_by(const Query& query) const {
  return engine_->queries()->partitions_of(query.sql, query.arguments, query.argument_types);
}

StatusOr<QueryRouter::Route> QueryRouter::route_of_secondary(bool is_here, const Query& query,
                                                             query::QueryOptions* options) {
  const PartitionSet& held = secondary_->queries()->options().partitions;
  if (is_here || !wants_global(*options)) {
    // what it has not the primary answers, as fresh as it has been asked for; a session stays
    const bool may_go = !is_here && options->session == 0;
    if (may_go && !held.is_all() && !held.covers(read_by(query))) return Route{"", secondary_->primary(), {}, ""};
    SCYPER_RETURN_IF_ERROR(secondary_->node().readiness_for(staleness_us_of(*options)));
    Route route;
    route.notice = stale_notice(secondary_->node().silence_us());
    return route;
  }
  if (may_be_short(query.sql)) return Route{"", secondary_->primary(), {}, "", /*is_short=*/true};
  return route_by_ticket(query, options);
}

namespace {
// What queries that differ in their literals have in common.
std::string shape_of(std::string_view sql) {
  query::NormalisedText text;
  return query::normalise(sql, &text) ? std::move(text.text) : std::string(sql);
}
}  // namespace

// The primary decides. Whether it may be so is seen by the text.
bool QueryRouter::may_be_short(std::string_view sql) {
  if (secondary_->primary().empty()) return false;
  const std::string shape = shape_of(sql);
  const uint64_t version = secondary_->catalog()->version;
  const int64_t now_ns = RealClock().monotonic_ns();
  if (verdicts_.find(shape, version, now_ns).has_value()) return false;
  if (secondary_->node().database()->may_be_short(sql)) return true;
  verdicts_.set(shape, version, primary::ShortRead::kLong, now_ns);  // its text is not read again
  return false;
}

StatusOr<QueryRouter::Route> QueryRouter::route_by_ticket(const Query& query, query::QueryOptions* options) {
  const PartitionSet reads = secondary_->node().takes_partial() ? read_by(query) : PartitionSet::all();
  SCYPER_ASSIGN_OR_RETURN(const replication::Ticket ticket, ask_for_ticket(reads));
  if (ticket.node == secondary_->options().queries.node) {
    use(ticket, &options->freshness);
    return Route{ticket.node, "", ticket, ""};
  }
  return Route{ticket.node, ticket.node.empty() ? secondary_->primary() : ticket.address, ticket, ""};
}

StatusOr<replication::Ticket> QueryRouter::ask_for_ticket(const PartitionSet& reads) {
  auto ticket = secondary_->node().link()->ticket(reads);
  if (ticket.ok()) return ticket;
  return with_hint(
      sql_error("57P03", "the primary cannot be asked for a snapshot: " + std::string(ticket.status().message())),
      "Retry, or allow staleness.");
}

// What this node has applied may be less than what was committed before the session: its own fork would not do.
Status QueryRouter::pin(query::Freshness* freshness) {
  if (secondary_ == nullptr) return check_global(*freshness);
  query::QueryOptions options;
  options.freshness = *freshness;
  SCYPER_RETURN_IF_ERROR(secondary_->node().readiness_for(staleness_us_of(options)));
  if (!wants_global(options)) return Status();
  // a session stays where it was opened: any snapshot that this node can have will do
  SCYPER_ASSIGN_OR_RETURN(const replication::Ticket ticket, ask_for_ticket(PartitionSet()));
  use(ticket, freshness);
  return Status();
}

void QueryRouter::address(const Route& route, v1::QueryOptions* options) {
  // the primary's own snapshots are not global: it takes the query as one that came to it
  options->set_here(true);
  options->set_only_short(route.is_short);
  options->set_read_only(route.is_short);  // what writes goes with its session's settings, as a transaction
  if (route.node.empty()) return;
  options->mutable_ticket()->set_term(route.ticket.term);
  options->mutable_ticket()->set_snapshot(route.ticket.snapshot);
}

StatusOr<QueryRouter::Route> QueryRouter::instead(const Route& failed, const Status& status, std::string_view sql,
                                                  std::span<const Datum> arguments, query::QueryOptions* options) {
  const bool has_gone = absl::IsUnavailable(status) || sqlstate_of(status) == "55000";
  const bool is_long = failed.is_short && sqlstate_of(status) == "0A000";
  if (is_long)
    verdicts_.set(shape_of(sql), secondary_->catalog()->version, primary::ShortRead::kLong, RealClock().monotonic_ns());
  if (failed.is_short && (is_long || has_gone))
    return route_by_ticket({sql, arguments, options->argument_types}, options);
  if (!has_gone || failed.node.empty()) return status;  // no other node was to answer
  if (secondary_ == nullptr) return Route();
  return Route{"", secondary_->primary(), failed.ticket, ""};
}

void QueryRouter::note(const Route& route, int change) {
  const replication::PublisherOptions* publisher = engine_->publisher();
  if (publisher != nullptr && !route.node.empty()) publisher->members->add_ticket(route.ticket.member, change);
}

std::shared_ptr<grpc::Channel> QueryRouter::channel(const std::string& address) {
  const auto tls = options_.tls == nullptr ? nullptr : options_.tls->texts();
  std::lock_guard<std::mutex> lock(mutex_);
  // calls that run keep their connection
  if (tls != nullptr && std::exchange(tls_version_, tls->version) != tls->version) channels_.clear();
  auto& channel = channels_[address];
  if (channel == nullptr) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    // a node that is gone without a word ends the query, which then runs here
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (tls != nullptr) credentials = grpc::SslCredentials({tls->trusted(), tls->key, tls->certificate});
    channel = grpc::CreateCustomChannel(address, credentials, arguments);
  }
  auto made = channel;
  if (channels_.size() > kChannelsMax) channels_.clear();
  return made;
}

}  // namespace scyper::server
