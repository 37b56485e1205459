#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/histogram.h"
#include "base/status.h"
#include "client/ch/mix.h"
#include "client/client.h"
#include "primary/engine.h"

namespace scyper::client {

// How the mix is driven: closed loop, so many calls outstanding, no think time.
struct OltpOptions {
  double seconds = 20;
  double warmup_seconds = 1;
  uint64_t transactions = 0;  // above 0: so many instead of a time, without warm-up
  ch::MixOptions mix;
  uint32_t batch = 64;        // calls per submission or message
  uint32_t outstanding = 4;   // batches at a time, per worker (in process) or stream
  uint32_t streams = 1;       // over gRPC: connections, each with a thread
  double rate = 0;            // over gRPC, not unary: calls per second of each stream, at most; 0 = as many as it can
  bool is_unary = false;      // over gRPC: one call at a time per stream
  uint32_t busy_cores = 0;    // in process: those that others need, beside the workers
  bool wants_digest = false;  // of the outcomes in the order of the calls; one lane only
  std::string dump_path;      // outcomes as lines
};

// Figures of one run. Latencies in nanoseconds, from the submission of a call's batch to its result.
struct OltpStats {
  struct PerProcedure {
    uint64_t completed = 0;  // with those rolled back on purpose
    uint64_t rolled_back = 0;
    Histogram latency;
  };
  std::array<PerProcedure, ch::kProcedureCount> procedures;
  uint64_t refused = 0;  // 53300: sent again

  void merge(const OltpStats& other);
  uint64_t completed() const;
  uint64_t rolled_back() const;
  Histogram latency() const;
};

struct OltpResult {
  OltpStats stats;
  double seconds = 0;
  std::string digest;  // empty unless asked for

  double tps() const { return static_cast<double>(stats.completed()) / seconds; }
};

// What the threads of a run share. Threads: any.
class OltpRun {
 public:
  enum class Phase : int { kWarmUp, kMeasure, kStop };
  using Live = std::function<void(double seconds, const OltpStats& of_interval)>;

  OltpRun(const OltpOptions& options, const ch::Generator& generator) : options(options), generator(generator) {}

  const OltpOptions& options;
  const ch::Generator& generator;

  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  // The first error ends the run.
  void fail(Status status);
  Status status();
  // Adds what a thread has counted.
  void add(const OltpStats& stats);
  // For counted runs: how many calls the caller may make next, at most `wanted`.
  uint32_t claim(uint32_t wanted);

  // Runs `threads` until the time is over or all calls are made. live: called about once a second, may be empty.
  StatusOr<OltpResult> drive(std::vector<std::function<void()>> threads, const Live& live);

 private:
  void wait(const Live& live, std::atomic<size_t>* running);

  std::atomic<Phase> phase_{Phase::kWarmUp};
  std::atomic<uint64_t> claimed_{0};
  absl::Mutex mutex_;
  OltpStats total_ ABSL_GUARDED_BY(mutex_);
  OltpStats interval_ ABSL_GUARDED_BY(mutex_);
  Status status_ ABSL_GUARDED_BY(mutex_);
};

// What one thread of a run counts: handed to the run ten times a second, as adding histograms costs 20 us. Calls
// answered before the measured time and after it are left out. Threads: one.
class OltpCounter {
 public:
  explicit OltpCounter(OltpRun* run) : run_(run) {}
  OltpStats::PerProcedure& of(ch::Procedure procedure) { return stats_.procedures[static_cast<size_t>(procedure)]; }
  OltpStats& stats() { return stats_; }
  // Before results are counted that came by now.
  void tick(int64_t now_ns);
  // At the end of the thread.
  void finish();

 private:
  void hand_over();

  OltpRun* const run_;
  OltpStats stats_;
  OltpRun::Phase phase_ = OltpRun::Phase::kWarmUp;
  int64_t handed_over_ns_ = 0;
  bool is_closed_ = false;
};

// The outcome lines of a run, in the order of the calls. Threads: one.
class OutcomeLog {
 public:
  explicit OutcomeLog(const OltpOptions& options);
  bool is_on() const { return is_on_; }
  void add(ch::Procedure procedure, const Status& status, const query::ResultSet& result);
  std::string digest() const;

 private:
  const bool is_on_;
  std::ofstream file_;
  std::string line_;
  uint64_t digest_ = 0;
};

// "CALL tpcc_payment($1, $2, ...)"
std::string call_sql(ch::Procedure procedure);
// The roll-back that TPC-C wants of one New-Order in a hundred.
bool is_wanted_rollback(const Status& status);

// The mix on an engine in this process. drivers: threads that make and submit calls.
StatusOr<OltpResult> run_oltp_in_process(primary::Engine* engine, const ch::Generator& generator,
                                         const OltpOptions& options, uint32_t drivers, const OltpRun::Live& live);
// The mix over gRPC.
StatusOr<OltpResult> run_oltp_remote(const ConnectOptions& target, const ch::Generator& generator,
                                     const OltpOptions& options, const OltpRun::Live& live);

}  // namespace scyper::client
