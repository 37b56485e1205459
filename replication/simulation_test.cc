#include "testing/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/test_slice.h"

namespace scyper::replication {
namespace {

// SCYPER_TEST_SEED: one alone; SCYPER_TEST_SEEDS: how many. Flaws are planted by tests/failover/planted_flaws_test.cc.
TEST(ReplicationSimulation, SecondariesFollowThroughFaults) {
  const char* given = std::getenv("SCYPER_TEST_SEED");
  const char* count = std::getenv("SCYPER_TEST_SEEDS");
  if (given != nullptr) {
    run_simulation(std::strtoull(given, nullptr, 10));
    return;
  }
  const uint64_t seeds = count != nullptr ? std::strtoull(count, nullptr, 10) : test_slice(2000, 30);
  uint64_t peer_groups = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    peer_groups += run_simulation(seed);
    ASSERT_FALSE(testing::Test::HasFailure())
        << "run again: SCYPER_TEST_SEED=" << seed << " replication_simulation_test";
  }
  EXPECT_GT(peer_groups, seeds);  // other secondaries have been asked, too
}

}  // namespace
}  // namespace scyper::replication
