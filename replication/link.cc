#include "replication/link.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bulk_lane.h"
#include "replication.grpc.pb.h"
#include "replication/datagram.h"
#include "wire.h"

namespace scyper::replication {

namespace {

constexpr uint64_t kArchiveNumberDigits = 20;
constexpr std::chrono::milliseconds kFetchRetry{100};
constexpr std::chrono::microseconds kPeersWait{500'000};
constexpr std::chrono::microseconds kCurrentWait{500'000};  // of a query that allows some staleness
constexpr int kReconnectMs = 100;  // the least that gRPC waits behind a refused connection, whatever it is told

class GrpcLink final : public Link {
 public:
  explicit GrpcLink(const LinkOptions& options) : options_(options) { connect_to(options.target); }

  // With the lock, or in the constructor.
  void connect_to(const std::string& target) {
    target_ = target;
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (options_.tls != nullptr) {
      const auto texts = options_.tls->texts();
      tls_version_ = texts->version;
      credentials = grpc::SslCredentials({texts->trusted(), texts->key, texts->certificate});
    }
    channel_ = grpc::CreateCustomChannel(target, credentials, arguments);
    stub_ = v1::Replication::NewStub(channel_);
  }

  StatusOr<JoinInfo> join(const ClusterId* cluster) override {
    Call call(this);
    call.context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(options_.call_us));
    call.context.set_wait_for_ready(true);
    v1::JoinRequest request;
    if (cluster != nullptr) request.set_cluster(encode_cluster(*cluster));
    request.set_node(options_.node);
    encode_partitions(options_.partitions, request.mutable_partitions());
    v1::JoinReply reply;
    const Status joined = from_grpc(call.stub->Join(&call.context, request, &reply));
    // a primary that ends cancels what it has: only this side's own cancel() is final
    if (absl::IsCancelled(joined) && !is_cancelled()) return absl::UnavailableError(joined.message());
    SCYPER_RETURN_IF_ERROR(refusal_of(joined));
    if (!options_.partitions.is_all() && !reply.takes_partial()) {  // it does not even know the question
      return sql_error("55000", "the primary takes no secondaries that subscribe to some partitions");
    }
    JoinInfo info;
    if (!decode_cluster(reply.cluster(), &info.cluster) || reply.partitions() == 0) {
      return absl::DataLossError("the primary's answer makes no sense");
    }
    info.term = reply.term();
    info.partitions = reply.partitions();
    info.transport.kind = reply.transport();
    info.transport.multicast_group = reply.multicast_group();
    info.transport.multicast_port = static_cast<uint16_t>(reply.multicast_port());
    info.transport.channels = std::max(reply.channels(), uint32_t{1});
    info.transport.datagram_bytes = reply.datagram_bytes();
    info.transport.is_raw = reply.raw_ip();
    info.transport.is_encrypted = reply.encrypted();
    info.transport.key_fingerprint = reply.key_fingerprint();
    info.complete_lsn = reply.complete_lsn();
    info.has_bulk = has_bulk_ = reply.bulk();  // others that become primary are asked, too
    for (const v1::TermStart& start : reply.terms()) info.terms.push_back({start.term(), start.base_lsn()});
    if (reply.has_watermark()) info.watermark = decode_watermark(reply.watermark());
    info.archive_lsn = reply.archive_lsn();
    info.peers = peers_of(reply);
    info.takes_partial = reply.takes_partial();
    return info;
  }

  StatusOr<std::vector<Peer>> peers(const ClusterId& cluster) override {
    Call call(this);
    call.context.set_deadline(std::chrono::system_clock::now() + std::min(kPeersWait, call_time()));
    v1::JoinRequest request;
    request.set_cluster(encode_cluster(cluster));
    request.set_node(options_.node);
    v1::JoinReply reply;
    SCYPER_RETURN_IF_ERROR(from_grpc(call.stub->Join(&call.context, request, &reply)));
    return peers_of(reply);
  }

  StatusOr<std::string> fetch_archive(const ClusterId& cluster, Disk* disk, const std::string& archives,
                                      const OnBytes& on_progress, const TierSink* tier) override;

  Status follow(const ClusterId& cluster, uint64_t after_lsn, uint64_t upto_lsn, const Each& each,
                uint64_t after_term) override {
    Call call(this);
    v1::FollowRequest request;
    request.set_cluster(encode_cluster(cluster));
    request.set_node(options_.node);
    request.set_after_lsn(after_lsn);
    request.set_upto_lsn(upto_lsn);
    request.set_after_term(after_term);
    request.set_peer_term(options_.peer_term);
    encode_partitions(options_.partitions, request.mutable_partitions());
    if (options_.peer_term != 0) call.context.set_deadline(std::chrono::system_clock::now() + call_time());
    BulkLane::Use bulk(&lane_, bulk_opener(cluster));
    request.set_bulk(bulk.number());
    auto reader = call.stub->Follow(&call.context, request);
    v1::LogPiece piece;
    bool goes_on = true;
    bool is_admitted = true;
    Status broken;  // the channel
    while (goes_on && reader->Read(&piece)) {
      if (options_.peer_term != 0 && piece.watermark().term() != options_.peer_term) {
        broken = absl::FailedPreconditionError("the other secondary answers for another term");
        break;
      }
      is_admitted = !options_.admits || options_.admits(piece.watermark().term(), piece.node());
      if (!is_admitted) break;
      awaits_positions_ = !piece.ignores_positions();
      std::vector<Parcel> parcels;
      broken = take_groups(&piece, &bulk, &parcels);
      if (!broken.ok()) break;
      goes_on = each(std::move(parcels), decode_watermark(piece.watermark()));
    }
    if (!goes_on || !is_admitted || !broken.ok()) call.context.TryCancel();
    Status status = from_grpc(reader->Finish());
    SCYPER_RETURN_IF_ERROR(broken);
    if (!is_admitted) return absl::UnavailableError("another primary is awaited");
    return goes_on ? status : Status();
  }

  Status attend(const std::function<std::optional<Position>()>& next) override {
    Call call(this);
    v1::AttendReply reply;
    auto writer = call.stub->Attend(&call.context, &reply);
    v1::PositionReport report;
    report.set_node(options_.node);
    report.set_address(options_.address);
    report.set_voter(options_.is_voter);
    encode_partitions(options_.partitions, report.mutable_partitions());
    while (std::optional<Position> position = next()) {
      report.set_term(position->term);
      report.set_received_lsn(position->received_lsn);
      report.set_durable_lsn(position->durable_lsn);
      report.set_applied_lsn(position->applied_lsn);
      report.set_snapshot(position->snapshot);
      report.set_serves(position->serves);
      report.set_queries(position->queries);
      report.set_repaired(position->repaired);
      report.set_resets(position->resets);
      report.set_transport(position->transport);
      report.set_lag_us(position->lag_us);
      report.set_no_room(!position->has_room);
      report.set_archive_lsn(position->archive_lsn);
      report.clear_digest();
      if (position->digest != nullptr) encode_digest(*position->digest, report.mutable_digest());
      if (!writer->Write(report)) break;
    }
    writer->WritesDone();
    return from_grpc(writer->Finish());
  }

  bool awaits_positions() const override { return awaits_positions_; }
  BulkInfo bulk() const override { return lane_.info(); }

  StatusOr<Ticket> ticket(const PartitionSet& reads) override {
    Call call(this);
    call.context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(options_.call_us));
    v1::TicketRequest request;
    request.set_node(options_.node);
    encode_partitions(reads, request.mutable_partitions());
    v1::TicketReply reply;
    SCYPER_RETURN_IF_ERROR(from_grpc(call.stub->Ticket(&call.context, request, &reply)));
    return Ticket{reply.term(), reply.snapshot(), reply.lsn(), reply.node(), reply.address()};
  }

  StatusOr<v1::CurrentReply> ask_current() {
    Call call(this);
    call.context.set_deadline(std::chrono::system_clock::now() + std::min(call_time(), kCurrentWait));
    v1::CurrentReply reply;
    const grpc::Status ended = call.stub->Current(&call.context, v1::CurrentRequest(), &reply);
    if (ended.error_code() == grpc::StatusCode::UNIMPLEMENTED) return absl::UnimplementedError(ended.error_message());
    SCYPER_RETURN_IF_ERROR(from_grpc(ended));
    return reply;
  }

  StatusOr<uint64_t> current_lsn() override {
    SCYPER_ASSIGN_OR_RETURN(const v1::CurrentReply reply, ask_current());
    return reply.lsn();
  }

  StatusOr<Watermark> watermark() override {
    SCYPER_ASSIGN_OR_RETURN(const v1::CurrentReply reply, ask_current());
    if (!reply.has_watermark()) return Link::watermark();
    const Watermark watermark = decode_watermark(reply.watermark());
    const bool is_admitted = !options_.admits || options_.admits(watermark.term, reply.node());
    if (!is_admitted) return absl::UnavailableError("another primary is awaited");
    return watermark;
  }

  void redirect(const std::string& target) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      connect_to(target);
      awaits_positions_ = true;
      for (grpc::ClientContext* context : contexts_) context->TryCancel();
    }
    ++redirections_;
    lane_.forget();
  }

