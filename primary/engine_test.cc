#include "primary/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include <atomic>
#include <chrono>
#include <thread>

#include "testing/bank.h"

namespace scyper::primary {
namespace {

constexpr char kMove[] = "CALL move($1, $2, $3, $4, $5)";
constexpr char kTotal[] = "SELECT sum(balance)::bigint FROM accounts";
constexpr int64_t kTotalBalance = int64_t{1000} * Bank::kBranches * Bank::kAccounts;

TEST(EngineTest, RunsStatementsOfEveryKind) {
  Bank bank;
  EXPECT_EQ(bank.value_of(kTotal), kTotalBalance);
  EXPECT_EQ(bank.tag_of("SELECT * FROM rates WHERE id < 3"), "SELECT 3");
  EXPECT_EQ(bank.tag_of("INSERT INTO rates VALUES (100, 1), (101, 2)"), "INSERT 0 2");
  EXPECT_EQ(bank.tag_of("UPDATE rates SET rate = 7 WHERE id >= 100"), "UPDATE 2");
  EXPECT_EQ(bank.tag_of("DELETE FROM rates WHERE id >= 100"), "DELETE 2");
  EXPECT_EQ(bank.tag_of("CALL deposit(1, 1, 5)"), "CALL");
  EXPECT_EQ(bank.value_of("SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1005);
  EXPECT_EQ(bank.tag_of("CREATE TABLE more (a integer PRIMARY KEY)"), "CREATE TABLE");
  EXPECT_EQ(bank.tag_of("DROP TABLE more"), "DROP TABLE");
  EXPECT_EQ(bank.tag_of("SELECT * FROM more"), "42P01");
  EXPECT_EQ(bank.tag_of("SELEC 1"), "42601");
  EXPECT_EQ(bank.tag_of("SHOW server_encoding"), "SHOW");
}

TEST(EngineTest, TextsThatDifferInLiteralsShareAProgram) {
  Bank bank;
  auto compiled = [&] { return bank.engine().counters().statements_compiled.load(); };
  auto balance = [&](int id, const std::string& text) { return bank.value_of(text + std::to_string(id)); };
  EXPECT_EQ(balance(1, "SELECT balance FROM accounts WHERE branch = 1 AND id = "), 1000);
  EXPECT_EQ(balance(2, "SELECT balance FROM accounts WHERE branch = 1 AND id = "), 1000);
  uint64_t before = compiled();
  ASSERT_TRUE(bank.run("CALL deposit(1, 3, 5)").ok());
  ASSERT_TRUE(bank.run("CALL deposit(1, 4, 6)").ok());
  ASSERT_TRUE(bank.run("CALL deposit(1, 4, 7)").ok());
  EXPECT_LE(compiled(), before + 3);  // the procedure, the text as it was, the shared one
  before = compiled();
  EXPECT_EQ(balance(3, "SELECT balance FROM accounts WHERE branch = 1 AND id = "), 1005);
  EXPECT_EQ(balance(4, "select  balance\n from accounts -- all of it\n where Branch=1 and id= "), 1013);
  EXPECT_EQ(bank.tag_of("SELECT balance FROM accounts WHERE branch = 1 AND id = 77"), "SELECT 0");
  EXPECT_EQ(compiled(), before);
  // other types, ordinals and limits are other statements
  EXPECT_EQ(balance(4, "SELECT balance FROM accounts WHERE branch = 1.0 AND id = "), 1013);
  EXPECT_EQ(bank.tag_of("SELECT balance FROM accounts WHERE branch = 1 ORDER BY 1 LIMIT 3"), "SELECT 3");
  EXPECT_EQ(bank.tag_of("SELECT balance FROM accounts WHERE branch = 2 ORDER BY 1 LIMIT 3"), "SELECT 3");
  EXPECT_EQ(bank.tag_of("SELECT balance FROM accounts WHERE branch = 2 ORDER BY 1 LIMIT 5"), "SELECT 5");
  // a literal that its place cannot take fails as it does alone
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bank.tag_of("SELECT balance FROM accounts WHERE branch = '1' AND id = '" + std::to_string(i) + "'"),
              "SELECT 1");
  }
  Status status = bank.run("SELECT balance FROM accounts WHERE branch = '1' AND id = 'x'");
  EXPECT_EQ(sqlstate_of(status), "22P02");
  EXPECT_EQ(position_of(status), 58);
}

TEST(EngineTest, SharedProgramsEndWithTheirCatalog) {
  Bank bank;
  const std::map<std::string, int> widths = {{"integer", 1}, {"text", 2}, {"numeric(6, 2)", 4}, {"char(4)", 2}};
  for (const char* type : {"integer", "text", "numeric(6, 2)", "char(4)"}) {
    ASSERT_TRUE(bank.run("CREATE TABLE v (k integer PRIMARY KEY, a " + std::string(type) + ")").ok());
    for (int i = 0; i < 4; ++i) {
      std::string number = std::to_string(i);
      EXPECT_EQ(bank.tag_of("INSERT INTO v VALUES (" + number + ", '" + number + "')"), "INSERT 0 1") << type;
      EXPECT_EQ(bank.tag_of("SELECT * FROM v WHERE a = '" + number + "' AND k = " + number), "SELECT 1") << type;
    }
    EXPECT_EQ(bank.value_of("SELECT count(*) FROM v WHERE a > '0'"), 3) << type;
    // the literal is read as the column's type of now, not of the table before
    for (const char* number : {"1", "2", "3"})
      EXPECT_EQ(bank.tag_of(std::string("UPDATE v SET a = '0") + number + "' WHERE k = " + number), "UPDATE 1") << type;
    EXPECT_EQ(bank.value_of("SELECT length(a::text) FROM v WHERE k = 3"), widths.at(type)) << type;
    ASSERT_TRUE(bank.run("DROP TABLE v").ok());
  }
}

// Statements of tables that are gone stay in the cache, and with them the catalogs that they were compiled for.
TEST(EngineTest, DroppedTablesGiveTheirMemoryBack) {
  EngineOptions options = Bank::small_options();
  options.memory_bytes = size_t{128} << 20;
  Bank bank(options);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(bank.run("CREATE TABLE v (k integer PRIMARY KEY, a text)").ok());
    ASSERT_TRUE(bank.run("INSERT INTO v SELECT i, repeat('x', 1000) FROM generate_series(1, 8000) AS g(i)").ok()) << i;
    EXPECT_EQ(bank.value_of("SELECT max(k) + " + std::to_string(i) + "::bigint FROM v"), 8000 + i);
    ASSERT_TRUE(bank.run(i % 2 == 0 ? "DROP TABLE v" : "TRUNCATE v").ok());
    if (i % 2 == 1) ASSERT_TRUE(bank.run("DROP TABLE v").ok());
  }
}

TEST(EngineTest, WrongParameterCount) {
  Bank bank;
  EXPECT_EQ(sqlstate_of(bank.run(kMove, {1, 2})), "08P01");
  EXPECT_EQ(bank.engine().counters().refused.load(), 1u);
}

TEST(EngineTest, ClassifiesByArguments) {
  Bank bank;
  auto statement = bank.prepare(kMove);
  int32_t beside = bank.branch_beside(3), elsewhere = bank.branch_elsewhere(3);
  struct Case {
    int32_t to;
    bool crossing;
  };
  for (Case c : {Case{3, false}, Case{beside, false}, Case{elsewhere, true}}) {
    Call call(statement, {3, 1, c.to, 2, 10});
    call.start(&bank.engine());
    call.wait();
    EXPECT_TRUE(call.status.ok());
    EXPECT_EQ(call.crossing, c.crossing) << c.to;
    EXPECT_FALSE(call.retried_as_crossing);
  }
  EXPECT_EQ(bank.engine().counters().crossing.load(), 1u);
  EXPECT_EQ(bank.value_of(kTotal), kTotalBalance);
}

TEST(EngineTest, MisclassifiedIsUndoneAndRunsAlone) {
  Bank bank;
  auto statement = bank.prepare("CALL move_linked($1, $2, $3)");
  Call call(statement, {5, 1, 100});
  call.start(&bank.engine());
  call.wait();
  EXPECT_TRUE(call.status.ok()) << call.status;
  EXPECT_TRUE(call.retried_as_crossing);
  EXPECT_EQ(bank.engine().counters().misclassified.load(), 1u);
  EXPECT_EQ(bank.value_of("SELECT balance FROM accounts WHERE branch = 5 AND id = 1"), 900);
  EXPECT_EQ(bank.value_of(kTotal), kTotalBalance);
}

TEST(EngineTest, FailureLeavesNoTrace) {
  Bank bank;
  storage::Digest before = bank.digest();
  query::ResultSet result;
  Status status = bank.engine().execute("CALL move_and_fail(2, 1, 2, 30)", {}, &result);
  EXPECT_EQ(sqlstate_of(status), "P0099");
  EXPECT_EQ(status.message(), "no 30 today");
  EXPECT_EQ(hint_of(status), "tomorrow");
  EXPECT_EQ(bank.run("INSERT INTO rates VALUES (200, 1), (200, 2)").ok(), false);
  EXPECT_EQ(sqlstate_of(bank.run("UPDATE accounts SET balance = 1 / (id - 31) WHERE branch = 3")), "22012");
  EXPECT_EQ(bank.digest(), before);
  bank.check_tables();
  EXPECT_EQ(bank.engine().counters().rolled_back.load(), 3u);
}

TEST(EngineTest, CountsAndTimesTransactionsByProcedure) {
  Bank bank;
  const auto of = [&](const std::string& name) {
    Engine::Activity::Procedure found;
    for (const auto& procedure : bank.engine().activity().procedures) {
      if (procedure.name == name) found = procedure;
    }
    return found;
  };
  const auto before = bank.engine().counters().committed.load();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(bank.run("CALL deposit($1, $2, $3)", {i % Bank::kBranches, 1, 1}).ok());
  ASSERT_TRUE(bank.run("CALL public.deposit(1, 1, 1)").ok());
  EXPECT_EQ(sqlstate_of(bank.run("CALL move_and_fail(2, 1, 2, 30)")), "P0099");
  const auto statements = of("").committed;
  ASSERT_TRUE(bank.run("INSERT INTO rates VALUES (300, 1)").ok());
  EXPECT_FALSE(bank.run("INSERT INTO rates VALUES (300, 1)").ok());
  EXPECT_EQ(of("deposit").committed, 501u);
  EXPECT_EQ(of("deposit").rolled_back, 0u);
  // one transaction in 64 on the mean, one in 127 at least, of each worker
  EXPECT_GE(of("deposit").runs.count, 2u);
  EXPECT_LE(of("deposit").runs.count, 250u);
  EXPECT_EQ(of("deposit").runs.count, of("deposit").waits.count);
  EXPECT_EQ(of("move_and_fail").committed, 0u);
  EXPECT_EQ(of("move_and_fail").rolled_back, 1u);
  EXPECT_EQ(of("").committed, statements + 1);
  EXPECT_EQ(of("").rolled_back, 1u);
  EXPECT_EQ(bank.engine().counters().committed.load(), before + 502);
  EXPECT_EQ(bank.engine().counters().rolled_back.load(), 2u);
  EXPECT_EQ(bank.engine().activity().queue_depths, std::vector<uint64_t>(Bank::small_options().workers, 0));
}

TEST(EngineTest, EndlessLoopEndsAndTheNodeGoesOn) {
  EngineOptions options = Bank::small_options();
  options.transaction_time_us_max = 100'000;
  Bank bank(options);
  storage::Digest before = bank.digest();
  auto statement = bank.prepare("CALL loop_forever($1, $2)");
  Call one(statement, {1, 1});
  Call other(statement, {bank.branch_elsewhere(1), 1});
  one.start(&bank.engine());
  other.start(&bank.engine());
  one.wait();
  other.wait();
  EXPECT_EQ(sqlstate_of(one.status), "57014");
  EXPECT_EQ(sqlstate_of(other.status), "57014");
  EXPECT_EQ(bank.digest(), before);
  EXPECT_TRUE(bank.run("CALL deposit(1, 1, 1)").ok());
}

TEST(EngineTest, Deadline) {
  Bank bank;
  auto now_ns = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  Call late(bank.prepare("CALL deposit($1, $2, $3)"), {1, 1, 1});
  late.deadline_ns = now_ns() - 1;
  late.start(&bank.engine());
  late.wait();
  EXPECT_EQ(sqlstate_of(late.status), "57014");
  const auto refused = [&](Refusal why) {
    return bank.engine().counters().refused_by[static_cast<size_t>(why)].load();
  };
  EXPECT_EQ(bank.engine().counters().refused.load(), 1u);
  EXPECT_EQ(refused(Refusal::kTimeout), 1u);
  Call few(bank.prepare("CALL deposit($1, $2, $3)"), {1, 1});
  few.start(&bank.engine());
  few.wait();
  EXPECT_EQ(sqlstate_of(few.status), "08P01");
  EXPECT_EQ(refused(Refusal::kParameters), 1u);
  EXPECT_EQ(bank.engine().counters().refused.load(), 2u);
  Call slow(bank.prepare("CALL loop_forever($1, $2)"), {1, 1});
  slow.deadline_ns = now_ns() + 50'000'000;
  slow.start(&bank.engine());
  slow.wait();
  EXPECT_EQ(sqlstate_of(slow.status), "57014");
  EXPECT_EQ(bank.value_of(kTotal), kTotalBalance);
}

TEST(EngineTest, FullQueueRefuses) {
  EngineOptions options = Bank::small_options();
  options.queue_capacity = 10;
  options.transaction_time_us_max = 60'000'000;
  Bank bank(options);
  auto deposit = bank.prepare("CALL deposit($1, $2, $3)");
  Call blocker(bank.prepare("CALL loop_forever($1, $2)"), {1, 1});
  std::atomic<bool> is_over{false};
  blocker.cancelled = &is_over;
  blocker.start(&bank.engine());
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<Transaction*> batch;
  for (int i = 0; i < 50; ++i) {
    calls.push_back(std::make_unique<Call>(deposit, std::initializer_list<int64_t>{1, 1, 1}));
    batch.push_back(calls.back().get());
  }
  bank.engine().submit(batch);
  is_over = true;
  blocker.wait();
  int refused = 0;
  for (auto& call : calls) {
    call->wait();
    if (call->status.ok()) continue;
    ++refused;
    EXPECT_EQ(sqlstate_of(call->status), "53300");
    EXPECT_FALSE(hint_of(call->status).empty());
  }
  EXPECT_EQ(bank.engine().counters().refused_by[static_cast<size_t>(Refusal::kQueueFull)].load(),
            static_cast<uint64_t>(refused));
  EXPECT_GE(refused, 40);
  EXPECT_LE(refused, 41);
  EXPECT_TRUE(calls[0]->status.ok());  // the newest are refused
  EXPECT_EQ(bank.value_of("SELECT balance FROM accounts WHERE branch = 1 AND id = 1"), 1000 + 50 - refused);
  EXPECT_EQ(bank.engine().queue_depth(), 0u);
}

TEST(EngineTest, StatementsSurviveDdl) {
  Bank bank;
  auto call = bank.prepare("CALL deposit($1, $2, $3)");
  auto select = bank.prepare("SELECT rate FROM rates WHERE id = 1");
  auto run = [&](const std::shared_ptr<const Statement>& statement, std::initializer_list<int64_t> arguments) {
    Call one(statement, arguments);
    one.start(&bank.engine());
    one.wait();
    return one.status;
  };
  EXPECT_TRUE(run(call, {1, 1, 1}).ok());
  // now writes shared data: crossing, though the old one was not
  ASSERT_TRUE(bank.run("CREATE OR REPLACE PROCEDURE deposit(b integer, i integer, amount bigint) LANGUAGE plpgsql AS "
                       "$$ BEGIN UPDATE rates SET rate = 55 WHERE id = i; END $$")
                  .ok());
  EXPECT_TRUE(run(call, {1, 1, 1}).ok());
  EXPECT_EQ(bank.engine().counters().crossing.load(), 1u);
  EXPECT_EQ(bank.value_of("SELECT rate FROM rates WHERE id = 1"), 55);
  EXPECT_TRUE(run(call, {1, 1, 1}).ok());
  ASSERT_TRUE(bank.run("DROP TABLE rates").ok());
  EXPECT_EQ(sqlstate_of(run(select, {})), "42P01");
  EXPECT_EQ(sqlstate_of(run(select, {})), "42P01");
  ASSERT_TRUE(bank.run("CREATE TABLE rates (id integer PRIMARY KEY, rate integer)").ok());
  EXPECT_TRUE(run(select, {}).ok());
  ASSERT_TRUE(bank.run("DROP PROCEDURE deposit").ok());
  EXPECT_EQ(sqlstate_of(run(call, {1, 1, 1})), "42883");
  // with another type: who prepares anew gets it
  ASSERT_TRUE(bank.run("DROP TABLE rates").ok());
  ASSERT_TRUE(bank.run("CREATE TABLE rates (id integer PRIMARY KEY, rate text)").ok());
  EXPECT_EQ(sqlstate_of(run(select, {})), "0A000");
  EXPECT_EQ(bank.prepare("SELECT rate FROM rates WHERE id = 1")->columns()[0].type.id, TypeId::kText);
}

TEST(EngineTest, CallWhoseResultHasChangedFailsBeforeItRuns) {
  Bank bank;
  constexpr char kBody[] =
      " LANGUAGE plpgsql AS $$ BEGIN UPDATE rates SET rate = rate + 1 WHERE id = 1; o := 5; END $$";
  ASSERT_TRUE(bank.run(std::string("CREATE PROCEDURE note(a integer, OUT o integer)") + kBody).ok());
  auto statement = bank.prepare("CALL note($1, NULL)");
  int64_t rate = bank.value_of("SELECT rate FROM rates WHERE id = 1");
  auto call = [&] {
    Call one(statement, {1});
    one.start(&bank.engine());
    one.wait();
    return one.status;
  };
  EXPECT_TRUE(call().ok());
  ASSERT_TRUE(bank.run("DROP PROCEDURE note").ok());
  ASSERT_TRUE(bank.run(std::string("CREATE PROCEDURE note(a integer, OUT o numeric)") + kBody).ok());
  EXPECT_EQ(sqlstate_of(call()), "0A000");
  EXPECT_EQ(bank.value_of("SELECT rate FROM rates WHERE id = 1"), rate + 1);
}

TEST(EngineTest, DescribesTablesAndRoutines) {
  Bank bank;
  auto columns = bank.engine().describe("stamps");
  ASSERT_TRUE(columns.ok());
  ASSERT_EQ(columns->size(), 2u);
  EXPECT_EQ((*columns)[1].name, "at");
  EXPECT_EQ(sqlstate_of(bank.engine().describe("nowhere").status()), "42P01");
  auto tables = bank.engine().tables();
  ASSERT_EQ(tables.size(), 4u);
  EXPECT_EQ(tables[0].name, "accounts");
  EXPECT_EQ(tables[0].partitioning, "hash (branch)");
  EXPECT_EQ(tables[0].rows, 512u);
  EXPECT_THAT(tables[0].indexes, testing::ElementsAre("accounts_pkey primary key (branch, id)"));
  EXPECT_EQ(tables[2].partitioning, "shared");
  std::vector<std::string> classes;
  for (const auto& routine : bank.engine().routines())
    classes.push_back(routine.signature + ": " + routine.classification);
  EXPECT_THAT(classes, testing::Contains(testing::HasSubstr("partition-constrained by b1, b2")));
  EXPECT_THAT(classes, testing::Contains("set_rate(i integer, r integer): partition-crossing"));
}

TEST(EngineTest, ShutdownFinishesWhatIsQueued) {
  Bank bank;
  auto deposit = bank.prepare("CALL deposit($1, $2, $3)");
  auto move = bank.prepare(kMove);
  auto linked = bank.prepare("CALL move_linked($1, $2, $3)");
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<Transaction*> batch;
  for (int i = 0; i < 900; ++i) {
    int64_t b = i % Bank::kBranches;
    auto call = i % 3 == 0   ? std::make_unique<Call>(deposit, std::initializer_list<int64_t>{b, 1, 0})
                : i % 3 == 1 ? std::make_unique<Call>(move, std::initializer_list<int64_t>{b, 1, 1, 1, 1})
                             : std::make_unique<Call>(linked, std::initializer_list<int64_t>{b, 1, 1});
    batch.push_back(call.get());
    calls.push_back(std::move(call));
  }
  bank.engine().submit(batch);
  bank.stop();
  for (auto& call : calls) {
    call->wait();
    EXPECT_TRUE(call->status.ok()) << call->status;
  }
}

TEST(EngineTest, LoadIsAllOrNothing) {
  Bank bank;
  storage::Digest before = bank.digest();
  std::vector<Datum> rows;
  for (int64_t value : {90, 1, 90, 2, 90, 1}) rows.push_back(int_datum(value));
  EXPECT_EQ(sqlstate_of(bank.engine().load("links", rows)), "23505");
  EXPECT_EQ(bank.digest(), before);
  EXPECT_EQ(sqlstate_of(bank.engine().load("nowhere", rows)), "42P01");
}

}  // namespace
}  // namespace scyper::primary
