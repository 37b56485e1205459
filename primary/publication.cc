#include "publication.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor.h"
#include "group_commit.h"
#include "replay/archive.h"
#include "replay/log_parcels.h"
#include "replay/recovery.h"
#include "replication/stages.h"
#include "storage/archive.h"

namespace scyper::primary {

Publication::Publication(const ReplicationOptions& options, const Start& start, std::vector<replication::Parcel> newest,
                         ExecutorEnvironment* environment)
    : options_(options),
      start_(start),
      outbox_({start.cluster, start.term, start.lsn, options.retained_bytes, start.commit_lsn, std::move(newest)}),
      members_(
          start.term,
          [this] {
            if (start_.is_quorum || start_.is_elected) wake_log();
          },
          options.voter_names),
      markers_(&environment->lsns, &environment->clock,
               &(options.metrics != nullptr ? *options.metrics : own_metrics_)
                    .timer(replication::kStageMetric, replication::kStageHelp, {{"stage", "group"}})) {
  publisher_.outbox = &outbox_;
  publisher_.members = &members_;
  publisher_.digests = &digests_;
  publisher_.disk = start.disk;
  publisher_.clock = &environment->clock;
  publisher_.partitions = start.partitions;
  publisher_.takes_partial = options.takes_partial;
  publisher_.transport = [this] {
    replication::TransportInfo info = transport_;
    if (multicast_ != nullptr) {
      const replication::MulticastProcess::Counters counters = multicast_->counters();
      info.datagrams_sent = counters.sent;
      info.registered_bytes = counters.registered_bytes;
      if (const std::string trouble = multicast_->trouble(); !trouble.empty()) info.note = trouble;
    }
    if (bulk_ == nullptr) return info;
    if (const std::string trouble = bulk_->trouble(); !trouble.empty()) {
      info.note += absl::StrCat(info.note.empty() ? "" : "; ", replication::kBulkByGrpc, trouble);
    }
    info.bulk_bytes = bulk_->bytes_sent();
    info.registered_bytes += bulk_->registered_bytes();
    return info;
  };
  start_multicast();
  publisher_.newest_archive = [this] { return newest_archive(); };
  publisher_.archive_parts = [this](const std::string& path, const PartitionSet& partitions) {
    return storage::archive_ranges(start_.disk, path, partitions);
  };
  publisher_.tier_files = replay::archive_tier_files(start.disk, environment->database->tier());
  publisher_.read_log = [this](uint64_t after_lsn, const std::function<bool(replication::Parcel)>& each) {
    return read_log(after_lsn, each);
  };
  publisher_.ticket = [this](const std::string& node, const PartitionSet& reads) { return ticket(node, reads); };
  publisher_.current_lsn = [this, environment]() -> StatusOr<uint64_t> {
    if (options_.admits) SCYPER_RETURN_IF_ERROR(options_.admits());
    return environment->lsns.last.load();
  };
  publisher_.awaits_positions = start.is_quorum;
  if (!start.is_elected) return;
  publisher_.node = options.node;
  publisher_.terms = [this] { return terms(); };
  publisher_.has_batch = [this](uint64_t lsn, uint64_t term) { return has_batch(lsn, term); };
}

// A network without multicast works, by unicast: no error here ends the start.
void Publication::start_multicast() {
  if (options_.transport == TransportChoice::kUnicast) {
    transport_.note = "transport is set to unicast";
    if (!options_.rdma.device.empty()) start_bulk();
    return;
  }
  if (options_.transport == TransportChoice::kRdma) {
    const std::string why = start_rdma();
    if (why.empty()) return;
    transport_.note = "RDMA: " + why;
  }
  const std::string why = start_pgm();
  if (!why.empty()) transport_.note += (transport_.note.empty() ? "" : "; ") + why;
}

// These say why not; empty: it is started.
std::string Publication::start_rdma() {
  if (options_.multicast_interface.empty() && options_.rdma.device.empty()) {
    return "neither multicast_interface nor rdma_device is set";
  }
  replication::MulticastOptions multicast;
  multicast.kind = replication::MulticastOptions::Kind::kRdma;
  multicast.rdma = options_.rdma;
  const std::string why = start_multicast(multicast, "rdma");
  if (why.empty()) start_bulk();
  return why;
}

// Whether it works is seen when a secondary asks.
void Publication::start_bulk() {
  if (!options_.rdma.seeds) return;
  bulk_ = std::make_unique<replication::BulkServer>(
      [this](replication::BulkAddress* address) { return offer_bulk(address); });
  publisher_.bulk = bulk_.get();
}

StatusOr<std::unique_ptr<replication::BulkChannel>> Publication::offer_bulk(replication::BulkAddress* address) const {
  replication::RdmaBulkChannel::Options bulk;
  bulk.cluster = start_.cluster;
  bulk.interface = options_.multicast_interface;
  bulk.rdma = options_.rdma;
  bulk.key = start_.key.has_value() ? &*start_.key : nullptr;
  SCYPER_ASSIGN_OR_RETURN(auto channel, replication::RdmaBulkChannel::offer(bulk));
  *address = channel->address();
  return channel;
}

std::string Publication::start_pgm() {
  if (options_.multicast_interface.empty()) return "multicast_interface is not set";
  replication::MulticastOptions multicast;
  multicast.mtu = options_.multicast_mtu;
  multicast.is_raw = transport_.is_raw = options_.multicast_is_raw;
  return start_multicast(multicast, "pgm");
}

std::string Publication::start_multicast(const replication::MulticastOptions& options, const std::string& kind) {
  replication::MulticastOptions multicast = options;
  multicast.sends = true;
  multicast.interface = options_.multicast_interface;
  multicast.group = options_.multicast_group;
  multicast.port = options_.multicast_port;
  multicast.channels = options_.multicast_channels;
  multicast.bytes_per_second = options_.multicast_rate;
  multicast.identity = absl::StrCat(replication::to_string(start_.cluster), ":", start_.term);
  auto started = replication::MulticastProcess::start(multicast);
  if (!started.ok()) return std::string(started.status().message());
  multicast_ = *std::move(started);
  outbox_.set_transmitter(std::make_unique<replication::MulticastTransmitter>(
      start_.cluster, multicast_, start_.key.has_value() ? &*start_.key : nullptr));
  transport_.is_encrypted = start_.key.has_value();
  if (start_.key.has_value()) transport_.key_fingerprint = start_.key->fingerprint(start_.cluster);
  transport_.kind = kind;
  transport_.multicast_group = options_.multicast_group;
  transport_.multicast_port = options_.multicast_port;
  transport_.channels = options_.multicast_channels;
  transport_.datagram_bytes = multicast_->datagram_bytes();
  return "";
}

void Publication::wake_log() {
  if (GroupCommit* log = log_.load()) log->wake();
}

// Terms have one primary each: a batch of the same term at the same LSN is the same batch, behind the same ones.
bool Publication::has_batch(uint64_t lsn, uint64_t term) const {
  if (lsn > start_.lsn) return term == start_.term && lsn <= outbox_.watermark().complete_lsn;
  return replication::term_of(start_.terms, lsn) == term;
}

std::vector<replication::TermStart> Publication::terms() const {
  std::vector<replication::TermStart> all = start_.terms;
  all.push_back({start_.term, start_.lsn});
  return all;
}

StatusOr<std::string> Publication::newest_archive() const {
  const std::string archives = replay::archives_directory(start_.directory);
  if (start_.disk->exists(archives)) {
    SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(start_.disk, archives));
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (entry->is_complete) return entry->path;
    }
  }
  return absl::NotFoundError("there is no archive");
}

Status Publication::read_log(uint64_t after_lsn, const std::function<bool(replication::Parcel)>& each) const {
  return replay::read_parcels(start_.disk, replay::log_directory(start_.directory), start_.cluster, after_lsn, each);
}

StatusOr<replication::Ticket> Publication::ticket(const std::string& node, const PartitionSet& reads) {
  if (options_.admits) SCYPER_RETURN_IF_ERROR(options_.admits());
  // older snapshots are kept by the nodes, which know their ages; here only what is asked for afresh
  const Marker marker = markers_.draw(std::max<int64_t>(options_.marker_distance_us, 0));
  wake_log();
  replication::Ticket ticket;
  ticket.term = start_.term;
  ticket.snapshot = marker.snapshot;
  ticket.lsn = marker.lsn;
  const auto member = members_.choose(node, reads, publisher_.clock->monotonic_ns());
  if (!member.has_value()) return ticket;
  ticket.node = member->name;
  ticket.address = member->address;
  ticket.member = member->number;
  return ticket;
}

}  // namespace scyper::primary
