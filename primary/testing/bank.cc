#include "testing/bank.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/table.h"
#include "testing/compacting.h"

namespace scyper::primary {

namespace {

constexpr std::string_view kSchema = R"sql(
CREATE TABLE accounts (branch integer NOT NULL, id integer NOT NULL, balance bigint NOT NULL, PRIMARY KEY (branch, id))
  PARTITION BY HASH (branch);
CREATE TABLE links (branch integer PRIMARY KEY, target integer NOT NULL) PARTITION BY HASH (branch);
CREATE TABLE rates (id integer PRIMARY KEY, rate integer NOT NULL);
CREATE TABLE stamps (branch integer NOT NULL, at timestamp NOT NULL) PARTITION BY HASH (branch);
CREATE PROCEDURE nothing(b integer) LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE PROCEDURE deposit(b integer, i integer, amount bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET balance = balance + amount WHERE branch = b AND id = i;
END $$;
CREATE PROCEDURE move(b1 integer, i1 integer, b2 integer, i2 integer, amount bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET balance = balance - amount WHERE branch = b1 AND id = i1;
  UPDATE accounts SET balance = balance + amount WHERE branch = b2 AND id = i2;
END $$;
CREATE PROCEDURE move_linked(b integer, i integer, amount bigint) LANGUAGE plpgsql AS $$
DECLARE
  t integer;
BEGIN
  UPDATE accounts SET balance = balance - amount WHERE branch = b AND id = i;
  SELECT target INTO t FROM links WHERE branch = b;
  UPDATE accounts SET balance = balance + amount WHERE branch = t AND id = i;
END $$;
CREATE PROCEDURE move_and_fail(b integer, i1 integer, i2 integer, amount bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET balance = balance - amount WHERE branch = b AND id = i1;
  INSERT INTO accounts VALUES (b, 1000000 + i2, amount);
  DELETE FROM accounts WHERE branch = b AND id = i2;
  RAISE EXCEPTION 'no % today', amount USING ERRCODE = 'P0099', HINT = 'tomorrow';
END $$;
CREATE PROCEDURE churn(b integer) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 0..31 LOOP
    UPDATE accounts SET balance = balance - 100 WHERE branch = b AND id = i;
  END LOOP;
  FOR i IN 0..31 LOOP
    UPDATE accounts SET balance = balance + 100 WHERE branch = b AND id = i;
  END LOOP;
END $$;
CREATE PROCEDURE set_rate(i integer, r integer) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE rates SET rate = r WHERE id = i;
END $$;
CREATE PROCEDURE loop_forever(b integer, i integer) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET balance = balance - 1 WHERE branch = b AND id = i;
  LOOP
    UPDATE accounts SET balance = balance WHERE branch = b AND id = i;
  END LOOP;
END $$;
CREATE PROCEDURE stamp(b integer) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stamps VALUES (b, now()::timestamp);
END $$;
)sql";

}  // namespace

EngineOptions Bank::small_options() {
  EngineOptions options;
  options.partitions = 4;
  options.workers = 2;
  options.memory_bytes = size_t{512} << 20;
  options.page_mode = storage::PageMode::kSmall;
  options.shared_rows_min = 0;  // of any size
  options.execution = ExecutionMode::kInterpreted;
  if (const char* window_us = std::getenv("SCYPER_TEST_COMPACTION"); window_us != nullptr) {
    options.compaction.mode = replay::CompactionMode::kForced;
    options.compaction.frozen_bytes_max = size_t{1} << 30;
    options.compaction.window_us = std::max<uint64_t>(1, std::strtoull(window_us, nullptr, 10));
    if (std::getenv("SCYPER_TEST_TIERING") != nullptr) options = tiered(std::move(options));
  }
  return options;
}

Bank::Bank(EngineOptions options) : options_(std::move(options)) {
  auto engine = PartitionEngine::create(options_);
  CHECK(engine.ok());
  engine_ = *std::move(engine);
  Status made = engine_->execute_script(kSchema, nullptr);
  if (!made.ok()) fprintf(stderr, "%s\n", std::string(made.message()).c_str());
  CHECK(made.ok());
  std::vector<Datum> accounts, links, rates;
  for (int branch = 0; branch < kBranches; ++branch) {
    for (int id = 0; id < kAccounts; ++id) {
      for (int64_t value : {branch, id, 1000}) accounts.push_back(int_datum(value));
    }
    links.push_back(int_datum(branch));
    links.push_back(int_datum(branch_elsewhere(branch)));
    rates.push_back(int_datum(branch));
    rates.push_back(int_datum(100));
  }
  CHECK(engine_->load("accounts", accounts).ok());
  CHECK(engine_->load("links", links).ok());
  CHECK(engine_->load("rates", rates).ok());
}

uint32_t Bank::partition_of(int32_t branch) const { return storage::partition_of(branch, options_.partitions); }

int32_t Bank::branch_elsewhere(int32_t branch) const {
  for (int32_t other = 0; other < kBranches; ++other) {
    if (partition_of(other) != partition_of(branch)) return other;
  }
  return branch == 0 ? 1 : 0;
}

int32_t Bank::branch_beside(int32_t branch) const {
  for (int32_t other = 0; other < kBranches; ++other) {
    if (other != branch && partition_of(other) == partition_of(branch)) return other;
  }
  return branch;
}

std::shared_ptr<const Statement> Bank::prepare(std::string_view sql) {
  auto statement = engine_->prepare(sql);
  if (!statement.ok()) fprintf(stderr, "%s\n", std::string(statement.status().message()).c_str());
  CHECK(statement.ok());
  return *statement;
}

Status Bank::run(std::string_view sql, std::initializer_list<int64_t> arguments) {
  std::vector<Datum> values;
  for (int64_t value : arguments) values.push_back(int_datum(value));
  return engine_->execute(sql, values, nullptr);
}

int64_t Bank::value_of(std::string_view sql) {
  query::ResultSet result;
  Status status = engine_->execute(sql, {}, &result);
  if (!status.ok()) fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  CHECK(status.ok() && result.row_count() == 1);
  return result.value(0, 0).lo;
}

std::string Bank::tag_of(std::string_view sql) {
  query::ResultSet result;
  Status status = engine_->execute(sql, {}, &result);
  return status.ok() ? result.command_tag : sqlstate_of(status);
}

storage::Digest Bank::digest() {
  storage::Digest sum;
  for_each_table(engine_.get(), [&](const std::string&, const storage::Table& table) {
    const storage::Digest one = storage::table_digest(table);
    sum.add(one.lo, one.hi);
  });
  return sum;
}

void Bank::check_tables() {
  for_each_table(engine_.get(), [](const std::string&, const storage::Table& table) { storage::check_table(table); });
}

void for_each_table(PartitionEngine* engine,
                    const std::function<void(const std::string& name, const storage::Table& table)>& visit) {
  const Status status = engine->run_exclusively([&] {
    const auto catalog = engine->database().catalog();
    for (const auto& [name, table] : catalog->tables) visit(name, *table);
    return Status();
  });
  CHECK(status.ok());
}

Call::Call(std::shared_ptr<const Statement> called, std::initializer_list<int64_t> values) {
  statement = std::move(called);
  for (int64_t value : values) arguments.push_back(int_datum(value));
  done = [](Transaction* transaction) { static_cast<Call*>(transaction)->completion->signal(); };
}

void Call::start(Engine* engine) {
  Transaction* self = this;
  engine->submit({&self, 1});
}

}  // namespace scyper::primary
