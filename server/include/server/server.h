#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "base/status.h"
#include "base/tls_files.h"
#include "consensus/supervisor.h"
#include "primary/engine.h"

namespace scyper::server {

struct ServerOptions {
  std::string listen = "127.0.0.1:7400";         // host:port; port 0 = any free one
  std::string unix_socket;                       // file of a socket for gRPC beside it; empty = none
  std::string unix_socket_permissions = "0770";  // of that file, and of the one for PostgreSQL's clients
  std::string http_listen = "127.0.0.1:7401";    // /metrics, /healthz, /readyz, /primary, /replica; empty = none
  std::string postgres_listen;                   // for PostgreSQL's clients; empty = none
  std::string postgres_socket_directory;         // of a socket for them beside it; empty = none
  std::string postgres_users;  // file: name:password or name:verifier; empty = nobody needs a password
  uint32_t postgres_connections_max = 100;
  uint32_t postgres_superuser_connections = 3;  // of them, for superusers alone
  uint32_t postgres_statements_max = 1000;      // prepared, per session
  uint32_t postgres_authentication_timeout_ms = 60'000;
  std::string tls_cert;  // PEM files; certificate and key together switch TLS on
  std::string tls_key;
  std::string tls_client_ca;              // given: clients must show a certificate signed by it
  std::shared_ptr<TlsFiles> tls;          // these three; null: start() opens them
  bool authorization = false;             // by gRPC, the role of a certificate's name says what its owner may call
  std::string audit_log;                  // file; empty = standard error
  bool insecure_listen = false;           // allows listening beyond loopback without TLS
  bool insecure_http = false;             // allows it for http_listen alone: what it serves is no secret, nor a command
  uint32_t grpc_threads = 1;              // threads that read, submit and answer transaction streams
  uint32_t statement_threads = 16;        // threads that wait for statements, compilations and slow readers
  uint32_t query_threads = 64;            // threads that wait for queries on snapshots
  uint32_t statement_queue = 256;         // requests that wait for one of those threads
  uint32_t message_bytes_max = 4u << 20;  // of one received message of gRPC
  uint32_t postgres_message_bytes_max = 128u << 20;  // of one of PostgreSQL's protocol
  uint64_t cursor_memory = 256u << 20;               // of a session's cursors with SCROLL or WITH HOLD
  uint32_t stream_calls_max = 8192;                  // unanswered calls per stream; beyond it the stream is not read
  uint32_t batch_calls_max = 4096;                   // calls per message
  uint32_t streams_max = 1024;
  uint32_t grpc_transactions_max = 100;  // streams of transactions of several statements
  uint32_t prepared_max = 10'000;
  uint64_t prepared_bytes_max = uint64_t{256} << 20;       // of these statements, about
  uint64_t grpc_memory_bytes = 0;                          // of gRPC's buffers; 0: by message_bytes_max
  uint32_t ready_commit_ms = 5'000;                        // /readyz: commits may wait so long
  uint32_t stop_timeout_ms = 10'000;                       // for accepted work on stop; then it is cut off
  std::function<consensus::ClusterState()> cluster_state;  // of a node whose role is elected; else empty
};

// The node's endpoints: gRPC and HTTP, on one engine. All of gRPC is hidden in here.
// Threads: start() and stop() by the owner; what runs inside: grpc_threads loops, gRPC's own, statement_threads, those
// of HTTP.
class Server {
 public:
  // Engine and registry must outlive the server.
  static StatusOr<std::unique_ptr<Server>> start(const ServerOptions& options, primary::Engine* engine,
                                                 MetricsRegistry* metrics);
  // What start() would refuse for settings and files alone: addresses, what is exposed, certificates, users. Without
  // gRPC.
  static Status check(const ServerOptions& options);
  ~Server();  // stops

  // Refuses new work with UNAVAILABLE, finishes what was accepted (stop_timeout_ms at most), then closes. Idempotent.
  void stop();
  void stop(uint32_t timeout_ms);  // instead of stop_timeout_ms
  // Once nothing is under way any more clients that do not listen have so long to close their connections.
  void stop(uint32_t timeout_ms, uint32_t close_ms);

  uint16_t port() const;
  uint16_t http_port() const;      // 0 = none
  uint16_t postgres_port() const;  // 0 = none

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Whether a "host:port" is reachable from this machine only.
bool is_loopback(const std::string& address);

extern const char kVersion[];

}  // namespace scyper::server
