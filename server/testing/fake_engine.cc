#include "testing/fake_engine.h"

#include <chrono>
#include <utility>

namespace scyper::server {

struct FakeEngine::FakeStatement final : primary::Statement {
  const std::vector<SqlType>& parameter_types() const override { return parameters; }
  const std::vector<query::ResultColumn>& columns() const override { return result_columns; }
  std::string_view text() const override { return sql; }

  std::string sql;
  std::vector<SqlType> parameters;
  std::vector<query::ResultColumn> result_columns;
  Body body;
};

namespace {

constexpr size_t kSqlstateBytes = 5;

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

Status add_numbers(const std::vector<Datum>& arguments, query::ResultSet* result) {
  int64_t sum = arguments[0].lo + arguments[1].lo;
  if (sum != static_cast<int32_t>(sum)) return sql_error("22003", "integer out of range");
  result->append(make_type(TypeId::kInt4), int_datum(sum));
  return {};
}

Status fail_with(const std::vector<Datum>& arguments, query::ResultSet*) {
  std::string_view state(arguments[0].data(), arguments[0].size());
  return with_hint(with_detail(sql_error(state, "failed as asked", 3), "the detail"), "the hint");
}

}  // namespace

FakeEngine::FakeEngine() {
  SqlType int4 = make_type(TypeId::kInt4), int8 = make_type(TypeId::kInt8), text = make_type(TypeId::kText);
  add("CALL add($1, $2)", {int4, int4}, {{"sum", int4}}, add_numbers);
  std::vector<SqlType> all = {int8,
                              text,
                              make_type(TypeId::kNumeric),
                              make_type(TypeId::kFloat8),
                              make_type(TypeId::kTimestamp),
                              make_array(text)};
  std::vector<query::ResultColumn> columns;
  for (size_t i = 0; i < all.size(); ++i) columns.push_back({"r" + std::to_string(i + 1), all[i]});
  add("CALL echo($1, $2, $3, $4, $5, $6)", all, columns, [all](const auto& arguments, query::ResultSet* result) {
    for (size_t i = 0; i < all.size(); ++i) result->append(all[i], arguments[i]);
    return Status();
  });
  add("CALL fail($1)", {text}, {}, fail_with);
  add("CALL fail_by_turns($1)", {text}, {}, [this](const std::vector<Datum>& arguments, query::ResultSet*) {
    const std::string_view states(arguments[0].data(), arguments[0].size());
    size_t& at = turns_.try_emplace(std::string(states), 0).first->second;
    if (at >= states.size()) return Status();
    const std::string_view state = states.substr(at, kSqlstateBytes);
    at += kSqlstateBytes + 1;
    return sql_error(state, "failed in its turn");
  });
  add("CALL slow()", {}, {}, [](const auto&, query::ResultSet*) { return Status(); });
  add("SELECT 1", {}, {{"?column?", int4}}, [](const auto&, query::ResultSet* result) {
    result->append(make_type(TypeId::kInt4), int_datum(1));
    return Status();
  });
  add("SELECT * FROM numbers", {}, {{"n", int4}, {"square", int8}, {"word", text}},
      [this](const auto&, query::ResultSet* result) {
        for (size_t i = 0; i < numbers; ++i) {
          auto n = static_cast<int64_t>(i);
          std::string word = "word " + std::to_string(i);
          result->append(make_type(TypeId::kInt4), int_datum(n));
          result->append(make_type(TypeId::kInt8), int_datum(n * n));
          result->append(make_type(TypeId::kText), string_datum(word.data(), word.size()));
        }
        result->command_tag = "SELECT " + std::to_string(numbers);
        return Status();
      });
  worker_ = std::thread([this] { work(); });
}

FakeEngine::~FakeEngine() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  worker_.join();
}

void FakeEngine::add(std::string sql, std::vector<SqlType> parameters, std::vector<query::ResultColumn> columns,
                     Body body) {
  auto statement = std::make_shared<FakeStatement>();
  statement->sql = sql;
  statement->parameters = std::move(parameters);
  statement->result_columns = std::move(columns);
  statement->body = std::move(body);
  statements_[std::move(sql)] = std::move(statement);
}

StatusOr<std::shared_ptr<const primary::Statement>> FakeEngine::prepare(std::string_view sql) {
  ++prepares_;
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    return sql_error("42601", "syntax error at or near \"" + std::string(sql.substr(0, sql.find(' '))) + "\"", 1);
  }
  return std::shared_ptr<const primary::Statement>(found->second);
}

void FakeEngine::submit(std::span<primary::Transaction* const> transactions) {
  for (primary::Transaction* transaction : transactions) {
    {
      absl::MutexLock lock(&mutex_);
      if (queue_.size() < queue_capacity) {
        queue_.push_back(transaction);
        continue;
      }
    }
    counters_.refused++;
    transaction->status = sql_error("53300", "the queue is full");
    transaction->done(transaction);
  }
}

