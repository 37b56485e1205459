// LD_PRELOAD: lets calls of the C library fail, from the n-th on, as the environment says:
//   SCYPER_TEST_FAIL_CALL   pwrite, fdatasync, fsync, ftruncate, rename, mmap, fork or malloc (with calloc and realloc)
//   SCYPER_TEST_FAIL_FROM   the first call that fails, counted from 1
//   SCYPER_TEST_FAIL_COUNT  how many fail
//   SCYPER_TEST_FAIL_ERRNO  with what
//   SCYPER_TEST_FAIL_PATH   of pwrite: only files whose path contains this
//   SCYPER_TEST_FAIL_MARK   a file that is made when the first one has failed
// Threads: any. Allocates nothing.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
// NOLINTBEGIN: glibc's names
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
// NOLINTEND
}

namespace {

std::atomic<unsigned long> calls{0};

unsigned long number_in(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? 0 : strtoul(text, nullptr, 10);
}

bool fails(const char* call) {
  static const char* const chosen = getenv("SCYPER_TEST_FAIL_CALL");
  if (chosen == nullptr || strcmp(chosen, call) != 0) return false;
  static const unsigned long from = number_in("SCYPER_TEST_FAIL_FROM");
  static const unsigned long count = number_in("SCYPER_TEST_FAIL_COUNT");
  static const unsigned long error = number_in("SCYPER_TEST_FAIL_ERRNO");
  const unsigned long number = calls.fetch_add(1) + 1;
  if (number < from || number >= from + count) return false;
  if (const char* mark = getenv("SCYPER_TEST_FAIL_MARK"); mark != nullptr) {
    const long descriptor = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor >= 0) syscall(SYS_close, descriptor);
  }
  errno = static_cast<int>(error);
  return true;
}

bool is_meant(int descriptor) {
  static const char* const part = getenv("SCYPER_TEST_FAIL_PATH");
  if (part == nullptr) return true;
  char link[32], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  if (size < 0) return false;
  path[size] = 0;
  return strstr(path, part) != nullptr;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto call = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return is_meant(descriptor) && fails("pwrite") ? -1 : call(descriptor, bytes, size, offset);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite(descriptor, bytes, size, offset);
}
int fdatasync(int descriptor) {
  static const auto call = next<int(int)>("fdatasync");
  return fails("fdatasync") ? -1 : call(descriptor);
}
int fsync(int descriptor) {
  static const auto call = next<int(int)>("fsync");
  return fails("fsync") ? -1 : call(descriptor);
}
int ftruncate(int descriptor, off_t size) noexcept {
  static const auto call = next<int(int, off_t)>("ftruncate");
  return fails("ftruncate") ? -1 : call(descriptor, size);
}
int ftruncate64(int descriptor, off_t size) noexcept { return ftruncate(descriptor, size); }
int rename(const char* from, const char* to) noexcept {
  static const auto call = next<int(const char*, const char*)>("rename");
  return fails("rename") ? -1 : call(from, to);
}
void* mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) noexcept {
  if (fails("mmap")) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, descriptor, offset));
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) noexcept {
  return mmap(at, bytes, protection, flags, descriptor, offset);
}
pid_t fork() noexcept {
  static const auto call = next<pid_t()>("fork");
  return fails("fork") ? -1 : call();
}
void* malloc(size_t bytes) noexcept { return fails("malloc") ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) noexcept { return fails("malloc") ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* block, size_t bytes) noexcept { return fails("malloc") ? nullptr : __libc_realloc(block, bytes); }

}  // extern "C"
