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
#include "replication.grpc.pb.h"
#include "replication/bulk_server.h"
#include "wire.h"

namespace scyper::replication {

namespace {

constexpr std::chrono::milliseconds kReadWait{100};

// A channel for one message's bytes, where it is there, free and worth it.
class BulkUse {
 public:
  BulkUse(BulkServer* server, uint64_t number, size_t bytes) : server_(server) {
    if (server == nullptr || number == 0 || bytes < kBulkBytesMin || bytes > kBulkBytesMax) return;
    named_ = server->find(number);
    if (named_ == nullptr) return;
    lock_ = std::unique_lock<std::mutex>(named_->mutex, std::try_to_lock);
    is_there_ = lock_.owns_lock() && !named_->channel->is_broken();
  }
  bool is_there() const { return is_there_; }
  uint64_t next_slot() const { return named_->channel->next_slot(); }
  Status write(std::string_view bytes, const BulkChannel::GoesOn& goes_on) {
    SCYPER_RETURN_IF_ERROR(named_->channel->write(bytes, goes_on));
    server_->note_sent(bytes.size());
    return Status();
  }

 private:
  BulkServer* const server_;
  std::shared_ptr<BulkServer::Channel> named_;
  std::unique_lock<std::mutex> lock_;  // gone before what it locks
  bool is_there_ = false;
};

class Publisher final : public v1::Replication::Service {
 public:
  explicit Publisher(const PublisherOptions& options) : options_(options) {}

  grpc::Status Join(grpc::ServerContext*, const v1::JoinRequest* request, v1::JoinReply* reply) override {
    if (!request->cluster().empty() && !is_ours(request->cluster())) return wrong_cluster();
    const Watermark watermark = options_.outbox->watermark();
    const TransportInfo transport = options_.transport();
    reply->set_cluster(encode_cluster(options_.outbox->cluster()));
    reply->set_term(watermark.term);
    reply->set_partitions(options_.partitions);
    reply->set_transport(transport.kind);
    reply->set_multicast_group(transport.multicast_group);
    reply->set_multicast_port(transport.multicast_port);
    reply->set_datagram_bytes(transport.datagram_bytes);
    reply->set_raw_ip(transport.is_raw);
    reply->set_encrypted(transport.is_encrypted);
    reply->set_key_fingerprint(transport.key_fingerprint);
    reply->set_complete_lsn(watermark.complete_lsn);
    reply->set_bulk(options_.bulk != nullptr);
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
    auto path = options_.newest_archive();
    if (!path.ok()) return to_grpc(path.status());
    Status status = send_archive(context, *path, *request, writer);
    // not "there is no archive": a newer one has taken its place
    if (absl::IsNotFound(status)) status = absl::AbortedError(status.message());
    return to_grpc(status);
  }

  grpc::Status Follow(grpc::ServerContext* context, const v1::FollowRequest* request,
                      grpc::ServerWriter<v1::LogPiece>* writer) override {
    if (!is_ours(request->cluster())) return wrong_cluster();
    return to_grpc(follow(context, *request, writer));
  }

