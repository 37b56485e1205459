#include "stream_session.h"

#include <utility>

#include "base/check.h"
#include "caller.h"
#include "errors.h"

namespace scyper::server {

namespace {
// A batch that is not done after this long is answered in parts: long against a call (5 us) and a batch of them.
constexpr int64_t kPartialAfterNs = 3'000'000;
// Results of several batches share a message up to this size; messages cost 10 us each, whatever they hold.
constexpr size_t kMessageBytesAim = 64 << 10;
}  // namespace

StreamLoop::StreamLoop(TransactionsService* service_in, NodeParts* node_in,
                       std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : service(service_in), node(node_in), loop_(std::move(queue), [this] { return tick(); }) {
  drain_.owner = this;
  drain_.run = [](Completion* completion) {
    for (StreamSession* session : static_cast<Request*>(completion)->owner->sessions_) session->drain();
  };
}

void StreamLoop::start() {
  accept_next();
  loop_.start();
}
void StreamLoop::drain() { loop_.post(&drain_); }

// gRPC lets go of a cancelled call while its batch is still running; the session then still has a Finish to do.
void StreamLoop::stop() { loop_.stop(); }

bool StreamLoop::try_add(StreamSession* session) {
  if (!loop_.try_enter()) return false;
  sessions_.insert(session);
  return true;
}
void StreamLoop::remove(StreamSession* session) {
  sessions_.erase(session);
  loop_.leave();
}

void StreamLoop::accept_next() { (new StreamSession(this))->listen(); }

bool StreamLoop::tick() {
  if (sessions_.empty()) return false;
  int64_t now_ns = monotonic_ns();
  bool busy = false;
  for (StreamSession* session : sessions_) busy |= session->tick(now_ns);
  return busy;
}

void StreamSession::Operation::proceed(bool ok) {
  --session->operations_;
  (session->*handler)(ok);
  session->delete_if_over();
}

StreamSession::StreamSession(StreamLoop* owner) : owner_(owner), node_(owner->node) {}

void StreamSession::listen() {
  context_.AsyncNotifyWhenDone(&done_);
  auto* queue = owner_->loop().queue();
  ++operations_;
  owner_->service->RequestStream(&context_, &stream_, queue, queue, &accepted_);
}

void StreamSession::on_accepted(bool ok) {
  if (!ok) return;                     // the server is shutting down; delete_if_over() follows
  ++operations_;                       // done_ comes only for calls that were accepted
  if (!owner_->try_add(this)) return;  // too late for any operation; the shutdown has cancelled the call
  open_ = true;
  owner_->accept_next();
  node_->counters.streams_opened.add(1);
  node_->counters.streams_open.add(1);
  if (node_->counters.streams_open.value() > static_cast<int64_t>(node_->options.streams_max)) {
    fail(sql_error("53300", "too many transaction streams"));
  } else if (node_->stopping) {
    fail(stopping_error());
  }
  advance();
}

void StreamSession::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
  ended_ = true;
}

void StreamSession::drain() {
  if (!ended_) fail(stopping_error());
  advance();
}

void StreamSession::on_read(bool ok) {
  reading_ = false;
  if (!ok || ended_) {
    // After a drain, what still arrives was not accepted: the stream's status says so.
    ended_ = true;
    idle_batches_.push_back(std::move(incoming_));
    return advance();
  }
  node_->counters.batches.add(1);
  incoming_->received_ns = monotonic_ns();
  if (node_->authorization.is_on()) note_caller();
  DecodeResult result = incoming_->decode(&cache_, UnknownText::kReport);
  if (result == DecodeResult::kNeedsCompilation) return compile_apart(incoming_.get());
  on_decoded(incoming_.get(), result);
}

// What it may may have changed since its last message.
void StreamSession::note_caller() {
  std::string mark = caller_of(*node_, context_).mark;
  if (mark != mark_) cache_.clear();
  mark_ = std::move(mark);
  incoming_->mark = mark_;
}

// The stream is not read meanwhile, so calls stay in order and cache_ has one user.
void StreamSession::compile_apart(CallBatch* batch) {
  decoding_ = true;
  batch->run = [](Completion* completion) {
    auto* decoded = static_cast<CallBatch*>(completion);
    auto* session = static_cast<StreamSession*>(decoded->session);
    session->decoding_ = false;
    session->on_decoded(decoded, decoded->malformed().ok() ? DecodeResult::kOk : DecodeResult::kMalformed);
    session->delete_if_over();
  };
  bool accepted = node_->pool.try_run([batch, cache = &cache_] {
    batch->decode(cache, UnknownText::kCompile);
    batch->loop->post(batch);
  });
  if (accepted) return;
  decoding_ = false;
  on_decoded(batch, batch->decode(&cache_, UnknownText::kRefuse));
}

void StreamSession::on_decoded(CallBatch* batch, DecodeResult result) {
  CHECK(batch == incoming_.get());
  if (result == DecodeResult::kMalformed) {
    node_->counters.streams_broken.add(1);
    fail(batch->malformed());
    batch->clear();
    idle_batches_.push_back(std::move(incoming_));
    return advance();
  }
  unanswered_ += batch->count();
  node_->counters.calls_open.add(batch->count());
  batch->run = [](Completion* completion) {
    auto* done = static_cast<CallBatch*>(completion);
    auto* session = static_cast<StreamSession*>(done->session);
    session->on_batch_done(done);
    session->delete_if_over();
  };
  running_.push_back(std::move(incoming_));
  if (batch->submit()) return on_batch_done(batch);
  advance();
}

void StreamSession::on_batch_done(CallBatch* batch) {
  encode(batch);
  node_->counters.requests.note(RequestProtocol::kStream, RequestKind::kTransaction, !batch->has_failures(),
                                batch->received_ns);
  node_->counters.calls_open.add(-int64_t{batch->count()});
  for (auto it = running_.begin(); it != running_.end(); ++it) {
    if (it->get() != batch) continue;
    batch->clear();
    idle_batches_.push_back(std::move(*it));
    running_.erase(it);
    break;
  }
  advance();
}

// The results join the last message that is not yet on its way.
void StreamSession::encode(CallBatch* batch) {
  bool appendable = outgoing_.size() > (writing_ ? 1u : 0u) && outgoing_.back()->bytes_estimate < kMessageBytesAim;
  if (!appendable) {
    if (idle_outgoing_.empty()) idle_outgoing_.push_back(std::make_unique<Outgoing>());
    outgoing_.push_back(std::move(idle_outgoing_.back()));
    idle_outgoing_.pop_back();
  }
  Outgoing& out = *outgoing_.back();
  out.calls += batch->encode_answered(&out.message);
  // Typed results: a guess that keeps messages small is enough.
  out.bytes_estimate = out.message.packed_results().size() + static_cast<size_t>(out.message.results_size()) * 256;
  if (out.calls == 0) {
    idle_outgoing_.push_back(std::move(outgoing_.back()));
    outgoing_.pop_back();
  }
}

bool StreamSession::tick(int64_t now_ns) {
  bool encoded = false;
  for (auto& batch : running_) {
    if (now_ns - batch->received_ns < kPartialAfterNs) break;
    encode(batch.get());
    encoded = true;
  }
  if (encoded) advance();
  return !running_.empty();
}

void StreamSession::on_written(bool ok) {
  writing_ = false;
  if (!ok) broken_ = true;
  std::unique_ptr<Outgoing> sent = std::move(outgoing_.front());
  outgoing_.pop_front();
  unanswered_ -= sent->calls;
  sent->message.Clear();
  sent->calls = 0;
  sent->bytes_estimate = 0;
  idle_outgoing_.push_back(std::move(sent));
  node_->counters.result_messages.add(1);
  advance();
}

void StreamSession::on_finished(bool) {}

void StreamSession::on_done(bool) {
  if (context_.IsCancelled() && !finishing_) {
    broken_ = true;
    ended_ = true;
    node_->counters.streams_broken.add(1);
  }
  advance();
}

// Starts whatever can start now.
void StreamSession::advance() {
  if (broken_ && !writing_) {
    for (auto& dropped : outgoing_) unanswered_ -= dropped->calls;
    outgoing_.clear();
  }
  if (!writing_ && !outgoing_.empty() && !finishing_) {
    writing_ = true;
    ++operations_;
    stream_.Write(outgoing_.front()->message, &written_);
  }
  bool has_room = unanswered_ < node_->options.stream_calls_max;
  if (!reading_ && !decoding_ && !ended_ && !has_room && !paused_) {
    paused_ = true;
    node_->counters.reads_paused.add(1);
  }
  if (!reading_ && !decoding_ && !ended_ && has_room) {
    paused_ = false;
    reading_ = true;
    ++operations_;
    if (idle_batches_.empty()) {
      idle_batches_.push_back(std::make_unique<CallBatch>(node_));
      idle_batches_.back()->loop = &owner_->loop();
      idle_batches_.back()->session = this;
    }
    incoming_ = std::move(idle_batches_.back());
    idle_batches_.pop_back();
    stream_.Read(&incoming_->request, &read_);
  }
  if (ended_ && running_.empty() && outgoing_.empty() && !writing_ && !decoding_ && !finishing_) {
    finishing_ = true;
    ++operations_;
    stream_.Finish(grpc_status_of(status_), &finished_);
  }
}

void StreamSession::delete_if_over() {
  if (operations_ > 0 || !running_.empty() || decoding_) return;
  if (open_) {
    node_->counters.streams_open.add(-1);
    owner_->remove(this);
  }
  delete this;
}

}  // namespace scyper::server
