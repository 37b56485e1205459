#pragma once

#include <deque>
#include <memory>
#include <unordered_set>
#include <vector>

#include "call_batch.h"
#include "transactions_service.h"

namespace scyper::server {

class StreamSession;

// The streams of one completion loop. Threads: the loop's, but for start/drain/stop.
class StreamLoop {
 public:
  StreamLoop(TransactionsService* service, NodeParts* node, std::unique_ptr<grpc::ServerCompletionQueue> queue);
  void start();
  void drain();  // any thread, once
  void stop();   // after the server was shut down; waits for the sessions

  void accept_next();
  CompletionLoop& loop() { return loop_; }

  TransactionsService* const service;
  NodeParts* const node;
  bool try_add(StreamSession* session);  // false: the loop is closing
  void remove(StreamSession* session);

 private:
  struct Request : Completion {
    StreamLoop* owner;
  };

  bool tick();

  std::unordered_set<StreamSession*> sessions_;  // accepted ones; they delete themselves. The loop's thread's
  CompletionLoop loop_;
  Request drain_;
};

// One transaction stream: read a batch, submit it, write results as calls finish.
//
//   accept -> [ read -> decode (-> pool, for unknown SQL) -> submit -> ... -> encode -> write ]* -> finish
//
// Reading, running batches and writing overlap. It stops reading while more than stream_calls_max calls are unanswered,
// received or waiting to be written.
// Invariants: (1) one read, one write outstanding at most; (2) deleted when no gRPC operation and no batch refers to
// it, so a client that goes away leaves nothing behind. Threads: the loop's only.
class StreamSession {
 public:
  explicit StreamSession(StreamLoop* owner);
  void listen();
  void drain();
  // Sends what is ready of batches that take long. True while batches are running.
  bool tick(int64_t now_ns);

 private:
  struct Operation final : CompletionLoop::Tag {
    Operation(StreamSession* s, void (StreamSession::*h)(bool)) : session(s), handler(h) {}
    void proceed(bool ok) override;
    StreamSession* session;
    void (StreamSession::*handler)(bool);
  };
  struct Outgoing {
    v1::ResultBatch message;
    uint32_t calls = 0;
    size_t bytes_estimate = 0;
  };

  void on_accepted(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_done(bool ok);
  void note_caller();
  void on_decoded(CallBatch* batch, DecodeResult result);
  void on_batch_done(CallBatch* batch);
  void compile_apart(CallBatch* batch);
  void encode(CallBatch* batch);
  void fail(Status status);
  void advance();
  void delete_if_over();

  StreamLoop* const owner_;
  NodeParts* const node_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<v1::ResultBatch, v1::CallBatch> stream_{&context_};
  Operation accepted_{this, &StreamSession::on_accepted};
  Operation read_{this, &StreamSession::on_read};
  Operation written_{this, &StreamSession::on_written};
  Operation finished_{this, &StreamSession::on_finished};
  Operation done_{this, &StreamSession::on_done};

  StatementCache cache_;
  std::string mark_;  // of its caller's texts
  std::vector<std::unique_ptr<CallBatch>> idle_batches_;
  std::deque<std::unique_ptr<CallBatch>> running_;  // oldest first
  std::unique_ptr<CallBatch> incoming_;             // being read or decoded
  std::deque<std::unique_ptr<Outgoing>> outgoing_;  // the front is being written when writing_
  std::vector<std::unique_ptr<Outgoing>> idle_outgoing_;

  uint32_t operations_ = 0;  // outstanding gRPC operations
  uint32_t unanswered_ = 0;  // calls received whose result was not yet written
  bool open_ = false;
  bool reading_ = false;
  bool decoding_ = false;  // a pool thread has incoming_
  bool writing_ = false;
  bool paused_ = false;
  bool ended_ = false;   // no more reads
  bool broken_ = false;  // the client is gone: drop results
  bool finishing_ = false;
  Status status_;  // what the stream ends with
};

}  // namespace scyper::server
