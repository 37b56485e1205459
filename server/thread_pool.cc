#include "thread_pool.h"

#include <utility>

namespace scyper::server {

ThreadPool::ThreadPool(size_t threads, size_t queue_max) : queue_max_(queue_max) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

bool ThreadPool::try_run(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  return tasks_.size() < queue_max_ && push(std::move(task));
}

bool ThreadPool::run_next(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  return push(std::move(task));
}

bool ThreadPool::push(std::function<void()> task) {
  if (stopping_) return false;
  tasks_.push_back(std::move(task));
  return true;
}

void ThreadPool::stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadPool::loop() {
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !tasks_.empty(); };
      mutex_.Await(absl::Condition(&has_work));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace scyper::server
