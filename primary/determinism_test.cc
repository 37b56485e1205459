#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

// The same calls, one batch after the other, each answered before the next, end in the same state whatever the number
// of partitions and workers (design section 5, rule 7).
storage::Digest digest_after(uint32_t partitions, uint32_t workers, ExecutionMode mode, uint64_t seed) {
  EngineOptions options = Bank::small_options();
  options.partitions = partitions;
  options.workers = workers;
  options.execution = mode;
  Bank bank(options);
  std::vector<std::shared_ptr<const Statement>> statements = {
      bank.prepare("CALL move($1, $2, $3, $4, $5)"), bank.prepare("CALL move_and_fail($1, $2, $3, $4)"),
      bank.prepare("CALL set_rate($1, $2)"), bank.prepare("CALL deposit($1, $2, $3)"),
      bank.prepare("INSERT INTO accounts VALUES ($1, $2, $3)")};
  std::mt19937_64 random(seed);
  auto number = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  for (int i = 0; i < 2000; ++i) {
    int64_t values[5] = {number(16), number(32), number(16), number(32), number(50)};
    size_t which = number(5);
    if (which == 4) values[1] += 500;
    Call call(statements[which], {});
    for (size_t a = 0; a < statements[which]->parameter_types().size(); ++a)
      call.arguments.push_back(int_datum(values[a]));
    call.start(&bank.engine());
    call.wait();
  }
  bank.check_tables();
  // what depends on the number of partitions
  EXPECT_TRUE(bank.run("UPDATE links SET target = 0").ok());
  return bank.digest();
}

TEST(DeterminismTest, SameCallsSameState) {
  const uint64_t seed = test_seed();
  storage::Digest expected = digest_after(1, 1, ExecutionMode::kInterpreted, seed);
  EXPECT_EQ(digest_after(4, 1, ExecutionMode::kInterpreted, seed), expected);
  EXPECT_EQ(digest_after(4, 2, ExecutionMode::kInterpreted, seed), expected);
  EXPECT_EQ(digest_after(7, 3, ExecutionMode::kInterpreted, seed), expected);
  EXPECT_EQ(digest_after(4, 2, ExecutionMode::kAdaptive, seed), expected);
  EXPECT_NE(digest_after(1, 1, ExecutionMode::kInterpreted, seed + 1), expected);
}

}  // namespace
}  // namespace scyper::primary