  void cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    is_cancelled_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }

 private:
  bool is_cancelled() {
    std::lock_guard<std::mutex> lock(mutex_);
    return is_cancelled_;
  }

  // As a statement's: of who is asked the code is known alone.
  static Status refusal_of(const Status& status) {
    if (absl::IsFailedPrecondition(status)) return sql_error("55000", std::string(status.message()));
    return absl::IsInvalidArgument(status) ? sql_error("22023", std::string(status.message())) : status;
  }

  std::chrono::microseconds call_time() const { return std::chrono::microseconds(options_.call_us); }
  static std::vector<Peer> peers_of(const v1::JoinReply& reply) {
    std::vector<Peer> peers;
    for (const v1::Peer& peer : reply.peers()) {
      peers.push_back({peer.node(), peer.address(), peer.received_lsn(), peer.archive_lsn()});
    }
    return peers;
  }

  // For who waits for bulk data of a call that has begun.
  BulkChannel::GoesOn goes_on() {
    return [this, before = redirections_.load()] { return !is_cancelled() && redirections_ == before; };
  }
  // Empty: there is no channel to be had.
  BulkLane::Open bulk_opener(const ClusterId& cluster) {
    if (!options_.connect_bulk || !has_bulk_) return {};
    return [this, cluster] { return open_bulk(cluster); };
  }
  StatusOr<std::pair<uint64_t, std::unique_ptr<BulkChannel>>> open_bulk(const ClusterId& cluster);
  Status take_groups(v1::LogPiece* piece, BulkLane::Use* bulk, std::vector<Parcel>* out);
  struct Fetch;
  Status fetch_some(const ClusterId& cluster, Fetch* fetch);
  Status take_piece(const v1::ArchivePiece& piece, BulkLane::Use* bulk, Fetch* fetch);

  // With the lock. Calls that run keep their connection.
  bool has_new_certificate() const { return options_.tls != nullptr && options_.tls->texts()->version != tls_version_; }

  // One call, so that cancel() finds it.
  struct Call {
    explicit Call(GrpcLink* owner) : link(owner) {
      std::lock_guard<std::mutex> lock(link->mutex_);
      if (link->is_cancelled_) context.TryCancel();
      link->contexts_.insert(&context);
      // a node that is being promoted listens a moment later, and opens when it is followed: a new channel asks at once
      const bool has_failed = link->channel_->GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE;
      if (has_failed || link->has_new_certificate()) link->connect_to(link->target_);
      stub = link->stub_;
    }
    ~Call() {
      std::lock_guard<std::mutex> lock(link->mutex_);
      link->contexts_.erase(&context);
    }
    GrpcLink* const link;
    std::shared_ptr<v1::Replication::Stub> stub;
    grpc::ClientContext context;
  };

  const LinkOptions options_;
  std::atomic<bool> awaits_positions_{true};
  std::atomic<bool> has_bulk_{false};
  std::atomic<uint64_t> redirections_{0};
  BulkLane lane_;
  std::mutex mutex_;  // all that follows
  std::string target_;
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<v1::Replication::Stub> stub_;
  uint64_t tls_version_ = 0;  // of channel_
  std::set<grpc::ClientContext*> contexts_;
  bool is_cancelled_ = false;
};

