#include "base/failpoint.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace scyper {
namespace {

Failpoint first("test.first");
Failpoint second("test.second");

class FailpointTest : public testing::Test {
 protected:
  void TearDown() override { disarm_failpoints(); }
};

std::string passes(Failpoint& point, int n) {
  std::string result;
  for (int i = 0; i < n; ++i) result += point.fires() ? 'x' : '.';
  return result;
}

TEST_F(FailpointTest, OffByDefault) { EXPECT_EQ(passes(first, 3), "..."); }

TEST_F(FailpointTest, FailsWhenArmed) {
  ASSERT_TRUE(arm_failpoints("test.first=fail;test.second=fail@2*3").ok());
  EXPECT_EQ(passes(first, 4), "xxxx");
  EXPECT_EQ(passes(second, 7), "..xxx..");
  EXPECT_EQ(second.count(), 3u);
  ASSERT_TRUE(arm_failpoints("test.second=fail*1").ok());
  EXPECT_EQ(passes(second, 3), "x..");
  ASSERT_TRUE(arm_failpoints("test.first=off").ok());
  EXPECT_EQ(passes(first, 2), "..");
  disarm_failpoints();
  EXPECT_EQ(passes(second, 2), "..");
}

TEST_F(FailpointTest, Sleeps) {
  ASSERT_TRUE(arm_failpoints("test.first=sleep(30)*1").ok());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(passes(first, 2), "..");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(30));
}

TEST_F(FailpointTest, ExitsLikeACrash) {
  ASSERT_TRUE(arm_failpoints("test.first=exit@1").ok());
  EXPECT_EXIT(passes(first, 2), testing::ExitedWithCode(134), "");
}

TEST_F(FailpointTest, WrongSpecsArmNothing) {
  for (const char* spec :
       {"test.first=fail;nowhere=fail", "test.first=fail;test.second", "test.first=explode", "test.first=fail@",
        "test.first=fail*x", "test.first=sleep(x)", "test.first=sleep(99999999)", "test.first="}) {
    EXPECT_FALSE(arm_failpoints(spec).ok()) << spec;
    EXPECT_EQ(passes(first, 1), ".") << spec;
  }
  EXPECT_TRUE(arm_failpoints("").ok());
}

TEST_F(FailpointTest, Lists) { EXPECT_EQ(failpoint_names(), (std::vector<std::string>{"test.first", "test.second"})); }

}  // namespace
}  // namespace scyper
