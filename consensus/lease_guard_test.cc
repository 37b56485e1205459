#include "consensus/lease_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "consensus/supervisor.h"
#include "testing/etcd_process.h"

namespace scyper::consensus {
namespace {

// A program of its own: guards have to be made before gRPC is used, so that this test is the first.
// As a primary whose threads all hang: what it was to say it does not say, and it does not end.
TEST(LeaseGuardTest, KillsWhoHasNotEndedWithItsLease) {
  EtcdOptions options;
  options.endpoints = {"127.0.0.1:1"};  // nobody is there
  options.connect_us = options.call_us = 100'000;
  for (const bool is_stuck : {true, false}) {
    const pid_t node = ::fork();
    if (node == 0) {
      auto guard = LeaseGuard::start(options, 1'000'000);
      if (!guard.ok()) ::_exit(2);
      (*guard)->set(1);
      (*guard)->watch(boot_time_us() - 1'000'000);
      if (is_stuck) ::raise(SIGSTOP);
      for (int i = 0; i < 20; ++i) {  // it goes on, late each time
        (*guard)->watch(boot_time_us() - 1'000'000);
        ::usleep(100'000);
      }
      (*guard)->watch(0);
      ::usleep(2'000'000);
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(node, &status, 0), node);
    EXPECT_EQ(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, is_stuck) << status;
    if (!is_stuck) EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST(LeaseGuardTest, RevokesTheLeaseOfWhoIsGone) {
  ASSERT_TRUE(EtcdProcess::is_installed()) << "tools/install-packages installs it";
  EtcdProcess process;
  EtcdOptions options;
  options.endpoints = {process.endpoint()};
  options.call_us = 30'000'000;
  auto guard = LeaseGuard::start(options, 0);
  ASSERT_TRUE(guard.ok()) << guard.status();
  ASSERT_TRUE(process.start()) << process.log();
  const auto etcd = *Etcd::make(options);
  const auto earlier = etcd->grant(600), lease = etcd->grant(600);
  ASSERT_TRUE(earlier.ok() && lease.ok());
  ASSERT_TRUE(etcd->put({"/earlier", "1", earlier->id}).ok());
  ASSERT_TRUE(etcd->put({"/leader", "1", lease->id}).ok());
  (*guard)->set(earlier->id);
  (*guard)->set(lease->id);
  EXPECT_EQ(etcd->read("/leader")->values.size(), 1u);
  guard->reset();  // as at the end of the process
  bool is_gone = false;
  for (int i = 0; i < 600 && !is_gone; ++i) {
    is_gone = etcd->read("/leader")->values.empty();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(is_gone);
  EXPECT_EQ(etcd->read("/earlier")->values.size(), 1u);  // only what it has now
}

}  // namespace
}  // namespace scyper::consensus