// Names come from the network: plain ones only.
bool is_plain(const std::string& name) {
  return !name.empty() && name.size() < 100 && name[0] != '.' && name.find('/') == std::string::npos;
}

std::string archive_name(uint64_t lsn) {
  std::string digits = std::to_string(lsn);
  return std::string(kArchiveNumberDigits - std::min<size_t>(kArchiveNumberDigits, digits.size()), '0') + digits;
}

StatusOr<std::pair<uint64_t, std::unique_ptr<BulkChannel>>> GrpcLink::open_bulk(const ClusterId& cluster) {
  Call call(this);
  call.context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(options_.call_us));
  v1::OpenBulkRequest request;
  request.set_cluster(encode_cluster(cluster));
  request.set_node(options_.node);
  v1::OpenBulkReply reply;
  SCYPER_RETURN_IF_ERROR(from_grpc(call.stub->OpenBulk(&call.context, request, &reply)));
  BulkAddress address;
  address.host = reply.host();
  address.port = static_cast<uint16_t>(reply.port());
  address.token = reply.token();
  address.is_sealed = reply.sealed();
  SCYPER_ASSIGN_OR_RETURN(auto channel, options_.connect_bulk(cluster, address));
  return std::pair(reply.bulk(), std::move(channel));
}

// Of the message, or of the channel.
Status GrpcLink::take_groups(v1::LogPiece* piece, BulkLane::Use* bulk, std::vector<Parcel>* out) {
  const auto add = [&](std::string group) {
    Parcel parcel;
    parcel.bytes = std::make_shared<const std::string>(std::move(group));
    out->push_back(std::move(parcel));
  };
  for (std::string& group : *piece->mutable_groups()) add(std::move(group));
  if (piece->bulk_groups_size() == 0) return Status();
  uint64_t total = 0;
  for (const uint64_t size : piece->bulk_groups()) {
    if (size > kBulkBytesMax || (total += size) > kBulkBytesMax) return absl::DataLossError("an impossible group");
  }
  std::string bytes;
  bytes.reserve(total);
  SCYPER_RETURN_IF_ERROR(bulk->read(piece->bulk_slot(), total, &bytes, goes_on()));
  size_t at = 0;
  for (const uint64_t size : piece->bulk_groups()) {
    add(bytes.substr(at, size));
    at += size;
  }
  return Status();
}

