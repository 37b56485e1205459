#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "watched_ranges.h"

// mprotect and a signal handler, as live migration of virtual machines did it: the paper's second way, and its
// baseline.
namespace scyper::storage {

namespace {

struct ProtectedRange {
  uintptr_t start = 0;
  uintptr_t end = 0;
  std::unique_ptr<std::atomic<uint8_t>[]>
      pages;  // a page that is not protected has its bits set, or will have them at once
  // Handlers give all rights back from now on: one that only gave back reading, after all rights had been given back,
  // would leave a page that nobody watches and nobody can write.
  std::atomic<bool> is_leaving{false};
};

using Ranges = std::vector<ProtectedRange*>;  // by address; not changed once published

// A signal handler belongs to the process, and so does what it reads. It takes no lock: it counts itself in, and
// whoever has published other ranges waits for it before the old ones go. A forked child has its own copy of all this
// and publishes nothing.
std::atomic<const Ranges*> g_ranges{nullptr};
std::atomic<int> g_handlers{0};
std::atomic<bool> g_is_taken{false};
struct sigaction g_previous;

void unprotect(uintptr_t start, size_t bytes, int protection, int* error) {
  *error = mprotect(reinterpret_cast<void*>(start), bytes, protection) == 0 ? 0 : errno;
}

bool note_fault(const Ranges& ranges, uintptr_t address, uint8_t access) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](uintptr_t value, const ProtectedRange* range) { return value < range->start; });
  if (after == ranges.begin() || (*std::prev(after))->end <= address) return false;
  const ProtectedRange& range = **std::prev(after);
  std::atomic<uint8_t>& page = range.pages[(address - range.start) / kPageBytes];
  const uint8_t all = page.fetch_or(access) | access;
  int error = 0;
  const bool is_writable = (all & kAccessWritten) != 0 || range.is_leaving;
  unprotect(address / kPageBytes * kPageBytes, kPageBytes, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, &error);
  if (error != 0) {  // vm.max_map_count: each change of protection is a mapping; one for all of the range always fits
    for (uintptr_t i = 0; i < (range.end - range.start) / kPageBytes; ++i) {
      range.pages[i].fetch_or(kAccessRead | kAccessWritten);
    }
    unprotect(range.start, range.end - range.start, PROT_READ | PROT_WRITE, &error);
    return error == 0;
  }
  page.fetch_or(access);  // a window may have ended between: the page is accessible in the next one, too
  return true;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if (g_previous.sa_flags & SA_SIGINFO) {
    g_previous.sa_sigaction(signal, info, context);
  } else if (g_previous.sa_handler == SIG_DFL || g_previous.sa_handler == SIG_IGN) {
    std::signal(signal, SIG_DFL);  // the instruction comes again, and ends the process as it would have without us
  } else {
    g_previous.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  // A fault that was under way while its range was forgotten is not found here, and does not come again.
  constexpr int kRetries = 8;
  static thread_local int retries = 0;
  const int saved_errno = errno;
  uint8_t access = kAccessRead | kAccessWritten;
#if defined(__x86_64__)
  if ((static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) == 0) access = kAccessRead;
#endif
  g_handlers.fetch_add(1);
  const Ranges* ranges = g_ranges.load();
  const bool is_ours = ranges != nullptr && note_fault(*ranges, reinterpret_cast<uintptr_t>(info->si_addr), access);
  g_handlers.fetch_sub(1);
  errno = saved_errno;
  if (is_ours) {
    retries = 0;
  } else if (info->si_code != SEGV_ACCERR || ++retries > kRetries) {
    retries = 0;
    pass_on(signal, info, context);
  }
}

// Once in a process: it stays, since a fault may always be on its way, and passes on what is not its own.
Status install_handler() {
  static const int error = [] {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &g_previous) == 0 ? 0 : errno;
  }();
  if (error == 0) return absl::OkStatus();
  return observer_error(ObserverKind::kProtection, "no signal handler", error);
}

