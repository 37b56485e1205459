#include "testing/restarts.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace scyper::primary {

EngineOptions log_options(Disk* disk, RedoMode redo, CommitMode mode) {
  EngineOptions options = Bank::small_options();
  options.memory_bytes = size_t{128} << 20;
  options.redo = redo;
  options.log.directory = "/data";
  options.log.mode = mode;
  options.log.segment_bytes = 256 << 10;
  options.log.disk = disk;
  options.log.on_failure = [](const Status&) {};
  return options;
}

std::unique_ptr<PartitionEngine> open_or_null(const EngineOptions& options, Status* status) {
  auto engine = PartitionEngine::create(options);
  if (status != nullptr) *status = engine.status();
  if (!engine.ok()) return nullptr;
  return *std::move(engine);
}

storage::Digest digest_of(PartitionEngine* engine) {
  storage::Digest sum;
  for_each_table(engine, [&](const std::string&, const storage::Table& table) {
    storage::check_table(table);
    const storage::Digest one = storage::table_digest(table);
    sum.add(one.lo, one.hi);
  });
  return sum;
}

int64_t number(PartitionEngine* engine, std::string_view sql) {
  query::ResultSet result;
  Status status = engine->execute(sql, {}, &result);
  EXPECT_TRUE(status.ok()) << status;
  return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
}

void work(Bank* bank, int threads, int rounds) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      for (int i = 0; i < rounds; ++i) {
        int b = (t * 7 + i) % Bank::kBranches;
        EXPECT_TRUE(bank->run("CALL deposit($1, $2, $3)", {b, i % 32, i}).ok());
        if (i % 4 == 0) EXPECT_TRUE(bank->run("CALL move($1, 1, $2, 2, 5)", {b, (b + 3) % Bank::kBranches}).ok());
        if (i % 8 == 0) EXPECT_FALSE(bank->run("CALL move_and_fail($1, 1, 2, 5)", {b}).ok());
        if (i % 8 == 1) EXPECT_TRUE(bank->run("CALL set_rate($1, $2)", {b, i}).ok());
        if (i % 8 == 2) EXPECT_TRUE(bank->run("CALL stamp($1)", {b}).ok());
        if (i % 8 == 3) EXPECT_TRUE(bank->run("DELETE FROM stamps WHERE branch = $1", {b}).ok());
        if (i % 8 == 4) EXPECT_TRUE(bank->run("CALL churn($1)", {b}).ok());
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

Status send(PartitionEngine* engine, uint64_t client, uint64_t request, std::string_view sql, Call** answered) {
  static std::vector<std::unique_ptr<Call>> kept;
  auto statement = engine->prepare(sql);
  if (!statement.ok()) return statement.status();
  kept.push_back(std::make_unique<Call>(*statement, std::initializer_list<int64_t>{}));
  Call* call = kept.back().get();
  call->client_id = client;
  call->request_id = request;
  call->start(engine);
  call->wait();
  if (answered != nullptr) *answered = call;
  return call->status;
}

}  // namespace scyper::primary
