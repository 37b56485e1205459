// COPY ... FROM STDIN on the engine: all or nothing, in the log, within limits.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "primary/copy_in.h"
#include "primary/engine.h"
#include "query/copy_text.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

std::unique_ptr<CopyIn> open(Bank* bank, std::string_view sql) {
  auto copy = bank->engine().open_copy(sql);
  EXPECT_TRUE(copy.ok()) << copy.status();
  return copy.ok() ? *std::move(copy) : nullptr;
}

int64_t now_ns() { return RealClock().monotonic_ns(); }

TEST(CopyTest, RowsGoInWhenTheTextEnds) {
  Bank bank;
  auto copy = open(&bank, "COPY rates (rate, id) FROM STDIN");
  EXPECT_EQ(copy->column_count(), 2u);
  const int64_t before = bank.value_of("SELECT count(*) FROM rates");
  ASSERT_TRUE(copy->add("5\t90").ok());
  ASSERT_TRUE(copy->add("0\n6\t901\n").ok());
  EXPECT_EQ(bank.value_of("SELECT count(*) FROM rates"), before);
  query::ResultSet result;
  ASSERT_TRUE(copy->finish({}, &result).ok());
  EXPECT_EQ(result.command_tag, "COPY 2");
  EXPECT_EQ(bank.value_of("SELECT rate::bigint FROM rates WHERE id = 901"), 6);
  bank.check_tables();
  auto copies = bank.engine().activity().copies;
  EXPECT_EQ(copies.open, 1u);
  EXPECT_EQ(copies.done, 1u);
  EXPECT_EQ(copies.failed, 0u);
  EXPECT_EQ(copies.rows, 2u);
  EXPECT_GT(copies.memory_bytes, 0u);
  copy.reset();
  copies = bank.engine().activity().copies;
  EXPECT_EQ(copies.open + copies.memory_bytes, 0u);
}

TEST(CopyTest, ErrorsLeaveNothing) {
  Bank bank;
  const storage::Digest before = bank.digest();
  query::ResultSet result;
  EXPECT_EQ(sqlstate_of(bank.engine().open_copy("COPY nothing FROM STDIN").status()), "42P01");
  EXPECT_EQ(sqlstate_of(bank.engine().open_copy("SELECT 1").status()), "42601");
  EXPECT_EQ(sqlstate_of(open(&bank, "COPY rates FROM STDIN")->add("900\tx\n")), "22P02");
  auto twice = open(&bank, "COPY rates FROM STDIN");
  ASSERT_TRUE(twice->add("900\t1\n900\t2\n").ok());
  EXPECT_EQ(sqlstate_of(twice->finish({}, &result)), "23505");
  ASSERT_TRUE(open(&bank, "COPY rates FROM STDIN")->add("900\t1\n").ok());  // not finished
  EXPECT_EQ(bank.digest(), before);
  twice.reset();
  EXPECT_EQ(bank.engine().activity().copies.failed, 3u);
  EXPECT_EQ(bank.engine().activity().copies.done, 0u);
  auto late = open(&bank, "COPY rates FROM STDIN");
  ASSERT_TRUE(late->add("900\t1\n").ok());
  EXPECT_EQ(bank.tag_of("ALTER TABLE rates ADD COLUMN more integer"), "ALTER TABLE");
  EXPECT_EQ(sqlstate_of(late->finish({}, &result)), "40001");
  ASSERT_EQ(bank.tag_of("CREATE TABLE words (w text)"), "CREATE TABLE");
  late = open(&bank, "COPY words FROM STDIN");
  ASSERT_TRUE(late->add("x\n").ok());
  ASSERT_EQ(bank.tag_of("DROP TABLE words"), "DROP TABLE");
  ASSERT_EQ(bank.tag_of("CREATE TABLE words (w text)"), "CREATE TABLE");  // another one
  EXPECT_EQ(sqlstate_of(late->finish({}, &result)), "40001");
}

TEST(CopyTest, ItsMemoryIsBounded) {
  EngineOptions options = Bank::small_options();
  options.copy_bytes_max = 2 << 20;
  Bank bank(options);
  ASSERT_EQ(bank.tag_of("CREATE TABLE words (w text)"), "CREATE TABLE");
  const auto fill = [](CopyIn* copy) {
    Status status;
    for (int i = 0; i < 1500 && status.ok(); ++i) status = copy->add(std::string(1000, 'x') + "\n");
    return status;
  };
  auto first = open(&bank, "COPY words FROM STDIN"), second = open(&bank, "COPY words FROM STDIN");
  ASSERT_TRUE(fill(first.get()).ok());
  EXPECT_EQ(sqlstate_of(fill(second.get())), "53200");  // of both together
  second.reset();
  query::ResultSet result;
  EXPECT_TRUE(first->finish({}, &result).ok());
  first.reset();
  second = open(&bank, "COPY words FROM STDIN");
  EXPECT_TRUE(fill(second.get()).ok());
}

TEST(CopyTest, FieldsBeyondTheColumnsAreCountedOnly) {
  query::CopyReader reader({}, 2);
  reader.add(std::string(1000, '\t') + "\na\n");
  ASSERT_TRUE(reader.next().ok());
  EXPECT_EQ(reader.fields().size(), 2u);
  EXPECT_EQ(reader.field_count(), 1001u);
  ASSERT_TRUE(reader.next().ok());
  EXPECT_EQ(reader.field_count(), 1u);
}

TEST(CopyTest, RunsEndWhenTheyAreTold) {
  Bank bank;
  ASSERT_EQ(
      bank.tag_of("CREATE FUNCTION endless() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END LOOP; END $$"),
      "CREATE FUNCTION");
  ASSERT_EQ(bank.tag_of("CREATE TRIGGER t BEFORE INSERT ON rates FOR EACH ROW EXECUTE FUNCTION endless()"),
            "CREATE TRIGGER");
  query::ResultSet result;
  std::atomic<bool> cancelled{true};
  for (const bool by_time : {true, false}) {
    auto copy = open(&bank, "COPY rates FROM STDIN");
    ASSERT_TRUE(copy->add("900\t1\n").ok());
    StatementLimits limits;
    if (by_time) limits.deadline_ns = now_ns() + 20'000'000;
    if (!by_time) limits.cancelled = &cancelled;
    const Status status = copy->finish(limits, &result);
    EXPECT_EQ(sqlstate_of(status), "57014");
    EXPECT_EQ(status.message(),
              by_time ? "canceling statement due to statement timeout" : "canceling statement due to user request");
  }
  EXPECT_EQ(bank.value_of("SELECT count(*) FROM rates WHERE id = 900"), 0);
}

}  // namespace
}  // namespace scyper::primary
