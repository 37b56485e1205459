#include "snapshot/child_server.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "compile/program_parts.h"
#include "query/column_batch.h"
#include "query/program_image.h"
#include "runtime/column_bounds.h"
#include "runtime/foreign_files.h"
#include "runtime/scan_samples.h"
#include "runtime/spill_space.h"
#include "runtime/swap.h"
#include "snapshot/channel.h"
#include "snapshot/messages.h"
#include "snapshot/sample_message.h"
#include "snapshot/sandbox.h"
#include "snapshot/statistics_message.h"
#include "storage/change_log.h"

namespace scyper::query {
namespace {

// How late a deadline may be noticed, well below the 50 ms of a cancellation.
constexpr int kTickMs = 5;
constexpr auto kCreditPoll = std::chrono::milliseconds(5);
constexpr int kExitFailed = 1;
constexpr uint64_t kResultBytes = 4 * kBatchBytes;  // 24 bytes a value before encoding

using ProgramPointer = std::shared_ptr<const Program>;

// One query from kRun to kDone. Threads: its own; credit and interrupt come from the receiving one.
class Execution final : public RowSink, public CodeSource {
 public:
  Execution(uint64_t id, const RunHeader& header, ProgramPointer program, std::string arguments, Channel* channel,
            const ChildServerOptions& options, ColumnBounds* bounds)
      : id_(id),
        header_(header),
        program_(std::move(program)),
        argument_bytes_(std::move(arguments)),
        channel_(channel),
        scratch_(header.memory_bytes),
        spill_limits_{options.spill_directory, options.spill_bytes_max, header.memory_bytes / 2},
        spill_(&spill_limits_, 1),
        bounds_(bounds) {
    for (const ResultColumn& column : program_->columns()) types_.push_back(column.type);
    context_.scratch = &scratch_;
    if (options.spill_bytes_max > 0) context_.spill = &spill_;
    context_.transaction_time_us = header.time_us;
    context_.partition = ~uint32_t{0};
    context_.partitions = options.partitions;
    context_.crossing = 1;
    context_.result = &result_;
    context_.notices = &notices_;
    context_.sink = this;
    context_.result_bytes_max = kResultBytes;
    result_.columns = program_->columns();
  }

  // Before it runs: the descriptors that came with it.
  void take_files(const std::vector<int>& descriptors) {
    const std::vector<const ForeignTable*> tables = foreign_tables_of(*program_);
    CHECK(tables.size() == descriptors.size());
    for (size_t i = 0; i < tables.size(); ++i) files_.add(*tables[i], descriptors[i]);
  }

  uint64_t program_number() const { return header_.program; }

  void run(storage::ChangeLog* log, const Clock& clock) noexcept {
    const int64_t start_ns = clock.monotonic_ns();
    context_.log = log;
    Outcome outcome = Outcome::kError;
    if (log == nullptr) {
      context_.fail("53200", "out of memory");
    } else if (decode_arguments()) {
      const ColumnBounds::Scope scope(bounds_);
      const CodeSource::Scope code_scope(this);
      const ForeignFiles::Scope file_scope(&files_);
      const ScanSamples::Scope sample_scope(&samples_);
      outcome = program_->run_shared(&context_, arguments_.values().data(), header_.threads,
                                     header_.memory_bytes / std::max<uint32_t>(1, header_.threads));
      if (outcome == Outcome::kOk) outcome = static_cast<Outcome>(take_rows(&context_));
      if (outcome == Outcome::kMisclassified) context_.fail("XX000", "a query on a snapshot was misclassified");
      log->rollback_all();  // of blocks with EXCEPTION; nothing is written
    }
    send_done(outcome == Outcome::kOk, clock.monotonic_ns() - start_ns);
  }

  int32_t take_rows(ExecContext* context) noexcept override {
    const size_t count = result_.row_count();
    if (count == 0) return 0;
    batch_.clear();
    encode_columns(types_, result_.values().data(), count, &batch_);
    rows_ += count;
    result_.clear_rows();
    std::unique_lock<std::mutex> lock(mutex_);
    // a batch larger than the window goes out when nothing else is on its way
    while (unread_bytes_ > 0 && unread_bytes_ + batch_.size() > header_.window_bytes) {
      if (context->is_interrupted()) return fail_interrupted();
      credit_came_.wait_for(lock, kCreditPoll);
    }
    unread_bytes_ += batch_.size();
    lock.unlock();
    channel_->send(static_cast<uint32_t>(ToParent::kRows), id_, batch_);
    return 0;
  }

