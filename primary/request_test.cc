#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/simulated_disk.h"
#include "query/role.h"
#include "query/value_text.h"
#include "testing/restarts.h"

namespace scyper::primary {
namespace {

std::vector<std::string> texts_of(const query::ResultSet& result) {
  std::vector<std::string> texts;
  for (size_t row = 0; row < result.row_count(); ++row) {
    for (size_t i = 0; i < result.columns.size(); ++i) {
      texts.emplace_back();
      query::append_value(&texts.back(), result.columns[i].type, result.value(row, i));
    }
  }
  return texts;
}

TEST(DurabilityTest, RequestsAreNotRepeated) {
  for (bool with_archive : {false, true}) {
    SimulatedDisk disk;
    {
      Bank bank(log_options(&disk, with_archive ? RedoMode::kPhysical : RedoMode::kLogical));
      ASSERT_TRUE(send(&bank.engine(), 9, 1, "UPDATE accounts SET balance = balance + 1 WHERE branch = 1").ok());
      ASSERT_TRUE(send(&bank.engine(), 9, 2, "CALL move(1, 1, 2, 2, 5)").ok());
      ASSERT_FALSE(send(&bank.engine(), 9, 3, "CALL move_and_fail(1, 1, 2, 5)").ok());
      ASSERT_TRUE(send(&bank.engine(), 9, 3, "CALL deposit(3, 3, 3)").ok());  // a failed one may come again
      if (with_archive) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
      ASSERT_TRUE(send(&bank.engine(), 9, 4, "CALL deposit(3, 3, 3)").ok());
    }
    auto engine = open_or_null(log_options(&disk));
    ASSERT_NE(engine, nullptr);
    const storage::Digest before = digest_of(engine.get());
    Call* answered = nullptr;
    ASSERT_TRUE(send(engine.get(), 9, 1, "UPDATE accounts SET balance = balance + 1 WHERE branch = 1", &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(answered->result.affected_rows, 32u);
    for (uint64_t request : {2u, 3u, 4u}) {
      const char* sql = request == 2 ? "CALL move(1, 1, 2, 2, 5)" : "CALL deposit(3, 3, 3)";
      ASSERT_TRUE(send(engine.get(), 9, request, sql, &answered).ok());
      EXPECT_TRUE(answered->was_repeated);
      EXPECT_EQ(sqlstate_of(send(engine.get(), 9, request, "CALL deposit(5, 5, 5)")), "22023");
    }
    EXPECT_EQ(digest_of(engine.get()), before);
    ASSERT_TRUE(send(engine.get(), 10, 1, "CALL deposit(5, 5, 5)", &answered).ok());  // another client's
    EXPECT_FALSE(answered->was_repeated);
    EXPECT_NE(digest_of(engine.get()), before);
  }
}

// Each COMMIT within a procedure is a record of its own: none of them may happen twice.
TEST(RequestTest, ProceduresWithCommitAreNotRepeated) {
  for (RedoMode redo : {RedoMode::kNone, RedoMode::kLogical, RedoMode::kPhysical}) {
    for (bool with_archive : {false, true}) {
      SimulatedDisk disk;
      storage::Digest before;
      Call* answered = nullptr;
      {
        EngineOptions options = log_options(&disk, redo);
        if (redo == RedoMode::kNone) options.log = {};
        Bank bank(options);
        ASSERT_TRUE(bank.run("CREATE PROCEDURE in_parts(fails boolean) LANGUAGE plpgsql AS $$ BEGIN "
                             "UPDATE accounts SET balance = balance + 1 WHERE branch = 1; COMMIT; "
                             "IF fails THEN RAISE division_by_zero; END IF; "
                             "UPDATE accounts SET balance = balance + 1 WHERE branch = 2; COMMIT; END $$")
                        .ok());
        ASSERT_TRUE(send(&bank.engine(), 9, 1, "CALL in_parts(false)").ok());
        ASSERT_EQ(sqlstate_of(send(&bank.engine(), 9, 2, "CALL in_parts(true)")), "22012");
        before = digest_of(&bank.engine());
        ASSERT_TRUE(send(&bank.engine(), 9, 1, "CALL in_parts(false)", &answered).ok());
        EXPECT_TRUE(answered->was_repeated);
        EXPECT_EQ(sqlstate_of(send(&bank.engine(), 9, 2, "CALL in_parts(true)")), "40003");
        EXPECT_EQ(digest_of(&bank.engine()), before);
        if (redo == RedoMode::kNone) continue;
        if (with_archive) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
      }
      auto engine = open_or_null(log_options(&disk));
      ASSERT_NE(engine, nullptr);
      ASSERT_TRUE(send(engine.get(), 9, 1, "CALL in_parts(false)", &answered).ok());
      EXPECT_TRUE(answered->was_repeated);
      EXPECT_EQ(sqlstate_of(send(engine.get(), 9, 2, "CALL in_parts(true)")), "40003");
      EXPECT_EQ(digest_of(engine.get()), before);
    }
  }
}

std::string of_role(const char* role, const std::string& sql) {
  query::SessionRoles roles;
  roles.session = roles.current = role;
  return query::with_roles(roles, sql);
}

// Who knows a request's id but has another role, statement or arguments gets no answer, before a restart and after.
TEST(RequestTest, OthersDoNotGetTheAnswer) {
  const std::string deposit = "UPDATE accounts SET balance = balance + 1 WHERE branch = 1 RETURNING balance";
  for (bool with_archive : {false, true}) {
    SimulatedDisk disk;
    const EngineOptions options = log_options(&disk, RedoMode::kLogical);
    auto check = [&](PartitionEngine* engine) {
      Call* answered = nullptr;
      ASSERT_TRUE(send(engine, 9, 1, of_role("ann", deposit), &answered).ok());
      EXPECT_TRUE(answered->was_repeated);
      EXPECT_EQ(answered->result.row_count(), 32u);
      const storage::Digest before = digest_of(engine);
      EXPECT_EQ(sqlstate_of(send(engine, 9, 1, of_role("eve", deposit))), "42501");
      EXPECT_EQ(sqlstate_of(send(engine, 9, 1, of_role("ann", deposit + " + 1"), &answered)), "22023");
      EXPECT_EQ(answered->result.row_count(), 0u);
      EXPECT_EQ(digest_of(engine), before);
      ASSERT_TRUE(send(engine, 9, 1, of_role("bob", deposit), &answered).ok());  // a client of his
      EXPECT_TRUE(answered->was_repeated);
      EXPECT_EQ(digest_of(engine), before);
    };
    {
      Bank bank(options);
      for (const char* sql :
           {"CREATE ROLE ann", "CREATE ROLE bob", "CREATE ROLE eve", "GRANT SELECT, UPDATE ON accounts TO ann, bob"})
        ASSERT_TRUE(bank.run(sql).ok()) << sql;
      Call* answered = nullptr;
      for (const char* role : {"ann", "bob"}) {
        ASSERT_TRUE(send(&bank.engine(), 9, 1, of_role(role, deposit), &answered).ok());
        EXPECT_FALSE(answered->was_repeated);
      }
      if (with_archive) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
      check(&bank.engine());
    }
    auto engine = open_or_null(options);
    ASSERT_NE(engine, nullptr);
    check(engine.get());
  }
}

// The first run of a text has its constants in it, later ones have them as arguments: one request all the same.
TEST(RequestTest, TextsOfConstantsAreToldApart) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk));
  const auto run = [&](uint64_t request, const std::string& sql) {
    StatementLimits limits;
    limits.client_id = 9;
    limits.request_id = request;
    return bank.engine().execute_script(sql, nullptr, limits);
  };
  const std::string update = "UPDATE accounts SET balance = balance + 1 WHERE branch = 1 AND id = ";
  const int64_t before = number(&bank.engine(), "SELECT sum(balance)::bigint FROM accounts");
  for (int round = 0; round < 3; ++round) {
    for (uint64_t request = 1; request <= 4; ++request)
      ASSERT_TRUE(run(request, update + std::to_string(request) + (round == 1 ? ";" : "")).ok()) << request;
  }
  EXPECT_EQ(number(&bank.engine(), "SELECT sum(balance)::bigint FROM accounts"), before + 4);
  EXPECT_EQ(sqlstate_of(run(4, update + "5")), "22023");
  EXPECT_EQ(sqlstate_of(run(5, update + "5; " + update + "6")), "08P01");
}

// Such an id would make every client look forgotten once it is forgotten itself.
TEST(RequestTest, ClientIdsFarAheadAreRefused) {
  Bank bank([] {
    EngineOptions options = log_options(nullptr);
    options.log = {};
    return options;
  }());
  for (uint64_t client : {~uint64_t{0}, uint64_t{1} << 63}) {
    EXPECT_EQ(sqlstate_of(send(&bank.engine(), client, 1, "CALL deposit(3, 3, 3)")), "22023");
  }
  const auto now_us = static_cast<uint64_t>(RealClock().now_us());
  Call* answered = nullptr;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(send(&bank.engine(), now_us << 12, ~uint64_t{0}, "CALL deposit(3, 3, 3)", &answered).ok());
    EXPECT_EQ(answered->was_repeated, round == 1);
  }
}

