#include "replication/publisher.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "archive_sender.h"
#include "bulk_use.h"
#include "replication.grpc.pb.h"
#include "replication/bulk_server.h"
#include "wire.h"

namespace scyper::replication {

namespace {

constexpr std::chrono::milliseconds kReadWait{100};

class Publisher final : public v1::Replication::Service {
 public:
  explicit Publisher(const PublisherOptions& options) : options_(options) {}

  grpc::Status Join(grpc::ServerContext*, const v1::JoinRequest* request, v1::JoinReply* reply) override {
    if (!request->cluster().empty() && !is_ours(request->cluster())) return wrong_cluster();
    const PartitionSet partitions = decode_partitions(request->partitions());
    if (Status given = check_subscription(partitions); !given.ok()) return to_grpc(given);
    const Watermark watermark = options_.outbox->watermark();
    const TransportInfo transport = options_.transport();
    reply->set_cluster(encode_cluster(options_.outbox->cluster()));
    reply->set_term(watermark.term);
    reply->set_partitions(options_.partitions);
    reply->set_takes_partial(options_.takes_partial);
    reply->set_transport(transport.kind);
    reply->set_multicast_group(transport.multicast_group);
    reply->set_multicast_port(transport.multicast_port);
    reply->set_channels(transport.channels);
    reply->set_datagram_bytes(transport.datagram_bytes);
    reply->set_raw_ip(transport.is_raw);
    reply->set_encrypted(transport.is_encrypted);
    reply->set_key_fingerprint(transport.key_fingerprint);
    reply->set_complete_lsn(watermark.complete_lsn);
    reply->set_bulk(options_.bulk != nullptr);
    encode_watermark(watermark, reply->mutable_watermark());
    if (const auto archive = options_.newest_archive(); archive.ok()) reply->set_archive_lsn(archive_lsn(*archive));
    add_peers(request->node(), watermark.term, reply);
    if (!options_.terms) return grpc::Status::OK;
    for (const TermStart& start : options_.terms()) {
      v1::TermStart* told = reply->add_terms();
      told->set_term(start.term);
      told->set_base_lsn(start.base_lsn);
    }
    return grpc::Status::OK;
  }

  grpc::Status OpenBulk(grpc::ServerContext*, const v1::OpenBulkRequest* request, v1::OpenBulkReply* reply) override {
    if (!is_ours(request->cluster())) return wrong_cluster();
    if (options_.bulk == nullptr)
      return to_grpc(absl::FailedPreconditionError("the primary has no RDMA for bulk data"));
    BulkAddress address;
    const auto number = options_.bulk->open(request->node(), &address);
    if (!number.ok()) return to_grpc(number.status());
    reply->set_bulk(*number);
    reply->set_host(address.host);
    reply->set_port(address.port);
    reply->set_token(address.token);
    reply->set_sealed(address.is_sealed);
    return grpc::Status::OK;
  }

  grpc::Status FetchArchive(grpc::ServerContext* context, const v1::FetchArchiveRequest* request,
                            grpc::ServerWriter<v1::ArchivePiece>* writer) override {
    if (!is_ours(request->cluster())) return wrong_cluster();
    if (!leads(request->peer_term())) return wrong_term();
    const PartitionSet partitions = decode_partitions(request->partitions());
    if (Status given = check_subscription(partitions); !given.ok()) return to_grpc(given);
    auto path = options_.newest_archive();
    if (!path.ok()) return to_grpc(path.status());
    ArchiveSender sender(
        options_.disk, options_.bulk, [this] { return options_.outbox->is_stopped(); }, options_.tier_files,
        options_.archive_parts);
    return to_grpc(sender.send(context, *path, *request, writer));
  }

  grpc::Status Follow(grpc::ServerContext* context, const v1::FollowRequest* request,
                      grpc::ServerWriter<v1::LogPiece>* writer) override {
    if (!is_ours(request->cluster())) return wrong_cluster();
    if (!leads(request->peer_term())) return wrong_term();
    const PartitionSet partitions = decode_partitions(request->partitions());
    if (Status given = check_subscription(partitions); !given.ok()) return to_grpc(given);
    return to_grpc(follow(context, *request, partitions, writer));
  }

