#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/random.h"
#include "primary/engine.h"

namespace scyper {
namespace {

constexpr int kCrashExit = 134;  // base/failpoint.h
constexpr int kThreads = 3;
constexpr int64_t kIdsPerRun = 1'000'000;

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

bool run(primary::Engine* engine, std::string_view sql, std::initializer_list<int64_t> values) {
  std::vector<Datum> arguments;
  for (int64_t value : values) arguments.push_back(int_datum(value));
  return engine->execute(sql, arguments, nullptr).ok();
}

// The process that dies. Tells each acknowledged id through the pipe, after it was acknowledged; -1 - i: definition i.
int work(const std::string& directory, bool physical, int64_t first_id, int pipe) {
  auto engine = primary::Engine::create(options_for(directory, physical));
  if (!engine.ok()) {
    fprintf(stderr, "worker: %s\n", std::string(engine.status().message()).c_str());
    return 3;
  }
  for (int64_t i = 0; i < kDefinitionCount; ++i) {
    const Status status = (*engine)->execute(kDefinitions[i], {}, nullptr);
    const std::string state = sqlstate_of(status);
    if (!status.ok() && state != "42P07" && state != "42723") return 3;  // neither made nor there already
    const int64_t told = -1 - i;
    if (::write(pipe, &told, sizeof(told)) != sizeof(told)) return 3;
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

// Opens what is left. Prints what is wrong; 0 = all is as promised.
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

// Runs a function in a child process; its exit status. No engine lives in the parent, so fork is safe here.
int in_child(const std::string& failpoint, const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!failpoint.empty() && !arm_failpoints(failpoint).ok()) _exit(9);
    _exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

class CrashTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/scyper_crash_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    root_ = pattern;
    const char* seed = std::getenv("SCYPER_SEED");
    seed_ = seed != nullptr ? std::strtoull(seed, nullptr, 10) : std::random_device()();
    printf("seed %llu\n", static_cast<unsigned long long>(seed_));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // One life of the node; true when the failpoint ended it.
  bool live(const std::string& failpoint) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const int64_t first = next_id_;
    next_id_ += kIdsPerRun;
    std::thread reader;
    std::set<int64_t> told;
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      if (!failpoint.empty() && !arm_failpoints(failpoint).ok()) _exit(9);
      _exit(work(directory_, physical_, first, ends[1]));
    }
    ::close(ends[1]);
    int64_t id;
    while (::read(ends[0], &id, sizeof(id)) == sizeof(id)) told.insert(id);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    acknowledged_.insert(told.begin(), told.end());
    EXPECT_TRUE(WIFEXITED(status)) << failpoint;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(code == 0 || code == kCrashExit) << failpoint << ": " << code;
    return code == kCrashExit;
  }
  bool reopen(const std::string& failpoint) {
    const int status = in_child(failpoint, [&] { return verify(directory_, physical_, acknowledged_, next_id_); });
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(code == 0 || (!failpoint.empty() && code == kCrashExit)) << failpoint << ": " << code;
    return code == kCrashExit;
  }

  std::string root_, directory_;
  uint64_t seed_ = 0;
  bool physical_ = false;
  int64_t next_id_ = kIdsPerRun;
  std::set<int64_t> acknowledged_;
};

TEST_F(CrashTest, AtEveryFailpoint) {
  const char* rounds_text = std::getenv("SCYPER_CRASH_ROUNDS");
  const int rounds = rounds_text != nullptr ? std::atoi(rounds_text) : 1;
  Random random(seed_);
  int names = 0, deaths = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& name : failpoint_names()) {
      const bool is_recovery = name.starts_with("recovery.");
      if (!is_recovery && !name.starts_with("log.") && !name.starts_with("archive.")) continue;
      ++names;
      physical_ = random.one_in(2);
      directory_ = absl::StrCat(root_, "/", names);
      acknowledged_.clear();
      const bool is_often = name.find("group") != std::string::npos || name.find("build") != std::string::npos ||
                            name.find("acknowledge") != std::string::npos || name.find("record") != std::string::npos ||
                            name.find("fill") != std::string::npos;
      const std::string point = absl::StrCat(name, "=exit@", is_often ? random.below(40) : random.below(2));
      bool died = false;
      if (name == "recovery.before_identity" || name == "recovery.after_identity") {
        died = live(absl::StrCat(name, "=exit"));
      } else if (is_recovery) {
        live("log.before_acknowledge=exit@120");  // leaves archives and a log
        died = reopen(point);
        died |= reopen(absl::StrCat(name, "=exit"));
      } else {
        died = live(point);
      }
      deaths += died ? 1 : 0;
      reopen("");
      live("");  // and goes on
      reopen("");
      std::filesystem::remove_all(directory_);
      if (HasFailure()) {
        printf("at failpoint %s\n", point.c_str());
        return;
      }
    }
  }
  printf("%d failpoints, %d ended the node\n", names, deaths);
  EXPECT_GE(names / rounds, 25);
  EXPECT_GE(deaths / rounds, 20);
}

}  // namespace
}  // namespace scyper
