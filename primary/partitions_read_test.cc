// What of partitioned tables a query reads, as its program says before it runs (query/partitions_read.h).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "query/queries.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

using query::Queries;
using query::ResultSet;

class PartitionsReadTest : public testing::Test {
 protected:
  PartitionsReadTest() : bank_(Bank::small_options()) {
    const auto run = [this](const char* sql) { ASSERT_EQ(bank_.run(sql), Status()) << sql; };
    run("CREATE TABLE things (id uuid PRIMARY KEY, n integer) PARTITION BY HASH (id)");
    run("INSERT INTO things SELECT md5(i::text)::uuid, i FROM generate_series(1, 20) i");
    run("CREATE VIEW of_three AS SELECT id, balance FROM accounts WHERE branch = 3");
    run("CREATE FUNCTION total(b integer) RETURNS bigint LANGUAGE sql STABLE "
        "AS 'SELECT sum(balance)::bigint FROM accounts WHERE branch = b'");
    run("CREATE FUNCTION total_down(b integer) RETURNS bigint LANGUAGE plpgsql STABLE AS "
        "'BEGIN IF b <= 0 THEN RETURN 0; END IF; RETURN total_down(b - 1) + total(b); END'");
    run("CREATE FUNCTION total_of_next(b integer) RETURNS bigint LANGUAGE sql STABLE "
        "AS 'SELECT sum(balance)::bigint FROM accounts WHERE branch = b + 1'");
    run("CREATE FUNCTION total_anywhere(b integer) RETURNS bigint LANGUAGE plpgsql STABLE AS "
        "'DECLARE s bigint; BEGIN b := b + 1; SELECT sum(balance) INTO s FROM accounts WHERE branch = b; RETURN s; "
        "END'");
  }

  PartitionSet of(std::initializer_list<int32_t> branches) const {
    PartitionSet set;
    for (const int32_t branch : branches) set.add(bank_.partition_of(branch));
    return set;
  }
  PartitionSet read_by(std::string_view sql, std::span<const Datum> arguments = {}) {
    const auto description = bank_.engine().queries()->describe(sql, 0, "");
    return bank_.engine().queries()->partitions_of(sql, arguments,
                                                   description.ok() ? &description->parameters : nullptr);
  }
  std::string answer_of(Queries* queries, std::string_view sql) {
    ResultSet result;
    const Status status = queries->execute(sql, {}, {}, &result, nullptr);
    if (!status.ok()) return sqlstate_of(status);
    std::string text;
    for (size_t r = 0; r < result.row_count(); ++r) {
      for (size_t c = 0; c < result.columns.size(); ++c) {
        const Datum& value = result.value(r, c);
        absl::StrAppend(&text, value.null ? "null" : absl::StrCat(value.lo), " ");
      }
    }
    return text;
  }

  Bank bank_;
};

struct Case {
  const char* sql;
  std::vector<int32_t> branches;  // that it reads
  bool reads_all = false;         // as far as can be known
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"SELECT sum(balance)::bigint FROM accounts WHERE branch = 3", {3}},
      {"SELECT sum(balance)::bigint FROM accounts WHERE branch = 3 AND id < 9 AND balance > 0", {3}},
      {"SELECT sum(a.balance)::bigint FROM accounts a JOIN links l USING (branch) WHERE l.branch = 5", {5}},
      {"SELECT sum(a.balance + r.rate)::bigint FROM accounts a, rates r WHERE a.branch = 7 AND r.id = a.id", {7}},
      {"SELECT count(*), max(balance) FROM (SELECT * FROM accounts WHERE branch = 3) x", {3}},
      {"SELECT sum(balance)::bigint FROM accounts WHERE branch = 3 UNION ALL SELECT sum(balance)::bigint FROM accounts "
       "WHERE branch = 4",
       {3, 4}},
      {"WITH a AS (SELECT * FROM accounts WHERE branch = 9) SELECT sum(balance)::bigint FROM a", {9}},
      {"SELECT sum(balance)::bigint FROM of_three", {3}},
      {"SELECT total(6)", {6}},
      {"SELECT count(*) FROM rates r WHERE EXISTS (SELECT 1 FROM accounts WHERE branch = 2 AND id = r.id)", {2}},
      {"SELECT sum(rate)::bigint FROM rates", {}},
      {"SELECT 1", {}},
      {"SELECT sum(balance)::bigint FROM accounts", {}, true},
      {"SELECT sum(balance)::bigint FROM accounts WHERE branch = 3 OR branch = 4", {}, true},
      {"SELECT sum(balance)::bigint FROM accounts WHERE branch > 14", {}, true},
      {"SELECT sum(balance)::bigint FROM accounts WHERE branch = (SELECT min(id) FROM rates)", {}, true},
      {"SELECT sum(a.balance)::bigint FROM rates r JOIN accounts a ON a.branch = r.id", {}, true},
      {"SELECT sum(a.balance)::bigint FROM links l JOIN accounts a ON a.branch = l.target WHERE l.branch = 1",
       {},
       true},
      {"SELECT total_of_next(6)", {}, true},
      {"SELECT total_anywhere(6)", {}, true},
      {"SELECT sum(total(id))::bigint FROM rates", {}, true},
      {"SELECT total_down(3)", {}, true},
      {"SELECT n FROM things WHERE id = 'c4ca4238-a0b9-2382-0dcc-509a6f75849b'", {}, true},
      {"SELECT nothing FROM nowhere", {}, true},
  };
  return all;
}