void FakeEngine::work() {
  while (true) {
    primary::Transaction* transaction;
    {
      absl::MutexLock lock(&mutex_);
      auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || (!held_ && !queue_.empty()) || (slow_open_ && !slow_.empty());
      };
      mutex_.Await(absl::Condition(&has_work));
      if (slow_open_ && !slow_.empty()) {
        transaction = slow_.back();
        slow_.pop_back();
      } else if (!queue_.empty()) {
        transaction = queue_.front();
        queue_.pop_front();
        if (!slow_open_ && transaction->statement->text() == "CALL slow()") {
          slow_.push_back(transaction);
          continue;
        }
      } else {
        return;
      }
    }
    run(transaction);
  }
}

void FakeEngine::run(primary::Transaction* transaction) {
  auto& statement = static_cast<const FakeStatement&>(*transaction->statement);
  if (transaction->deadline_ns != 0 && now_ns() > transaction->deadline_ns) {
    transaction->status = sql_error("57014", "canceling statement due to statement timeout");
  } else {
    transaction->result.columns = statement.result_columns;
    transaction->status = statement.body(transaction->arguments, &transaction->result);
  }
  (transaction->status.ok() ? counters_.committed : counters_.rolled_back)++;
  transaction->done(transaction);
}

Status FakeEngine::execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                           const primary::StatementLimits&) {
  SCYPER_ASSIGN_OR_RETURN(auto statement, prepare(sql));
  result->columns = statement->columns();
  result->command_tag = "CALL";
  return static_cast<const FakeStatement&>(*statement).body({parameters.begin(), parameters.end()}, result);
}

Status FakeEngine::execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each,
                                  const primary::StatementLimits& limits) {
  script_requests.push_back(limits.request_id);
  if (!script_errors.empty()) {
    const std::string state = script_errors.front();
    script_errors.pop_front();
    if (!state.empty()) return sql_error(state, "failed in its turn");
  }
  while (!sql.empty()) {
    size_t end = std::min(sql.find(';'), sql.size());
    std::string_view one = sql.substr(0, end);
    sql.remove_prefix(std::min(end + 1, sql.size()));
    query::ResultSet result;
    SCYPER_RETURN_IF_ERROR(execute(one, {}, &result, limits));
    each(result);
  }
  return {};
}

StatusOr<std::unique_ptr<primary::CopyIn>> FakeEngine::open_copy(std::string_view) {
  absl::MutexLock lock(&mutex_);
  if (copy_errors.empty()) return sql_error("0A000", "no COPY here");
  Status status = sql_error(copy_errors.front(), "failed in its turn");
  copy_errors.pop_front();
  return status;
}

Status FakeEngine::load(std::string_view, std::span<const Datum> values) {
  for (size_t i = 0; i < values.size(); i += 2) {
    if (values[i].lo < 0) return sql_error("23514", "negative");
  }
  absl::MutexLock lock(&mutex_);
  loaded_.insert(loaded_.end(), values.begin(), values.end());
  return {};
}

StatusOr<std::vector<query::ResultColumn>> FakeEngine::describe(std::string_view table) {
  if (table != "pairs") return sql_error("42P01", "relation \"" + std::string(table) + "\" does not exist");
  return tables()[0].columns;
}

std::vector<primary::Engine::TableInfo> FakeEngine::tables() {
  TableInfo pairs;
  pairs.name = "pairs";
  pairs.partitioning = "hash (a)";
  pairs.layout = "column";
  pairs.rows = loaded().size() / 2;
  pairs.columns = {{"a", make_type(TypeId::kInt4)}, {"b", make_string(TypeId::kVarchar, 10)}};
  pairs.indexes = {"pairs_pkey primary key (a)"};
  pairs.temperature.hot = {1, 100};
  pairs.temperature.frozen = {2, 32000};
  pairs.temperature.hot_bytes = 1 << 20;
  pairs.temperature.frozen_bytes = 70000;
  pairs.temperature.thawed_bytes = 560000;
  pairs.temperature.invalid_tuples = 768;
  pairs.temperature.invalid_ranges = 3;
  pairs.temperature.attributes = {{"a", 10000, 131072, 0, 0}, {"b", 60000, 428928, 4096, 17}};
  return {pairs};
}

std::vector<primary::Engine::RoutineInfo> FakeEngine::routines() {
  return {{"add(integer, integer)", "procedure", "partition-constrained by $1"}};
}

uint64_t FakeEngine::queue_depth() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size();
}

std::vector<Datum> FakeEngine::loaded() const {
  absl::MutexLock lock(&mutex_);
  return loaded_;
}

void FakeEngine::set_log(const LogInfo& log) {
  absl::MutexLock lock(&mutex_);
  log_ = log;
}

primary::Engine::LogInfo FakeEngine::log_info() const {
  absl::MutexLock lock(&mutex_);
  return log_;
}

void FakeEngine::hold() {
  absl::MutexLock lock(&mutex_);
  held_ = true;
}
void FakeEngine::release() {
  absl::MutexLock lock(&mutex_);
  held_ = false;
}
void FakeEngine::open_slow() {
  absl::MutexLock lock(&mutex_);
  slow_open_ = true;
}

}  // namespace scyper::server
