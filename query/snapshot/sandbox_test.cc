#include "snapshot/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace scyper::query {
namespace {

// What a child says that has entered the sandbox: names of what was not as it should be, on a line each.
template <typename Body>
std::string in_sandbox(Body&& body) {
  int words[2];
  EXPECT_EQ(pipe(words), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    std::string wrong = enter_sandbox() ? "" : "enter_sandbox\n";
    body(&wrong);
    const ssize_t written = write(words[1], wrong.data(), wrong.size());
    _exit(written == static_cast<ssize_t>(wrong.size()) ? 0 : 1);
  }
  close(words[1]);
  std::string said;
  char buffer[1024];
  for (ssize_t got; (got = read(words[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<size_t>(got));
  close(words[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) said += "exit status " + std::to_string(status) + "\n";
  return said;
}

void expect_refused(const char* what, int64_t result, std::string* wrong) {
  if (result != -1 || errno != EPERM) *wrong += std::string(what) + " was not refused\n";
}
void expect_allowed(const char* what, bool is_so, std::string* wrong) {
  if (!is_so) *wrong += std::string(what) + " failed: " + std::to_string(errno) + "\n";
}

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_sandbox()) GTEST_SKIP() << "this kernel has no filters";
  }
};

TEST_F(SandboxTest, RefusesWhatAChildDoesNotNeed) {
  const int page = 4096;
  EXPECT_EQ(
      in_sandbox([&](std::string* wrong) {
        char* arguments[] = {nullptr};
        expect_refused("socket", socket(AF_INET, SOCK_STREAM, 0), wrong);
        expect_refused("socketpair", syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, nullptr), wrong);
        expect_refused("open to read", open("/etc/passwd", O_RDONLY), wrong);
        expect_refused("open to create", open("/tmp/x", O_RDWR | O_CREAT | O_EXCL, 0600), wrong);
        expect_refused("the old open", syscall(SYS_open, "/etc/passwd", O_RDONLY), wrong);
        expect_refused("openat2", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", nullptr, 0), wrong);
        expect_refused("unlink", unlink("/tmp/x"), wrong);
        expect_refused("linkat", linkat(0, "", AT_FDCWD, "/tmp/x", AT_EMPTY_PATH), wrong);
        struct stat about;
        expect_refused("stat", stat("/etc/passwd", &about), wrong);
        expect_refused("execve", execve("/bin/true", arguments, arguments), wrong);
        expect_refused("fork", syscall(SYS_fork), wrong);
        expect_refused("fork by clone", syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr), wrong);
        expect_refused("ptrace", ptrace(PTRACE_TRACEME, 0, nullptr, nullptr), wrong);
        expect_refused("kill", kill(getppid(), 0), wrong);
        expect_refused("tgkill of another", syscall(SYS_tgkill, getppid(), getppid(), 0), wrong);
        expect_refused("process_vm_readv", syscall(SYS_process_vm_readv, getppid(), nullptr, 0, nullptr, 0, 0), wrong);
        expect_refused("io_uring_setup", syscall(SYS_io_uring_setup, 1, nullptr), wrong);
        expect_refused(
            "code",
            reinterpret_cast<int64_t>(mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
            wrong);
        rlimit limit{0, 0};
        expect_refused("setrlimit", setrlimit(RLIMIT_NOFILE, &limit), wrong);
        expect_refused("dumpable", prctl(PR_SET_DUMPABLE, 1), wrong);
      }),
      "");
}

TEST_F(SandboxTest, LeavesWhatAChildNeeds) {
  int open_ends[2];
  ASSERT_EQ(pipe(open_ends), 0);
  EXPECT_EQ(in_sandbox([&](std::string* wrong) {
              char byte = 'x';
              expect_allowed("a pipe", write(open_ends[1], &byte, 1) == 1 && read(open_ends[0], &byte, 1) == 1, wrong);
              std::vector<std::thread> threads;
              int ran = 0;
              for (int i = 0; i < 3; ++i) threads.emplace_back([&] { __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED); });
              for (std::thread& thread : threads) thread.join();
              expect_allowed("threads", ran == 3, wrong);
              void* memory = malloc(size_t{64} << 20);
              expect_allowed("memory", memory != nullptr, wrong);
              free(memory);
              rlimit limit;
              expect_allowed("getrlimit", getrlimit(RLIMIT_STACK, &limit) == 0, wrong);
              pthread_attr_t attributes;
              std::thread([&] { ran = pthread_getattr_np(pthread_self(), &attributes); }).join();
              expect_allowed("a thread's stack", ran == 0, wrong);
              const int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
              expect_allowed("a file without a name", file >= 0 || errno == EOPNOTSUPP, wrong);
              struct stat about;
              expect_allowed("its size", file < 0 || (ftruncate(file, 7) == 0 && fstat(file, &about) == 0), wrong);
            }),
            "");
}

}  // namespace
}  // namespace scyper::query
