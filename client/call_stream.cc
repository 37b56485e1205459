#include "call_stream.h"

#include <utility>

namespace scyper::client {

namespace {

// Threads that call by one client at the same time; more of them make RPCs of their own. A node has streams_max
// streams.
constexpr uint32_t kStreamsMax = 16;
// A stream that was used within it is taken to be alive: a look costs a system call.
constexpr std::chrono::milliseconds kFresh{5};

// What a node is given to end a stream that this end has closed; then it is cancelled.
constexpr std::chrono::milliseconds kGoodbye{100};

void* tag_of(intptr_t tag) { return reinterpret_cast<void*>(tag); }

}  // namespace

// Its headers go out with the first message, so nothing has to be waited for: run() always follows.
CallStream::CallStream(v1::Transactions::Stub* stub) : used_(std::chrono::steady_clock::now()) {
  context_.set_initial_metadata_corked(true);
  stream_ = stub->AsyncStream(&context_, &queue_, nullptr);
}

CallStream::~CallStream() {
  close();
  grpc::Status ignored;
  end(&ignored);
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

intptr_t CallStream::next(std::chrono::system_clock::time_point until, bool* ok) {
  void* tag = nullptr;
  if (queue_.AsyncNext(&tag, ok, until) != grpc::CompletionQueue::GOT_EVENT) return 0;
  const auto ended = reinterpret_cast<intptr_t>(tag);
  if (ended == kWritten) is_writing_ = false;
  if (ended == kRead) is_reading_ = false;
  if (!*ok) is_broken_ = true;
  return ended;
}

void CallStream::read() {
  is_reading_ = true;
  stream_->Read(&incoming_, tag_of(kRead));
}

bool CallStream::is_alive() {
  if (std::chrono::steady_clock::now() - used_ < kFresh) return true;
  bool ok = false;
  next(std::chrono::system_clock::now(), &ok);  // nothing but the end of the stream is expected
  return !is_broken_ && is_reading_;
}

bool CallStream::run(const v1::CallBatch& request, std::chrono::milliseconds timeout, v1::ResultBatch* answer,
                     grpc::Status* why) {
  const auto until = std::chrono::system_clock::now() + timeout;
  is_writing_ = true;
  stream_->Write(request, tag_of(kWritten));
  if (!is_reading_) read();
  bool is_late = false, ok = false;
  while (!is_broken_ && !is_late && (is_writing_ || is_reading_)) is_late = next(until, &ok) == 0;
  if (is_broken_ || is_late) {
    end(why);
    if (is_late) *why = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded");
    return false;
  }
  answer->Swap(&incoming_);
  read();  // ends when the node ends the stream, or brings the next answer
  used_ = std::chrono::steady_clock::now();
  return true;
}

void CallStream::close() {
  if (stream_ == nullptr || is_broken_) return;
  is_writing_ = true;
  stream_->WritesDone(tag_of(kWritten));
  const auto until = std::chrono::system_clock::now() + kGoodbye;
  bool ok = false;
  while (is_reading_ && next(until, &ok) != 0) {
  }
}

void CallStream::end(grpc::Status* why) {
  if (stream_ == nullptr) return;
  bool ok = false;
  const auto never = std::chrono::system_clock::time_point::max();
  if (!is_broken_) context_.TryCancel();
  // where writing has failed the end of the stream is near, too
  while (is_writing_ || is_reading_) next(never, &ok);
  stream_->Finish(why, tag_of(kFinished));
  while (next(never, &ok) != kFinished) {
  }
  stream_.reset();
}

std::unique_ptr<CallStream> CallStreams::take(v1::Transactions::Stub* stub) {
  while (true) {
    std::unique_ptr<CallStream> taken;
    {
      absl::MutexLock lock(&mutex_);
      // a client that makes one call needs no stream
      if (!std::exchange(has_called_, true)) return nullptr;
      if (!idle_.empty()) {
        taken = std::move(idle_.back());
        idle_.pop_back();
      } else if (open_ >= (is_refused_ ? 0 : kStreamsMax)) {
        return nullptr;
      } else {
        ++open_;
      }
    }
    if (taken == nullptr) return std::make_unique<CallStream>(stub);
    if (taken->is_alive()) return taken;
    taken.reset();
    give_back(nullptr);
  }
}

void CallStreams::give_back(std::unique_ptr<CallStream> stream) {
  absl::MutexLock lock(&mutex_);
  if (stream == nullptr) {
    --open_;
  } else {
    idle_.push_back(std::move(stream));
  }
}

void CallStreams::give_up() {
  absl::MutexLock lock(&mutex_);
  is_refused_ = true;
}

}  // namespace scyper::client