// An archive on its way, whatever interrupts it.
struct GrpcLink::Fetch {
  Disk* disk = nullptr;
  std::string archives, path;
  const TierSink* tier = nullptr;  // null: its files are not asked for
  bool is_tier_given_up = false;   // those that still come are not kept
  uint64_t lsn = 0;
  std::string name;            // of the file that comes
  bool is_of_tier = false;     // that one
  std::unique_ptr<File> file;  // null: none has come yet, or its bytes are not wanted
  std::string tier_path;       // that it is written to, if it is of the tier
  uint64_t file_bytes = 0;     // of it, that are there
  uint64_t bytes = 0;          // of all files
  std::string buffer;
  bool is_interrupted = false;  // by what may be over at the next attempt: the connection, the channel
  OnBytes on_progress;

  Status begin(const v1::ArchivePiece& piece);
  Status begin_file(const std::string& file_name);
  Status end_file();
  Status write(uint64_t offset, std::string_view piece);
  Status give_up_tier(const Status& why);
};

Status GrpcLink::Fetch::begin(const v1::ArchivePiece& piece) {
  lsn = piece.lsn();
  path = archives + "/" + archive_name(lsn);
  SCYPER_RETURN_IF_ERROR(disk->make_directory(archives));
  SCYPER_RETURN_IF_ERROR(disk->make_directory(path));
  return disk->sync_directory(archives);
}

