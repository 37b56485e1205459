#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "replication/parcel.h"

namespace scyper::replication {

// Takes what is sent to all secondaries at once. A fast path: what it loses is fetched.
// Threads: one at a time. Never blocks.
class Transmitter {
 public:
  virtual ~Transmitter() = default;
  virtual void send(const Parcel& parcel, const Watermark& watermark) noexcept = 0;
  virtual void send(const Watermark& watermark) noexcept = 0;
};

// The primary's side of replication: what the log writer has made most recently, for those who follow, repair and join.
// Invariants: (1) parcels have no gaps and end at the watermark; (2) at most bytes_max are held, the newest one aside:
//   who is further behind reads the log; (3) the log writer never waits for a receiver.
// Threads: send(), confirm() and beat() the log writer; all else any.
class Outbox {
 public:
  struct Start {
    ClusterId cluster;
    uint64_t term = 1;
    uint64_t lsn = 0;  // of the last record before this term
    size_t bytes_max = size_t{64} << 20;
    uint64_t commit_lsn = 0;  // up to where it counts; the rest waits for copies, or for the first batch of the term
    std::vector<Parcel> parcels;  // of earlier terms, without gaps, the last one ends at lsn; may be none
  };
  explicit Outbox(const Start& start);
  ~Outbox();

  // Before the first send().
  void set_transmitter(std::unique_ptr<Transmitter> transmitter);

  // --- the log writer ---
  // The batches of a group, padding aside.
  void send(std::string_view group, uint64_t complete_lsn, uint32_t snapshot, int64_t time_us);
  // The commit point has risen: goes out with the next parcel, or by beat().
  void confirm(uint64_t commit_lsn);
  // Tells receivers what no parcel has told them, and now and then that the primary is there.
  void beat(int64_t monotonic_ns, int64_t time_us);

  // --- any thread ---
  Watermark watermark() const;
  const ClusterId& cluster() const { return cluster_; }
  struct Piece {
    bool is_too_old = false;  // parcels behind `after_lsn` are not held any more
    std::vector<Parcel> parcels;
    Watermark watermark;
  };
  // Parcels behind after_lsn, up to some bytes. Waits until there are some, the watermark is another than `seen`, or
  // the time is over.
  Piece read(uint64_t after_lsn, const Watermark& seen, size_t bytes_max, std::chrono::milliseconds wait);
  void stop();  // nobody waits any more
  bool is_stopped() const;
  uint64_t parcels_sent() const;
  uint64_t bytes_sent() const;
  // Of the log, held for repairs.
  uint64_t bytes_held() const;
  // Of the log behind an LSN, as far as it is held here.
  uint64_t bytes_behind(uint64_t lsn) const;

 private:
  const ClusterId cluster_;
  const size_t bytes_max_;
  std::unique_ptr<Transmitter> transmitter_;
  Watermark told_;            // the log writer's: by the transmitter
  int64_t told_ns_ = 0;       // likewise
  mutable std::mutex mutex_;  // all that follows
  std::condition_variable changed_;
  std::deque<Parcel> parcels_;
  size_t bytes_ = 0;
  Watermark watermark_;
  bool is_stopped_ = false;
  uint64_t parcels_sent_ = 0;
  uint64_t bytes_sent_ = 0;
};

}  // namespace scyper::replication
