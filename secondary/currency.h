#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace scyper::secondary {

// How old a secondary's state is. Messages of the log say nothing about that: they may have waited anywhere on their
// way. So the node asks the primary for its newest LSN. Once it has applied that LSN, its state holds everything that
// had been committed when it asked, by its own clock. Threads: one at a time.
class Currency {
 public:
  // asked_ns: before the question left. Answers may come in any order.
  void add(uint64_t lsn, int64_t asked_ns, uint64_t applied_lsn) {
    // another primary, for example: what the one before had not confirmed may never come
    while (!answers_.empty() && answers_.back().lsn > lsn) answers_.pop_back();
    if (lsn <= applied_lsn) {
      state_ns_ = std::max(state_ns_, asked_ns);
    } else if (answers_.size() < kAnswersMax) {
      answers_.push_back({lsn, asked_ns});
    }
  }
  // The state holds everything up to the LSN now.
  void apply(uint64_t applied_lsn) {
    for (; !answers_.empty() && answers_.front().lsn <= applied_lsn; answers_.pop_front())
      state_ns_ = std::max(state_ns_, answers_.front().asked_ns);
  }
  // When the state was all that had been committed; 0: it is not known.
  int64_t state_ns() const { return state_ns_; }
  // Whether applying more is all that it takes to be as new as that.
  bool awaits(int64_t not_before_ns) const { return !answers_.empty() && answers_.back().asked_ns >= not_before_ns; }

 private:
  static constexpr size_t kAnswersMax = 10'000;  // a quarter of an hour of a node that applies nothing
  struct Answer {
    uint64_t lsn;
    int64_t asked_ns;
  };
  std::deque<Answer> answers_;  // not yet applied; LSNs rise
  int64_t state_ns_ = 0;
};

}  // namespace scyper::secondary