// An archive is whole without its tier's files: what is wrong with these ends no fetch.
Status GrpcLink::Fetch::give_up_tier(const Status& why) {
  file.reset();
  tier->disk->remove(tier_path).IgnoreError();  // the archive may need the room
  is_tier_given_up = true;
  tier->give_up(why);
  return Status();
}

Status GrpcLink::Fetch::begin_file(const std::string& file_name) {
  name = file_name;
  file_bytes = 0;
  file.reset();
  if (!is_of_tier) {
    // the manifest makes an archive of the directory: named when all is there
    const std::string to = absl::StrCat(path, "/", name, name == kManifest ? ".tmp" : "");
    SCYPER_ASSIGN_OR_RETURN(file, disk->open(to, OpenMode::kCreate));
    return Status();
  }
  tier_path = tier == nullptr || is_tier_given_up ? "" : tier->path_of(name);
  if (tier_path.empty()) return Status();
  auto opened = tier->disk->open(tier_path, OpenMode::kCreate);
  if (!opened.ok()) return give_up_tier(opened.status());
  file = *std::move(opened);
  return Status();
}

Status GrpcLink::Fetch::end_file() {
  if (file == nullptr) return Status();
  Status status = file->sync();
  if (is_of_tier) file->drop_cached();  // the tier has a cache of its own
  if (status.ok() && is_of_tier) status = tier->finish(name);
  return is_of_tier && !status.ok() ? give_up_tier(status) : status;
}

Status GrpcLink::Fetch::write(uint64_t offset, std::string_view piece) {
  Status status = file == nullptr ? Status() : file->write(offset, piece);
  if (is_of_tier && !status.ok()) status = give_up_tier(status);
  SCYPER_RETURN_IF_ERROR(status);
  file_bytes += piece.size();
  bytes += piece.size();
  return Status();
}

Status GrpcLink::take_piece(const v1::ArchivePiece& piece, BulkLane::Use* bulk, Fetch* fetch) {
  if (!is_plain(piece.file())) return absl::DataLossError("the archive has a file with an impossible name");
  if (fetch->path.empty()) SCYPER_RETURN_IF_ERROR(fetch->begin(piece));
  if (piece.file() != fetch->name) {
    SCYPER_RETURN_IF_ERROR(fetch->end_file());
    fetch->is_of_tier = piece.tier();
    SCYPER_RETURN_IF_ERROR(fetch->begin_file(piece.file()));
  }
  const bool has_gap = piece.offset() != fetch->file_bytes;
  if (has_gap && (options_.partitions.is_all() || fetch->file == nullptr || piece.offset() < fetch->file_bytes)) {
    return absl::DataLossError("the archive comes with a gap");
  }
  if (has_gap) {  // other partitions' rows
    SCYPER_RETURN_IF_ERROR(fetch->file->resize(piece.offset()));
    fetch->file_bytes = piece.offset();
  }
  std::string_view bytes = piece.bytes();
  if (piece.bulk_bytes() != 0) {
    if (piece.bulk_bytes() > kBulkBytesMax) return absl::DataLossError("an impossible piece of an archive");
    fetch->buffer.clear();
    fetch->is_interrupted = true;  // until it is there
    SCYPER_RETURN_IF_ERROR(bulk->read(piece.bulk_slot(), piece.bulk_bytes(), &fetch->buffer, goes_on()));
    fetch->is_interrupted = false;
    bytes = fetch->buffer;
  }
  SCYPER_RETURN_IF_ERROR(fetch->write(piece.offset(), bytes));
  if (fetch->on_progress) fetch->on_progress(fetch->bytes, piece.total_bytes());
  return Status();
}

