#include "jit/tiering.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "base/internal_error.h"
#include "base/invariant.h"

namespace scyper::query::jit {

// The queue and its thread. TieredCode may outlive the Tiering: its requests are then refused.
class BackgroundCompiler {
 public:
  BackgroundCompiler(Jit& jit, const TieringOptions& options)
      : jit_(jit), options_(options), process_(getpid()), urgent_thread_([this] { run(true); }), thread_([this] {
          run(false);
        }) {}

  void stop() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      for (auto& queue : queues_) queue.clear();
    }
    urgent_thread_.join();
    thread_.join();
  }

  // False if it must be tried again later. is_urgent: a run is about to begin that would go on in it.
  bool request(std::weak_ptr<TieredCode> code, Tier tier, bool is_urgent = false) {
    if (getpid() != process_) return true;  // a forked child has nobody to compile; the mutex may be held forever there
    absl::MutexLock lock(&mutex_);
    if (stopping_) return true;
    if (queues_[0].size() + queues_[1].size() + queues_[kUrgent].size() >= options_.queue_length_max) return false;
    queues_[is_urgent ? kUrgent : static_cast<size_t>(tier)].push_back(std::move(code));
    return true;
  }

  void wait_until_idle() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &BackgroundCompiler::is_idle));
  }

  Jit& jit() const { return jit_; }
  const TieringOptions& options() const { return options_; }
  uint64_t compiled_count() const { return compiled_count_; }
  uint64_t failed_count() const { return failed_count_; }

 private:
  bool is_idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queues_[0].empty() && queues_[1].empty() && queues_[kUrgent].empty() && busy_ == 0;
  }
  bool has_work() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queues_[0].empty() || !queues_[1].empty();
  }
  bool has_urgent_work() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queues_[kUrgent].empty(); }

  void run(bool is_urgent) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "scyper-compile");
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.background_nice);
    for (;;) {
      std::shared_ptr<TieredCode> code;
      Tier tier = Tier::kQuick;
      {
        absl::MutexLock lock(&mutex_);
        const auto waits_for = is_urgent ? &BackgroundCompiler::has_urgent_work : &BackgroundCompiler::has_work;
        mutex_.Await(absl::Condition(this, waits_for));
        if (stopping_) return;
        tier = is_urgent || queues_[0].empty() ? Tier::kBetter : Tier::kQuick;
        auto& queue = queues_[is_urgent ? kUrgent : static_cast<size_t>(tier)];
        code = queue.front().lock();
        queue.pop_front();
        busy_++;
      }
      if (code != nullptr) improve(*code, tier);
      code = nullptr;
      absl::MutexLock lock(&mutex_);
      busy_--;
    }
  }

  void improve(TieredCode& code, Tier tier) {
    const Status status = contained(Phase::kCompiling, "(in the background)", [&] { return code.improve(jit_, tier); });
    if (status.ok()) {
      ++compiled_count_;
      if (tier == Tier::kQuick && code.wants_better_) code.expect(Tier::kBetter, options_.better_after_runs);
    } else {
      ++failed_count_;
      if (tier == Tier::kBetter) code.fail_better();
    }
  }

  Jit& jit_;
  const TieringOptions options_;
  const pid_t process_;
  absl::Mutex mutex_;
  static constexpr size_t kUrgent = kTierCount;  // better tier
  // dropped statements just vanish
  std::deque<std::weak_ptr<TieredCode>> queues_[kTierCount + 1] ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that compile
  std::atomic<uint64_t> compiled_count_ = 0;
  std::atomic<uint64_t> failed_count_ = 0;
  std::thread urgent_thread_;  // last: they use all of the above
  std::thread thread_;
};

TieredCode::~TieredCode() = default;

void TieredCode::count_run() const noexcept {
  const uint32_t left = runs_left_.load(std::memory_order_acquire);
  if (left == 0) return;
  runs_left_.store(left - 1, std::memory_order_relaxed);
  if (left != 1) return;
  const Tier tier = next_tier_.load(std::memory_order_relaxed);
  const bool done = background_->request(std::const_pointer_cast<TieredCode>(shared_from_this()), tier);
  if (!done) runs_left_.store(background_->options().better_after_runs, std::memory_order_relaxed);
}

void TieredCode::expect(Tier tier, uint32_t runs) {
  next_tier_.store(tier, std::memory_order_relaxed);
  runs_left_.store(runs, std::memory_order_release);
}

