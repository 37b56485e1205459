#include "interaction.h"

#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "caller.h"
#include "errors.h"
#include "session/interactive_session.h"
#include "session/passed_block.h"

namespace scyper::server {

namespace {
// A client that is alive but takes nothing for so long loses its transaction, and others the wait for it.
constexpr absl::Duration kWritePatience = absl::Seconds(60);

enum class Waited : uint8_t { kStep, kEnd, kIdle, kTerminated };
}  // namespace

// One stream. Its thread takes the steps; a read is always under way, so a Cancel arrives while a statement runs.
// Threads: run() and what it calls the stream's own; start() and on_...() the loop's; terminate() any.
class Interaction final : public StreamRpc<v1::InteractRequest, v1::InteractResponse> {
 public:
  Interaction(NodeParts* node, Interactions* all) : node_(node), all_(all) {}
  ~Interaction() override {
    if (thread_.joinable()) thread_.join();  // it has finished the call, and returns
  }

  // The stream ends with 57P01 once nothing runs on it.
  void terminate() {
    absl::MutexLock lock(&mutex_);
    is_terminated_ = true;
  }
  bool is_busy() const { return is_busy_; }

 private:
  void start() override {
    if (node_->stopping) return finish(grpc_status_of(stopping_error()));
    const Authorization::Caller caller = caller_of(*node_, context());
    if (caller.reads_only) return finish(grpc_status_of(Authorization::read_only_error()));
    client_ = {certificate_name(*context().auth_context()), context().peer(), caller};
    if (const Status status = all_->add(this); !status.ok()) return finish(grpc_status_of(status));
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      all_->remove(this);
      finish(grpc_status_of(sql_error("53300", "there is no thread for another transaction")));
    }
  }

  void on_read(bool ok) override {
    absl::MutexLock lock(&mutex_);
    is_reading_ = false;
    if (!ok) {
      is_ended_ = true;
    } else if (incoming_.has_cancel()) {
      if (steps_ != nullptr) steps_->cancel();
      read_on();
    } else {
      next_ = std::move(incoming_);
      has_next_ = true;
    }
  }
  void on_written(bool ok) override {
    absl::MutexLock lock(&mutex_);
    is_writing_ = false;
    if (!ok) break_off();
  }
  void on_cancel() override {
    absl::MutexLock lock(&mutex_);
    break_off();
  }

