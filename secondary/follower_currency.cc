// How old the state of a secondary is, by the primary's answers.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "follower.h"

namespace scyper::secondary {

namespace {
constexpr std::chrono::milliseconds kAskPeriod{100};
constexpr std::chrono::milliseconds kAskAgain{500};  // where there was no answer
constexpr std::chrono::milliseconds kAskPause{10};   // between questions that have failed while a query waits
constexpr int64_t kWaitNs = 1'000'000'000;           // of a query, for a state that is new enough
constexpr int64_t kNsPerMs = 1'000'000;
}  // namespace

// With the lock. A primary of an older version does not answer: then what was heard of it counts.
int64_t Follower::state_ns() const {
  if (!lacks_currency_) return currency_.state_ns();
  return knowns_.empty() ? heard_ns_ : knowns_.front().ns;
}

Status Follower::ask_current() {
  const int64_t asked_ns = clock_.monotonic_ns();
  const StatusOr<uint64_t> lsn = link_->current_lsn();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // another secondary, which may be asked while a primary is elected, does not answer either
    const bool is_older = absl::IsUnimplemented(lsn.status()) && currency_.state_ns() == 0;
    if (lsn.ok() || is_older) lacks_currency_ = is_older;
    if (lsn.ok()) currency_.add(*lsn, asked_ns, inbox_.applied_lsn());
  }
  changed_.notify_all();
  return lsn.status();
}

// So that a node which loses its primary knows how old its state is.
void Follower::keep_current() {
  while (!is_stopping_) {
    const bool is_answered = ask_current().ok();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, is_answered ? kAskPeriod : kAskAgain, [this] { return is_stopping_.load(); });
  }
}

// For a query that allows some staleness. It asks the primary only where the last answer is too old.
Status Follower::wait_current(int64_t not_before_ns, int64_t deadline_ns) {
  int64_t last_ns = clock_.monotonic_ns() + kWaitNs;
  if (deadline_ns != 0) last_ns = std::min(last_ns, deadline_ns);
  while (true) {
    bool is_asked = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (state_ns() >= not_before_ns) return Status();
      is_asked = currency_.awaits(not_before_ns) || lacks_currency_;
    }
    if (!is_asked) is_asked = ask_current().ok();
    std::unique_lock<std::mutex> lock(mutex_);
    if (state_ns() >= not_before_ns) return Status();
    const int64_t now_ns = clock_.monotonic_ns();
    if (now_ns >= last_ns || is_stopping_ || !failure_.ok()) {
      const std::string age =
          state_ns() == 0 ? "of unknown age" : absl::StrCat((now_ns - state_ns()) / kNsPerMs, " ms old");
      return with_hint(sql_error("57P03", absl::StrCat("the node's state is ", age, ", older than the query allows")),
                       "Ask another node, retry after 1000 ms, or allow more staleness.");
    }
    changed_.wait_for(lock, kAskPause, [&] { return is_stopping_.load() || state_ns() >= not_before_ns; });
  }
}

}  // namespace scyper::secondary
