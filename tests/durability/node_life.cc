#include "node_life.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "primary/engine.h"

namespace scyper::tests {
namespace {

constexpr int kThreads = 3;

// Definitions are transactions as others are: a crash between two of them leaves the first ones.
constexpr const char* kDefinitions[] = {
    "CREATE TABLE done (branch integer NOT NULL, id bigint NOT NULL, note text, PRIMARY KEY (branch, id)) "
    "PARTITION BY HASH (branch)",
    "CREATE TABLE sums (branch integer PRIMARY KEY, n bigint NOT NULL) PARTITION BY HASH (branch)",
    "CREATE TABLE all_done (id bigint PRIMARY KEY)",
    "CREATE TABLE loose (id bigint, note text)",
    "CREATE PROCEDURE put(b integer, i bigint) LANGUAGE plpgsql AS $$ BEGIN "
    "INSERT INTO done VALUES (b, i, 'a note that is not short'); UPDATE sums SET n = n + 1 WHERE branch = b; END $$",
    "CREATE PROCEDURE put_alone(i bigint) LANGUAGE plpgsql AS $$ BEGIN "
    "INSERT INTO all_done VALUES (i); INSERT INTO loose VALUES (i, 'x'); "
    "UPDATE sums SET n = n + 1 WHERE branch = 0; END $$"};
constexpr int64_t kTables = 4;
constexpr int64_t kDefinitionCount = std::size(kDefinitions);

primary::EngineOptions options_for(const std::string& directory, bool physical) {
  primary::EngineOptions options;
  options.partitions = 4;
  options.workers = 2;
  options.memory_bytes = size_t{256} << 20;
  options.page_mode = storage::PageMode::kSmall;
  options.execution = query::ExecutionMode::kInterpreted;
  options.redo = physical ? primary::RedoMode::kPhysical : primary::RedoMode::kLogical;
  options.log.directory = directory;
  options.log.segment_bytes = 64 << 10;
  options.log.archives_kept = 1;
  if (std::getenv("SCYPER_TEST_COMPACTION") != nullptr) {
    options.compaction.mode = replay::CompactionMode::kForced;
    options.compaction.frozen_bytes_max = size_t{256} << 20;
    options.compaction.window_us = 1000;
  }
  return options;
}

int64_t number(primary::Engine* engine, std::string_view sql) {
  query::ResultSet result;
  Status status = engine->execute(sql, {}, &result);
  if (!status.ok() || result.row_count() != 1) {
    fprintf(stderr, "%s: %s\n", std::string(sql).c_str(), std::string(status.message()).c_str());
    _exit(2);
  }
  return result.value(0, 0).lo;
}

// While the disk is full the node is read-only and says so: waits for space, for a minute.
Status run_when_possible(primary::Engine* engine, std::string_view sql, std::initializer_list<int64_t> values) {
  std::vector<Datum> arguments;
  for (int64_t value : values) arguments.push_back(int_datum(value));
  Status status = engine->execute(sql, arguments, nullptr);
  for (int tries = 0; tries < 12'000 && sqlstate_of(status) == "53100"; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    status = engine->execute(sql, arguments, nullptr);
  }
  return status;
}

bool run(primary::Engine* engine, std::string_view sql, std::initializer_list<int64_t> values) {
  return run_when_possible(engine, sql, values).ok();
}

}  // namespace

int work(const std::string& directory, bool physical, int64_t first_id, int pipe) {
  auto engine = primary::Engine::create(options_for(directory, physical));
  if (!engine.ok()) {
    fprintf(stderr, "worker: %s\n", std::string(engine.status().message()).c_str());
    return kRefusedExit;
  }
  for (int64_t i = 0; i < kDefinitionCount; ++i) {
    const Status status = run_when_possible(engine->get(), kDefinitions[i], {});
    const std::string state = sqlstate_of(status);
    if (!status.ok() && state != "42P07" && state != "42723") return kRefusedExit;  // neither made nor there already
    const int64_t told = -1 - i;
    if (::write(pipe, &told, sizeof(told)) != sizeof(told)) return kRefusedExit;
  }
  for (int branch = 0; branch < 8; ++branch) run(engine->get(), "INSERT INTO sums VALUES ($1, 0)", {branch});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 150; ++i) {
        const int64_t id = first_id + i * kThreads + t;
        const bool alone = i % 10 == 9;
        const bool ok = alone ? run(engine->get(), "CALL put_alone($1)", {id})
                              : run(engine->get(), "CALL put($1, $2)", {id % 8, id});
        if (ok && ::write(pipe, &id, sizeof(id)) != sizeof(id)) return;
        if (t == 0 && i % 50 == 25) static_cast<void>((*engine)->write_archive("", nullptr));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

namespace {
// How many of the definitions are there, which are made one after the other.
int64_t count_definitions(primary::Engine* engine) {
  std::set<std::string> names;
  for (const auto& table : engine->tables()) names.insert(table.name);
  for (const auto& routine : engine->routines()) names.insert(routine.signature.substr(0, routine.signature.find('(')));
  int64_t count = 0;
  for (const char* name : {"done", "sums", "all_done", "loose", "put", "put_alone"}) {
    if (!names.contains(name)) break;
    ++count;
  }
  return count == static_cast<int64_t>(names.size()) ? count : -1;  // -1: one without those before it
}

}  // namespace

int verify(const std::string& directory, bool physical, const std::set<int64_t>& acknowledged, int64_t end_id) {
  auto engine = primary::Engine::create(options_for(directory, physical));
  if (!engine.ok()) {
    fprintf(stderr, "verify: %s\n", std::string(engine.status().message()).c_str());
    return 1;
  }
  int bad = 0;
  auto require = [&](bool condition, const std::string& what) {
    if (!condition) fprintf(stderr, "verify: %s\n", what.c_str());
    bad += condition ? 0 : 1;
  };
  const int64_t definitions = count_definitions(engine->get());
  for (int64_t i = definitions; i < kDefinitionCount; ++i) {
    require(!acknowledged.contains(-1 - i), absl::StrCat("acknowledged definition ", i, " is lost"));
  }
  require(definitions >= 0, "a definition is there without those before it");
  if (definitions < kTables) return bad + (acknowledged.lower_bound(0) == acknowledged.end() ? 0 : 1);
  query::ResultSet result;
  std::set<int64_t> found;
  for (const char* sql : {"SELECT id FROM done", "SELECT id FROM all_done"}) {
    if (!(*engine)->execute(sql, {}, &result).ok()) return 1;
    for (size_t row = 0; row < result.row_count(); ++row) {
      require(found.insert(result.value(row, 0).lo).second, "an id is there twice");
    }
  }
  for (auto id = acknowledged.lower_bound(0); id != acknowledged.end(); ++id) {
    require(found.contains(*id), absl::StrCat("acknowledged ", *id, " is lost"));
  }
  for (int64_t id : found) require(id < end_id, absl::StrCat(id, " was never sent"));
  if (number(engine->get(), "SELECT count(*) FROM sums") == 8) {
    require(number(engine->get(), "SELECT sum(n)::bigint FROM sums") == static_cast<int64_t>(found.size()),
            "a transaction is there by half");
  }
  require(number(engine->get(), "SELECT count(*) FROM loose") == number(engine->get(), "SELECT count(*) FROM all_done"),
          "a transaction that ran alone is there by half");
  return bad == 0 ? 0 : 1;
}

}  // namespace scyper::tests
