#include "completion_loop.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace scyper::server {

namespace {
constexpr std::chrono::milliseconds kTick{2};
}

CompletionLoop::CompletionLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue, std::function<bool()> tick)
    : queue_(std::move(queue)), tick_(std::move(tick)) {}

void CompletionLoop::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "grpc-loop");
    run();
  });
}

void CompletionLoop::post(Completion* completion) {
  // The completion may be answered, and everything be torn down, while this is still on its way out: stop() waits for
  // it.
  posting_.fetch_add(1, std::memory_order_relaxed);
  Completion* head = ready_.load(std::memory_order_relaxed);
  do {
    completion->next = head;
  } while (!ready_.compare_exchange_weak(head, completion, std::memory_order_seq_cst, std::memory_order_relaxed));
  // Sequentially consistent with drain(): either drain() sees our completion or we see its woken_ = false.
  if (!woken_.load(std::memory_order_seq_cst) && !woken_.exchange(true, std::memory_order_seq_cst)) {
    alarm_.Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), &wake_);
  }
  posting_.fetch_sub(1, std::memory_order_release);
}

void CompletionLoop::drain() {
  woken_.store(false, std::memory_order_seq_cst);
  Completion* list = ready_.exchange(nullptr, std::memory_order_seq_cst);
  Completion* oldest = nullptr;
  while (list != nullptr) {
    Completion* next = list->next;
    list->next = oldest;
    oldest = list;
    list = next;
  }
  while (oldest != nullptr) {
    Completion* next = oldest->next;
    oldest->run(oldest);
    oldest = next;
  }
}

void CompletionLoop::run() {
  bool watching = false;
  auto next_tick = std::chrono::steady_clock::now();
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    auto event = grpc::CompletionQueue::GOT_EVENT;
    if (watching) {
      event = queue_->AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kTick);
    } else if (!queue_->Next(&tag, &ok)) {
      return;
    }
    if (event == grpc::CompletionQueue::SHUTDOWN) return;
    if (event == grpc::CompletionQueue::GOT_EVENT) static_cast<Tag*>(tag)->proceed(ok);
    auto now = std::chrono::steady_clock::now();
    if (!watching || now >= next_tick) {
      watching = tick_();
      next_tick = now + kTick;
    }
  }
}

bool CompletionLoop::try_enter() {
  if (is_closing_) return false;
  ++entered_;
  return true;
}

void CompletionLoop::leave() {
  --entered_;
  close_if_left();
}

// On the loop's thread, so that no callback starts an operation on a queue that is shut: gRPC aborts the process then.
void CompletionLoop::close_if_left() {
  if (!is_closing_ || entered_ > 0) return;
  while (posting_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  queue_->Shutdown();
}

void CompletionLoop::stop() {
  if (!thread_.joinable()) return;
  close_.loop = this;
  close_.run = [](Completion* completion) {
    CompletionLoop* loop = static_cast<Close*>(completion)->loop;
    loop->is_closing_ = true;
    loop->close_if_left();
  };
  post(&close_);
  thread_.join();
}

}  // namespace scyper::server
