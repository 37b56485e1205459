#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace scyper {

// Calls a function every few milliseconds from a thread of its own, until it is destroyed.
class Ticker {
 public:
  // name: of the thread, up to 15 characters.
  Ticker(const std::string& name, int period_ms, std::function<void()> tick);
  ~Ticker();

 private:
  void run();

  const int period_ms_;
  const std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace scyper