// Also a node without a data directory remembers, as long as it lives.
TEST(RequestTest, NodesWithoutALogRememberToo) {
  for (RedoMode redo : {RedoMode::kNone, RedoMode::kLogical, RedoMode::kPhysical}) {
    EngineOptions options = log_options(nullptr, redo);
    options.log = {};
    Bank bank(options);
    Call* answered = nullptr;
    ASSERT_TRUE(send(&bank.engine(), 9, 1, "CALL deposit(3, 3, 3)", &answered).ok());
    EXPECT_FALSE(answered->was_repeated);
    const storage::Digest before = digest_of(&bank.engine());
    ASSERT_TRUE(send(&bank.engine(), 9, 1, "CALL deposit(3, 3, 3)", &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(digest_of(&bank.engine()), before);
    ASSERT_TRUE(send(&bank.engine(), 9, 2, "CALL deposit(3, 3, 3)", &answered).ok());
    EXPECT_FALSE(answered->was_repeated);
  }
}

TEST(RequestTest, ARepeatedOneGetsItsRowsAgain) {
  const char* const kUpdate =
      "UPDATE accounts SET balance = balance + 7 WHERE branch = 6 AND id < 3 "
      "RETURNING id, balance, balance * 0.25, 'text ' || id, NULL::date, CASE WHEN id > 0 THEN ARRAY[id, NULL] END";
  const char* const kLarge = "UPDATE accounts SET balance = 1 WHERE branch = 5 RETURNING repeat('large', 1000)";
  for (RedoMode redo : {RedoMode::kLogical, RedoMode::kPhysical}) {
    SimulatedDisk disk;
    std::vector<std::string> first;
    Call* answered = nullptr;
    {
      Bank bank(log_options(&disk, redo));
      ASSERT_TRUE(send(&bank.engine(), 9, 1, kUpdate, &answered).ok());
      first = texts_of(answered->result);
      ASSERT_GE(first.size(), 6u);
      ASSERT_TRUE(send(&bank.engine(), 9, 1, kUpdate, &answered).ok());
      EXPECT_TRUE(answered->was_repeated);
      EXPECT_EQ(texts_of(answered->result), first);
      ASSERT_TRUE(send(&bank.engine(), 9, 2, kLarge, &answered).ok());
    }
    auto engine = open_or_null(log_options(&disk, redo));
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(send(engine.get(), 9, 1, kUpdate, &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(texts_of(answered->result), first);
    EXPECT_EQ(answered->result.command_tag, absl::StrCat("UPDATE ", answered->result.row_count()));
    ASSERT_TRUE(send(engine.get(), 9, 2, kLarge, &answered).ok());
    EXPECT_TRUE(answered->was_repeated);
    EXPECT_EQ(answered->result.row_count(), 0u);
    EXPECT_EQ(answered->result.notices.size(), 1u);
  }
}

TEST(RequestTest, ADuplicateOfARunningOneWaits) {
  SimulatedDisk disk;
  Bank bank(log_options(&disk));
  const int64_t before = number(&bank.engine(), "SELECT sum(balance)::bigint FROM accounts");
  for (const char* sql : {"CALL deposit(3, 3, 3)", "UPDATE accounts SET balance = balance + 1 WHERE id = 1"}) {
    auto statement = bank.engine().prepare(sql);
    ASSERT_TRUE(statement.ok());
    std::vector<std::unique_ptr<Call>> calls;
    for (uint64_t i = 0; i < 60; ++i) {
      calls.push_back(std::make_unique<Call>(*statement, std::initializer_list<int64_t>{}));
      calls.back()->client_id = sql[0];
      calls.back()->request_id = i / 6 + 1;
    }
    for (auto& call : calls) call->start(&bank.engine());
    int repeated = 0;
    for (auto& call : calls) {
      call->wait();
      EXPECT_TRUE(call->status.ok()) << call->status;
      repeated += call->was_repeated ? 1 : 0;
    }
    EXPECT_EQ(repeated, 50);
  }
  const int64_t branches = number(&bank.engine(), "SELECT count(*) FROM accounts WHERE id = 1");
  EXPECT_EQ(number(&bank.engine(), "SELECT sum(balance)::bigint FROM accounts"), before + 30 + 10 * branches);
}

TEST(RequestTest, OneOutsideOfTheWindowIsRefused) {
  SimulatedDisk disk;
  EngineOptions options = log_options(&disk);
  options.log.request_window = 10;
  auto check = [](PartitionEngine* engine) {
    const storage::Digest before = digest_of(engine);
    Call* answered = nullptr;
    for (uint64_t request = 1; request <= 30; ++request) {
      const Status status = send(engine, 9, request, "CALL deposit(3, 3, 3)", &answered);
      EXPECT_EQ(sqlstate_of(status), request <= 20 ? "40003" : "00000") << request;
    }
    EXPECT_EQ(digest_of(engine), before);
  };
  {
    Bank bank(options);
    for (uint64_t request = 1; request <= 30; ++request) {
      ASSERT_TRUE(send(&bank.engine(), 9, request, "CALL deposit(3, 3, 3)").ok());
      if (request == 17) ASSERT_TRUE(bank.engine().write_archive("", nullptr).ok());
    }
    check(&bank.engine());
  }
  Status status;
  auto engine = open_or_null(options, &status);
  ASSERT_NE(engine, nullptr) << status;
  check(engine.get());
}

TEST(RequestTest, LongNumbersTravelWhole) {
  const std::string digits = "-123456789012345678901234567890123456789012345678901234567890.75";
  const char* const kUpdate =
      "UPDATE accounts SET balance = 8 WHERE branch = 6 AND id < 3 RETURNING (id + 1) * 1e50, ARRAY['NaN', 1e-60]";
  SimulatedDisk disk;
  storage::Digest before;
  std::vector<std::string> rows;
  Call* answered = nullptr;
  {
    Bank bank(log_options(&disk, RedoMode::kLogical));
    ASSERT_TRUE(bank.run("CREATE PROCEDURE note(b integer, n numeric, a numeric[]) LANGUAGE plpgsql AS $$ BEGIN "
                         "UPDATE accounts SET balance = length(n::text) + length(a::text) WHERE branch = b; END $$")
                    .ok());
    query::ValueArena arena;
    std::vector<Datum> arguments = {int_datum(1), null_datum(), null_datum()};
    const SqlType numeric = make_type(TypeId::kNumeric);
    ASSERT_TRUE(query::parse_value(numeric, digits, &arena, &arguments[1]).ok());
    ASSERT_TRUE(query::parse_value(make_array(numeric), "{1e45,Infinity,NULL,1}", &arena, &arguments[2]).ok());
    ASSERT_TRUE(bank.engine().execute("CALL note($1, $2, $3)", arguments, nullptr).ok());
    query::ResultSet result;
    ASSERT_TRUE(bank.engine().execute("SELECT min(balance)::bigint FROM accounts WHERE branch = 1", {}, &result).ok());
    ASSERT_EQ(texts_of(result), std::vector<std::string>{std::to_string(digits.size() + 46 + 18)});
    ASSERT_TRUE(send(&bank.engine(), 9, 1, kUpdate, &answered).ok());
    rows = texts_of(answered->result);
    before = digest_of(&bank.engine());
  }
  auto engine = open_or_null(log_options(&disk, RedoMode::kLogical));
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(digest_of(engine.get()), before);
  ASSERT_TRUE(send(engine.get(), 9, 1, kUpdate, &answered).ok());
  EXPECT_TRUE(answered->was_repeated);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0], "100000000000000000000000000000000000000000000000000");
  EXPECT_EQ(texts_of(answered->result), rows);
}

TEST(RequestTest, IntervalsTravelWhole) {
  SimulatedDisk disk;
  storage::Digest before;
  {
    Bank bank(log_options(&disk, RedoMode::kLogical));
    ASSERT_TRUE(bank.run("CREATE PROCEDURE later(b integer, d interval) LANGUAGE plpgsql AS $$ BEGIN "
                         "UPDATE stamps SET at = at + d WHERE branch = b; END $$")
                    .ok());
    ASSERT_TRUE(bank.run("CALL stamp(1)").ok());
    Datum interval = int_datum(-1'000'000);
    interval.hi = (int64_t{3} << 32) | 5;  // 3 months, 5 days
    const std::vector<Datum> arguments = {int_datum(1), interval};
    ASSERT_TRUE(bank.engine().execute("CALL later($1, $2)", arguments, nullptr).ok());
    before = digest_of(&bank.engine());
  }
  auto engine = open_or_null(log_options(&disk, RedoMode::kLogical));
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(digest_of(engine.get()), before);
}

}  // namespace
}  // namespace scyper::primary
