#include "consensus/etcd.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text_file.h"
#include "channel.h"
#include "etcd.grpc.pb.h"

namespace scyper::consensus {

namespace {

using TimePoint = std::chrono::system_clock::time_point;
using std::chrono::microseconds;
constexpr microseconds kConnectLook{50'000};  // so soon cancel() is seen
constexpr int kReconnectMs = 300;
constexpr int kKeepaliveMs = 10'000;

TimePoint now() { return std::chrono::system_clock::now(); }

// Behind the last key with that prefix.
std::string end_of(std::string prefix) {
  while (!prefix.empty()) {
    auto& last = reinterpret_cast<unsigned char&>(prefix.back());
    if (last != 0xff) {
      ++last;
      return prefix;
    }
    prefix.pop_back();
  }
  return std::string(1, '\0');  // etcd's word for: to the end
}

// etcd takes no empty key; its first one is this.
std::string begin_of(const std::string& prefix) { return prefix.empty() ? std::string(1, '\0') : prefix; }

// Whether an error says that the call has changed nothing.
bool is_refusal(grpc::StatusCode code) {
  using grpc::StatusCode;
  return code == StatusCode::INVALID_ARGUMENT || code == StatusCode::NOT_FOUND || code == StatusCode::UNIMPLEMENTED ||
         code == StatusCode::PERMISSION_DENIED || code == StatusCode::UNAUTHENTICATED ||
         code == StatusCode::FAILED_PRECONDITION || code == StatusCode::RESOURCE_EXHAUSTED ||
         code == StatusCode::ALREADY_EXISTS;
}

struct Endpoint {
  std::string address;
  uint64_t tls_version = 0;  // 0: no TLS
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
  std::atomic<bool> is_ours{false};  // it has answered as a member of our cluster since it was last lost
};

class GrpcEtcd final : public Etcd {
 public:
  GrpcEtcd(const EtcdOptions& options, std::shared_ptr<TlsFiles> tls)
      : options_(options), tls_(std::move(tls)), endpoints_(options.endpoints.size()) {}

  StatusOr<Range> read(const std::string& prefix) override {
    etcdserverpb::RangeRequest request;
    request.set_key(begin_of(prefix));
    request.set_range_end(end_of(prefix));
    etcdserverpb::RangeResponse response;
    SCYPER_RETURN_IF_ERROR(call(Repeats::kYes, [&](Endpoint& to, grpc::ClientContext* context) {
      response.Clear();
      return std::pair(to.kv->Range(context, request, &response), &response.header());
    }));
    Range range;
    range.revision = response.header().revision();
    for (const auto& kv : response.kvs()) {
      range.values.push_back({kv.key(), kv.value(), kv.mod_revision(), kv.lease()});
    }
    return range;
  }

  Status put(const EtcdTxn::Put& put) override {
    etcdserverpb::PutRequest request;
    request.set_key(put.key);
    request.set_value(put.value);
    request.set_lease(put.lease);
    etcdserverpb::PutResponse response;
    return call(Repeats::kNo, [&](Endpoint& to, grpc::ClientContext* context) {
      return std::pair(to.kv->Put(context, request, &response), &response.header());
    });
  }

  StatusOr<int64_t> remove(const std::string& prefix) override {
    etcdserverpb::DeleteRangeRequest request;
    request.set_key(begin_of(prefix));
    request.set_range_end(end_of(prefix));
    etcdserverpb::DeleteRangeResponse response;
    SCYPER_RETURN_IF_ERROR(call(Repeats::kNo, [&](Endpoint& to, grpc::ClientContext* context) {
      return std::pair(to.kv->DeleteRange(context, request, &response), &response.header());
    }));
    return response.deleted();
  }

  StatusOr<Outcome> txn(const EtcdTxn& txn) override;

  StatusOr<Granted> grant(int64_t ttl_s) override {
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(ttl_s);
    etcdserverpb::LeaseGrantResponse response;
    // one too many ends by itself
    SCYPER_RETURN_IF_ERROR(call(Repeats::kYes, [&](Endpoint& to, grpc::ClientContext* context) {
      response.Clear();
      return std::pair(to.lease->LeaseGrant(context, request, &response), &response.header());
    }));
    if (!response.error().empty()) return absl::UnavailableError("etcd: no lease: " + response.error());
    return Granted{response.id(), response.ttl()};
  }

  StatusOr<int64_t> keep_alive(int64_t lease) override {
    etcdserverpb::LeaseKeepAliveRequest request;
    request.set_id(lease);
    etcdserverpb::LeaseKeepAliveResponse response;
    SCYPER_RETURN_IF_ERROR(call(Repeats::kYes, [&](Endpoint& to, grpc::ClientContext* context) {
      response.Clear();
      auto stream = to.lease->LeaseKeepAlive(context);
      const bool is_answered = stream->Write(request) && stream->Read(&response);
      if (is_answered) {
        stream->WritesDone();
        context->TryCancel();  // etcd would wait for more
      }
      grpc::Status status = stream->Finish();
      if (is_answered)
        status = grpc::Status::OK;
      else if (status.ok())
        status = {grpc::StatusCode::UNAVAILABLE, "the stream has ended"};
      return std::pair(status, &response.header());
    }));
    if (response.ttl() <= 0) return absl::NotFoundError("etcd: the lease has ended");
    return response.ttl();
  }

  Status revoke(int64_t lease) override {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(lease);
    etcdserverpb::LeaseRevokeResponse response;
    return call(Repeats::kYes, [&](Endpoint& to, grpc::ClientContext* context) {
      response.Clear();
      return std::pair(to.lease->LeaseRevoke(context, request, &response), &response.header());
    });
  }

  Status watch(const std::string& prefix, const std::function<void()>& on_change) override;

  void cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    is_cancelled_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }

 private:
  enum class Repeats : uint8_t { kNo, kYes };
  // One call, so that cancel() finds it.
  struct Call {
    explicit Call(GrpcEtcd* owner) : etcd(owner) {
      std::lock_guard<std::mutex> lock(etcd->mutex_);
      if (etcd->is_cancelled_) context.TryCancel();
      etcd->contexts_.insert(&context);
    }
    ~Call() {
      std::lock_guard<std::mutex> lock(etcd->mutex_);
      etcd->contexts_.erase(&context);
    }
    GrpcEtcd* const etcd;
    grpc::ClientContext context;
  };

  template <typename Send>
  Status call(Repeats repeats, const Send& send);
  Status prepare(Endpoint& endpoint, TimePoint deadline);
  Status identify(Endpoint& endpoint, TimePoint deadline);
  Status check(const etcdserverpb::ResponseHeader& header, const Endpoint& endpoint);
  bool is_cancelled() const { return is_cancelled_.load(); }

  std::shared_ptr<Endpoint> endpoint_at(size_t index);

  const EtcdOptions options_;
  const std::shared_ptr<TlsFiles> tls_;  // null: none
  std::atomic<size_t> current_{0};
  std::atomic<uint64_t> cluster_{0};  // that answered first; 0: none has
  std::atomic<bool> is_cancelled_{false};
  std::mutex mutex_;                                  // all that follows
  std::vector<std::shared_ptr<Endpoint>> endpoints_;  // by number in the options; null: not asked yet
  std::set<grpc::ClientContext*> contexts_;
};

// A new connection where the certificate is another; calls that run keep theirs.
std::shared_ptr<Endpoint> GrpcEtcd::endpoint_at(size_t index) {
  const auto tls = tls_ == nullptr ? nullptr : tls_->texts();
  const uint64_t version = tls == nullptr ? 0 : tls->version;
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Endpoint>& endpoint = endpoints_[index % endpoints_.size()];
  if (endpoint != nullptr && endpoint->tls_version == version) return endpoint;
  endpoint = std::make_shared<Endpoint>();
  endpoint->address = options_.endpoints[index % endpoints_.size()];
  endpoint->tls_version = version;
  endpoint->channel = make_channel(endpoint->address, {tls.get(), kReconnectMs, kKeepaliveMs});
  endpoint->kv = etcdserverpb::KV::NewStub(endpoint->channel);
  endpoint->lease = etcdserverpb::Lease::NewStub(endpoint->channel);
  endpoint->watch = etcdserverpb::Watch::NewStub(endpoint->channel);
  return endpoint;
}

// What another cluster has done or says is none of our business, however it came to be under that address.
Status GrpcEtcd::check(const etcdserverpb::ResponseHeader& header, const Endpoint& endpoint) {
  uint64_t known = 0;
  if (header.cluster_id() == 0)
    return absl::FailedPreconditionError(endpoint.address + " does not answer as etcd does");
  if (cluster_.compare_exchange_strong(known, header.cluster_id()) || known == header.cluster_id()) return Status();
  return absl::FailedPreconditionError(absl::StrCat("etcd: ", endpoint.address, " belongs to another cluster"));
}

// A connection, and to whom: before a change is sent there.
Status GrpcEtcd::prepare(Endpoint& endpoint, TimePoint deadline) {
  const TimePoint until = std::min(deadline, now() + microseconds(options_.connect_us));
  while (endpoint.channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) {
    endpoint.is_ours = false;
    if (is_cancelled()) return absl::CancelledError("cancelled");
    if (now() >= until) return absl::UnavailableError("etcd: no connection to " + endpoint.address);
    endpoint.channel->WaitForConnected(std::min(until, now() + kConnectLook));
  }
  return endpoint.is_ours ? Status() : identify(endpoint, deadline);
}

Status GrpcEtcd::identify(Endpoint& endpoint, TimePoint deadline) {
  etcdserverpb::RangeRequest request;
  request.set_key("scyper");
  request.set_count_only(true);
  request.set_serializable(true);  // also where there is no majority: the call that follows is for that
  etcdserverpb::RangeResponse response;
  Call call(this);
  call.context.set_deadline(std::min(deadline, now() + microseconds(options_.attempt_us)));
  const grpc::Status status = endpoint.kv->Range(&call.context, request, &response);
  if (!status.ok())
    return absl::UnavailableError(absl::StrCat("etcd: ", endpoint.address, ": ", status.error_message()));
  SCYPER_RETURN_IF_ERROR(check(response.header(), endpoint));
  endpoint.is_ours = true;
  return Status();
}

template <typename Send>
Status GrpcEtcd::call(Repeats repeats, const Send& send) {
  const TimePoint deadline = now() + microseconds(options_.call_us);
  Status last = absl::UnavailableError("etcd: no endpoint has been reached");
  for (size_t attempt = 0; now() < deadline; ++attempt) {
    if (is_cancelled()) return absl::CancelledError("cancelled");
    const size_t index = current_.load();
    const std::shared_ptr<Endpoint> kept = endpoint_at(index);
    Endpoint& endpoint = *kept;
    size_t expected = index;
    const auto go_on = [&] { current_.compare_exchange_strong(expected, index + 1); };
    if (attempt > 0 && attempt % options_.endpoints.size() == 0) {
      std::this_thread::sleep_for(kConnectLook);  // all have failed
    }
    if (Status status = prepare(endpoint, deadline); !status.ok()) {
      last = std::move(status);
      go_on();
      continue;
    }
    Call call(this);
    call.context.set_deadline(std::min(deadline, now() + microseconds(options_.attempt_us)));
    const auto [status, header] = send(endpoint, &call.context);
    if (status.ok()) return check(*header, endpoint);
    if (is_cancelled()) return absl::CancelledError("cancelled");
    const std::string text = absl::StrCat("etcd: ", endpoint.address, ": ", status.error_message());
    if (is_refusal(status.error_code())) return Status(static_cast<absl::StatusCode>(status.error_code()), text);
    endpoint.is_ours = false;
    go_on();
    if (repeats == Repeats::kNo) return absl::UnknownError(text);
    last = absl::UnavailableError(text);
  }
  return last;
}

StatusOr<Etcd::Outcome> GrpcEtcd::txn(const EtcdTxn& txn) {
  etcdserverpb::TxnRequest request;
  for (const EtcdTxn::Compare& compare : txn.compares) {
    auto* made = request.add_compare();
    made->set_key(compare.key);
    made->set_result(etcdserverpb::Compare::EQUAL);
    if (compare.kind == EtcdTxn::Compare::Kind::kValue) {
      made->set_target(etcdserverpb::Compare::VALUE);
      made->set_value(compare.value);
    } else if (compare.kind == EtcdTxn::Compare::Kind::kIsAbsent) {
      made->set_target(etcdserverpb::Compare::CREATE);
      made->set_create_revision(0);
    } else {
      made->set_target(etcdserverpb::Compare::MOD);
      made->set_mod_revision(compare.mod_revision);
    }
  }
  for (const EtcdTxn::Put& put : txn.puts) {
    auto* made = request.add_success()->mutable_request_put();
    made->set_key(put.key);
    made->set_value(put.value);
    made->set_lease(put.lease);
  }
  for (const std::string& key : txn.removes) request.add_success()->mutable_request_delete_range()->set_key(key);
  etcdserverpb::TxnResponse response;
  SCYPER_RETURN_IF_ERROR(call(Repeats::kNo, [&](Endpoint& to, grpc::ClientContext* context) {
    return std::pair(to.kv->Txn(context, request, &response), &response.header());
  }));
  return Outcome{response.succeeded(), response.header().revision()};
}

Status GrpcEtcd::watch(const std::string& prefix, const std::function<void()>& on_change) {
  const TimePoint deadline = now() + microseconds(options_.call_us);
  const size_t index = current_.load();
  const std::shared_ptr<Endpoint> kept = endpoint_at(index);
  Endpoint& endpoint = *kept;
  SCYPER_RETURN_IF_ERROR(prepare(endpoint, deadline));
  etcdserverpb::WatchRequest request;
  request.mutable_create_request()->set_key(begin_of(prefix));
  request.mutable_create_request()->set_range_end(end_of(prefix));
  Call call(this);
  auto stream = endpoint.watch->Watch(&call.context);
  etcdserverpb::WatchResponse response;
  Status status = absl::UnavailableError("etcd: the watch has ended");
  if (stream->Write(request)) {
    while (stream->Read(&response)) {
      if (status = check(response.header(), endpoint); !status.ok()) break;
      status = absl::UnavailableError(absl::StrCat("etcd: the watch has ended: ", response.cancel_reason()));
      if (response.canceled()) break;
      on_change();
    }
  }
  call.context.TryCancel();
  static_cast<void>(stream->Finish());
  if (is_cancelled()) return absl::CancelledError("cancelled");
  endpoint.is_ours = false;
  return status;
}

}  // namespace

EtcdOptions etcd_options_of(const std::string& endpoints, const std::string& ca_path, const std::string& cert_path,
                            const std::string& key_path) {
  EtcdOptions options;
  options.endpoints = std::vector<std::string>(absl::StrSplit(endpoints, ',', absl::SkipEmpty()));
  options.tls = {cert_path, key_path, ca_path};
  return options;
}

StatusOr<std::unique_ptr<Etcd>> Etcd::make(const EtcdOptions& options) {
  if (options.endpoints.empty()) return absl::InvalidArgumentError("etcd: no endpoint is given");
  if (options.tls.authorities.empty() && !options.tls.certificate.empty()) {
    return absl::InvalidArgumentError("etcd: a certificate needs the authority's");
  }
  std::shared_ptr<TlsFiles> tls;
  if (!options.tls.authorities.empty()) {
    const auto say = [say = options.say](const std::string& line) {
      if (say) say("etcd: " + line);
    };
    SCYPER_ASSIGN_OR_RETURN(tls, TlsFiles::open(options.tls, say));
  }
  return std::unique_ptr<Etcd>(std::make_unique<GrpcEtcd>(options, std::move(tls)));
}

}  // namespace scyper::consensus
