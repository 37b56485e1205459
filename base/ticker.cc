#include "base/ticker.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace scyper {

Ticker::Ticker(const std::string& name, int period_ms, std::function<void()> tick)
    : period_ms_(period_ms), tick_(std::move(tick)) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

Ticker::~Ticker() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void Ticker::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_.wait_for(lock, std::chrono::milliseconds(period_ms_), [this] { return is_stopping_; })) {
    lock.unlock();
    tick_();
    lock.lock();
  }
}

}  // namespace scyper