  grpc::Status Attend(grpc::ServerContext*, grpc::ServerReader<v1::PositionReport>* reader, v1::AttendReply*) override {
    v1::PositionReport report;
    uint64_t number = 0;
    Member member;
    while (!options_.outbox->is_stopped() && reader->Read(&report)) {
      if (number == 0) {
        member.name = report.node();
        member.address = report.address();
        member.is_voter = report.voter();
        member.partitions = decode_partitions(report.partitions());
        number = options_.members->enter(member);
        options_.digests->forget(member.name);
      }
      Position position;
      position.term = report.term();
      position.received_lsn = report.received_lsn();
      position.durable_lsn = report.durable_lsn();
      position.applied_lsn = report.applied_lsn();
      position.snapshot = report.snapshot();
      position.serves = report.serves();
      position.queries = report.queries();
      position.repaired = report.repaired();
      position.resets = report.resets();
      position.transport = report.transport();
      position.lag_us = report.lag_us();
      position.has_room = !report.no_room();
      position.archive_lsn = report.archive_lsn();
      options_.members->report(number, position, options_.clock->monotonic_ns());
      if (report.has_digest()) {
        options_.digests->add(report.node(), decode_digest(report.digest()), member.partitions);
      }
      if (Status verdict = options_.digests->verdict(report.node()); !verdict.ok()) {
        options_.members->leave(number);
        return to_grpc(verdict);
      }
    }
    if (number != 0) options_.members->leave(number);
    return options_.outbox->is_stopped() ? to_grpc(absl::UnavailableError("the primary stops")) : grpc::Status::OK;
  }

  grpc::Status Ticket(grpc::ServerContext*, const v1::TicketRequest* request, v1::TicketReply* reply) override {
    auto ticket = options_.ticket(request->node(), decode_partitions(request->partitions()));
    if (!ticket.ok()) return to_grpc(ticket.status());
    reply->set_term(ticket->term);
    reply->set_snapshot(ticket->snapshot);
    reply->set_lsn(ticket->lsn);
    reply->set_node(ticket->node);
    reply->set_address(ticket->address);
    return grpc::Status::OK;
  }

  grpc::Status Current(grpc::ServerContext*, const v1::CurrentRequest*, v1::CurrentReply* reply) override {
    if (!options_.current_lsn) return {grpc::StatusCode::UNIMPLEMENTED, "the node does not say"};
    auto lsn = options_.current_lsn();
    if (!lsn.ok()) return to_grpc(lsn.status());
    reply->set_lsn(*lsn);
    encode_watermark(options_.outbox->watermark(), reply->mutable_watermark());
    reply->set_node(options_.node);
    return grpc::Status::OK;
  }

 private:
  // Whether a subscription is given here.
  Status check_subscription(const PartitionSet& partitions) const {
    if (partitions.is_all()) return Status();
    if (!options_.takes_partial) {
      return absl::FailedPreconditionError(
          "the primary takes no secondaries that subscribe to some partitions: partial_secondaries is off there");
    }
    if (partitions.highest() < options_.partitions) return Status();
    return absl::InvalidArgumentError(absl::StrCat("there is no partition ", partitions.highest(),
                                                   ": the database has ", options_.partitions, ", from 0 on"));
  }

  // Those whose state is known to be this primary's, all of it.
  void add_peers(const std::string& asking, uint64_t term, v1::JoinReply* reply) const {
    const int64_t now_ns = options_.clock->monotonic_ns();
    for (const Member& member : options_.members->list()) {
      if (member.name == asking || member.address.empty() || member.position.term != term) continue;
      if (now_ns - member.seen_ns > Members::kSilenceNs || !member.partitions.is_all()) continue;
      v1::Peer* peer = reply->add_peers();
      peer->set_node(member.name);
      peer->set_address(member.address);
      peer->set_received_lsn(member.position.received_lsn);
      peer->set_archive_lsn(member.position.archive_lsn);
    }
  }

  bool is_ours(const std::string& bytes) const {
    ClusterId cluster;
    return decode_cluster(bytes, &cluster) && cluster == options_.outbox->cluster();
  }
  // Whoever asks a secondary that has become primary, of what it was.
  bool leads(uint64_t peer_term) const { return peer_term == 0 || peer_term == options_.outbox->watermark().term; }
  static grpc::Status wrong_term() { return {grpc::StatusCode::FAILED_PRECONDITION, "the node leads in another term"}; }
  static grpc::Status wrong_cluster() {
    return {grpc::StatusCode::FAILED_PRECONDITION, "the node belongs to another cluster"};
  }

  bool goes_on(grpc::ServerContext* context) { return !context->IsCancelled() && !options_.outbox->is_stopped(); }

