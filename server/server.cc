#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "admin_service.h"
#include "audit_log.h"
#include "consensus/server_credentials.h"
#include "errors.h"
#include "grpc_messages.h"
#include "health_service.h"
#include "http.h"
#include "node_parts.h"
#include "pages.h"
#include "postgres/endpoint.h"
#include "queries_service.h"
#include "query/queries.h"
#include "readiness.h"
#include "replication/peer_publisher.h"
#include "replication/publisher.h"
#include "secondary_engine.h"
#include "transactions_service.h"
#include "unix_socket.h"

namespace scyper::server {

const char kVersion[] = SCYPER_VERSION;

struct Server::Parts {
  Parts(const ServerOptions& options, primary::Engine* engine, MetricsRegistry* registry)
      : metrics(registry),
        node(options, engine, registry),
        transactions(&node),
        queries(&node),
        admin(&node),
        readiness(&node) {
    if (query::Queries* answering = engine->queries())
      answering->set_activity([this] { return node.activity.now(node.engine->session_locks()); });
  }
  ~Parts() {
    if (query::Queries* answering = node.engine->queries()) answering->set_activity({});
  }

  MetricsRegistry* const metrics;
  NodeParts node;
  TransactionsService transactions;
  QueriesService queries;
  AdminService admin;
  HealthService health;
  Readiness readiness;
  std::shared_ptr<grpc::Service> publisher;  // of a primary with secondaries
  std::unique_ptr<grpc::Server> grpc_server;
  std::unique_ptr<HttpEndpoint> http;
  std::unique_ptr<postgres::Endpoint> postgres;
  int port = 0;
  bool stopped = false;
  std::vector<MetricsRegistry::Registration> observed;
};

namespace {

constexpr std::chrono::milliseconds kStopPoll{1};
constexpr std::chrono::milliseconds kGiveUp{2000};  // for the answers that say so, at most

// The options with the certificates they name.
StatusOr<ServerOptions> with_tls(ServerOptions options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("tls_cert and tls_key must be given together");
  }
  if (options.tls_cert.empty() && !options.tls_client_ca.empty())
    return absl::InvalidArgumentError("tls_client_ca needs tls_cert and tls_key");
  if (options.tls_cert.empty() || options.tls != nullptr) return options;
  const auto say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  SCYPER_ASSIGN_OR_RETURN(options.tls, TlsFiles::open({options.tls_cert, options.tls_key, options.tls_client_ca}, say));
  return options;
}

Status check_address(const char* setting, const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  const bool is_right =
      address.starts_with("unix:") ||
      (colon != std::string::npos && colon > 0 && absl::SimpleAtoi(address.substr(colon + 1), &port) && port <= 65'535);
  if (is_right) return {};
  return absl::InvalidArgumentError(std::string(setting) + ": \"" + address + "\" is not host:port");
}

// With less not even the streams of a few clients could be read.
Status check_memory(const ServerOptions& options) {
  constexpr uint64_t kMessagesMin = 16;
  const uint64_t least = kMessagesMin * options.message_bytes_max;
  if (options.grpc_memory_bytes == 0 || options.grpc_memory_bytes >= least) return {};
  return with_hint(absl::InvalidArgumentError("grpc_memory is less than 16 messages of message_bytes_max"),
                   "Give " + std::to_string(least) + " bytes or more, or 0 for the default.");
}

Status check_exposure(const ServerOptions& options) {
  SCYPER_RETURN_IF_ERROR(check_address("listen", options.listen));
  if (!options.http_listen.empty()) SCYPER_RETURN_IF_ERROR(check_address("http_listen", options.http_listen));
  if (!options.postgres_listen.empty()) {
    if (options.postgres_listen.starts_with("unix:"))
      return absl::InvalidArgumentError("postgres_listen: sockets of files are not supported");
    SCYPER_RETURN_IF_ERROR(check_address("postgres_listen", options.postgres_listen));
  }
  if (!options.postgres_socket_directory.empty() && options.postgres_listen.empty())
    return absl::InvalidArgumentError("postgres_socket_directory needs postgres_listen, whose port names the socket");
  if (!options.unix_socket.empty() || !options.postgres_socket_directory.empty())
    SCYPER_RETURN_IF_ERROR(parse_permissions(options.unix_socket_permissions).status());
  if (options.authorization && options.tls_client_ca.empty())
    return with_hint(absl::InvalidArgumentError("authorization needs tls_client_ca"),
                     "By gRPC a certificate says who a client is.");
  SCYPER_RETURN_IF_ERROR(check_memory(options));
  if (options.insecure_listen) return {};
  if (options.tls_cert.empty() && !options.postgres_listen.empty() && !is_loopback(options.postgres_listen)) {
    return with_hint(absl::InvalidArgumentError("refusing to listen on " + options.postgres_listen + " without TLS"),
                     "Give tls_cert and tls_key, or insecure_listen where the network is trusted.");
  }
  if (options.tls_cert.empty() && !is_loopback(options.listen)) {
    return with_hint(absl::InvalidArgumentError("refusing to listen on " + options.listen + " without TLS"),
                     "Give tls_cert and tls_key, or insecure_listen where the network is trusted.");
  }
  if (!options.http_listen.empty() && !options.insecure_http && !is_loopback(options.http_listen)) {
    return with_hint(absl::InvalidArgumentError("refusing to serve plain HTTP on " + options.http_listen),
                     "Give insecure_http where whoever reaches it may see metrics and states.");
  }
  return {};
}

std::shared_ptr<grpc::ServerCredentials> credentials_of(NodeParts* node) {
  if (node->options.tls == nullptr) return grpc::InsecureServerCredentials();
  consensus::CallCheck check;
  if (node->options.authorization) {
    check = [p = &node->authorization](std::string_view path, const std::string& name) {
      return p->check(path, name, "");
    };
  }
  return consensus::make_server_credentials(node->options.tls, std::move(check));
}

std::vector<MetricsRegistry::Registration> observe_tls(MetricsRegistry* metrics, const std::shared_ptr<TlsFiles>& tls) {
  std::vector<MetricsRegistry::Registration> observed;
  if (tls == nullptr) return observed;
  observed.push_back(metrics->observe("scyper_tls_reloads_total",
                                      "Changes of the files of certificates that count now.", MetricType::kCounter, {},
                                      [tls] { return tls->reloads(); }));
  observed.push_back(metrics->observe("scyper_tls_reload_failures_total",
                                      "Changes of the files of certificates that could not be used.",
                                      MetricType::kCounter, {}, [tls] { return tls->failures(); }));
  observed.push_back(metrics->observe("scyper_tls_handshakes_failed_total",
                                      "Connections by gRPC that ended in the handshake: wrong, missing or expired "
                                      "certificates, no TLS; the node's own ones, too.",
                                      MetricType::kCounter, {}, [] { return failed_handshakes(); }));
  observed.push_back(metrics->observe("scyper_tls_certificate_expires_seconds",
                                      "When the node's certificate ends, in seconds since 1970.", MetricType::kGauge,
                                      {}, [tls] { return tls->texts()->expires_s; }));
  return observed;
}

// Beyond the memory gRPC reads no more, and ends streams; beyond the threads it refuses calls of services that block.
void set_quota(const ServerOptions& options, grpc::ServerBuilder* builder) {
  constexpr size_t kMemoryMin = size_t{1} << 30, kMessages = 256;
  constexpr uint32_t kThreadsPerThread = 4;
  grpc::ResourceQuota quota("scyper");
  const size_t automatic = std::max(kMemoryMin, kMessages * options.message_bytes_max);
  quota.Resize(options.grpc_memory_bytes == 0 ? automatic : options.grpc_memory_bytes);
  quota.SetMaxThreads(static_cast<int>(kThreadsPerThread * (options.statement_threads + options.query_threads)));
  builder->SetResourceQuota(quota);
}

void set_channel_arguments(const ServerOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(options.message_bytes_max));
  // Two nodes on one port would silently share its clients.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1024);
  // Nobody uses these; each message of a small call would pay for them.
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  // Dead clients are noticed within half a minute; clients may ask every ten seconds.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 9'000);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

// Listens, as the builder says, and on the Unix socket beside it if there is to be one.
StatusOr<std::unique_ptr<grpc::Server>> build_server(const ServerOptions& options,
                                                     const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                                     grpc::ServerBuilder* builder, int* port) {
  builder->AddListeningPort(options.listen, credentials, port);
  std::optional<NarrowFiles> narrow;
  std::string places = options.listen;
  if (!options.unix_socket.empty()) {
    SCYPER_RETURN_IF_ERROR(clear_unix_socket(options.unix_socket));
    narrow.emplace();
    builder->AddListeningPort("unix:" + options.unix_socket, credentials);
    places += " or the Unix socket \"" + options.unix_socket + "\"";
  }
  auto server = builder->BuildAndStart();  // null where it does not get all of them
  if (server != nullptr && *port != 0) return server;
  return absl::UnavailableError("cannot listen on " + places + ": is the address in use, or the certificate bad?");
}

void enable_reflection() {
  static std::once_flag once;
  std::call_once(once, grpc::reflection::InitProtoReflectionServerBuilderPlugin);
}

}  // namespace

bool is_loopback(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host == "::1" || host.starts_with("127.");
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() { stop(); }

Status Server::check(const ServerOptions& given) {
  SCYPER_RETURN_IF_ERROR(check_exposure(given));
  SCYPER_ASSIGN_OR_RETURN(const ServerOptions options, with_tls(given));
  postgres::SessionContext context;
  return options.postgres_listen.empty() ? Status() : postgres::read_files(options, &context);
}

StatusOr<std::unique_ptr<Server>> Server::start(const ServerOptions& given, primary::Engine* engine,
                                                MetricsRegistry* metrics) {
  SCYPER_RETURN_IF_ERROR(check_exposure(given));
  SCYPER_ASSIGN_OR_RETURN(const ServerOptions options, with_tls(given));
  enable_reflection();
  SCYPER_RETURN_IF_ERROR(open_audit_log(options.audit_log));
  auto parts = std::make_unique<Parts>(options, engine, metrics);
  grpc::ServerBuilder builder;
  set_channel_arguments(options, &builder);
  set_quota(options, &builder);
  builder.RegisterService(&parts->transactions);
  builder.RegisterService(&parts->queries);
  builder.RegisterService(&parts->admin);
  builder.RegisterService(&parts->health);
  if (const replication::PublisherOptions* publisher = engine->publisher()) {
    parts->publisher = replication::make_publisher(*publisher);
  } else if (auto* secondary = dynamic_cast<SecondaryEngine*>(engine)) {
    parts->publisher = replication::make_peer_publisher(secondary->node().peer_publisher());
  }
  if (parts->publisher != nullptr) builder.RegisterService(parts->publisher.get());
  for (uint32_t i = 0; i < std::max(options.grpc_threads, 1u); ++i) {
    parts->transactions.add_queue(builder.AddCompletionQueue());
  }
  SCYPER_ASSIGN_OR_RETURN(parts->grpc_server,
                          build_server(options, credentials_of(&parts->node), &builder, &parts->port));
  for (CompletionLoop* loop : parts->transactions.loops()) {
    parts->queries.serve(loop);
    parts->admin.serve(loop);
    parts->health.serve(loop);
  }
  parts->transactions.start();

  Parts* p = parts.get();
  std::unique_ptr<Server> server(new Server(std::move(parts)));  // from here on errors stop it
  if (!options.unix_socket.empty()) {
    SCYPER_ASSIGN_OR_RETURN(const mode_t mode, parse_permissions(options.unix_socket_permissions));
    SCYPER_RETURN_IF_ERROR(set_permissions(options.unix_socket, mode));
  }
  p->observed = observe_engine(metrics, engine);
  for (auto& observed : observe_tls(metrics, options.tls)) p->observed.push_back(std::move(observed));
  p->observed.push_back(metrics->observe(
      "scyper_prepared_bytes", "Memory of statements prepared by gRPC, about; prepared_memory bounds it.",
      MetricType::kGauge, {}, [p] { return static_cast<double>(p->node.statements.bytes()); }));
  metrics->gauge("scyper_build_info", "Version of the node.", {{"version", kVersion}}).set(1);
  if (!options.http_listen.empty()) {
    SCYPER_ASSIGN_OR_RETURN(p->http, HttpEndpoint::start(options.http_listen, make_pages(&p->node, &p->readiness)));
  }
  if (!options.postgres_listen.empty()) {
    SCYPER_ASSIGN_OR_RETURN(p->postgres, postgres::Endpoint::start(&p->node));
  }
  p->health.set_serving();
  return server;
}

void Server::stop() { stop(parts_->node.options.stop_timeout_ms); }

void Server::stop(uint32_t timeout_ms) { stop(timeout_ms, timeout_ms); }

void Server::stop(uint32_t timeout_ms, uint32_t close_ms) {
  Parts& parts = *parts_;
  if (std::exchange(parts.stopped, true) || parts.grpc_server == nullptr) return;
  parts.node.stopping = true;
  parts.health.stop();
  parts.transactions.drain();
  if (parts.postgres != nullptr) parts.postgres->begin_stop();
  parts.node.engine->stop_archives();
  // While accepted calls are being answered gRPC stays open, so that new ones are refused with a reason.
  auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms);
  auto is_busy = [&parts] {
    return parts.node.counters.streams_open.value() > 0 || parts.node.counters.calls_open.value() > 0 ||
           parts.transactions.is_busy() || (parts.postgres != nullptr && parts.postgres->is_busy());
  };
  // Commits may wait for copies that nobody makes, or for space on the disk; queries for snapshots that do not come.
  std::jthread patience([&parts, deadline](std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_until(lock, stop, deadline, [] { return false; });
    if (stop.stop_requested()) return;
    parts.node.engine->give_up();
    if (query::Queries* queries = parts.node.engine->queries()) queries->stop();
  });
  const auto last = deadline + std::min(kGiveUp, std::chrono::milliseconds(timeout_ms));
  auto is_over = [&] {
    const auto now = std::chrono::system_clock::now();
    if (is_busy() || parts.node.queries_waiting > 0) return now >= last;
    return parts.node.queries_open == 0 || now >= deadline;
  };
  while (!is_over()) std::this_thread::sleep_for(kStopPoll);
  // Until here secondaries are needed: for the copies that answers wait for.
  if (const replication::PublisherOptions* publisher = parts.node.engine->publisher()) publisher->outbox->stop();
  parts.postgres.reset();  // cancels what is left
  // Statements end by themselves; after the deadline gRPC cancels what is left. It waits for clients to close their
  // connections, too, and idle ones may not look at them for seconds.
  query::Queries* queries = parts.node.engine->queries();
  const auto is_asked = [queries] {
    if (queries == nullptr) return false;
    const query::Queries::Counters counters = queries->counters();
    return counters.running + counters.waiting > 0;
  };
  const auto close = [&] { return std::chrono::system_clock::now() + std::chrono::milliseconds(close_ms); };
  while (close() < deadline && is_asked()) std::this_thread::sleep_for(kStopPoll);
  parts.grpc_server->Shutdown(std::min(deadline, close()));
  parts.transactions.stop();
  parts.node.pool.stop();
  parts.node.query_pool.stop();
  parts.http.reset();
}

uint16_t Server::port() const { return static_cast<uint16_t>(parts_->port); }
uint16_t Server::postgres_port() const { return parts_->postgres == nullptr ? 0 : parts_->postgres->port(); }
uint16_t Server::http_port() const { return parts_->http == nullptr ? 0 : parts_->http->port(); }

}  // namespace scyper::server
