#include "admin_service.h"
#include "replication/outbox.h"
#include "secondary_engine.h"

namespace scyper::server {

namespace {

void fill_primary(const replication::PublisherOptions& publisher, v1::StatusResponse* out) {
  const replication::Watermark watermark = publisher.outbox->watermark();
  out->set_term(watermark.term);
  out->set_cluster(replication::to_string(publisher.outbox->cluster()));
  const replication::TransportInfo transport = publisher.transport();
  out->set_transport(transport.kind);
  out->set_transport_note(transport.note);
  out->set_encrypted(transport.is_encrypted);
  const int64_t now_ns = publisher.clock->monotonic_ns();
  for (const replication::Member& member : publisher.members->list()) {
    v1::Secondary* made = out->add_secondaries();
    made->set_node(member.name);
    made->set_address(member.address);
    made->set_voter(member.is_voter);
    made->set_received_lsn(member.position.received_lsn);
    made->set_durable_lsn(member.position.durable_lsn);
    made->set_applied_lsn(member.position.applied_lsn);
    made->set_snapshot(member.position.snapshot);
    made->set_serves(member.position.serves);
    made->set_queries(member.position.queries);
    made->set_repaired(member.position.repaired);
    made->set_resets(member.position.resets);
    made->set_transport(member.position.transport);
    made->set_silent_ms(static_cast<double>(now_ns - member.seen_ns) / 1e6);
  }
}

void fill_secondary(SecondaryEngine* engine, v1::StatusResponse* out) {
  const secondary::NodeInfo info = engine->node().info();
  out->set_term(info.term);
  out->set_transport(info.transport);
  out->set_transport_note(info.transport_note);
  out->set_committed(info.transactions);
  out->set_received_lsn(info.received_lsn);
  out->set_applied_lsn(info.applied_lsn);
  out->set_last_lsn(info.known_lsn);
  out->set_lag_ms(static_cast<double>(info.lag_us) / 1e3);
  out->set_inbox_bytes(info.inbox_bytes);
  out->set_repairs(info.repairs);
  out->set_repaired_groups(info.repaired_groups);
  out->set_resets(info.resets);
  out->set_malformed_datagrams(info.malformed_datagrams);
  out->set_forged_datagrams(info.forged_datagrams);
  out->set_replayed_datagrams(info.replayed_datagrams);
  out->set_encrypted(info.is_encrypted);
  out->set_primary(engine->primary());
  out->set_snapshots_global(info.snapshot);
  const Status readiness = engine->node().readiness();
  out->set_not_serving(std::string(readiness.message()));
}

}  // namespace

void fill_replication_status(NodeParts* node, v1::StatusResponse* out) {
  auto* secondary = dynamic_cast<SecondaryEngine*>(node->engine);
  out->set_role(secondary != nullptr ? "secondary" : "primary");
  if (secondary != nullptr) return fill_secondary(secondary, out);
  if (const replication::PublisherOptions* publisher = node->engine->publisher()) fill_primary(*publisher, out);
}

}  // namespace scyper::server
