#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "testing/bank.h"

// The engine runs short queries on a worker and leaves long ones to snapshots.
namespace scyper::primary {
namespace {

class ShortReadTest : public testing::Test {
 protected:
  // 'd': on a worker, 'l': for a snapshot, 'w': it writes; else an SQLSTATE.
  std::string verdict(const std::string& sql, std::vector<Datum> parameters = {}, StatementLimits limits = {}) {
    result_.clear();
    const auto done = bank_.engine().execute_short(sql, parameters, &result_, limits, &receipt_);
    if (!done.ok()) return std::string(sqlstate_of(done.status()));
    return *done == ShortRead::kDone ? "d" : *done == ShortRead::kLong ? "l" : "w";
  }
  int64_t value() const { return result_.row_count() == 1 ? result_.value(0, 0).lo : -1; }
  void all(std::initializer_list<const char*> statements) {
    for (const char* sql : statements) {
      const Status status = bank_.run(sql);
      ASSERT_TRUE(status.ok()) << sql << ": " << status;
    }
  }

  query::Receipt receipt_;
  Bank bank_;
  query::ResultSet result_;
};

TEST_F(ShortReadTest, FewAccessesByIndexRunOnAWorker) {
  for (int id = 1; id < 5; ++id) {  // as it is, then as a text of its shape
    ASSERT_TRUE(bank_.run("UPDATE accounts SET balance = " + std::to_string(id) + " WHERE branch = 1 AND id = 1").ok());
    EXPECT_EQ(verdict("SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), "d");
    EXPECT_EQ(value(), id);
  }
  EXPECT_EQ(verdict("SELECT balance FROM accounts WHERE branch = $1 AND id = $2", {int_datum(1), int_datum(2)}), "d");
  EXPECT_EQ(value(), 1000);
  EXPECT_EQ(verdict("SELECT count(*) FROM accounts WHERE branch = 3"), "d");
  EXPECT_EQ(value(), Bank::kAccounts);
  EXPECT_EQ(verdict("SELECT a.balance FROM accounts a JOIN rates r ON r.id = a.id WHERE a.branch = 2 AND a.id = 3"),
            "d");
  EXPECT_EQ(verdict("SELECT id FROM accounts WHERE branch = 4 ORDER BY id DESC LIMIT 1"), "d");
  EXPECT_EQ(verdict("SELECT * FROM accounts LIMIT 2"), "d");
  EXPECT_EQ(result_.row_count(), 2u);
  EXPECT_EQ(verdict("SELECT 1"), "d");
  EXPECT_EQ(verdict("SELECT nothing FROM accounts WHERE id = 1"), "42703");
  EXPECT_EQ(verdict("SELECT 1 / (id - id) FROM accounts WHERE branch = 1 AND id = 1"), "22012");
}

TEST_F(ShortReadTest, LargeReadsAreForSnapshots) {
  EXPECT_EQ(verdict("SELECT sum(balance) FROM accounts"), "l");
  EXPECT_EQ(verdict("SELECT branch, count(*) FROM accounts WHERE id = 3 GROUP BY branch"), "l");
  EXPECT_EQ(verdict("SELECT relname FROM pg_class WHERE oid = 1"), "l");
  EXPECT_EQ(verdict("SELECT 1 UNION SELECT 2"), "l");
  EXPECT_EQ(verdict("CREATE TABLE other (a int)"), "l");
  EXPECT_EQ(verdict("SELEC 1"), "l");  // a snapshot says what is wrong with it
}

TEST_F(ShortReadTest, FunctionsThatWriteAreTransactions) {
  all({"CREATE TABLE calls (a integer PRIMARY KEY)",
       "CREATE FUNCTION note(n integer) RETURNS integer LANGUAGE plpgsql AS "
       "'BEGIN INSERT INTO calls VALUES (n); RETURN n; END'",
       "CREATE FUNCTION look(n integer) RETURNS bigint LANGUAGE plpgsql AS "
       "'BEGIN RETURN (SELECT count(*) FROM calls WHERE a = n); END'"});
  EXPECT_EQ(verdict("SELECT note(1)"), "w");
  EXPECT_EQ(verdict("SELECT * FROM note(1)"), "w");
  EXPECT_EQ(verdict("SELECT note(1)"), "w");
  EXPECT_EQ(bank_.value_of("SELECT count(*) FROM calls"), 0);  // none has run
  EXPECT_EQ(verdict("SELECT look(1)"), "d");
  EXPECT_EQ(value(), 0);
  // another catalog, another verdict
  all({"CREATE OR REPLACE FUNCTION note(n integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN n; END'"});
  EXPECT_EQ(verdict("SELECT note(1)"), "d");
}

TEST_F(ShortReadTest, OneThatTakesTooLongGoesToASnapshot) {
  all(
      {"CREATE FUNCTION spin(n bigint) RETURNS bigint LANGUAGE plpgsql AS "
       "'DECLARE s bigint := 0; BEGIN FOR i IN 1 .. n LOOP s := s + i; END LOOP; RETURN s; END'"});
  EXPECT_EQ(verdict("SELECT spin($1)", {int_datum(10)}), "d");
  EXPECT_EQ(value(), 55);
  EXPECT_EQ(verdict("SELECT spin($1)", {int_datum(2'000'000'000)}), "l");
  EXPECT_EQ(result_.row_count(), 0u);
  EXPECT_EQ(verdict("SELECT spin($1)", {int_datum(10)}), "l");  // for some seconds
  // who is cancelled, or out of time, hears so
  all(
      {"CREATE FUNCTION turn(n bigint) RETURNS bigint LANGUAGE plpgsql AS "
       "'DECLARE s bigint := 0; BEGIN FOR i IN 1 .. n LOOP s := s + i; END LOOP; RETURN s; END'"});
  std::atomic<bool> is_cancelled{true};
  StatementLimits limits;
  limits.cancelled = &is_cancelled;
  EXPECT_EQ(verdict("SELECT turn(2000000000)", {}, limits), "57014");
}

TEST_F(ShortReadTest, NoneRunsThereWithoutTime) {
  EngineOptions options = Bank::small_options();
  options.short_read_us_max = 0;
  Bank bank(options);
  const auto done = bank.engine().execute_short("SELECT 1", {}, &result_, {}, &receipt_);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(*done, ShortRead::kLong);
}

// Readers beside writers see each commit that was acknowledged before.
TEST_F(ShortReadTest, ReadsWhatWasAcknowledged) {
  std::vector<std::thread> threads;
  for (int branch = 1; branch <= 3; ++branch) {
    threads.emplace_back([this, branch] {
      const auto update = bank_.prepare("UPDATE accounts SET balance = $2 WHERE branch = $1 AND id = 7");
      query::Receipt receipt;
      uint64_t lsn = 0;
      for (int64_t i = 1; i <= 200; ++i) {
        Call call(update, {branch, i});
        call.start(&bank_.engine());
        call.wait();
        ASSERT_TRUE(call.status.ok()) << call.status;
        query::ResultSet result;
        const std::vector<Datum> arguments = {int_datum(branch)};
        const auto done = bank_.engine().execute_short("SELECT balance FROM accounts WHERE branch = $1 AND id = 7",
                                                       arguments, &result, {}, &receipt);
        ASSERT_TRUE(done.ok() && *done == ShortRead::kDone) << done.status();
        ASSERT_EQ(result.value(0, 0).lo, i);
        ASSERT_GT(receipt.lsn, lsn);  // of the commit that it has seen, at least
        lsn = receipt.lsn;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace scyper::primary