Status TieredCode::improve(Jit& jit, Tier tier) {
  std::shared_ptr<const ir::Function> function;
  {
    absl::MutexLock lock(&mutex_);
    if (code_[static_cast<size_t>(tier)] != nullptr || code_[1] != nullptr) return absl::OkStatus();
    function = function_;
  }
  INVARIANT(function != nullptr);
  SCYPER_ASSIGN_OR_RETURN(auto code, jit.compile(*function, tier));
  install(std::move(code));
  return absl::OkStatus();
}

// Drops the code when another thread was faster.
void TieredCode::install(std::shared_ptr<const NativeCode> code) {
  const size_t tier = static_cast<size_t>(code->tier);
  std::vector<std::weak_ptr<const std::function<void()>>> told;
  {
    absl::MutexLock lock(&mutex_);
    if (code_[tier] != nullptr || (code->tier == Tier::kQuick && code_[1] != nullptr)) return;
    if (code->tier == Tier::kBetter || !wants_better_) function_ = nullptr;
    const NativeCode::Entry entry = code->entry;
    const bool is_better = code->tier == Tier::kBetter;
    code_[tier] = std::move(code);
    if (is_better) {
      better_code_.store(entry, std::memory_order_release);
      told = std::move(when_better_);
    }
    entry_.store(entry, std::memory_order_release);
    native_entry_.store(entry, std::memory_order_release);
    form_number_.fetch_add(1, std::memory_order_release);
  }
  for (const auto& listener : told) {
    if (const Listener then = listener.lock()) (*then)();
  }
}

TieredCode::Listener TieredCode::when_better(std::function<void()> then) {
  auto listener = std::make_shared<const std::function<void()>>(std::move(then));
  absl::MutexLock lock(&mutex_);
  if (code_[1] != nullptr) return listener;
  std::erase_if(when_better_, [](const auto& other) { return other.expired(); });
  when_better_.push_back(listener);
  return listener;
}

// It will not come; who asks again may still get it.
void TieredCode::fail_better() {
  absl::MutexLock lock(&mutex_);
  when_better_.clear();
}

TieredCode::Form TieredCode::form() const {
  absl::MutexLock lock(&mutex_);
  const bool is_native = code_[0] != nullptr || code_[1] != nullptr;
  return {code_[1] != nullptr ? code_[1] : code_[0], !is_native && deferring_ != nullptr ? deferring_ : function_};
}

bool TieredCode::is_deferred() const { return deferring_ != nullptr && native_entry() == nullptr; }

Status TieredCode::begin_native() {
  if (!is_deferred()) return absl::OkStatus();
  absl::MutexLock lock(&beginning_);
  if (!is_deferred() || !begun_.ok()) return begun_;
  std::shared_ptr<const ir::Function> function;
  {
    absl::MutexLock its_lock(&mutex_);
    function = function_;
  }
  begun_ = contained(Phase::kCompiling, function->name, [&] {
    return compile_first(background_->jit(), *function, TieringMode::kAdaptive, starts_better_);
  });
  return begun_;
}

Status TieredCode::compile_first(Jit& jit, const ir::Function& function, TieringMode mode, bool starts_better) {
  const bool wants_better = wants_better_ && starts_better;
  const bool swaps = wants_better && can_swap_;
  if (swaps) background_->request(shared_from_this(), Tier::kBetter, /*is_urgent=*/true);
  const bool better = mode == TieringMode::kBetter || (wants_better && !swaps);
  SCYPER_ASSIGN_OR_RETURN(auto native, jit.compile(function, better ? Tier::kBetter : Tier::kQuick));
  install(std::move(native));
  if (wants_better_ && !better) expect(Tier::kBetter, background_->options().better_after_runs);
  return absl::OkStatus();
}

std::shared_ptr<TieredCode> TieredCode::of_entry(NativeCode::Entry entry, NativeCode::Entry swap_target) {
  std::shared_ptr<TieredCode> code(new TieredCode);
  code->entry_.store(entry, std::memory_order_relaxed);
  code->swap_target_.store(swap_target, std::memory_order_relaxed);
  return code;
}

