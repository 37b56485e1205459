#include "reservations.h"

#include <gtest/gtest.h>

namespace scyper::primary {
namespace {

using storage::RowClaim;
using storage::RowLock;

class ReservationsTest : public testing::Test {
 protected:
  ReservationsTest() { reservations_.begin(2); }
  static RowClaim claim(std::string_view name, RowLock lock) { return {nullptr, name, lock}; }
  BlockId holder(std::string_view name, RowLock lock, BlockId own = 0) const {
    return reservations_.find_holder(claim(name, lock), own);
  }

  Reservations reservations_;
};

TEST_F(ReservationsTest, AHolderExcludesWhatItsLockExcludes) {
  std::vector<Reservations::Held> held;
  EXPECT_FALSE(reservations_.any());
  reservations_.add(claim("a", RowLock::kShare), 1, &held);
  EXPECT_TRUE(reservations_.any());
  EXPECT_EQ(holder("a", RowLock::kKeyShare), 0u);
  EXPECT_EQ(holder("a", RowLock::kShare), 0u);
  EXPECT_EQ(holder("a", RowLock::kNoKeyUpdate), 1u);
  EXPECT_EQ(holder("a", RowLock::kUpdate), 1u);
  EXPECT_EQ(holder("a", RowLock::kUpdate, 1), 0u);
  EXPECT_EQ(holder("b", RowLock::kUpdate), 0u);
}

TEST_F(ReservationsTest, SeveralHoldSharedLocks) {
  std::vector<Reservations::Held> one, two;
  reservations_.add(claim("a", RowLock::kShare), 1, &one);
  reservations_.add(claim("a", RowLock::kKeyShare), 2, &two);
  EXPECT_EQ(holder("a", RowLock::kNoKeyUpdate, 1), 0u);
  EXPECT_EQ(holder("a", RowLock::kUpdate, 1), 2u);
  reservations_.release(1, 0, &one);
  EXPECT_EQ(holder("a", RowLock::kNoKeyUpdate), 0u);
  EXPECT_EQ(holder("a", RowLock::kUpdate), 2u);
  reservations_.release(2, 0, &two);
  EXPECT_FALSE(reservations_.any());
}

// A savepoint gives back what was made stronger behind it.
TEST_F(ReservationsTest, ReleaseGoesBackToTheWeakerLock) {
  std::vector<Reservations::Held> held;
  reservations_.add(claim("a", RowLock::kKeyShare), 1, &held);
  const size_t savepoint = held.size();
  reservations_.add(claim("a", RowLock::kUpdate), 1, &held);
  reservations_.add(claim("a", RowLock::kShare), 1, &held);  // nothing to add
  reservations_.add(claim("b", RowLock::kUpdate), 1, &held);
  EXPECT_EQ(held.size(), 3u);
  EXPECT_EQ(holder("a", RowLock::kKeyShare), 1u);
  reservations_.release(1, savepoint, &held);
  EXPECT_EQ(holder("a", RowLock::kShare), 0u);
  EXPECT_EQ(holder("a", RowLock::kUpdate), 1u);
  EXPECT_EQ(holder("b", RowLock::kUpdate), 0u);
  reservations_.release(1, 0, &held);
  EXPECT_FALSE(reservations_.any());
}

TEST_F(ReservationsTest, ChangesAreToldFromLocks) {
  std::vector<Reservations::Held> held;
  reservations_.add(claim("a", RowLock::kUpdate), 1, &held);
  EXPECT_EQ(reservations_.find_changer("a", 0), 0u);
  const size_t savepoint = held.size();
  RowClaim change = claim("a", RowLock::kNoKeyUpdate);
  change.changes = true;
  reservations_.add(change, 1, &held);  // weaker as a lock
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(reservations_.find_changer("a", 0), 1u);
  EXPECT_EQ(reservations_.find_changer("a", 1), 0u);
  EXPECT_EQ(holder("a", RowLock::kKeyShare), 1u);
  reservations_.release(1, savepoint, &held);
  EXPECT_EQ(reservations_.find_changer("a", 0), 0u);
  EXPECT_EQ(holder("a", RowLock::kKeyShare), 1u);
  reservations_.release(1, 0, &held);
  EXPECT_FALSE(reservations_.any());
}

}  // namespace
}  // namespace scyper::primary