// From where it is.
Status GrpcLink::fetch_some(const ClusterId& cluster, Fetch* fetch) {
  fetch->is_interrupted = false;
  BulkLane::Use bulk(&lane_, bulk_opener(cluster));
  Call call(this);
  v1::FetchArchiveRequest request;
  request.set_cluster(encode_cluster(cluster));
  request.set_bulk(bulk.number());
  request.set_peer_term(options_.peer_term);
  encode_partitions(options_.partitions, request.mutable_partitions());
  // a call that goes on beyond is followed by another: only who brings nothing is given up
  if (options_.peer_term != 0) call.context.set_deadline(std::chrono::system_clock::now() + call_time());
  if (fetch->tier != nullptr && options_.partitions.is_all()) {
    request.set_tier(true);
    for (const std::string& name : fetch->tier->present) request.add_tier_files(name);
  }
  if (!fetch->name.empty()) {
    request.set_lsn(fetch->lsn);
    request.set_file(fetch->name);
    request.set_offset(fetch->file_bytes);
  }
  auto reader = call.stub->FetchArchive(&call.context, request);
  v1::ArchivePiece piece;
  Status written;
  while (written.ok() && reader->Read(&piece)) written = take_piece(piece, &bulk, fetch);
  if (!written.ok()) call.context.TryCancel();
  Status status = from_grpc(reader->Finish());
  SCYPER_RETURN_IF_ERROR(written);
  // a primary that ends cancels what it has: only this side's own cancel() is final
  fetch->is_interrupted = absl::IsUnavailable(status) || absl::IsCancelled(status);
  if (options_.peer_term != 0) fetch->is_interrupted = absl::IsDeadlineExceeded(status);
  return status;
}

StatusOr<std::string> GrpcLink::fetch_archive(const ClusterId& cluster, Disk* disk, const std::string& archives,
                                              const OnBytes& on_progress, const TierSink* tier) {
  Fetch fetch;
  fetch.tier = tier;
  fetch.disk = disk;
  fetch.archives = archives;
  fetch.on_progress = on_progress;
  auto moved = std::chrono::steady_clock::now();
  while (true) {
    const uint64_t before = fetch.bytes;
    const Status status = fetch_some(cluster, &fetch);
    if (status.ok()) break;
    if (!fetch.is_interrupted || is_cancelled()) return status;
    if (options_.peer_term != 0) {  // another one is asked instead
      if (fetch.bytes == before) return status;
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    if (fetch.bytes > before) moved = now;
    if (now - moved > std::chrono::microseconds(options_.call_us)) {
      return sql_error("08006", absl::StrCat("the primary went away while it sent its archive: ", status.message()));
    }
    std::this_thread::sleep_for(kFetchRetry);
  }
  if (fetch.file == nullptr || fetch.name != kManifest) return absl::DataLossError("the archive has no manifest");
  SCYPER_RETURN_IF_ERROR(fetch.file->sync());
  const std::string manifest = absl::StrCat(fetch.path, "/", kManifest);
  SCYPER_RETURN_IF_ERROR(disk->sync_directory(fetch.path));
  SCYPER_RETURN_IF_ERROR(disk->rename(absl::StrCat(manifest, ".tmp"), manifest));
  SCYPER_RETURN_IF_ERROR(disk->sync_directory(fetch.path));
  return fetch.path;
}

}  // namespace

std::unique_ptr<Link> Link::make(const LinkOptions& options) { return std::make_unique<GrpcLink>(options); }

}  // namespace scyper::replication
