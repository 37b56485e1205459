#include "consensus/peers.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "channel.h"
#include "failover.grpc.pb.h"

namespace scyper::consensus {

namespace {

constexpr std::chrono::milliseconds kStopTime{500};
constexpr uint64_t kFirstConfig = 1;  // of nodes that could not change voters, and do not say which they count

class FailoverService final : public failover::v1::Failover::Service {
 public:
  FailoverService(std::string cluster, PeerServer::OnFence on_fence, PeerServer::OnGrant on_grant)
      : cluster_(std::move(cluster)), on_fence_(std::move(on_fence)), on_grant_(std::move(on_grant)) {}

  grpc::Status Fence(grpc::ServerContext*, const failover::v1::FenceRequest* request,
                     failover::v1::FenceReply* reply) override {
    if (const grpc::Status checked = check(*request); !checked.ok()) return checked;
    auto answer = on_fence_({request->term(), request->node(), std::max(request->config(), kFirstConfig)});
    if (!answer.ok()) return {grpc::StatusCode::UNAVAILABLE, std::string(answer.status().message())};
    reply->set_term(answer->term);
    reply->set_granted(answer->granted);
    reply->mutable_promised()->set_term(answer->promised.term);
    reply->mutable_promised()->set_node(answer->promised.node);
    reply->mutable_promised()->set_config(answer->promised.config);
    reply->set_position_term(answer->position.term);
    reply->set_position_lsn(answer->position.lsn);
    reply->set_complete(answer->is_complete);
    return grpc::Status::OK;
  }

  grpc::Status Grant(grpc::ServerContext*, const failover::v1::GrantRequest* request,
                     failover::v1::GrantReply* reply) override {
    if (const grpc::Status checked = check(*request); !checked.ok()) return checked;
    const auto granted = on_grant_(request->node(), request->term());
    if (!granted.ok()) return {grpc::StatusCode::UNAVAILABLE, std::string(granted.status().message())};
    reply->set_granted(*granted);
    return grpc::Status::OK;
  }

 private:
  template <typename Request>
  grpc::Status check(const Request& request) const {
    if (request.cluster() != cluster_) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "the node belongs to cluster " + cluster_};
    }
    if (request.node().empty() || request.term() == 0) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "a request names a node and a term"};
    }
    return grpc::Status::OK;
  }

  const std::string cluster_;
  const PeerServer::OnFence on_fence_;
  const PeerServer::OnGrant on_grant_;
};

class GrpcPeerServer final : public PeerServer {
 public:
  explicit GrpcPeerServer(std::unique_ptr<FailoverService> service) : service_(std::move(service)) {}
  ~GrpcPeerServer() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + kStopTime);
  }
  Status begin(const PeerOptions& options) {
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!options.tls_ca.empty()) {
      grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      tls.pem_root_certs = options.tls_ca;
      tls.pem_key_cert_pairs.push_back({options.tls_key, options.tls_cert});
      credentials = grpc::SslServerCredentials(tls);
    }
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(options.listen, credentials, &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    if (server_ != nullptr && port_ != 0) return Status();
    return absl::UnavailableError("cannot listen on " + options.listen +
                                  " for the other voters: is the address in use, or the certificate bad?");
  }
  uint16_t port() const override { return static_cast<uint16_t>(port_); }

 private:
  const std::unique_ptr<FailoverService> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

class GrpcPeerClient final : public PeerClient {
 public:
  GrpcPeerClient(const PeerOptions& options, std::string node) : options_(options), node_(std::move(node)) {}

  StatusOr<FenceAnswer> fence(const std::string& address, uint64_t term, uint64_t config, int64_t timeout_us) override {
    failover::v1::FenceRequest request;
    request.set_config(config);
    failover::v1::FenceReply reply;
    SCYPER_RETURN_IF_ERROR(ask(address, term, timeout_us, &request, [&](auto& stub, grpc::ClientContext* context) {
      return stub.Fence(context, request, &reply);
    }));
    return FenceAnswer{reply.term(),
                       reply.granted(),
                       {reply.promised().term(), reply.promised().node(), reply.promised().config()},
                       {reply.position_term(), reply.position_lsn()},
                       reply.complete()};
  }

  StatusOr<bool> grant(const std::string& address, uint64_t term, int64_t timeout_us) override {
    failover::v1::GrantRequest request;
    failover::v1::GrantReply reply;
    SCYPER_RETURN_IF_ERROR(ask(address, term, timeout_us, &request, [&](auto& stub, grpc::ClientContext* context) {
      return stub.Grant(context, request, &reply);
    }));
    return reply.granted();
  }

  void cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    is_cancelled_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }

 private:
  template <typename Request, typename Call>
  Status ask(const std::string& address, uint64_t term, int64_t timeout_us, Request* request, const Call& call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(timeout_us));
    context.set_wait_for_ready(true);
    std::shared_ptr<failover::v1::Failover::Stub> stub;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_cancelled_) return absl::CancelledError("cancelled");
      stub = stub_of(address);
      contexts_.insert(&context);
    }
    request->set_cluster(options_.cluster);
    request->set_node(node_);
    request->set_term(term);
    const grpc::Status status = call(*stub, &context);
    std::lock_guard<std::mutex> lock(mutex_);
    contexts_.erase(&context);
    return status.ok() ? Status() : Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  // With the lock.
  std::shared_ptr<failover::v1::Failover::Stub> stub_of(const std::string& address) {
    auto& stub = stubs_[address];
    if (stub != nullptr) return stub;
    const ChannelOptions channel{options_.tls_ca, options_.tls_cert, options_.tls_key};
    stub = failover::v1::Failover::NewStub(make_channel(address, channel));
    return stub;
  }

  const PeerOptions options_;
  const std::string node_;
  std::mutex mutex_;  // all that follows
  std::map<std::string, std::shared_ptr<failover::v1::Failover::Stub>> stubs_;
  std::set<grpc::ClientContext*> contexts_;
  bool is_cancelled_ = false;
};

}  // namespace

StatusOr<std::unique_ptr<PeerServer>> PeerServer::start(const PeerOptions& options, OnFence on_fence,
                                                        OnGrant on_grant) {
  auto server = std::make_unique<GrpcPeerServer>(
      std::make_unique<FailoverService>(options.cluster, std::move(on_fence), std::move(on_grant)));
  SCYPER_RETURN_IF_ERROR(server->begin(options));
  return std::unique_ptr<PeerServer>(std::move(server));
}

std::unique_ptr<PeerClient> PeerClient::make(const PeerOptions& options, const std::string& node) {
  return std::make_unique<GrpcPeerClient>(options, node);
}

}  // namespace scyper::consensus
