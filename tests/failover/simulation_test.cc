#include "simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/test_seed.h"
#include "base/test_slice.h"

namespace scyper::failover {
namespace {

using consensus::Guard;

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
  for (uint64_t i = 0; i < (alone != nullptr ? 1 : count); ++i) {
    SimulationOptions options;
    options.seed = alone != nullptr ? std::strtoull(alone, nullptr, 10) : first + i;
    const Outcome outcome = Simulation(options).run();
    ASSERT_EQ(outcome.violation, "") << "SCYPER_TEST_SIMULATION=" << options.seed;
    acknowledged += outcome.acknowledged;
    terms += outcome.terms;
    faults += outcome.faults;
    handed_over += outcome.handed_over;
    appointed += outcome.appointed;
    failsafe += outcome.failsafe;
    reclaimed += outcome.reclaimed;
  }
  std::printf(
      "%llu batches acknowledged in %llu terms, %llu faults, %llu handed over, %llu of them as wished; %llu "
      "acknowledged without etcd, %llu leases reclaimed\n",
      static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(terms),
      static_cast<unsigned long long>(faults), static_cast<unsigned long long>(handed_over),
      static_cast<unsigned long long>(appointed), static_cast<unsigned long long>(failsafe),
      static_cast<unsigned long long>(reclaimed));
  if (alone == nullptr && count >= 100) {  // else the faults are no faults, or nothing runs
    EXPECT_GT(terms, 2 * count);
    EXPECT_GT(faults, 10 * count);
    EXPECT_GT(acknowledged, 100 * count);
    EXPECT_GT(handed_over, count / 2);
    EXPECT_GT(appointed, count / 4);
    EXPECT_GT(failsafe, count);
    EXPECT_GT(reclaimed, count / 100);
  }
}

// The simulation finds each guard that is missing, but for kTermInAcks (consensus/elector_test.cc).
class FailoverFlaw : public testing::TestWithParam<std::pair<const char*, Guard>> {};
INSTANTIATE_TEST_SUITE_P(
    Guards, FailoverFlaw,
    testing::Values(std::pair{"PromiseFirst", Guard::kPromiseFirst},
                    std::pair{"RefuseOldTerms", Guard::kRefuseOldTerms},
                    std::pair{"PromiseNamesNode", Guard::kPromiseNamesNode},
                    std::pair{"FenceQuorum", Guard::kFenceQuorum}, std::pair{"AdoptHighest", Guard::kAdoptHighest},
                    std::pair{"VotersOnly", Guard::kVotersOnly}, std::pair{"CompleteOnly", Guard::kCompleteOnly},
                    std::pair{"OwnTermCommits", Guard::kOwnTermCommits}, std::pair{"StartCopies", Guard::kStartCopies},
                    std::pair{"LeaseForReads", Guard::kLeaseForReads}, std::pair{"WriteQuorum", Guard::kWriteQuorum},
                    std::pair{"GrantOfAll", Guard::kGrantOfAll}, std::pair{"GrantBinds", Guard::kGrantBinds},
                    std::pair{"GrantOutlives", Guard::kGrantOutlives}),
    [](const auto& info) { return info.param.first; });

TEST_P(FailoverFlaw, IsFound) {
  if (test_slice(false, true)) GTEST_SKIP() << "the same search as without a sanitizer";
  const uint64_t first = test_seed(), count = number_from("SCYPER_TEST_FLAW_SEEDS", 8000);
  for (uint64_t i = 0; i < count; ++i) {
    SimulationOptions options;
    options.seed = first + i;
    options.flaws = Flaws(GetParam().second);
    const Outcome outcome = Simulation(options).run();
    if (outcome.violation.empty()) continue;
    std::printf("after %llu seeds: %s\n", static_cast<unsigned long long>(i + 1), outcome.violation.c_str());
    return;
  }
  FAIL() << "not found in " << count << " seeds";
}

}  // namespace
}  // namespace scyper::failover
