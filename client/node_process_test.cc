#include "node_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <vector>

namespace scyper::client {
namespace {

// A node that is told twice ends at once.
TEST(NodeProcess, StopTellsEachOnce) {
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  int told[2], twice[2];
  ASSERT_EQ(::pipe(told), 0);
  ASSERT_EQ(::pipe(twice), 0);
  int signal_number = 0;
  char word = '.';
  // the first ends when both have been told; so whoever tells the second one again does it after that
  const pid_t first = ::fork();
  if (first == 0) {
    ::sigwait(&signals, &signal_number);
    static_cast<void>(!::read(told[0], &word, 1));
    ::_exit(0);
  }
  const pid_t second = ::fork();
  if (second == 0) {
    ::sigwait(&signals, &signal_number);
    static_cast<void>(!::write(told[1], &word, 1));
    const timespec patience{0, 500'000'000};
    if (::sigtimedwait(&signals, nullptr, &patience) == SIGTERM) static_cast<void>(!::write(twice[1], &word, 1));
    ::_exit(0);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  stop_processes(std::vector<pid_t>{first, -1, second});
  EXPECT_EQ(::waitpid(first, nullptr, WNOHANG), -1);  // no child any more
  EXPECT_EQ(::waitpid(second, nullptr, WNOHANG), -1);
  ::close(twice[1]);
  EXPECT_EQ(::read(twice[0], &word, 1), 0) << "a second SIGTERM";
  for (int end : {told[0], told[1], twice[0]}) ::close(end);
}

}  // namespace
}  // namespace scyper::client