TEST_F(PartitionsReadTest, AsItsConditionsSay) {
  for (const Case& each : cases()) {
    PartitionSet expected = each.reads_all ? PartitionSet::all() : PartitionSet();
    for (const int32_t branch : each.branches) expected.add(bank_.partition_of(branch));
    const PartitionSet read = read_by(each.sql);
    if (each.reads_all) {
      EXPECT_TRUE(read.is_all()) << each.sql << ": " << read.to_string();
    } else {
      EXPECT_EQ(read, expected) << each.sql << ": " << read.to_string() << ", not " << expected.to_string();
    }
  }
}

TEST_F(PartitionsReadTest, AsItsArgumentsSay) {
  const std::string_view kOne = "SELECT sum(balance)::bigint FROM accounts WHERE branch = $1";
  for (const int32_t branch : {0, 3, 15}) {
    const Datum argument = int_datum(branch);
    EXPECT_EQ(read_by(kOne, {&argument, 1}), of({branch})) << branch;
  }
  const std::vector<SqlType> other_types = {make_type(TypeId::kInt8)};
  const Datum argument_of_another = int_datum(3);
  EXPECT_TRUE(bank_.engine().queries()->partitions_of(kOne, {&argument_of_another, 1}, &other_types).is_all());
  const Datum none = null_datum();
  EXPECT_EQ(read_by(kOne, {&none, 1}), PartitionSet());
  EXPECT_TRUE(read_by(kOne).is_all());  // too few
  Datum elements[] = {int_datum(1), null_datum(), int_datum(8)};
  ArrayValue array;
  array.size = 3;
  array.elements = elements;
  const Datum many = Datum{reinterpret_cast<int64_t>(&array), 0, 0, 0, {}};
  const PartitionSet read =
      read_by("SELECT sum(balance)::bigint FROM accounts WHERE branch = ANY ($1::integer[])", {&many, 1});
  EXPECT_TRUE(read.covers(of({1, 8}))) << read.to_string();
}

// Whatever other partitions hold makes no difference to an answer.
TEST_F(PartitionsReadTest, OthersMakeNoDifference) {
  Queries* queries = bank_.engine().queries();
  for (const Case& each : cases()) {
    const PartitionSet read = read_by(each.sql);
    const std::string before = answer_of(queries, each.sql);
    int changed = 0;
    for (int32_t branch = 0; branch < Bank::kBranches; ++branch) {
      if (read.has(bank_.partition_of(branch))) continue;
      ASSERT_TRUE(bank_.run(absl::StrCat("UPDATE accounts SET balance = balance + 1 WHERE branch = ", branch)).ok());
      ++changed;
    }
    EXPECT_EQ(answer_of(queries, each.sql), before) << each.sql;
    if (!each.reads_all) EXPECT_GT(changed, 0) << each.sql;
  }
}

// A node that has some partitions refuses queries that read others.
TEST(PartitionsHeld, BoundWhatANodeAnswers) {
  EngineOptions options = Bank::small_options();
  options.queries.partitions = PartitionSet();
  Bank bank_of_none(options);
  ResultSet result;
  Queries* queries = bank_of_none.engine().queries();
  EXPECT_TRUE(queries->execute("SELECT sum(rate)::bigint FROM rates", {}, {}, &result, nullptr).ok());
  for (const Case& each : cases()) {
    if (each.branches.empty() && !each.reads_all) continue;
    if (std::string_view(each.sql).find("accounts") == std::string_view::npos) continue;
    if (std::string_view(each.sql).find("total") != std::string_view::npos) continue;
    EXPECT_EQ(sqlstate_of(queries->execute(each.sql, {}, {}, &result, nullptr)), "55000") << each.sql;
  }
}

}  // namespace
}  // namespace scyper::primary