  // The parent compiles.
  GeneratedCode code_for(ExecContext* context) noexcept override {
    const jit::TieredCode& code = *program_->parts().code;
    std::unique_lock<std::mutex> lock(mutex_);
    if (!std::exchange(has_asked_, true) && code.native_entry() == nullptr)
      channel_->send(static_cast<uint32_t>(ToParent::kWantsCode), id_);
    while (code.native_entry() == nullptr && !is_refused_) {
      if (context->is_interrupted() || context_.is_interrupted()) return nullptr;
      code_came_.wait_for(lock, kCreditPoll);
    }
    return is_refused_ ? nullptr : code.native_entry();
  }
  // Code of a program has come; refused: it will not.
  void look_for_code(bool refused) {
    std::lock_guard<std::mutex> lock(mutex_);
    is_refused_ |= refused;
    code_came_.notify_all();
  }

  void add_credit(uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    unread_bytes_ -= std::min(bytes, unread_bytes_);
    credit_came_.notify_one();
  }
  void interrupt(Interrupt why) { context_.interrupt.fetch_or(static_cast<uint32_t>(why), std::memory_order_release); }
  void check_deadline(int64_t now_ns) {
    if (header_.deadline_ns != 0 && now_ns >= header_.deadline_ns && !context_.is_interrupted()) {
      interrupt(Interrupt::kTimeout);
    }
  }

 private:
  bool decode_arguments() {
    const auto& types = program_->parameter_types();
    for (const SqlType& type : types) arguments_.columns.push_back({"", type});
    if (types.empty()) return true;
    Status status = decode_columns(types, argument_bytes_, &arguments_);
    if (!status.ok()) context_.fail(status);
    return status.ok();
  }

  int32_t fail_interrupted() {
    const bool is_timeout = (context_.interrupt.load() & ~kSafepointBit) == static_cast<uint32_t>(Interrupt::kTimeout);
    return context_.fail(
        "57014",
        is_timeout ? "canceling statement due to statement timeout" : "canceling statement due to user request", false);
  }

  void send_done(bool is_ok, int64_t run_ns) {
    DoneHeader done;
    done.rows = rows_;
    done.scratch_bytes = scratch_.used_bytes();
    done.spilled_bytes = spill_limits_.written_bytes.load(std::memory_order_relaxed);
    done.run_ns = run_ns;
    done.swaps = context_.swaps;
    done.is_ok = is_ok ? 1 : 0;
    done.notices = static_cast<uint32_t>(notices_.size());
    std::string body(reinterpret_cast<const char*>(&done), sizeof done);
    const ErrorState& error = context_.error;
    if (!is_ok) {
      for (const std::string& text : {error.sqlstate, error.message, error.detail, error.hint, error.context})
        put_text(&body, text);
    }
    for (const std::string& notice : notices_) put_text(&body, notice);
    for (const auto& [table, asked] : samples_.all()) put_sample(&body, table, asked);
    channel_->send(static_cast<uint32_t>(ToParent::kDone), id_, body);
  }

  const uint64_t id_;
  const RunHeader header_;
  const ProgramPointer program_;
  const std::string argument_bytes_;
  Channel* const channel_;
  std::vector<SqlType> types_;
  ScratchArena scratch_;
  SpillLimits spill_limits_;  // half of the memory is for tuples that can go to disk, the other for all else
  SpillSpace spill_;
  ColumnBounds* const bounds_;
  ForeignFiles files_;
  ScanSamples samples_;
  ExecContext context_;
  ResultSet result_;
  ResultSet arguments_;
  std::vector<std::string> notices_;
  std::string batch_;
  uint64_t rows_ = 0;

  std::mutex mutex_;
  std::condition_variable credit_came_;
  uint64_t unread_bytes_ = 0;
  std::condition_variable code_came_;
  bool has_asked_ = false;
  bool is_refused_ = false;
};

class ChildServer {
 public:
  ChildServer(const ForkedDatabase& forked, const ChildServerOptions& options, int socket)
      : forked_(forked), options_(options), channel_(socket) {}

  int run() {
    channel_.send(static_cast<uint32_t>(ToParent::kReady), 0);
    Frame frame;
    while (true) {
      switch (channel_.receive(&frame, has_running() ? kTickMs : -1)) {
        case Channel::Received::kEnd:
          return 0;  // _exit follows: running queries end with the process
        case Channel::Received::kTimeout:
          check_deadlines();
          break;
        case Channel::Received::kFrame:
          take(std::move(frame));
          check_deadlines();
          break;
      }
    }
  }

 private:
  bool has_running() {
    std::lock_guard<std::mutex> lock(mutex_);
    return !running_.empty();
  }

  void check_deadlines() {
    const int64_t now_ns = clock_.monotonic_ns();
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [id, execution] : running_) execution->check_deadline(now_ns);
  }

