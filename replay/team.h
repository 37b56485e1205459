#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/deep_stack.h"
#include "base/status.h"

namespace scyper::replay {

// Threads that do one piece of work together, again and again: the caller is member 0. Meetings are short (between two
// transactions that ran alone), so members wait spinning first. Threads: run() the one that made it.
class Team {
 public:
  using Work = std::function<Status(uint32_t member)>;

  explicit Team(uint32_t size) : statuses_(size == 0 ? 1 : size) {
    for (uint32_t member = 1; member < statuses_.size(); ++member) {
      threads_.emplace_back([this, member] { on_deep_stack([this, member] { serve(member); }); });
    }
  }
  ~Team() {
    work_ = nullptr;
    round_.fetch_add(1);
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(statuses_.size()); }

  // Returns when all members have returned; the first error.
  Status run(const Work& work) {
    if (size() == 1) return work(0);
    work_ = &work;
    running_.store(size() - 1);
    round_.fetch_add(1);
    round_.notify_all();
    statuses_[0] = work(0);
    int spins = 0;
    for (uint32_t left = running_.load(); left != 0; left = running_.load()) {
      if (++spins > kSpins) running_.wait(left);
    }
    for (Status& status : statuses_) {
      if (!status.ok()) return status;
    }
    return Status();
  }

 private:
  static constexpr int kSpins = 2000;

  void serve(uint32_t member) {
    uint32_t seen = 0;
    while (true) {
      int spins = 0;
      while (round_.load() == seen) {
        if (++spins > kSpins) round_.wait(seen);
      }
      seen = round_.load();
      if (work_ == nullptr) return;
      statuses_[member] = (*work_)(member);
      if (running_.fetch_sub(1) == 1) running_.notify_all();
    }
  }

  std::vector<Status> statuses_;
  const Work* work_ = nullptr;  // published by round_
  std::atomic<uint32_t> round_{0};
  std::atomic<uint32_t> running_{0};
  std::vector<std::thread> threads_;
};

}  // namespace scyper::replay
