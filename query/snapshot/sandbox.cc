#include "snapshot/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace scyper::query {

namespace {

// Allowed whatever their arguments: the kernel remembers that and runs no filter for them.
constexpr int kAllowedCalls[] = {
    // open descriptors
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_lseek,
    SYS_close, SYS_close_range, SYS_fstat, SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_fcntl, SYS_poll, SYS_ppoll,
    SYS_sendmsg, SYS_recvmsg, SYS_sendto, SYS_recvfrom, SYS_shutdown,
    // memory
    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_membarrier,
    // threads
    SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_gettid, SYS_getpid, SYS_getppid, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_exit, SYS_exit_group,
    // clocks
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time, SYS_getrusage,
    // signals
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    // all else
    SYS_getrandom, SYS_getcpu, SYS_sysinfo, SYS_uname};

constexpr uint32_t kAllowCall = SECCOMP_RET_ALLOW;
constexpr uint32_t kRefuseCall = SECCOMP_RET_ERRNO | EPERM;
// What glibc takes for a kernel that does not have the call: it then uses clone(), whose flags can be looked at.
constexpr uint32_t kUnknownCall = SECCOMP_RET_ERRNO | ENOSYS;

// A filter as it is made: the numbers of calls one after the other, each with its own checks behind it.
class CallFilter {
 public:
  CallFilter() {
    load(offsetof(seccomp_data, arch));
    jump_unless_equal(AUDIT_ARCH_X86_64, 1, 0);
    end(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
  }
  void answer(int call, uint32_t with) {
    jump_unless_equal(static_cast<uint32_t>(call), 0, 1);
    end(with);
  }
  // Allowed when the bits of the argument are so.
  void allow_if(int call, int argument, uint32_t bits, uint32_t wanted) {
    jump_unless_equal(static_cast<uint32_t>(call), 0, 5);
    load(low_half(argument));
    add({BPF_ALU | BPF_AND | BPF_K, 0, 0, bits});
    jump_unless_equal(wanted, 0, 1);
    end(kAllowCall);
    end(kRefuseCall);
  }
  // Allowed when the pointer is null.
  void allow_if_null(int call, int argument) {
    jump_unless_equal(static_cast<uint32_t>(call), 0, 6);
    load(low_half(argument));
    jump_unless_equal(0, 0, 3);
    load(low_half(argument) + sizeof(uint32_t));
    jump_unless_equal(0, 0, 1);
    end(kAllowCall);
    end(kRefuseCall);
  }
  bool install() {
    end(kRefuseCall);
    sock_fprog program{size_, code_};
    return !is_full_ && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
  }

 private:
  static constexpr uint16_t kSizeMax = 256;

  static uint32_t low_half(int argument) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(argument));
  }
  void add(sock_filter instruction) {
    is_full_ |= size_ == kSizeMax;
    if (!is_full_) code_[size_++] = instruction;
  }
  void load(uint32_t offset) { add({BPF_LD | BPF_W | BPF_ABS, 0, 0, offset}); }
  void jump_unless_equal(uint32_t value, uint8_t if_equal, uint8_t otherwise) {
    add({BPF_JMP | BPF_JEQ | BPF_K, if_equal, otherwise, value});
  }
  void end(uint32_t answer) { add({BPF_RET | BPF_K, 0, 0, answer}); }

  sock_filter code_[kSizeMax];
  uint16_t size_ = 0;
  bool is_full_ = false;
};

[[maybe_unused]] bool install_filter() noexcept {
  CallFilter filter;
  for (const int call : kAllowedCalls) filter.answer(call, kAllowCall);
  filter.answer(SYS_clone3, kUnknownCall);
  filter.allow_if(SYS_clone, 0, CLONE_THREAD, CLONE_THREAD);
  filter.allow_if(SYS_mmap, 2, PROT_EXEC, 0);
  filter.allow_if(SYS_mprotect, 2, PROT_EXEC, 0);
  filter.allow_if(SYS_openat, 2, O_TMPFILE, O_TMPFILE);
  filter.allow_if(SYS_newfstatat, 3, AT_EMPTY_PATH, AT_EMPTY_PATH);  // glibc's fstat()
  filter.allow_if(SYS_prctl, 0, ~0u, PR_SET_NAME);
  filter.allow_if(SYS_tgkill, 0, ~0u, static_cast<uint32_t>(getpid()));  // abort()
  filter.allow_if_null(SYS_prlimit64, 2);                                // reads a limit
  return filter.install();
}

}  // namespace

bool has_sandbox() noexcept {
  uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool enter_sandbox() noexcept {
#ifdef SCYPER_SANITIZED
  return true;
#else
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install_filter();
#endif
}

}  // namespace scyper::query
