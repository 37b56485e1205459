#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"

namespace scyper {

// PEM texts that fit together.
struct TlsTexts {
  uint64_t version = 0;     // grows with each change of the files, from 1
  std::string certificate;  // the chain, own certificate first; empty: none is shown
  std::string key;
  std::string authorities;  // empty: others are not asked for a certificate
  int64_t expires_s = 0;    // when the own certificate ends, seconds since 1970; 0: there is none

  // Whom to trust as a client: without authorities those who show this certificate.
  const std::string& trusted() const { return authorities.empty() ? certificate : authorities; }
};

// Certificate, key and authorities of a node, read again when the files change. Files that cannot be used together
// change nothing: the texts before stay, and `say` is told.
// Threads: any; one of its own looks at the files each second. Files that change one after the other are read when they
// have been the same for a second. Fork: a child must not call it.
class TlsFiles {
 public:
  struct Paths {
    std::string certificate, key, authorities;  // empty: there is none; certificate and key come together
  };
  using Say = std::function<void(const std::string& line)>;

  // Errors: files that cannot be read or used.
  static StatusOr<std::shared_ptr<TlsFiles>> open(const Paths& paths, Say say);
  ~TlsFiles();

  std::shared_ptr<const TlsTexts> texts() const;
  // Reads what has changed at once.
  void reload();

  uint64_t reloads() const { return reloads_.load(std::memory_order_relaxed); }    // changes that count now
  uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }  // changes that could not be used

 private:
  TlsFiles(const Paths& paths, Say say);
  StatusOr<TlsTexts> read() const;
  std::string stamp() const;
  void look(bool is_patient);
  void watch();

  const Paths paths_;
  const Say say_;
  std::atomic<uint64_t> reloads_{0}, failures_{0};
  absl::Mutex look_mutex_;                           // taken before mutex_
  std::string judged_ ABSL_GUARDED_BY(look_mutex_);  // of the files that were read last
  std::string seen_ ABSL_GUARDED_BY(look_mutex_);    // by the look before
  mutable absl::Mutex mutex_;
  std::shared_ptr<const TlsTexts> texts_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watcher_;
};

}  // namespace scyper
