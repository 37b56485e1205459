#include "consensus/lease_guard.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "testing/etcd_process.h"

namespace scyper::consensus {
namespace {

// A program of its own: the guard has to be made before gRPC is used.
TEST(LeaseGuardTest, RevokesTheLeaseOfWhoIsGone) {
  ASSERT_TRUE(EtcdProcess::is_installed()) << "tools/install-packages installs it";
  EtcdProcess process;
  EtcdOptions options;
  options.endpoints = {process.endpoint()};
  options.call_us = 30'000'000;
  auto guard = LeaseGuard::start(options);
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