  void take(Frame frame) {
    switch (static_cast<ToChild>(frame.type)) {
      case ToChild::kProgram:
        programs_[frame.id] = import_program(frame.body);
        break;
      case ToChild::kBetter:
        improve(frame.id, frame.body);
        break;
      case ToChild::kNoCode:
        with_execution(frame.id, [](Execution& execution) { execution.look_for_code(/*refused=*/true); });
        break;
      case ToChild::kDrop:
        programs_.erase(frame.id);
        drop(frame.id);
        break;
      case ToChild::kRun:
        start(frame);
        break;
      case ToChild::kSample:
        sample(std::move(frame.body));
        break;
      case ToChild::kCancel:
        with_execution(frame.id, [](Execution& execution) { execution.interrupt(Interrupt::kCancel); });
        break;
      case ToChild::kCredit: {
        uint64_t bytes = 0;
        std::memcpy(&bytes, frame.body.data(), std::min(sizeof bytes, frame.body.size()));
        with_execution(frame.id, [&](Execution& execution) { execution.add_credit(bytes); });
        break;
      }
    }
  }

  // Swap points make their own thread see the new code; calls of routines do not.
  void improve(uint64_t number, std::string_view better) {
    auto program = programs_.find(number);
    CHECK(program != programs_.end());
    improve_program(*program->second, better, serialises_all_ && serialise_all());
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [id, execution] : running_) execution->look_for_code(/*refused=*/false);
  }

  template <typename Action>
  void with_execution(uint64_t id, Action&& action) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = running_.find(id);
    if (found != running_.end()) action(*found->second);
  }

  // Beside the queries: reads some thousand tuples of each table.
  void sample(std::string tables) {
    std::thread([this, tables = std::move(tables)] {
      std::string_view rest = tables;
      const storage::Table* table = nullptr;
      std::string body;
      while (take_bytes(&rest, &table, sizeof table))
        put_statistics(&body, table, *storage::collect_statistics(*table));
      channel_.send(static_cast<uint32_t>(ToParent::kStatistics), 0, body);
    }).detach();  // until _exit
  }

  void start(const Frame& frame) {
    std::string_view body = frame.body;
    RunHeader header;
    CHECK(take_bytes(&body, &header, sizeof header));
    auto program = programs_.find(header.program);
    CHECK(program != programs_.end());
    auto execution = std::make_shared<Execution>(frame.id, header, program->second, std::string(body), &channel_,
                                                 options_, &bounds_);
    execution->take_files(frame.descriptors);
    std::lock_guard<std::mutex> lock(mutex_);
    running_[frame.id] = execution;
    waiting_.emplace_back(frame.id, std::move(execution));
    // one that has been woken up for another query is idle until it runs
    if (waiting_.size() > idle_threads_ && threads_ < options_.threads_max) {
      ++threads_;
      std::thread([this] { run_queries(); }).detach();  // until _exit
    }
    work_came_.notify_one();
  }

  void run_queries() {
    storage::ChangeLog::Options small;
    small.reserve_bytes = storage::kArenaGranuleBytes;
    auto log = storage::ChangeLog::create(forked_.database->arena(), small);
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      ++idle_threads_;
      work_came_.wait(lock, [this] { return !waiting_.empty(); });
      --idle_threads_;
      auto [id, execution] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      serialise_instructions();
      execution->run(log.ok() ? log->get() : nullptr, clock_);
      const uint64_t program = execution->program_number();
      execution.reset();
      lock.lock();
      running_.erase(id);
      lock.unlock();
      finish_drops(program);
      lock.lock();
    }
  }

  // Answers when no query runs the program any more.
  void drop(uint64_t program) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      dropping_.push_back(program);
    }
    finish_drops(program);
  }
  void finish_drops(uint64_t program) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (auto& [id, execution] : running_) {
        if (execution->program_number() == program) return;
      }
      if (std::erase(dropping_, program) == 0) return;
    }
    channel_.send(static_cast<uint32_t>(ToParent::kDropped), program);
  }

  const ForkedDatabase& forked_;
  const ChildServerOptions options_;
  const RealClock clock_;
  Channel channel_;
  ColumnBounds bounds_;
  const bool serialises_all_ = allow_serialise_all();
  // the receiving thread's
  std::map<uint64_t, ProgramPointer> programs_;

  std::mutex mutex_;  // all that follows
  std::condition_variable work_came_;
  std::map<uint64_t, std::shared_ptr<Execution>> running_;
  std::deque<std::pair<uint64_t, std::shared_ptr<Execution>>> waiting_;
  std::vector<uint64_t> dropping_;
  uint32_t threads_ = 0;
  uint32_t idle_threads_ = 0;
};

}  // namespace

int serve_snapshot(const ForkedDatabase& forked, const ChildServerOptions& options, int socket) noexcept {
  if (options.is_confined && !enter_sandbox()) return kExitFailed;
  return ChildServer(forked, options, socket).run();
}

}  // namespace scyper::query
