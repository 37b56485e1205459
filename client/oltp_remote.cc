#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "oltp.h"

namespace scyper::client {

namespace {

// What a stream with a rate makes up for when it could not send.
constexpr int64_t kBehindNsMax = 100'000'000;

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

using PreparedCalls = std::array<std::shared_ptr<const Prepared>, ch::kProcedureCount>;

StatusOr<PreparedCalls> prepare_calls(Client* client) {
  PreparedCalls prepared;
  for (int p = 0; p < ch::kProcedureCount; ++p) {
    auto procedure = static_cast<ch::Procedure>(p);
    SCYPER_ASSIGN_OR_RETURN(auto& made = prepared[static_cast<size_t>(p)], client->prepare(call_sql(procedure)));
    auto wanted = ch::parameter_types(procedure);
    bool fits = made->parameters.size() == wanted.size();
    for (size_t i = 0; fits && i < wanted.size(); ++i) fits = made->parameters[i].id == wanted[i].id;
    if (!fits)
      return sql_error("42883", "the node's " + std::string(ch::procedure_name(procedure)) + " has other parameters");
  }
  return prepared;
}

// One connection with its calls: a ring of slots, taken in order. Threads: one.
class RemoteLane {
 public:
  RemoteLane(OltpRun* run, const ConnectOptions& target, uint64_t seed)
      : run_(run), target_(target), inputs_(run->generator, mix_of(run, seed)), log_(run->options), counter_(run) {}

  void drive() {
    Status status = run_->options.is_unary ? drive_unary() : drive_stream();
    counter_.finish();
    if (!status.ok()) run_->fail(std::move(status));
  }
  std::string digest() const { return log_.digest(); }

 private:
  struct Slot {
    ch::Procedure procedure;
    int64_t sent_at_ns = 0;
    int64_t finished_at_ns = 0;  // 0 = on its way
    Status status;
    query::ResultSet result;  // only where outcomes are logged
  };

  static ch::MixOptions mix_of(OltpRun* run, uint64_t seed) {
    ch::MixOptions mix = run->options.mix;
    mix.seed += seed;
    return mix;
  }

  Status connect() {
    SCYPER_ASSIGN_OR_RETURN(client_, Client::connect(target_));
    SCYPER_ASSIGN_OR_RETURN(prepared_, prepare_calls(client_.get()));
    return {};
  }

  void take(Slot& slot) {
    auto& stats = counter_.of(slot.procedure);
    if (slot.status.ok() || is_wanted_rollback(slot.status)) {
      ++stats.completed;
      stats.rolled_back += slot.status.ok() ? 0 : 1;
      stats.latency.record(static_cast<uint64_t>(slot.finished_at_ns - slot.sent_at_ns));
    } else if (sqlstate_of(slot.status) == "53300" && !log_.is_on()) {
      ++counter_.stats().refused;
    } else {
      run_->fail(slot.status);
    }
    if (log_.is_on()) log_.add(slot.procedure, slot.status, slot.result);
  }

  void on_result(const StreamResult& result) {
    Slot& slot = slots_[result.request_id % slots_.size()];
    slot.status = result.status();
    slot.finished_at_ns = received_at_ns_;
    if (log_.is_on() && slot.status.ok()) {
      slot.result.clear();
      slot.status = result.decode_rows(*prepared_[static_cast<size_t>(slot.procedure)], &slot.result);
    }
    while (tail_ < head_ && slots_[tail_ % slots_.size()].finished_at_ns != 0) take(slots_[tail_++ % slots_.size()]);
  }

  // How long the next batch has to wait for its turn.
  int64_t early_ns() const { return run_->options.rate == 0 ? 0 : due_ns_ - now_ns(); }

  // Adds and sends one batch; false when the run is over.
  StatusOr<bool> send_batch(Stream* stream) {
    uint32_t count = run_->claim(run_->options.batch);
    if (count == 0) return false;
    int64_t now = now_ns();
    if (run_->options.rate > 0) {
      due_ns_ = std::max(due_ns_, now - kBehindNsMax) + static_cast<int64_t>(1e9 * count / run_->options.rate);
    }
    for (uint32_t i = 0; i < count; ++i) {
      inputs_.next(call_);
      Slot& slot = slots_[head_ % slots_.size()];
      slot.procedure = call_.procedure;
      slot.sent_at_ns = now;
      slot.finished_at_ns = 0;
      stream->add(*prepared_[static_cast<size_t>(call_.procedure)], call_.args(), head_++);
    }
    SCYPER_RETURN_IF_ERROR(stream->send());
    return count == run_->options.batch;
  }

  Status drive_stream() {
    SCYPER_RETURN_IF_ERROR(connect());
    SCYPER_ASSIGN_OR_RETURN(auto stream, client_->open_stream());
    slots_.resize(size_t{run_->options.batch} * run_->options.outstanding);
    bool goes_on = true;
    auto handler = [this](const StreamResult& result) { on_result(result); };
    while (goes_on || tail_ < head_) {
      while (goes_on && head_ - tail_ + run_->options.batch <= slots_.size() && early_ns() <= 0) {
        auto sent = send_batch(stream.get());
        if (!sent.ok()) return stream->finish().ok() ? sent.status() : stream->finish();
        goes_on = *sent;
      }
      if (tail_ == head_) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<int64_t>(early_ns(), 0)));
        continue;
      }
      // One clock reading per message: its results came together.
      Status received = stream->receive([&](const StreamResult& result) {
        if (received_at_ns_ == 0) counter_.tick(received_at_ns_ = now_ns());
        handler(result);
      });
      received_at_ns_ = 0;
      SCYPER_RETURN_IF_ERROR(received);
    }
    stream->close_sending();
    return stream->finish();
  }

  Status drive_unary() {
    SCYPER_RETURN_IF_ERROR(connect());
    Slot slot;
    while (run_->claim(1) > 0) {
      inputs_.next(call_);
      slot.procedure = call_.procedure;
      slot.sent_at_ns = now_ns();
      slot.status = client_->call(*prepared_[static_cast<size_t>(call_.procedure)], call_.args(), &slot.result);
      slot.finished_at_ns = now_ns();
      counter_.tick(slot.finished_at_ns);
      take(slot);
    }
    return {};
  }

  OltpRun* const run_;
  const ConnectOptions target_;
  std::unique_ptr<Client> client_;
  PreparedCalls prepared_;
  ch::InputStream inputs_;
  ch::Call call_;
  OutcomeLog log_;
  std::vector<Slot> slots_;
  uint64_t head_ = 0, tail_ = 0;
  int64_t received_at_ns_ = 0;
  int64_t due_ns_ = 0;  // of the next batch, where there is a rate
  OltpCounter counter_;
};

}  // namespace

StatusOr<OltpResult> run_oltp_remote(const ConnectOptions& target, const ch::Generator& generator,
                                     const OltpOptions& options, const OltpRun::Live& live) {
  OltpRun run(options, generator);
  std::vector<std::unique_ptr<RemoteLane>> lanes;
  std::vector<std::function<void()>> threads;
  for (uint32_t i = 0; i < options.streams; ++i) {
    lanes.push_back(std::make_unique<RemoteLane>(&run, target, i));
    threads.push_back([lane = lanes.back().get()] { lane->drive(); });
  }
  SCYPER_ASSIGN_OR_RETURN(OltpResult result, run.drive(std::move(threads), live));
  result.digest = lanes[0]->digest();
  return result;
}

}  // namespace scyper::client