  void break_off() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_ended_ = is_broken_ = true;
    if (steps_ != nullptr) steps_->hang_up();
  }
  void read_on() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_ended_ || is_reading_) return;
    is_reading_ = true;
    incoming_.Clear();
    read(&incoming_);
  }

  void run() {
    {
      absl::MutexLock lock(&mutex_);
      read_on();
    }
    const Status status = serve();
    std::unique_ptr<InteractionSteps> steps;
    {
      absl::MutexLock lock(&mutex_);
      steps = std::move(steps_);
    }
    steps.reset();  // takes back what is open
    all_->remove(this);
    finish(grpc_status_of(status));  // it may be gone from here on
  }

  Status serve() {
    v1::InteractRequest step;
    while (true) {
      switch (wait_for_step(&step)) {
        case Waited::kEnd:
          return is_gone() ? sql_error("57014", "the client has gone") : Status();
        case Waited::kIdle:
          return sql_error("25P03", "terminating the transaction due to idle-in-transaction timeout");
        case Waited::kTerminated:
          return node_->stopping ? stopping_error()
                                 : sql_error("57P01", "terminating connection due to administrator command");
        case Waited::kStep:
          break;
      }
      if (steps() == nullptr) SCYPER_RETURN_IF_ERROR(begin(step));
      steps()->run(step);
      is_busy_ = false;
    }
  }

  Waited wait_for_step(v1::InteractRequest* step) {
    const int64_t idle_ns = steps() == nullptr ? 0 : steps()->idle_ns();
    absl::MutexLock lock(&mutex_);
    const auto is_over = [this]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return has_next_ || is_ended_ || is_terminated_; };
    const absl::Duration patience = idle_ns == 0 ? absl::InfiniteDuration() : absl::Nanoseconds(idle_ns);
    const bool is_late = !mutex_.AwaitWithTimeout(absl::Condition(&is_over), patience);
    if (is_broken_) return Waited::kEnd;
    if (is_terminated_) return Waited::kTerminated;
    if (is_late) return Waited::kIdle;
    if (!has_next_) return Waited::kEnd;
    is_busy_ = true;
    *step = std::move(next_);
    has_next_ = false;
    read_on();
    return Waited::kStep;
  }

  // By the first step.
  Status begin(const v1::InteractRequest& step) {
    if (!step.has_begin()) return sql_error("08P01", "the first step of a stream is to be `begin`");
    const auto send = [this](const v1::InteractResponse& answer) { return send_answer(answer); };
    std::unique_ptr<InteractionSteps> made;
    if (step.begin().passed_on()) {
      if (!client_.caller.mark.empty())
        return sql_error("42501", "permission denied: only members of the cluster pass transactions on");
      made = std::make_unique<PassedBlock>(node_, client_.address, send, [this] { terminate(); });
    } else {
      made = std::make_unique<InteractiveSession>(node_, client_, send, [this] { terminate(); });
    }
    absl::MutexLock lock(&mutex_);
    steps_ = std::move(made);
    if (is_broken_) steps_->hang_up();
    return {};
  }

  // Only the stream's thread changes it.
  InteractionSteps* steps() ABSL_NO_THREAD_SAFETY_ANALYSIS { return steps_.get(); }

  bool is_gone() {
    absl::MutexLock lock(&mutex_);
    return is_broken_;
  }

  // Waits until the answer was taken.
  bool send_answer(const v1::InteractResponse& answer) {
    {
      absl::MutexLock lock(&mutex_);
      if (is_broken_) return false;
      is_writing_ = true;
    }
    write(answer);
    absl::MutexLock lock(&mutex_);
    const auto is_written = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !is_writing_; };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&is_written), kWritePatience)) {
      context().TryCancel();
      mutex_.Await(absl::Condition(&is_written));
    }
    return !is_broken_;
  }

  NodeParts* const node_;
  Interactions* const all_;
  InteractiveSession::Client client_;
  std::thread thread_;
  std::atomic<bool> is_busy_{false};
  absl::Mutex mutex_;
  std::unique_ptr<InteractionSteps> steps_ ABSL_GUARDED_BY(mutex_);  // null before the first step
  v1::InteractRequest incoming_;                                     // that is being read
  v1::InteractRequest next_ ABSL_GUARDED_BY(mutex_);
  bool has_next_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ended_ ABSL_GUARDED_BY(mutex_) = false;       // no more steps come
  bool is_broken_ ABSL_GUARDED_BY(mutex_) = false;      // nor are answers taken
  bool is_terminated_ ABSL_GUARDED_BY(mutex_) = false;  // by the node
};

Interactions::Interactions(NodeParts* node)
    : node_(node),
      open_(node->metrics->gauge("scyper_grpc_transactions_open",
                                 "Streams of Transactions.Interact that are open now.")) {}

StreamRpc<v1::InteractRequest, v1::InteractResponse>* Interactions::make() { return new Interaction(node_, this); }

Status Interactions::add(Interaction* stream) {
  absl::MutexLock lock(&mutex_);
  if (streams_.size() >= node_->options.grpc_transactions_max)
    return with_hint(sql_error("53300", "too many streams of transactions"),
                     "Close some, or raise grpc_transactions_max.");
  streams_.insert(stream);
  open_.add(1);
  if (node_->stopping) stream->terminate();
  return {};
}

void Interactions::remove(Interaction* stream) {
  absl::MutexLock lock(&mutex_);
  if (streams_.erase(stream) == 1) open_.add(-1);
}

void Interactions::begin_stop() {
  absl::MutexLock lock(&mutex_);
  for (Interaction* stream : streams_) stream->terminate();
}

bool Interactions::is_busy() {
  absl::MutexLock lock(&mutex_);
  for (const Interaction* stream : streams_) {
    if (stream->is_busy()) return true;
  }
  return false;
}

}  // namespace scyper::server