  // Groups, which are sent and gone then: by the channel that is asked for, where they are worth it.
  Status send_groups(grpc::ServerContext* context, uint64_t bulk, v1::LogPiece* message,
                     grpc::ServerWriter<v1::LogPiece>* writer) {
    size_t size = 0;
    for (const std::string& group : message->groups()) size += group.size();
    BulkUse use(options_.bulk, bulk, size);
    std::string bytes;
    message->clear_bulk_groups();
    if (use.is_there()) {
      bytes.reserve(size);
      for (const std::string& group : message->groups()) {
        message->add_bulk_groups(group.size());
        bytes += group;
      }
      message->clear_groups();
      message->set_bulk_slot(use.next_slot());
    }
    if (!writer->Write(*message)) return absl::CancelledError("the secondary has gone");
    message->clear_groups();
    return use.is_there() ? use.write(bytes, [&] { return goes_on(context); }) : Status();
  }

  // Where there are elections a term begins with what its voters have, in all modes.
  bool ignores_positions(const Watermark& watermark) const {
    const bool has_begun = options_.node.empty() || watermark.commit_lsn > watermark.term_lsn;
    return !options_.awaits_positions && has_begun;
  }

  // What a subscription takes of a group. Adds its bytes to *bytes.
  static Status add_group(const Parcel& parcel, const PartitionSet& partitions, v1::LogPiece* message, size_t* bytes) {
    SCYPER_ASSIGN_OR_RETURN(const Parcel part, partial_parcel(parcel, partitions));
    message->add_groups(*part.bytes);
    *bytes += part.bytes->size();
    return Status();
  }

  Status follow(grpc::ServerContext* context, const v1::FollowRequest& request, const PartitionSet& partitions,
                grpc::ServerWriter<v1::LogPiece>* writer) {
    uint64_t lsn = request.after_lsn();
    const uint64_t upto = request.upto_lsn();
    if (options_.has_batch && request.after_term() != 0 && !options_.has_batch(lsn, request.after_term())) {
      return absl::DataLossError(
          absl::StrCat("the log of ", options_.node, " has no batch of term ", request.after_term(), " at LSN ", lsn));
    }
    Watermark seen;
    v1::LogPiece message;
    while (!context->IsCancelled() && !options_.outbox->is_stopped()) {
      Outbox::Piece piece = options_.outbox->read(lsn, seen, kLogPieceBytes, kReadWait);
      if (piece.is_too_old) {
        SCYPER_RETURN_IF_ERROR(send_files(context, request, partitions, &lsn, piece.watermark, writer));
      } else {
        if (piece.parcels.empty() && piece.watermark == seen && upto == 0) continue;
        message.Clear();
        message.set_node(options_.node);
        message.set_ignores_positions(ignores_positions(piece.watermark));
        size_t bytes = 0;
        for (const Parcel& parcel : piece.parcels) {
          if (upto != 0 && lsn >= upto) break;
          SCYPER_RETURN_IF_ERROR(add_group(parcel, partitions, &message, &bytes));
          lsn = parcel.complete_lsn;
        }
        encode_watermark(piece.watermark, message.mutable_watermark());
        seen = piece.watermark;
        SCYPER_RETURN_IF_ERROR(send_groups(context, request.bulk(), &message, writer));
      }
      if (upto != 0 && (lsn >= upto || lsn >= seen.complete_lsn)) return Status();
    }
    return absl::UnavailableError("the primary stops");
  }

  // What is not in memory any more.
  Status send_files(grpc::ServerContext* context, const v1::FollowRequest& request, const PartitionSet& partitions,
                    uint64_t* lsn, const Watermark& watermark, grpc::ServerWriter<v1::LogPiece>* writer) {
    v1::LogPiece message;
    message.set_node(options_.node);
    message.set_ignores_positions(ignores_positions(watermark));
    encode_watermark(watermark, message.mutable_watermark());
    size_t bytes = 0;
    Status sent;
    auto flush = [&] {
      if (message.groups_size() == 0 || !sent.ok()) return;
      sent = context->IsCancelled() ? absl::CancelledError("the secondary has gone")
                                    : send_groups(context, request.bulk(), &message, writer);
      bytes = 0;
    };
    const uint64_t before = *lsn, upto = request.upto_lsn();
    SCYPER_RETURN_IF_ERROR(options_.read_log(*lsn, [&](Parcel parcel) {
      sent = add_group(parcel, partitions, &message, &bytes);
      if (!sent.ok()) return false;
      *lsn = parcel.complete_lsn;
      if (bytes >= kLogPieceBytes) flush();
      return sent.ok() && (upto == 0 || *lsn < upto) && !options_.outbox->is_stopped();
    }));
    flush();
    SCYPER_RETURN_IF_ERROR(sent);
    // the newest of memory and the oldest of the files can miss each other for a moment only
    if (*lsn == before) return absl::OutOfRangeError(absl::StrCat("the log does not go on behind LSN ", before));
    return Status();
  }

  const PublisherOptions options_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_publisher(const PublisherOptions& options) {
  return std::make_shared<Publisher>(options);
}

}  // namespace scyper::replication
