#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "scyper.grpc.pb.h"

namespace scyper::client {

// A transaction stream that carries one call at a time. A call by RPC of its own costs gRPC its headers, its trailers
// and their bookkeeping on both sides, several times what the call's two messages cost; so Client::call() keeps
// streams. Threads: one at a time.
class CallStream {
 public:
  explicit CallStream(v1::Transactions::Stub* stub);
  ~CallStream();
  CallStream(const CallStream&) = delete;

  // As far as it is known here: after an idle time a look at the connection.
  bool is_alive();
  // The answer to a batch of one call; *why: how the stream ended when there is none.
  bool run(const v1::CallBatch& request, std::chrono::milliseconds timeout, v1::ResultBatch* answer, grpc::Status* why);

 private:
  enum Tag : intptr_t { kWritten = 1, kRead, kFinished };

  // The next operation that has ended; 0: none by then.
  intptr_t next(std::chrono::system_clock::time_point until, bool* ok);
  void read();
  // In good order, which is worth a moment's wait.
  void close();
  // Cancels what has not ended by itself.
  void end(grpc::Status* why);

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::CallBatch, v1::ResultBatch>> stream_;
  v1::ResultBatch incoming_;
  bool is_writing_ = false, is_reading_ = false;  // operations under way
  bool is_broken_ = false;
  std::chrono::steady_clock::time_point used_;
};

// The idle streams of a client. Threads: any.
class CallStreams {
 public:
  // Takes one that is idle, or a new one. Null: there are enough, none are wanted, or it is the first call.
  std::unique_ptr<CallStream> take(v1::Transactions::Stub* stub);
  // What take() gave; null: it has ended.
  void give_back(std::unique_ptr<CallStream> stream);
  // No more of them: the node refuses streams, or they are not wanted.
  void give_up();

 private:
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<CallStream>> idle_ ABSL_GUARDED_BY(mutex_);
  uint32_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_called_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_refused_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace scyper::client
