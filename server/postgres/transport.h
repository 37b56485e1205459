#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "base/tls_files.h"

struct ssl_ctx_st;
struct ssl_st;

namespace scyper::server::postgres {

// The node's certificate for PostgreSQL's clients. Threads: any after make().
class TlsContext {
 public:
  // With authorities clients must show a certificate signed by one of them.
  static StatusOr<std::shared_ptr<TlsContext>> make(const TlsTexts& texts);
  ~TlsContext();
  ssl_ctx_st* context() const { return context_; }
  // What SCRAM binds to: the hash of the node's certificate (RFC 5929, tls-server-end-point).
  const std::string& end_point() const { return end_point_; }

 private:
  TlsContext() = default;
  ssl_ctx_st* context_ = nullptr;
  std::string end_point_;
};

// That of the newest files, for a new connection. Threads: any.
class TlsContexts {
 public:
  explicit TlsContexts(std::shared_ptr<TlsFiles> files) : files_(std::move(files)) {}
  StatusOr<std::shared_ptr<TlsContext>> current();

 private:
  const std::shared_ptr<TlsFiles> files_;
  absl::Mutex mutex_;
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;  // of newest_
  std::shared_ptr<TlsContext> newest_ ABSL_GUARDED_BY(mutex_);
};

// One connection, plain or by TLS. Reads block until something comes or end_reading() was called; writes give up on a
// client that takes nothing for kWritePatience.
// Threads: one reads and writes; end_reading() and close_down() any.
class Transport {
 public:
  static constexpr int kWritePatienceS = 60;

  explicit Transport(int descriptor);  // owns it
  ~Transport();
  Transport(const Transport&) = delete;

  Status start_tls(const TlsContext& tls);
  bool is_encrypted() const { return tls_ != nullptr; }
  // At least one byte into the buffer; 0 = the client has gone, or end_reading().
  size_t read(char* buffer, size_t size);
  // False: the client has gone or takes nothing.
  bool write(std::string_view bytes);
  // Whoever reads gets no more.
  void end_reading();
  // Nor can anything be written.
  void close_down();
  // The name (CN) of the client's certificate; empty: it has shown none.
  std::string certificate_name() const;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
  ssl_st* tls_ = nullptr;
  std::atomic<bool> is_ended_{false};
};

}  // namespace scyper::server::postgres