std::shared_ptr<TieredCode> TieredCode::of_function(const ir::Function& function, NativeCode::Entry swap_target) {
  std::shared_ptr<TieredCode> code(new TieredCode);
  code->swap_target_.store(swap_target, std::memory_order_relaxed);
  code->vm_ = vm::VmFunction::prepare(function);
  return code;
}

std::string_view TieredCode::current_form() const {
  absl::MutexLock lock(&mutex_);
  if (code_[1] != nullptr) return name_of(Tier::kBetter);
  return code_[0] != nullptr ? name_of(Tier::kQuick) : "interpreter";
}

size_t TieredCode::size_bytes() const {
  absl::MutexLock lock(&mutex_);
  size_t bytes = sizeof *this;
  if (vm_ != nullptr) bytes += vm_->size_bytes();
  if (function_ != nullptr) bytes += function_->instruction_count() * sizeof(ir::Inst);
  for (const auto& code : code_) {
    if (code != nullptr) bytes += code->code_bytes;
  }
  return bytes;
}

Tiering::Tiering(Jit& jit, const TieringOptions& options)
    : jit_(jit), options_(options), background_(std::make_shared<BackgroundCompiler>(jit, options)) {}

Tiering::~Tiering() { background_->stop(); }

StatusOr<std::shared_ptr<TieredCode>> Tiering::add(ir::Function function, Start start) {
  std::shared_ptr<TieredCode> code(new TieredCode);
  code->background_ = background_;
  const TieringMode mode = options_.mode;
  const bool adaptive = mode == TieringMode::kAdaptive;
  code->can_swap_ = !function.swaps.blocks.empty();
  code->wants_better_ = adaptive && function.instruction_count() <= options_.better_instructions_max;
  auto shared = std::make_shared<const ir::Function>(std::move(function));
  const bool interprets = mode == TieringMode::kInterpreter || mode == TieringMode::kSwappingInterpreter;
  if (code->can_swap_ && (mode == TieringMode::kSwapping || mode == TieringMode::kSwappingInterpreter)) {
    SCYPER_ASSIGN_OR_RETURN(code->swap_code_, jit_.compile(*shared, Tier::kBetter));
    code->swap_target_.store(code->swap_code_->entry, std::memory_order_relaxed);
  }
  if (adaptive || interprets) {
    absl::MutexLock lock(&code->mutex_);
    code->function_ = shared;
  }
  if (interprets || (adaptive && start == Start::kInterpreter)) {
    code->vm_ = vm::VmFunction::prepare(*shared);
    if (adaptive) code->expect(Tier::kQuick, options_.quick_after_runs);
    return code;
  }
  SCYPER_RETURN_IF_ERROR(code->compile_first(jit_, *shared, mode, start == Start::kBetter));
  return code;
}

std::shared_ptr<TieredCode> Tiering::add_deferred(ir::Function function, ir::Function deferring, Start start) {
  INVARIANT(may_defer(start));
  std::shared_ptr<TieredCode> code(new TieredCode);
  code->background_ = background_;
  code->can_swap_ = !function.swaps.blocks.empty();
  code->wants_better_ = function.instruction_count() <= options_.better_instructions_max;
  code->starts_better_ = start == Start::kBetter;
  code->vm_ = vm::VmFunction::prepare(deferring);
  code->deferring_ = std::make_shared<const ir::Function>(std::move(deferring));
  absl::MutexLock lock(&code->mutex_);
  code->function_ = std::make_shared<const ir::Function>(std::move(function));
  return code;
}

Status Tiering::make_native(TieredCode& code) {
  if (options_.mode != TieringMode::kAdaptive || code.is_deferred()) return absl::OkStatus();
  if (code.form().native != nullptr) return absl::OkStatus();
  return contained(Phase::kCompiling, "(while it runs)", [&] { return code.improve(jit_, Tier::kQuick); });
}

void Tiering::request_better(TieredCode& code) {
  if (options_.mode != TieringMode::kAdaptive || !code.wants_better_ || code.is_deferred()) return;
  const TieredCode::Form form = code.form();
  if (form.native != nullptr && form.native->tier == Tier::kBetter) return;
  background_->request(code.shared_from_this(), Tier::kBetter);
}

void Tiering::wait_until_idle() { background_->wait_until_idle(); }
uint64_t Tiering::compiled_count() const { return background_->compiled_count(); }
uint64_t Tiering::failed_count() const { return background_->failed_count(); }

}  // namespace scyper::query::jit
