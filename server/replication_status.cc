#include <algorithm>

#include "admin_service.h"
#include "replication/outbox.h"
#include "replication/stages.h"
#include "secondary_engine.h"
#include "timer_percentile.h"

namespace scyper::server {

namespace {

void fill_stages(const MetricsRegistry& metrics, v1::StatusResponse* out) {
  constexpr const char* kOrder[] = {"group", "send", "repair", "replay", "fork", "query"};
  for (const MetricFamily& family : metrics.collect()) {
    if (family.name != replication::kStageMetric) continue;
    for (const char* name : kOrder) {
      for (const MetricSample& sample : family.samples) {
        if (sample.timer.count == 0 || sample.labels.front().second != name) continue;
        v1::Stage* made = out->add_stages();
        made->set_name(name);
        made->set_count(sample.timer.count);
        made->set_mean_ms(static_cast<double>(sample.timer.sum_ns) / 1e6 / static_cast<double>(sample.timer.count));
        made->set_p50_ms(percentile_ms(sample.timer, 0.5));
        made->set_p99_ms(percentile_ms(sample.timer, 0.99));
      }
    }
  }
}

void fill_primary(const replication::PublisherOptions& publisher, v1::StatusResponse* out) {
  const replication::Watermark watermark = publisher.outbox->watermark();
  out->set_term(watermark.term);
  out->set_cluster(replication::to_string(publisher.outbox->cluster()));
  const replication::TransportInfo transport = publisher.transport();
  out->set_transport(transport.kind);
  if (transport.kind != "unicast") out->set_multicast_channels(transport.channels);
  out->set_transport_note(transport.note);
  out->set_encrypted(transport.is_encrypted);
  out->set_datagrams_sent(transport.datagrams_sent);
  out->set_replication_bytes(publisher.outbox->bytes_sent());
  out->set_digests(publisher.digests->own_count());
  const auto comparisons = publisher.digests->comparisons();
  const int64_t now_ns = publisher.clock->monotonic_ns();
  for (const replication::Member& member : publisher.members->list()) {
    v1::Secondary* made = out->add_secondaries();
    made->set_node(member.name);
    made->set_address(member.address);
    made->set_voter(member.is_voter);
    made->set_partitions(member.partitions.to_string());
    made->set_received_lsn(member.position.received_lsn);
    made->set_durable_lsn(member.position.durable_lsn);
    made->set_applied_lsn(member.position.applied_lsn);
    made->set_snapshot(member.position.snapshot);
    made->set_serves(member.position.serves);
    made->set_no_room(!member.position.has_room);
    made->set_queries(member.position.queries);
    made->set_repaired(member.position.repaired);
    made->set_resets(member.position.resets);
    made->set_transport(member.position.transport);
    made->set_silent_ms(static_cast<double>(now_ns - member.seen_ns) / 1e6);
    made->set_lag_ms(static_cast<double>(member.position.lag_us) / 1e3);
    made->set_lag_bytes(publisher.outbox->bytes_behind(member.position.applied_lsn));
    const auto compared = comparisons.find(member.name);
    if (compared == comparisons.end()) continue;
    made->set_digests_equal(compared->second.equal);
    made->set_digests_different(compared->second.different);
    made->set_digest_lsn(compared->second.lsn);
    made->set_difference(compared->second.difference);
  }
}

void fill_secondary(SecondaryEngine* engine, v1::StatusResponse* out) {
  const secondary::NodeInfo info = engine->node().info();
  out->set_term(info.term);
  out->set_transport(info.transport);
  out->set_multicast_channels(info.channels);
  out->set_transport_note(info.transport_note);
  out->set_committed(info.transactions);
  out->set_received_lsn(info.received_lsn);
  out->set_applied_lsn(info.applied_lsn);
  out->set_last_lsn(info.known_lsn);
  out->set_lag_ms(static_cast<double>(info.lag_us) / 1e3);
  out->set_inbox_bytes(info.inbox_bytes);
  out->set_repairs(info.repairs);
  out->set_repaired_groups(info.repaired_groups);
  out->set_subscribed(info.subscribed);
  out->set_seeded_from(info.seeded_from);
  out->set_peer_groups(info.peer_groups);
  out->set_peer_failures(info.peer_failures);
  out->set_peer(info.peer);
  out->set_resets(info.resets);
  out->set_malformed_datagrams(info.malformed_datagrams);
  out->set_forged_datagrams(info.forged_datagrams);
  out->set_replayed_datagrams(info.replayed_datagrams);
  out->set_encrypted(info.is_encrypted);
  out->set_digests(info.digests);
  out->set_digest_lsn(info.digest_lsn);
  out->set_primary(engine->primary());
  out->set_snapshots_global(info.snapshot);
  const Status readiness = engine->node().readiness();
  out->set_not_serving(std::string(readiness.message()));
}

}  // namespace

void fill_replication_status(NodeParts* node, v1::StatusResponse* out) {
  fill_stages(*node->metrics, out);
  if (node->options.cluster_state) {
    const consensus::ClusterState state = node->options.cluster_state();
    out->set_election(state.cluster);
    out->set_etcd(state.etcd);
    out->set_paused(state.paused);
    out->set_leader(state.leader);
    for (const consensus::ClusterState::Voter& voter : state.voters) {
      v1::Voter* made = out->add_voters();
      made->set_node(voter.node);
      made->set_here(voter.is_there);
    }
    out->set_etcd_answers(state.etcd_answers);
    out->set_lease_left_ms(static_cast<double>(state.lease_us) / 1e3);
    out->set_leader_changes(state.changes);
  }
  auto* secondary = dynamic_cast<SecondaryEngine*>(node->engine);
  out->set_role(secondary != nullptr ? "secondary" : "primary");
  if (secondary != nullptr) return fill_secondary(secondary, out);
  if (const replication::PublisherOptions* publisher = node->engine->publisher()) fill_primary(*publisher, out);
}

}  // namespace scyper::server
