#include "consensus/peers.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "channel.h"
#include "consensus/server_credentials.h"
#include "failover.grpc.pb.h"

namespace scyper::consensus {

namespace {

constexpr std::chrono::milliseconds kStopTime{500};
constexpr uint64_t kFirstConfig = 1;  // of nodes that could not change voters, and do not say which they count

class FailoverService final : public failover::v1::Failover::Service {
 public:
  FailoverService(const PeerOptions& options, PeerServer::OnFence on_fence, PeerServer::OnGrant on_grant)
      : options_(options), on_fence_(std::move(on_fence)), on_grant_(std::move(on_grant)) {}

  grpc::Status Fence(grpc::ServerContext* context, const failover::v1::FenceRequest* request,
                     failover::v1::FenceReply* reply) override {
    if (const grpc::Status checked = check(*context, *request); !checked.ok()) return checked;
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

  grpc::Status Grant(grpc::ServerContext* context, const failover::v1::GrantRequest* request,
                     failover::v1::GrantReply* reply) override {
    if (const grpc::Status checked = check(*context, *request); !checked.ok()) return checked;
    const auto granted = on_grant_(request->node(), request->term());
    if (!granted.ok()) return {grpc::StatusCode::UNAVAILABLE, std::string(granted.status().message())};
    reply->set_granted(*granted);
    return grpc::Status::OK;
  }

 private:
  template <typename Request>
  grpc::Status check(const grpc::ServerContext& context, const Request& request) {
    if (options_.tls != nullptr) {
      if (const Status status = check_name(context, request.node()); !status.ok()) {
        if (options_.on_refused) options_.on_refused(std::string(status.message()) + ", from " + context.peer());
        return {grpc::StatusCode::PERMISSION_DENIED, std::string(status.message())};
      }
    }
    if (request.cluster() != options_.cluster) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "the node belongs to cluster " + options_.cluster};
    }
    if (request.node().empty() || request.term() == 0) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "a request names a node and a term"};
    }
    return grpc::Status::OK;
  }

  // The authority has signed clients' certificates, too: a node speaks for itself alone.
  Status check_name(const grpc::ServerContext& context, const std::string& node) const {
    const auto certificate = context.auth_context();
    const auto has = [&](const char* property) {
      const auto values = certificate->FindPropertyValues(property);
      return std::any_of(values.begin(), values.end(), [&](const grpc::string_ref& value) { return value == node; });
    };
    if (node.empty() || (!has(GRPC_X509_CN_PROPERTY_NAME) && !has(GRPC_X509_SAN_PROPERTY_NAME))) {
      const auto names = certificate->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
      const std::string name = names.empty() ? std::string() : std::string(names[0].data(), names[0].size());
      return absl::PermissionDeniedError("permission denied: a certificate of \"" + name +
                                         "\" does not speak for node \"" + node + "\"");
    }
    if (options_.is_member && !options_.is_member(node))
      return absl::PermissionDeniedError("permission denied: node \"" + node + "\" is no member of the cluster");
    return {};
  }

  const PeerOptions options_;
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
    if (options.tls != nullptr) credentials = make_server_credentials(options.tls, {});
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
    const auto tls = options_.tls == nullptr ? nullptr : options_.tls->texts();
    // calls that run keep their connection
    if (tls != nullptr && std::exchange(tls_version_, tls->version) != tls->version) stubs_.clear();
    auto& stub = stubs_[address];
    if (stub == nullptr) stub = failover::v1::Failover::NewStub(make_channel(address, {tls.get()}));
    return stub;
  }

  const PeerOptions options_;
  const std::string node_;
  std::mutex mutex_;  // all that follows
  std::map<std::string, std::shared_ptr<failover::v1::Failover::Stub>> stubs_;
  uint64_t tls_version_ = 0;  // of all of them
  std::set<grpc::ClientContext*> contexts_;
  bool is_cancelled_ = false;
};

}  // namespace

StatusOr<std::unique_ptr<PeerServer>> PeerServer::start(const PeerOptions& options, OnFence on_fence,
                                                        OnGrant on_grant) {
  auto server = std::make_unique<GrpcPeerServer>(
      std::make_unique<FailoverService>(options, std::move(on_fence), std::move(on_grant)));
  SCYPER_RETURN_IF_ERROR(server->begin(options));
  return std::unique_ptr<PeerServer>(std::move(server));
}

std::unique_ptr<PeerClient> PeerClient::make(const PeerOptions& options, const std::string& node) {
  return std::make_unique<GrpcPeerClient>(options, node);
}

}  // namespace scyper::consensus
