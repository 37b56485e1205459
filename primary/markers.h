#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "base/clock.h"
#include "base/metrics.h"
#include "log_buffer.h"

namespace scyper::primary {

// The cut of a global snapshot: exactly the transactions with LSNs up to `lsn`, which is its marker's own.
struct Marker {
  uint32_t snapshot = 0;  // its number; with the term it is the snapshot's epoch. 0 = none yet
  uint64_t lsn = 0;
  bool is_digested = false;  // all nodes digest their state there
  int64_t drawn_ns = 0;
};

// Draws the markers of global snapshots (ScyPer, DanaC 2013, 2.2): a record of its own LSN that ends its group, so that
// every node finds the cut at a group's border, and no worker stops.
// Threads: next() and sent() the log writer; all else any.
class Markers {
 public:
  // group_time: gets the times from a marker's draw until its group is sent.
  Markers(LsnCounter* lsns, const Clock* clock, Timer* group_time)
      : lsns_(lsns), clock_(clock), group_time_(group_time) {}

  // A marker that covers everything committed before the call: a new one unless the newest does. Waits until the newest
  // is min_distance_us old; requests that wait share the next one.
  Marker draw(int64_t min_distance_us);
  // A new one, of a snapshot whose state all nodes digest.
  Marker draw_for_digest();
  Marker newest() const;
  LogBuffer* buffer() { return &buffer_; }
  // The oldest marker behind after_lsn and up to complete_lsn: the group has to end there.
  bool next(uint64_t after_lsn, uint64_t complete_lsn, Marker* marker);
  void sent(const Marker& marker) { group_time_->record_ns(age_ns(marker)); }

 private:
  void draw_now(bool is_digested);
  uint64_t age_ns(const Marker& marker) const {
    return static_cast<uint64_t>(clock_->monotonic_ns() - marker.drawn_ns);
  }

  LsnCounter* const lsns_;
  const Clock* const clock_;
  Timer* const group_time_;
  LogBuffer buffer_;          // filled under mutex_
  mutable std::mutex mutex_;  // all that follows
  std::condition_variable drawn_;
  Marker newest_;
  std::deque<Marker> waiting_;  // for the log writer
};

}  // namespace scyper::primary
