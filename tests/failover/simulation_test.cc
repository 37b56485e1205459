#include "simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/test_seed.h"

namespace scyper::failover {
namespace {

uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

#ifdef SCYPER_SANITIZED
constexpr uint64_t kSeeds = 300;  // ten times as slow
#else
constexpr uint64_t kSeeds = 2000;
#endif

// SCYPER_TEST_SEEDS: how many; SCYPER_TEST_SIMULATION: one alone, to look at.
TEST(FailoverSimulation, NothingAcknowledgedIsLostWhateverFails) {
  const uint64_t first = test_seed(), count = number_from("SCYPER_TEST_SEEDS", kSeeds);
  const char* alone = std::getenv("SCYPER_TEST_SIMULATION");
  uint64_t acknowledged = 0, terms = 0, faults = 0, handed_over = 0, appointed = 0, failsafe = 0, reclaimed = 0;
  uint64_t changed = 0, refused = 0, wiped = 0, registered = 0;
  for (uint64_t i = 0; i < (alone != nullptr ? 1 : count); ++i) {
    SimulationOptions options;
    options.seed = alone != nullptr ? std::strtoull(alone, nullptr, 10) : first + i;
    if (options.seed % 16 == 1) options.schedule = Schedule::kMinorityWithoutEtcd;
    if (options.seed % 16 == 2) options.schedule = Schedule::kLateAcknowledgements;
    if (options.seed % 16 == 3) options.schedule = Schedule::kChangingVoters;
    const Outcome outcome = Simulation(options).run();
    ASSERT_EQ(outcome.violation, "") << "SCYPER_TEST_SIMULATION=" << options.seed;
    acknowledged += outcome.acknowledged;
    terms += outcome.terms;
    faults += outcome.faults;
    handed_over += outcome.handed_over;
    appointed += outcome.appointed;
    failsafe += outcome.failsafe;
    reclaimed += outcome.reclaimed;
    changed += outcome.changed;
    refused += outcome.refused;
    wiped += outcome.wiped;
    registered += outcome.registered;
  }
  std::printf(
      "%llu batches acknowledged in %llu terms, %llu faults, %llu handed over, %llu of them as wished; %llu "
      "acknowledged without etcd, %llu leases reclaimed; voters changed %llu times, %llu changes refused; %llu "
      "disks lost, %llu voters counted with a new one again\n",
      static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(terms),
      static_cast<unsigned long long>(faults), static_cast<unsigned long long>(handed_over),
      static_cast<unsigned long long>(appointed), static_cast<unsigned long long>(failsafe),
      static_cast<unsigned long long>(reclaimed), static_cast<unsigned long long>(changed),
      static_cast<unsigned long long>(refused), static_cast<unsigned long long>(wiped),
      static_cast<unsigned long long>(registered));
  if (alone == nullptr && count >= 100) {  // else the faults are no faults, or nothing runs
    EXPECT_GT(terms, 2 * count);
    EXPECT_GT(faults, 10 * count);
    EXPECT_GT(acknowledged, 100 * count);
    EXPECT_GT(handed_over, count / 2);
    EXPECT_GT(appointed, count / 4);
    EXPECT_GT(failsafe, count);
    EXPECT_GT(reclaimed, count / 100);
    EXPECT_GT(changed, count / 2);
    EXPECT_GT(refused, count / 4);
    EXPECT_GT(wiped, count / 4);
    EXPECT_GT(registered, count / 4);
  }
}

}  // namespace
}  // namespace scyper::failover
