#include "channel.h"

#include <grpcpp/grpcpp.h>

namespace scyper::consensus {

namespace {
constexpr int kFirstReconnectMs = 50;
constexpr int kMinReconnectMs = 200;
constexpr int kKeepaliveTimeoutMs = 3'000;
}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  if (options.keepalive_ms > 0) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive_ms);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  }
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kMinReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, options.reconnect_ms);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (options.tls != nullptr)
    credentials = grpc::SslCredentials({options.tls->trusted(), options.tls->key, options.tls->certificate});
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace scyper::consensus
