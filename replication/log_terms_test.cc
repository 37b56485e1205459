#include "replication/log_terms.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace scyper::replication {
namespace {

using Starts = std::vector<TermStart>;

TEST(LogTermsTest, TellsTheTermOfABatch) {
  const Starts starts = {{1, 0}, {2, 10}, {5, 20}};
  EXPECT_EQ(term_of(starts, 0), 0u);
  EXPECT_EQ(term_of(starts, 1), 1u);
  EXPECT_EQ(term_of(starts, 10), 1u);
  EXPECT_EQ(term_of(starts, 11), 2u);
  EXPECT_EQ(term_of(starts, 21), 5u);
  EXPECT_EQ(term_of({}, 21), 0u);
}

TEST(LogTermsTest, FindsWhereTwoLogsPart) {
  // term 2 went on here, term 3 began behind less of it there
  EXPECT_EQ(common_end(Starts{{1, 0}, {2, 10}}, 25, Starts{{1, 0}, {2, 10}, {3, 20}}, 30), (LogEnd{2, 20}));
  // the other way round: all that is here is there
  EXPECT_EQ(common_end(Starts{{1, 0}, {2, 10}}, 15, Starts{{1, 0}, {2, 10}, {3, 20}}, 30), (LogEnd{2, 15}));
  // term 2 is here only, at LSNs that are term 3's there
  EXPECT_EQ(common_end(Starts{{1, 0}, {2, 10}}, 25, Starts{{1, 0}, {3, 12}}, 30), (LogEnd{1, 10}));
  EXPECT_EQ(common_end(Starts{{1, 0}, {2, 10}}, 25, Starts{{1, 0}, {3, 8}}, 30), (LogEnd{1, 8}));
  // two terms that came to nothing
  EXPECT_EQ(common_end(Starts{{1, 0}, {2, 10}, {4, 12}}, 25, Starts{{1, 0}, {3, 9}, {5, 18}}, 30), (LogEnd{1, 9}));
  // logs that begin in the middle of a term, and at different places
  EXPECT_EQ(common_end(Starts{{1, 5}, {2, 10}}, 25, Starts{{1, 7}, {3, 9}}, 30), (LogEnd{1, 9}));
}

TEST(LogTermsTest, FindsNothingThatBothAreKnownToHave) {
  EXPECT_EQ(common_end(Starts{{2, 10}}, 25, Starts{{1, 0}, {3, 8}}, 30), std::nullopt);
  EXPECT_EQ(common_end({}, 0, Starts{{1, 0}}, 30), std::nullopt);
  EXPECT_EQ(common_end(Starts{{1, 0}}, 30, {}, 0), std::nullopt);
  // the same term, but of it each has what the other has dropped or never had
  EXPECT_EQ(common_end(Starts{{1, 12}, {2, 20}}, 25, Starts{{1, 0}, {3, 12}}, 30), std::nullopt);
}

}  // namespace
}  // namespace scyper::replication
