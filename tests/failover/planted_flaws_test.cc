// Tests the tests: every guard of elections and of replication is switched off, one by one, and the simulation that is
// to find that is run until it has.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "base/test_seed.h"
#include "base/test_slice.h"
#include "simulation.h"
#include "testing/simulation.h"

namespace scyper::failover {
namespace {

using consensus::Guard;
using replication::SimulationFlaw;

struct ElectionFlaw {
  const char* name;
  Guard off;
  Schedule schedule = Schedule::kAny;
};
const std::vector<ElectionFlaw> kElectionFlaws = {
    {"a fence is answered before the promise is on disk", Guard::kPromiseFirst},
    {"no fence check: redo and fences of old terms are taken", Guard::kRefuseOldTerms},
    {"a promise names no node", Guard::kPromiseNamesNode},
    {"a candidate does not wait for a quorum of answers", Guard::kFenceQuorum},
    {"a candidate does not adopt the highest log", Guard::kAdoptHighest},
    {"copies and answers of others than voters count", Guard::kVotersOnly},
    {"answers of voters that have forgotten count", Guard::kCompleteOnly},
    {"term missing in acknowledgements", Guard::kTermInAcks, Schedule::kLateAcknowledgements},
    {"copies of older terms' commits count before the term's start", Guard::kOwnTermCommits},
    {"a primary opens before its term's start has copies", Guard::kStartCopies},
    {"local read without lease", Guard::kLeaseForReads},
    {"acknowledged before the quorum", Guard::kWriteQuorum},
    {"without etcd one voter's grant does", Guard::kGrantOfAll, Schedule::kMinorityWithoutEtcd},
    {"who has granted answers fences", Guard::kGrantBinds},
    {"a grant is forgotten by a restart", Guard::kGrantOutlives},
    {"voters change before the last change has taken effect", Guard::kOneChange},
    {"voters count as in effect when a term is won", Guard::kOpenedIsOpen, Schedule::kChangingVoters},
    {"fences under older voters are answered", Guard::kNewestVoters, Schedule::kChangingVoters},
    {"a voter that returns with an empty disk counts", Guard::kKnownDisk},
};
static_assert(static_cast<size_t>(Guard::kKnownDisk) == 18);  // a new guard needs its line above

struct ReplicationFlaw {
  const char* name;
  SimulationFlaw flaw;
};
const std::vector<ReplicationFlaw> kReplicationFlaws = {
    {"gap ignored", SimulationFlaw::kIgnoresGaps},
    {"applied before it is confirmed", SimulationFlaw::kAppliesUnconfirmed},
    {"tails of an old term are kept", SimulationFlaw::kKeepsTails},
    {"secondaries of other terms are believed", SimulationFlaw::kTrustsPeers},
    {"source id reused", SimulationFlaw::kReusesSource},
};

// How many seeds it took; 0: not found.
uint64_t search(const ElectionFlaw& planted, uint64_t first, uint64_t seeds) {
  for (uint64_t i = 0; i < seeds; ++i) {
    SimulationOptions options;
    options.seed = first + i;
    options.schedule = planted.schedule;
    options.flaws = Flaws(planted.off);
    const Outcome outcome = Simulation(options).run();
    if (outcome.violation.empty()) continue;
    std::printf("  %s\n", outcome.violation.substr(0, 120).c_str());
    return i + 1;
  }
  return 0;
}

// In a process of its own: a CHECK may find it first.
uint64_t search(const ReplicationFlaw& planted, uint64_t first, uint64_t seeds) {
  void* shared =
      ::mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 0;
  auto* done = new (shared) std::atomic<uint64_t>(0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    while (done->load() < seeds && !testing::Test::HasFailure()) {
      replication::run_simulation(first + done->load(), planted.flaw);
      done->fetch_add(testing::Test::HasFailure() ? 0 : 1);
    }
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  const bool is_over = child > 0 && ::waitpid(child, &status, 0) == child;
  const bool is_found = is_over && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const uint64_t took = is_found ? done->load() + 1 : 0;
  ::munmap(shared, sizeof(std::atomic<uint64_t>));
  return took;
}

// SCYPER_TEST_FLAW_SEEDS: how many seeds an election's flaw may take. A tenth of it for those of replication.
TEST(PlantedFlaws, EachIsFound) {
  if (test_slice(false, true)) GTEST_SKIP() << "the same search as without a sanitizer";
  const uint64_t first = test_seed();
  const char* given = std::getenv("SCYPER_TEST_FLAW_SEEDS");
  const uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : 20'000;
  size_t planted = 0, caught = 0;
  const auto note = [&](const char* name, uint64_t took) {
    ++planted;
    caught += took != 0 ? 1 : 0;
    EXPECT_NE(took, 0u) << "not found: " << name;
    std::printf("%-62s %s\n", name, took != 0 ? ("found after seeds: " + std::to_string(took)).c_str() : "NOT FOUND");
    std::fflush(stdout);
  };
  for (const ElectionFlaw& flaw : kElectionFlaws) note(flaw.name, search(flaw, first, seeds));
  for (const ReplicationFlaw& flaw : kReplicationFlaws) note(flaw.name, search(flaw, first, seeds / 10));
  std::printf("%zu of %zu caught\n", caught, planted);
  EXPECT_EQ(caught, planted);
  // or everything is found, whatever is planted
  EXPECT_EQ(search(ReplicationFlaw{"none", SimulationFlaw::kNone}, first, 20), 0u);
}

}  // namespace
}  // namespace scyper::failover
