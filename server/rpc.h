#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "completion_loop.h"

namespace scyper::server {

// Waits for the calls of one method on one loop.
class RpcMethod {
 public:
  virtual ~RpcMethod() = default;
  virtual void listen() = 0;  // for the next call
};

// One RPC on a completion loop: what gRPC's callback API offers, but without its threads. Those poll the same epoll as
// the loops (gRPC 1.51), so that each event of a stream woke one of them for nothing.
//
//   listen() -> start() -> [ read, write ]* -> finish() -> deleted
//
// Invariants: (1) finish() is called once for each call that was started; (2) the object deletes itself when the call
// is over and no operation is left, after finish() at any time; (3) one read and one write at a time.
// Threads: start(), on_...() and the destructor the loop's, one after the other, and they do not block; reads, writes
// and finish() any.
class Rpc {
 public:
  Rpc() = default;
  Rpc(const Rpc&) = delete;
  virtual ~Rpc() = default;

  grpc::ServerContext& context() { return context_; }

 protected:
  struct Operation final : CompletionLoop::Tag {
    Operation(Rpc* r, void (Rpc::*h)(bool)) : rpc(r), handler(h) {}
    void proceed(bool ok) override;
    Rpc* const rpc;
    void (Rpc::* const handler)(bool);
  };

  // The call has come.
  virtual void start() = 0;
  virtual void on_read(bool) {}
  virtual void on_written(bool) {}
  // The client has gone or its deadline is over; also after finish().
  virtual void on_cancel() {}

  CompletionLoop* loop() const { return loop_; }
  // ask(context, queue, queue, tag): gRPC's Request... of the method.
  template <typename Ask>
  void listen(RpcMethod* method, CompletionLoop* loop, Ask ask) {
    method_ = method;
    loop_ = loop;
    context_.AsyncNotifyWhenDone(&done_);
    grpc::ServerCompletionQueue* queue = loop->queue();
    ask(&context_, queue, queue, static_cast<void*>(&accepted_));
  }
  void* begin_read() { return begin(&read_); }
  void* begin_write() { return begin(&written_); }
  void* begin_finish();

 private:
  void* begin(Operation* operation) {
    operations_.fetch_add(1, std::memory_order_relaxed);
    return operation;
  }
  void end();
  void on_accepted(bool ok);
  void on_done(bool ok);
  void on_finished(bool ok);

  grpc::ServerContext context_;
  RpcMethod* method_ = nullptr;
  CompletionLoop* loop_ = nullptr;
  // Outstanding ones of gRPC, and finish() while it is still to be called.
  std::atomic<uint32_t> operations_{1};
  std::atomic<bool> is_finishing_{false};
  bool is_open_ = false;  // the loop knows that it was started
  Operation accepted_{this, &Rpc::on_accepted};
  Operation done_{this, &Rpc::on_done};
  Operation read_{this, &Rpc::on_read};
  Operation written_{this, &Rpc::on_written};
  Operation finished_{this, &Rpc::on_finished};
};

// A message in, a message out.
template <typename Request, typename Response>
class UnaryRpc : public Rpc {
 public:
  template <typename Ask>
  void listen(RpcMethod* method, CompletionLoop* loop, Ask& ask) {
    Rpc::listen(method, loop, [&](auto* context, auto... rest) { ask(context, &request_, &responder_, rest...); });
  }
  const Request& request() const { return request_; }
  Response& response() { return response_; }
  void finish(const grpc::Status& status) { responder_.Finish(response_, status, this->begin_finish()); }

 private:
  Request request_;
  Response response_;
  grpc::ServerAsyncResponseWriter<Response> responder_{&this->context()};
};

// A message in, many out.
template <typename Request, typename Response>
class WritingRpc : public Rpc {
 public:
  template <typename Ask>
  void listen(RpcMethod* method, CompletionLoop* loop, Ask& ask) {
    Rpc::listen(method, loop, [&](auto* context, auto... rest) { ask(context, &request_, &writer_, rest...); });
  }

 protected:
  const Request& request() const { return request_; }
  // on_written() follows; the message may be changed at once.
  void write(const Response& message) { writer_.Write(message, this->begin_write()); }
  void finish(const grpc::Status& status) { writer_.Finish(status, this->begin_finish()); }

 private:
  Request request_;
  grpc::ServerAsyncWriter<Response> writer_{&this->context()};
};

// Messages both ways.
template <typename Request, typename Response>
class StreamRpc : public Rpc {
 public:
  template <typename Ask>
  void listen(RpcMethod* method, CompletionLoop* loop, Ask& ask) {
    Rpc::listen(method, loop, [&](auto* context, auto... rest) { ask(context, &stream_, rest...); });
  }

 protected:
  // on_read() follows, false at the end of what the client sends.
  void read(Request* message) { stream_.Read(message, this->begin_read()); }
  void write(const Response& message) { stream_.Write(message, this->begin_write()); }
  void finish(const grpc::Status& status) { stream_.Finish(status, this->begin_finish()); }

 private:
  grpc::ServerAsyncReaderWriter<Response, Request> stream_{&this->context()};
};

// The methods of a service on the loops. ask: gRPC's Request... with what it is given. Owner: the service. Filled once
// the server was built and before the loops run; lives until they have ended.
class RpcMethods {
 public:
  // make(): an object of a class made of those above.
  template <typename Ask, typename Make>
  void serve(CompletionLoop* loop, Ask ask, Make make) {
    methods_.push_back(std::make_unique<Served<Ask, Make>>(loop, std::move(ask), std::move(make)));
    methods_.back()->listen();
  }
  // answer(rpc): calls rpc->finish(), now or later.
  template <typename Request, typename Response, typename Ask>
  void serve_unary(CompletionLoop* loop, Ask ask, std::function<void(UnaryRpc<Request, Response>*)> answer) {
    serve(loop, std::move(ask), [answer = std::move(answer)] { return new Answered<Request, Response>(&answer); });
  }

 private:
  template <typename Ask, typename Make>
  class Served final : public RpcMethod {
   public:
    Served(CompletionLoop* loop, Ask ask, Make make) : loop_(loop), ask_(std::move(ask)), make_(std::move(make)) {}
    void listen() override { make_()->listen(this, loop_, ask_); }

   private:
    CompletionLoop* const loop_;
    Ask ask_;
    Make make_;
  };

  template <typename Request, typename Response>
  class Answered final : public UnaryRpc<Request, Response> {
   public:
    using Answer = std::function<void(UnaryRpc<Request, Response>*)>;
    explicit Answered(const Answer* answer) : answer_(answer) {}

   private:
    void start() override { (*answer_)(this); }
    const Answer* const answer_;
  };

  std::vector<std::unique_ptr<RpcMethod>> methods_;
};

}  // namespace scyper::server
