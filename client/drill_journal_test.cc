#include "drill_journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace scyper::client {
namespace {

class DrillJournalTest : public testing::Test {
 protected:
  ~DrillJournalTest() override { std::filesystem::remove(path_); }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  const std::string path_ = testing::TempDir() + "/drill_journal_" + std::to_string(::getpid());
};

TEST_F(DrillJournalTest, TakesInWhatWasAdded) {
  DrillJournalReader reader(path_);
  EXPECT_TRUE(reader.read().ok());  // not begun
  append("S 1 40\nA 1 50 host:1\nS 2 40\nN ");
  EXPECT_TRUE(reader.read().ok());
  EXPECT_EQ(reader.refused().size(), 0u);  // its line has no end yet
  append("2\n");
  EXPECT_TRUE(reader.read().ok());
  EXPECT_EQ(reader.sent().size(), 2u);
  EXPECT_TRUE(reader.refused().contains(2));
  ASSERT_EQ(reader.acknowledged().size(), 1u);
  EXPECT_EQ(reader.acknowledged()[0].ns, 50);
  EXPECT_EQ(reader.acknowledged()[0].target, "host:1");
}

// What stands behind it must not be taken for all there is.
TEST_F(DrillJournalTest, ALineThatCannotBeReadStaysAnError) {
  DrillJournalReader reader(path_);
  append("S 1 40\nA 1 x\nA 1 50 host:1\n");
  EXPECT_EQ(sqlstate_of(reader.read()), "XX001");
  EXPECT_EQ(sqlstate_of(reader.read()), "XX001");
  EXPECT_TRUE(reader.sent().contains(1));
  EXPECT_TRUE(reader.acknowledged().empty());
}

}  // namespace
}  // namespace scyper::client
