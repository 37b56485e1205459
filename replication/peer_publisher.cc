#include "replication/peer_publisher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "archive_sender.h"
#include "replication.grpc.pb.h"
#include "wire.h"

namespace scyper::replication {

namespace {

// Who names no term takes the node for a primary, and is answered as by a node without the service (UNIMPLEMENTED): it
// looks for the primary at once, as one is that has been elected and does not lead yet.
class PeerPublisher final : public v1::Replication::Service {
 public:
  explicit PeerPublisher(const PeerPublisherOptions& options) : options_(options) {}

  grpc::Status FetchArchive(grpc::ServerContext* context, const v1::FetchArchiveRequest* request,
                            grpc::ServerWriter<v1::ArchivePiece>* writer) override {
    if (request->peer_term() == 0) return v1::Replication::Service::FetchArchive(context, request, writer);
    if (Status fits = check(request->cluster()); !fits.ok()) return to_grpc(fits);
    auto path = options_.newest_archive(request->peer_term());
    if (!path.ok()) return to_grpc(path.status());
    ArchiveSender sender(options_.disk, nullptr, options_.is_stopped, options_.tier_files);
    return to_grpc(sender.send(context, *path, *request, writer));
  }

  grpc::Status Follow(grpc::ServerContext* context, const v1::FollowRequest* request,
                      grpc::ServerWriter<v1::LogPiece>* writer) override {
    if (request->peer_term() == 0) return v1::Replication::Service::Follow(context, request, writer);
    if (Status fits = check(request->cluster()); !fits.ok()) return to_grpc(fits);
    if (request->upto_lsn() == 0) return to_grpc(absl::FailedPreconditionError("only a primary is followed"));
    return to_grpc(send_range(context, *request, writer));
  }

 private:
  Status check(const std::string& cluster_bytes) const {
    ClusterId cluster;
    if (!decode_cluster(cluster_bytes, &cluster) || !(cluster == options_.cluster)) {
      return absl::FailedPreconditionError("the node belongs to another cluster");
    }
    return Status();
  }

  Status send_range(grpc::ServerContext* context, const v1::FollowRequest& request,
                    grpc::ServerWriter<v1::LogPiece>* writer) const {
    v1::LogPiece message;
    message.set_node(options_.node);
    message.mutable_watermark()->set_term(request.peer_term());
    size_t bytes = 0;
    bool has_gone = false;
    const auto flush = [&] {
      has_gone = context->IsCancelled() || options_.is_stopped() || !writer->Write(message);
      message.clear_groups();
      bytes = 0;
    };
    SCYPER_RETURN_IF_ERROR(
        options_.read_log(request.peer_term(), request.after_lsn(), request.upto_lsn(), [&](const Parcel& parcel) {
          message.add_groups(*parcel.bytes);
          bytes += parcel.bytes->size();
          if (bytes >= kLogPieceBytes) flush();
          return !has_gone;
        }));
    if (!has_gone && bytes > 0) flush();
    return has_gone ? absl::CancelledError("the secondary has gone") : Status();
  }

  const PeerPublisherOptions options_;
};

}  // namespace

std::shared_ptr<grpc::Service> make_peer_publisher(const PeerPublisherOptions& options) {
  return std::make_shared<PeerPublisher>(options);
}

}  // namespace scyper::replication
