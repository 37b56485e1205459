#include "reservations.h"

#include <gtest/gtest.h>

namespace scyper::primary {
namespace {

using storage::RowClaim;
using storage::RowLock;

// Rows of table 1: a claim's name begins with its table's id, in four bytes.
constexpr std::string_view kRowA("\1\0\0\0a", 5);
constexpr std::string_view kRowB("\1\0\0\0b", 5);

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
  reservations_.add(claim(kRowA, RowLock::kShare), 1, &held);
  EXPECT_TRUE(reservations_.any());
  EXPECT_EQ(holder(kRowA, RowLock::kKeyShare), 0u);
  EXPECT_EQ(holder(kRowA, RowLock::kShare), 0u);
  EXPECT_EQ(holder(kRowA, RowLock::kNoKeyUpdate), 1u);
  EXPECT_EQ(holder(kRowA, RowLock::kUpdate), 1u);
  EXPECT_EQ(holder(kRowA, RowLock::kUpdate, 1), 0u);
  EXPECT_EQ(holder(kRowB, RowLock::kUpdate), 0u);
}

TEST_F(ReservationsTest, SeveralHoldSharedLocks) {
  std::vector<Reservations::Held> one, two;
  reservations_.add(claim(kRowA, RowLock::kShare), 1, &one);
  reservations_.add(claim(kRowA, RowLock::kKeyShare), 2, &two);
  EXPECT_EQ(holder(kRowA, RowLock::kNoKeyUpdate, 1), 0u);
  EXPECT_EQ(holder(kRowA, RowLock::kUpdate, 1), 2u);
  reservations_.release(1, 0, &one);
  EXPECT_EQ(holder(kRowA, RowLock::kNoKeyUpdate), 0u);
  EXPECT_EQ(holder(kRowA, RowLock::kUpdate), 2u);
  reservations_.release(2, 0, &two);
  EXPECT_FALSE(reservations_.any());
}

// A savepoint gives back what was made stronger behind it.
TEST_F(ReservationsTest, ReleaseGoesBackToTheWeakerLock) {
  std::vector<Reservations::Held> held;
  reservations_.add(claim(kRowA, RowLock::kKeyShare), 1, &held);
  const size_t savepoint = held.size();
  reservations_.add(claim(kRowA, RowLock::kUpdate), 1, &held);
  reservations_.add(claim(kRowA, RowLock::kShare), 1, &held);  // nothing to add
  reservations_.add(claim(kRowB, RowLock::kUpdate), 1, &held);
  EXPECT_EQ(held.size(), 3u);
  EXPECT_EQ(holder(kRowA, RowLock::kKeyShare), 1u);
  reservations_.release(1, savepoint, &held);
  EXPECT_EQ(holder(kRowA, RowLock::kShare), 0u);
  EXPECT_EQ(holder(kRowA, RowLock::kUpdate), 1u);
  EXPECT_EQ(holder(kRowB, RowLock::kUpdate), 0u);
  reservations_.release(1, 0, &held);
  EXPECT_FALSE(reservations_.any());
}

TEST_F(ReservationsTest, ChangesAreToldFromLocks) {
  std::vector<Reservations::Held> held;
  reservations_.add(claim(kRowA, RowLock::kUpdate), 1, &held);
  EXPECT_EQ(reservations_.find_changer(kRowA, 0), 0u);
  const size_t savepoint = held.size();
  RowClaim change = claim(kRowA, RowLock::kNoKeyUpdate);
  change.changes = true;
  reservations_.add(change, 1, &held);  // weaker as a lock
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(reservations_.find_changer(kRowA, 0), 1u);
  EXPECT_EQ(reservations_.find_changer(kRowA, 1), 0u);
  EXPECT_EQ(holder(kRowA, RowLock::kKeyShare), 1u);
  reservations_.release(1, savepoint, &held);
  EXPECT_EQ(reservations_.find_changer(kRowA, 0), 0u);
  EXPECT_EQ(holder(kRowA, RowLock::kKeyShare), 1u);
  reservations_.release(1, 0, &held);
  EXPECT_FALSE(reservations_.any());
}

}  // namespace
}  // namespace scyper::primary