  grpc::Status Attend(grpc::ServerContext*, grpc::ServerReader<v1::PositionReport>* reader, v1::AttendReply*) override {
    v1::PositionReport report;
    uint64_t number = 0;
    while (!options_.outbox->is_stopped() && reader->Read(&report)) {
      if (number == 0) {
        Member member;
        member.name = report.node();
        member.address = report.address();
        member.is_voter = report.voter();
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
      options_.members->report(number, position, options_.clock->monotonic_ns());
      if (report.has_digest()) options_.digests->add(report.node(), decode_digest(report.digest()));
      if (Status verdict = options_.digests->verdict(report.node()); !verdict.ok()) {
        options_.members->leave(number);
        return to_grpc(verdict);
      }
    }
    if (number != 0) options_.members->leave(number);
    return options_.outbox->is_stopped() ? to_grpc(absl::UnavailableError("the primary stops")) : grpc::Status::OK;
  }

  grpc::Status Ticket(grpc::ServerContext*, const v1::TicketRequest* request, v1::TicketReply* reply) override {
    auto ticket = options_.ticket(request->node());
    if (!ticket.ok()) return to_grpc(ticket.status());
    reply->set_term(ticket->term);
    reply->set_snapshot(ticket->snapshot);
    reply->set_lsn(ticket->lsn);
    reply->set_node(ticket->node);
    reply->set_address(ticket->address);
    return grpc::Status::OK;
  }

 private:
  bool is_ours(const std::string& bytes) const {
    ClusterId cluster;
    return decode_cluster(bytes, &cluster) && cluster == options_.outbox->cluster();
  }
  static grpc::Status wrong_cluster() {
    return {grpc::StatusCode::FAILED_PRECONDITION, "the node belongs to another cluster"};
  }

  // Names in the order in which they are sent, from the one that is asked for on.
  StatusOr<std::vector<std::string>> archive_names(const std::string& path, const v1::FetchArchiveRequest& request,
                                                   uint64_t* total) {
    SCYPER_ASSIGN_OR_RETURN(std::vector<std::string> names, options_.disk->list(path));
    // without it the directory is no archive: it comes last
    std::erase(names, "MANIFEST");
    names.push_back("MANIFEST");
    for (const std::string& name : names) {
      SCYPER_ASSIGN_OR_RETURN(auto file, options_.disk->open(path + "/" + name, OpenMode::kRead));
      SCYPER_ASSIGN_OR_RETURN(const uint64_t bytes, file->size());
      *total += bytes;
    }
    if (request.lsn() == 0) return names;
    const auto from = std::find(names.begin(), names.end(), request.file());
    if (from == names.end()) return absl::AbortedError("the archive has no such file");
    names.erase(names.begin(), from);
    return names;
  }

  Status send_archive(grpc::ServerContext* context, const std::string& path, const v1::FetchArchiveRequest& request,
                      grpc::ServerWriter<v1::ArchivePiece>* writer) {
    v1::ArchivePiece piece;
    const std::string number = path.substr(path.rfind('/') + 1);
    piece.set_lsn(std::strtoull(number.c_str(), nullptr, 10));
    if (request.lsn() != 0 && request.lsn() != piece.lsn()) return absl::AbortedError("there is a newer archive");
    uint64_t total = 0;
    SCYPER_ASSIGN_OR_RETURN(const auto names, archive_names(path, request, &total));
    piece.set_total_bytes(total);
    uint64_t offset = request.lsn() == 0 ? 0 : request.offset();
    for (const std::string& name : names) {
      SCYPER_ASSIGN_OR_RETURN(auto file, options_.disk->open(path + "/" + name, OpenMode::kRead));
      piece.set_file(name);
      const uint64_t begin = std::exchange(offset, 0);
      uint64_t at = begin;
      while (true) {
        std::string bytes(kArchivePieceBytes, '\0');
        SCYPER_ASSIGN_OR_RETURN(const size_t read, file->read(at, bytes.data(), bytes.size()));
        bytes.resize(read);
        piece.set_offset(at);
        if (read == 0 && at > begin) break;
        SCYPER_RETURN_IF_ERROR(send_piece(context, request.bulk(), std::move(bytes), &piece, writer));
        if (options_.outbox->is_stopped()) return absl::UnavailableError("the primary stops");
        at += read;
        if (read < kArchivePieceBytes) break;
      }
    }
    return Status();
  }

  Status send_piece(grpc::ServerContext* context, uint64_t bulk, std::string bytes, v1::ArchivePiece* piece,
                    grpc::ServerWriter<v1::ArchivePiece>* writer) {
    BulkUse use(options_.bulk, bulk, bytes.size());
    piece->set_bulk_bytes(use.is_there() ? bytes.size() : 0);
    piece->set_bulk_slot(use.is_there() ? use.next_slot() : 0);
    if (use.is_there()) {
      piece->clear_bytes();
    } else {
      piece->set_bytes(std::move(bytes));
    }
    if (context->IsCancelled() || !writer->Write(*piece)) return absl::CancelledError("the secondary has gone");
    return use.is_there() ? use.write(bytes, [&] { return goes_on(context); }) : Status();
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

  Status follow(grpc::ServerContext* context, const v1::FollowRequest& request,
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
        SCYPER_RETURN_IF_ERROR(send_files(context, request, &lsn, piece.watermark, writer));
      } else {
        if (piece.parcels.empty() && piece.watermark == seen && upto == 0) continue;
        message.Clear();
        message.set_node(options_.node);
        message.set_ignores_positions(ignores_positions(piece.watermark));
        for (const Parcel& parcel : piece.parcels) {
          if (upto != 0 && lsn >= upto) break;
          message.add_groups(*parcel.bytes);
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
  Status send_files(grpc::ServerContext* context, const v1::FollowRequest& request, uint64_t* lsn,
                    const Watermark& watermark, grpc::ServerWriter<v1::LogPiece>* writer) {
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
      bytes += parcel.bytes->size();
      message.add_groups(*parcel.bytes);
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
