#include "replication_metrics.h"

#include <string>
#include <utility>

#include "metric_families.h"
#include "replication/outbox.h"
#include "secondary_engine.h"

namespace scyper::server {

namespace {

constexpr MetricType kCounter = MetricType::kCounter, kGauge = MetricType::kGauge;
constexpr char kTransport[] = "scyper_replication_transport";
constexpr char kTransportHelp[] = "1 for the transport in use.";
constexpr char kLagLsns[] = "scyper_replication_lag_transactions";
constexpr char kLagLsnsHelp[] = "Transactions that the primary has sent and the node has not applied.";
constexpr char kLagSeconds[] = "scyper_replication_lag_seconds";
constexpr char kLagSecondsHelp[] = "Time since the node had applied everything that it knew of.";
constexpr char kLagBytes[] = "scyper_replication_lag_bytes";
constexpr char kLagBytesHelp[] = "Log that the primary has sent and the node has not applied.";
constexpr char kRepaired[] = "scyper_replication_repaired_groups_total";
constexpr char kRepairedHelp[] = "Groups that multicast had lost, or joining lacked, and gRPC has brought.";
constexpr char kRegistered[] = "scyper_replication_registered_bytes";
constexpr char kRegisteredHelp[] = "Memory locked for an RDMA device.";
constexpr char kBulk[] = "scyper_replication_rdma_bytes_total";
constexpr char kBulkHelp[] = "Archives and ranges of the log that went by RDMA reads instead of gRPC.";
constexpr char kServes[] = "scyper_replication_serves";
constexpr char kServesHelp[] = "1 when the node takes queries.";
constexpr char kDigests[] = "scyper_replication_digests_total";
constexpr char kDigestsHelp[] = "Digests of a node's state compared with the primary's, by outcome.";

double number(uint64_t value) { return static_cast<double>(value); }
uint64_t behind(uint64_t lsn, uint64_t of) { return of > lsn ? of - lsn : 0; }

void add_member(const replication::PublisherOptions& publisher, const replication::Member& member, uint64_t sent_lsn,
                MetricFamilies* out) {
  const replication::Position& position = member.position;
  const MetricLabels node = {{"node", member.name}};
  out->add(kLagLsns, kLagLsnsHelp, kGauge, node, number(behind(position.applied_lsn, sent_lsn)));
  out->add(kLagSeconds, kLagSecondsHelp, kGauge, node, static_cast<double>(position.lag_us) / 1e6);
  out->add(kLagBytes, kLagBytesHelp, kGauge, node, number(publisher.outbox->bytes_behind(position.applied_lsn)));
  out->add(kRepaired, kRepairedHelp, kCounter, node, number(position.repaired));
  out->add(kServes, kServesHelp, kGauge, node, position.serves ? 1 : 0);
  out->add(kTransport, kTransportHelp, kGauge, {{"node", member.name}, {"transport", position.transport}}, 1);
}

void add_primary(const replication::PublisherOptions& publisher, MetricFamilies* out) {
  const replication::Watermark watermark = publisher.outbox->watermark();
  const replication::TransportInfo transport = publisher.transport();
  const std::vector<replication::Member> members = publisher.members->list();
  out->add("scyper_replication_term", "Term of the primaryship.", kGauge, {}, number(watermark.term));
  out->add("scyper_replication_secondaries", "Secondaries that follow.", kGauge, {}, number(members.size()));
  out->add("scyper_replication_sent_groups_total", "Groups of the log handed to the network.", kCounter, {},
           number(publisher.outbox->parcels_sent()));
  out->add("scyper_replication_sent_bytes_total", "Log handed to the network.", kCounter, {},
           number(publisher.outbox->bytes_sent()));
  out->add("scyper_replication_held_bytes", "Log held for repairs, at most replication_memory.", kGauge, {},
           number(publisher.outbox->bytes_held()));
  out->add("scyper_replication_datagrams_sent_total", "Datagrams sent by multicast, repairs aside.", kCounter, {},
           number(transport.datagrams_sent));
  out->add(kRegistered, kRegisteredHelp, kGauge, {}, number(transport.registered_bytes));
  out->add(kBulk, kBulkHelp, kCounter, {}, number(transport.bulk_bytes));
  out->add(kTransport, kTransportHelp, kGauge, {{"node", ""}, {"transport", transport.kind}}, 1);
  for (const replication::Member& member : members) add_member(publisher, member, watermark.complete_lsn, out);
  for (const auto& [node, comparison] : publisher.digests->comparisons()) {
    out->add(kDigests, kDigestsHelp, kCounter, {{"node", node}, {"outcome", "equal"}}, number(comparison.equal));
    out->add(kDigests, kDigestsHelp, kCounter, {{"node", node}, {"outcome", "different"}},
             number(comparison.different));
  }
}

void add_secondary(const secondary::NodeInfo& info, MetricFamilies* out) {
  out->add("scyper_replication_term", "Term of the primaryship.", kGauge, {}, number(info.term));
  out->add(kLagLsns, kLagLsnsHelp, kGauge, {}, number(behind(info.applied_lsn, info.known_lsn)));
  out->add(kLagSeconds, kLagSecondsHelp, kGauge, {}, static_cast<double>(info.lag_us) / 1e6);
  out->add(kLagBytes, kLagBytesHelp, kGauge, {}, number(info.inbox_bytes));
  out->add(kRepaired, kRepairedHelp, kCounter, {}, number(info.repaired_groups));
  out->add(kServes, kServesHelp, kGauge, {}, info.serves ? 1 : 0);
  out->add(kTransport, kTransportHelp, kGauge, {{"transport", info.transport}}, 1);
  out->add("scyper_replication_applied_transactions_total", "Transactions replayed.", kCounter, {},
           number(info.transactions));
  out->add("scyper_replication_repairs_total", "Calls that fetched what was missing.", kCounter, {},
           number(info.repairs));
  out->add("scyper_replication_peer_groups_total", "Groups that other secondaries have given.", kCounter, {},
           number(info.peer_groups));
  out->add("scyper_replication_peer_failures_total",
           "Failed requests to other secondaries: the primary was asked then.", kCounter, {},
           number(info.peer_failures));
  out->add("scyper_replication_seeded_from", "1 for where the node's first state came from.", kGauge,
           {{"source", info.seeded_from}}, 1);
  out->add("scyper_replication_resets_total",
           "Multicast sockets given up after an unrecoverable loss, or with their RDMA device.", kCounter, {},
           number(info.resets));
  out->add(kRegistered, kRegisteredHelp, kGauge, {}, number(info.registered_bytes));
  out->add(kBulk, kBulkHelp, kCounter, {}, number(info.bulk_bytes));
  out->add("scyper_replication_snapshots_total", "Forks at the markers of global snapshots.", kCounter, {},
           number(info.snapshots));
  out->add("scyper_replication_own_digests_total", "Digests of the node's state told to the primary.", kCounter, {},
           number(info.digests));
  constexpr char kDropped[] = "scyper_replication_dropped_datagrams_total";
  constexpr char kDroppedHelp[] = "Datagrams that were not believed, by reason.";
  out->add(kDropped, kDroppedHelp, kCounter, {{"reason", "malformed"}}, number(info.malformed_datagrams));
  out->add(kDropped, kDroppedHelp, kCounter, {{"reason", "forged"}}, number(info.forged_datagrams));
  out->add(kDropped, kDroppedHelp, kCounter, {{"reason", "replayed"}}, number(info.replayed_datagrams));
}

}  // namespace

void append_replication_metrics(primary::Engine* engine, std::vector<MetricFamily>* families) {
  MetricFamilies out(families);
  if (auto* secondary = dynamic_cast<SecondaryEngine*>(engine)) return add_secondary(secondary->node().info(), &out);
  if (const replication::PublisherOptions* publisher = engine->publisher()) add_primary(*publisher, &out);
}

}  // namespace scyper::server
