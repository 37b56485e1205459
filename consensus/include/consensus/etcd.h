#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/tls_files.h"

namespace scyper::consensus {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // host:port of members of one etcd cluster
  TlsFiles::Paths tls;                 // authorities: empty = no TLS; certificate and key are this client's
  TlsFiles::Say say;                   // of new files; may be empty
  int64_t call_us = 2'000'000;         // until a call has failed, whatever it has tried
  int64_t connect_us = 300'000;        // of it for reaching one endpoint, then the next is tried
  int64_t attempt_us = 700'000;        // of it for the answer of one endpoint
};

// Endpoints separated by commas; an unset path is no file.
EtcdOptions etcd_options_of(const std::string& endpoints, const std::string& ca_path, const std::string& cert_path,
                            const std::string& key_path);

struct EtcdValue {
  std::string key;
  std::string value;
  int64_t mod_revision = 0;
  int64_t lease = 0;
};

// Compares, then one of two lists of changes, all at one revision.
struct EtcdTxn {
  struct Compare {
    enum class Kind : uint8_t { kIsAbsent, kModRevision, kValue };
    Kind kind;
    std::string key;
    int64_t mod_revision = 0;  // 0 with kModRevision: absent, likewise
    std::string value;
  };
  struct Put {
    std::string key;
    std::string value;
    int64_t lease = 0;
  };
  std::vector<Compare> compares;
  std::vector<Put> puts;             // when all hold
  std::vector<std::string> removes;  // likewise
};

// A client of etcd's KV, Lease and Watch (version 3 of its API; made for 3.4 and later). Each call goes to one endpoint
// and on to the next when that is gone, silent or of another etcd cluster than the first one that answered.
// Errors: Unavailable: nothing was done. Unknown: whether a change was done cannot be said (changes are sent once; what
// can be repeated without harm is). NotFound: there is no such lease. FailedPrecondition: another cluster answered.
// Cancelled: after cancel(). Every call ends within call_us, but watch().
// Threads: any, all functions at once.
// Source: etcd's documentation, "API guarantees", "Client design".
class Etcd {
 public:
  static StatusOr<std::unique_ptr<Etcd>> make(const EtcdOptions& options);
  virtual ~Etcd() = default;

  // Values of all keys with a prefix, in order, at one revision that has everything that was done before the call.
  struct Range {
    int64_t revision = 0;
    std::vector<EtcdValue> values;
  };
  virtual StatusOr<Range> read(const std::string& prefix) = 0;
  virtual Status put(const EtcdTxn::Put& put) = 0;
  virtual StatusOr<int64_t> remove(const std::string& prefix) = 0;  // how many
  struct Outcome {
    bool has_succeeded = false;  // the compares held
    int64_t revision = 0;
  };
  virtual StatusOr<Outcome> txn(const EtcdTxn& txn) = 0;

  struct Granted {
    int64_t id = 0;
    int64_t ttl_s = 0;  // may be more than was asked for
  };
  virtual StatusOr<Granted> grant(int64_t ttl_s) = 0;
  // What is left of it then, in seconds. OK is a hint only: etcd 3.4 says so of leases that are gone, too.
  virtual StatusOr<int64_t> keep_alive(int64_t lease) = 0;
  virtual Status revoke(int64_t lease) = 0;

  // Calls on_change (no locks held, one at a time) whenever something below the prefix may have changed, first when it
  // begins. Ends on error: call it again, in a loop. A hint to read again, no more: etcd 3.4 loses events.
  virtual Status watch(const std::string& prefix, const std::function<void()>& on_change) = 0;

  // All calls end, now and from now on.
  virtual void cancel() = 0;
};

}  // namespace scyper::consensus
