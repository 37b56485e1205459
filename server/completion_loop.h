#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace scyper::server {

// Something a worker thread finished, for the loop thread to answer. Intrusive: posting allocates nothing.
struct Completion {
  Completion* next = nullptr;
  void (*run)(Completion*) = nullptr;
};

// One gRPC completion queue and its thread. All sessions of a loop live on that thread and need no locks.
// Hand-over: workers push onto a list; only the push that finds it idle pays for waking the thread (an alarm, some 2
// us), so that a busy node pays a compare-and-swap per finished batch. Threads: post() any; the rest the owner,
// everything called back the loop's thread.
class CompletionLoop {
 public:
  // A gRPC event: `proceed` is called once per operation started with it.
  struct Tag {
    virtual void proceed(bool ok) = 0;

   protected:
    ~Tag() = default;
  };

  // tick: called every few milliseconds while it returns true (there is something to watch).
  CompletionLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue, std::function<bool()> tick);
  void start();
  void post(Completion* completion);
  // Whoever starts operations is within, from the call that it answers to its end: it enters before the first of them
  // and leaves after the last one. False: the loop is closing, and nothing may be started. The loop's thread.
  bool try_enter();
  void leave();
  // Once nobody is within any more the queue is shut, and after the events that are still under way the thread ends.
  // After the server was shut down; once, the owner's thread, which waits for it. Nothing may be posted afterwards.
  void stop();
  grpc::ServerCompletionQueue* queue() { return queue_.get(); }

 private:
  struct Wake final : Tag {
    explicit Wake(CompletionLoop* loop) : loop(loop) {}
    void proceed(bool) override { loop->drain(); }
    CompletionLoop* loop;
  };

  struct Close final : Completion {
    CompletionLoop* loop;
  };

  void run();
  void drain();
  void close_if_left();

  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  const std::function<bool()> tick_;
  std::atomic<Completion*> ready_{nullptr};
  std::atomic<bool> woken_{false};    // an alarm is on its way; it may not be set again before it has arrived
  std::atomic<uint32_t> posting_{0};  // threads within post()
  bool is_closing_ = false;           // this and the next one: the loop's thread's
  uint32_t entered_ = 0;
  Close close_;
  Wake wake_{this};
  grpc::Alarm alarm_;
  std::thread thread_;
};

}  // namespace scyper::server
