#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace scyper::replication {

// Time stands still but for the next event.
class Schedule {
 public:
  int64_t now_ns = 0;
  void at(int64_t ns, std::function<void()> what) { events_.emplace(std::pair(ns, ++count_), std::move(what)); }
  void after(int64_t ns, std::function<void()> what) { at(now_ns + ns, std::move(what)); }
  bool step(int64_t until_ns) {
    if (events_.empty() || events_.begin()->first.first > until_ns) return false;
    now_ns = events_.begin()->first.first;
    auto what = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    what();
    return true;
  }

 private:
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> events_;
  uint64_t count_ = 0;
};

}  // namespace scyper::replication