class ProtectionObserver final : public AccessObserver {
 public:
  ~ProtectionObserver() override {
    const MutexLock lock(&mutex_);
    for (const auto& [start, range] : protected_) range->is_leaving = true;
    await_handlers();
    for (const auto& [start, range] : ranges_.by_address()) {
      mprotect(reinterpret_cast<void*>(start), range.bytes, PROT_READ | PROT_WRITE);
    }
    publish(nullptr);
    g_is_taken = false;
  }
  ObserverKind kind() const override { return ObserverKind::kProtection; }
  bool sees_reads() const override { return true; }
  AccessCounter* counter_of(WatchId) override { return nullptr; }

  StatusOr<WatchId> watch(TableId table, void* start, size_t bytes) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchId id, ranges_.add(table, start, bytes));
    SCYPER_ASSIGN_OR_RETURN(const WatchedRanges::Range range, ranges_.find(id));
    auto made = std::make_unique<ProtectedRange>();
    made->start = range.start;
    made->end = range.end();
    made->pages = std::make_unique<std::atomic<uint8_t>[]>(range.pages());
    protected_[range.start] = std::move(made);
    publish_all();
    Status protects = protect(range, PROT_NONE);
    if (protects.ok()) return id;
    static_cast<void>(give_back(range));
    ranges_.remove(range);
    drop(range.start);
    return protects;
  }

  Status forget(WatchId id) override {
    const MutexLock lock(&mutex_);
    SCYPER_ASSIGN_OR_RETURN(const WatchedRanges::Range range, ranges_.find(id));
    SCYPER_RETURN_IF_ERROR(give_back(range));
    ranges_.remove(range);
    drop(range.start);
    return absl::OkStatus();
  }

  StatusOr<std::vector<RangeAccess>> collect(const std::set<TableId>& ignore) override {
    const MutexLock lock(&mutex_);
    std::vector<RangeAccess> accesses;
    accesses.reserve(ranges_.by_address().size());
    for (const auto& [start, range] : ranges_.by_address()) {
      RangeAccess access = no_access(range, kPageBytes, true, ignore);
      std::atomic<uint8_t>* pages = protected_.at(start)->pages.get();
      bool is_touched = false;
      // bits first: a page that is touched after that is accessible, or has its bits, or both
      for (size_t i = 0; i < access.units.size(); ++i) {
        access.units[i] = pages[i].load(std::memory_order_relaxed) == 0 ? 0 : pages[i].exchange(0);
        is_touched |= access.units[i] != 0;
      }
      if (is_touched) SCYPER_RETURN_IF_ERROR(protect(range, PROT_NONE));
      finish(access);
      accesses.push_back(std::move(access));
    }
    return accesses;
  }

 private:
  Status protect(const WatchedRanges::Range& range, int protection) const {
    if (mprotect(reinterpret_cast<void*>(range.start), range.bytes, protection) == 0) return absl::OkStatus();
    return observer_error(kind(), "mprotect", errno);
  }

  // No handler that had begun before is under way when this returns.
  static void await_handlers() {
    while (g_handlers != 0) std::this_thread::yield();
  }

  // All of the range can be accessed when this returns, and stays so.
  Status give_back(const WatchedRanges::Range& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    protected_.at(range.start)->is_leaving = true;
    await_handlers();
    return protect(range, PROT_READ | PROT_WRITE);
  }

  // No handler reads the old list, or what only it has, when this returns.
  void publish(std::unique_ptr<const Ranges> list) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    g_ranges = list.get();
    await_handlers();
    published_ = std::move(list);
  }

  void publish_all() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto list = std::make_unique<Ranges>();
    for (const auto& [start, range] : protected_) list->push_back(range.get());
    publish(std::move(list));
  }

  void drop(uintptr_t start) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::unique_ptr<ProtectedRange> dropped = std::move(protected_.at(start));
    protected_.erase(start);
    publish_all();
  }

  Mutex mutex_;
  WatchedRanges ranges_ ABSL_GUARDED_BY(mutex_);
  std::map<uintptr_t, std::unique_ptr<ProtectedRange>> protected_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<const Ranges> published_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<std::unique_ptr<AccessObserver>> make_protection_observer() {
  if (g_is_taken.exchange(true))
    return observer_error(ObserverKind::kProtection, "there is one in this process", EBUSY);
  auto observer = std::make_unique<ProtectionObserver>();  // gives it back
  SCYPER_RETURN_IF_ERROR(install_handler());
  return observer;
}

}  // namespace scyper::storage
